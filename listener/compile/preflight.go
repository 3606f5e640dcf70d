package compile

import (
	"slices"
	"strings"

	"mockserver/matcher"
)

// forPreflights makes the table from which preflights are answered; nil if no endpoint declares
// headers for them. A preflight evaluates only conditions that have the same result each time: the
// request that follows evaluates all of them. For others, headers with templates are left out, which
// may need what the condition finds.
func (sn *Snapshot) forPreflights(routes []matcher.Route, steady []bool) {
	declared := false
	for i := range sn.Responses {
		sn.Responses[i].may(func(a *Response) bool {
			sn.Responses[i].Preflight = slices.DeleteFunc(slices.Clone(a.Headers), func(h header) bool {
				name := strings.ToLower(h.Name)
				return !strings.HasPrefix(name, "access-control-allow-") && name != "access-control-max-age"
			})
			return len(sn.Responses[i].Preflight) > 0
		})
		declared = declared || len(sn.Responses[i].Preflight) > 0
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
	sn.Preflights, _ = matcher.Compile(routes)
}
