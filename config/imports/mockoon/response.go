package mockoon

import (
	"cmp"
	"fmt"
	"maps"
	"mime"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

// response is a response while it is read.
type response struct {
	*endpoint
	language.Notes
	node     *syntax.Node
	response *syntax.Node
	latency  *syntax.Node
	webhooks []*syntax.Node
	dialect  *dialect
}

// begin returns a response of which nothing is read yet.
func (e *endpoint) begin(n *syntax.Node) *response {
	a := &response{endpoint: e, node: n, response: syntax.NewMap()}
	a.dialect = &dialect{e, &a.Notes}
	if part := expression.FindString(text(get(e.route, "endpoint"))); part != "" {
		a.Note("only versions of Mockoon before 9 have regular expressions in paths, such as " + part)
	}
	return a
}

// response reads a response.
func (e *endpoint) response(n *syntax.Node) *response {
	a := e.begin(n)
	if n.Kind != syntax.MapNode {
		a.Lose("the response is %v; expected a map", n.Kind)
		return a
	}
	if status := text(get(n, "statusCode")); status != "" {
		code, err := strconv.Atoi(status)
		if err != nil || code < 200 || code > 599 {
			a.Lose("the status %s cannot be sent; statuses are 200 to 599", status)
		} else if code != 200 {
			a.response.Set("status", draft.Of(code))
		}
	}
	headers := a.headers(n)
	body, kind := a.body()
	if kind != "" && !headers.Has("Content-Type") && !a.empty() {
		headers.Add("Content-Type", language.Fixed(kind))
	}
	language.SetTexts(a.response, headers, body)
	a.latency = milliseconds(get(n, "latency"), get(a.root, "latency"))
	for _, call := range get(n, "callbacks").List() {
		a.callback(call)
	}
	return a
}

// finish adds to a declaration what belongs to the response, but is not in it.
func (a *response) finish(m *syntax.Node) *syntax.Node {
	draft.SetFlow(m, "latency", a.latency)
	if len(a.webhooks) > 0 {
		m.Set("webhooks", draft.Of(a.webhooks))
	}
	return m
}

// empty reports whether Express removes the body and its type.
func (a *response) empty() bool {
	status := a.response.Get("status")
	return status != nil && (status.Number == "204" || status.Number == "304")
}

// milliseconds returns the sum of delays as a latency; nil for none.
func milliseconds(delays ...*syntax.Node) *syntax.Node {
	sum := 0
	for _, n := range delays {
		if ms, err := strconv.Atoi(text(n)); err == nil && ms > 0 {
			sum += min(ms, 24*60*60*1000)
		}
	}
	if sum == 0 {
		return nil
	}
	return draft.NewMap("min", strconv.Itoa(min(sum, 24*60*60*1000))+"ms")
}

// headers returns the headers of a response, and the headers of the environment that the response
// does not have. Set-Cookie headers are returned from both.
func (a *response) headers(n *syntax.Node) *language.Headers {
	own, headers := map[string]bool{}, &language.Headers{}
	for _, list := range []*syntax.Node{get(n, "headers"), get(a.root, "headers")} {
		inner := map[string]bool{}
		for _, h := range list.List() {
			key, value := strings.TrimSpace(text(get(h, "key"))), text(get(h, "value"))
			lower := strings.ToLower(key)
			if key == "" || value == "" || own[lower] && lower != "set-cookie" || lower == "content-type" && a.empty() {
				continue
			}
			inner[lower] = true
			if lower == "content-type" && !strings.ContainsAny(value, "/{") {
				a.Note(fmt.Sprintf("Mockoon answers that the Content-Type %q is not valid", value))
			}
			a.Note(headers.Add(key, language.Translate(value, a.dialect)))
		}
		maps.Copy(own, inner)
	}
	return headers
}

// textual lists the extensions of files that are templates.
var textual = []string{".json", ".html", ".htm", ".css", ".csv", ".js", ".mjs", ".ts", ".txt", ".xhtml", ".xml", ".yml", ".yaml"}

// body returns the body, and the Content-Type that it has unless a header declares another.
func (a *response) body() (body *language.Template, kind string) {
	source, templated := text(get(a.node, "body")), !isTrue(get(a.node, "disableTemplating"))
	kind = "text/html; charset=utf-8" // the type that Express sends
	file := text(get(a.node, "filePath"))
	mode := text(get(a.node, "bodyType"))
	switch {
	case mode == "DATABUCKET" && text(get(a.node, "databucketID")) != "":
		bucket := a.bucket(text(get(a.node, "databucketID")))
		if bucket == nil {
			a.Lose("its data bucket does not exist")
			break
		}
		source = text(get(bucket, "value"))
		if asJSON(source) != nil {
			templated = false
		} else {
			a.Note("the data bucket is rendered for each request")
		}
		if trimmed := strings.TrimSpace(source); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
			kind = "application/json"
		}
	case file != "" && (mode == "FILE" || mode == ""):
		source, kind = a.file(file)
		templated = templated && slices.Contains(textual, strings.ToLower(filepath.Ext(file)))
	}
	if !templated {
		return language.Fixed(source), kind
	}
	return language.Translate(source, a.dialect), kind
}

