package imports_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/jsonserver"
	"mockserver/config/imports/mockoon"
	"mockserver/config/imports/postman"
	"mockserver/config/imports/wiremock"
	"mockserver/internal/harness"
	"mockserver/listener/program/importing"
)

// beside is a source and requests that the original program and the import answer alike. A request
// is "METHOD /target", then headers as Name:value and a body that begins with {, [ or =.
type beside struct {
	source string
	asks   []string
}

func (b beside) cases() []Case {
	var all []Case
	for _, ask := range b.asks {
		method, rest, _ := strings.Cut(ask, " ")
		target, rest, _ := strings.Cut(rest, " ")
		c := Case{Method: method, Target: target, Header: map[string]string{}}
		for rest != "" && !strings.ContainsAny(rest[:1], "{[=") {
			var field string
			field, rest, _ = strings.Cut(rest, " ")
			name, value, _ := strings.Cut(field, ":")
			c.Header[name] = value
		}
		if c.Body = strings.TrimPrefix(rest, "="); rest != "" && c.Header["Content-Type"] == "" {
			c.Header["Content-Type"] = "application/json"
		}
		all = append(all, c)
	}
	return all
}

// alike compares the answers of two servers. Responses to requests that no endpoint answers may
// differ.
func alike(t *testing.T, b beside, original, ours string) {
	kind := func(h http.Header) string { k, _, _ := strings.Cut(h.Get("Content-Type"), ";"); return k }
	for _, c := range b.cases() {
		status, header, body := Send(t, original, c)
		status2, header2, body2 := Send(t, ours, c)
		if status2 == 405 { // other programs answer 404 to other methods
			status2 = 404
		}
		if status != status2 || status != 404 && (flat(body) != flat(body2) || body != "" && kind(header) != "" && kind(header) != kind(header2)) {
			t.Errorf("%s\n%s %s %v %s\n\tthe original: %d %s %q\n\tours:         %d %s %q", b.source, c.Method, c.Target, c.Header, c.Body,
				status, kind(header), body, status2, kind(header2), body2)
		}
	}
}

// against imports a source with --against: its requests must get the same answers.
func against(t *testing.T, source, url string) {
	t.Helper()
	var out, report strings.Builder
	code := importing.Command([]string{harness.WriteFile(t, t.TempDir(), "source.json", source), "-o", t.TempDir(), "--against", url}, &out, &report)
	if code != 0 {
		t.Errorf("%s\n%s", source, report.String())
	}
}

// flat returns JSON without whitespace between tokens and with sorted keys, and any other text
// unchanged.
func flat(body string) string {
	var v any
	if json.Unmarshal([]byte(body), &v) != nil {
		return body
	}
	text, _ := json.Marshal(v) // it was JSON
	return string(text)
}

// program returns the path of an npm program, or skips the test if it is not installed or not
// requested.
func program(t *testing.T, name, from string) string {
	if os.Getenv("MOCKSERVER_BESIDE_TESTS") == "" {
		t.Skip("the other mock servers take minutes of CPU time; MOCKSERVER_BESIDE_TESTS=1 runs them")
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not on the PATH; npm install --global %s installs it", name, from)
	}
	return path
}

// ports returns free ports.
func ports(t *testing.T, n int) (all []string) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		all = append(all, port)
	}
	return all
}

// start starts a program and waits until it answers at a URL.
func start(t *testing.T, cmd *exec.Cmd, url string) {
	t.Helper()
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), "HOME="+t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may already have exited
		_ = cmd.Wait()         // its exit code does not matter
	})
	harness.Until(t, cmd.Args[0]+" answers", func() bool {
		resp, err := http.Get(url)
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	})
}

// origin starts a server whose responses repeat the request, and returns its URL.
func origin(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-From", "origin")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprint(w, r.Method, r.RequestURI, r.Host, r.Header["X-Added"], r.Header["X-Gone"], string(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestBesideWireMock(t *testing.T) {
	t.Parallel()
	origin := origin(t)
	path, port := program(t, "wiremock", "wiremock"), ports(t, 1)[0]
	url := "http://127.0.0.1:" + port
	start(t, exec.Command(path, "--port", port, "--bind-address", "127.0.0.1", "--root-dir", t.TempDir()), url+"/__admin/mappings")
	t.Cleanup(func() { // the program is a Node program that has started Java
		if resp, err := http.Post(url+"/__admin/shutdown", "", nil); err == nil {
			resp.Body.Close()
		}
	})
	for i, b := range wiremocks {
		b.source = strings.ReplaceAll(b.source, "{origin}", origin)
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			req, _ := http.NewRequest("DELETE", url+"/__admin/mappings", nil)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			var all struct{ Mappings []json.RawMessage }
			if err := json.Unmarshal([]byte(`{"mappings": [`+b.source+`]}`), &all); err != nil {
				t.Fatal(err)
			}
			for _, m := range all.Mappings {
				resp, err := http.Post(url+"/__admin/mappings", "application/json", strings.NewReader(string(m)))
				if err != nil || resp.StatusCode != 201 {
					t.Fatalf("%s: %v %v", m, resp, err)
				}
				resp.Body.Close()
			}
			made := importRead(t, wiremock.Read, "m.json", `{"mappings": [`+b.source+`]}`, draft.Options{})
			if made.Count(draft.Exact) != len(all.Mappings) {
				t.Errorf("%v", made.Items)
			}
			alike(t, b, url, made.Serve(t))
		})
	}
}

