// Package listener starts and stops a server, and applies specifications to it: package compile makes
// one into a snapshot, and package serve answers requests from it.
//
// A Server is used as a library like this:
//
//	spec := config.Load("mocks.yml")         // or config.Parse, or config.New
//	server, err := listener.Start(spec, listener.Options{})
//	if err != nil { … }                      // a config.Problems, or the port is in use
//	defer server.Close()
//	http.Get(server.URL() + "/hello")
//
// Apply replaces the specification without losing a request. Several servers may run in one
// process, and none affects the rest of it: they handle no signals, write only to their Logger, and
// read the environment only through Options.Env and, for the proxies of fetches, through net/http.
// In tests, package listenertest starts one.
package listener

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/internal/loglimit"
	"mockserver/internal/pacer"
	"mockserver/internal/sockio"
	"mockserver/internal/wording"
	"mockserver/listener/compile"
	"mockserver/listener/observe/probe"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/sentry"
	"mockserver/listener/protocol/certs"
	"mockserver/listener/protocol/wire"
	"mockserver/listener/serve"
	"mockserver/matcher"
)

// Options configure a server, in addition to its specification. The zero value listens on a free
// port of the loopback address and logs nothing.
type Options struct {
	Host string // the address to listen on; "" is 127.0.0.1
	Port int    // 0 takes a free port; see URL
	// ReusePort lets other processes listen on the port too, if they also ask for it: the system
	// then shares connections among them. It is supported on Linux only. The probe makes no
	// connections then, since another process may accept them.
	ReusePort bool

	Logger *slog.Logger // requests wait for its handler; nil logs nothing

	MaxBody         int  // maximum size of a request body in bytes; 0 is 16 MiB
	MaxMessage      int  // maximum size of a WebSocket message in bytes, unless the WebSocket declares its own; 0 is 1 MiB
	MaxResponse     int  // maximum size of a body, header or message made by a template, in bytes; 0 is 64 MiB
	UnmatchedStatus int  // status for requests that match no endpoint; 0 is 404 or 405
	NoCORS          bool // sends no Access-Control headers
	CORSCredentials bool // lets pages of any origin send credentials
	TrustForwarded  bool // rate limits use the first address of X-Forwarded-For as the client's
	AccessLog       bool // logs one line per request
	// ServerTiming adds a Server-Timing header, which says in milliseconds what the response time was
	// spent on: docs/operations.md describes its parts.
	ServerTiming bool

	// State is a file from which changes to rows are read at the start, and to which they are
	// written at the end; "" for none.
	State              string
	StateMemory        int // limits the memory for all changes to rows, in bytes; 0 is 1 GiB
	MaxPendingWebhooks int // maximum number of waiting webhooks; 0 is a million
	// WebhookStore is a directory in which accepted webhooks survive a crash; "" for none. Only one
	// server at a time may use it.
	WebhookStore string
	NoWebhooks   bool // webhooks are checked like the rest, but not sent
	NoLatency    bool // latencies are not waited for; requests that fail or time out do so immediately
	NoFaults     bool // faults do not happen
	// Dynamic answers requests to operations of OpenAPI documents with a newly generated body, as
	// if they had the header "Prefer: dynamic=true", unless they prefer something else.
	Dynamic bool

	// Seed makes every random choice repeatable: the outcome of a request, how long it waits, which
	// fault it has, and the random values in templates. The n-th request to an endpoint always gets
	// the same choices, whatever else is served. nil makes them random.
	Seed *uint64

	// SentryDSN is where panics and the server's own 5xx responses are reported:
	// "https://KEY@HOST/PROJECT". "" disables reports; so does an invalid DSN, with a warning in
	// the log.
	SentryDSN string
	Version   string // the version of the program for these reports; "" omits it

	NoHTTP2 bool // clients that begin with the HTTP/2 preface are refused
	// MaxConnectionAge is how long a connection is used, give or take a tenth. Then its client is
	// told to open another one, and no request is lost. 0 sets no limit.
	MaxConnectionAge time.Duration
	// TLS makes the port speak TLS, in addition to clear text unless that is refused; nil disables
	// it. Files that it names are read again when they change.
	TLS *certs.Options

	// LastCall is how long Shutdown leaves idle connections open, so that a request that is on its
	// way is answered, with the notice that the connection closes. 0 closes them immediately.
	LastCall time.Duration

	// Record makes the server count what it does, and keep requests in its journal: see
	// Counts and Journal. nil counts nothing and keeps nothing.
	Record *record.Options

	// Env looks up env.NAME in templates while a specification is compiled; nil finds nothing.
	Env func(name string) (string, bool)
}

