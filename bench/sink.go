package bench

import (
	"io"
	"log"
	"net"
	"sync/atomic"

	"github.com/valyala/fasthttp"
)

// sink takes the webhooks of a server and counts them.
type sink struct {
	net.Listener

	received atomic.Int64
}

// openSink starts a sink on a free port. It is to be closed.
func openSink() (*sink, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &sink{Listener: l}
	server := fasthttp.Server{
		Handler: func(ctx *fasthttp.RequestCtx) {
			s.received.Add(1)
			ctx.SetStatusCode(fasthttp.StatusNoContent)
		},
		Logger: log.New(io.Discard, "", 0), // that a delivery failed is in the server's log
	}
	go func() { _ = server.Serve(l) }() // it ends with its listener
	return s, nil
}
