package serve

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"testing"

	"mockserver/config"
	"mockserver/dispatcher"
	"mockserver/internal/pacer"
	"mockserver/listener/compile"
	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/wire"
	"mockserver/matcher"
)

// testServer is a Server with the compiler of its specifications, as package listener has them.
type testServer struct {
	*Server
	compiler    *compile.Compiler
	applying    sync.Mutex        // held during Apply
	connections *wire.Connections // set by listen
	address     string
	stop        func()
	// If returned is not nil, connections are parked, and it gets a value whenever serving one returns.
	returned chan struct{}
	// handshake is for connections over TLS; nil for none.
	handshake func(*wire.Connection, net.Conn) (*tls.Conn, error)
}

// newServer returns a server without a specification, which does not listen.
func newServer(tb testing.TB, opts compile.Options) *testServer {
	tb.Helper()
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.MaxBody == 0 {
		opts.MaxBody = 16 << 20
	}
	opts.MaxResponse, opts.StateMemory = matcher.DefaultMaxText, 1<<30
	s := &testServer{
		Server:   New(Options{Log: opts.Log, MaxBody: opts.MaxBody, MaxResponse: opts.MaxResponse}),
		compiler: compile.New(opts),
	}
	tb.Cleanup(func() {
		s.compiler.Loader.Close(context.Background())
		s.compiler.Close()
	})
	return s
}

// Apply serves a specification from the next request on.
func (s *testServer) Apply(spec *config.Spec) error {
	s.applying.Lock()
	defer s.applying.Unlock()
	sn, problems := s.compiler.Compile(spec)
	if err := problems.Err(); err != nil {
		return err
	}
	s.compiler.Commit()
	s.Use(sn)
	return nil
}

// serving applies a specification, which must be valid.
func (s *testServer) serving(tb testing.TB, spec *config.Spec) *testServer {
	tb.Helper()
	if err := s.Apply(spec); err != nil {
		tb.Fatal(err)
	}
	return s
}

// configured returns a server that serves a configuration without listening.
func configured(tb testing.TB, configuration string) *testServer {
	tb.Helper()
	return newServer(tb, compile.Options{}).serving(tb, config.Parse("mock.yml", []byte(configuration)))
}

// seeded is like configured, with a seed; nil means no seed.
func seeded(tb testing.TB, seed *uint64, configuration string) *testServer {
	tb.Helper()
	return newServer(tb, compile.Options{Seed: seed}).serving(tb, config.Parse("mock.yml", []byte(configuration)))
}

// recordingServer is like configured, and keeps one in sample requests in its journal.
func recordingServer(tb testing.TB, configuration string, sample int) *testServer {
	tb.Helper()
	return recordingAs(tb, configuration, record.JournalOptions{Sample: sample})
}

// recordingAs is like recordingServer, with the given journal options.
func recordingAs(tb testing.TB, configuration string, journal record.JournalOptions) *testServer {
	tb.Helper()
	s := newServer(tb, compile.Options{})
	s.Recorder = record.New(record.Options{Journal: journal})
	return s.serving(tb, config.Parse("mock.yml", []byte(configuration)))
}

// listen serves connections, of both protocols, on a free port until the test ends or the returned
// function is called.
func (s *testServer) listen(tb testing.TB) (stop func()) {
	tb.Helper()
	inner, err := wire.Listen(context.Background(), "tcp", "127.0.0.1:0", false)
	if err != nil {
		tb.Fatal(err)
	}
	l := handling(s, wire.New(inner, s.Log))
	s.connections, s.address = l, inner.Addr().String()
	l.Pacer = pacer.New()
	s.StartHTTP2(0, l.Pacer)
	l.HTTP2 = s.ServeHTTP2
	var connections sync.WaitGroup
	begin := func(c *wire.Connection) { connections.Go(func() { s.ServeConnection(c) }) }
	if l.Handshake = s.handshake; s.returned != nil {
		begin = func(c *wire.Connection) {
			connections.Go(func() {
				s.ServeConnection(c)
				s.returned <- struct{}{}
			})
		}
		l.Resume = begin
	}
	connections.Go(func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			begin(conn.(*wire.Connection))
		}
	})
	s.stop = sync.OnceFunc(func() {
		s.Stopping.Store(true)
		if err := l.End(0); err != nil {
			tb.Error(err)
		}
		l.ExpireIdle()
		s.HTTP2.Drain()
		l.Drain()
		connections.Wait()
		l.Stop()
	})
	tb.Cleanup(s.stop)
	return s.stop
}

// openWebhooks starts a queue that drops what is pending when the test ends.
func (s *testServer) openWebhooks(tb testing.TB) {
	tb.Helper()
	var err error
	if s.Webhooks, err = dispatcher.Open(dispatcher.Options{Logger: s.Log, Failed: s.LogFailed}); err != nil {
		tb.Fatal(err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	tb.Cleanup(func() { _, _ = s.Webhooks.Close(ended) }) // nothing is sent any more
}
