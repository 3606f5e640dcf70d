//go:build unix

package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
	"mockserver/internal/histogram"
	"mockserver/internal/statistics"
	"mockserver/listener/control/runs"
	"mockserver/listener/observe/verdict"
)

// calm turns off the reasons for distrust that other programs on the machine may cause.
const calm = "throttled=off,steal=off,accept=off,backlog=off,probe-p99=off,echo-p99=off,own-p99=off,upstream-p99=off,injection-p99=off"

// fleetConfiguration is the specification that the replicas of these tests serve.
const fleetConfiguration = `
- endpoint: {path: /fast, response: {body: fast}}
- endpoint: {path: /slow, latency: {min: 1ms, max: 3ms}, response: {body: slow}}
- endpoint: {path: /down, response: {status: 503, body: down}}
`

// member is one replica under test.
type member struct {
	*Process
	admin   *Process
	address string
	dir     string // of its configuration
}

// start starts the replica at an address.
func start(t *testing.T, all []string, i int, configuration string, args ...string) *member {
	t.Helper()
	dir := t.TempDir()
	file := harness.WriteFile(t, dir, "mock.yml", configuration)
	if !slices.Contains(args, "--verdict") {
		args = append(args, "--verdict", calm)
	}
	args = append([]string{"-c", file, "--admin", all[i], "--fleet", strings.Join(all, ","), "--journal-sample", "1"}, args...)
	var p *Process
	if RunsInside(t) {
		p = Launch(t, nil, args...).Listening()
	} else {
		p = LaunchIn(t, dir, nil, args...).Listening()
	}
	return &member{Process: p, admin: AdminOf(p), address: all[i], dir: dir}
}

// threeOf starts three replicas that agree.
func threeOf(t *testing.T, args ...string) []*member {
	t.Helper()
	all := unusedAddresses(t, 3)
	var list []*member
	for i := range all {
		list = append(list, start(t, all, i, fleetConfiguration, args...))
	}
	agreed(t, list[0])
	return list
}

func ready(t *testing.T, m *member) {
	t.Helper()
	harness.Until(t, "the replica is ready", func() bool { return m.admin.Get("/readyz").Status == 200 })
}

func agreed(t *testing.T, m *member) {
	t.Helper()
	harness.Until(t, "the replicas agree", func() bool {
		var state struct{ Agreed bool }
		m.admin.Get("/__admin/fleet").Into(t, 200, &state)
		return state.Agreed
	})
}

// begin begins a run on all replicas, by a request to one, and returns its ID.
func begin(t *testing.T, m *member, body string) string {
	t.Helper()
	var run struct{ ID string }
	m.admin.Do("POST", "/__admin/fleet/runs", body, "Content-Type: application/json").Into(t, 201, &run)
	return run.ID
}

// stop ends a run by a request to one replica.
func stop(t *testing.T, m *member, id string) *runs.Report {
	t.Helper()
	var report runs.Report
	m.admin.Do("POST", "/__admin/fleet/runs/"+id+"/stop", "").Into(t, 200, &report)
	return &report
}

// clientCounts contains the counts of clients, by endpoint and status.
type clientCounts map[string]map[int]uint64

func (c clientCounts) add(path string, status int) {
	if c["GET "+path] == nil {
		c["GET "+path] = map[int]uint64{}
	}
	c["GET "+path][status]++
}

func (c clientCounts) sum() (n uint64) {
	for _, statuses := range c {
		for _, times := range statuses {
			n += times
		}
	}
	return n
}

// loadAll sends requests to each replica, from clients that work at the same time, and returns what
// they counted.
func loadAll(t *testing.T, to []*member, rounds int) clientCounts {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	counted := clientCounts{}
	for i, m := range to {
		for range 2 + i%2*2 { // a different number of clients for some replicas
			all.Go(func() {
				client := http.Client{Transport: &http.Transport{}}
				defer client.CloseIdleConnections()
				for range rounds {
					for _, path := range []string{"/fast", "/slow", "/down", "/fast"} {
						resp, err := client.Get(m.URL + path)
						if err != nil {
							t.Error(err)
							return
						}
						_, _ = io.Copy(io.Discard, resp.Body)
						_ = resp.Body.Close()
						mu.Lock()
						counted.add(path, resp.StatusCode)
						mu.Unlock()
					}
				}
			})
		}
	}
	all.Wait()
	return counted
}