func TestBesideMockoon(t *testing.T) {
	t.Parallel()
	origin := origin(t)
	path, free := program(t, "mockoon-cli", "@mockoon/cli"), ports(t, len(mockoons))
	args := []string{"start", "--disable-log-to-file", "--data"}
	for i, b := range mockoons {
		args = append(args, harness.WriteFile(t, t.TempDir(), fmt.Sprintf("e%d.json", i), environment(free[i], b.source, origin)))
	}
	args = append(append(args, "--port"), free...)
	start(t, exec.Command(path, args...), "http://127.0.0.1:"+free[0])
	for i, b := range mockoons {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			url := "http://127.0.0.1:" + free[i]
			harness.Until(t, "it answers", func() bool { c, err := net.Dial("tcp", "127.0.0.1:"+free[i]); return err == nil && c.Close() == nil })
			made := importRead(t, mockoon.Read, "e.json", environment(free[i], b.source, origin), draft.Options{})
			if made.Count(draft.Exact) != len(made.Items) {
				t.Errorf("%v", made.Items)
			}
			alike(t, b, url, made.Serve(t))
		})
	}
}

// environment returns an environment with routes. If routes begins with {origin}, requests that no
// route answers are passed on to the URL origin.
func environment(port, routes, origin string) string {
	routes, proxied := strings.CutPrefix(routes, "{origin}")
	if !proxied {
		origin = ""
	}
	return `{"uuid": "00000000-0000-4000-8000-000000000001", "lastMigration": 33, "name": "e", "endpointPrefix": "", "latency": 0, "port": ` + port + `, "hostname": "127.0.0.1", "folders": [], "rootChildren": [],
"proxyMode": ` + strconv.FormatBool(proxied) + `, "proxyHost": "` + origin + `", "proxyRemovePrefix": false, "cors": false, "headers": [], "proxyReqHeaders": [{"key": "X-Added", "value": "1"}], "proxyResHeaders": [{"key": "X-From", "value": "own"}], "data": [], "callbacks": [],
"tlsOptions": {"enabled": false, "type": "CERT", "pfxPath": "", "certPath": "", "keyPath": "", "caPath": "", "passphrase": ""}, "routes": [` + routes + `]}`
}

// httpRoute returns a route of Mockoon with responses, each with the given keys, and defaults for
// the other keys.
func httpRoute(method, endpoint, mode string, responses ...string) string {
	var all []string
	for i, r := range responses {
		one := map[string]any{
			"uuid": fmt.Sprintf("00000000-0000-4000-9000-%012d", len(endpoint)*100+i), "latency": 0, "statusCode": 200, "label": "", "headers": []any{}, "bodyType": "INLINE", "filePath": "", "databucketID": "",
			"sendFileAsBody": false, "rules": []any{}, "rulesOperator": "OR", "disableTemplating": false, "fallbackTo404": false, "default": i == 0, "crudKey": "id", "callbacks": []any{}, "body": "",
		}
		if err := json.Unmarshal([]byte("{"+strings.TrimPrefix(r, ",")+"}"), &one); err != nil {
			panic(r + ": " + err.Error())
		}
		text, _ := json.Marshal(one) // it was JSON
		all = append(all, string(text))
	}
	return fmt.Sprintf(`{"uuid": "00000000-0000-4000-a000-%012x", "type": "http", "documentation": "", "method": %q, "endpoint": %q, "responseMode": %s, "responses": [%s]}`,
		len(method)*1000+len(endpoint)*10+len(responses), method, endpoint, mode, strings.Join(all, ", "))
}

func TestBesideJSONServer(t *testing.T) {
	t.Parallel()
	path := program(t, "json-server", "json-server@0.17.4")
	for i, b := range jsonservers {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			dir, port := t.TempDir(), ports(t, 1)[0]
			file := harness.WriteFile(t, dir, "db.json", b.source)
			start(t, exec.Command(path, "--host", "127.0.0.1", "--port", port, "--quiet", file), "http://127.0.0.1:"+port)
			against(t, b.source, "http://127.0.0.1:"+port)
			alike(t, b, "http://127.0.0.1:"+port, importRead(t, jsonserver.Read, "db.json", b.source, draft.Options{}).Serve(t))
		})
	}
}

// newman sends the requests of a collection itself and must get the saved responses.
func TestBesideNewman(t *testing.T) {
	t.Parallel()
	path := program(t, "newman", "newman")
	for i, b := range postmans {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			made := importRead(t, postman.Read, "c.json", b.source, draft.Options{})
			dir := t.TempDir()
			file, out := harness.WriteFile(t, dir, "c.json", b.source), filepath.Join(dir, "out.json")
			cmd := exec.Command(path, "run", file, "--env-var", "base="+made.Serve(t), "--reporters", "json", "--reporter-json-export", out)
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			var got struct {
				Run struct {
					Executions []struct {
						Item     struct{ Name string }
						Response struct {
							Code   int
							Stream struct{ Data []byte }
						}
					}
				}
			}
			data, err := exec.Command("node", "-e", `const r=JSON.parse(require("fs").readFileSync(process.argv[1]));for(const e of r.run.executions){e.response.stream={data:Buffer.from(e.response.stream.data).toString("base64")}};console.log(JSON.stringify(r))`, out).Output()
			if err == nil {
				err = json.Unmarshal(data, &got)
			}
			if err != nil || len(got.Run.Executions) != len(b.asks) {
				t.Fatalf("%v: %d executions, want %d", err, len(got.Run.Executions), len(b.asks))
			}
			for i, e := range got.Run.Executions {
				if all := fmt.Sprint(e.Response.Code, " ", string(e.Response.Stream.Data)); all != b.asks[i] {
					t.Errorf("%s: %s, want %s", e.Item.Name, all, b.asks[i])
				}
			}
		})
	}
}
