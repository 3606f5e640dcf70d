package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
	"olympos.io/encoding/edn"

	"mockserver/internal/harness"
)

// exampleCall is one request to an example, with the answer according to the example's own
// comments.
type exampleCall struct {
	endpoint     string // the summary of the endpoint expected to answer; "" for a resource
	method, path string
	body         string
	status       int
	want         string // JSON text, see exampleDiff; "" for no body
}

// exampleCalls contains the calls for each example file.
var exampleCalls = map[string][]exampleCall{
	"basic.edn":    basicCalls,
	"basic.yml":    basicCalls,
	"blog.yml":     blogCalls(),
	"limits.yml":   limitCalls,
	"payments.yml": paymentCalls(),
	"sink.yml":     sinkCalls,
	"tasks.yml":    slices.Concat(listCalls, readCalls, createCalls, putCalls, patchCalls, completeCalls, deleteCalls),
}

// examplesApart contains the files that calls cannot test sufficiently; they have their own tests.
var examplesApart = []string{"events.yml", "faults.yml", "latency.yml", "llm.yml", "mcp.yml", "petstore.yml", "petstore-mocks.yml", "websocket.yml"}

// limitCalls contains the first calls for limits.yml; the calls after them are in
// listener/program/e2e/limit_test.go.
var limitCalls = []exampleCall{
	{"Search, three times a minute", "GET", "/search", "", 200, `{"results": []}`},
	{"Ask with a key", "GET", "/keyed", "", 200, `{"key": ""}`},
	{"Ask as a tenant", "GET", "/tenants/7/reports", "", 200, `{"tenant": "7"}`},
	{"Ask in bursts", "GET", "/burst", "", 200, `{"status": "ok"}`},
	{"Make a report", "GET", "/reports", "", 200, `{"report": "ready"}`},
}

var sinkCalls = []exampleCall{
	{"How many came", "GET", "/sink/totals", "", 200, `{"received": 0, "duplicates": 0, "without_key": 0}`},
	{"", "GET", "/sink/webhooks", "", 200, `[]`},
	{"Take a webhook", "POST", "/events/7", `{"type": "a"}`, 204, ""},
	{"", "GET", "/sink/webhooks?again=true", "", 200, `[]`},
	{"Take a webhook that came before", "POST", "/events/7", `{"type": "a"}`, 204, ""},
	{"Take a webhook that came before", "POST", "/elsewhere", `{"type": "a"}`, 204, ""},
	{"Take a webhook without a key", "POST", "/", "text", 204, ""},
	{"Take a webhook without a key", "POST", "/sink/webhooks", "text", 204, ""},
	{"How many came", "GET", "/sink/totals", "", 200, `{"received": 5, "duplicates": 2, "without_key": 2}`},
}

// exampleHeaders contains the headers, as "Name: value", that the calls to an endpoint send.
var exampleHeaders = map[string][]string{
	"Create a customer": {"Idempotency-Key: c"}, "Create a customer again, with the same key": {"Idempotency-Key: c"},
	"Create an intent": {"Idempotency-Key: i"}, "Create an intent again, with the same key": {"Idempotency-Key: i"},
	"Create a subscription": {"Idempotency-Key: s"}, "Subscribe again with the same key": {"Idempotency-Key: s"},
	"Ask who I am":   {"Authorization: Bearer blog-1"},
	"Take a webhook": {"Idempotency-Key: 1"}, "Take a webhook that came before": {"Idempotency-Key: 1"},
}

