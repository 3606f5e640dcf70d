package compile

import (
	"github.com/valyala/fasthttp"

	"mockserver/matcher"
)

// fix collects the paths without parameters. If their endpoint depends on nothing else in the
// request and its answer is fixed, the answer can be prepared.
func (sn *Snapshot) fix(routes []matcher.Route) {
	for i := range routes {
		if routes[i].Endpoint.Host != "" {
			return // hosts take precedence over paths
		}
	}
	sn.Paths = map[string]int{}
	for i := range routes {
		path, ok := routes[i].Pattern.Literal()
		if !ok || routes[i].Endpoint.EffectiveMethod() != fasthttp.MethodGet {
			continue
		}
		if _, known := sn.Paths[path]; known { // an endpoint declared earlier answers
			continue
		}
		if sn.Paths[path] = -1; routes[i].If == nil && sn.Responses[i].IsFixed() {
			sn.Paths[path] = i
		}
	}
}

// IsFixed reports whether the answer is the same for every request that does not choose another
// answer of the operation.
func (a *Response) IsFixed() bool {
	return a.Template.IsNone() && !a.hasTemplates() && a.Source == nil && a.Stream == nil && a.Proxy == nil && len(a.Hooks)+len(a.Lets) == 0 && a.access == nil && a.Resource == nil && !a.Disturbed && (a.Operation == nil || a.Operation.IsFixed())
}
