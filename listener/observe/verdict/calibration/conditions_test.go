//go:build linux && measure

package calibration

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The phases of a condition. Before and after the condition nothing is wrong.
const (
	calmFor    = 4 * time.Second
	inducedFor = 9 * time.Second
	afterFor   = 14 * time.Second
)

// The requirements on the verdict. Between unfelt and felt, either verdict is right.
const (
	felt        = 2 * time.Millisecond  // if a client's p99 is above this, the timing must not be trusted
	unfelt      = time.Millisecond      // if the p99 is below this, the timing must be trusted
	webhookFelt = 50 * time.Millisecond // the target shares its CPU with the client
	foundIn     = 3 * time.Second
	recoveredIn = 12 * time.Second
	tries       = 3 // attempts for a condition on a machine that is not quiet
)

// condition is something that is done to a server under load.
type condition struct {
	name  string
	mock  string // configuration of the server
	files map[string]string
	plan  plan
	wrap  []string
	args  []string
	logTo func(t *testing.T) *os.File
	// induce induces the condition until the channel is closed; if it is nil, nothing disturbs the
	// server.
	induce func(t *testing.T, s *server, end <-chan struct{})
	// prepare is called before the server starts, and the function that it returns is called after
	// the server has started. The field may be nil.
	prepare func(t *testing.T) (undo func())
	// always is set if the condition exists for as long as the server runs.
	always bool
	// sized is set if the size in the report must bound what the client measured: nothing waits before
	// the server reads it, except while the process does not run.
	sized bool
	// names is the code of the reason that the verdict must name; "" for any reason.
	names string
	// explains is the code of an explanation that the report must have; "" for any.
	explains string
	// webhooks returns how late webhooks were at their target; nil if there are none.
	webhooks func() []time.Duration
}

// result contains the measurements under a condition.
type result struct {
	before, during, after time.Duration // the client's p99 in excess of what is declared
	run                   time.Duration // the same in the whole run
	codes, size           string
	found, recovered      time.Duration // since the condition began or ended; negative if never
	wrong                 string
	failed                int
}

// run puts a server under load, and induces the condition in between.
func (c *condition) run(t *testing.T) result {
	undo := func() {}
	if c.prepare != nil {
		undo = c.prepare(t)
	}
	s := begin(t, c.mock, c.files, c.wrap, c.log(t), c.args...)
	undo()
	load, err := newClient(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { s.watch(over) })
	s.beginRun()
	begun := time.Now()
	driven, ended := make(chan struct{}), make(chan struct{})
	defer close(ended)
	go func() {
		load.drive(&c.plan, calmFor+inducedFor+afterFor, 5*time.Second)
		close(driven)
		<-ended // the server may have been started by this thread, and ends with it
	}()
	from, to := begun.Add(calmFor), begun.Add(calmFor+inducedFor)
	rest(time.Until(from))
	if c.induce != nil {
		end := make(chan struct{})
		induced := make(chan struct{})
		go func() { c.induce(t, s, end); close(induced) }()
		rest(time.Until(to))
		close(end)
		<-induced
		to = time.Now()
	}
	<-driven
	close(over)
	watching.Wait()
	report := s.stopRun()
	s.end()
	r := c.judge(s, load, from, to)
	r.run, r.size = p99(load.between(begun, time.Now())), report.Verdict.Size
	if r.wrong == "" {
		r.wrong = c.checkRun(&report, r.run)
	}
	return r
}

func (c *condition) log(t *testing.T) *os.File {
	if c.logTo != nil {
		return c.logTo(t)
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = null.Close() })
	return null
}