var basicCalls = []exampleCall{
	{"Greet by name", "GET", "/hello/ada", "", 200, `{"hello": "ada!"}`},
	{"Greet by name", "GET", "/hello/Jos%C3%A9%20%22x%22%5C", "", 200, `{"hello": "José \"x\"\\!"}`},
	{"Greet by name", "GET", "/hello/7", "", 200, `{"hello": "7!"}`},
	{"Greet the world", "GET", "/hello-world", "", 200, `{"hello": "Hello, World!"}`},
	{"Echo a path and a query parameter", "GET", "/with-params/one?param1=two", "", 200, `{"path-params": "one", "query-params": "two"}`},
	{"Echo a path and a query parameter", "GET", "/with-params/1?param1=2", "", 200, `{"path-params": "1", "query-params": "2"}`},
	{"Echo a path and a query parameter", "GET", "/with-params/one", "", 200, `{"path-params": "one", "query-params": ""}`},
	{"Echo a field of the JSON body", "POST", "/first-post-route", `{"project": "mock \"server\""}`, 200, `{"project": "mock \"server\""}`},
	{"Echo a field of the JSON body", "POST", "/first-post-route", `{"project": 1.50}`, 200, `{"project": 1.50}`},
	{"Echo a field of the JSON body", "POST", "/first-post-route", "not JSON", 200, `{"project": ""}`},
	{"A JSON file", "GET", "/cities", "", 200, `[
		{"name": "Lisbon", "population": 545796, "capital": true},
		{"name": "Porto", "population": 231800, "capital": false}]`},
	{"A JSON file with placeholders", "GET", "/greeting/ada?from=grace", "", 200, `{"greeting": "Hello, ada!", "from": "grace", "sentAt": "<now>"}`},
	{"A JSON file for each id", "GET", "/users/1", "", 200, `{"id": 1, "name": "Ada Lovelace", "email": "ada@example.com"}`},
	{"A JSON file for each id", "GET", "/users/2", "", 200, `{"id": 2, "name": "Grace Hopper", "email": "grace@example.com"}`},
	{"A remote body", "GET", "/remote", "", 200, `{"hello": "Hello, World!"}`},
	{"A remote body that is kept", "GET", "/remote-cached", "", 200, `{"hello": "Hello, World!"}`},
	{"A remote body that is kept", "GET", "/remote-cached", "", 200, `{"hello": "Hello, World!"}`},
	{"A sheet of a workbook", "GET", "/languages", "", 200, `[
		{"name": "Ada", "langs": "Go, Clojure"}, {"name": "Grace", "langs": "COBOL"}, {"name": "José", "langs": "C, Rust"}]`},
}

var listCalls = []exampleCall{
	{"List tasks", "GET", "/tasks", "", 200, examplePage(1, 10, 2, 1, 10)},
	{"List tasks", "GET", "/tasks?page=1", "", 200, examplePage(1, 10, 2, 1, 10)},
	{"List tasks", "GET", "/tasks?page=1&limit=10", "", 200, examplePage(1, 10, 2, 1, 10)},
	{"List tasks", "GET", "/tasks?page=0", "", 200, examplePage(1, 10, 2, 1, 10)},
	{"List tasks", "GET", "/tasks?page=-1&limit=7", "", 200, examplePage(1, 10, 2, 1, 10)},
	{"List tasks", "GET", "/tasks?page=x&limit=x", "", 200, examplePage(1, 10, 2, 1, 10)},
	{"List tasks, page 2", "GET", "/tasks?page=2", "", 200, examplePage(2, 10, 2, 11, 12)},
	{"List tasks, page 2", "GET", "/tasks?limit=10&page=2", "", 200, examplePage(2, 10, 2, 11, 12)},
	{"List tasks by 5", "GET", "/tasks?limit=5", "", 200, examplePage(1, 5, 3, 1, 5)},
	{"List tasks by 5", "GET", "/tasks?page=1&limit=5", "", 200, examplePage(1, 5, 3, 1, 5)},
	{"List tasks by 5, page 2", "GET", "/tasks?page=2&limit=5", "", 200, examplePage(2, 5, 3, 6, 10)},
	{"List tasks by 5, page 3", "GET", "/tasks?page=3&limit=5", "", 200, examplePage(3, 5, 3, 11, 12)},
	{"List tasks, all on one page", "GET", "/tasks?limit=20", "", 200, examplePage(1, 20, 1, 1, 12)},
	{"List tasks, all on one page", "GET", "/tasks?limit=20&page=1", "", 200, examplePage(1, 20, 1, 1, 12)},
	{"List tasks, all on one page", "GET", "/tasks?limit=20&page=9x", "", 200, examplePage(1, 20, 1, 1, 12)},
	{"List tasks, a page after the last", "GET", "/tasks?page=3", "", 200, examplePage(3, 10, 2, 1, 0)},
	{"List tasks, a page after the last", "GET", "/tasks?page=4&limit=5", "", 200, examplePage(4, 5, 3, 1, 0)},
	{"List tasks, a page after the last", "GET", "/tasks?page=2&limit=20", "", 200, examplePage(2, 20, 1, 1, 0)},
	{"Search and find", "GET", "/tasks/search?q=task%207", "", 200, `{"query": "task 7", "items": [` + listedTask(7) + `], "total": 1}`},
	{"Search and find", "GET", "/tasks/search?q=Task+7", "", 200, `{"query": "Task 7", "items": [` + listedTask(7) + `], "total": 1}`},
	{"Search and find nothing", "GET", "/tasks/search?q=%22%5C", "", 200, `{"query": "\"\\", "items": [], "total": 0}`},
	{"Search and find nothing", "GET", "/tasks/search", "", 200, `{"query": "", "items": [], "total": 0}`},
}