// agreeWith fails the test unless the report has the counts of the clients.
func agreeWith(t *testing.T, report *runs.Report, counted clientCounts) {
	t.Helper()
	got := clientCounts{}
	for _, e := range report.Endpoints {
		got[e.Endpoint] = e.Statuses
		if e.Total.Count != e.Requests {
			t.Errorf("%s: %d of %d requests were timed", e.Endpoint, e.Total.Count, e.Requests)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(counted) || report.Total.Requests != counted.sum() {
		t.Errorf("the report has %d requests, %v\nthe clients %d, %v", report.Total.Requests, got, counted.sum(), counted)
	}
}

// causes returns the reasons with a code, by replica.
func causes(report *runs.Report, code string) map[string]runs.RunCause {
	found := map[string]runs.RunCause{}
	for _, c := range report.Verdict.Reasons {
		if c.Code == code {
			found[c.Replica] = c
		}
	}
	return found
}

func TestFleet_TheReportIsWhatTheClientsCounted(t *testing.T) {
	t.Parallel()
	all := threeOf(t)
	id := begin(t, all[0], `{"name": "sum"}`)
	counted := loadAll(t, all, 50)
	report := stop(t, all[1], id) // a replica other than the one that began it
	agreeWith(t, report, counted)
	if !report.Verdict.Trusted || report.Name != "sum" || report.End == nil || len(report.Replicas) != 3 {
		t.Errorf("the verdict is %+v, of %d replicas", report.Verdict, len(report.Replicas))
	}
	rate, share := 0.0, 0.0
	for _, p := range report.Timeline {
		rate += p.Rate * p.Seconds
	}
	for _, r := range report.Replicas {
		share += r.Share
	}
	if n := float64(counted.sum()); rate < n-0.01 || rate > n+0.01 || share < 0.999 || share > 1.001 {
		t.Errorf("the curve has %v requests of %v, the shares add up to %v", rate, n, share)
	}
	// One histogram that contains the requests of all replicas.
	var one histogram.Histogram
	for _, m := range all {
		var totals runs.Totals
		m.admin.Get("/__admin/runs/"+id+"/totals").Into(t, 200, &totals)
		for d, n := range totals.Total.Cells() {
			for range n {
				one.Add(d)
			}
		}
	}
	var seen histogram.Snapshot
	one.Read(&seen)
	want, got := verdict.SpreadOf(seen), report.Total.Total
	// The totals say in which cell a duration is: the longest was at most the end of its cell.
	if want.Count != counted.sum() || got.Count != want.Count {
		t.Errorf("the percentiles are of %d and %d requests, want %d", got.Count, want.Count, counted.sum())
	}
	for name, c := range map[string]struct {
		got  statistics.Figure
		want float64
	}{"p50": {got.P50, want.P50}, "p90": {got.P90, want.P90}, "p95": {got.P95, want.P95}} {
		if c.got.Value == nil || *c.got.Value != min(c.want, got.Max) || *c.got.Low > c.want || *c.got.High < c.want || c.got.Samples != want.Count {
			t.Errorf("%s is %+v, want %v", name, c.got, c.want)
		}
	}
	for _, m := range all {
		var list struct{ Runs []runs.RunEntry }
		m.admin.Get("/__admin/fleet/runs").Into(t, 200, &list)
		if len(list.Runs) != 1 || list.Runs[0].ID != id || list.Runs[0].Requests != counted.sum() || list.Runs[0].Verdict == nil {
			t.Errorf("%s lists %+v", m.address, list.Runs)
		}
		if page := m.admin.Get("/__admin/fleet/runs/" + id + "/report"); page.Status != 200 || !strings.Contains(page.Body, all[2].address) {
			t.Errorf("the page of %s: %d", m.address, page.Status)
		}
	}
	all[2].admin.Do("POST", "/__admin/fleet/runs/"+id+"/stop", "").Refusal(t, 409, "run_ended")
	if got := all[2].admin.Do("DELETE", "/__admin/fleet/runs/"+id, ""); got.Status != 204 {
		t.Errorf("removing: %+v", got)
	}
	all[0].admin.Get("/__admin/fleet/runs/"+id).Refusal(t, 404, "run_not_found")
}

// requestsRead waits until the coordinator of a run has read the given number of requests.
func requestsRead(t *testing.T, m *member, id string, n uint64) {
	t.Helper()
	harness.Until(t, "the coordinator has read all requests", func() bool {
		var list struct{ Runs []runs.RunEntry }
		m.admin.Get("/__admin/fleet/runs?here=true").Into(t, 200, &list)
		return len(list.Runs) == 1 && list.Runs[0].ID == id && list.Runs[0].Requests == n
	})
}

func TestFleet_AKilledReplicaIsLostAndItsNumbersStay(t *testing.T) {
	t.Parallel()
	NeedsProcess(t) // one is killed
	all := threeOf(t)
	id := begin(t, all[0], "")
	counted := loadAll(t, all, 10)
	requestsRead(t, all[0], id, counted.sum())
	all[2].Signal(syscall.SIGKILL)
	all[2].Exit()
	for path, statuses := range loadAll(t, all[:2], 10) {
		for status, n := range statuses {
			counted[path][status] += n
		}
	}
	report := stop(t, all[0], id)
	agreeWith(t, report, counted)
	lost := causes(report, "replica-lost")
	if report.Verdict.Trusted || len(lost) != 1 || lost[all[2].address].Text == "" || !slices.Contains(report.Verdict.Decisive, "replica-lost") {
		t.Errorf("the verdict is %+v", report.Verdict)
	}
	if r := report.Replicas[2]; r.Lost == "" || r.Requests == 0 || r.Seconds >= report.Total.Seconds {
		t.Errorf("the replica is %+v", r)
	}
}

func TestFleet_AFrozenReplicaIsLost(t *testing.T) {
	volume.Only(t)
	t.Parallel()
	NeedsProcess(t) // one is suspended
	all := threeOf(t)
	id := begin(t, all[0], "")
	counted := loadAll(t, all, 10)
	requestsRead(t, all[0], id, counted.sum())
	all[1].Signal(syscall.SIGSTOP)
	report := stop(t, all[0], id)
	agreeWith(t, report, counted)
	if lost := causes(report, "replica-lost"); report.Verdict.Trusted || len(lost) != 1 || lost[all[1].address].Text == "" {
		t.Errorf("the verdict is %+v", report.Verdict)
	}
}

// A run whose parts were stopped one by one can still be stopped as a whole, and deleted.
func TestFleet_ARunWhosePartsWereStopped(t *testing.T) {
	t.Parallel()
	all := threeOf(t)
	id := begin(t, all[0], "")
	for _, m := range all {
		if a := m.admin.Do("POST", "/__admin/runs/"+id+"/stop", ""); a.Status != 200 {
			t.Fatalf("got %d %s", a.Status, a.Body)
		}
	}
	if report := stop(t, all[0], id); report.End == nil || len(causes(report, "replica-lost")) > len(all) {
		t.Errorf("got %+v", report)
	}
	all[0].admin.Do("POST", "/__admin/fleet/runs/"+id+"/stop", "").Refusal(t, 409, "run_ended")
	all[0].admin.Do("DELETE", "/__admin/fleet/runs/"+id, "").Want(t, 204, "")
	begin(t, all[1], "") // nothing is left that blocks the next run
}

// A run that is refused because one replica has a run of its own drops no rows.
func TestFleet_ARefusedRunDropsNoRows(t *testing.T) {
	t.Parallel()
	ports := unusedAddresses(t, 2)
	const notes = fleetConfiguration + "- resource: {path: /notes, new-key: int}\n"
	first, second := start(t, ports, 0, notes), start(t, ports, 1, notes)
	agreed(t, first)
	first.Do("POST", "/notes", "{}", "Content-Type: application/json").Want(t, 201, `{"id":1}`)
	if a := second.admin.Do("POST", "/__admin/runs", ""); a.Status != 201 {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	if a := first.admin.Do("POST", "/__admin/fleet/runs", `{"reset-state": true}`, "Content-Type: application/json"); a.Status != 409 {
		t.Errorf("got %d %s, want 409", a.Status, a.Body)
	}
	first.Do("GET", "/notes/1", "").Want(t, 200, `{"id":1}`)
	if a := second.admin.Do("POST", "/__admin/runs/1/stop", ""); a.Status != 200 {
		t.Fatalf("got %d %s", a.Status, a.Body)
	}
	id := begin(t, first, `{"reset-state": true}`)
	if a := first.Do("GET", "/notes/1", ""); a.Status != 404 {
		t.Errorf("the row is still there: %d %s", a.Status, a.Body)
	}
	stop(t, first, id)
}

func TestFleet_ARestartedReplicaIsLost(t *testing.T) {
	t.Parallel()
	NeedsProcess(t) // one is killed
	ports := unusedAddresses(t, 2)
	first, second := start(t, ports, 0, fleetConfiguration), start(t, ports, 1, fleetConfiguration)
	agreed(t, first)
	id := begin(t, first, "")
	second.Signal(syscall.SIGKILL)
	second.Exit()
	start(t, ports, 1, fleetConfiguration)
	report := stop(t, first, id)
	if lost := causes(report, "replica-lost"); report.Verdict.Trusted || len(lost) != 1 || !strings.Contains(lost[second.address].Text, "restarted") {
		t.Errorf("the verdict is %+v", report.Verdict)
	}
}

func TestFleet_WithoutItsCoordinatorARunIsTakenOver(t *testing.T) {
	t.Parallel()
	NeedsProcess(t) // one is killed
	all := threeOf(t)
	id := begin(t, all[0], "")
	counted := loadAll(t, all[1:], 10)
	all[0].Signal(syscall.SIGKILL)
	all[0].Exit()
	report := stop(t, all[2], id)
	agreeWith(t, report, counted)
	if lost := causes(report, "replica-lost"); report.Verdict.Trusted || len(lost) != 1 || !strings.Contains(lost[all[0].address].Text, "nothing is known") {
		t.Errorf("the verdict is %+v", report.Verdict)
	}
}

// The report has all requests of a replica that was frozen for a while, as if it got no CPU, and
// the verdict names the replica.
func TestFleet_AStarvedReplicaIsNamed(t *testing.T) {
	t.Parallel()
	NeedsProcess(t) // one is suspended
	ports := unusedAddresses(t, 2)
	first, second := start(t, ports, 0, fleetConfiguration), start(t, ports, 1, fleetConfiguration, "--verdict", strings.Replace(calm, "probe-p99=off,", "", 1))
	agreed(t, first)
	id := begin(t, first, "")
	counted := loadAll(t, []*member{first, second}, 10)
	for range 3 { // so that more than a hundredth of the run is affected
		second.Signal(syscall.SIGSTOP)
		waiting := make(chan clientCounts)
		go func() { waiting <- loadAll(t, []*member{first, second}, 10) }()
		harness.Until(t, "the other does not answer", func() bool {
			var state struct{ Replicas []struct{ Silent string } }
			first.admin.Get("/__admin/fleet").Into(t, 200, &state)
			return len(state.Replicas) == 2 && state.Replicas[1].Silent != ""
		})
		second.Signal(syscall.SIGCONT)
		for path, statuses := range <-waiting {
			for status, n := range statuses {
				counted[path][status] += n
			}
		}
	}
	report := stop(t, first, id)
	agreeWith(t, report, counted)
	if late := causes(report, "probe-p99"); report.Verdict.Trusted || len(late) != 1 || late[second.address].Text == "" || len(causes(report, "replica-lost")) > 0 {
		t.Errorf("the verdict is %+v", report.Verdict)
	}
	if !report.Replicas[0].Trusted || report.Replicas[1].Trusted {
		t.Errorf("the replicas are %+v", report.Replicas)
	}
}

func TestFleet_ARunBeginsOnlyIfAllAgree(t *testing.T) {
	t.Parallel()
	ports := unusedAddresses(t, 3)
	first, second := start(t, ports, 0, fleetConfiguration, "--fleet-expect", "2"), start(t, ports, 1, One("other"))
	ready(t, first)
	ready(t, second)
	got := first.admin.Do("POST", "/__admin/fleet/runs", "")
	got.Refusal(t, 409, "not_agreed")
	for _, want := range []string{ports[1] + " serves a different configuration", ports[2] + " does not answer", "the number of replicas is 3; expected 2"} {
		if !strings.Contains(got.Body, want) {
			t.Errorf("the answer lacks %q: %s", want, got.Body)
		}
	}
	id := begin(t, first, `{"force": true}`)
	first.admin.Do("POST", "/__admin/fleet/runs", `{"force": true}`).Refusal(t, 409, "not_begun")
	third := start(t, ports, 2, fleetConfiguration)
	report := stop(t, first, id)
	if c := causes(report, "configuration-differs"); len(c) != 1 || c[second.address].Text == "" {
		t.Errorf("the verdict is %+v", report.Verdict)
	}
	if c := causes(report, "replica-joined"); len(c) != 1 || c[third.address].Text == "" || report.Verdict.Trusted || len(report.Replicas) != 2 {
		t.Errorf("the verdict is %+v", report.Verdict)
	}
}

func TestFleet_AnUnevenLoadIsNamed(t *testing.T) {
	t.Parallel()
	all := threeOf(t)
	id := begin(t, all[0], "")
	agreeWith(t, stop(t, all[0], id), clientCounts{}) // a run without requests is not uneven
	id = begin(t, all[0], "")
	loadAll(t, all[1:2], 50)
	report := stop(t, all[0], id)
	if c := causes(report, "uneven"); report.Verdict.Trusted || len(c) != 1 || c[all[1].address].Number != 3 {
		t.Errorf("the verdict is %+v", report.Verdict)
	}
}

// replaced is the answer to a change on all replicas.
type replaced struct {
	Agreed   bool
	Code     string
	Replicas []struct {
		Address, Why string
		Applied      bool
	}
}

func TestFleet_AChangeIsForAllOrNone(t *testing.T) {
	t.Parallel()
	NeedsProcess(t) // one is killed
	ports := unusedAddresses(t, 3)
	first, second := start(t, ports, 0, fleetConfiguration), start(t, ports, 1, fleetConfiguration)
	change := func(m *member, status int, text string) (got replaced) {
		t.Helper()
		m.admin.Do("PUT", "/__admin/fleet/spec", text, "Content-Type: application/yaml").Into(t, status, &got)
		return got
	}
	one := "- endpoint: {path: /new, response: {body: one}}\n"
	// One replica does not answer: no replica is changed, and the silent one is named.
	if got := change(first, 409, one); got.Code != "replica_silent" || len(got.Replicas) != 1 || got.Replicas[0].Address != ports[2] {
		t.Errorf("got %+v", got)
	}
	first.Get("/new").Want(t, 404, first.Get("/new").Body)
	third := start(t, ports, 2, fleetConfiguration, "--no-latency")
	all := []*member{first, second, third}
	agreed(t, first)
	// Only one replica has the file: none is changed.
	harness.WriteFile(t, first.dir, "rows.json", `[{"id": 1}]`)
	got := change(second, 422, "- data: {name: rows, key: id, from: {path: rows.json}}\n- endpoint: {path: /new, response: {body: two}}\n")
	if got.Code != "invalid_configuration" || len(got.Replicas) != 2 || got.Agreed {
		t.Errorf("got %+v", got)
	}
	for _, m := range all {
		m.Get("/fast").Want(t, 200, "fast")
	}
	if got := change(second, 200, one); !got.Agreed || len(got.Replicas) != 3 {
		t.Errorf("got %+v", got)
	}
	for _, m := range all {
		m.Get("/new").Want(t, 200, "one")
	}
	agreed(t, third)
	// A replica that is restarted asks the other replicas before it is ready.
	third.Signal(syscall.SIGKILL)
	third.Exit()
	third = start(t, ports, 2, fleetConfiguration)
	ready(t, third)
	third.Get("/new").Want(t, 200, "one")
	agreed(t, first)
	// It serves its files again, which differ from what the other replicas serve.
	if got := third.admin.Do("POST", "/__admin/reload", ""); got.Status != 200 {
		t.Fatal(got)
	}
	var state struct {
		Agreed bool
		Why    []string
	}
	if first.admin.Get("/__admin/fleet").Into(t, 200, &state); state.Agreed || !strings.Contains(strings.Join(state.Why, ""), ports[2]) {
		t.Errorf("got %+v", state)
	}
}

func TestFleet_QuestionsGoToAll(t *testing.T) {
	t.Parallel()
	NeedsProcess(t) // one is killed
	all := threeOf(t)
	for i, m := range all {
		for range i + 1 {
			m.Get("/fast?n=" + fmt.Sprint(i))
			m.Get("/none")
		}
	}
	var journal struct {
		Found    int
		Requests []struct{ Replica, Target string }
	}
	all[1].admin.Get("/__admin/fleet/journal?path=/fast&limit=4").Into(t, 200, &journal)
	if journal.Found != 6 || len(journal.Requests) != 4 || journal.Requests[0].Replica != all[2].address || journal.Requests[0].Target != "/fast?n=2" {
		t.Errorf("the journal has %+v", journal)
	}
	all[1].admin.Get("/__admin/fleet/journal?endpoint=nothing").Refusal(t, 400, "bad_query")
	var unmatched struct {
		Unmatched []struct {
			Path  string
			Count int
		}
	}
	all[2].admin.Get("/__admin/fleet/unmatched").Into(t, 200, &unmatched)
	if len(unmatched.Unmatched) != 3 || unmatched.Unmatched[0].Count+unmatched.Unmatched[1].Count+unmatched.Unmatched[2].Count != 6 { // one for each of three hosts
		t.Errorf("the unmatched requests are %+v", unmatched)
	}
	verify := func(body string, status int) (v struct {
		OK    bool
		Count int
		Exact bool
		Why   string
	}) {
		t.Helper()
		all[0].admin.Do("POST", "/__admin/fleet/verify", body, "Content-Type: application/json").Into(t, status, &v)
		return v
	}
	const fast = `{"condition": "path = '/fast'", `
	for body, status := range map[string]int{
		fast + `"count": 6}`: 200, fast + `"count": 5}`: 422, fast + `"at-least": 6}`: 200, fast + `"at-least": 7}`: 422, fast + `"at-most": 6}`: 200, fast + `"at-most": 5}`: 422,
	} {
		if v := verify(body, status); v.Count != 6 || !v.Exact {
			t.Errorf("%s: %+v", body, v)
		}
	}
	all[0].admin.Do("POST", "/__admin/fleet/verify", `{"condition": "path ="}`, "Content-Type: application/json").Refusal(t, 400, "invalid_condition")
	// Without one replica, the number of requests is unknown.
	all[1].Signal(syscall.SIGKILL)
	all[1].Exit()
	for body, status := range map[string]int{
		fast + `"count": 4}`: 422, fast + `"at-most": 10}`: 422, fast + `"at-most": 10, "exact": false}`: 422, fast + `"at-least": 4}`: 200, fast + `"at-least": 5}`: 422,
	} {
		if v := verify(body, status); v.Count != 4 || v.Exact || !strings.Contains(v.Why, all[1].address) {
			t.Errorf("%s: %+v", body, v)
		}
	}
	var reset struct{ Silent []struct{ Address string } }
	all[0].admin.Do("DELETE", "/__admin/fleet/journal", "").Into(t, 200, &reset)
	if v := verify(`{"at-least": 0}`, 200); v.Count != 0 || len(reset.Silent) != 1 || reset.Silent[0].Address != all[1].address {
		t.Errorf("after a reset %+v, %+v", v, reset)
	}
}

func TestFleet_WithoutOneItIsSaid(t *testing.T) {
	t.Parallel()
	_, a := Administered(t, One("x"))
	for _, path := range []string{"/__admin/fleet", "/__admin/fleet/runs", "/__admin/fleet/journal", "/__admin/fleet/spec"} {
		a.Get(path).Refusal(t, 404, "no_fleet")
	}
	for args, want := range map[string]string{
		"--fleet nonsense":                       "127.0.0.1:8001-8008",
		"--fleet 10.0.0.1:8001,10.0.0.2:8001":    "--admin-token",
		"--fleet 127.0.0.1:1-2 --fleet-expect 0": "--fleet-expect",
	} {
		code, _, stderr := Refused(t, nil, append(strings.Fields(args), "--admin", "127.0.0.1:0", "-c", harness.WriteFile(t, t.TempDir(), "m.yml", One("x")))...)
		if code != 2 || !strings.Contains(stderr, want) || !strings.Contains(stderr, "fleet") {
			t.Errorf("%s: %d %s", args, code, stderr)
		}
	}
}

// awaitingGo is a command for sh that announces itself, and ends with a code once the file go appears
// in its directory.
func awaitingGo(code int) []string {
	return []string{"sh", "-c", fmt.Sprintf("echo to standard output; echo begun >&2; until test -e go; do read -t 1 x 2>/dev/null || sleep 0.05; done; exit %d", code)}
}

// runAround starts mockserver run in a directory.
func runAround(t *testing.T, dir string, args []string, command ...string) *Process {
	t.Helper()
	p := LaunchIn(t, dir, nil, slices.Concat([]string{"run", "--report", "report"}, args, []string{"--"}, command)...)
	p.WaitLine(0, "begun")
	return p
}

// reported reads the report that mockserver run wrote.
func reported(t *testing.T, dir string) *runs.Report {
	t.Helper()
	all := reportsIn(t, filepath.Join(dir, "report"))
	if len(all) != 1 {
		t.Fatalf("got %d reports", len(all))
	}
	for _, report := range all {
		return report
	}
	return nil
}

// reportsIn reads the reports that mockserver run wrote into a directory, keyed by the path of each.
func reportsIn(t *testing.T, dir string) map[string]*runs.Report {
	t.Helper()
	all := map[string]*runs.Report{}
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		var report runs.Report
		text, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(text, &report)
		}
		page, missing := os.ReadFile(strings.TrimSuffix(path, ".json") + ".html")
		if err != nil || missing != nil || !bytes.Contains(page, []byte("</html>")) {
			t.Fatal(err, missing)
		}
		all[path] = &report
	}
	return all
}

func TestFleetRun_ReportsAndPassesTheCommandThrough(t *testing.T) {
	t.Parallel()
	all := threeOf(t)
	code, _, stderr := Refused(t, nil, "run", "--admin", all[1].address, "--rate", "25", "--", "true")
	if want := "a rate of 25 requests a second is 8.33 for each of 3 replicas; expected at least 10 for each"; code != 1 || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, %q; want 1, and %q", code, stderr, want)
	}
	for _, code := range []int{0, 7} {
		dir := t.TempDir()
		p := runAround(t, dir, []string{"--name", "by hand", "--admin", all[1].address}, awaitingGo(code)...)
		p.WaitLine(0, "to standard output")
		counted := loadAll(t, all, 5)
		harness.WriteFile(t, dir, "go", "")
		if got := p.Exit(); got != code {
			t.Errorf("got exit code %d, want %d: %q", got, code, p.Output())
		}
		if got := p.Stdout.String(); got != "to standard output\n" {
			t.Errorf("standard output is %q", got)
		}
		report := reported(t, dir)
		agreeWith(t, report, counted)
		if !report.Verdict.Trusted || report.Name != "by hand" {
			t.Errorf("got %+v", report.Verdict)
		}
	}
}

