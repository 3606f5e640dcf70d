package wiremock

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"math"
	"mime"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
	"mockserver/internal/files"
)

// faults maps the faults of WireMock to faults of the language, with the differences.
var faults = map[string][2]string{
	"EMPTY_RESPONSE":           {"empty", ""},
	"CONNECTION_RESET_BY_PEER": {"reset", ""},
	"RANDOM_DATA_THEN_CLOSE":   {"malformed", ""},
	"MALFORMED_RESPONSE_CHUNK": {"malformed", "the response is malformed from its first byte on, in WireMock only after its status"},
}

// inPlace is how many bytes of a body are written into the configuration; a longer body is written
// to a file.
const inPlace = 64 << 10

// response sets the response of a mapping, with its latency, fault and webhooks.
func (m *made) response(e *syntax.Node) {
	n := get(m.Node, "response")
	a := &response{made: m, node: n, response: syntax.NewMap()}
	if n != nil {
		a.read()
	}
	e.Set("response", a.response)
	draft.SetFlow(e, "latency", a.latency)
	draft.SetFlow(e, "fault", a.fault)
	m.webhooks(e)
}

// response is the response of a mapping while it is read.
type response struct {
	*made
	node     *syntax.Node
	response *syntax.Node
	latency  *syntax.Node
	fault    *syntax.Node
	size     int  // of the body, in bytes
	isFixed  bool // no part of it is a template
}

// responseKeys are the keys of a response that are read elsewhere, or have no effect.
var responseKeys = []string{"status", "headers", "body", "jsonBody", "base64Body", "bodyFileName", "transformers", "transformerParameters",
	"fixedDelayMilliseconds", "delayDistribution", "chunkedDribbleDelay", "fault", "fromConfiguredStub"}

func (a *response) read() {
	for key, value := range a.node.Members() {
		switch {
		case value.Kind == syntax.NullNode, slices.Contains(responseKeys, key):
		case key == "statusMessage":
			a.Note("the status message is left out")
		case get(a.node, "proxyBaseUrl") != nil && slices.Contains(proxyKeys, key):
		default:
			a.Note("the key " + key + " of the response is left out")
		}
	}
	if base := text(get(a.node, "proxyBaseUrl")); base != "" {
		a.proxy(base)
		return
	}
	status := cmp.Or(integer(get(a.node, "status"), 200), 200)
	if status < 200 || status > 599 {
		a.Lose("the status %d cannot be sent; statuses are 200 to 599", status)
	}
	if status != 200 {
		a.response.Set("status", draft.Of(status))
	}
	a.transformers()
	body, data := a.body()
	a.texts(body, data)
	a.timing()
}

// transformers reads whether the response is a template.
func (a *response) transformers() {
	a.isFixed = !a.reader.templated
	for _, item := range get(a.node, "transformers").List() {
		if name := text(item); name == "response-template" || name == "response-templating" {
			a.isFixed = false
		} else {
			a.Note("the transformer " + name + " is not run")
		}
	}
}

// isChosen reports whether a request chooses the file of the body.
func (a *response) isChosen() bool {
	return !a.isFixed && get(a.node, "body") == nil && get(a.node, "jsonBody") == nil && text(get(a.node, "proxyBaseUrl")) == "" &&
		strings.Contains(text(get(a.node, "bodyFileName")), "{{")
}