var readCalls = []exampleCall{
	{"Get a task", "GET", "/tasks/7", "", 200, listedTask(7)},
	{"Get a task", "GET", "/tasks/3", "", 200, listedTask(3)},
	{"Get a task", "GET", "/tasks/1705314600000", "", 200, listedTask(1705314600000)},
	{"Get a missing task", "GET", "/tasks/999", "", 404, missingTask("999")},
	{"Get a missing task", "GET", "/tasks/0", "", 404, missingTask("0")},
	{"Get a missing task", "GET", "/tasks/-7", "", 404, missingTask("-7")},
	{"Get a missing task", "GET", "/tasks/007", "", 404, missingTask("007")},
	{"Get by a bad id", "GET", "/tasks/seven", "", 404, missingTask("seven")},
	{"Get by a bad id", "GET", "/tasks/7.5", "", 404, missingTask("7.5")},
	{"Get by a bad id", "GET", "/tasks/%22", "", 404, missingTask(`\"`)},
}

const (
	titleMissing  = `{"code": "title_missing", "message": "The title is missing"}`
	fieldsMissing = `{"code": "fields_missing", "message": "title, description, completed and priority are all required"}`
	emptyChange   = `{"code": "nothing_to_change", "message": "One of title (not empty), description, completed and priority is required"}`
	unprocessable = `{"code": "validation_failed", "message": "priority is low, medium or high; completed is true or false"}`
	taskBirth     = "2024-01-15T10:30:00.000Z" // createdAt of the initial tasks
)

var createCalls = []exampleCall{
	{"Create a task", "POST", "/tasks", `{"title": "Write"}`, 201,
		exampleTask("<integer>", "Write", "", false, "medium", "<now>", "<now>")},
	{"Create a task", "POST", "/tasks", `{"title": "A \"b\"\n<é>", "description": "c\\d", "completed": true, "priority": "high"}`, 201,
		exampleTask("<integer>", "A \"b\"\n<é>", `c\d`, true, "high", "<now>", "<now>")},
	{"Create a task", "POST", "/tasks", `{"title": "0", "description": null, "completed": false, "priority": "low"}`, 201,
		exampleTask("<integer>", "0", "", false, "low", "<now>", "<now>")},
	{"Create a task without a title", "POST", "/tasks", `{"description": "c", "priority": "soon"}`, 400, titleMissing},
	{"Create a task without a title", "POST", "/tasks", `{"title": ""}`, 400, titleMissing},
	{"Create a task without a title", "POST", "/tasks", `{"title": " \t"}`, 400, titleMissing},
	{"Create a task without a title", "POST", "/tasks", `{"title": null}`, 400, titleMissing},
	{"Create a task without a title", "POST", "/tasks", ``, 400, titleMissing},
	{"Create a task without a title", "POST", "/tasks", `{"title": "Write"`, 400, titleMissing},
	{"Create a task without a title", "POST", "/tasks", `["title"]`, 400, titleMissing},
	{"Create a task with a value that is not accepted", "POST", "/tasks", `{"title": "Write", "priority": "soon"}`, 422, unprocessable},
	{"Create a task with a value that is not accepted", "POST", "/tasks", `{"title": "Write", "priority": "high "}`, 422, unprocessable},
	{"Create a task with a value that is not accepted", "POST", "/tasks", `{"title": "Write", "priority": ["low"]}`, 422, unprocessable},
	{"Create a task with a value that is not accepted", "POST", "/tasks", `{"title": "Write", "completed": "yes"}`, 422, unprocessable},
	{"Create a task with a value that is not accepted", "POST", "/tasks", `{"title": "Write", "completed": 1}`, 422, unprocessable},
}