// judge checks the verdicts against what the client measured.
func (c *condition) judge(s *server, load *client, from, to time.Time) result {
	begun := from.Add(-calmFor)
	r := result{
		before: p99(load.between(begun.Add(time.Second), from)), during: p99(load.between(from, to)), after: p99(load.between(to, to.Add(afterFor))),
		codes: s.codes(from, to.Add(2*time.Second)), found: -1, recovered: -1, failed: load.failed,
	}
	isFelt := r.during > felt
	if c.webhooks != nil {
		r.during = p99Of(c.webhooks())
		isFelt = r.during > webhookFelt
	}
	for _, j := range s.verdicts {
		since := j.at.Sub(from)
		if j.trusted {
			// The verdict is up to a second old, and requesting it took up to a quarter of a
			// second.
			if r.wrong == "" && since > foundIn && j.at.Before(to) && surely(load.between(j.at.Add(-foundIn-1250*time.Millisecond), j.at.Add(-1250*time.Millisecond)), felt) {
				r.wrong = fmt.Sprintf("falsely trusted %v after the condition began", since.Round(time.Second/10))
			}
			continue
		}
		if r.found < 0 && since >= 0 && j.at.Before(to.Add(time.Second)) {
			r.found = since
		}
		if since >= 0 {
			r.recovered = max(j.at.Sub(to), 0)
		}
		induced := isFelt && since >= 0 && j.at.Before(to.Add(recoveredIn))
		if r.wrong == "" && !induced && !c.always && !load.felt(j.at.Add(-recoveredIn-time.Second), j.at) {
			r.wrong = fmt.Sprintf("not trusted %v after the condition began: %v", since.Round(time.Second/10), j.text)
		}
	}
	switch {
	case isFelt && r.found < 0:
		r.wrong = "falsely trusted"
	case isFelt && r.found > foundIn+500*time.Millisecond: // allows for the sampler's second and one request for the verdict
		r.wrong = "found late"
	case c.names != "" && !slices.Contains(strings.Fields(r.codes), c.names):
		r.wrong = "no " + c.names
	}
	return r
}

// felt reports whether the client's p99 was above unfelt in any three seconds between two times.
func (c *client) felt(from, to time.Time) bool {
	const length = 3 * time.Second
	for at := from; at.Before(to); at = at.Add(length / 6) {
		if p99(c.between(at, at.Add(length))) > unfelt {
			return true
		}
	}
	return false
}

// noisy reports whether the machine was not quiet when nothing was induced.
func (c *condition) noisy(r result) bool {
	return !c.always && (r.before > unfelt || r.after > unfelt) || c.induce == nil && r.during > unfelt
}

const fixed = `- endpoint: {path: /a, response: {body: hello}}
`

func steady(rate float64) plan { return plan{rate: rate, requests: []request{{bytes: get("/a")}}} }

// pinned runs the server only on the first CPU.
var pinned = []string{"taskset", "-c", "0"}

func stopped(length time.Duration) func(*testing.T, *server, <-chan struct{}) {
	return func(_ *testing.T, s *server, end <-chan struct{}) { s.stops(time.Second, length)(end) }
}

func hogged(n int, cpus string, while, period time.Duration) func(*testing.T, *server, <-chan struct{}) {
	return func(t *testing.T, _ *server, end <-chan struct{}) { hogs(t, n, cpus, while, period)(end) }
}

// conditions returns all conditions, the calm ones first.
func conditions(t *testing.T) []condition {
	body := strings.Repeat("x", 1<<20)
	big := post("/a", body)
	late := "- endpoint: {path: /a, response: {body: hello}, latency: {min: 20ms, max: 20ms}}\n"
	const ms = time.Millisecond
	all := []condition{
		{name: "calm, 300/s", mock: fixed, plan: steady(300)},
		{name: "calm, 2,000/s", mock: fixed, plan: steady(2000)},
		{name: "calm, 5,000/s with 20 ms", mock: late, plan: plan{rate: 5000, requests: []request{{bytes: get("/a"), declared: 20 * ms}}}},
		// Sending a megabyte takes a millisecond.
		{name: "calm, 1 MB POSTs, 20/s", mock: "- endpoint: {path: /a, method: POST, response: {body: hello}}\n", plan: plan{rate: 20, requests: []request{{bytes: big, declared: ms}}}},
		{name: "calm, 20/s", mock: fixed, plan: steady(20)},
	}
	for _, length := range []time.Duration{20, 50, 90, 140, 800} {
		all = append(all, condition{name: fmt.Sprintf("stopped %d ms each second", length), mock: fixed, plan: steady(300), induce: stopped(length * ms)})
	}
	all = append(all,
		condition{name: "stopped 20 ms each second, 50 ms declared", mock: "- endpoint: {path: /a, response: {body: hello}, latency: {min: 50ms, max: 50ms}}\n",
			plan: plan{rate: 300, requests: []request{{bytes: get("/a"), declared: 50 * ms}}}, induce: stopped(20 * ms)},
		condition{name: "3 hogs on its CPU", mock: fixed, plan: steady(1000), wrap: pinned, induce: hogged(3, "0", 0, 0)},
		condition{name: "3 hogs on its CPU, 10 ms of 200", mock: fixed, plan: steady(1000), wrap: pinned, induce: hogged(3, "0", 10*ms, 200*ms)},
		condition{name: "6 hogs on any CPU", mock: fixed, plan: steady(1000), induce: hogged(6, cpusOfServer(), 0, 0)},
		condition{name: "nice 19 beside a hog", mock: fixed, plan: steady(1000), wrap: append([]string{"nice", "-n", "19"}, pinned...), induce: hogged(1, "0", 0, 0)},
		quota(), overload(), overflow(), descriptors(), slowBody(t), slowEndpoint(), slowLog(),
	)
	all = append(all, parts(t)...)
	return append(all, hangingTarget(t, "webhooks to a target that hangs", time.Hour), hangingTarget(t, "webhooks to a target that takes 300 ms", 300*ms))
}

