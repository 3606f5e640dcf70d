package bench

import (
	"errors"
	"net"
	"sync/atomic"

	"github.com/valyala/fasthttp"
)

// sink takes the webhooks of a server and counts them.
type sink struct {
	address  string // "127.0.0.1:41234"
	received atomic.Int64

	http *fasthttp.Server
}

// openSink starts a sink on a free port.
func openSink() (*sink, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &sink{address: l.Addr().String()}
	s.http = &fasthttp.Server{
		Handler: func(ctx *fasthttp.RequestCtx) {
			s.received.Add(1)
			ctx.SetStatusCode(fasthttp.StatusNoContent)
		},
		Logger: silent{},
	}
	go func() { _ = s.http.Serve(l) }() // it ends with close
	return s, nil
}

func (s *sink) close() error {
	if err := s.http.Shutdown(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// silent says nothing of connections that ended: that a delivery failed is in the
// server's log.
type silent struct{}

// Printf is what fasthttp calls.
func (silent) Printf(string, ...any) {}
