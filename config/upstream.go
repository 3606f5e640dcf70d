package config

import (
	"fmt"

	"mockserver/config/item"
	"mockserver/config/syntax"
)

// addUpstream adds the upstream of a loader, and the endpoint that passes everything else on to it.
func (s *Spec) addUpstream(url string) {
	if url == "" {
		return
	}
	const flag = "--upstream"
	if what := item.UpstreamFault(url); what != "" {
		s.Problems = append(s.Problems, syntax.Problem{What: flag + ": " + what})
		return
	}
	text := func(value string) syntax.Text { return syntax.Text{Value: value} }
	s.Upstreams = append(s.Upstreams, item.Upstream{Pos: syntax.Pos{File: flag}, Key: flag, Name: item.DefaultUpstream, URL: text(url)})
	s.Endpoints = append(s.Endpoints, item.Endpoint{
		Pos: syntax.Pos{File: flag}, Key: flag, Method: item.MethodAny, Path: text("/*rest"),
		Response: item.Response{Proxy: &item.Proxy{To: text(item.DefaultUpstream)}},
	})
}

// checkUpstreams reports upstreams with the same name.
func (s *Spec) checkUpstreams() {
	first := map[string]*item.Upstream{}
	for i := range s.Upstreams {
		u := &s.Upstreams[i]
		if other := first[u.Name]; other != nil {
			s.Problems = append(s.Problems, syntax.Problem{Pos: u.Pos, Key: u.Key + ".name",
				What: fmt.Sprintf("there is another upstream %q at %s; expected a unique name", u.Name, other.Pos)})
			continue
		}
		first[u.Name] = u
	}
}
