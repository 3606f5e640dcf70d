package e2e_test

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

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// AdminDocument is the OpenAPI document of the admin API, as returned by the program. Responses
// that tests receive from an admin address are checked against it; see Process.Try.
type AdminDocument struct {
	Paths map[string]map[string]struct {
		Responses map[string]struct {
			Content map[string]json.RawMessage
		}
	}
	patterns []pathPattern
	compiler *jsonschema.Compiler
	mu       sync.Mutex // guards compiling
}

var (
	documentMu   sync.Mutex // guards documentRead
	documentRead *AdminDocument
)

// DocumentOf reads the document of an admin address, once for all tests, since they all use the
// same program. It returns nil if the address does not answer without a token, or no longer
// answers.
func DocumentOf(t *testing.T, client *http.Client, admin string) *AdminDocument {
	documentMu.Lock()
	defer documentMu.Unlock()
	if documentRead != nil {
		return documentRead
	}
	resp, err := client.Get(admin + "/__admin/openapi.json")
	if err != nil {
		return nil // the program has stopped
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
	d := &AdminDocument{compiler: jsonschema.NewCompiler()}
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
	d.patterns = patternsOf(slices.Sorted(maps.Keys(d.Paths)))
	documentRead = d
	return d
}

// everyFieldDescribed changes the schemas of the document so that they accept only the fields that
// they describe. Clients should ignore other fields, which a later version may add.
func everyFieldDescribed(document any) {
	components, _ := document.(map[string]any)["components"].(map[string]any)
	all, _ := components["schemas"].(map[string]any)
	for _, one := range all {
		if schema := one.(map[string]any); schema["properties"] != nil {
			schema["additionalProperties"] = false
		}
	}
}

// pathPattern matches the paths that a path of the document with parameters stands for.
type pathPattern struct {
	template string
	pattern  *regexp.Regexp
}

// patternsOf returns the patterns of paths; one with fewer parameters comes first, as in the server.
func patternsOf(paths []string) (all []pathPattern) {
	slices.SortStableFunc(paths, func(a, b string) int { return strings.Count(a, "{") - strings.Count(b, "{") })
	parameter := regexp.MustCompile(`\\{\w+\\}`)
	for _, path := range paths {
		all = append(all, pathPattern{path, regexp.MustCompile("^" + parameter.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$")})
	}
	return all
}

// template returns the path in the document that matches a path; "" if there is none.
func (d *AdminDocument) template(path string) string {
	for _, p := range d.patterns {
		if p.pattern.MatchString(path) {
			return p.template
		}
	}
	return ""
}

// Check fails the test unless a JSON response conforms to the document.
func (d *AdminDocument) Check(t *testing.T, method, target string, a Response) {
	path, _, _ := strings.Cut(target, "?")
	if d == nil || method == "HEAD" || a.Header.Get("Content-Type") != "application/json" {
		return
	}
	template := d.template(path)
	if path == "/__admin" {
		template = "/__admin/"
	}
	operation, status := strings.ToLower(method), strconv.Itoa(a.Status)
	known, described := d.Paths[template][operation]
	if !described { // such a request is refused, as any request may be
		template, operation, status = "/healthz", "get", "default"
	} else if _, has := known.Responses[status]; !has {
		status = "default"
	}
	escaped := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(template)
	d.mu.Lock()
	schema, err := d.compiler.Compile("api.json#/paths/" + escaped + "/" + operation + "/responses/" + status + "/content/application~1json/schema")
	d.mu.Unlock()
	if err != nil {
		t.Errorf("%s %s: the document has no schema for the answer %d: %v", method, target, a.Status, err)
		return
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(a.Body)))
	if err == nil {
		err = schema.Validate(value)
	}
	if err != nil {
		t.Errorf("%s %s: the answer %d does not match the document: %v\n%s", method, target, a.Status, err, a.Body)
	}
}

// Administered is like Serving, with an admin address. It returns the admin address as a second
// process, to which requests can be sent.
func Administered(t *testing.T, configuration string, args ...string) (p, admin *Process) {
	t.Helper()
	p = Serving(t, configuration, append([]string{"--admin", "127.0.0.1:0"}, args...)...)
	return p, AdminOf(p)
}

// AdminOf waits for the admin address of a program and returns it as a process.
func AdminOf(p *Process) *Process {
	p.T.Helper()
	_, rest, _ := strings.Cut(p.WaitLine(0, "INFO", "admin address", "http://"), "http://")
	url := "http://" + strings.FieldsFunc(rest, func(r rune) bool { return r == ' ' || r == '"' })[0]
	return &Process{T: p.T, URL: url, client: p.plain, api: DocumentOf(p.T, p.plain, url)}
}

// Refusal fails the test unless the response has the status, and is an error with the code in the
// same form as the server's own errors.
func (a Response) Refusal(t *testing.T, status int, code string) {
	t.Helper()
	var said struct{ Error, Code, Message string }
	err := json.Unmarshal([]byte(a.Body), &said)
	if a.Status != status || err != nil || said.Code != code || said.Error == "" || said.Message == "" || a.Header.Get("Content-Type") != "application/json" {
		t.Errorf("got %d %s\nwant %d with code %s", a.Status, a.Body, status, code)
	}
}

// Into decodes a response, which must have the status.
func (a Response) Into(t *testing.T, status int, value any) {
	t.Helper()
	if a.Status != status {
		t.Fatalf("got %d %s\nwant %d", a.Status, a.Body, status)
	}
	if err := json.Unmarshal([]byte(a.Body), value); err != nil {
		t.Fatalf("%v: %s", err, a.Body)
	}
}

// Scrape reads the metrics with the parser of Prometheus.
func Scrape(t *testing.T, a *Process) map[string]*dto.MetricFamily {
	t.Helper()
	got := a.Get("/metrics")
	if got.Status != 200 {
		t.Fatalf("got %d %s", got.Status, got.Body)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(got.Body))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// Value returns the value of the only counter or gauge whose labels include the given pairs.
func Value(t *testing.T, families map[string]*dto.MetricFamily, name string, labels ...string) float64 {
	t.Helper()
	m := Metric(t, families, name, labels...)
	return m.GetCounter().GetValue() + m.GetGauge().GetValue()
}

// Metric returns the only metric of a family whose labels include the given pairs.
func Metric(t *testing.T, families map[string]*dto.MetricFamily, name string, labels ...string) *dto.Metric {
	t.Helper()
	var found []*dto.Metric
	for _, m := range families[name].GetMetric() {
		has := map[string]string{}
		for _, l := range m.GetLabel() {
			has[l.GetName()] = l.GetValue()
		}
		fits := true
		for pair := range slices.Chunk(labels, 2) {
			fits = fits && has[pair[0]] == pair[1]
		}
		if fits {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s %v: %d series, want one", name, labels, len(found))
	}
	return found[0]
}

// Free returns an address of the loopback interface on which nothing listens.
func Free(t *testing.T) string {
	t.Helper()
	return unusedAddresses(t, 1)[0]
}

// containsAll reports whether s contains all of the parts.
func containsAll(s string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(s, part) {
			return false
		}
	}
	return true
}
