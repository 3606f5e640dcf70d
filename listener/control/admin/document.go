package admin

import (
	"cmp"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"mockserver/listener/control/admin/schema"
)

// Paths at which the API describes itself, as a list and as an OpenAPI document.
const (
	indexPath    = "/__admin/"
	documentPath = "/__admin/openapi.json"
)

// index lists the requests of the API.
type index struct {
	OpenAPI  string       `json:"openapi" doc:"path of the OpenAPI document of the API"`
	Requests []indexEntry `json:"requests" doc:"all requests of the API"`
}

// indexEntry is one request.
type indexEntry struct {
	Method string `json:"method" doc:"method of the request"`
	Path   string `json:"path" doc:"path of the request; {id} and the like stand for an ID or a name"`
	What   string `json:"what" doc:"what the request does, in one line"`
}

// showIndex returns the list of all requests.
func (a *Admin) showIndex(w http.ResponseWriter, _ *http.Request) {
	list := index{OpenAPI: documentPath}
	for _, row := range a.table() {
		list.Requests = append(list.Requests, indexEntry{row.method, row.path, row.what})
	}
	answer(w, http.StatusOK, list)
}

// showDocument returns the OpenAPI document of the admin API.
func (a *Admin) showDocument(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, a.document())
}

// object is a JSON object in the document.
type object = map[string]any

// document builds the OpenAPI document from the table of requests. Schemas are derived from the
// types that are encoded, so the document contains every field of the responses.
func (a *Admin) document() object {
	s := schema.Set{}
	paths := map[string]object{}
	for _, row := range a.table() {
		if paths[row.path] == nil {
			paths[row.path] = object{}
		}
		paths[row.path][strings.ToLower(row.method)] = operation(s, &row)
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "mockserver admin API", "version": cmp.Or(a.opts.Build.Version, "dev"),
			"description": "Durations are in milliseconds unless a field says otherwise; times are in UTC. Fields and paths are stable: within a major version they are added, but not removed or changed in meaning.",
		},
		"paths": paths,
		"components": object{
			"schemas":         s,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "the token of --admin-token; not needed if none is set and the address is on loopback"}},
		},
	}
}

// operation describes one request.
func operation(s schema.Set, row *route) object {
	parameters := []object{}
	for _, part := range strings.Split(row.path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			parameters = append(parameters, object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": object{"type": "string"}})
		}
	}
	for _, p := range row.query {
		parameters = append(parameters, object{"name": p.name, "in": "query", "description": p.what, "schema": object{"type": p.kind}})
	}
	answers := object{"default": object{"description": "an error", "content": s.Contents([]any{failure{}})}}
	for status, values := range row.answers {
		one := object{"description": http.StatusText(status)}
		if len(values) > 0 {
			one["content"] = s.Contents(values)
		}
		answers[strconv.Itoa(status)] = one
	}
	o := object{"operationId": operationID(row), "summary": row.what, "responses": answers}
	if len(parameters) > 0 {
		o["parameters"] = parameters
	}
	if len(row.takes) > 0 {
		o["requestBody"] = object{"content": s.Contents(row.takes)}
		for _, body := range row.takes {
			s.Close(reflect.TypeOf(body))
		}
	}
	if row.asks == withToken {
		o["security"] = []object{{"token": []string{}}, {}}
	}
	return o
}

// operationID names a request: "GET /__admin/runs/{id}" becomes getRunsId.
func operationID(row *route) string {
	id := strings.ToLower(row.method)
	words := strings.FieldsFunc(strings.TrimPrefix(row.path, "/__admin"), func(r rune) bool { return !unicode.IsLetter(r) })
	if len(words) == 0 {
		words = []string{"index"}
	}
	for _, word := range words {
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}
