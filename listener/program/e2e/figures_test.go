//go:build linux && measure

// What proxying, recording and importing cost, compared with the requirements: make figures.

package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	generator "mockserver/bench/load"
	"mockserver/internal/harness"
	"mockserver/internal/recording"
)

// The requirements.
const (
	mostOfNginx      = 1.5  // CPU time of a proxied request, relative to nginx
	mostRecording    = 1.15 // CPU time of a recorded request, relative to an unrecorded one
	recordedRate     = 20_000
	mostUnderWay     = 20 << 10 // bytes of memory for a request in progress
	mostWhileRecords = 80 << 20
	exchanges        = 1_000_000
	mostImport       = time.Minute
	mostImportMemory = 2 << 30
	manyMappings     = 20_000
	mostMappings     = 5 * time.Second
	mostMappingsMem  = 500 << 20
)

// most logs a figure, and fails the test if the figure is above a bound.
func most[N int | int64 | float64 | time.Duration](t *testing.T, what string, got, bound N) {
	t.Helper()
	t.Logf("%s: %v, at most %v", what, got, bound)
	if got > bound {
		t.Errorf("%s is %v, expected at most %v", what, got, bound)
	}
}

// origin starts the server that requests are passed on to. It answers / with 1 KiB, and /slow after
// 5 s.
func figureOrigin(t *testing.T) *Process {
	return Serving(t, "- endpoint: {path: /, response: {body: \""+strings.Repeat("x", 1<<10)+"\"}}\n"+
		"- endpoint: {path: /slow, latency: {min: 5s}, response: {body: \"slow\"}}\n", "--access-log=false")
}

func address(p *Process) string { return strings.TrimPrefix(p.URL, "http://") }

// front starts the program as a proxy.
func front(t *testing.T, to *Process, record string) *Process {
	return Serving(t, fmt.Sprintf("- upstream: {name: real, url: %q, connections: 4096%s}\n- endpoint: {method: any, path: \"/*rest\", response: {proxy: real}}\n", to.URL, record), "--access-log=false")
}

// nginx starts nginx as a proxy, in one process.
func nginx(t *testing.T, to *Process) (addr string, pid int) {
	program, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	_ = l.Close() // frees the port for nginx
	dir := t.TempDir()
	conf := harness.WriteFile(t, dir, "nginx.conf", fmt.Sprintf(`daemon off; master_process off; pid %[1]s/pid; error_log %[1]s/error.log; worker_processes 1;
events { worker_connections 1024; }
http {
  access_log off; client_body_temp_path %[1]s/a; proxy_temp_path %[1]s/b; fastcgi_temp_path %[1]s/c; uwsgi_temp_path %[1]s/d; scgi_temp_path %[1]s/e;
  keepalive_requests 100000000;
  upstream real { server %[3]s; keepalive 64; keepalive_requests 100000000; }
  server { listen %[2]s; location / { proxy_pass http://real; proxy_http_version 1.1; proxy_set_header Connection ""; } }
}
`, dir, addr, address(to)))
	cmd := exec.Command(program, "-c", conf, "-p", dir)
	LaunchCommand(t, cmd, dir, nil)
	harness.Until(t, "nginx answers", func() bool {
		resp, err := http.Get("http://" + addr)
		if err == nil {
			resp.Body.Close()
		}
		return err == nil
	})
	return addr, cmd.Process.Pid
}