// check returns an error that names an option that is out of range.
func (o *Options) check() error {
	for _, option := range []struct {
		name, want string
		wrong      bool
		value      any
	}{
		{"StateMemory", "a number of bytes above 0, or 0 for 1 GiB", o.StateMemory < 0, o.StateMemory},
		{"MaxPendingWebhooks", "a number above 0, or 0 for a million", o.MaxPendingWebhooks < 0, o.MaxPendingWebhooks},
		{"LastCall", "0 or a longer duration", o.LastCall < 0, o.LastCall},
		{"MaxConnectionAge", "0 or a longer duration", o.MaxConnectionAge < 0, o.MaxConnectionAge},
		{"MaxBody", "a number of bytes above 0, or 0 for 16 MiB", o.MaxBody < 0, o.MaxBody},
		{"MaxMessage", "a number of bytes above 0, or 0 for 1 MiB", o.MaxMessage < 0, o.MaxMessage},
		{"MaxResponse", "a number of bytes above 0, or 0 for 64 MiB", o.MaxResponse < 0, o.MaxResponse},
		{"Port", "0 to 65535", o.Port < 0 || o.Port > 65535, o.Port},
		{"UnmatchedStatus", "200 to 599, or 0 for 404 and 405", o.UnmatchedStatus != 0 && (o.UnmatchedStatus < 200 || o.UnmatchedStatus > 599), o.UnmatchedStatus},
	} {
		if option.wrong {
			return fmt.Errorf("options: %s is %v; expected %s", option.name, option.value, option.want)
		}
	}
	if o.Record != nil && (o.Record.Journal.Sample < 0 || o.Record.Journal.Bytes < 0) {
		return errors.New("options: Record.Journal has a number below 0")
	}
	return nil
}

// Limits that no option changes.
const (
	defaultMaxBody = 16 << 20
	// lastWord is how long closed connections may take to report that their requests were answered:
	// on a busy machine this takes some time.
	lastWord = 500 * time.Millisecond
)

// Server serves one specification at a time. Its methods may be called from any goroutine.
type Server struct {
	opts      Options
	log       *slog.Logger
	compiler  *compile.Compiler
	calls     *serve.Server
	applying  sync.Mutex      // held during Apply and Alter; guards warnings and documents
	warnings  syntax.Problems // the warnings of the current specification
	documents []string        // log lines about the documents that are served, see logDocuments
	applied   atomic.Pointer[Applied]

	listener  *wire.Connections
	probe     *probe.Probe          // nil before the server listens
	connected sync.WaitGroup        // the connections
	idle      atomic.Int32          // goroutines that wait for a connection
	next      chan *wire.Connection // to one of them
	closeData sync.Once
	drained   chan struct{} // closed once nothing is accepted and no connection is served
	ending    sync.Once
	done      chan struct{} // closed by the first call of end
	failure   error         // the error that ended serving; valid once done is closed

	certs            *certs.Store // nil without TLS
	unfollow         func()       // stops keeping the certificates up to date
	handshakeLimiter *loglimit.Limiter
}

// ErrStopped is returned by Apply and Alter after Shutdown was called.
var ErrStopped = errors.New("the server was shut down")

// Start compiles spec, listens, and serves in the background until Shutdown. The error is a
// config.Problems if the specification is invalid, wraps the system's error (syscall.EADDRINUSE,
// syscall.EACCES) if the server cannot listen, names an option that is out of range, or says which
// file or service cannot be used. After an error nothing is left running.
func Start(spec *config.Spec, opts Options) (*Server, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	s := newServer(opts)
	err := s.openCertificates()
	if err == nil {
		err = s.Apply(spec)
	}
	if err == nil {
		err = s.listen()
	}
	if err == nil {
		if err = s.openWebhooks(); err == nil { // restored rows may send some
			err = s.loadState()
		}
		if err != nil {
			s.compiler.Data.Close() // it may send webhooks
			s.calls.Storing.Close()
			err = errors.Join(err, s.listener.Close(), s.closeWebhooks(ended()))
		}
	}
	if err != nil {
		s.compiler.Loader.Close(context.Background())
		s.compiler.Close()
		return nil, err
	}
	s.calls.Reports = sentry.Open(opts.SentryDSN, opts.Version, s.log)
	s.followCertificates()
	go s.accept()
	return s, nil
}

// end stores the failure and closes s.done. Only its first call has an effect.
func (s *Server) end(failure error) {
	s.ending.Do(func() {
		s.failure = failure
		close(s.done)
	})
}

