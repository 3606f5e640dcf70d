package e2e_test

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mockserver/internal/harness"
)

// With these thresholds a run is either always trusted, however busy the machine is, or never,
// since every request takes some time. A single request would prove nothing.
const (
	trusts    = "throttled=off,steal=off,descriptors=off,accept=off,backlog=off,probe-p99=off,echo-p99=off,own-p99=off"
	trustsNot = "own-p99=0ms"
)

// loaded starts a server that answers the requests of the load scripts, and returns it with its
// admin address.
func loaded(t *testing.T, verdict string, args ...string) (p, admin *Process) {
	t.Helper()
	p = Start(t, append([]string{"-c", File("examples/tasks.yml"), "--admin", "127.0.0.1:0", "--verdict", verdict}, args...)...)
	return p, AdminOf(p)
}

// need skips the test if a program that it runs is missing.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s here", program)
		}
	}
}

// The stand-in for k6 provides the parts of k6 that the script uses. It runs the load
// three times.
var standIn = map[string]string{
	"node_modules/k6/package.json": `{"name": "k6", "type": "module", "exports": {".": "./k6.js", "./http": "./http.js"}}`,
	"node_modules/k6/k6.js": `
export const check = (value, checks) => { for (const [name, ok] of Object.entries(checks)) if (!ok(value)) throw new Error(name + ' does not hold'); };
`,
	"node_modules/k6/http.js": `
import { execFileSync } from 'node:child_process';
const request = (method, url, body, params = {}) => {
  const args = ['-s', '-X', method, '-w', '\n%{http_code}', url];
  for (const [name, value] of Object.entries(params.headers || {})) args.push('-H', name + ': ' + value);
  if (body) args.push('-d', body);
  const out = execFileSync('curl', args).toString(), end = out.lastIndexOf('\n');
  const response = { status: Number(out.slice(end + 1)), body: out.slice(0, end) };
  response.json = (path) => (path ? JSON.parse(response.body)[path] : JSON.parse(response.body));
  return response;
};
export default { request, get: (url) => request('GET', url) };
`,
	"main.mjs": `
globalThis.__ENV = process.env;
const script = await import('./script.mjs');
for (let i = 0; i < 3; i++) script.default();
`,
}

func TestLoad_TheScriptForK6RunsInARun(t *testing.T) {
	t.Parallel()
	script, dir := File("examples/load/k6.js"), t.TempDir()
	command := []string{"k6", "run", "--quiet", script}
	if _, err := exec.LookPath("k6"); err != nil {
		need(t, "node", "curl")
		t.Log("k6 is not installed: a stand-in runs the script in node")
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		harness.WriteFile(t, dir, "script.mjs", string(text))
		for name, content := range standIn {
			harness.WriteFile(t, dir, name, content)
		}
		command = []string{"node", filepath.Join(dir, "main.mjs")}
	}
	for verdict, want := range map[string]int{trusts: 0, trustsNot: 3} {
		args := append([]string{"run", File("examples/tasks.yml"), "--port", "0", "--verdict", verdict, "--report", dir, "--"}, command...)
		code, _, says := Refused(t, []string{"RATE=20", "DURATION=1s"}, args...)
		if code != want || !strings.Contains(says, "The timing of this run can") || strings.Contains(says, "run: 0 requests") {
			t.Errorf("%s: exit code %d, want %d: %s", verdict, code, want, says)
		}
	}
}

// element is an element of a JMeter plan: its properties by name, and the elements in it.
type element struct {
	XMLName  xml.Name
	Name     string    `xml:"name,attr"`
	Test     string    `xml:"testname,attr"`
	Text     string    `xml:",chardata"`
	Elements []element `xml:",any"`
}

// prop returns the text of a property anywhere in an element.
func (e element) prop(name string) string {
	if e.Name == name {
		return e.Text
	}
	for _, inner := range e.Elements {
		if text := inner.prop(name); text != "" {
			return text
		}
	}
	return ""
}

// all returns the elements of a kind in the order of the plan.
func (e element) all(kind string) (found []element) {
	if e.XMLName.Local == kind {
		found = append(found, e)
	}
	for _, inner := range e.Elements {
		found = append(found, inner.all(kind)...)
	}
	return found
}