var putCalls = []exampleCall{
	{"Replace a task", "PUT", "/tasks/7", `{"title": "Write", "description": "", "completed": true, "priority": "high"}`, 200,
		exampleTask("7", "Write", "", true, "high", taskBirth, "<now>")},
	{"Replace a task", "PUT", "/tasks/3", `{"title": "a\"b", "description": "c\nd", "completed": false, "priority": "low"}`, 200,
		exampleTask("3", `a"b`, "c\nd", false, "low", taskBirth, "<now>")},
	{"Replace a task with fields missing", "PUT", "/tasks/7", `{"description": "d", "completed": true, "priority": "high"}`, 400, fieldsMissing},
	{"Replace a task with fields missing", "PUT", "/tasks/7", `{"title": " ", "description": "d", "completed": true, "priority": "high"}`, 400, fieldsMissing},
	{"Replace a task with fields missing", "PUT", "/tasks/7", `{"title": "Write", "completed": true, "priority": "high"}`, 400, fieldsMissing},
	{"Replace a task with fields missing", "PUT", "/tasks/7", `{"title": "Write", "description": "d", "priority": "high"}`, 400, fieldsMissing},
	{"Replace a task with fields missing", "PUT", "/tasks/7", `{"title": "Write", "description": "d", "completed": true}`, 400, fieldsMissing},
	{"Replace a task with fields missing", "PUT", "/tasks/7", "", 400, fieldsMissing},
	{"Replace with a value that is not accepted", "PUT", "/tasks/7", `{"title": "Write", "description": "d", "completed": true, "priority": "x"}`, 422, unprocessable},
	{"Replace with a value that is not accepted", "PUT", "/tasks/7", `{"title": "Write", "description": "d", "completed": "", "priority": "low"}`, 422, unprocessable},
	{"Replace a missing task", "PUT", "/tasks/999", `{"title": "Write", "description": "", "completed": true, "priority": "high"}`, 404, missingTask("999")},
	{"Replace a missing task", "PUT", "/tasks/999", `{}`, 404, missingTask("999")},
	{"Replace by a bad id", "PUT", "/tasks/seven", `{"title": "Write", "description": "", "completed": true, "priority": "high"}`, 404, missingTask("seven")},
}

var patchCalls = []exampleCall{
	{"Change a task", "PATCH", "/tasks/7", `{"title": "Write \"it\""}`, 200,
		exampleTask("7", `Write "it"`, "The details of task 7", false, "medium", taskBirth, "<now>")},
	{"Change a task", "PATCH", "/tasks/7", `{"description": ""}`, 200,
		exampleTask("7", "Task 7", "", false, "medium", taskBirth, "<now>")},
	{"Change a task", "PATCH", "/tasks/7", `{"completed": true}`, 200,
		exampleTask("7", "Task 7", "The details of task 7", true, "medium", taskBirth, "<now>")},
	{"Change a task", "PATCH", "/tasks/3", `{"completed": false}`, 200,
		exampleTask("3", "Task 3", "The details of task 3", false, "medium", taskBirth, "<now>")},
	{"Change a task", "PATCH", "/tasks/3", `{"priority": "low", "title": null}`, 200,
		exampleTask("3", "Task 3", "The details of task 3", true, "low", taskBirth, "<now>")},
	{"Change nothing, or empty the title", "PATCH", "/tasks/7", `{}`, 400, emptyChange},
	{"Change nothing, or empty the title", "PATCH", "/tasks/7", `{"color": "red"}`, 400, emptyChange},
	{"Change nothing, or empty the title", "PATCH", "/tasks/7", "", 400, emptyChange},
	{"Change nothing, or empty the title", "PATCH", "/tasks/7", `{"title": "", "priority": "low"}`, 400, emptyChange},
	{"Change to a value that is not accepted", "PATCH", "/tasks/7", `{"priority": "soon"}`, 422, unprocessable},
	{"Change to a value that is not accepted", "PATCH", "/tasks/7", `{"completed": "done"}`, 422, unprocessable},
	{"Change a missing task", "PATCH", "/tasks/999", `{"priority": "low"}`, 404, missingTask("999")},
	{"Change by a bad id", "PATCH", "/tasks/seven", `{"priority": "low"}`, 404, missingTask("seven")},
}

var completeCalls = []exampleCall{
	{"Complete a task", "POST", "/tasks/7/complete", "", 200,
		exampleTask("7", "Task 7", "The details of task 7", true, "medium", taskBirth, "<now>")},
	{"Complete a missing task", "POST", "/tasks/999/complete", "", 404, missingTask("999")},
	{"Complete by a bad id", "POST", "/tasks/seven/complete", "", 404, missingTask("seven")},
}

