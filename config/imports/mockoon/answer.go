package mockoon

import (
	"fmt"
	"mime"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
	"mockserver/internal/semantics"
)

// answer is a response while it is read.
type answer struct {
	*endpoint
	node     *syntax.Node
	response *draft.Map
	latency  *draft.Map
	webhooks draft.List
	why      []string
	lost     string
	dialect  *dialect
}

func (a *answer) differs(why string) {
	if why != "" && !slices.Contains(a.why, why) {
		a.why = append(a.why, why)
	}
}

func (a *answer) lose(why string, args ...any) {
	if a.lost == "" {
		a.lost = fmt.Sprintf(why, args...)
	}
}

// answer reads a response.
func (e *endpoint) answer(n *syntax.Node) *answer {
	a := &answer{endpoint: e, node: n, response: &draft.Map{}}
	a.dialect = &dialect{endpoint: e}
	if n.Kind != syntax.MapNode {
		a.lose("the response is %v; expected a map", n.Kind)
		return a
	}
	if status := text(get(n, "statusCode")); status != "" {
		code, err := strconv.Atoi(status)
		if err != nil || code < 200 || code > 599 {
			a.lose("the status %s cannot be sent; statuses are 200 to 599", status)
		} else if code != 200 {
			a.response.Set("status", code)
		}
	}
	headers := a.headers(n)
	body, kind := a.body()
	if kind != "" && !headers.Has("Content-Type") && !a.empty() {
		headers.Add("Content-Type", fixed(kind))
	}
	language.SetTexts(a.response, headers, body)
	a.latency = milliseconds(get(n, "latency"), get(a.root, "latency"))
	for _, call := range items(get(n, "callbacks")) {
		a.callback(call)
	}
	for _, note := range a.dialect.Differ {
		a.differs(note)
	}
	return a
}

// empty reports whether Express removes the body and its type.
func (a *answer) empty() bool {
	status := a.response.Get("status")
	return status == 204 || status == 304
}

// milliseconds returns the sum of delays as a latency; nil for none.
func milliseconds(delays ...*syntax.Node) *draft.Map {
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

// fixed returns a template that consists of a literal text.
func fixed(text string) *language.Template {
	t := &language.Template{}
	t.Text(text)
	return t
}

// translate returns a text as a template.
func (a *answer) translate(source string) *language.Template {
	t := &language.Template{}
	a.differs(language.Handlebars(t, source, a.dialect))
	return t
}

// headers returns the headers of a response, and the headers of the environment that the response
// does not have. Set-Cookie headers are returned from both.
func (a *answer) headers(n *syntax.Node) *language.Headers {
	own, headers := map[string]bool{}, language.NewHeaders()
	for _, list := range []*syntax.Node{get(n, "headers"), get(a.root, "headers")} {
		inner := map[string]bool{}
		for _, h := range items(list) {
			key, value := strings.TrimSpace(text(get(h, "key"))), text(get(h, "value"))
			lower := strings.ToLower(key)
			if key == "" || value == "" || own[lower] && lower != "set-cookie" || lower == "content-type" && a.empty() {
				continue
			}
			inner[lower] = true
			if lower == "content-type" && !strings.ContainsAny(value, "/{") {
				a.differs(fmt.Sprintf("Mockoon answers that the Content-Type %q is not valid", value))
			}
			a.differs(headers.Add(key, a.translate(value)))
		}
		for key := range inner {
			own[key] = true
		}
	}
	return headers
}

// textual lists the extensions of files that are templates.
var textual = []string{".json", ".html", ".htm", ".css", ".csv", ".js", ".mjs", ".ts", ".txt", ".xhtml", ".xml", ".yml", ".yaml"}

// body returns the body, and the Content-Type that it has unless a header declares another.
func (a *answer) body() (body *language.Template, kind string) {
	source, templated := text(get(a.node, "body")), !isTrue(get(a.node, "disableTemplating"))
	kind = "text/html; charset=utf-8" // the type that Express sends
	file := text(get(a.node, "filePath"))
	mode := text(get(a.node, "bodyType"))
	switch {
	case mode == "DATABUCKET" && text(get(a.node, "databucketID")) != "":
		bucket := a.bucket(text(get(a.node, "databucketID")))
		if bucket == nil {
			a.lose("its data bucket does not exist")
			break
		}
		source = text(get(bucket, "value"))
		if asJSON(source) != nil {
			templated = false
		} else {
			a.differs("the data bucket is rendered for each request")
		}
		if trimmed := strings.TrimSpace(source); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
			kind = "application/json"
		}
	case file != "" && (mode == "FILE" || mode == ""):
		source, kind = a.file(file)
		templated = templated && slices.Contains(textual, strings.ToLower(filepath.Ext(file)))
	}
	if !templated {
		return fixed(source), kind
	}
	return a.translate(source), kind
}