// quota limits the server to a part of a CPU that is less than it needs.
func quota() condition {
	return condition{
		name: "a quota of 6 % of a CPU", mock: fixed, plan: steady(3000),
		induce: func(t *testing.T, s *server, end <-chan struct{}) {
			group, quota, none := "/sys/fs/cgroup/calibration", "cpu.max", "max 100000"
			share := "6000 100000"
			if _, err := os.Stat("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"); err == nil { // version 1
				group, quota, share, none = "/sys/fs/cgroup/cpu/calibration", "cpu.cfs_quota_us", "6000", "-1"
			}
			write := func(name, text string) {
				if err := os.WriteFile(group+"/"+name, []byte(text), 0o644); err != nil {
					t.Error("no control group can be configured: ", err)
				}
			}
			if err := os.MkdirAll(group, 0o755); err != nil {
				t.Error("no control group can be created: ", err)
			}
			write(quota, share)
			write("cgroup.procs", fmt.Sprint(s.cmd.Process.Pid))
			<-end
			write(quota, none)
		},
	}
}

// heavy is a configuration in which a request to /heavy takes some milliseconds of CPU time.
var heavy = fixed + `- endpoint: {path: /heavy, method: POST, response: {body: "{% for a in json-params.n %}{% for b in json-params.n %}{{a}}{% endfor %}{% endfor %}"}}
`

func post(path, body string) []byte {
	return []byte(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body))
}

// heavyRequest is a request to /heavy.
var heavyRequest = post("/heavy", `{"n": [`+strings.Repeat("1,", 300)+`1]}`)

// overload requests more than the CPU can serve: this program runs next to the server, as so many
// clients, which send the next request immediately after each reply, that each round takes longer
// than felt.
func overload() condition {
	return condition{name: "more requests than the CPU can serve", mock: fixed, plan: steady(1000), wrap: pinned,
		induce: func(t *testing.T, s *server, end <-chan struct{}) {
			beside(t, end, "CLIENTS=256", "ASKING="+s.addr.String(), "QUESTION="+string(get("/a")))
		}}
}

// ask sends one request after another, forever, on each of the given number of connections.
func ask(addr string, connections int, question []byte) {
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				return
			}
			defer conn.Close()
			answer := make([]byte, 4096)
			for err == nil {
				if _, err = conn.Write(question); err == nil {
					_, err = conn.Read(answer)
				}
			}
		})
	}
	all.Wait()
}

// overflow opens more connections than fit into the backlog.
func overflow() condition {
	return condition{name: "more connections than the backlog holds", mock: fixed, plan: plan{rate: 300, requests: []request{{bytes: get("/a"), fresh: true}}}, names: "backlog",
		prepare: func(t *testing.T) func() {
			const file = "/proc/sys/net/core/somaxconn"
			before, err := os.ReadFile(file)
			if err == nil {
				err = os.WriteFile(file, []byte("16"), 0)
			}
			if err != nil {
				t.Fatal("the backlog cannot be reduced: ", err)
			}
			return func() { _ = os.WriteFile(file, before, 0) }
		},
		induce: func(_ *testing.T, s *server, end <-chan struct{}) {
			s.stops(2*time.Second, 150*time.Millisecond)(end)
		}}
}

// descriptors makes idle connections use up all descriptors.
func descriptors() condition {
	return condition{name: "idle connections take all descriptors", mock: fixed, plan: plan{rate: 50, requests: []request{{bytes: get("/a"), fresh: true}}}, wrap: []string{"prlimit", "--nofile=80:80"}, sized: true,
		induce: func(_ *testing.T, s *server, end <-chan struct{}) { idle(s, 200, end) }}
}