var deleteCalls = []exampleCall{
	{"Delete a task", "DELETE", "/tasks/7", "", 204, ""},
	{"Delete a task", "DELETE", "/tasks/7?message=false", "", 204, ""},
	{"Delete a task and be told so", "DELETE", "/tasks/7?message=true", "", 200, `{"message": "Task 7 deleted"}`},
	{"Delete all completed tasks", "DELETE", "/tasks/completed", "", 200, `{"message": "3 completed tasks deleted", "deleted": 3}`},
	{"Delete a missing task", "DELETE", "/tasks/999", "", 404, missingTask("999")},
	{"Delete a missing task", "DELETE", "/tasks/999?message=true", "", 404, missingTask("999")},
	{"Delete by a bad id", "DELETE", "/tasks/seven", "", 404, missingTask("seven")},
}

// exampleTask returns the JSON of a task. An id that is not a number is a marker for exampleDiff.
func exampleTask(id, title, description string, completed bool, priority, created, updated string) string {
	if _, err := strconv.Atoi(id); err != nil {
		id = strconv.Quote(id)
	}
	text := func(s string) string {
		b, _ := json.Marshal(s) // encoding strings cannot fail
		return string(b)
	}
	return fmt.Sprintf(`{"id": %s, "title": %s, "description": %s, "completed": %t, "priority": %q, "createdAt": %q, "updatedAt": %q}`,
		id, text(title), text(description), completed, priority, created, updated)
}

// listedTask returns a task as the list and GET show it; tasks 1 to 3 are completed.
func listedTask(id int) string {
	n := strconv.Itoa(id)
	return exampleTask(n, "Task "+n, "The details of task "+n, id <= 3, "medium", taskBirth, taskBirth)
}

func missingTask(id string) string {
	return fmt.Sprintf(`{"code": "task_not_found", "message": "Task %s does not exist"}`, id)
}

// examplePage returns a page of the list, with the tasks from first to last.
func examplePage(page, limit, totalPages, first, last int) string {
	var items []string
	for id := first; id <= last; id++ {
		items = append(items, listedTask(id))
	}
	return fmt.Sprintf(`{"items": [%s], "pagination": {"page": %d, "limit": %d, "total": 12, "totalPages": %d}}`,
		strings.Join(items, ","), page, limit, totalPages)
}

// exampleDecode decodes one JSON text, and keeps all digits of numbers.
func exampleDecode(t *testing.T, text string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s is not JSON: %v", text, err)
	}
	if _, err := d.Token(); err != io.EOF {
		t.Fatalf("%s is more than one JSON value", text)
	}
	return v
}

// exampleDiff describes where got differs from want; "" if it does not. In want, "<now>" matches a
// time during the request, which began at since, "<integer>" an integer above 0, and "<text>" any
// text that is not empty.
func exampleDiff(at string, want, got any, since time.Time) string {
	text, isText := got.(string)
	number, _ := got.(json.Number)
	differs := fmt.Sprintf("%s: got %#v, want %#v", at, got, want)
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok || len(object) != len(want) {
			return differs
		}
		for key, value := range want {
			if _, ok := object[key]; !ok {
				return differs
			}
			if diff := exampleDiff(at+"."+key, value, object[key], since); diff != "" {
				return diff
			}
		}
		return ""
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return differs
		}
		for i, value := range want {
			if diff := exampleDiff(fmt.Sprintf("%s[%d]", at, i), value, list[i], since); diff != "" {
				return diff
			}
		}
		return ""
	}
	ok := false
	switch want {
	case "<now>":
		moment, err := time.Parse("2006-01-02T15:04:05.000Z", text)
		ok = err == nil && !moment.Before(since.Truncate(time.Millisecond)) && !moment.After(time.Now())
	case "<integer>":
		n, err := strconv.ParseInt(number.String(), 10, 64)
		ok = err == nil && n > 0
	case "<text>":
		ok = isText && text != ""
	default:
		ok = want == got
	}
	if ok {
		return ""
	}
	return differs
}

// bodyType returns the Content-Type header for a call's body: a form, as curl -d sends it, unless
// it is JSON.
func bodyType(body string) []string {
	switch {
	case body == "":
		return nil
	case body[0] == '{' || body[0] == '[':
		return []string{"Content-Type: application/json"}
	}
	return []string{"Content-Type: application/x-www-form-urlencoded"}
}