// The command survives the death of the replica whose address it was given, and from which it
// learned about the other replicas.
func TestFleetRun_SurvivesAnyReplica(t *testing.T) {
	t.Parallel()
	NeedsProcess(t) // one is killed
	all := threeOf(t)
	dir := t.TempDir()
	p := runAround(t, dir, []string{"--admin", all[0].address}, awaitingGo(0)...)
	counted := loadAll(t, all[1:], 5)
	all[0].Signal(syscall.SIGKILL)
	all[0].Exit()
	harness.WriteFile(t, dir, "go", "")
	if got := p.Exit(); got != 3 {
		t.Errorf("got exit code %d, want 3: %q", got, p.Output())
	}
	report := reported(t, dir)
	agreeWith(t, report, counted)
	if lost := causes(report, "replica-lost"); len(lost) != 1 || lost[all[0].address].Text == "" {
		t.Errorf("got %+v", report.Verdict)
	}
}

func TestFleetRun_RefusesAndWaits(t *testing.T) {
	t.Parallel()
	NeedsProcess(t) // a report is written into the working directory
	ports := unusedAddresses(t, 2)
	first := start(t, ports, 0, fleetConfiguration)
	code, stdout, stderr := Refused(t, nil, "run", "--admin", first.address, "--wait", "0s", "--", "echo", "never")
	if code != 1 || stdout != "" || !strings.Contains(stderr, ports[1]+" does not answer") {
		t.Errorf("got %d, %q, %q", code, stdout, stderr)
	}
	p := Launch(t, nil, "run", "--admin", first.address, "--wait", "1m", "--", "sh", "-c", "exit 9")
	start(t, ports, 1, fleetConfiguration)
	if got := p.Exit(); got != 9 {
		t.Errorf("got exit code %d, want 9: %q", got, p.Output())
	}
	for _, args := range [][]string{
		{}, {"k6"}, {"--admin", "x", "--", "true"}, {"--name", "", "--", "true"}, {"--admin", "10.0.0.1:1", "--", "true"},
	} {
		if code, _, stderr := Refused(t, nil, append([]string{"run"}, args...)...); code != 2 || stderr == "" {
			t.Errorf("%v: %d %s", args, code, stderr)
		}
	}
}

