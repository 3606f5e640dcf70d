package recording

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"mockserver/config/item"
	"mockserver/internal/events"
	"mockserver/internal/json"
	"mockserver/internal/list"
	"mockserver/internal/recording"
	"mockserver/internal/secret"
	"mockserver/internal/semantics"
)

// redacted returns the replacement for a secret. In one recording, equal secrets have equal
// replacements.
func (r *Recorder) redacted(value string) string {
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(value)) // a hash never returns an error
	return "r_" + hex.EncodeToString(mac.Sum(nil)[:8])
}

// redact undoes content encodings and replaces the secrets in a line. framing is that of its answer.
func (r *Recorder) redact(l *recording.Line, framing events.Framing) {
	rules := cmp.Or(r.opts.Declared.Redact, &item.Redact{})
	if len(rules.Query) > 0 {
		l.URL = r.redactURL(l.URL, rules.Query)
	}
	r.redactMessage(&l.Request, rules, nil)
	r.redactMessage(&l.Response, rules, &pieces{framing, &l.Pieces})
}

// redactMessage does this for a message, and for its pieces if it is an answer.
func (r *Recorder) redactMessage(m *recording.Message, rules *item.Redact, p *pieces) {
	var codings []string
	contentType := ""
	for i := range m.Headers {
		h := &m.Headers[i]
		is := func(name string) bool { return strings.EqualFold(h[0], name) }
		switch {
		case is("content-encoding"):
			codings = append(codings, h[1])
		case is("content-type"):
			contentType = h[1]
		case secret.IsHeader(h[0]) || slices.ContainsFunc(rules.Headers, is):
			h[1] = r.redactHeader(strings.ToLower(h[0]), h[1])
		case len(rules.Query) > 0 && (is("location") || is("referer") || is("content-location") || is("link")):
			h[1] = r.redactURL(h[1], rules.Query)
		}
	}
	plain := len(codings) == 0
	if plain && len(rules.JSON)+len(rules.Query) == 0 {
		return
	}
	content := m.Content()
	if len(content) == 0 {
		return
	}
	if !plain {
		decoded, err := p.decode(content, codings, int64(r.opts.Declared.Bodies)+64<<10)
		if plain = err == nil; plain {
			content, m.Coding = decoded, strings.Join(codings, ", ")
		}
	}
	if len(rules.JSON)+len(rules.Query) > 0 {
		if content, plain = r.redactBody(content, contentType, rules, plain, p); !plain {
			m.Body, m.Base64, m.Coding, m.Omitted = "", nil, "", recording.OmittedRedact
			return
		}
	}
	m.SetContent(content)
}

// redactHeader replaces the secret in the value of a header.
func (r *Recorder) redactHeader(name, value string) string {
	switch {
	case value == "":
		return ""
	case name == "cookie":
		var all []string
		for part := range strings.SplitSeq(value, ";") {
			all = append(all, r.redactPair(strings.TrimSpace(part)))
		}
		return strings.Join(all, "; ")
	case name == "set-cookie":
		pair, attributes, more := strings.Cut(value, ";")
		if pair = r.redactPair(strings.TrimSpace(pair)); more {
			pair += ";" + attributes
		}
		return pair
	case strings.HasSuffix(name, "authorization"):
		if scheme, rest, ok := strings.Cut(value, " "); ok {
			return scheme + " " + r.redacted(rest)
		}
	}
	return r.redacted(value)
}

// redactPair replaces the value of NAME=VALUE, or a value without a name.
func (r *Recorder) redactPair(pair string) string {
	name, value, ok := strings.Cut(pair, "=")
	switch {
	case !ok && pair != "":
		return r.redacted(pair)
	case !ok || value == "":
		return pair
	}
	return name + "=" + r.redacted(strings.Trim(value, `"`))
}

// redactURL replaces the values of parameters in the query of a URL.
func (r *Recorder) redactURL(text string, names []string) string {
	path, query, ok := strings.Cut(text, "?")
	if !ok {
		return text
	}
	return path + "?" + r.redactForm(query, names)
}

// redactForm replaces the values of parameters in a query, or of fields in a form.
func (r *Recorder) redactForm(query string, names []string) string {
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if ok && value != "" && slices.Contains(names, unescaped(name)) {
			pairs[i] = name + "=" + r.redacted(unescaped(value))
		}
	}
	return strings.Join(pairs, "&")
}

// redactBody replaces the secrets in a body, which has the pieces p if it is that of an answer. It returns false if
// the body may contain secrets that redactBody cannot find.
func (r *Recorder) redactBody(content []byte, contentType string, rules *item.Redact, plain bool, p *pieces) ([]byte, bool) {
	switch {
	case !plain:
		return nil, false
	case p != nil && p.framing != events.None:
		return r.redactPieces(content, rules, p)
	case p != nil && len(*p.all) > 0:
		*p.all = nil // nothing would say where they end
	}
	if semantics.MediaType(contentType) == "application/x-www-form-urlencoded" {
		return []byte(r.redactForm(string(content), rules.Query)), true
	}
	if len(rules.JSON) == 0 {
		return content, true
	}
	v := json.Parse(content)
	if v.Kind == json.Missing { // it may be truncated JSON, or several JSON texts
		begin := bytes.TrimLeft(content, " \t\r\n")
		return content, !semantics.IsJSON(contentType) && (len(begin) == 0 || begin[0] != '{' && begin[0] != '[')
	}
	return r.redactValue(nil, v, pathsOf(rules)), true
}

func pathsOf(rules *item.Redact) [][]string {
	return list.Map(rules.JSON, func(path string) []string { return strings.Split(path, ".") })
}

// redactValue appends a JSON value with the members at the paths replaced, except those that are
// null. A path that reaches an array applies to each of its elements.
func (r *Recorder) redactValue(b []byte, v json.Value, paths [][]string) []byte {
	switch {
	case len(paths) == 0 || v.Kind != json.Object && v.Kind != json.Array:
		return append(b, v.Raw...)
	case v.Kind == json.Array:
		b = append(b, '[')
		elements := v.Elements()
		for i := 0; ; i++ {
			item, more := elements.Next()
			if !more {
				return append(b, ']')
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = r.redactValue(b, item, paths)
		}
	}
	b = append(b, '{')
	for i, m := range v.AppendMembers(nil) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, m.Key.Raw...), ':')
		var below [][]string
		whole := false
		for _, path := range paths {
			if m.Key.Equals(path[0]) {
				whole = whole || len(path) == 1
				below = append(below, path[1:])
			}
		}
		switch {
		case whole && m.Value.Kind != json.Null:
			b = append(append(append(b, '"'), r.redacted(textOf(m.Value))...), '"')
		default:
			b = r.redactValue(b, m.Value, below)
		}
	}
	return append(b, '}')
}

// textOf returns the content of a JSON string, or the JSON text of any other value.
func textOf(v json.Value) string {
	if v.Kind == json.String {
		return string(v.AppendText(nil))
	}
	return string(v.Raw)
}
