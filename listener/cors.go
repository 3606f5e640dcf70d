package listener

import (
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"mockserver/listener/reply"
	"mockserver/matcher"
)

// preflightMaxAge is how many seconds a browser may cache a preflight response.
const preflightMaxAge = "600"

// respondOptions answers OPTIONS on a path that does not declare it. Unless Options.NoCORS is set,
// a preflight request is allowed what the endpoint that it asks about declares, and otherwise the
// methods of the path and all headers that it asks for.
func (s *Server) respondOptions(sn *snapshot, c *call, methods []string) {
	allowed := allow(methods)
	c.reply.Add(fasthttp.HeaderAllow, allowed)
	requested, _ := c.Header(fasthttp.HeaderAccessControlRequestMethod)
	if s.opts.NoCORS || len(requested) == 0 || !c.hasOrigin() {
		return
	}
	sn.addDeclaredCORS(c, string(requested))
	headers, _ := c.Header(fasthttp.HeaderAccessControlRequestHeaders)
	for _, h := range []reply.Field{
		{Name: fasthttp.HeaderAccessControlAllowMethods, Value: allowed},
		{Name: fasthttp.HeaderAccessControlAllowHeaders, Value: reply.Text(headers)},
		{Name: fasthttp.HeaderAccessControlMaxAge, Value: preflightMaxAge},
	} {
		if h.Value != "" && !c.reply.Has(h.Name) {
			c.reply.Add(h.Name, h.Value)
		}
	}
	c.reply.Add(fasthttp.HeaderVary, "Access-Control-Request-Method, Access-Control-Request-Headers")
}

// addDeclaredCORS adds the headers for preflights of the endpoint that a request with the given
// method would reach.
func (sn *snapshot) addDeclaredCORS(c *call, method string) {
	if sn.preflights == nil {
		return
	}
	if method == fasthttp.MethodHead && sn.preflights.First(&c.Request, method) < 0 {
		method = fasthttp.MethodGet
	}
	i := sn.preflights.Match(&c.Request, method)
	holds := i >= 0
	if !holds {
		i = sn.preflights.First(&c.Request, method)
	}
	if i < 0 {
		return
	}
	for _, h := range sn.answers[i].preflight {
		if h.template == nil {
			c.reply.Add(h.name, h.value)
		} else if holds {
			c.reply.AddTemplate(h.name, h.template, &c.Request)
		}
	}
	c.reply.Fields = slices.DeleteFunc(c.reply.Fields, func(f reply.Field) bool { return f.Value == "" })
}

// forPreflights makes the table from which preflights are answered; nil if no endpoint declares
// headers for them. A preflight evaluates only conditions that have the same result each time: the
// request that follows evaluates all of them. For others, headers with templates are left out, which
// may need what the condition finds.
func (sn *snapshot) forPreflights(routes []matcher.Route, steady []bool) {
	declared := false
	for i := range sn.answers {
		sn.answers[i].may(func(a *answer) bool {
			sn.answers[i].preflight = slices.DeleteFunc(slices.Clone(a.headers), func(h header) bool {
				name := strings.ToLower(h.name)
				return !strings.HasPrefix(name, "access-control-allow-") && name != "access-control-max-age"
			})
			return len(sn.answers[i].preflight) > 0
		})
		declared = declared || len(sn.answers[i].preflight) > 0
	}
	if !declared {
		return
	}
	routes = slices.Clone(routes)
	for i := range routes {
		if routes[i].If != nil && !steady[i] {
			routes[i].If = func(*matcher.Request) bool { return false }
		}
	}
	sn.preflights, _ = matcher.Compile(routes)
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
