package traffic

import (
	"slices"
	"strings"

	"mockserver/config/imports/draft"
)

// stateful warns about paths whose answers change and to which other requests write, because
// recorded answers that are served in turn have no state. It also adds a resource that would keep
// the state, commented out.
func (c *Collector) stateful(groups []*group) {
	warned := map[string]bool{}
	for _, g := range groups {
		if g.method != "GET" || !g.changes() {
			continue
		}
		for _, w := range groups {
			if w.host != g.host || !slices.Contains([]string{"POST", "PUT", "PATCH", "DELETE"}, w.method) || warned[g.name] {
				continue
			}
			collection := strings.TrimSuffix(w.pattern.text, "/")
			if n := len(w.pattern.segments); w.method != "POST" && n > 1 && w.pattern.segments[n-1].param {
				collection = collection[:strings.LastIndexByte(collection, '/')]
			}
			if g.pattern.text != collection && !strings.HasPrefix(g.pattern.text, collection+"/:") {
				continue
			}
			warned[g.name] = true
			c.draft.Warn(c.pos(g.records[0]), g.name, "its answers change, and %s writes to it: this looks like state, which a resource would keep", w.name)
			above := "this looks like state, which a resource instead of the endpoints of " + collection + " would keep:"
			c.draft.Add("resource", draft.NewMap("path", collection), above).Off = true
		}
	}
}

// changes reports whether requests with the same key got answers with the same status but different
// bodies.
func (g *group) changes() bool {
	type response struct {
		key    uint32
		status int16
	}
	first := map[response]uint32{}
	for i, r := range g.records {
		a := response{g.keys[i], r.status}
		if body, known := first[a]; !known {
			first[a] = r.body
		} else if body != r.body && !r.lost {
			return true
		}
	}
	return false
}
