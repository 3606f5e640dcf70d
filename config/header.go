package config

import (
	"net/textproto"
	"slices"

	"mockserver/internal/wording"
)

// canonicalNames gives the headers that are named by a keyword of EDN their
// canonical names, in the nodes themselves, so that the places of these names are
// found by what is served: :content-type is Content-Type. What becomes the name of
// another header is a mistake.
func (d *decoder) canonicalNames(v value) {
	if !slices.ContainsFunc(v.entries, func(e entry) bool { return e.key.keyword }) {
		return
	}
	written := make(map[string]string, len(v.entries))
	for _, e := range v.entries {
		name := e.key.text.Value
		if e.key.keyword {
			e.key.text.Value = textproto.CanonicalMIMEHeaderKey(name)
		}
		if first, ok := written[e.key.text.Value]; ok {
			d.wrong(e.key.pos(), under(v.key, e.key.text.Value),
				"is the same header as %q; several values of one header are a list", wording.Clip(first))
			continue
		}
		written[e.key.text.Value] = name
	}
}
