// Package admin serves the admin API of a server. It shows what the server did and whether its
// timing can be trusted, and makes changes while the server runs.
//
//	server, err := listener.Start(spec, listener.Options{Record: &record.Options{}})
//	address, err := admin.Open(admin.Options{Address: "127.0.0.1:8001"})
//	address.Attach(server)
//	defer address.Close(ctx)
//
// The API has its own address, so that its paths cannot conflict with those of a mock. Its requests
// are served by net/http, in goroutines that no mocked request waits for.
package admin

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"mockserver/config"
	"mockserver/config/settings"
	"mockserver/listener"
	"mockserver/listener/control/fleet"
	"mockserver/listener/control/runs"
	"mockserver/listener/observe/verdict"
	"mockserver/listener/protocol/certs"
)

// Options are the options of an admin address.
type Options struct {
	// Address is a host and port: "127.0.0.1:8001", or ":8001" for all addresses of the machine.
	// Port 0 selects a free port; see Admin.URL.
	Address string
	// Token is the token that requests must carry, as "Authorization: Bearer TOKEN". If it is "",
	// no token is required on a loopback address; for any other address a token is generated and
	// logged once. See Admin.Token.
	Token string

	// TLS makes the address speak only TLS; nil makes it speak clear text.
	TLS *certs.Options

	Logger *slog.Logger // nil logs nothing
	// LogDropped returns how many log lines were dropped; nil if none can be.
	LogDropped func() uint64
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
	// Fleet names the replicas that act as one with this server; without Members there are none.
	// Its Token, TLS and CAs are derived from the fields above.
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
	stop   context.CancelFunc // stops the goroutine that keeps certs up to date
	token  [32]byte           // the hash of the token; see bears
	served chan error
	begun  time.Time

	server   *listener.Server // only code that runs after attached is set reads it
	attached atomic.Bool
	changes  atomic.Uint64               // numbers the specifications in requests
	changing sync.Mutex                  // held during a change, so that brought is the latest
	turn     chan struct{}               // contains a value while a response is being made; see inTurn
	brought  atomic.Pointer[config.Spec] // the latest specification from a request; nil if there is none
	metrics  http.Handler
	sampler  *verdict.Sampler // set by Attach
	runs     *runs.Runs

	instance   string       // identifies this process
	fleet      *fleet.Fleet // nil if there is none
	fleetEnds  context.CancelFunc
	fleetEnded sync.WaitGroup
	requested  atomic.Bool // the other replicas have been asked for a changed specification
	given      atomic.Pointer[given]
}

// Limits for requests to the admin address.
const (
	headerTimeout = 10 * time.Second
	// bodyTimeout is enough for the largest specification.
	bodyTimeout  = time.Minute
	idleTimeout  = 2 * time.Minute
	writeTimeout = 2 * time.Minute
	largestHead  = 64 << 10
)

// URL returns the URL of the admin address, such as "http://127.0.0.1:8001". If a listens on all
// addresses, the URL contains 127.0.0.1.
func (a *Admin) URL() string {
	scheme := "http://"
	if a.certs != nil {
		scheme = "https://"
	}
	at := addrOf(a.socket)
	if at.Addr().IsUnspecified() {
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
	}
	return scheme + at.String()
}

// Token returns the token that requests need, configured or generated; "" if they need none.
func (a *Admin) Token() string { return a.opts.Token }
