package serve

import (
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"mockserver/listener/reply"
)

// preflightMaxAge is how many seconds a browser may cache a preflight response.
const preflightMaxAge = "600"

// respondOptions answers OPTIONS on a path that does not declare it. Unless Options.NoCORS is set,
// a preflight request is allowed what the endpoint that it asks about declares, and otherwise the
// methods of the path and all headers that it asks for.
func (s *Server) respondOptions(sn *world, c *call, methods []string) {
	c.Trace.Counters = s.Recorder.ForOptions()
	allowed := allow(methods)
	c.Reply.Add(fasthttp.HeaderAllow, allowed)
	if s.NoCORS || !c.isPreflight() {
		return
	}
	requested, _ := c.Header(fasthttp.HeaderAccessControlRequestMethod)
	sn.addDeclaredCORS(c, string(requested))
	headers, _ := c.Header(fasthttp.HeaderAccessControlRequestHeaders)
	for _, h := range []reply.Field{
		{Name: fasthttp.HeaderAccessControlAllowMethods, Value: allowed},
		{Name: fasthttp.HeaderAccessControlAllowHeaders, Value: reply.Text(headers)},
		{Name: fasthttp.HeaderAccessControlMaxAge, Value: preflightMaxAge},
	} {
		if h.Value != "" && !c.Reply.Has(h.Name) {
			c.Reply.Add(h.Name, h.Value)
		}
	}
	c.Reply.Add(fasthttp.HeaderVary, "Access-Control-Request-Method, Access-Control-Request-Headers")
}

// addDeclaredCORS adds the headers for preflights of the endpoint that a request with the given
// method would reach.
func (sn *world) addDeclaredCORS(c *call, method string) {
	if sn.Preflights == nil {
		return
	}
	if method == fasthttp.MethodHead && sn.Preflights.First(&c.Request, method) < 0 {
		method = fasthttp.MethodGet
	}
	i := sn.Preflights.Match(&c.Request, method)
	holds := i >= 0
	if !holds {
		i = sn.Preflights.First(&c.Request, method)
	}
	if i < 0 {
		return
	}
	for _, h := range sn.Responses[i].Preflight {
		if holds || h.Template == nil || h.Template.IsOfHeaders() {
			h.AddTo(&c.Reply, &c.Request)
		}
	}
	c.Reply.Fields = slices.DeleteFunc(c.Reply.Fields, func(f reply.Field) bool { return f.Value == "" })
}

// allowOrigin lets pages of any origin read the response and its headers, unless Options.NoCORS is set or the
// response declares otherwise. With Options.CORSCredentials it allows credentials as well. A response that the server
// sends instead of a declared one, such as 429, repeats what the endpoint declares.
func (s *Server) allowOrigin(c *call) {
	if s.NoCORS || !c.hasOrigin() {
		return
	}
	if !c.isOptions() && !c.Reply.Has(fasthttp.HeaderAccessControlExposeHeaders) {
		c.Reply.AddExposed()
	}
	declared := c.Reply.Has(fasthttp.HeaderAccessControlAllowOrigin) || c.repeatOrigin()
	if s.CORSCredentials && !c.Reply.Has(fasthttp.HeaderAccessControlAllowCredentials) {
		c.Reply.Add(fasthttp.HeaderAccessControlAllowCredentials, "true")
	}
	switch origin, _ := c.Header(fasthttp.HeaderOrigin); {
	case declared:
	case s.CORSCredentials: // with which * is not allowed
		c.Reply.AddCopy(fasthttp.HeaderAccessControlAllowOrigin, origin)
		c.Reply.Add(fasthttp.HeaderVary, fasthttp.HeaderOrigin)
	default:
		c.Reply.Add(fasthttp.HeaderAccessControlAllowOrigin, "*")
	}
}

// repeatOrigin adds the declared origin and credentials of the endpoint to a reply that has no origin. It
// reports whether an origin is declared.
func (c *call) repeatOrigin() (declared bool) {
	if c.world == nil || c.matched < 0 || c.panicked {
		return false
	}
	for _, h := range c.world.Responses[c.matched].Preflight {
		if h.Template != nil && !h.Template.IsOfHeaders() { // it may use values that are made with the declared response
			continue
		}
		isOrigin := strings.EqualFold(h.Name, fasthttp.HeaderAccessControlAllowOrigin)
		if isOrigin || strings.EqualFold(h.Name, fasthttp.HeaderAccessControlAllowCredentials) && !c.Reply.Has(h.Name) {
			h.AddTo(&c.Reply, &c.Request)
			declared = declared || isOrigin
		}
	}
	return declared
}

// isPreflight reports whether a browser asks whether it may send another request.
func (c *call) isPreflight() bool {
	requested, _ := c.Header(fasthttp.HeaderAccessControlRequestMethod)
	return c.isOptions() && len(requested) > 0 && c.hasOrigin()
}

// hasOrigin reports whether the request may come from a page in a browser.
func (c *call) hasOrigin() bool {
	origin, _ := c.Header(fasthttp.HeaderOrigin)
	return len(origin) > 0
}

// addAllow adds Allow to a declared response to OPTIONS that lacks it.
func addAllow(sn *world, c *call) {
	if !c.Reply.Has(fasthttp.HeaderAllow) {
		c.Reply.Add(fasthttp.HeaderAllow, allow(sn.Table.Methods(&c.Request)))
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
