package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// adminDocument is the OpenAPI document of the admin API, as the program answers it. Answers
// that tests get of an admin address are held against it: see process.try.
type adminDocument struct {
	Paths map[string]map[string]struct {
		Responses map[string]struct {
			Content map[string]json.RawMessage
		}
	}
	compiler *jsonschema.Compiler
	mu       sync.Mutex // guards compiling
}

var (
	documentMu   sync.Mutex // guards documentRead
	documentRead *adminDocument
)

// documentOf reads the document of an admin address, once for all tests: they are of one
// program. nil where the address answers nobody.
func documentOf(t *testing.T, admin string) *adminDocument {
	documentMu.Lock()
	defer documentMu.Unlock()
	if documentRead != nil {
		return documentRead
	}
	resp, err := client.Get(admin + "/__admin/openapi.json")
	if err != nil {
		return nil // it has stopped
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(resp.Body)
	if err != nil {
		t.Errorf("the document of the admin API: %v", err)
		return nil
	}
	everyFieldDescribed(value)
	text, err := json.Marshal(value)
	d := &adminDocument{compiler: jsonschema.NewCompiler()}
	if err == nil {
		err = json.Unmarshal(text, d)
	}
	if err == nil {
		d.compiler.DefaultDraft(jsonschema.Draft2020)
		d.compiler.AssertFormat()
		err = d.compiler.AddResource("api.json", value)
	}
	if err != nil || len(d.Paths) < 20 {
		t.Errorf("the document of the admin API: %d paths, %v", len(d.Paths), err)
		return nil
	}
	documentRead = d
	return d
}

// everyFieldDescribed has the schemas of the document take no fields but those that they
// describe. A client is to ignore others, which a later version may add.
func everyFieldDescribed(document any) {
	components, _ := document.(map[string]any)["components"].(map[string]any)
	all, _ := components["schemas"].(map[string]any)
	for _, one := range all {
		if schema := one.(map[string]any); schema["properties"] != nil {
			schema["additionalProperties"] = false
		}
	}
}

// template is the path of the document that a path is one of; "" for none. One without a
// parameter goes before one with it, as the server has it.
func (d *adminDocument) template(path string) string {
	found := ""
	for _, template := range slices.Sorted(maps.Keys(d.Paths)) {
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(template), `\{id\}`, "[^/]+") + "$"
		if regexp.MustCompile(pattern).MatchString(path) && (found == "" || !strings.Contains(template, "{")) {
			found = template
		}
	}
	return found
}

// check fails the test unless a JSON answer is what the document says of it.
func (d *adminDocument) check(t *testing.T, method, target string, a answer) {
	path, _, _ := strings.Cut(target, "?")
	if d == nil || method == "HEAD" || a.header.Get("Content-Type") != "application/json" {
		return
	}
	template := d.template(path)
	if path == "/__admin" {
		template = "/__admin/"
	}
	operation, status := strings.ToLower(method), strconv.Itoa(a.status)
	known, described := d.Paths[template][operation]
	if !described { // such a request is refused, as anything may be
		template, operation, status = "/healthz", "get", "default"
	} else if _, has := known.Responses[status]; !has {
		status = "default"
	}
	escaped := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(template)
	d.mu.Lock()
	schema, err := d.compiler.Compile("api.json#/paths/" + escaped + "/" + operation + "/responses/" + status + "/content/application~1json/schema")
	d.mu.Unlock()
	if err != nil {
		t.Errorf("%s %s: the document has no schema for the answer %d: %v", method, target, a.status, err)
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(a.body)))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Errorf("%s %s: the answer %d is not what the document says: %v\n%s", method, target, a.status, err, a.body)
	}
}

// The index and the document have the requests that are answered, and no others.
func TestAdmin_TheIndexAndTheDocumentHaveAllRequests(t *testing.T) {
	t.Parallel()
	_, a := administered(t, one("x"), "--admin-token", "t")
	var index struct {
		OpenAPI  string
		Requests []struct{ Method, Path, What string }
	}
	a.get("/__admin").into(t, 200, &index) // without a token
	if again := a.get("/__admin/"); again.body != a.get("/__admin").body || index.OpenAPI != "/__admin/openapi.json" {
		t.Errorf("got %s", again.body)
	}
	var listed []string
	methods := map[string][]string{}
	for _, r := range index.Requests {
		listed = append(listed, r.Method+" "+r.Path)
		methods[r.Path] = append(methods[r.Path], r.Method)
		if r.What == "" {
			t.Errorf("nothing is said of %s %s", r.Method, r.Path)
		}
	}
	var doc adminDocument
	a.get(index.OpenAPI).into(t, 200, &doc)
	var described []string
	for path, operations := range doc.Paths {
		for operation := range operations {
			described = append(described, strings.ToUpper(operation)+" "+path)
		}
	}
	want := []string{"GET /healthz", "GET /readyz", "GET /metrics", "GET /__admin/", "GET /__admin/openapi.json"}
	for _, request := range adminPaths {
		request, _, _ = strings.Cut(request, "?")
		if request != "GET /nowhere" {
			want = append(want, regexp.MustCompile(`/(x|1)(/|$)`).ReplaceAllString(request, "/{id}$2"))
		}
	}
	for _, list := range [][]string{listed, described, want} {
		slices.Sort(list)
	}
	if !slices.Equal(listed, want) || !slices.Equal(described, want) {
		t.Errorf("listed are    %v\ndescribed are %v\nwant          %v", listed, described, want)
	}
	for path, accepted := range methods {
		allow := strings.Split(a.do("PATCH", strings.ReplaceAll(path, "{id}", "1"), "", "Authorization: Bearer t").header.Get("Allow"), ", ")
		if slices.Contains(accepted, "GET") {
			accepted = append(accepted, "HEAD")
		}
		slices.Sort(allow)
		slices.Sort(accepted)
		if !slices.Equal(allow, accepted) {
			t.Errorf("%s answers %v, listed are %v", path, allow, accepted)
		}
	}
}
