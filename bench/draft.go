package bench

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"mockserver/config"
)

// draft is a request in the making, for an endpoint.
type draft struct {
	endpoint *config.Endpoint
	params   map[string]string // of the path
	query    map[string]string
	headers  map[string]string
	cookies  map[string]string
	form     map[string]string
	body     any    // what becomes JSON; nil for none
	raw      string // an example of a body, used when nothing asks for another
	inBody   string // a text that is to stand in it somewhere
}

func newDraft(e *config.Endpoint) *draft {
	return &draft{
		endpoint: e, params: map[string]string{}, query: map[string]string{}, headers: map[string]string{},
		cookies: map[string]string{}, form: map[string]string{},
	}
}

// grant sets what the wishes ask for. Those for one variable are looked at together:
// it gets the value that fulfils most of them, and before all those that have to be.
func (d *draft) grant(must, should []wish, variant int) {
	var variables []string
	all := slices.Concat(must, should)
	for i := range all {
		w := &all[i]
		if w.by != "" && i < len(must) {
			d.set(w.by, w.far(), false)
			continue
		}
		if w.variable != "" && !(w.calculated() && i >= len(must)) && !slices.Contains(variables, w.variable) {
			variables = append(variables, w.variable)
		}
	}
	for _, variable := range variables {
		best, value, missing := -1, "", false
		for i := range all {
			if all[i].variable != variable || all[i].by != "" {
				continue
			}
			for v := range 4 {
				text, none := all[i].value(variant + v)
				if n := fulfilled(must, should, variable, text, none); n > best {
					best, value, missing = n, text, none
				}
			}
		}
		if best >= 0 {
			d.set(variable, value, missing)
		}
	}
}

// fulfilled weighs how many wishes for a variable a value fulfils.
func fulfilled(must, should []wish, variable, value string, missing bool) int {
	const weight = 1000
	n := 0
	for i := range must {
		if must[i].variable == variable && must[i].met(value, missing) {
			n += weight
		}
	}
	for i := range should {
		if should[i].variable == variable && should[i].met(value, missing) {
			n++
		}
	}
	return n
}

// set gives a variable of the request a value. A value of json-params is JSON text.
func (d *draft) set(variable, value string, missing bool) {
	root, name, _ := strings.Cut(variable, ".")
	into := map[string]map[string]string{
		"path-params": d.params, "query-params": d.query, "header-params": d.headers, "cookie-params": d.cookies, "form-params": d.form,
	}[root]
	switch {
	case root == "json-params":
		d.setJSON(name, value, missing)
	case variable == "body" && missing:
		d.inBody = ""
	case variable == "body":
		d.inBody = value
	case into == nil:
	case missing:
		delete(into, name)
	default:
		into[name] = value
	}
}

// setJSON sets a value inside the JSON body.
func (d *draft) setJSON(path, value string, missing bool) {
	var v any
	if !missing && json.Unmarshal([]byte(value), &v) != nil {
		v = value
	}
	var steps []string
	if path != "" {
		steps = strings.Split(path, ".")
	}
	d.body = placed(d.body, steps, v, missing)
}

// placed returns root with a value put at the end of the steps, or taken away there.
func placed(root any, steps []string, v any, missing bool) any {
	if len(steps) == 0 {
		return v
	}
	const most = 100 // elements of a list that is made
	if n, err := strconv.Atoi(steps[0]); err == nil && n >= 0 && n < most {
		list, _ := root.([]any)
		list = slices.Clone(list)
		for len(list) <= n {
			list = append(list, nil)
		}
		list[n] = placed(list[n], steps[1:], v, missing)
		return list
	}
	object := map[string]any{}
	if have, ok := root.(map[string]any); ok {
		for key, value := range have {
			object[key] = value
		}
	}
	if missing && len(steps) == 1 {
		delete(object, steps[0])
		return object
	}
	object[steps[0]] = placed(object[steps[0]], steps[1:], v, missing)
	return object
}

// typed are values that fit the types of path parameters.
var typed = map[string]string{
	"int": "7", "float": "1.5", "double": "1.5", "bool": "true", "boolean": "true",
	"uuid": "7d444840-9dc0-11d1-b245-5ffdce74fad2", "date": "2024-02-29",
}

// path is the path of the draft, with a value for each parameter.
func (d *draft) path() string {
	if d.endpoint.Template {
		return d.template(d.endpoint.Path.Value)
	}
	declared, _, _ := strings.Cut(d.endpoint.Path.Value, "?")
	segments := strings.Split(declared, "/")
	for i, segment := range segments {
		switch {
		case strings.HasPrefix(segment, ":"):
			name, kind, _ := strings.Cut(segment[1:], "|")
			value, ok := d.params[name]
			if !ok {
				value = typed[kind]
			}
			if value == "" {
				value = "a1"
			}
			segments[i] = url.PathEscape(value)
		case strings.HasPrefix(segment, "*") && i == len(segments)-1:
			value, ok := d.params[segment[1:]]
			if !ok {
				value = "a/b"
			}
			segments[i] = (&url.URL{Path: value}).EscapedPath()
		default:
			segments[i] = escapedLiteral(segment)
		}
	}
	return strings.Join(segments, "/")
}