// slowBody makes one request in 140 wait for a remote body.
func slowBody(t *testing.T) condition {
	var slow atomic.Bool
	from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if slow.Load() {
			rest(300 * time.Millisecond)
		}
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(from.Close)
	return condition{name: "0.7 % of requests wait 300 ms for a body from a URL", mock: fixed + `- endpoint: {path: /slow, response: {external-body: {provider: json, path: "` + from.URL + `", ttl: 0}}}` + "\n",
		plan: plan{rate: 1000, requests: []request{{bytes: get("/a")}, {bytes: get("/slow"), often: 140}}},
		induce: func(_ *testing.T, _ *server, end <-chan struct{}) {
			slow.Store(true)
			<-end
			slow.Store(false)
		}}
}

// slowEndpoint makes the server take several milliseconds for two requests in a hundred.
func slowEndpoint() condition {
	return condition{name: "2 % of requests take 10 ms to render", mock: heavy, always: true,
		plan: plan{rate: 200, requests: []request{{bytes: get("/a")}, {bytes: heavyRequest, often: 50}}}}
}

// slowLog makes the reader of the log read slowly.
func slowLog() condition {
	var slow atomic.Bool
	return condition{name: "a log that nobody reads fast enough", mock: fixed, plan: steady(1000), args: []string{"--access-log"},
		logTo: func(t *testing.T) *os.File {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = r.Close(); _ = w.Close() })
			go func() {
				room := make([]byte, 64<<10)
				for {
					if slow.Load() {
						rest(500 * time.Millisecond)
					}
					if _, err := r.Read(room); err != nil {
						return
					}
				}
			}()
			return w
		},
		induce: func(_ *testing.T, _ *server, end <-chan struct{}) {
			slow.Store(true)
			<-end
			slow.Store(false)
		}}
}

// hangingTarget makes a target respond slowly to webhooks that are due immediately.
func hangingTarget(t *testing.T, name string, length time.Duration) condition {
	var slow atomic.Bool
	var from, to atomic.Int64 // webhooks due in this period are measured, however late they arrive
	var mu sync.Mutex
	var late []time.Duration
	over := make(chan struct{})
	target := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var due int64
		_, _ = fmt.Sscan(r.Header.Get("X-Due"), &due)
		if due >= from.Load() && from.Load() > 0 && (to.Load() == 0 || due < to.Load()) {
			mu.Lock()
			late = append(late, time.Since(time.UnixMilli(due)))
			mu.Unlock()
		}
		if slow.Load() {
			select {
			case <-time.After(length):
			case <-over:
			}
		}
	}))
	t.Cleanup(func() { close(over); target.Close() })
	return condition{name: name, mock: `- endpoint: {path: /a, response: {body: hello}, webhook: {url: "` + target.URL + `", sleep-time: 0, timeout: 10s, headers: {X-Due: "{{now|date:'unix-ms'}}"}}}` + "\n",
		plan: steady(1000),
		induce: func(_ *testing.T, _ *server, end <-chan struct{}) {
			from.Store(time.Now().UnixMilli())
			slow.Store(true)
			<-end
			slow.Store(false)
			to.Store(time.Now().UnixMilli())
		},
		webhooks: func() []time.Duration {
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(late)
			return late
		}}
}

// idle opens connections that send no requests, and keeps them open until the channel is closed.
func idle(s *server, n int, end <-chan struct{}) {
	var all []net.Conn
	for range n {
		if conn, err := net.DialTimeout("tcp", s.addr.String(), time.Second); err == nil {
			all = append(all, conn)
		}
	}
	<-end
	for _, conn := range all {
		_ = conn.Close()
	}
}

// TestConditions runs the program under each condition, and prints the results.
func TestConditions(t *testing.T) {
	fmt.Printf("%-52s %10s %10s %10s %7s %9s  %s\n", "condition", "p99 before", "during", "after", "found", "recovered", "reasons")
	for _, c := range conditions(t) {
		t.Run(c.name, func(t *testing.T) {
			var r result
			for try := 1; ; try++ {
				if r = c.run(t); r.wrong == "" || try == tries || !c.noisy(r) {
					break
				}
			}
			fmt.Printf("%-52s %10s %10s %10s %7s %9s  %s\n", c.name, r.before.Round(10*time.Microsecond), r.during.Round(10*time.Microsecond), r.after.Round(10*time.Microsecond),
				seconds(r.found), seconds(r.recovered), strings.TrimSpace(r.codes+"  "+strings.ToUpper(r.wrong)))
			fmt.Printf("%-52s %10s %10s  %s\n", "  its run", "", r.run.Round(10*time.Microsecond), r.size)
			if r.wrong != "" {
				t.Error(r.wrong)
			}
		})
	}
}

// seconds formats a duration; "-" if it is negative.
func seconds(d time.Duration) string {
	if d < 0 {
		return "-"
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}
