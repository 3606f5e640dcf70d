package config

import (
	"net/textproto"
	"slices"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/wording"
)

// canonicalNames replaces header names that are keywords of EDN by their canonical names, in the
// nodes themselves, so that the positions of these names can be found by the names that are served:
// :content-type is Content-Type. A name that becomes equal to another header is an error.
func canonicalNames(d *decoder, v value) {
	if !slices.ContainsFunc(v.Entries, func(e syntax.Entry) bool { return e.Key.Keyword }) {
		return
	}
	written := make(map[string]string, len(v.Entries))
	for _, e := range v.Entries {
		name := e.Key.Text.Value
		if e.Key.Keyword {
			e.Key.Text.Value = textproto.CanonicalMIMEHeaderKey(name)
		}
		if first, ok := written[e.Key.Text.Value]; ok {
			d.Wrong(e.Key.Pos(), table.Under(v.Key, e.Key.Text.Value),
				"is the same header as %q; several values of one header are a list", wording.Clip(first))
			continue
		}
		written[e.Key.Text.Value] = name
	}
}
