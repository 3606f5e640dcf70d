package traffic

import (
	"slices"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/internal/semantics"
)

const (
	// askedKeys is the maximum number of keys of a group that --check requests.
	askedKeys = 100
	// wanted is the maximum number of different answers of a key that are compared.
	wanted = 50
)

// ask adds recorded requests by which the endpoints of the group are checked, with their recorded
// answers: one request for each key or, if there are many keys, for an evenly spread selection. The
// answer to a key of a part may be any outcome of the part.
func (g *group) ask(order []*keyed) {
	step := (len(order) + askedKeys - 1) / askedKeys
	for i := 0; i < len(order); i += step { // step is 0 only if there are no keys
		records := order[i].records
		r := records[0]
		target := g.path(r)
		if query := g.words.texts[r.query]; query != "" {
			target += "?" + query
		}
		header := slices.DeleteFunc(split(g.store.get(r.sent, &g.buf[0])), func(f draft.Field) bool { // what is none, in some HAR files
			return !semantics.IsToken(f.Name) || strings.ContainsFunc(f.Value, semantics.ForbiddenInValue)
		})
		host, _, _ := strings.Cut(g.words.texts[r.place], "\x00")
		a := draft.Ask{Pos: g.pos(r), Name: g.name, Method: g.method, Target: target, Host: host,
			Header: header, Body: slices.Clone(g.store.get(r.request, &g.buf[0]))}
		seen := map[[2]uint32]bool{}
		for _, r := range records {
			id := [2]uint32{uint32(r.status), r.body}
			if seen[id] || r.cut {
				continue
			}
			seen[id] = true
			if len(a.Want) == wanted {
				break
			}
			want := draft.Response{Status: int(r.status), Body: slices.Clone(g.store.get(r.body, &g.buf[0]))}
			want.Any = r.lost || g.method == "HEAD" || r.result != settled(records)
			for _, f := range split(g.store.get(r.headers, &g.buf[0])) {
				if strings.EqualFold(f.Name, "Content-Type") || strings.EqualFold(f.Name, "Location") {
					want.Header = append(want.Header, f)
				}
			}
			a.Want = append(a.Want, want)
		}
		if p := order[i].part; p != nil && len(a.Want) > 0 {
			for _, o := range p.outcomes() {
				if o.result != p.id {
					a.Want = append(a.Want, draft.Response{Status: int(o.status), Any: true})
				}
			}
		}
		if len(a.Want) > 0 {
			g.draft.Asks = append(g.draft.Asks, a)
		}
	}
}