// The test sends the requests that JMeter would send, with its expressions evaluated.
func TestLoad_TheRequestsOfJMeterEndInTheVerdict(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(File("examples/load/jmeter.jmx"))
	if err != nil {
		t.Fatal(err)
	}
	var plan element
	if err := xml.Unmarshal(text, &plan); err != nil {
		t.Fatal(err)
	}
	samplers := plan.all("HTTPSamplerProxy")
	id := regexp.MustCompile(plan.all("RegexExtractor")[0].prop("RegexExtractor.regex"))
	holds := regexp.MustCompile(plan.all("ResponseAssertion")[0].prop("0"))
	if len(samplers) != 4 || len(plan.all("SetupThreadGroup")) != 1 || len(plan.all("PostThreadGroup")) != 1 || len(plan.all("ThreadGroup")) != 1 {
		t.Fatalf("got %d requests", len(samplers))
	}
	if !strings.Contains(string(text), ",the timing can be trusted,") || samplers[3].Test != "the timing can be trusted" {
		t.Errorf("the comment names a sample other than the last one, %q", samplers[3].Test)
	}
	for verdict, want := range map[string]bool{trusts: true, trustsNot: false} {
		p, admin := loaded(t, verdict, "--admin-token", "secret")
		run, last := "", ""
		for _, s := range samplers {
			to := map[string]*Process{"${__P(port,8000)}": p, "${__P(admin_port,8001)}": admin}[s.prop("HTTPSampler.port")]
			path := strings.NewReplacer("${__setProperty(run,${run})}", "", "${run}", run, "${__P(run)}", run).Replace(s.prop("HTTPSampler.path"))
			if to == nil || strings.Contains(path, "$") {
				t.Fatalf("%s: the port %s, the path %s", s.Test, s.prop("HTTPSampler.port"), path)
			}
			token := strings.ReplaceAll(plan.all("HeaderManager")[0].prop("Header.value"), "${__P(token,)}", "secret")
			times := 1
			if to == p {
				times = 5 // the load
			}
			var a Response
			for range times {
				a = to.Do(s.prop("HTTPSampler.method"), path, s.prop("Argument.value"), "Authorization: "+token)
				if a.Status >= 300 {
					t.Fatalf("%s: %d %s", s.Test, a.Status, a.Body)
				}
			}
			if found := id.FindStringSubmatch(a.Body); run == "" && found != nil {
				run = found[1]
			}
			last = a.Body
		}
		if holds.MatchString(last) != want || !strings.Contains(last, `"running": false`) {
			t.Errorf("%s: the assertion is %v, want %v, of %.300s", verdict, !want, want, last)
		}
	}
}

// Gatling is not available, so the test compares the names in the simulation with the names that
// exist.
func TestLoad_TheSimulationOfGatlingNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(File("examples/load/MockSimulation.java"))
	if err != nil {
		t.Fatal(err)
	}
	source := string(text)
	names := map[string]bool{}
	for _, request := range regexp.MustCompile(`http\("([^"]+)"\)`).FindAllStringSubmatch(source, -1) {
		names[request[1]] = true
	}
	asserted := regexp.MustCompile(`details\("([^"]+)"\)`).FindAllStringSubmatch(source, -1)
	if len(asserted) != 2 {
		t.Errorf("got the assertions %q", asserted)
	}
	for _, a := range asserted {
		if !names[a[1]] {
			t.Errorf("an assertion is about %q, the requests are %v", a[1], names)
		}
	}
	p, admin := loaded(t, trusts)
	begin := regexp.MustCompile(`StringBody\("(.*)"\)\)`).FindStringSubmatch(source)
	if begin == nil || !strings.Contains(source, `ADMIN + "/__admin/runs")`) || !strings.Contains(source, `ADMIN + "/__admin/runs/" + run + "/stop")`) {
		t.Fatal("it begins or ends no run")
	}
	var run struct{ ID string }
	if err := json.Unmarshal([]byte(admin.Do("POST", "/__admin/runs", strings.ReplaceAll(begin[1], `\"`, `"`)).Body), &run); err != nil || run.ID == "" {
		t.Fatalf("no run was begun: %v", err)
	}
	if a := p.Get("/tasks/7"); a.Status != 200 || !strings.Contains(a.Body, `"id": 7`) && !strings.Contains(a.Body, `"id":7`) {
		t.Errorf("got %d %s", a.Status, a.Body)
	}
	var report struct{ Verdict map[string]any }
	if err := json.Unmarshal([]byte(admin.Do("POST", fmt.Sprint("/__admin/runs/", run.ID, "/stop"), "").Body), &report); err != nil || report.Verdict["trusted"] != true {
		t.Errorf("got %v (%v)", report, err)
	}
	if !strings.Contains(source, `jsonPath("$.verdict.trusted").is("true")`) || !strings.Contains(source, `jsonPath("$.id").saveAs("run")`) {
		t.Error("it reads neither the run nor its verdict")
	}
}