// file returns the content of a file next to the environment, and its type. A file that is large or
// not UTF-8 becomes an external body instead.
func (a *response) file(name string) (content, kind string) {
	data, why := draft.Body(name, a.dir)
	kind = mime.TypeByExtension(filepath.Ext(name))
	switch {
	case why != "":
		a.Lose("%s", why)
	case !utf8.Valid(data) || len(data) > 256<<10:
		a.response.Set("external-body", draft.NewMap("provider", "json", "path", a.AddFile(draft.File{Name: "bodies/" + filepath.Base(name), Data: data}))).Set("template", draft.Of(false))
		return "", kind
	case !isTrue(get(a.node, "sendFileAsBody")):
		a.Note("Content-Disposition is left out")
	}
	return string(data), kind
}

func (r *reader) bucket(id string) *syntax.Node {
	for _, n := range get(r.root, "data").List() {
		if text(get(n, "id")) == id || text(get(n, "uuid")) == id {
			return n
		}
	}
	return nil
}

// asJSON parses a text that is JSON without tags. It returns nil for any other text.
func asJSON(source string) *syntax.Node {
	if strings.Contains(source, "{{") {
		return nil
	}
	n, _ := syntax.ReadOne("data.json", []byte(source))
	return n
}

// callback adds a webhook.
func (a *response) callback(call *syntax.Node) {
	var n *syntax.Node
	for _, c := range get(a.root, "callbacks").List() {
		if text(get(c, "uuid")) == text(get(call, "uuid")) {
			n = c
		}
	}
	if n == nil {
		a.Note("a callback is left out: it does not exist")
		return
	}
	d := &dialect{a.endpoint, &language.Notes{}}
	translate := func(source string) *language.Template { return language.Translate(source, d) }
	headers := &language.Headers{}
	for _, h := range get(n, "headers").List() {
		if key := text(get(h, "key")); key != "" {
			a.Note(headers.Add(key, translate(text(get(h, "value")))))
		}
	}
	body := text(get(n, "body"))
	switch text(get(n, "bodyType")) {
	case "DATABUCKET":
		if bucket := a.bucket(text(get(n, "databucketID"))); bucket != nil {
			body = text(get(bucket, "value"))
		}
	case "FILE":
		a.Note("the callback is sent without its file")
	}
	if !headers.Has("Content-Type") {
		headers.Add("Content-Type", language.Fixed("text/plain;charset=UTF-8")) // as fetch sends a text
	}
	hook, why := language.Webhook(text(get(n, "method")), translate(text(get(n, "uri"))), translate(body), headers)
	for _, note := range d.Differ {
		a.Note("the callback: " + note)
	}
	if why != "" {
		a.Note("a callback is left out: " + why)
		return
	}
	sleep := cmp.Or(milliseconds(get(call, "latency")).Get("min").AsText(), "0s")
	a.webhooks = append(a.webhooks, hook.Set("sleep-time", draft.Of(sleep)))
}
