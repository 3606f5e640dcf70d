package wiremock

import (
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
)

// proxyTimeout is how long WireMock waits for the server that it passes requests on to.
const proxyTimeout = "5m"

// proxyKeys are the keys of a response that say how requests are passed on.
var proxyKeys = []string{"proxyBaseUrl", "additionalProxyRequestHeaders", "removeProxyRequestHeaders", "proxyUrlPrefixToRemove"}

// proxy declares that requests are passed on. WireMock then sends no fault, status or body of its
// own.
func (a *response) proxy(base string) {
	switch {
	case strings.Contains(base, "{{"):
		a.Lose("proxyBaseUrl " + base + " is chosen by the request")
		return
	case text(get(a.node, "proxyUrlPrefixToRemove")) != "":
		a.Lose("proxyUrlPrefixToRemove cannot be expressed")
		return
	}
	up := language.Upstream{URL: base, Timeout: proxyTimeout, Headers: &language.Headers{}}
	for name, values := range get(a.node, "additionalProxyRequestHeaders").Members() {
		for _, value := range listed(values) {
			a.Note(up.Headers.Add(name, language.Fixed(text(value))))
		}
	}
	for _, item := range get(a.node, "removeProxyRequestHeaders").List() {
		if name := text(item); name == strings.ToLower(name) { // WireMock does not find other names
			up.Without = append(up.Without, name)
		}
	}
	name, why, differs := a.reader.upstreams.Declare(a.reader.Draft, up)
	if why != "" {
		a.Lose(why)
		return
	}
	a.Note(differs)
	a.response.Set("proxy", draft.Of(name))
	a.transformers()
	a.texts("", nil)
	if a.response.Get("headers") != nil {
		a.Note("its headers replace those of the upstream; WireMock sends both")
	}
	if a.timing(); a.latency != nil {
		a.Note("the delay is the minimum of the total time; WireMock adds it to the time of the upstream")
	}
	a.fault = nil
}
