package postman

import (
	"encoding/json"
	"mime/multipart"
	"net/url"
	"regexp"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
	"mockserver/internal/list"
)

// request is a request of a collection, with its variables filled in.
type request struct {
	method string
	path   language.Path
	need   []string          // conditions for all answers, which the path does not express
	values map[string]string // of path parameters
	query  []draft.Field
	header []draft.Field
	body   body
	target string // path and query, percent-encoded; "" if it is not known
}

// body is the body of a request.
type body struct {
	text string
	form []draft.Field // urlencoded, text fields of formdata, or the query of GraphQL
	root string        // of the operands of form
	json *syntax.Node  // of a raw JSON body, or of the variables of GraphQL

	operand string // of json
	sent    string // as a client sends it; "" for none
	kind    string // its Content-Type, unless a header declares it
}

func readRequest(n *syntax.Node, v vars) *request {
	q := &request{method: "GET"}
	if n.Kind != syntax.MapNode { // only a URL
		q.url(n, v)
		return q
	}
	if method := v.fill(text(get(n, "method"))); method != "" {
		q.method = strings.ToUpper(method)
	}
	if u := get(n, "url"); u != nil {
		q.url(u, v)
	} else {
		q.target = "/"
	}
	q.header = fields(get(n, "header"), v)
	if b := get(n, "body"); b != nil && !off(b) {
		q.readBody(b, v)
	}
	return q
}

// fields returns a list of headers, parameters or form fields, or the header lines of a text.
func fields(n *syntax.Node, v vars) []draft.Field {
	var all []draft.Field
	if n == nil {
		return nil
	}
	if n.Kind != syntax.ListNode {
		for line := range strings.Lines(text(n)) {
			if name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
				all = append(all, draft.Field{Name: strings.TrimSpace(name), Value: v.fill(strings.TrimSpace(value))})
			}
		}
		return all
	}
	for _, item := range n.Items {
		if key := v.fill(text(get(item, "key"))); key != "" && !off(item) && text(get(item, "type")) != "file" {
			all = append(all, draft.Field{Name: key, Value: v.fill(text(get(item, "value")))})
		}
	}
	return all
}

// url reads an address: a text, or its parts.
func (q *request) url(n *syntax.Node, v vars) {
	raw := text(n)
	var query *syntax.Node
	if n.Kind == syntax.MapNode {
		query = get(n, "query")
		raw = text(get(n, "raw"))
		if host, path := get(n, "host"), get(n, "path"); host != nil || path != nil {
			raw = joined(host, ".") + "/" + strings.TrimPrefix(joined(path, "/"), "/")
		}
	}
	raw, _, _ = strings.Cut(v.fill(raw), "#")
	before, queryText, _ := strings.Cut(raw, "?")
	segments := language.Parts(pathOf(before))
	q.values = map[string]string{}
	if variables := get(n, "variable"); variables != nil {
		for name, value := range named(variables) {
			q.values[name] = v.fill(value)
		}
	}
	q.segments(segments)
	switch {
	case query != nil && query.Kind == syntax.ListNode:
		q.query = fields(query, v)
	case queryText != "":
		q.query = parsed(queryText)
	}
	q.aim(segments)
}

// pathOf returns the path of an address without its query. The host may be a variable.
func pathOf(address string) string {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		address = rest
	}
	if i := strings.IndexByte(address, '/'); i >= 0 {
		return address[i:]
	}
	return ""
}

// joined returns a host or a path: a text, or a list of texts and of maps.
func joined(n *syntax.Node, with string) string {
	if n == nil || n.Kind != syntax.ListNode {
		return text(n)
	}
	all := make([]string, len(n.Items))
	for i, item := range n.Items {
		if all[i] = text(item); item.Kind == syntax.MapNode {
			all[i] = text(get(item, "value"))
		}
	}
	return strings.Join(all, with)
}

// parsed returns the parameters of a query.
func parsed(query string) []draft.Field {
	var all []draft.Field
	for one := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(one, "=")
		if k, err := url.QueryUnescape(key); err == nil {
			key = k
		}
		if u, err := url.QueryUnescape(value); err == nil {
			value = u
		}
		if key != "" {
			all = append(all, draft.Field{Name: key, Value: value})
		}
	}
	return all
}

