package listener

import (
	"bytes"

	"github.com/valyala/fasthttp"

	"mockserver/matcher"
)

// preflightMaxAge is for how many seconds a browser may keep a preflight answer.
const preflightMaxAge = "600"

// respondOptions answers OPTIONS on a path that declares none itself; a preflight
// is told that whatever it asked for is allowed.
func (s *Server) respondOptions(r *matcher.Request, methods []string) {
	h := &r.Ctx.Response.Header
	allowed := allow(methods)
	h.Set(fasthttp.HeaderAllow, allowed)
	requested, _ := r.Header(fasthttp.HeaderAccessControlRequestMethod)
	if s.opts.NoCORS || len(requested) == 0 || !hasOrigin(r) {
		return
	}
	h.Set(fasthttp.HeaderAccessControlAllowMethods, allowed)
	if headers, _ := r.Header(fasthttp.HeaderAccessControlRequestHeaders); len(headers) > 0 {
		h.SetBytesV(fasthttp.HeaderAccessControlAllowHeaders, headers)
	}
	h.Set(fasthttp.HeaderAccessControlMaxAge, preflightMaxAge)
	h.Add(fasthttp.HeaderVary, "Access-Control-Request-Method, Access-Control-Request-Headers")
}

// allowOrigin lets pages of any origin read the answer, unless the endpoint
// declares something else. Credentials are never allowed here.
func (s *Server) allowOrigin(r *matcher.Request) {
	if s.opts.NoCORS || !hasOrigin(r) {
		return
	}
	h := &r.Ctx.Response.Header
	if !has(h, fasthttp.HeaderAccessControlAllowOrigin) {
		h.Set(fasthttp.HeaderAccessControlAllowOrigin, "*")
	}
}

func hasOrigin(r *matcher.Request) bool {
	origin, _ := r.Header(fasthttp.HeaderOrigin)
	return len(origin) > 0
}

// addAllow completes a declared answer to OPTIONS that lacks Allow.
func addAllow(sn *snapshot, r *matcher.Request) {
	h := &r.Ctx.Response.Header
	if !has(h, fasthttp.HeaderAllow) {
		h.Set(fasthttp.HeaderAllow, allow(sn.table.Methods(r)))
	}
}

// has tells whether a header is there in whatever case it was declared; fasthttp's
// own look-up knows one case only.
func has(h *fasthttp.ResponseHeader, name string) bool {
	for key := range h.All() {
		if bytes.EqualFold(key, []byte(name)) {
			return true
		}
	}
	return false
}