func newServer(opts Options) *Server {
	opts.complete()
	s := &Server{
		opts:     opts,
		log:      opts.Logger,
		compiler: compile.New(opts.compile()),
		drained:  make(chan struct{}),
		done:     make(chan struct{}),
		next:     make(chan *wire.Connection),
		unfollow: func() {},
		calls: serve.New(serve.Options{
			Log: opts.Logger, MaxBody: opts.MaxBody, MaxResponse: opts.MaxResponse, UnmatchedStatus: opts.UnmatchedStatus,
			NoCORS: opts.NoCORS, CORSCredentials: opts.CORSCredentials, AccessLog: opts.AccessLog, ServerTiming: opts.ServerTiming, Stored: opts.WebhookStore != "",
		}),
	}
	s.applied.Store(&Applied{})
	s.compiler.Send = s.calls.NotifyMoved
	s.handshakeLimiter = loglimit.New(handshakeLines, loglimit.LogSuppressed(s.log, "TLS handshake failed"))
	if opts.Record != nil {
		s.calls.Recorder = record.New(*opts.Record)
	}
	return s
}

// complete sets the options that have defaults.
func (o *Options) complete() {
	o.Host = cmp.Or(o.Host, "127.0.0.1")
	o.MaxBody = cmp.Or(o.MaxBody, defaultMaxBody)
	o.MaxResponse = cmp.Or(o.MaxResponse, matcher.DefaultMaxText)
	o.StateMemory = cmp.Or(o.StateMemory, defaultStateMemory)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
}

func (o *Options) compile() compile.Options {
	return compile.Options{
		Log: o.Logger, Env: o.Env, Seed: o.Seed, MaxBody: o.MaxBody, MaxMessage: o.MaxMessage, MaxResponse: o.MaxResponse,
		StateMemory: o.StateMemory, TrustForwarded: o.TrustForwarded,
		NoWebhooks: o.NoWebhooks, NoLatency: o.NoLatency, NoFaults: o.NoFaults, Dynamic: o.Dynamic,
	}
}

func (s *Server) listen() error {
	address := net.JoinHostPort(s.opts.Host, strconv.Itoa(s.opts.Port))
	network := "tcp"
	if ip, err := netip.ParseAddr(s.opts.Host); err == nil && ip.Is4() {
		network = "tcp4" // otherwise 0.0.0.0 would include all IPv6 addresses
	}
	l, err := wire.Listen(context.Background(), network, address, s.opts.ReusePort)
	switch err = sockio.Portable(err); {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("port %d of %s is in use by another program: %w", s.opts.Port, s.opts.Host, err)
	case err != nil:
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	s.listener = wire.New(l, s.log)
	if s.probe = probe.New(l.Addr()); s.opts.ReusePort {
		s.probe = probe.New(nil)
	}
	s.listener.Owned = s.probe.Owns
	s.secure(s.listener)
	s.listener.Pacer, s.listener.MaxAge = pacer.New(), s.opts.MaxConnectionAge
	s.calls.StartHTTP2(s.opts.MaxConnectionAge, s.listener.Pacer)
	if !s.opts.NoHTTP2 {
		s.listener.HTTP2 = s.calls.ServeHTTP2
	}
	s.listener.Resume, s.listener.Share = s.begin, s.calls.ServeConnection
	s.listener.Handler, s.listener.MaxBody = s.calls, s.opts.MaxBody
	s.listener.General = s.opts.AccessLog || s.opts.ServerTiming
	if s.calls.Recorder != nil {
		s.listener.TimeReads(s.calls.Recorder.Begun())
	}
	return nil
}

// Apply compiles spec and serves it from the next request on: once it returns, no new request is
// answered from the previous one. If spec is invalid, or one of its recordings cannot be written,
// the error is a config.Problems, and the previous specification stays in service. After Shutdown
// the error is ErrStopped. The spec may also be used for other servers.
func (s *Server) Apply(spec *config.Spec) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	return s.apply(spec, nil)
}

// apply is like Apply, for a caller that holds s.applying. Warnings in earlier are not logged again.
func (s *Server) apply(spec *config.Spec, earlier syntax.Problems) error {
	if s.calls.Stopping.Load() {
		return ErrStopped
	}
	sn, problems := s.compiler.Compile(spec)
	err := problems.Err()
	if err == nil {
		err = s.compiler.Recordings.Follow(spec.Upstreams)
	}
	s.count(err)
	if err != nil {
		return err
	}
	s.compiler.Commit()
	s.warnings = problems.Warnings()
	known := make(map[syntax.Problem]bool, len(earlier))
	for _, warning := range earlier {
		known[warning] = true
	}
	s.logDocuments(spec, known)
	s.logWarnings(slices.DeleteFunc(slices.Clone(s.warnings), func(warning syntax.Problem) bool { return known[warning] }))
	s.calls.Use(sn)
	return nil
}

