package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// withCurl runs curl, with what it must not say on the way left out, and returns what
// the server sent and the exit code.
func withCurl(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	program, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("there is no curl")
	}
	cmd := exec.Command(program, append([]string{"--silent", "--max-time", "20", "--noproxy", "*"}, args...)...)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return stdout.String(), cmd.ProcessState.ExitCode()
}

// The exit codes of curl: https://everything.curl.dev/cmdline/exitcode.html. What is no
// HTTP is a protocol it does not support, or in some versions a weird answer.
func TestFaults_AsCurlSeesThem(t *testing.T) {
	t.Parallel()
	p := serving(t, `
- endpoint: {path: /reset, response: {}, fault: {type: reset}}
- endpoint: {path: /empty, response: {}, fault: {type: empty}}
- endpoint: {path: /malformed, response: {}, fault: {type: malformed}}
- endpoint: {path: /truncate, response: {body: 0123456789}, fault: {type: truncate}}
- endpoint: {path: /none, response: {status: 204}, fault: {type: truncate}}
- endpoint: {path: /slow, response: {body: 0123456789}, fault: {type: slow-body, bytes-per-second: 100}}
- endpoint: {path: /ok, response: {body: fine}}
- endpoint: {method: POST, path: /reset, response: {}, fault: {type: reset}}
- endpoint: {method: POST, path: /empty, response: {}, fault: {type: empty}}
`)
	large := strings.Repeat("x", 100_000)
	for _, c := range []struct {
		args   []string
		output string
		codes  []int
	}{
		{[]string{"/reset"}, "", []int{56}},
		{[]string{"/empty"}, "", []int{52}},
		{[]string{"/malformed"}, "", []int{1, 8}},
		{[]string{"/truncate"}, "01234", []int{18}},
		{[]string{"/none"}, "", []int{52}}, // half of a line is nothing to it
		{[]string{"/slow"}, "0123456789", []int{0}},
		{[]string{"--http1.0", "/reset"}, "", []int{56}},
		{[]string{"--http1.0", "/empty"}, "", []int{52}},
		{[]string{"--http1.0", "/truncate"}, "01234", []int{18}},
		{[]string{"-d", "a=b", "/reset"}, "", []int{56}},
		{[]string{"-d", large, "/empty"}, "", []int{52}},
		{[]string{"/ok", p.url + "/slow", p.url + "/ok", p.url + "/truncate"}, "fine0123456789fine01234", []int{18}}, // over one connection
	} {
		args := slices.Clone(c.args)
		for i := range args {
			if strings.HasPrefix(args[i], "/") {
				args[i] = p.url + args[i]
			}
		}
		if output, code := withCurl(t, args...); output != c.output || !slices.Contains(c.codes, code) {
			t.Errorf("curl %.60q: got %q and exit code %d, want %q and one of %v", c.args, output, code, c.output, c.codes)
		}
	}
	if output, code := withCurl(t, "-i", p.url+"/truncate"); code != 18 || !strings.Contains(output, "Content-Length: 10\r\n") {
		t.Errorf("got %q and exit code %d, want the length of the whole body", output, code)
	}
}

// The access log says what went wrong, the end of the server counts no such request as
// cut off, and nothing is reported as an error of the server.
func TestFaults_InTheLogs(t *testing.T) {
	t.Parallel()
	p := serving(t, `
- endpoint: {path: /reset, response: {}, fault: {type: reset}}
- endpoint: {path: /truncate, response: {body: 0123456789}, fault: {type: truncate}}
- endpoint: {path: /full, response: {body: ok}, capacity: {concurrent: 1}, latency: {failure-rate: 1}}
- endpoint: {path: /often, response: {body: ok}, rate-limit: {max-requests: 1}}
`, "--access-log")
	_, _ = p.try("GET", "/reset", "")
	p.waitLine(0, "request", "uri=/reset", "status=200", "fault=reset")
	_, _ = p.try("GET", "/truncate", "")
	p.waitLine(0, "request", "uri=/truncate", "bytes=10", "fault=truncate")
	if a := p.get("/full"); a.status != 500 {
		t.Errorf("got %d", a.status)
	}
	for _, status := range []int{200, 429} {
		if a := p.get("/often"); a.status != status {
			t.Errorf("got %d, want %d", a.status, status)
		}
	}
	p.signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
	for _, line := range p.output() {
		if strings.Contains(line, "cut off") || strings.Contains(line, "ERROR") || strings.Contains(line, "fault=") && strings.Contains(line, "/often") {
			t.Errorf("it says %s", line)
		}
	}
}

// Each curl line of the example ends as its comment says.
func TestFaults_OfTheExample(t *testing.T) {
	t.Parallel()
	file := exampleFile(t, "faults.yml")
	if code, stdout, stderr := refused(t, nil, "validate", "-c", file); code != 0 || strings.Contains(stdout+stderr, "warning") {
		t.Errorf("got exit code %d, %q and %q, want no warning", code, stdout, stderr)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, "-c", file)
	lines := 0
	for line := range strings.Lines(string(text)) {
		command, said, ok := strings.Cut(strings.TrimPrefix(line, "#   curl "), " # ")
		if !ok || !strings.HasPrefix(line, "#   curl ") {
			continue
		}
		lines++
		var args []string
		for _, word := range shellWords(command) {
			args = append(args, strings.Replace(word, "localhost:8000", p.url, 1))
		}
		want := []int{0, 56, 52, 18} // of those that have a fault now and then
		if rest, ok := strings.CutPrefix(said, "("); ok {
			code, err := strconv.Atoi(rest[:strings.Index(rest, ")")])
			if err != nil {
				t.Fatal(err)
			}
			want = []int{code}
			if code == 1 {
				want = append(want, 8)
			}
		} else if strings.Contains(line, "/slow") {
			want = []int{0}
		}
		if output, code := withCurl(t, args...); !slices.Contains(want, code) {
			t.Errorf("%s: got exit code %d and %q, want one of %v", line, code, output, want)
		}
	}
	if lines != 7 {
		t.Errorf("%d lines were tried, want 7", lines)
	}
}

// The payments of the example end in each of the ways that it declares.
func TestFaults_PaymentsOfTheExample(t *testing.T) {
	t.Parallel()
	p := start(t, "-c", exampleFile(t, "faults.yml"), "--seed", "7")
	ways := map[string]int{}
	for range 400 {
		ways[payOnce(t, p)]++
	}
	for _, way := range []string{"201", "503", "201 in part", "none"} {
		if ways[way] == 0 {
			t.Errorf("got %v: none ended as %q", ways, way)
		}
	}
	if ways["201"] < 300 || len(ways) != 4 {
		t.Errorf("got %v, want mostly 201", ways)
	}
}

// payOnce pays over a connection of its own and says how that ended.
func payOnce(t *testing.T, p *process) string {
	t.Helper()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequest("POST", p.url+"/payments", strings.NewReader(`{"amount": 5}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return "none"
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err != nil {
		return fmt.Sprint(resp.StatusCode, " in part")
	}
	return fmt.Sprint(resp.StatusCode)
}
