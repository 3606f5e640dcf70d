package traffic

import (
	"bytes"
	"slices"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/internal/semantics"
)

// unkept are headers that the server writes itself or that describe one connection or transfer.
var unkept = []string{"content-length", "transfer-encoding", "connection", "date", "keep-alive", "content-encoding", "trailer", "upgrade", "proxy-connection"}

// answered returns the headers of an answer that a mock can send.
func answered(all []draft.Field) []draft.Field {
	return slices.DeleteFunc(slices.Clone(all), func(f draft.Field) bool {
		return !semantics.IsToken(f.Name) || slices.Contains(unkept, strings.ToLower(f.Name)) || strings.ContainsFunc(f.Value, semantics.ForbiddenInValue)
	})
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

// headerMap returns headers as a map, in which repeated ones are lists. For a header that may occur
// only once, the first value counts.
func headerMap(fields []draft.Field, written func(string) string) *draft.Map {
	m := &draft.Map{}
	names := map[string]string{}
	for _, f := range fields {
		name, again := names[strings.ToLower(f.Name)]
		value := written(f.Value)
		switch {
		case !again:
			names[strings.ToLower(f.Name)] = f.Name
			m.Set(f.Name, value)
		case repeats(f.Name):
			before := m.Get(name)
			list, ok := before.(draft.List)
			if !ok {
				list = draft.List{before}
			}
			m.Set(name, append(list, value))
		}
	}
	return m
}

// repeats reports whether a header may have several lines. For other headers the first line counts.
func repeats(name string) bool {
	return slices.Contains([]string{"set-cookie", "link", "vary", "cache-control", "www-authenticate", "via", "warning", "allow", "content-language",
		"access-control-allow-headers", "access-control-allow-methods", "access-control-expose-headers", "server-timing"}, strings.ToLower(name))
}