// WebSockets returns the number of open WebSocket connections.
func (s *Server) WebSockets() int { return s.calls.Dialogues.Open() }

// Addr returns the address on which the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Shutdown stops accepting, closes idle connections after Options.LastCall, lets requests in flight
// finish until ctx ends, and closes the rest. Then it sends the webhooks that fall due before ctx
// ends, sends waiting error reports, for at most two seconds and not beyond ctx, and writes
// Options.State. The error says how many requests were cut off, and wraps the error of ctx, or says
// what could not be closed or written; otherwise it is nil, even if ctx has ended. Afterwards
// nothing of the server runs except requests that were cut off, which are still ending.
//
// It may be called again, and from several goroutines: each call returns when the server has
// stopped, or when its own ctx ends, which cuts off the requests for all of them.
func (s *Server) Shutdown(ctx context.Context) error {
	s.calls.Stopping.Store(true)
	s.unfollow()
	s.probe.Stop()
	closing := s.listener.End(s.opts.LastCall)
	s.calls.HTTP2.Drain()
	s.listener.ExpireIdle()
	if deadline, ok := ctx.Deadline(); ok {
		defer time.AfterFunc(time.Until(deadline)/streamsPart, s.hurry).Stop()
	}
	var closed []*wire.Connection
	select {
	case <-s.drained:
	case <-ctx.Done():
		s.calls.HTTP2.Cut()
		closed = s.listener.CloseAll()
	}
	s.listener.Stop()
	s.compiler.Loader.Close(ctx)
	cut := s.cutOff(closed)
	s.compiler.Close()
	s.calls.Storing.Close()
	closing = errors.Join(closing, s.closeWebhooks(ctx))
	s.calls.Reports.Close(ctx)
	s.closeData.Do(func() { closing = errors.Join(closing, s.saveState()) })
	s.calls.Flush()
	s.handshakeLimiter.Flush()
	s.listener.Flush()
	s.end(nil)
	if cut > 0 {
		were := "were"
		if cut == 1 {
			were = "was"
		}
		closing = errors.Join(closing, fmt.Errorf("%s %s cut off: %w", wording.Count(cut, "request"), were, ctx.Err()))
	}
	return closing
}

// streamsPart is the part of the time for the requests in flight after which streams without an end of their own
// end: a tenth.
const streamsPart = 10

// hurry ends the streams that have no end of their own.
func (s *Server) hurry() {
	s.calls.Hurried.Store(true)
	s.listener.Prompt()
	s.calls.HTTP2.Prompt()
}

// Close stops the server immediately: it is Shutdown without waiting for the requests in flight.
// The error says how many were cut off.
func (s *Server) Close() error { return s.Shutdown(ended()) }

// cutOff counts the requests of closed connections that had no response. A response may just
// have been written, so the goroutines that serve connections get a moment to report that and end.
func (s *Server) cutOff(closed []*wire.Connection) int {
	timer := time.NewTimer(lastWord)
	defer timer.Stop()
	select {
	case <-s.drained:
	case <-timer.C:
	}
	n := s.calls.HTTP2.CutOff()
	for _, conn := range closed {
		if conn.WasCutOff() {
			n++
		}
	}
	return n
}

// Done returns a channel that is closed when the server has stopped: at the end of Shutdown, or
// when connections can no longer be accepted. In the latter case Err returns the reason, and
// Shutdown must still be called for the open connections.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns the error that ended serving; nil while the server runs, and if Shutdown ended it.
func (s *Server) Err() error {
	select {
	case <-s.done:
		return s.failure
	default:
		return nil
	}
}

// Check compiles a specification without serving it and returns all its problems, including
// warnings and problems with the DSN in the options.
func Check(spec *config.Spec, opts Options) syntax.Problems {
	opts.complete()
	c := compile.New(opts.compile())
	defer c.Close()
	defer c.Loader.Close(context.Background())
	_, problems := c.Compile(spec)
	if _, err := sentry.ParseDSN(opts.SentryDSN); err != nil {
		problems = append(problems, syntax.Problem{What: err.Error(), Warning: true})
	}
	return problems
}
