package listener

import (
	"github.com/valyala/fasthttp"
)

// preflightMaxAge is for how many seconds a browser may keep a preflight answer.
const preflightMaxAge = "600"

// respondOptions answers OPTIONS on a path that declares none itself; a preflight
// is told that whatever it asked for is allowed.
func (s *Server) respondOptions(ctx *fasthttp.RequestCtx, methods []string) {
	h := &ctx.Response.Header
	allowed := allow(methods)
	h.Set(fasthttp.HeaderAllow, allowed)
	requested := ctx.Request.Header.Peek(fasthttp.HeaderAccessControlRequestMethod)
	if s.opts.NoCORS || len(requested) == 0 || len(ctx.Request.Header.Peek(fasthttp.HeaderOrigin)) == 0 {
		return
	}
	h.Set(fasthttp.HeaderAccessControlAllowMethods, allowed)
	if headers := ctx.Request.Header.Peek(fasthttp.HeaderAccessControlRequestHeaders); len(headers) > 0 {
		h.SetBytesV(fasthttp.HeaderAccessControlAllowHeaders, headers)
	}
	h.Set(fasthttp.HeaderAccessControlMaxAge, preflightMaxAge)
	h.Add(fasthttp.HeaderVary, "Access-Control-Request-Method, Access-Control-Request-Headers")
}

// allowOrigin lets pages of any origin read the answer, unless the endpoint
// declares something else. Credentials are never allowed here.
func allowOrigin(ctx *fasthttp.RequestCtx) {
	if len(ctx.Request.Header.Peek(fasthttp.HeaderOrigin)) == 0 {
		return
	}
	h := &ctx.Response.Header
	if len(h.Peek(fasthttp.HeaderAccessControlAllowOrigin)) == 0 {
		h.Set(fasthttp.HeaderAccessControlAllowOrigin, "*")
	}
}
