package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"mockserver/internal/harness"
)

const accounts = `
- data: {name: accounts, new-key: int, isolate: header-params.X-VU, rows: [{id: 1, n: 1}, {id: 2, n: 2}]}
- endpoint: {method: POST, path: "/:id", do: [{add: {in: accounts, key: path-params.id, field: n, by: 10, as: a}}], response: {body: "{{a}}"}}
- endpoint: {method: POST, path: /new, do: [{insert: {in: accounts, as: a}}], response: {body: "{{a}}"}}
- endpoint: {path: "/:id", find: {a: {in: accounts, key: path-params.id}}, response: {body: "{{a.n|default:\"none\"}}"}}
- endpoint: {path: /once, find: {a: {in: accounts, pick: once}}, response: {body: "{{a.id|default:\"none\"}}"}}
`

func TestState_IsShownArrangedAndReset(t *testing.T) {
	t.Parallel()
	p := Serving(t, accounts, "--admin", "127.0.0.1:0")
	a := AdminOf(p)
	p.Do("POST", "/1", "").Want(t, 200, `{"id":1,"n":11}`)
	p.Do("POST", "/1", "", "X-VU: v").Want(t, 200, `{"id":1,"n":11}`)
	p.Do("POST", "/2", "", "X-VU: v").Want(t, 200, `{"id":2,"n":12}`)
	p.Get("/once").Want(t, 200, "1")
	var shown struct {
		Sets []struct {
			Name                              string
			Rows, Base, Changes, Parts, Bytes int
			Conflicts, Given                  int
			Some                              []string `json:"some_parts"`
		}
	}
	if err := json.Unmarshal([]byte(a.Get("/__admin/state").Body), &shown); err != nil || len(shown.Sets) != 1 {
		t.Fatalf("%v in %s", err, a.Get("/__admin/state").Body)
	}
	if s := shown.Sets[0]; s.Name != "accounts" || s.Rows != 2 || s.Base != 2 || s.Changes != 3 || s.Parts != 1 || s.Bytes == 0 || len(s.Some) != 1 || s.Some[0] != "v" {
		t.Errorf("the set is %+v", s)
	}
	lines := func(path string) string { return a.Do("GET", path, "", "Accept: application/x-ndjson").Body }
	if got := lines("/__admin/state/accounts?part=v"); got != "{\"id\":1,\"n\":11}\n{\"id\":2,\"n\":12}\n" {
		t.Errorf("the rows of v are %s", got)
	}
	rows := func(path string) string {
		var shown struct{ Rows []json.RawMessage }
		if err := json.Unmarshal([]byte(a.Get(path).Body), &shown); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		var all []string
		for _, row := range shown.Rows {
			all = append(all, strings.NewReplacer(" ", "", "\n", "").Replace(string(row)))
		}
		return strings.Join(all, " ")
	}
	for path, want := range map[string]string{
		"?key=1": `{"id":1,"n":11}`, "?key=1&part=v": `{"id":1,"n":11}`, "?key=9": "", "?limit=1": `{"id":1,"n":11}`, "?offset=1": `{"id":2,"n":2}`, "": `{"id":1,"n":11} {"id":2,"n":2}`,
	} {
		if got := rows("/__admin/state/accounts" + path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got := a.Do("POST", "/__admin/state/snapshots", `{"name": "before"}`); got.Status != 201 {
		t.Errorf("a snapshot: %d %s", got.Status, got.Body)
	}
	var kept struct{ Snapshots []struct{ Name, Time string } }
	if a.Get("/__admin/state/snapshots").Into(t, 200, &kept); len(kept.Snapshots) != 1 || kept.Snapshots[0].Name != "before" || kept.Snapshots[0].Time == "" {
		t.Errorf("the snapshots are %+v", kept)
	}
	if got := a.Do("PUT", "/__admin/state/accounts/9", `{"n": 90}`); got.Status != 200 || !strings.Contains(got.Body, `"id": 9`) {
		t.Errorf("a row put: %d %s", got.Status, got.Body)
	}
	p.Do("POST", "/new", "").Want(t, 200, `{"id":10}`)
	a.Do("PATCH", "/__admin/state/accounts/9?part=v", `{"n": 1}`).Refusal(t, 404, "row_not_found")
	if got := a.Do("PATCH", "/__admin/state/accounts/2?part=v", `{"n": 1}`); got.Status != 200 {
		t.Errorf("a row merged: %d %s", got.Status, got.Body)
	}
	p.Get("/2", "X-VU: v").Want(t, 200, "1")
	p.Get("/9").Want(t, 200, "90")
	if got := a.Do("DELETE", "/__admin/state/accounts/1", ""); got.Status != 204 {
		t.Errorf("a row deleted: %d %s", got.Status, got.Body)
	}
	p.Get("/1").Want(t, 200, "none")
	if got := a.Do("POST", "/__admin/state/snapshots/before/restore", ""); got.Status != 200 {
		t.Errorf("restored: %d %s", got.Status, got.Body)
	}
	p.Get("/1").Want(t, 200, "11")
	p.Get("/9").Want(t, 200, "none")
	p.Get("/2", "X-VU: v").Want(t, 200, "12")
	if metrics := a.Get("/metrics").Body; !strings.Contains(metrics, `mockserver_state_rows{set="accounts"} 2`) || !strings.Contains(metrics, `mockserver_state_parts{set="accounts"} 1`) ||
		!strings.Contains(metrics, `mockserver_state_operations_total{operation="add",result="ok",set="accounts"} 3`) {
		t.Errorf("the metrics do not cover the rows:\n%s", metrics)
	}
	if got := a.Do("POST", "/__admin/state/reset", `{"sets": ["accounts"], "part": "v"}`); got.Status != 200 {
		t.Errorf("a part reset: %d %s", got.Status, got.Body)
	}
	p.Get("/2", "X-VU: v").Want(t, 200, "2")
	p.Get("/1").Want(t, 200, "11")
	if got := a.Do("POST", "/__admin/runs", `{"name": "r", "reset-state": true}`); got.Status != 201 {
		t.Errorf("a run: %d %s", got.Status, got.Body)
	}
	p.Get("/1").Want(t, 200, "1")
	p.Get("/once").Want(t, 200, "1") // only once in a run
	p.Do("POST", "/9", "").Refusal(t, 404, "row_not_found")
	var report struct {
		State []struct {
			Name             string
			Rows, Changes    int
			Operations       map[string]map[string]int
			Conflicts, Moves int
		}
	}
	if err := json.Unmarshal([]byte(a.Get("/__admin/runs/1").Body), &report); err != nil || len(report.State) != 1 {
		t.Fatalf("%v in the report %s", err, a.Get("/__admin/runs/1").Body)
	}
	if s := report.State[0]; s.Name != "accounts" || s.Rows != 2 || s.Changes != 0 || s.Operations["add"]["row_not_found"] != 1 || s.Operations["find"]["ok"] == 0 || s.Operations["insert"] != nil {
		t.Errorf("the report has %+v", s)
	}
	if page := a.Get("/__admin/runs/1/report").Body; !strings.Contains(page, "add row_not_found: 1") {
		t.Errorf("the page of the report does not show the rows:\n%s", page)
	}
	if got := a.Do("DELETE", "/__admin/state/snapshots/before", ""); got.Status != 204 {
		t.Errorf("after the deletion: %d %s", got.Status, got.Body)
	}
	a.Do("POST", "/__admin/state/snapshots/before/restore", "").Refusal(t, 404, "snapshot_not_found")
	a.Do("DELETE", "/__admin/state/snapshots/before", "").Refusal(t, 404, "snapshot_not_found")
	a.Get("/__admin/state/nothing").Refusal(t, 404, "set_not_found")
	a.Do("POST", "/__admin/state/reset", `{"sets": ["nothing"]}`).Refusal(t, 404, "set_not_found")
	a.Do("PUT", "/__admin/state/accounts/9", `[]`).Refusal(t, 400, "invalid_body")
	a.Do("PUT", "/__admin/state/accounts/9", `{"id": 8}`).Refusal(t, 400, "invalid_body")
	a.Do("DELETE", "/__admin/state/accounts/9", "").Refusal(t, 404, "row_not_found")
	a.Do("POST", "/__admin/state/snapshots", `{"name": ""}`).Refusal(t, 400, "invalid_body")
	for i := range 17 {
		got := a.Do("POST", "/__admin/state/snapshots", `{"name": "s`+string(rune('a'+i))+`"}`)
		if i == 16 {
			got.Refusal(t, 409, "too_many_snapshots")
		}
	}
}

// TestState_OutlivesTheProcess expects --state to restore every change, and a process that is
// killed to leave the file unchanged.
func TestState_OutlivesTheProcess(t *testing.T) {
	t.Parallel()
	NeedsProcess(t) // it is killed
	dir := t.TempDir()
	file := filepath.Join(dir, "changes.ndjson")
	begin := func() *Process { return Serving(t, accounts, "--state", file) }
	p := begin()
	p.Do("POST", "/1", "").Want(t, 200, `{"id":1,"n":11}`)
	p.Do("POST", "/2", "", "X-VU: a b").Want(t, 200, `{"id":2,"n":12}`)
	p.Do("POST", "/new", "").Want(t, 200, `{"id":3}`)
	p.Stopped()
	written, err := os.ReadFile(file)
	if err != nil || strings.Count(string(written), "\n") != 5 { // the first and the last line, and three changes
		t.Fatalf("%v, the file is %s", err, written)
	}
	p = begin()
	p.Get("/1").Want(t, 200, "11")
	p.Get("/2").Want(t, 200, "2")
	p.Get("/2", "X-VU: a b").Want(t, 200, "12")
	p.Do("POST", "/new", "").Want(t, 200, `{"id":4}`)
	p.Signal(syscall.SIGKILL)
	p.Exit()
	if again, err := os.ReadFile(file); err != nil || string(again) != string(written) {
		t.Errorf("%v, the file is %s, want the old content", err, again)
	}
	if err := os.WriteFile(file, written[:strings.LastIndex(string(written), `{"end"`)], 0o600); err != nil {
		t.Fatal(err)
	}
	configuration := harness.WriteFile(t, dir, "m.yml", accounts)
	if code, _, stderr := Refused(t, nil, "-c", configuration, "--state", file); code == 0 || !strings.Contains(stderr, "the file is cut off after change 3") {
		t.Errorf("an invalid file: exit code %d, %s", code, stderr)
	}
	if code, _, stderr := Refused(t, nil, "-c", configuration, "--state", filepath.Join(dir, "none", "f")); code == 0 || !strings.Contains(stderr, "the state could not be written at the end") {
		t.Errorf("a file in a missing directory: exit code %d, %s", code, stderr)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the directory has %v, %v; want the file and the configuration", entries, err)
	}
}

// TestState_CannotBeWritten: the log says that the file is what failed, not the requests.
func TestState_CannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p := Serving(t, accounts, "--state", filepath.Join(dir, "f"))
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	p.Signal(syscall.SIGTERM)
	if code := p.Exit(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	p.WaitLine(0, "state not written")
	p.WaitLine(0, "stopped, but not everything was closed or written")
	if said := strings.Join(p.Output(), "\n"); strings.Contains(said, "unfinished") {
		t.Errorf("it says %s", said)
	}
}

// TestState_CountsConflictsAndWhatIsGivenUp expects each conflict to cause one more attempt at a
// change; a counter in the change counts the attempts.
func TestState_CountsConflictsAndWhatIsGivenUp(t *testing.T) {
	t.Parallel()
	p := Serving(t, `
- data: {name: few, new-key: int, limit: {rows: 2}, full: oldest}
- data: {name: one, rows: [{id: a, n: 0, text: "`+strings.Repeat("x", 50_000)+`"}]}
- endpoint: {method: POST, path: /few, do: [{insert: {in: few}}], response: {}}
- endpoint: {method: POST, path: /one, find: {r: {in: one, key: a}}, do: [{merge: {in: one, key: a, with: {n: "{{r.n|add:1}}", attempt: '{{counter("attempts")}}'}, as: made}}], response: {body: "{{made.attempt}}"}}
`, "--admin", "127.0.0.1:0")
	for range 5 {
		p.Do("POST", "/few", "").Want(t, 200, "")
	}
	const clients = 50
	sent, attempts := 0, 0
	for attempts == sent { // repeat until there is a conflict, or the test times out
		var all sync.WaitGroup
		var last [clients]int
		for i := range clients {
			all.Go(func() { last[i], _ = strconv.Atoi(p.Do("POST", "/one", "").Body) })
		}
		all.Wait()
		sent, attempts = sent+clients, slices.Max(last[:])
	}
	var shown struct {
		Sets []struct {
			Name      string
			Conflicts int
			GivenUp   int `json:"given_up"`
		}
	}
	AdminOf(p).Get("/__admin/state").Into(t, 200, &shown)
	if got, want := fmt.Sprint(shown.Sets), fmt.Sprintf("[{few 0 3} {one %d 0}]", attempts-sent); got != want {
		t.Errorf("the sets have %s, want %s", got, want)
	}
}