// costOf returns the CPU time that a process takes for a request with a response of 1 KiB.
func costOf(t *testing.T, addr string, pid int) time.Duration {
	t.Helper()
	var begun, ended generator.Usage
	plan := generator.Plan{
		Address: addr, Requests: [][]byte{[]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")}, Wants: []generator.Want{{Status: 200, Length: 1 << 10}},
		Connections: 32, Warmup: time.Second, Duration: 5 * time.Second,
		Counting: func(first bool) {
			u, err := generator.UsageOf(pid)
			if err != nil {
				t.Error(err)
			}
			if first {
				begun = u
			} else {
				ended = u
			}
		},
	}
	o, err := plan.Run(t.Context())
	if err != nil || len(o.Errors) > 0 || o.Requests == 0 {
		t.Fatalf("%v, %+v", err, o)
	}
	return (ended.CPU - begun.CPU) / time.Duration(o.Requests)
}

// The variants are measured in turn, so that other work of the machine disturbs all of them alike.
func TestFigures_Cost(t *testing.T) {
	NeedsProcess(t)
	to := figureOrigin(t)
	theirs, pid := nginx(t, to)
	plain, recording := front(t, to, ""), front(t, to, fmt.Sprintf(", record: {to: %q}", t.TempDir()))
	var nginxCost, plainCost, recordingCost time.Duration
	const rounds = 5
	for range rounds {
		nginxCost += costOf(t, theirs, pid)
		plainCost += costOf(t, address(plain), plain.Cmd.Process.Pid)
		recordingCost += costOf(t, address(recording), recording.Cmd.Process.Pid)
	}
	t.Logf("CPU time of a request: %v by nginx, %v passed on, %v passed on and recorded", nginxCost/rounds, plainCost/rounds, recordingCost/rounds)
	most(t, "passed on compared with nginx", float64(plainCost)/float64(nginxCost), mostOfNginx)
	most(t, "recorded compared with passed on", float64(recordingCost)/float64(plainCost), mostRecording)
}

func TestFigures_RecordedRate(t *testing.T) {
	NeedsProcess(t)
	to := figureOrigin(t)
	p, admin := Administered(t, fmt.Sprintf("- upstream: {name: real, url: %q, record: {to: %q}}\n- endpoint: {method: any, path: \"/*rest\", response: {proxy: real}}\n", to.URL, t.TempDir()), "--access-log=false")
	plan := generator.Plan{
		Address: address(p), Requests: [][]byte{[]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n")}, Wants: []generator.Want{{Status: 200, Length: 1 << 10}},
		Connections: 128, Warmup: time.Second, Duration: 20 * time.Second, Rate: recordedRate,
	}
	o, err := plan.Run(t.Context())
	if err != nil || len(o.Errors) > 0 {
		t.Fatalf("%v, %+v", err, o)
	}
	var shown struct {
		Recordings []struct{ Requests, Dropped int }
	}
	harness.Until(t, "all are in the files", func() bool {
		admin.Get("/__admin/recordings").Into(t, 200, &shown)
		return shown.Recordings[0].Requests+shown.Recordings[0].Dropped >= int(o.Requests)
	})
	rate := float64(o.Requests) / o.Elapsed.Seconds()
	t.Logf("%.0f requests a second", rate)
	if rate < recordedRate*0.99 {
		t.Errorf("%.0f requests a second were answered, expected %d", rate, recordedRate)
	}
	most(t, "dropped", shown.Recordings[0].Dropped, 0)
	most(t, "memory while recording", int64(p.Usage().RSS)<<10, mostWhileRecords)
}

func TestFigures_MemoryUnderWay(t *testing.T) {
	NeedsProcess(t)
	p := front(t, figureOrigin(t), "")
	p.Get("/")
	before := p.Usage().RSS
	const n = 2000
	conns := make([]net.Conn, n)
	for i := range conns {
		c, err := net.Dial("tcp", address(p))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := fmt.Fprint(c, "GET /slow HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		conns[i] = c
	}
	done := make(chan error, 1)
	go func() {
		_, err := bufio.NewReader(conns[0]).Peek(1)
		done <- err
	}()
	highest := 0
	for tick := time.Tick(10 * time.Millisecond); ; { // the first answer comes after 5 s, when all requests are in progress
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			most(t, "memory of a request under way", (highest-before)<<10/n, mostUnderWay)
			return
		case <-tick:
			highest = max(highest, p.Usage().RSS)
		}
	}
}

// imported runs the command import, and returns the time and the memory that it took.
func imported(t *testing.T, file string) (time.Duration, int64) {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), Program(t), "import", file, "-o", t.TempDir())
	begun := time.Now()
	out, err := cmd.CombinedOutput()
	elapsed := time.Since(begun)
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if err != nil || !ok {
		t.Fatalf("%v: %s", err, out)
	}
	return elapsed, usage.Maxrss << 10
}

func TestFigures_ImportOfExchanges(t *testing.T) {
	NeedsProcess(t)
	name := filepath.Join(t.TempDir(), "real-0001.ndjson")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprintf(w, "{\"mockserver\":\"recording\",\"version\":%d}\n", recording.Version)
	at := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	var b []byte
	for i := range exchanges {
		l := recording.Line{Time: at.Add(time.Duration(i) * time.Millisecond), Method: "GET", URL: fmt.Sprintf("http://localhost/users/%d", i%100_000), Status: 200,
			First: int64(1000 + i%5000), Last: int64(1100 + i%5000), UnderWay: 1, Connection: 1}
		l.Response.Headers = [][2]string{{"Content-Type", "application/json"}}
		l.Response.SetContent(fmt.Appendf(nil, `{"id":%d,"text":%q}`, i%100_000, strings.Repeat("t", 500)))
		b = l.Append(b[:0])
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	elapsed, memory := imported(t, name)
	most(t, "import of 1,000,000 exchanges", elapsed, mostImport)
	most(t, "its memory", memory, int64(mostImportMemory))
}

func TestFigures_ImportOfMappings(t *testing.T) {
	NeedsProcess(t)
	var all []map[string]any
	for i := range manyMappings {
		all = append(all, map[string]any{
			"request":  map[string]any{"method": "GET", "urlPathPattern": fmt.Sprintf("/api/%d/[0-9]+", i), "headers": map[string]any{"X-Key": map[string]any{"equalTo": "k"}}},
			"response": map[string]any{"jsonBody": map[string]any{"id": i, "text": strings.Repeat("t", 200)}},
		})
	}
	text, err := json.Marshal(map[string]any{"mappings": all})
	if err != nil {
		t.Fatal(err)
	}
	elapsed, memory := imported(t, harness.WriteFile(t, t.TempDir(), "mappings.json", string(text)))
	most(t, "import of 20,000 mappings", elapsed, mostMappings)
	most(t, "its memory", memory, int64(mostMappingsMem))
}
