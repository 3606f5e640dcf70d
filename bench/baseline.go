package bench

import (
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// serveBare answers every request with the same bytes, as a careful user of fasthttp would
// write it: the least that a server costs. It returns when l is closed.
func serveBare(l net.Listener, contentType string, body []byte) error {
	server := fasthttp.Server{
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Response.Header.SetContentType(contentType)
			ctx.Response.SetBodyRaw(body)
		},
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,
		IdleTimeout:           time.Minute,
	}
	return server.Serve(l)
}