// segments makes the path: :id and variables without a value are parameters.
func (q *request) segments(parts []string) {
	used := map[string]bool{}
	param := func(name string) string {
		name = language.Name(name)
		for used[name] {
			name += "-2"
		}
		used[name] = true
		return name
	}
	for _, part := range parts {
		refs := reference.FindAllStringIndex(part, -1)
		switch {
		case strings.HasPrefix(part, ":") && len(part) > 1:
			name := param(part[1:])
			if value, ok := q.values[part[1:]]; ok && name != part[1:] {
				q.values[name] = value
			}
			q.path = append(q.path, language.Segment{Kind: language.Param, Text: name})
		case len(refs) == 1 && refs[0][0] == 0 && refs[0][1] == len(part):
			q.path = append(q.path, language.Segment{Kind: language.Param, Text: param(strings.Trim(part, "{}$ "))})
		case len(refs) > 0:
			name := param("part")
			q.path = append(q.path, language.Segment{Kind: language.Param, Text: name})
			texts := list.Map(reference.Split(part, -1), regexp.QuoteMeta) // around variables
			q.need = append(q.need, language.Member("path-params", name)+" matches "+language.Quote("^"+strings.Join(texts, ".*")+"$"))
		default:
			q.path = append(q.path, language.Segment{Text: language.Decoded(part)})
		}
	}
}

// aim sets the target of the request, if all of it is known.
func (q *request) aim(parts []string) {
	var b strings.Builder
	for _, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok && name != "" {
			if part = q.values[name]; part == "" {
				return
			}
		}
		b.WriteString("/" + url.PathEscape(language.Decoded(part)))
	}
	if b.Len() == 0 {
		b.WriteByte('/')
	}
	for i, f := range q.query {
		b.WriteByte("?&"[min(i, 1)])
		b.WriteString(url.QueryEscape(f.Name) + "=" + url.QueryEscape(f.Value))
	}
	if !strings.Contains(b.String(), "%7B%7B") {
		q.target = b.String()
	}
}

func (q *request) readBody(n *syntax.Node, v vars) {
	mode := text(get(n, "mode"))
	part := get(n, mode)
	if part == nil {
		return
	}
	switch mode {
	case "raw":
		q.body.text = v.fill(text(part))
		q.body.sent, q.body.kind = q.body.text, "text/plain"
		if node := asJSON(q.body.text); node != nil {
			q.body.json, q.body.operand, q.body.kind = node, "json-params", "application/json"
			q.body.sent = quoteVariables(q.body.text) // a variable without a value is not JSON
		}
	case "graphql":
		query := v.fill(text(get(part, "query")))
		sent, _ := json.Marshal(map[string]string{"query": query}) // encoding a text cannot fail
		q.body = body{form: []draft.Field{{Name: "query", Value: query}}, root: "json-params", sent: string(sent), kind: "application/json"}
		if variables := v.fill(text(get(part, "variables"))); asJSON(variables) != nil {
			q.body.json, q.body.operand = asJSON(variables), "json-params.variables"
			q.body.sent = strings.TrimSuffix(q.body.sent, "}") + `,"variables":` + variables + "}"
		}
	case "urlencoded", "formdata":
		q.body = body{form: fields(part, v), root: "form-params"}
		q.body.sent, q.body.kind = sentForm(q.body.form, mode == "formdata")
	}
}

// sentForm returns a form as a client sends it, and its Content-Type.
func sentForm(fields []draft.Field, parts bool) (sent, kind string) {
	values := make([]string, len(fields))
	var b strings.Builder
	w := multipart.NewWriter(&b)
	_ = w.SetBoundary(formBoundary) // it is valid
	for i, f := range fields {
		values[i] = url.QueryEscape(f.Name) + "=" + url.QueryEscape(f.Value)
		_ = w.WriteField(f.Name, f.Value) // writing to a text cannot fail
	}
	if parts && w.Close() == nil {
		return b.String(), w.FormDataContentType()
	}
	return strings.Join(values, "&"), "application/x-www-form-urlencoded"
}

const formBoundary = "postman-form-boundary"

// declaration returns the endpoint without its answer.
func (q *request) declaration(condition, summary string, folder []string) *syntax.Node {
	m := draft.NewMap("method", q.method, "path", q.path.String()).SetText("if", language.Outermost(condition))
	return m.SetText("tag", strings.Join(folder, " / ")).SetText("summary", summary)
}
