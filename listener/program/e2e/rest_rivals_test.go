package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// things are the rows that all servers start with.
const things = `[{"id":"1","name":"a","rank":3},{"id":"2","name":"b","rank":1},{"id":"3","name":"c","rank":2}]`

// restServer is a server with a REST collection /things, and its syntax for list queries.
type restServer struct {
	url   string
	lists map[string]string // queries by their meaning
}

// ours serves the things as a resource, with the parameter names of another server.
func ours(t *testing.T, names string, lists map[string]string) restServer {
	p := Serving(t, `
- resource:
    path: /things
    data: {rows: `+things+`}
    page: {size: 1000, max: 1000`+names+`}
    filter: [name]
    sort: [name, rank]
`)
	return restServer{p.URL, lists}
}

// rival starts a server from npm. It skips the test if the server is not installed.
func rival(t *testing.T, program, file, content string, args func(file, port string) []string) string {
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not on the PATH; npm install --global %s installs it", program, map[string]string{"mockoon-cli": "@mockoon/cli"}[program])
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	harness.WriteFile(t, dir, file, strings.ReplaceAll(content, "PORT", port))
	cmd := exec.Command(path, args(file, port)...)
	cmd.Dir = dir
	LaunchCommand(t, cmd, dir, nil)
	address := "http://127.0.0.1:" + port
	harness.Until(t, program+" answers", func() bool {
		resp, err := http.Get(address + "/things")
		if err == nil {
			resp.Body.Close()
		}
		return err == nil && resp.StatusCode == 200
	})
	return address
}

// restResponse is the part of an answer that is compared.
type restResponse struct {
	status int
	body   any // decoded JSON; nil for no body
	header http.Header
}

func (s restServer) ask(t *testing.T, method, target, body string) restResponse {
	t.Helper()
	path, meaning, _ := strings.Cut(target, " ")
	if meaning != "" {
		path += "?" + s.lists[meaning]
	}
	req, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	client := http.Client{Timeout: 20 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	response := restResponse{status: resp.StatusCode, header: resp.Header}
	_ = json.Unmarshal(text, &response.body) // an empty body stays nil
	return response
}

// restRequest is a request. In target, the text after a blank is the meaning of a query.
type restRequest struct{ method, target, body string }

// dialogue is a sequence of requests about things. For a successful answer with a row, the rows
// are compared; for errors and removals, only whether the request succeeds.
var dialogue = []restRequest{
	{"GET", "/things", ""},
	{"HEAD", "/things", ""},
	{"GET", "/things/2", ""},
	{"HEAD", "/things/2", ""},
	{"GET", "/things/99", ""},
	{"POST", "/things", `{"id":"4","name":"d","rank":0}`},
	{"GET", "/things/4", ""},
	{"GET", "/things", ""},
	{"PUT", "/things/4", `{"id":"4","name":"e"}`},
	{"GET", "/things/4", ""},
	{"PATCH", "/things/4", `{"rank":7}`},
	{"GET", "/things/4", ""},
	{"PATCH", "/things/99", `{"rank":7}`},
	{"PUT", "/things/99", `{"id":"99","name":"x"}`},
	{"DELETE", "/things/99", ""},
	{"GET", "/things first", ""},
	{"GET", "/things second", ""},
	{"GET", "/things behind", ""},
	{"GET", "/things named", ""},
	{"GET", "/things descending", ""},
	{"GET", "/things ascending", ""},
	{"DELETE", "/things/4", ""},
	{"GET", "/things/4", ""},
	{"GET", "/things", ""},
}

// compare compares the answers of two servers to the same requests.
func compare(t *testing.T, requests []restRequest, ours, other restServer, check func(t *testing.T, request string, ours, other restResponse)) {
	for i, step := range requests {
		request := fmt.Sprintf("%d. %s %s %s", i+1, step.method, step.target, step.body)
		a, b := ours.ask(t, step.method, step.target, step.body), other.ask(t, step.method, step.target, step.body)
		switch {
		case a.status/100 != b.status/100 || a.status/100 == 4 && a.status != b.status:
			t.Errorf("%s: status %d; the other says %d", request, a.status, b.status)
		case a.status < 300 && step.method != "DELETE" && !reflect.DeepEqual(a.body, b.body):
			t.Errorf("%s:\n\tours  %v\n\tother %v", request, a.body, b.body)
		case check != nil:
			check(t, request, a, b)
		}
	}
}

// relation matches a link of RFC 8288 with one relation.
var relation = regexp.MustCompile(`<([^>]*)>; *rel="?([a-z]+)"?`)

// linksOf returns the queries of an answer's links by their relation, with the parameters sorted.
func linksOf(t *testing.T, header http.Header) map[string]string {
	links := map[string]string{}
	for _, link := range relation.FindAllStringSubmatch(header.Get("Link"), -1) {
		u, err := url.Parse(link[1])
		if err != nil {
			t.Errorf("the link %s: %v", link[1], err)
			continue
		}
		links[link[2]] = u.Query().Encode()
	}
	return links
}

// TestResource_RepliesAsJSONServer compares the REST rules with json-server. Behaviour of
// json-server that deviates from the RFCs is not compared: answers to removals, existing keys,
// conditions.
func TestResource_RepliesAsJSONServer(t *testing.T) {
	t.Parallel()
	other := rival(t, "json-server", "db.json", `{"things": `+things+`}`, func(file, port string) []string {
		return []string{"--host", "127.0.0.1", "--port", port, "--quiet", file}
	})
	compare(t, dialogue,
		ours(t, ", names: {page: _page, limit: _limit}", map[string]string{
			"first": "_page=1&_limit=2", "second": "_page=2&_limit=2", "behind": "_page=9&_limit=2", "named": "name=b", "descending": "sort=-name", "ascending": "sort=rank,name",
		}),
		restServer{other, map[string]string{
			"first": "_page=1&_limit=2", "second": "_page=2&_limit=2", "behind": "_page=9&_limit=2", "named": "name=b", "descending": "_sort=name&_order=desc", "ascending": "_sort=rank,name",
		}},
		func(t *testing.T, request string, a, b restResponse) {
			if strings.Contains(request, "POST") && filepath.Base(a.header.Get("Location")) != filepath.Base(b.header.Get("Location")) {
				t.Errorf("%s: Location %q; the other says %q", request, a.header.Get("Location"), b.header.Get("Location"))
			}
			if !strings.Contains(request, "first") && !strings.Contains(request, "second") {
				return
			}
			if got, want := a.header.Get("X-Total-Count"), b.header.Get("X-Total-Count"); got != want {
				t.Errorf("%s: X-Total-Count %q; the other says %q", request, got, want)
			}
			if got, want := linksOf(t, a.header), linksOf(t, b.header); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: links %v; the other has %v", request, got, want)
			}
		})
}

