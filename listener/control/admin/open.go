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
	"strings"
	"syscall"
	"time"

	"mockserver/listener"
	"mockserver/listener/control/fleet"
	"mockserver/listener/control/runs"
	"mockserver/listener/observe/verdict"
)

// ErrFleet is the error for an invalid fleet.
var ErrFleet = errors.New("invalid fleet")

// Open listens on the admin address. Until Attach is called, the address reports that the program
// runs and is not ready, and refuses requests that need the server; this is meant for servers that
// take long to start. The error wraps ErrAddress and the system error (syscall.EADDRINUSE,
// syscall.EACCES), or ErrFleet, or is that of certs.Open.
func Open(opts Options) (*Admin, error) {
	store, err := openCertificates(opts.TLS, opts.Logger)
	if err != nil {
		return nil, err
	}
	var replicas *fleet.Fleet
	opts.Fleet.Token = opts.Token
	if opts.Fleet.TLS = store != nil; opts.Fleet.TLS && opts.Fleet.CA == "" && store.Authority() != nil {
		opts.Fleet.CAs = store.Authority().PEM()
	}
	if opts.Fleet.Members != "" {
		if replicas, err = fleet.New(opts.Fleet); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFleet, err)
		}
	}
	socket, err := listen(opts.Address)
	if err != nil {
		return nil, err
	}
	made := opts.Token == "" && !addrOf(socket).Addr().IsLoopback()
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
		Handler: a.routes(), MaxHeaderBytes: largestHead, ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
		ReadHeaderTimeout: headerTimeout, ReadTimeout: bodyTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		// Preflight requests from other origins are refused like all requests from other origins.
		DisableGeneralOptionsHandler: true,
	}
	if made {
		a.log.Info("admin token, generated for this start because --admin-token is not set", "token", opts.Token, "address", socket.Addr().String())
	}
	a.followCertificates()
	served := socket
	if store != nil {
		served = store.Listener(socket)
	}
	go func() { a.served <- a.http.Serve(served) }()
	return a, nil
}

// AsFleet returns the options with which a program takes this server for a fleet, or finds its fleet.
func (a *Admin) AsFleet() fleet.Options {
	o := a.opts.Fleet
	_, o.Members, _ = strings.Cut(a.URL(), "://")
	o.Token, o.Found = a.opts.Token, true
	return o
}

// ErrAddress is the error for an admin address that cannot be used.
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

// addrOf returns the address of a socket that listen has opened.
func addrOf(socket net.Listener) netip.AddrPort {
	at := socket.Addr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

// Attach sets the server, starts its probe and the sampler, and joins the fleet, if there is one.
// It must be called only once. A nil Admin ignores it.
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

// Close leaves the fleet, waits for requests in progress until ctx ends, and closes the address. A
// nil Admin ignores it.
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
