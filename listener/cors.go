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

// addDeclaredCORS adds the Access-Control headers for preflights that the endpoint declares which a
// request with the given method would reach, or its first outcome that declares one. If the condition
// of each endpoint is false, as it may be because the preflight lacks the headers and the body, the
// first one counts, with the headers that are not templates.
func (sn *snapshot) addDeclaredCORS(c *call, method string) {
	if method == fasthttp.MethodHead && sn.table.First(&c.Request, method) < 0 {
		method = fasthttp.MethodGet
	}
	i := sn.table.Match(&c.Request, method)
	matched := i >= 0
	if !matched {
		i = sn.table.First(&c.Request, method)
	}
	if i < 0 {
		return
	}
	before := len(c.reply.Fields)
	sn.answers[i].may(func(a *answer) bool {
		for k := range a.headers {
			h := &a.headers[k]
			if name := strings.ToLower(h.name); !strings.HasPrefix(name, "access-control-allow-") && name != "access-control-max-age" {
				continue
			}
			if h.template == nil {
				c.reply.Add(h.name, h.value)
			} else if matched {
				c.reply.AddTemplate(h.name, h.template, &c.Request)
			}
		}
		return len(c.reply.Fields) > before
	})
	c.reply.Fields = slices.DeleteFunc(c.reply.Fields, func(f reply.Field) bool { return f.Value == "" })
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
