//go:build linux && measure

package calibration

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// parts returns conditions under which several parts of requests are late, or parts that few servers
// have.
func parts(t *testing.T) []condition {
	const ms = time.Millisecond
	late := "- endpoint: {path: /a, response: {body: hello}, latency: {min: 20ms, max: 20ms}}\n"
	declared := []request{{bytes: get("/a"), declared: 20 * ms}}
	messages := plan{rate: 500, requests: []request{{}}, speech: overWebSocket, connections: 50}
	streams := plan{rate: 500, requests: []request{{}}, speech: overHTTP2, connections: 10}
	few := descriptors()
	few.sized = false // of all requests to the endpoint, not of those that open connections
	few.name, few.plan = few.name+", 5 % of requests open connections", plan{rate: 300, requests: []request{{bytes: get("/a")}, {bytes: get("/a"), fresh: true, often: 20}}}
	return []condition{
		few,
		{name: "calm, 500 messages/s on 50 WebSockets", mock: talking, plan: messages, sized: true},
		{name: "calm, 500/s over HTTP/2", mock: fixed, plan: streams, sized: true},
		{name: "WebSockets alone, stopped 50 ms each second", mock: talking, plan: messages, induce: stopped(50 * ms), sized: true},
		{name: "HTTP/2, stopped 50 ms each second", mock: fixed, plan: streams, induce: stopped(50 * ms), sized: true},
		{name: "1,500/s with 20 ms, stopped 9 ms each second", mock: late, plan: plan{rate: 1500, requests: declared}, induce: stopped(9 * ms), sized: true},
		{name: "300/s with 20 ms, stopped 20 ms each second", mock: late, plan: plan{rate: 300, requests: declared}, induce: stopped(20 * ms), sized: true},
		fewPlaces(t), storm(), handshaking(), stalledGenerator(),
	}
}

// fewPlaces makes an upstream so slow that its connections do not suffice.
func fewPlaces(t *testing.T) condition {
	const normally, slowly = 20 * time.Millisecond, 100 * time.Millisecond
	var slow atomic.Bool
	to := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if slow.Load() {
			rest(slowly)
			return
		}
		rest(normally)
	}))
	t.Cleanup(to.Close)
	return condition{name: "an upstream with 4 connections that is too slow", names: "upstream-wait", sized: true,
		mock: "- upstream: {name: real, url: \"" + to.URL + "\", connections: 4}\n- endpoint: {path: /a, response: {proxy: real}}\n",
		plan: plan{rate: 60, requests: []request{{bytes: get("/a"), declared: slowly + normally}}}, // it shares its CPU with the client,
		induce: func(_ *testing.T, _ *server, end <-chan struct{}) {
			slow.Store(true)
			<-end
			slow.Store(false)
		}}
}

// storm makes the collector work hard: rows are added to a set that nearly fills the memory limit.
func storm() condition {
	var rows strings.Builder
	rows.WriteString("id,name\n")
	for i := range 100_000 {
		fmt.Fprintf(&rows, "%d,name of row %d\n", i, i)
	}
	return condition{name: "GOMEMLIMIT=40MiB, 100,000 rows, a storm of POSTs", plan: steady(1900), wrap: []string{"env", "GOMEMLIMIT=40MiB"},
		mock:  fixed + "- resource: {path: /rows, new-key: int, data: {from: {path: rows.csv}}}\n",
		files: map[string]string{"rows.csv": rows.String()},
		induce: func(t *testing.T, s *server, end <-chan struct{}) {
			beside(t, end, "CLIENTS=64", "ASKING="+s.addr.String(), "QUESTION="+string(post("/rows", `{"name": "another row with a name"}`)))
		}}
}

// handshaking makes 400 full TLS handshakes a second.
func handshaking() condition {
	return condition{name: "400 handshakes/s", mock: fixed, plan: steady(600), args: []string{"--tls", "auto"}, sized: true,
		induce: func(t *testing.T, s *server, end <-chan struct{}) {
			beside(t, end, "SHAKING="+s.addr.String())
		}}
}

// stalledGenerator stops this process, which sends the requests, for 60 ms each second.
func stalledGenerator() condition {
	return condition{name: "the load generator stopped 60 ms each second", mock: fixed, plan: steady(500), explains: "generator", sized: true,
		induce: func(t *testing.T, _ *server, end <-chan struct{}) {
			over := filepath.Join(t.TempDir(), "over") // the stopper must not end while this process is stopped
			stopper := exec.Command("sh", "-c", `while [ ! -e "$1" ]; do sleep 0.94; kill -STOP $PPID; sleep 0.06; kill -CONT $PPID; done`, "sh", over)
			if err := stopper.Start(); err != nil {
				t.Error(err)
				return
			}
			<-end
			if err := os.WriteFile(over, nil, 0o600); err != nil {
				t.Error(err)
			}
			_ = stopper.Wait()
		}}
}

// beside runs this program next to the server, with a setting that says what to do, until the channel
// is closed.
func beside(t *testing.T, end <-chan struct{}, settings ...string) {
	load := exec.Command("taskset", "-c", "0", os.Args[0])
	load.Env = settings
	load.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := load.Start(); err != nil {
		t.Error(err)
		return
	}
	<-end
	_ = load.Process.Kill()
	_ = load.Wait()
}

// shake makes a full TLS handshake every 2.5 ms, forever.
func shake(addr string) {
	for range time.Tick(2500 * time.Microsecond) {
		conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
		if err == nil {
			_ = conn.Close()
		}
	}
}

// rundown says how a run went, as its report does.
type rundown struct {
	Verdict struct {
		Trusted      bool
		Decisive     []string
		Size         string
		Added        *struct{ Value, High *float64 }
		Explanations []struct{ Code string }
	}
}

// checkRun checks the verdict on the whole run against what the client measured in it.
func (c *condition) checkRun(r *rundown, all time.Duration) (wrong string) {
	v := &r.Verdict
	switch {
	case c.webhooks != nil:
	case all > felt && v.Trusted:
		return fmt.Sprintf("the run is falsely trusted, with a p99 of %v", all)
	case all < unfelt && !v.Trusted && !c.always:
		return fmt.Sprintf("the run is not trusted (%s), with a p99 of %v", strings.Join(v.Decisive, " "), all)
	case c.explains != "" && !slices.Contains(v.Explanations, struct{ Code string }{c.explains}):
		return fmt.Sprintf("explained by %v; expected %s", v.Explanations, c.explains)
	}
	if !c.sized || v.Added == nil {
		return ""
	}
	// The client's own way to the network is not the server's.
	if v.Added.High != nil && *v.Added.High < float64(all-500*time.Microsecond)/float64(time.Millisecond) {
		return fmt.Sprintf("the size is no bound: the run has a p99 of %v; %s", all, v.Size)
	}
	return ""
}
