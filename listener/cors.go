package listener

import (
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"mockserver/listener/reply"
)

// preflightMaxAge is how many seconds a browser may cache a preflight response.
const preflightMaxAge = "600"

// respondOptions answers OPTIONS on a path that does not declare it. Unless Options.NoCORS is set,
// a preflight request is allowed the methods of the path and all headers that it asks for.
func (s *Server) respondOptions(c *call, methods []string) {
	allowed := allow(methods)
	c.reply.Add(fasthttp.HeaderAllow, allowed)
	requested, _ := c.Header(fasthttp.HeaderAccessControlRequestMethod)
	if s.opts.NoCORS || len(requested) == 0 || !c.hasOrigin() {
		return
	}
	c.reply.Add(fasthttp.HeaderAccessControlAllowMethods, allowed)
	if headers, _ := c.Header(fasthttp.HeaderAccessControlRequestHeaders); len(headers) > 0 {
		c.reply.Add(fasthttp.HeaderAccessControlAllowHeaders, reply.Text(headers))
	}
	c.reply.Add(fasthttp.HeaderAccessControlMaxAge, preflightMaxAge)
	c.reply.Add(fasthttp.HeaderVary, "Access-Control-Request-Method, Access-Control-Request-Headers")
}

// allowOrigin lets pages of any origin read the response, unless Options.NoCORS is set or the
// response already has Access-Control-Allow-Origin. Credentials are never allowed here.
func (s *Server) allowOrigin(c *call) {
	if !s.opts.NoCORS && c.hasOrigin() && !c.reply.Has(fasthttp.HeaderAccessControlAllowOrigin) {
		c.reply.Add(fasthttp.HeaderAccessControlAllowOrigin, "*")
	}
}

// hasOrigin reports whether the request may come from a page in a browser.
func (c *call) hasOrigin() bool {
	origin, _ := c.Header(fasthttp.HeaderOrigin)
	return len(origin) > 0
}

// addAllow adds Allow to a declared response to OPTIONS that lacks it.
func addAllow(sn *snapshot, c *call) {
	if !c.reply.Has(fasthttp.HeaderAllow) {
		c.reply.Add(fasthttp.HeaderAllow, allow(sn.table.Methods(&c.Request)))
	}
}

// allow returns the value of Allow for a path with the declared methods.
func allow(methods []string) string {
	all := slices.Clone(methods)
	if slices.Contains(all, fasthttp.MethodGet) {
		all = append(all, fasthttp.MethodHead)
	}
	all = append(all, fasthttp.MethodOptions)
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}