// choose adds the files that a request may choose, as templates, and the body that is one of them.
func (a *response) choose(headers *language.Headers, d *dialect, translate func(string) *language.Template) {
	name := strings.TrimLeft(text(get(a.node, "bodyFileName")), "/")
	known := len(d.Differ)
	path := language.Translate(name, d)
	begin, end := name[:strings.Index(name, "{{")], name[strings.LastIndex(name, "}")+1:]
	var found []draft.File
	if a.bodies == "" { // otherwise they are those of another method
		a.bodies = fmt.Sprintf("bodies/%s-%d/", language.Name(a.name), len(a.reader.Files)+1)
		var why string
		found, why = draft.Bodies(a.dirs[max(slices.IndexFunc(a.dirs, files.IsListed), 0)], begin, end)
		if why = strings.Join(append(d.Differ[known:len(d.Differ):len(d.Differ)], why), "; "); why != "" {
			a.Lose("the file %s is chosen by the request: %s", name, strings.TrimSuffix(why, "; "))
		}
	}
	if !headers.Has("Content-Type") {
		headers.Add("Content-Type", language.Fixed(cmp.Or(mime.TypeByExtension(filepath.Ext(end)), "text/plain")))
	}
	for _, f := range found {
		if !utf8.Valid(f.Data) {
			a.Note("the file " + f.Name + " is not a text, and is left out")
			continue
		}
		content, t := syntax.NewMap(), translate(string(f.Data))
		t.Use()
		language.SetTexts(content, headers, t)
		a.reader.AddFile(draft.File{Name: a.bodies + f.Name, Data: []byte(text(content.Get("body")))})
	}
	a.response.Set("external-body", draft.NewMap("provider", "json", "path", a.bodies+path.String()))
}

// body returns the body: as a text, or as data if it is large or not UTF-8.
func (a *response) body() (body string, data []byte) {
	if n := get(a.node, "body"); n != nil {
		return text(n), nil
	}
	if n := get(a.node, "jsonBody"); n != nil {
		return language.JSON(n), nil
	}
	if n := get(a.node, "base64Body"); n != nil {
		decoded, err := base64.StdEncoding.DecodeString(text(n))
		if err != nil {
			a.Lose("base64Body is not base64")
		}
		data = decoded
	}
	if n := get(a.node, "bodyFileName"); n != nil && !a.isChosen() {
		var why string
		if data, why = draft.Body(text(n), a.dirs...); why != "" {
			a.Lose("%s", why)
		}
	}
	if utf8.Valid(data) && len(data) <= inPlace {
		return string(data), nil
	}
	return "", data
}

// texts sets headers and body, as templates or as literal texts.
func (a *response) texts(body string, data []byte) {
	d := &dialect{made: a.made, parameters: get(a.node, "transformerParameters"), root: "request", Notes: &a.Notes}
	translate := func(source string) *language.Template { return language.Translate(source, d) }
	if a.isFixed {
		translate = language.Fixed
	}
	headers := &language.Headers{}
	for name, values := range get(a.node, "headers").Members() {
		for _, value := range listed(values) {
			a.Note(headers.Add(name, translate(text(value))))
		}
	}
	if ofFile := get(a.node, "body") == nil && get(a.node, "jsonBody") == nil; ofFile && (get(a.node, "base64Body") != nil || isTrue(get(d.parameters, "disableBodyFileTemplating"))) {
		translate = language.Fixed
	}
	t := translate(body)
	if a.isChosen() {
		a.choose(headers, d, translate)
		t.Use()
	}
	a.size = len(body) + len(data)
	language.SetTexts(a.response, headers, t)
	if data != nil {
		name := a.reader.AddFile(draft.File{Name: "bodies/" + language.Name(a.name) + ".bin", Data: data})
		a.response.Set("external-body", draft.NewMap("provider", "json", "path", name)).Set("template", draft.Of(false))
	}
}

// timing sets latency and fault.
func (a *response) timing() {
	fixed, _ := strconv.ParseFloat(text(get(a.node, "fixedDelayMilliseconds")), 64)
	latency, differs := delay(get(a.node, "delayDistribution"), min(max(fixed, 0), maxDelay))
	a.latency = latency
	a.Note(differs)
	if n := get(a.node, "chunkedDribbleDelay"); n != nil {
		total, _ := strconv.ParseFloat(text(get(n, "totalDuration")), 64)
		if a.size > 0 && total > 0 {
			rate := math.Ceil(float64(a.size) * 1000 / total)
			a.fault = draft.NewMap("type", "slow-body", "bytes-per-second", int(min(max(rate, 1), 1e9)))
			a.Note("the body is sent evenly instead of in " + text(get(n, "numberOfChunks")) + " chunks")
		}
	}
	if name := text(get(a.node, "fault")); name != "" {
		f, known := faults[name]
		if !known {
			a.Lose("the fault " + name + " is unknown")
			return
		}
		a.fault = draft.NewMap("type", f[0])
		a.Note(f[1])
	}
}