// template is a path as OpenAPI writes it, with a value for each parameter in braces.
func (d *draft) template(path string) string {
	var b strings.Builder
	for {
		text, behind, opened := strings.Cut(path, "{")
		name, after, closed := strings.Cut(behind, "}")
		if !opened || !closed || strings.Contains(name, "/") {
			b.WriteString(escapedPath(path))
			return b.String()
		}
		value, ok := d.params[name]
		if !ok {
			value = "a1"
		}
		b.WriteString(escapedPath(text) + url.PathEscape(value))
		path = after
	}
}

// escapedPath is a text of a declared path, of several segments, as it can be sent.
func escapedPath(text string) string {
	segments := strings.Split(text, "/")
	for i := range segments {
		segments[i] = escapedLiteral(segments[i])
	}
	return strings.Join(segments, "/")
}

// escapedLiteral is a declared segment as it can be sent.
func escapedLiteral(segment string) string {
	if decoded, err := url.PathUnescape(segment); err == nil {
		segment = decoded
	}
	return url.PathEscape(segment)
}

// request is the draft as it would be declared.
func (d *draft) request() request {
	r := request{Method: d.endpoint.EffectiveMethod(), Path: d.path(), Headers: map[string]string{}}
	query := url.Values{}
	for name, value := range d.query {
		query.Set(name, value)
	}
	if len(query) > 0 {
		r.Path += "?" + query.Encode()
	}
	for name, value := range d.headers {
		if oneLine(value) && oneLine(name) && !strings.Contains(name, ":") {
			r.Headers[name] = value
		}
	}
	var cookies []string
	for name, value := range d.cookies {
		if oneLine(value) && oneLine(name) {
			cookies = append(cookies, name+"="+value)
		}
	}
	if sort.Strings(cookies); len(cookies) > 0 {
		r.Headers["Cookie"] = strings.Join(cookies, "; ")
	}
	if host := d.endpoint.Host; host != "" {
		r.Headers["Host"] = strings.Replace(host, "*.", "a.", 1)
	}
	r.Body = d.text(r.Headers)
	return r
}

func oneLine(s string) bool { return s != "" && !strings.ContainsAny(s, "\r\n\x00") }

// text is the body, with the Content-Type of a form in the headers where it is one.
func (d *draft) text(headers map[string]string) string {
	switch {
	case len(d.form) > 0:
		form := url.Values{}
		for name, value := range d.form {
			form.Set(name, value)
		}
		headers["Content-Type"] = "application/x-www-form-urlencoded"
		return form.Encode()
	case d.body == nil && d.inBody == "":
		if d.raw == "" && slices.Contains([]string{"POST", "PUT", "PATCH"}, d.endpoint.EffectiveMethod()) {
			return "{}"
		}
		return d.raw
	case d.inBody != "":
		if d.body == nil {
			return d.inBody
		}
		if object, ok := d.body.(map[string]any); ok {
			return jsonText(placed(object, []string{"text"}, d.inBody, false))
		}
	}
	return jsonText(d.body)
}

func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "{}" // what JSON text was made of has one
	}
	return string(text)
}

// used finds the variables of a request in a template.
var used = regexp.MustCompile(`\b(?:query|header|cookie|form|json)-params(?:\.[A-Za-z0-9_-]+)+`)

// fill gives every variable that the endpoint's answer is made of a value, as a user's
// requests would.
func (d *draft) fill() {
	var texts []string
	for _, resp := range d.endpoint.Answers() {
		texts = append(texts, resp.Body.Value)
		for i := range resp.Headers {
			texts = append(texts, resp.Headers[i].Value.Value)
		}
		if resp.External != nil {
			texts = append(texts, resp.External.Path.Value, resp.External.Sheet.Value)
		}
	}
	for _, text := range texts {
		for _, name := range used.FindAllString(text, -1) {
			d.set(strings.TrimSuffix(name, ".length"), fillingOf(name), false)
		}
	}
	for _, q := range d.endpoint.Doc.Query {
		if _, ok := d.query[q.Name]; !ok {
			d.query[q.Name] = "1"
		}
	}
}

func fillingOf(name string) string {
	if strings.HasPrefix(name, "json-params") {
		return `"a1"`
	}
	return "a1"
}

// placeholder is a variable of the path or the query in a file's name.
var placeholder = regexp.MustCompile(`\{\{\s*((?:path|query)-params\.[A-Za-z0-9_-]+)\s*\}\}`)

// find has a path parameter name a file that is there, where the external body
// lies in one named by it.
func (d *draft) find() bool {
	ext := externalOf(d.endpoint)
	if ext == nil {
		return false
	}
	at := placeholder.FindAllStringSubmatchIndex(ext.Path.Value, -1)
	if len(at) != 1 || strings.Contains(ext.Path.Value, "://") {
		return false
	}
	front, behind := ext.Path.Value[:at[0][0]], ext.Path.Value[at[0][1]:]
	if strings.ContainsAny(front+behind, "*?[{\\") {
		return false
	}
	for _, dir := range []string{d.endpoint.Dir, ""} {
		whole := front
		if dir != "" && !filepath.IsAbs(front) {
			whole = strings.TrimSuffix(filepath.ToSlash(dir), "/") + "/" + front
		}
		files, err := filepath.Glob(whole + "*" + behind)
		if err == nil && len(files) > 0 {
			name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(files[0]), whole), behind)
			d.set(ext.Path.Value[at[0][2]:at[0][3]], name, false)
			return true
		}
	}
	return false
}