// check makes the call, compares the answer and returns it for further checks.
func (c *exampleCall) check(t *testing.T, p *Process) Response {
	t.Helper()
	since := time.Now().UTC()
	a := p.Do(c.method, c.path, c.body, slices.Concat(exampleHeaders[c.endpoint], bodyType(c.body))...)
	call := c.method + " " + c.path + " " + c.body
	if a.Status != c.status {
		t.Errorf("%s: got status %d, want %d; body %s", call, a.Status, c.status, a.Body)
		return a
	}
	if c.want == "" {
		if a.Body != "" || a.Header.Get("Content-Type") != "" {
			t.Errorf("%s: got %q of type %q, want no body", call, a.Body, a.Header.Get("Content-Type"))
		}
		return a
	}
	if got := a.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("%s: got Content-Type %q, want application/json", call, got)
	}
	if diff := exampleDiff("body", exampleDecode(t, c.want), exampleDecode(t, a.Body), since); diff != "" {
		t.Errorf("%s: %s", call, diff)
	}
	return a
}

func checkCalls(t *testing.T, p *Process, calls []exampleCall) {
	t.Helper()
	for i := range calls {
		calls[i].check(t, p)
	}
}

func TestExamples_EveryFileHasCallsAndIsInTheREADME(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(File("examples", "*.yml"))
	others, errEDN := filepath.Glob(File("examples", "*.edn"))
	files, err = append(files, others...), errors.Join(err, errEDN)
	if err != nil || len(files) != len(exampleCalls)+len(examplesApart) {
		t.Errorf("got examples %v (%v), want one for each of the %d lists of calls, and %v", files, err, len(exampleCalls), examplesApart)
	}
	readme, err := os.ReadFile(File("examples", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if exampleCalls[name] == nil && !slices.Contains(examplesApart, name) {
			t.Errorf("no calls test %s", file)
		}
		if !strings.Contains(string(readme), name) {
			t.Errorf("examples/README.md does not name %s", name)
		}
	}
}

func TestExamples_ServedFromAnotherDirectory(t *testing.T) {
	t.Parallel()
	for name, calls := range exampleCalls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkCalls(t, Start(t, "-c", File("examples", name)), calls)
		})
	}
}

func TestExamples_ServedByARelativeName(t *testing.T) {
	t.Parallel()
	elsewhere := filepath.Dir(File("examples", filepath.Join("data", "x")))
	for name, calls := range exampleCalls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkCalls(t, LaunchIn(t, elsewhere, nil, "-c", filepath.Join("..", name)).Listening(), calls)
		})
	}
}

func TestExamples_ValidateWithoutAWarning(t *testing.T) {
	t.Parallel()
	for name := range exampleCalls {
		code, stdout, stderr := Refused(t, nil, "validate", "-c", File("examples", name))
		if code != 0 || stderr != "" || strings.Contains(stdout, "warning") || !strings.Contains(stdout, "valid") {
			t.Errorf("%s: got exit code %d, %q and %q, want 0, no warning and no error", name, code, stdout, stderr)
		}
	}
}

// markExample writes a copy of an example in which each answer names, in a header
// Endpoint, the summary of its endpoint, and returns the copy's path and all
// summaries.
func markExample(t *testing.T, name string) (path string, summaries []string) {
	t.Helper()
	text, err := os.ReadFile(File("examples", name))
	if err != nil {
		t.Fatal(err)
	}
	var items []map[string]map[string]any
	if filepath.Ext(name) == ".edn" {
		text = ednAsJSON(t, text)
	}
	if err := yaml.Unmarshal(text, &items); err != nil {
		t.Fatal(err)
	}
	for _, item := range items {
		endpoint, ok := item["endpoint"]
		if !ok {
			continue // a set of rows, or a resource
		}
		summary, _ := endpoint["summary"].(string)
		if summary == "" || slices.Contains(summaries, summary) {
			t.Errorf("endpoint %v: the summary %q is empty, or the same as that of another endpoint", endpoint["path"], summary)
		}
		summaries = append(summaries, summary)
		response := map[string]any{}
		for key, value := range endpoint["response"].(map[string]any) {
			response[key] = value // a copy: aliases share one map
		}
		headers := map[string]any{"Endpoint": summary}
		if declared, ok := response["headers"].(map[string]any); ok {
			for key, value := range declared {
				headers[key] = value
			}
		}
		response["headers"] = headers
		endpoint["response"] = response
	}
	marked, err := json.Marshal(items)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(File("examples"))); err != nil {
		t.Fatal(err)
	}
	return harness.WriteFile(t, dir, "marked.json", string(marked)), summaries
}

