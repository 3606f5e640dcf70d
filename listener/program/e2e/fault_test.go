package e2e_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The exit codes of curl are listed at https://everything.curl.dev/cmdline/exitcode.html. Input
// that is not HTTP is an unsupported protocol for curl, or in some versions a weird server reply.
func TestFaults_AsCurlSeesThem(t *testing.T) {
	t.Parallel()
	p := Serving(t, `
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
		{[]string{"/none"}, "", []int{52}}, // curl ignores half a line
		{[]string{"/slow"}, "0123456789", []int{0}},
		{[]string{"--http1.0", "/reset"}, "", []int{56}},
		{[]string{"--http1.0", "/empty"}, "", []int{52}},
		{[]string{"--http1.0", "/truncate"}, "01234", []int{18}},
		{[]string{"-d", "a=b", "/reset"}, "", []int{56}},
		{[]string{"-d", large, "/empty"}, "", []int{52}},
		{[]string{"/ok", p.URL + "/slow", p.URL + "/ok", p.URL + "/truncate"}, "fine0123456789fine01234", []int{18}}, // over one connection
	} {
		args := slices.Clone(c.args)
		for i := range args {
			if strings.HasPrefix(args[i], "/") {
				args[i] = p.URL + args[i]
			}
		}
		if output, code := withCurl(t, args...); output != c.output || !slices.Contains(c.codes, code) {
			t.Errorf("curl %.60q: got %q and exit code %d, want %q and one of %v", c.args, output, code, c.output, c.codes)
		}
	}
	if output, code := withCurl(t, "-i", p.URL+"/truncate"); code != 18 || !strings.Contains(output, "Content-Length: 10\r\n") {
		t.Errorf("got %q and exit code %d, want the length of the whole body", output, code)
	}
}

// The access log names the fault, a shutdown does not count such requests as cut off, and nothing
// is reported as an error of the server.
func TestFaults_InTheLogs(t *testing.T) {
	t.Parallel()
	p := Serving(t, `
- endpoint: {path: /reset, response: {}, fault: {type: reset}}
- endpoint: {path: /truncate, response: {body: 0123456789}, fault: {type: truncate}}
- endpoint: {path: /full, response: {body: ok}, capacity: {concurrent: 1}, latency: {failure-rate: 1}}
- endpoint: {path: /often, response: {body: ok}, rate-limit: {max-requests: 1}}
`, "--access-log")
	_, _ = p.Try("GET", "/reset", "")
	p.WaitLine(0, "request", "uri=/reset", "status=200", "fault=reset")
	_, _ = p.Try("GET", "/truncate", "")
	p.WaitLine(0, "request", "uri=/truncate", "bytes=10", "fault=truncate")
	if a := p.Get("/full"); a.Status != 500 {
		t.Errorf("got %d", a.Status)
	}
	for _, status := range []int{200, 429} {
		if a := p.Get("/often"); a.Status != status {
			t.Errorf("got %d, want %d", a.Status, status)
		}
	}
	p.Signal(syscall.SIGTERM)
	if code := p.Exit(); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
	for _, line := range p.Output() {
		if strings.Contains(line, "cut off") || strings.Contains(line, "ERROR") || strings.Contains(line, "fault=") && strings.Contains(line, "/often") {
			t.Errorf("it says %s", line)
		}
	}
}