// file returns the content of a file next to the environment, and its type. A file that is large or
// not UTF-8 becomes an external body instead.
func (a *answer) file(name string) (content, kind string) {
	if strings.Contains(name, "{{") {
		a.lose("the file %s is chosen by the request", name)
		return "", ""
	}
	local := filepath.FromSlash(name)
	if !filepath.IsLocal(local) {
		a.lose("the file %s is outside the directory of the environment", name)
		return "", ""
	}
	s, err := draft.OpenSource(filepath.Join(a.dir, local))
	var data []byte
	if err == nil && !s.Dir {
		data, err = s.Data()
	}
	kind = mime.TypeByExtension(filepath.Ext(name))
	switch {
	case err != nil || s.Dir:
		a.lose("the file %s cannot be read", name)
	case !utf8.Valid(data) || len(data) > 256<<10:
		a.response.Set("external-body", draft.NewMap("provider", "json", "path", a.AddFile(draft.File{Name: "bodies/" + filepath.Base(name), Data: data}))).Set("template", false)
		return "", kind
	case !isTrue(get(a.node, "sendFileAsBody")):
		a.differs("Content-Disposition is left out")
	}
	return string(data), kind
}

func (r *reader) bucket(id string) *syntax.Node {
	for _, n := range items(get(r.root, "data")) {
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
	docs, problems := syntax.Read("data.json", []byte(source))
	if problems.Err() != nil || len(docs) != 1 {
		return nil
	}
	return docs[0]
}

// callback adds a webhook.
func (a *answer) callback(call *syntax.Node) {
	var n *syntax.Node
	for _, c := range items(get(a.root, "callbacks")) {
		if text(get(c, "uuid")) == text(get(call, "uuid")) {
			n = c
		}
	}
	method := strings.ToUpper(text(get(n, "method")))
	if n == nil || !slices.Contains(semantics.Methods, method) {
		a.differs("a callback is left out: it does not exist, or its method is unknown")
		return
	}
	translate := func(source string) *language.Template {
		t := &language.Template{}
		t.Use() // texts of webhooks are always templates
		if lost := language.Handlebars(t, source, a.dialect); lost != "" {
			a.differs("the callback: " + lost)
		}
		return t
	}
	url := translate(text(get(n, "uri"))).String()
	if !strings.HasPrefix(url, "http://") && !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "{{") {
		a.differs("a callback is left out: its URL is " + url)
		return
	}
	hook := draft.NewMap("method", method, "url", url)
	headers := language.NewHeaders()
	for _, h := range items(get(n, "headers")) {
		if key := text(get(h, "key")); key != "" {
			a.differs(headers.Add(key, translate(text(get(h, "value")))))
		}
	}
	body := text(get(n, "body"))
	switch text(get(n, "bodyType")) {
	case "DATABUCKET":
		if bucket := a.bucket(text(get(n, "databucketID"))); bucket != nil {
			body = text(get(bucket, "value"))
		}
	case "FILE":
		a.differs("the callback is sent without its file")
	}
	if !headers.Has("Content-Type") {
		headers.Add("Content-Type", fixed("text/plain;charset=UTF-8")) // as fetch sends a text
	}
	language.SetTexts(hook, headers, translate(body))
	sleep := "0s"
	if latency := milliseconds(get(call, "latency")); latency != nil {
		sleep, _ = latency.Get("min").(string)
	}
	a.webhooks = append(a.webhooks, hook.Set("sleep-time", sleep))
}