func TestExamples_EveryEndpointServesACall(t *testing.T) {
	t.Parallel()
	for name, calls := range exampleCalls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, left := markExample(t, name)
			p := Start(t, "-c", path)
			for i := range calls {
				c := &calls[i]
				if got := c.check(t, p).Header.Get("Endpoint"); got != c.endpoint {
					t.Errorf("%s %s %s: answered by %q, want %q", c.method, c.path, c.body, got, c.endpoint)
				}
				left = slices.DeleteFunc(left, func(s string) bool { return s == c.endpoint })
			}
			if len(left) > 0 {
				t.Errorf("no call is answered by %q", left)
			}
		})
	}
}

func TestExamples_AUserWithoutAFileIsNotFound(t *testing.T) {
	t.Parallel()
	p := Start(t, "-c", File("examples", "basic.yml"))
	for _, path := range []string{"/users/3", "/users/..%2Fcities", "/users/..%2F..%2Fdata%2Fcities", "/users/%00"} {
		c := exampleCall{"A JSON file for each id", "GET", path, "", 404,
			`{"error": "<text>", "code": "<text>", "message": "<text>"}`}
		c.check(t, p)
	}
}

func TestExamples_TheLocationOfACreatedTaskLeadsToIt(t *testing.T) {
	t.Parallel()
	p := Start(t, "-c", File("examples", "tasks.yml"))
	for range 20 { // an id and a Location computed at different times could match by chance
		created := p.Do("POST", "/tasks", `{"title": "Write"}`)
		task, ok := exampleDecode(t, created.Body).(map[string]any)
		id, isNumber := task["id"].(json.Number)
		location := created.Header.Values("Location")
		if !ok || !isNumber || !reflect.DeepEqual(location, []string{"/tasks/" + id.String()}) {
			t.Fatalf("got Location %q and %s, want the one of the id", location, created.Body)
		}
		n, err := id.Int64()
		if err != nil || n <= 0 || n > math.MaxInt {
			t.Fatalf("got id %s, want a positive integer", id)
		}
		c := exampleCall{"Get a task", "GET", location[0], "", 200, listedTask(int(n))}
		c.check(t, p)
	}
	for _, body := range []string{`{}`, `{"title": "Write", "priority": "soon"}`} {
		if a := p.Do("POST", "/tasks", body); a.Header.Values("Location") != nil {
			t.Errorf("POST %s: got %d with Location %q, want none", body, a.Status, a.Header.Values("Location"))
		}
	}
}

func TestExamples_ThePagesTogetherAreAllTasksAndEachCanBeRead(t *testing.T) {
	t.Parallel()
	p := Start(t, "-c", File("examples", "tasks.yml"))
	for _, limit := range []string{"5", "10", "20"} {
		var ids []string
		for page, pages := 1, 1; page <= pages; page++ {
			var list struct {
				Items      []map[string]any
				Pagination struct{ Page, Limit, Total, TotalPages int }
			}
			a := p.Get(fmt.Sprintf("/tasks?limit=%s&page=%d", limit, page))
			d := json.NewDecoder(strings.NewReader(a.Body))
			d.UseNumber()
			if err := d.Decode(&list); err != nil {
				t.Fatal(err)
			}
			pages = list.Pagination.TotalPages
			for _, item := range list.Items {
				id := fmt.Sprint(item["id"])
				ids = append(ids, id)
				if one := exampleDecode(t, p.Get("/tasks/"+id).Body); !reflect.DeepEqual(one, any(item)) {
					t.Errorf("task %s: got %#v alone and %#v in the list, want the same", id, one, item)
				}
			}
		}
		want := []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"}
		if !slices.Equal(ids, want) {
			t.Errorf("limit %s: got tasks %v on all pages, want %v", limit, ids, want)
		}
	}
}