// Two processes that share one port are a fleet: requests that either of them answers are in the
// report.
func TestFleet_ProcessesShareAPort(t *testing.T) {
	t.Parallel()
	NeedsProcess(t) // a port is shared by processes
	ports, shared := unusedAddresses(t, 2), unusedAddresses(t, 1)[0]
	_, port, _ := strings.Cut(shared, ":")
	code, _, stderr := Refused(t, nil, "-c", harness.WriteFile(t, t.TempDir(), "m.yml", fleetConfiguration), "--reuse-port=maybe")
	if code != 2 || !strings.Contains(stderr, "--reuse-port") {
		t.Errorf("got %d %s", code, stderr)
	}
	if runtime.GOOS != "linux" {
		t.Skip("the system does not share ports")
	}
	thresholds := strings.Replace(calm, "echo-p99=off,", "", 1)
	first := start(t, ports, 0, fleetConfiguration, "--port", port, "--reuse-port", "--verdict", thresholds)
	second := start(t, ports, 1, fleetConfiguration, "--port", port, "--reuse-port", "--verdict", thresholds)
	if first.URL != second.URL {
		t.Fatalf("they listen at %s and %s", first.URL, second.URL)
	}
	agreed(t, first)
	id := begin(t, first, "")
	counted := clientCounts{}
	var list struct{ Runs []runs.RunEntry }
	harness.Until(t, "both have had requests", func() bool {
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get(first.URL + "/fast")
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		counted.add("/fast", resp.StatusCode)
		for _, m := range []*member{first, second} {
			m.admin.Get("/__admin/runs").Into(t, 200, &list)
			if list.Runs[0].Requests == 0 {
				return false
			}
		}
		return true
	})
	report := stop(t, second, id)
	agreeWith(t, report, counted)
	if unknown := report.Verdict.Unknown; !slices.Contains(unknown, "echo-p99") {
		t.Errorf("the unknown reasons are %v, want echo-p99 among them: another process may accept the connection", unknown)
	}
	// A process that does not ask to share the port cannot listen on it.
	if code, _, stderr := Refused(t, nil, "-c", harness.WriteFile(t, t.TempDir(), "m.yml", fleetConfiguration), "--port", port); code != 1 || !strings.Contains(stderr, "in use") {
		t.Errorf("got %d %s", code, stderr)
	}
}

