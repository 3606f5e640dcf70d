package mockoon

import (
	"strconv"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
)

// proxyTimeout is how long an answer may take. It is long because Mockoon waits without a limit.
const proxyTimeout = "1h"

// proxy adds an endpoint that passes on the requests that no route answers, or reports why it
// cannot be imported.
func (r *reader) proxy() {
	const name = "proxyMode"
	host := text(get(r.root, "proxyHost"))
	a := (&endpoint{reader: r}).begin(r.root)
	headers := func(list string) *language.Headers {
		h := &language.Headers{}
		for _, n := range get(r.root, list).List() {
			if key, value := strings.TrimSpace(text(get(n, "key"))), text(get(n, "value")); key != "" && value != "" {
				a.Note(h.Add(key, language.Translate(value, a.dialect)))
			}
		}
		return h
	}
	up, why, differs := "", "proxyRemovePrefix cannot be expressed", ""
	if !isTrue(get(r.root, "proxyRemovePrefix")) || text(get(r.root, "endpointPrefix")) == "" {
		up, why, differs = r.upstreams.Declare(r.Draft, language.Upstream{URL: host, Timeout: proxyTimeout, Headers: headers("proxyReqHeaders")})
	}
	e := draft.NewMap("method", "any", "path", "/*rest")
	if why != "" {
		why = "requests that no route answers are not passed on to " + host + ": " + why
		r.AddLost("endpoint", e.Set("response", draft.NewMap("proxy", host)), r.root.Pos(), name, why)
		return
	}
	a.Note(differs)
	a.response.Set("proxy", draft.Of(up))
	language.SetTexts(a.response, headers("proxyResHeaders"), &language.Template{})
	e.Set("response", a.response)
	if latency := milliseconds(get(r.root, "latency")); latency != nil {
		e.Set("latency", draft.Flow(latency))
		a.Note("the latency is the minimum of the total time; Mockoon adds it to the time of the upstream")
	}
	r.Add("endpoint", e, "requests that no route answers are passed on to "+strconv.Quote(host))
	a.report(r.root.Pos(), name, a.Differ)
}
