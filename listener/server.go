// Package listener is the network edge and the path of a request: it compiles a
// specification into a snapshot and serves it.
//
// A Server is used as a library like this:
//
//	spec := config.Load("mocks.yml")
//	server, err := listener.Start(spec, listener.Options{})
//	if err != nil { … }                      // a config.Problems, or the port is in use
//	defer server.Shutdown(context.Background())
//	http.Get(server.URL() + "/hello")
//
// Apply replaces the specification without losing a request. Several servers may
// run in one process.
package listener

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/config"
)

// Options is what a server may be told beside its specification. The zero value
// listens on a free port of the loopback address and logs nothing.
type Options struct {
	Host string // the address to listen on; "" is 127.0.0.1
	Port int    // 0 takes a free one; see URL

	Logger *slog.Logger // nil logs nothing

	MaxBody         int  // bytes of a request body; 0 is 16 MiB
	UnmatchedStatus int  // answers what matches no endpoint; 0 is 404 or 405
	NoCORS          bool // no Access-Control headers
	AccessLog       bool // one log line per request

	// Env looks up env.NAME of templates while a specification is compiled; nil
	// finds nothing.
	Env func(name string) (string, bool)
}

// Limits that no option changes.
const (
	defaultMaxBody = 16 << 20
	// maxHeader is the largest request line and headers. It is also the size of
	// each connection's read buffer.
	maxHeader     = 64 << 10
	headerTimeout = 10 * time.Second
	// idleTimeout outlasts the pools of the clients under test: a server that
	// closes first makes their next request fail.
	idleTimeout = 10 * time.Minute

	// keptBody is the largest body that a connection keeps the room of.
	keptBody = 256 << 10

	unmatchedPerSecond = 10
)

// Server serves one specification at a time. Its methods may be called from any
// goroutine.
type Server struct {
	opts     Options
	log      *slog.Logger
	compiler *compiler
	snapshot atomic.Pointer[snapshot]
	applying sync.Mutex // one Apply at a time

	http     *fasthttp.Server
	listener *connections
	stopping atomic.Bool // Shutdown was called: that serving ends is no failure
	served   chan error  // what serving came to, once

	unmatchedPace *pace
	serverErrors  *onceAMinute
}

// Start compiles spec, listens, and serves in the background. An error is the
// specification's (config.Problems) or the listening socket's.
func Start(spec *config.Spec, opts Options) (*Server, error) {
	s := newServer(opts)
	if err := s.Apply(spec); err != nil {
		s.compiler.loader.Close(context.Background())
		return nil, err
	}
	if err := s.listen(); err != nil {
		s.compiler.loader.Close(context.Background())
		return nil, err
	}
	go s.accept()
	return s, nil
}

// accept serves connections until the listener is closed.
func (s *Server) accept() {
	err := s.http.Serve(s.listener)
	if s.stopping.Load() {
		err = nil
	}
	s.served <- err
}

func newServer(opts Options) *Server {
	if opts.Host == "" {
		opts.Host = "127.0.0.1"
	}
	if opts.MaxBody == 0 {
		opts.MaxBody = defaultMaxBody
	}
	s := &Server{
		opts:          opts,
		log:           opts.Logger,
		compiler:      newCompiler(opts),
		served:        make(chan error, 1),
		unmatchedPace: newPace(unmatchedPerSecond),
		serverErrors:  newOnceAMinute(),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	// fasthttp has this for the whole process only; every server sets the same.
	// Without it a connection keeps its largest request and answer for as long as it
	// is open.
	fasthttp.SetBodySizePoolLimit(keptBody, keptBody)
	s.http = &fasthttp.Server{
		Handler:                      s.serve,
		ErrorHandler:                 s.malformed,
		ExpectHandler:                s.expect,
		HeaderReceived:               received,
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		MaxRequestBodySize:           opts.MaxBody,
		ReadBufferSize:               maxHeader,
		ReadTimeout:                  headerTimeout,
		IdleTimeout:                  idleTimeout,
		CloseOnShutdown:              true,
		DisablePreParseMultipartForm: true,
		SecureErrorLogMessage:        true,
		Logger:                       connectionLog{s.log},
	}
	return s
}

// received sees the headers before fasthttp parses the target and reads the body.
// It gives a request that has a body the time to send it: the time-out in force
// until now was that of the headers.
func received(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if uri := h.RequestURI(); len(uri) > plainTarget && costly(uri) {
		// fasthttp has no way to refuse here, but refuses control characters next.
		h.SetRequestURIBytes(append(uri[:shownTarget:shownTarget], 0x7f))
	}
	if h.ContentLength() == 0 || h.ContentLength() == -2 {
		return fasthttp.RequestConfig{}
	}
	return fasthttp.RequestConfig{ReadTimeout: bodyTimeout}
}

// connectionLog passes what fasthttp has to say about single connections on at
// debug level: what matters has an answer and a log line of its own.
type connectionLog struct{ log *slog.Logger }

// Printf is what fasthttp calls.
func (c connectionLog) Printf(format string, args ...any) {
	c.log.Debug("connection", "detail", fmt.Sprintf(format, args...))
}

func (s *Server) listen() error {
	address := net.JoinHostPort(s.opts.Host, strconv.Itoa(s.opts.Port))
	network := "tcp"
	if ip, err := netip.ParseAddr(s.opts.Host); err == nil && ip.Is4() {
		network = "tcp4" // else 0.0.0.0 would be all IPv6 addresses too
	}
	l, err := net.Listen(network, address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("port %d of %s is in use by another program: choose another with --port", s.opts.Port, s.opts.Host)
	case err != nil:
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	s.listener = newConnections(l, s.log)
	return nil
}

// Apply compiles spec and serves it from the next request on. When it is wrong
// the error is a config.Problems and what was served before goes on.
func (s *Server) Apply(spec *config.Spec) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	sn, problems := s.compiler.compile(spec)
	if err := problems.Err(); err != nil {
		return err
	}
	for _, warning := range problems.Warnings() {
		s.log.Warn("configuration warning", "at", warning.Pos.String(), "key", warning.Key, "what", warning.What)
	}
	s.snapshot.Store(sn)
	return nil
}

// Addr is the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// URL is the base URL of the server, without a slash at its end:
// "http://127.0.0.1:8000". A server on all addresses is named by the loopback one.
func (s *Server) URL() string {
	tcp, ok := s.listener.Addr().(*net.TCPAddr)
	if !ok {
		return "http://" + s.listener.Addr().String()
	}
	host := tcp.IP.String()
	if tcp.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}

// Shutdown stops accepting, lets the requests in flight finish until ctx ends,
// and closes what is left. It returns ctx's error when some did not finish. It
// may be called once.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stopping.Store(true)
	closing := s.listener.Close()
	s.listener.hurrySilent()
	draining := s.http.ShutdownWithContext(ctx)
	s.listener.closeAll()
	s.compiler.loader.Close(ctx)
	return errors.Join(closing, draining)
}

// Done gives the error that ended serving: nil after Shutdown.
func (s *Server) Done() <-chan error { return s.served }

// maxBodyText is the limit of a request body for messages.
func (s *Server) maxBodyText() string {
	if mib := s.opts.MaxBody >> 20; mib > 0 && mib<<20 == s.opts.MaxBody {
		return fmt.Sprintf("%d MiB", mib)
	}
	return fmt.Sprintf("%d bytes", s.opts.MaxBody)
}