// Replicas whose admin addresses use TLS find each other, and trust no other certificates.
func TestFleet_AsksOverTLS(t *testing.T) {
	t.Parallel()
	dir, ports := t.TempDir(), unusedAddresses(t, 2)
	file := harness.WriteFile(t, dir, "mock.yml", fleetConfiguration)
	for _, address := range ports { // in turn, so that both have the CA that the first one makes
		LaunchIn(t, dir, nil, "-c", file, "--admin", address, "--fleet", strings.Join(ports, ","), "--admin-tls", "auto", "--tls-dir", "ca", "--verdict", calm).Listening()
	}
	reports := t.TempDir()
	ask := func(args ...string) (int, string) {
		code, _, stderr := Refused(t, nil, slices.Concat([]string{"run", "--admin", ports[0], "--wait", "0s", "--report", filepath.Join(reports, "report")}, args, []string{"--", "true"})...)
		return code, stderr
	}
	ca := filepath.Join(dir, "ca", "ca.pem")
	harness.Until(t, "the replicas agree", func() bool {
		code, _ := ask("--ca", ca)
		return code == 0
	})
	if r := reported(t, reports); len(r.Replicas) != 2 {
		t.Errorf("got %d replicas", len(r.Replicas))
	}
	other := newCA(t, "other").File(dir, "other")
	if code, said := ask("--ca", other); code != 1 || !strings.Contains(said, "certificate") {
		t.Errorf("with another CA: %d %s", code, said)
	}
	if code, said := ask(); code != 1 {
		t.Errorf("without TLS: %d %s", code, said)
	}
	if code, said := ask("--ca", file); code != 2 || !strings.Contains(said, "it contains no certificate") {
		t.Errorf("with a file that is not a CA: %d %s", code, said)
	}
}

