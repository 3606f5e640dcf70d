// Package admin serves the admin address of a server: what the server did, whether its timing can
// be trusted, and what can be changed while it runs.
//
//	server, err := listener.Start(spec, listener.Options{Record: &record.Options{}})
//	address, err := admin.Start(server, admin.Options{Address: "127.0.0.1:8001"})
//	defer address.Close(ctx)
//
// The API has its own address, so that its paths cannot conflict with those of a mock. Its requests
// are served by net/http, in goroutines that no mocked request waits for.
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
	"mockserver/listener/certs"
	"mockserver/listener/fleet"
	"mockserver/listener/runs"
	"mockserver/listener/verdict"
)

// Options are the options of an admin address.
type Options struct {
	// Address is a host and port: "127.0.0.1:8001", or ":8001" for all addresses of the machine.
	// Port 0 selects a free port; see Admin.URL.
	Address string
	// Token is required from requests, as "Authorization: Bearer TOKEN". If it is "", no token is
	// required on a loopback address; for any other address a token is generated and logged once.
	// See Admin.Token.
	Token string

	// TLS has the address speak TLS alone; nil has it speak clear text.
	TLS *certs.Options

	Logger *slog.Logger // nil logs nothing
	// Reload reads the configuration again and serves it. It returns a config.Problems if the
	// configuration is invalid. It must not be nil.
	Reload func() error
	// Loader parses the endpoints and specifications in requests.
	Loader config.Loader
	// Check contains the options of the server; specifications are checked with them.
	Check listener.Options
	// Settings are shown unchanged. They must not contain secrets.
	Settings []settings.Given
	Build    settings.Build // the running build
	// Thresholds are the thresholds of the verdict; nil selects the defaults.
	Thresholds verdict.Thresholds
	// Fleet says which replicas act as one with this server; without Members, none. Its token and
	// its logger are those of these options.
	Fleet fleet.Options
}

// Admin is an open admin address.
type Admin struct {
	opts   Options // Token is "" only on a loopback address
	log    *slog.Logger
	http   *http.Server
	socket net.Listener
	certs  *certs.Store // nil for clear text
	follow sync.WaitGroup
	stop   context.CancelFunc // ends keeping certs up to date
	token  [32]byte           // the hash of the token; see bears
	served chan error
	begun  time.Time

	server   *listener.Server // only code that runs after attached is set reads it
	attached atomic.Bool
	changes  atomic.Uint64               // numbers the specifications in requests
	changing sync.Mutex                  // held during a change, so that brought is the latest one
	turn     chan struct{}               // contains a value while a response is being made; see inTurn
	brought  atomic.Pointer[config.Spec] // the last one made by a request; nil if there is none
	metrics  http.Handler
	sampler  *verdict.Sampler // set by Attach
	runs     *runs.Runs

	instance    string       // identifies this process
	fleet       *fleet.Fleet // nil if there is none
	fleetEnds   context.CancelFunc
	fleetEnded  sync.WaitGroup
	asked       atomic.Bool // the other replicas were asked for a changed specification
	given       atomic.Pointer[given]
	fingerprint atomic.Pointer[fingerprint]
}

// Limits for requests to the admin address.
const (
	headerTimeout = 10 * time.Second
	// bodyTimeout is enough for the largest specification.
	bodyTimeout  = time.Minute
	idleTimeout  = 2 * time.Minute
	writeTimeout = 2 * time.Minute
	largestBody  = 64 << 20 // for specifications
	largestHead  = 64 << 10
	smallBody    = 64 << 10
)

// Start opens the admin address of a server and serves it in the background until Close. Recording
// must be enabled on the server (listener.Options.Record). For the errors see Open.
func Start(server *listener.Server, opts Options) (*Admin, error) {
	a, err := Open(opts)
	if err != nil {
		return nil, err
	}
	a.Attach(server)
	return a, nil
}

// ErrFleet is the error of a fleet that is not given as it should be.
var ErrFleet = errors.New("wrong fleet")

// Open listens on the admin address. Until Attach is called, it only reports that the program runs
// and is not ready; this is meant for servers that take long to start. The error wraps ErrAddress
// and the system error (syscall.EADDRINUSE, syscall.EACCES), or ErrFleet.
func Open(opts Options) (*Admin, error) {
	store, err := openCertificates(opts.TLS, opts.Logger)
	if err != nil {
		return nil, err
	}
	var replicas *fleet.Fleet
	if opts.Fleet.Members != "" && opts.TLS != nil {
		return nil, fmt.Errorf("%w: replicas ask each other in clear text, which an address with TLS does not accept", ErrFleet)
	}
	if opts.Fleet.Members != "" {
		opts.Fleet.Token, opts.Fleet.Logger = opts.Token, opts.Logger
		if replicas, err = fleet.New(opts.Fleet); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFleet, err)
		}
	}
	socket, err := listen(opts.Address)
	if err != nil {
		return nil, err
	}
	made := opts.Token == "" && !isLoopback(socket.Addr())
	if made {
		opts.Token = rand.Text()
	}
	a := &Admin{
		opts: opts, log: opts.Logger, socket: socket, certs: store, begun: time.Now(),
		token: hashOf(opts.Token), served: make(chan error, 1), turn: make(chan struct{}, 1),
		instance: rand.Text(), fleet: replicas,
	}
	if replicas != nil {
		replicas.Instance = a.instance
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
		// Preflight requests from other origins are refused like all requests from other origins.
		DisableGeneralOptionsHandler: true,
	}
	if made {
		a.log.Info("admin token, made for this start since --admin-token gives none", "token", opts.Token, "address", socket.Addr().String())
	}
	a.followCertificates()
	go func() { a.served <- a.http.Serve(a.secured(socket)) }()
	return a, nil
}

// ErrAddress is the error of an admin address that cannot be used.
var ErrAddress = errors.New("the admin address cannot be used")

func listen(address string) (net.Listener, error) {
	network := "tcp"
	if host, _, err := net.SplitHostPort(address); err == nil {
		if ip, err := netip.ParseAddr(host); err == nil && ip.Is4() {
			network = "tcp4" // otherwise 0.0.0.0 would include all IPv6 addresses
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
	a.join()
}

// URL returns the URL of the admin address, such as "http://127.0.0.1:8001". If it listens on all
// addresses, the URL contains the loopback address.
func (a *Admin) URL() string {
	scheme := "http://"
	if a.certs != nil {
		scheme = "https://"
	}
	at, err := netip.ParseAddrPort(a.socket.Addr().String())
	if err != nil {
		return scheme + a.socket.Addr().String()
	}
	if at.Addr().IsUnspecified() {
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
	}
	return scheme + at.String()
}

// Token returns the token that requests need, configured or generated; "" if they need none.
func (a *Admin) Token() string { return a.opts.Token }

// Close waits for requests in progress until ctx ends, and closes the address. A nil Admin ignores
// it.
func (a *Admin) Close(ctx context.Context) error {
	if a == nil {
		return nil
	}
	a.leave()
	a.stop()
	a.follow.Wait()
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
