package traffic

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"mockserver/config/imports/draft"
	"mockserver/config/syntax"
	"mockserver/internal/list"
	"mockserver/internal/semantics"
	"mockserver/internal/wording"
)

// reply returns the response of an outcome. Its body comes from the row that was found if set is
// not nil; otherwise it is the most frequent body.
func (g *group) reply(o *outcome, set *rowSet) *syntax.Node {
	m := draft.NewMap("status", int(o.status))
	fixed, varying := g.headers(o.records)
	if set != nil {
		if headers := set.headers(fixed, varying); headers.Len() > 0 {
			m.Set("headers", headers)
		}
		if o.stream {
			return g.stream(m, o)
		}
		return m.Set("body", draft.Of("{{answer.body}}"))
	}
	if len(varying) > 0 {
		names := list.Map(varying, func(f draft.Field) string { return f.Name })
		g.fault("headers that differ between answers are left out: %s", wording.Clip(strings.Join(names, ", ")))
	}
	best := o.records[0]
	counts := map[uint32]int{}
	for _, r := range o.records {
		if r.lost {
			continue
		}
		counts[r.body]++
		if best.lost || counts[r.body] > counts[best.body] {
			best = r
		}
	}
	if !o.stream {
		g.setBody(m, best, fixed)
		return m
	}
	if headers := headerMap(fixed); headers.Len() > 0 {
		m.Set("headers", headers)
	}
	if g.setStream(m, best, o.records); g.isExact(o.records) {
		g.fault("all answers are the same stream")
	}
	return m
}

// inlineBody is the largest body in the configuration itself, in bytes.
const inlineBody = 64 << 10

// setBody sets headers and body of a response that is always the same.
func (g *group) setBody(m *syntax.Node, r *record, fixed []draft.Field) {
	body := g.store.get(r.body, &g.buf[0])
	raw := draft.HasTags(string(body)) || slices.ContainsFunc(fixed, func(f draft.Field) bool { return draft.HasTags(f.Value) })
	if headers := headerMap(fixed); headers.Len() > 0 {
		m.Set("headers", headers)
	}
	switch {
	case len(body) == 0 || r.status == 204 || r.status == 304:
	case len(body) > inlineBody || !utf8.Valid(body):
		raw = true
		kind := fieldOf(fixed, "Content-Type")
		name := "bodies/" + g.slug + cmp.Or(extensions[semantics.MediaType(kind)], ".bin")
		name = g.draft.AddFile(draft.File{Name: name, Data: slices.Clone(body)})
		m.Set("external-body", draft.Flow(draft.NewMap("provider", "json", "path", name)))
		if kind == "" {
			headers := headerMap(fixed)
			m.Set("headers", draft.Of(headers.Set("Content-Type", draft.Of("application/octet-stream"))))
		}
	default:
		m.Set("body", draft.Of(string(body)))
	}
	if raw {
		m.Set("template", draft.Of(false))
	}
}

// extensions are the extensions of files, by their media types.
var extensions = map[string]string{
	"application/json": ".json", "text/html": ".html", "text/css": ".css", "application/xml": ".xml", "text/xml": ".xml",
	"text/javascript": ".js", "application/javascript": ".js", "application/x-javascript": ".js", "text/plain": ".txt", "application/pdf": ".pdf",
	"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/svg+xml": ".svg", "image/webp": ".webp",
}

// headers returns the header lines that all records have in common, and those whose values differ.
// Headers that some records lack, or have more often, are reported as left out.
func (g *group) headers(records []*record) (fixed, varying []draft.Field) {
	known := map[uint32]bool{}
	var names []string
	var sets []map[string][]string // the values by name, of all different headers
	for _, r := range records {
		if known[r.headers] {
			continue
		}
		known[r.headers] = true
		values := map[string][]string{}
		for _, f := range split(g.store.get(r.headers, &g.buf[1])) {
			name := strings.ToLower(f.Name)
			values[name] = append(values[name], f.Value)
			if !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, f.Name) }) {
				names = append(names, f.Name)
			}
		}
		sets = append(sets, values)
	}
	var some []string
	for _, name := range names {
		lower := strings.ToLower(name)
		first := sets[0][lower]
		to := &fixed
		switch {
		case slices.ContainsFunc(sets, func(s map[string][]string) bool { return len(s[lower]) != len(first) }):
			some = append(some, name)
			continue
		case slices.ContainsFunc(sets, func(s map[string][]string) bool { return !slices.Equal(s[lower], first) }):
			to = &varying
		}
		for _, value := range first {
			*to = append(*to, draft.Field{Name: name, Value: value})
		}
	}
	if len(some) > 0 {
		g.fault("headers that only some answers have, or have more often, are left out: %s", wording.Clip(strings.Join(some, ", ")))
	}
	return fixed, varying
}