// The report of a run of all replicas is final once the webhooks of its requests have ended on each of
// them; webhooks of later requests do not count.
func TestFleet_TheReportIsFinalOnceItsWebhooksHaveEnded(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	target := NewHookTarget(t, func(_ int, _ http.ResponseWriter, _ *http.Request) { <-release })
	configuration := fmt.Sprintf("- endpoint: {method: POST, path: /a, response: {}, webhook: {method: POST, sleep-time: 0, url: %q}}\n", target.URL)
	addresses := unusedAddresses(t, 2)
	all := []*member{start(t, addresses, 0, configuration), start(t, addresses, 1, configuration)}
	agreed(t, all[0])
	id := begin(t, all[0], `{"settle": "1h"}`)
	for _, m := range all {
		m.Do("POST", "/a", "")
	}
	report := stop(t, all[0], id)
	all[0].Do("POST", "/a", "")
	if report.Final || report.Total.WebhooksStarted != 2 || report.Total.WebhooksPending != 2 {
		t.Errorf("at the end: final %v, %d started, %d pending", report.Final, report.Total.WebhooksStarted, report.Total.WebhooksPending)
	}
	close(release)
	harness.Until(t, "the report is final", func() bool {
		*report = runs.Report{}
		all[1].admin.Get("/__admin/fleet/runs/"+id).Into(t, 200, report)
		return report.Final
	})
	if report.Total.WebhooksSent != 2 || report.Total.WebhooksPending != 0 || report.Total.WebhookLag.Count != 2 {
		t.Errorf("%d sent, %d pending, %d timed; want 2, 0 and 2", report.Total.WebhooksSent, report.Total.WebhooksPending, report.Total.WebhookLag.Count)
	}
}