func TestExamples_OtherMethodsFollowTheDeclaredOnes(t *testing.T) {
	t.Parallel()
	p := Start(t, "-c", File("examples", "tasks.yml"))
	for path, want := range map[string][]string{
		"/tasks":            {"GET", "HEAD", "OPTIONS", "POST"},
		"/tasks/7":          {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "PUT"},
		"/tasks/999":        {"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "PUT"},
		"/tasks/7/complete": {"OPTIONS", "POST"},
	} {
		for method, status := range map[string]int{"OPTIONS": 200, "TRACE": 405} {
			a := p.Do(method, path, "")
			allowed := strings.Split(a.Header.Get("Allow"), ", ")
			slices.Sort(allowed)
			if a.Status != status || !slices.Equal(allowed, want) {
				t.Errorf("%s %s: got %d, Allow %v, want %d, %v", method, path, a.Status, allowed, status, want)
			}
		}
	}
	for path, status := range map[string]int{"/tasks?page=2": 200, "/tasks/7": 200, "/tasks/999": 404, "/tasks/search": 200} {
		get, head := p.Get(path), p.Do("HEAD", path, "")
		if head.Status != status || head.Body != "" || head.Length != int64(len(get.Body)) ||
			head.Header.Get("Content-Type") != "application/json" {
			t.Errorf("HEAD %s: got %+v, want what GET answers (%d, %d bytes) without its body", path, head, status, len(get.Body))
		}
	}
}

func TestExamples_EveryCurlLineDoesWhatItSays(t *testing.T) {
	t.Parallel()
	for name := range exampleCalls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Start(t, "-c", File("examples", name))
			for _, line := range curlLines(t, name) {
				r, headers := readCurl(t, line)
				if a := p.Do(r.method, r.path, r.body, headers...); a.Status != r.status {
					t.Errorf("%s: got %d %s, want %d", line, a.Status, a.Body, r.status)
				}
			}
		})
	}
}

// curlLines returns the curl lines in an example's comments, and those after its name in the
// README.
func curlLines(t *testing.T, name string) []string {
	t.Helper()
	var lines []string
	for _, file := range []string{name, "README.md"} {
		text, err := os.ReadFile(File("examples", file))
		if err != nil {
			t.Fatal(err)
		}
		about, found := file == name, 0
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "With ") && file != name {
				about = strings.Contains(line, name)
			}
			line = strings.TrimSpace(strings.TrimLeft(line, "#;"))
			if about && strings.HasPrefix(line, "curl ") {
				lines = append(lines, line)
				found++
			}
		}
		if found == 0 {
			t.Errorf("%s has no curl line for %s", file, name)
		}
	}
	return lines
}

// readCurl reads a curl line and the headers it sends. The expected status is the one at the
// beginning of the comment after it, or 200.
func readCurl(t *testing.T, line string) (r exampleCall, headers []string) {
	t.Helper()
	r.status = http.StatusOK
	line, comment, _ := strings.Cut(line, " # ")
	if code, err := strconv.Atoi(comment[:min(3, len(comment))]); err == nil {
		r.status = code
	}
	words := shellWords(line)
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case word == "-i":
		case word == "-X" && i+1 < len(words):
			i++
			r.method = words[i]
		case word == "-d" && i+1 < len(words):
			i++
			r.body = strings.TrimPrefix(r.body+"&"+words[i], "&")
		case word == "-H" && i+1 < len(words):
			i++
			headers = append(headers, words[i])
		case strings.HasPrefix(word, "localhost:8000/") && r.path == "":
			r.path = strings.TrimPrefix(word, "localhost:8000")
		default:
			t.Fatalf("%s: %q is not understood", line, word)
		}
	}
	if r.body != "" && !strings.Contains(strings.Join(headers, "\n"), "Content-Type:") {
		headers = append(headers, "Content-Type: application/x-www-form-urlencoded") // as curl does
	}
	switch {
	case r.path == "":
		t.Fatalf("%s: no address", line)
	case r.method == "" && r.body != "":
		r.method = "POST"
	case r.method == "":
		r.method = "GET"
	}
	return r, headers
}

// shellWords cuts a line at blanks outside of single quotes. A shell may expand a ? outside of
// quotes, so words must not contain one here.
func shellWords(line string) []string {
	var words []string
	var word strings.Builder
	quoted := false
	for _, r := range line + " " {
		switch {
		case r == '\'':
			quoted = !quoted
		case quoted || r != ' ' && r != '?' && r != '&':
			word.WriteRune(r)
		case r == ' ' && word.Len() > 0:
			words = append(words, word.String())
			word.Reset()
		}
	}
	return words
}

// ednAsJSON converts an EDN text, as parsed by the EDN library, to JSON.
func ednAsJSON(t *testing.T, text []byte) []byte {
	t.Helper()
	var value any
	if err := edn.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(namedByTexts(value))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// namedByTexts converts keywords to texts without the colon, at any depth.
func namedByTexts(value any) any {
	switch v := value.(type) {
	case edn.Keyword:
		return string(v)
	case []any:
		for i := range v {
			v[i] = namedByTexts(v[i])
		}
	case map[any]any:
		named := map[string]any{}
		for key, inside := range v {
			named[fmt.Sprint(namedByTexts(key))] = namedByTexts(inside)
		}
		return named
	}
	return value
}
