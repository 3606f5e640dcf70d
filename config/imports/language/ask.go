package language

import (
	"strconv"

	"mockserver/config/imports/draft"
	"mockserver/config/syntax"
)

// maxAsks is the maximum number of requests that a check sends for a source.
const maxAsks = 1000

// Asks makes the requests by which endpoints are checked. Endpoints are added in the order in which
// the source tries them.
type Asks struct {
	earlier []askable
	added   int
}

// askable is an endpoint that may answer a request.
type askable struct {
	method string
	path   Path
	want   *draft.Response // nil if its answer is not known
}

// Add adds a request for an endpoint, unless an earlier endpoint may answer the request in a way
// that is not known; ask is nil if no request can be made for the endpoint, and want is nil if its
// answer is not known. In both cases, Add only records the endpoint for later calls. The answer of
// an earlier endpoint that may match also counts as correct. After maxAsks requests, Add does
// nothing.
func (a *Asks) Add(d *draft.Draft, method string, path Path, ask *draft.Ask, want *draft.Response) {
	if a.added >= maxAsks || len(a.earlier) >= 4*maxAsks {
		return
	}
	if known := ask != nil && want != nil; known {
		ask.Want = []draft.Response{*want}
		for _, e := range a.earlier {
			if e.method == method && overlap(e.path, path) {
				if known = e.want != nil; !known {
					break
				}
				ask.Want = append(ask.Want, *e.want)
			}
		}
		if known {
			a.added++
			ask.Method = method
			d.Asks = append(d.Asks, *ask)
		}
	}
	a.earlier = append(a.earlier, askable{method, path, want})
}

// Wanted returns the answer that a response is expected to give. The answer may have any body if
// the body of the response has placeholders or is a file.
func Wanted(response *syntax.Node) draft.Response {
	want := draft.Response{Status: 200}
	if status := response.Get("status"); status != nil {
		want.Status, _ = strconv.Atoi(status.Number) // an integer
	}
	templated := response.Get("template") == nil // it is only ever false
	body := response.Get("body").AsText()
	if want.Body = []byte(body); templated && draft.HasTags(body) || response.Get("external-body") != nil {
		want.Any = true
	}
	for _, name := range []string{"Content-Type", "Location"} {
		if value := response.Get("headers", name); value.AsText() != "" && !(templated && draft.HasTags(value.AsText())) {
			want.Header = append(want.Header, draft.Field{Name: name, Value: value.AsText()})
		}
	}
	return want
}
