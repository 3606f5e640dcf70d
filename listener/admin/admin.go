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

// Options are the options of an admin address.
type Options struct {
	// Address is host and port: "127.0.0.1:8001", or ":8001" for all addresses of the
	// machine. Port 0 takes a free port; see Admin.URL.
	Address string
	// Token is required from requests, as "Authorization: Bearer TOKEN". With "" a loopback
	// address requires none; another address generates one and logs it once. See
	// Admin.Token.
	Token string

	Logger *slog.Logger // nil logs nothing
	// Reload reads the configuration again and serves it; its error is a config.Problems if
	// the configuration is invalid. It must not be nil.
	Reload func() error
	// Loader parses the endpoints and specifications in requests.
	Loader config.Loader
	// Check is the options of the server, with which specifications are checked.
	Check listener.Options
	// Settings are shown as they are. They must not contain secrets.
	Settings []settings.Given
	Build    settings.Build // that runs
	// Thresholds are those of the verdict; nil is the defaults.
	Thresholds verdict.Thresholds
}

// Admin is an admin address that is open.
type Admin struct {
	opts   Options // its Token is "" only on a loopback address
	log    *slog.Logger
	http   *http.Server
	socket net.Listener
	token  [32]byte // the hash of the token; see bears
	served chan error
	begun  time.Time

	server   *listener.Server // nothing that reads it is reached before attached
	attached atomic.Bool
	changes  atomic.Uint64               // numbers the specifications in requests
	changing sync.Mutex                  // held during a change, so that brought is the last one
	turn     chan struct{}               // has a value while an answer is made; see inTurn
	brought  atomic.Pointer[config.Spec] // the last one that a request has made; nil for none
	metrics  http.Handler
	sampler  *verdict.Sampler // from Attach on
	runs     *runs.Runs
}

// Limits of a request to the admin address.
const (
	headerTimeout = 10 * time.Second
	// bodyTimeout is enough for the largest specification.
	bodyTimeout  = time.Minute
	idleTimeout  = 2 * time.Minute
	writeTimeout = 2 * time.Minute
	largestBody  = 64 << 20 // of a specification
	largestHead  = 64 << 10
	smallBody    = 64 << 10
)

// Start opens the admin address of a server and serves it in the background, until
// Close. The server must record (listener.Options.Record). For the error see Open.
func Start(server *listener.Server, opts Options) (*Admin, error) {
	a, err := Open(opts)
	if err != nil {
		return nil, err
	}
	a.Attach(server)
	return a, nil
}

// Open listens on the admin address. Until Attach it only reports that the program runs and
// is not ready, which is for servers that take long to start. The error wraps ErrAddress,
// and that of the system (syscall.EADDRINUSE, syscall.EACCES).
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
		// Preflight requests of other origins are refused like their other requests.
		DisableGeneralOptionsHandler: true,
	}
	if made {
		a.log.Info("admin token, made for this start since --admin-token gives none", "token", opts.Token, "address", socket.Addr().String())
	}
	go func() { a.served <- a.http.Serve(socket) }()
	return a, nil
}

// ErrAddress is the error of an admin address that cannot be used.
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

// Attach sets the server. It is called once. A nil Admin ignores it.
func (a *Admin) Attach(server *listener.Server) {
	if a == nil {
		return
	}
	a.server = server
	a.sampler = verdict.Of(server, a.opts.Thresholds, a.log)
	a.runs = runs.New(a.sampler, server, a.opts.Build)
	server.Probe().Start()
	a.sampler.Start()
	a.attached.Store(true)
}

// URL returns "http://127.0.0.1:8001": the loopback address if it listens on all addresses.
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

// Token returns the token that requests need, given or generated; "" for none.
func (a *Admin) Token() string { return a.opts.Token }

// Close lets requests in progress finish until ctx ends, and closes the address. A nil Admin
// ignores it.
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
