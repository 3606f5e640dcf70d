package traffic

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
	"mockserver/internal/semantics"
)

// responseHeaders returns the headers of the answer that a mock can send, and notes those that it cannot
// send.
func (x *exchange) responseHeaders() []draft.Field {
	known := map[string]bool{}
	return slices.DeleteFunc(lines(x.received), func(f draft.Field) bool {
		name := strings.ToLower(f.Name)
		switch {
		case !semantics.IsToken(name) || language.OwnHeader(name):
			return true
		case strings.ContainsFunc(f.Value, semantics.ForbiddenInValue):
			x.doubts = append(x.doubts, f.Name+" has a control character and is left out")
			return true
		case known[name] && semantics.StandsOnce(name):
			x.doubts = append(x.doubts, "only the first "+f.Name+" is sent, because an answer has only one")
			return true
		}
		known[name] = true
		return false
	})
}

// nextCookie is what joins two cookies in one value. Dates in cookies have a comma, but no "=".
var nextCookie = regexp.MustCompile(`,\s*([!#-\'*+.^-z|~-]+=)`)

// lines returns headers with one value each: some programs join the values of a repeated header
// with line feeds, and those of Set-Cookie with commas.
func lines(all []draft.Field) []draft.Field {
	var single []draft.Field
	for _, f := range all {
		if strings.EqualFold(f.Name, "Set-Cookie") {
			f.Value = nextCookie.ReplaceAllString(f.Value, "\n$1")
		}
		for value := range strings.SplitSeq(f.Value, "\n") {
			if value = strings.TrimSpace(value); value != "" || !strings.Contains(f.Value, "\n") {
				single = append(single, draft.Field{Name: f.Name, Value: value})
			}
		}
	}
	return single
}

// joined returns headers as one text, and split is its inverse.
func joined(fields []draft.Field) []byte {
	var b []byte
	for _, f := range fields {
		b = append(append(b, f.Name...), 0)
		b = append(append(b, f.Value...), 0)
	}
	return b
}

func split(text []byte) []draft.Field {
	var fields []draft.Field
	for len(text) > 0 {
		name, rest, _ := bytes.Cut(text, []byte{0})
		value, after, _ := bytes.Cut(rest, []byte{0})
		fields = append(fields, draft.Field{Name: string(name), Value: string(value)})
		text = after
	}
	return fields
}

func fieldOf(fields []draft.Field, name string) string {
	for _, f := range fields {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// headerMap returns headers as a map, in which repeated ones are lists.
func headerMap(fields []draft.Field) *syntax.Node {
	h := &language.Headers{}
	for _, f := range fields {
		h.Add(f.Name, language.Fixed(f.Value))
	}
	return h.Node()
}