// TestResource_RepliesAsMockoon compares the REST rules with a CRUD route of Mockoon. Mockoon does
// not support HEAD, and its PUT and PATCH create missing rows, so these are not tested.
func TestResource_RepliesAsMockoon(t *testing.T) {
	t.Parallel()
	environment := map[string]any{
		"uuid": "00000000-0000-4000-8000-000000000001", "lastMigration": 33, "name": "things", "endpointPrefix": "", "latency": 0, "port": "PORT", "hostname": "127.0.0.1",
		"folders": []any{}, "proxyMode": false, "cors": false, "headers": []any{}, "proxyReqHeaders": []any{}, "proxyResHeaders": []any{}, "callbacks": []any{},
		"tlsOptions": map[string]any{"enabled": false, "type": "CERT", "pfxPath": "", "certPath": "", "keyPath": "", "caPath": "", "passphrase": ""},
		"data":       []any{map[string]any{"uuid": "00000000-0000-4000-8000-000000000002", "id": "bkt1", "name": "things", "documentation": "", "value": things}},
		"rootChildren": []any{
			map[string]any{"type": "route", "uuid": "00000000-0000-4000-8000-000000000003"},
		},
		"routes": []any{map[string]any{
			"uuid": "00000000-0000-4000-8000-000000000003", "type": "crud", "documentation": "", "method": "", "endpoint": "things", "responseMode": nil,
			"responses": []any{map[string]any{
				"uuid": "00000000-0000-4000-8000-000000000004", "body": "", "latency": 0, "statusCode": 200, "label": "", "headers": []any{}, "bodyType": "DATABUCKET",
				"filePath": "", "databucketID": "bkt1", "sendFileAsBody": false, "rules": []any{}, "rulesOperator": "OR", "disableTemplating": false, "fallbackTo404": false,
				"default": true, "crudKey": "id", "callbacks": []any{},
			}},
		}},
	}
	text, err := json.Marshal(environment)
	if err != nil {
		t.Fatal(err)
	}
	other := rival(t, "mockoon-cli", "things.json", strings.ReplaceAll(string(text), `"PORT"`, "PORT"), func(file, port string) []string {
		return []string{"start", "--data", file, "--port", port, "--disable-log-to-file"}
	})
	asked := slices.DeleteFunc(slices.Clone(dialogue), func(step restRequest) bool {
		return step.method == "HEAD" || step.target == "/things/99" && (step.method == "PUT" || step.method == "PATCH")
	})
	lists := map[string]string{"first": "page=1&limit=2", "second": "page=2&limit=2", "behind": "page=9&limit=2", "named": "name_eq=b", "descending": "sort=name&order=desc", "ascending": "sort=rank&order=asc"}
	mine := map[string]string{"first": "page=1&limit=2", "second": "page=2&limit=2", "behind": "page=9&limit=2", "named": "name=b", "descending": "sort=-name", "ascending": "sort=rank"}
	compare(t, asked, ours(t, "", mine), restServer{other, lists}, nil)
}
