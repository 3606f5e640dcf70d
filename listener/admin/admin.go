// Package admin serves the admin address of a server: what it did, whether its timing
// can be trusted, and what can be changed while it runs.
//
//	server, err := listener.Start(spec, listener.Options{Record: &record.Options{}})
//	address, err := admin.Start(server, admin.Options{Address: "127.0.0.1:8001"})
//	defer address.Close(ctx)
//
// It has an address of its own, so that no path of it is one of a mock. Requests to
// it are served by net/http, in goroutines that no mocked request waits for.
package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"mockserver/config"
	"mockserver/config/settings"
	"mockserver/listener"
	"mockserver/listener/runs"
	"mockserver/listener/verdict"
)

// Options is what an admin address may be told.
type Options struct {
	// Address is host and port: "127.0.0.1:8001", ":8001" for all addresses of the
	// machine. Port 0 takes a free one; see Admin.URL.
	Address string
	// Token is what requests have to bring, as "Authorization: Bearer TOKEN". "" asks
	// for none on a loopback address. Elsewhere one is made then, which is logged once;
	// see Admin.Token.
	Token string

	Logger *slog.Logger // nil logs nothing
	// Reload reads the configuration anew and serves it; the error is a
	// config.Problems when the configuration is wrong. nil is not possible.
	Reload func() error
	// Loader reads the endpoints and specifications that requests bring.
	Loader config.Loader
	// Check is what specifications are compiled with to be checked: the options of the server.
	Check listener.Options
	// Settings are shown as they are; none of them is a secret.
	Settings []settings.Given
	Build    settings.Build // that runs
	// Thresholds are how far figures may go before the timing is not trusted; nil is
	// the defaults.
	Thresholds verdict.Thresholds
}

// Admin is an admin address that is open.
type Admin struct {
	opts   Options // its Token is "" on a loopback address only
	log    *slog.Logger
	http   *http.Server
	socket net.Listener
	token  [32]byte // the hash of the token; see bears
	served chan error
	begun  time.Time

	server   *listener.Server // nothing that reads it is reached before attached
	attached atomic.Bool
	changes  atomic.Uint64               // what requests brought to be served: names it
	changing sync.Mutex                  // one change by a request at a time, so that brought is the last
	turn     chan struct{}               // holds what makes an answer; see inTurn
	brought  atomic.Pointer[config.Spec] // that a request had served last; nil for none
	metrics  http.Handler
	sampler  *verdict.Sampler // from Attach on
	runs     *runs.Runs
}

// Bounds of a request to the admin address.
const (
	headerTimeout = 10 * time.Second
	// bodyTimeout is long enough for a specification of the largest size.
	bodyTimeout  = time.Minute
	idleTimeout  = 2 * time.Minute
	writeTimeout = 2 * time.Minute
	largestBody  = 64 << 20 // a specification; others have smaller bounds
	largestHead  = 64 << 10
	smallBody    = 64 << 10
)

// Start opens the admin address of a server and serves it in the background, until
// Close. The server has to record (listener.Options.Record). The error is that of Open.
func Start(server *listener.Server, opts Options) (*Admin, error) {
	a, err := Open(opts)
	if err != nil {
		return nil, err
	}
	a.Attach(server)
	return a, nil
}

// Open listens on the admin address. Until a server is attached it tells that the
// program runs and is not ready, and nothing else: that is for servers that take long
// to start. The error is that of the address, or of listening, which wraps that of the
// system (syscall.EADDRINUSE, syscall.EACCES).
func Open(opts Options) (*Admin, error) {
	socket, err := listen(opts.Address)
	if err != nil {
		return nil, err
	}
	made := opts.Token == "" && !isLoopback(socket.Addr())
	if made {
		opts.Token = rand.Text()
	}
	a := &Admin{
		opts: opts, log: opts.Logger, socket: socket, begun: time.Now(),
		token: hashOf(opts.Token), served: make(chan error, 1), turn: make(chan struct{}, 1),
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	a.metrics = a.exposition()
	a.http = &http.Server{
		Handler:           a.routes(),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    largestHead,
		ErrorLog:          slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
		// Preflights of other origins are refused as anything else of theirs.
		DisableGeneralOptionsHandler: true,
	}
	if made {
		a.log.Info("admin token, made for this start since --admin-token gives none", "token", opts.Token, "address", socket.Addr().String())
	}
	go func() { a.served <- a.http.Serve(socket) }()
	return a, nil
}

// ErrAddress is in the errors of an admin address that cannot be listened on.
var ErrAddress = errors.New("the admin address cannot be used")

func listen(address string) (net.Listener, error) {
	network := "tcp"
	if host, _, err := net.SplitHostPort(address); err == nil {
		if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
			network = "tcp4" // else 0.0.0.0 would be all IPv6 addresses too
		}
	}
	socket, err := net.Listen(network, address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%w: %s is in use by another program: %w", ErrAddress, address, err)
	case err != nil:
		return nil, fmt.Errorf("%w: listen on %s: %w", ErrAddress, address, err)
	}
	return socket, nil
}

// Attach has the address tell of a server and change it. It is called once. Of no
// address, nil, nothing is told.
func (a *Admin) Attach(server *listener.Server) {
	if a == nil {
		return
	}
	a.server = server
	a.sampler = verdict.Of(server, a.opts.Thresholds, a.log)
	a.runs = runs.New(a.sampler, server, a.opts.Build)
	a.sampler.Start()
	a.attached.Store(true)
}

// URL is the address, "http://127.0.0.1:8001"; one on all addresses is named by the
// loopback one.
func (a *Admin) URL() string {
	at, err := netip.ParseAddrPort(a.socket.Addr().String())
	if err != nil {
		return "http://" + a.socket.Addr().String()
	}
	if at.Addr().IsUnspecified() {
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
	}
	return "http://" + at.String()
}

// Token is what requests have to bring, also when it was made; "" for none.
func (a *Admin) Token() string { return a.opts.Token }

// Close lets requests in flight end until ctx does, and closes the address. It may
// be called for none, nil.
func (a *Admin) Close(ctx context.Context) error {
	if a == nil {
		return nil
	}
	err := a.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, a.http.Close())
	}
	if a.attached.Load() {
		a.sampler.Stop()
	}
	if served := <-a.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

func isLoopback(addr net.Addr) bool {
	at, err := netip.ParseAddrPort(addr.String())
	return err == nil && at.Addr().Unmap().IsLoopback()
}
