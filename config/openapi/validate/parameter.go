package validate

import (
	"net/url"
	"strconv"
	"strings"
)

// Locations of parameters and of the body.
const (
	inPath   = "path"
	inQuery  = "query"
	inHeader = "header"
	inCookie = "cookie"
	inBody   = "body"
)

// parameter is a compiled parameter of an operation.
type parameter struct {
	in, name   string
	pointer    string // "/query/limit"
	required   bool
	allowEmpty bool
	reserved   bool // "+" is literal in a query
	style      string
	explode    bool
	json       bool   // the text is JSON (content)
	media      string // for a property of a multipart body, the media types of its part; "" for any
	form       *form  // nil when its value is not described
}

// input is a request with its path and query split into parts.
type input struct {
	*Request
	path  map[string]string
	query []pair
	named map[string]bool // see Checks
}

// pair is a name and a value from a query or form.
type pair struct {
	name, value string // decoded
	raw         string // the value as sent
	broken      bool   // contains a "%" that does not begin a valid escape
}

// pairsOf splits a query or a form.
func pairsOf(query string) []pair {
	var all []pair
	for item := range strings.SplitSeq(query, "&") {
		if item == "" {
			continue
		}
		name, raw, _ := strings.Cut(item, "=")
		p := pair{raw: raw}
		var sound bool
		p.name, _ = formDecoded(name)
		p.value, sound = formDecoded(raw)
		p.broken = !sound
		all = append(all, p)
	}
	return all
}

// formDecoded decodes the escapes in a string and reports whether all of them are valid. If not, the
// string stays unchanged.
func formDecoded(s string) (string, bool) {
	d, err := url.QueryUnescape(s)
	if err != nil {
		return s, false
	}
	return d, true
}

// decoder returns the function that decodes text at the location of the parameter.
func (p *parameter) decoder() func(string) (string, error) {
	switch {
	case p.in == inHeader:
		return func(s string) (string, error) { return s, nil }
	case p.in == inPath, p.in == inCookie, p.reserved:
		return url.PathUnescape
	}
	return url.QueryUnescape
}

// check checks the value of the parameter against its schema.
func (p *parameter) check(in *input, found *findings) {
	if p.in == inPath && in.path == nil {
		return // an endpoint whose path has another form answers the request
	}
	r := reading{parameter: p, from: in, decode: p.decoder()}
	v, given := r.value()
	switch {
	case r.fault != "":
		found.add(badRequest, p.in, p.pointer, r.fault)
	case !given && p.required:
		found.add(badRequest, p.in, p.pointer, "is required")
	case !given, p.form == nil, r.empty && p.allowEmpty:
	default:
		found.schema(badRequest, p.in, p.pointer, p.form, v)
	}
}

// reading is a parameter being read from a request.
type reading struct {
	*parameter
	from   *input
	decode func(string) (string, error)
	fault  string // why the parameter cannot be read
	empty  bool   // the parameter has no value
}

// value returns the value of the parameter, and whether it is present.
func (r *reading) value() (v any, given bool) {
	raw := ""
	switch r.in {
	case inPath:
		raw, given = r.from.path[r.name]
	case inHeader:
		lines := r.from.Header(r.name)
		raw, given = strings.Join(lines, ","), len(lines) > 0
	case inCookie:
		raw, given = r.from.Cookie(r.name)
	default:
		return r.queryValue()
	}
	if !given {
		return nil, false
	}
	prefix, separator := r.delimiters()
	rest, ok := strings.CutPrefix(raw, prefix)
	if !ok {
		r.fault = "does not begin with " + strconv.Quote(prefix) + ", as style " + r.style + " demands"
		return nil, true
	}
	return r.delimited(rest, separator), true
}

// delimiters returns what the style puts before the value, and between its items or properties.
func (p *parameter) delimiters() (prefix, separator string) {
	switch {
	case p.style == "label" && p.explode:
		return ".", "."
	case p.style == "label":
		return ".", ","
	case p.style == "matrix" && p.explode && p.form.has(objectType) && !p.form.has(primitiveType):
		return ";", ";"
	case p.style == "matrix" && p.explode:
		return ";" + p.name + "=", ";" + p.name + "="
	case p.style == "matrix":
		return ";" + p.name + "=", ","
	case p.style == "spaceDelimited":
		return "", " "
	case p.style == "pipeDelimited":
		return "", "|"
	}
	return "", ","
}

// text decodes a string, and records an error if its escapes are not valid.
func (r *reading) text(raw string) string {
	s, err := r.decode(raw)
	if err != nil {
		r.fault = "has a % that is not followed by two hexadecimal digits"
	}
	return s
}

// content parses a string as JSON.
func (r *reading) content(raw string) any {
	v, err := decodeJSON([]byte(r.text(raw)))
	if err != nil && r.fault == "" {
		r.fault = err.Error()
	}
	return v
}

// delimited parses a string. If the schema accepts arrays or objects, the separator splits the
// string into items or properties.
func (r *reading) delimited(raw, separator string) any {
	r.empty = raw == ""
	f := r.form
	switch {
	case r.json:
		return r.content(raw)
	case f.has(primitiveType) && !(f.has(arrayType|objectType) && strings.Contains(raw, separator)):
		return f.value(r.text(raw))
	case f.has(arrayType):
		return r.list(r.cut(raw, separator))
	case f.has(objectType):
		return r.object(r.cut(raw, separator))
	}
	return r.text(raw)
}

// cut splits a string at a separator, which clients may have encoded. If the string contains the
// separator both plain and encoded, it is split at the plain separators; the encoded ones belong to
// the items. The items are not decoded.
func (r *reading) cut(raw, separator string) []string {
	if raw == "" {
		return nil
	}
	if strings.Contains(raw, separator) {
		return strings.Split(raw, separator)
	}
	for _, encoded := range encodedSeparators[separator] {
		if strings.Contains(raw, encoded) {
			return strings.Split(raw, encoded)
		}
	}
	return []string{raw}
}

var encodedSeparators = map[string][]string{",": {"%2C", "%2c"}, " ": {"%20", "+"}, "|": {"%7C", "%7c"}}

func (r *reading) list(items []string) any {
	list := make([]any, len(items))
	for i, item := range items {
		if r.in == inHeader {
			item = strings.TrimSpace(item)
		}
		list[i] = r.form.item().value(r.text(item))
	}
	return list
}

// object parses alternating names and values, or NAME=VALUE if the parameter is exploded in a path
// or a header.
func (r *reading) object(parts []string) any {
	object := map[string]any{}
	if r.explode && r.in != inQuery && r.in != inCookie {
		for _, part := range parts {
			name, value, ok := strings.Cut(part, "=")
			if !ok {
				r.fault = "is not a list of NAME=VALUE"
			}
			r.set(object, name, value)
		}
		return object
	}
	if len(parts)%2 != 0 {
		r.fault = "is not a list of names and values in turn"
		return object
	}
	for i := 0; i < len(parts); i += 2 {
		r.set(object, parts[i], parts[i+1])
	}
	return object
}

func (r *reading) set(object map[string]any, name, value string) {
	name = strings.TrimSpace(r.text(name))
	if r.in == inHeader {
		value = strings.TrimSpace(value)
	}
	object[name] = r.form.property(name).value(r.text(value))
}
