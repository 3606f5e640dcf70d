package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestListener_OutlastsThatNoDescriptorIsFree(t *testing.T) {
	t.Parallel()
	file := writeFile(t, t.TempDir(), "mock.yml", one("fine"))
	cmd := exec.Command("sh", "-c", `ulimit -n 24 && exec "$0" "$@"`, binary, "-c", file)
	p := launchCommand(t, cmd, t.TempDir(), nil).listening()
	var held []net.Conn
	for range 40 { // the system accepts them where the program cannot
		held = append(held, p.dial())
	}
	p.waitLine(0, "cannot accept a connection", "too many open files")
	for _, c := range held {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	p.get("/a").want(t, 200, "fine")
	p.stopped()
}

// rush sends everything, read or not, before it looks for an answer, as simple
// clients do.
func (p *process) rush(head string, size int) string {
	p.t.Helper()
	c := p.dial()
	if _, err := io.WriteString(c, head); err != nil {
		p.t.Fatal(err)
	}
	piece := bytes.Repeat([]byte("x"), 64<<10)
	for sent := 0; sent < size; sent += len(piece) {
		if _, err := c.Write(piece); err != nil {
			p.t.Errorf("after %d of %d bytes: %v", sent, size, err)
			return ""
		}
	}
	b, err := io.ReadAll(c)
	if err != nil {
		p.t.Errorf("%v after %.200q", err, b)
	}
	return string(b)
}

func TestListener_ARefusalReachesAClientThatStillSends(t *testing.T) {
	t.Parallel()
	p := serving(t, one("fine"))
	for _, c := range []struct {
		name, head  string
		size        int
		status      int
		title, code string
	}{
		{"a body that is too large", "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 20971520\r\n\r\n", 20 << 20, 413, "Request body too large", "payload_too_large"},
		{"a chunk that is too large", "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1400000\r\n", 20 << 20, 413, "Request body too large", "payload_too_large"},
		{"headers that are too large", "POST /a HTTP/1.1\r\nHost: a\r\nX-A: ", 4 << 20, 431, "Request header too large", "headers_too_large"},
		{"no HTTP, and a body", "nonsense\r\n\r\n", 4 << 20, 400, "Bad request", "bad_request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 5 {
				if got := p.rush(c.head, c.size); got != "" {
					closing(t, got).wantFailure(t, c.status, c.title, c.code)
				}
			}
		})
	}
}

func TestListener_ABodyThatIsTooLargeIsNotAskedFor(t *testing.T) {
	t.Parallel()
	p := serving(t, "- endpoint: {method: POST, path: /a, response: {body: '{{body|length}}'}}", "--max-body", "10")
	const asks = "POST /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: 100-continue\r\nOrigin: https://a.test\r\nContent-Length: "
	refused := closing(t, p.wire(asks+"11\r\n\r\n"))
	refused.wantFailure(t, 413, "Request body too large", "payload_too_large")
	if got := refused.header.Get("Access-Control-Allow-Origin"); got != "*" {
		t.Errorf("got Access-Control-Allow-Origin %q, want *", got)
	}
	got := p.wire(asks + "10\r\n\r\n0123456789")
	rest, ok := strings.CutPrefix(got, "HTTP/1.1 100 Continue\r\n\r\n")
	if !ok {
		t.Fatalf("got %q, want to be asked for the body", got)
	}
	closing(t, rest).want(t, 200, "10")
}

func TestListener_ATargetThatIsCostlyToReadIsRefused(t *testing.T) {
	t.Parallel()
	p := serving(t, "- endpoint: {path: '/p/*rest', response: {body: '{{path|length}}'}}")
	for _, path := range []string{"/p" + strings.Repeat("/", 60000), "/p" + strings.Repeat("/..", 20000)} {
		closing(t, p.wire("GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n")).wantFailure(t, 400, "Bad request", "bad_request")
	}
	for _, path := range []string{"/p/" + strings.Repeat("x/", 30000), "/p/" + strings.Repeat("/", 1000)} {
		p.get(path).want(t, 200, strconv.Itoa(len(path)))
	}
}

// resident is the memory of the program, in bytes.
func (p *process) resident() int {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Skip("the memory of a process is not known here")
	}
	m := regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`).FindSubmatch(status)
	if m == nil {
		p.t.Fatalf("no VmRSS in %s", status)
	}
	kib, err := strconv.Atoi(string(m[1]))
	if err != nil {
		p.t.Fatal(err)
	}
	return kib << 10
}

// holdsAtMost fails the test when the program has more memory than that. A program
// that watches its races has several times as much.
func (p *process) holdsAtMost(most int) {
	p.t.Helper()
	if got := p.resident(); got > most && len(buildFlags) == 0 {
		p.t.Errorf("the server holds %d MiB, want at most %d", got>>20, most>>20)
	}
}

func TestListener_ConnectionsDoNotKeepTheirLargestBodies(t *testing.T) {
	t.Parallel()
	file := writeFile(t, t.TempDir(), "mock.yml", "- endpoint: {method: POST, path: /a, response: {body: fine}}\n"+
		"- endpoint: {method: POST, path: /echo, response: {body: '{{body}}'}}\n")
	p := launch(t, []string{"GOGC=20"}, "-c", file).listening() // garbage is not what is looked for
	const many, size = 40, 8 << 20
	for _, path := range []string{"/a", "/echo"} {
		var kept []net.Conn
		for range many {
			c := p.dial()
			kept = append(kept, c)
			if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s", path, size, strings.Repeat("x", size)); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("got %v, %v", resp, err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatal(err)
			}
		}
		p.holdsAtMost(many * size / 2) // of what they sent, one after the other
		for _, c := range kept {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestListener_HEADOfAConditionalGETIsAnsweredAsTheGET(t *testing.T) {
	t.Parallel()
	p := serving(t, "- endpoint: {path: /cond, if: query-params.a = 1, response: {body: yes}}\n"+
		"- endpoint: {method: POST, path: /post, response: {body: yes}}\n")
	for path, want := range map[string]int{"/cond?a=1": 200, "/cond?a=2": 404, "/cond": 404, "/nowhere": 404, "/post": 405} {
		for _, method := range []string{"GET", "HEAD"} {
			a := p.do(method, path, "")
			if a.status != want || (a.header.Get("Allow") != "") != (want == 405) {
				t.Errorf("%s %s: got %d with Allow %q, want %d", method, path, a.status, a.header.Get("Allow"), want)
			}
		}
	}
}

func TestListener_RefusedRequestsAreInTheAccessLog(t *testing.T) {
	t.Parallel()
	p := stoppable(t, one("fine"), "--access-log", "--max-body", "10")
	p.do("POST", "/a?large", strings.Repeat("x", 11))
	p.wire("POST /a?asked HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n")
	p.wire("nonsense\r\n\r\n")
	p.wire("GET /a HTTP/1.1\r\nHost: a\r\nX-A: " + strings.Repeat("x", 70<<10) + "\r\n\r\n")
	stdout, _ := p.stopped()
	for _, want := range []string{
		"request method=POST uri=/a?large status=413", "request method=POST uri=/a?asked status=413",
		"request method=- uri=- status=400", "request method=- uri=- status=431",
	} {
		if got := strings.Count(strings.ReplaceAll(stdout, `"`, ""), want); got != 1 {
			t.Errorf("got %d lines with %s, want 1:\n%s", got, want, stdout)
		}
	}
}

func TestListener_AnIPv4AddressIsListenedOnAsAsked(t *testing.T) {
	t.Parallel()
	file := writeFile(t, t.TempDir(), "mock.yml", one("fine"))
	for _, host := range []string{"", "0.0.0.0"} {
		p := launch(t, []string{"HOST=" + host}, "-c", file).listening()
		p.get("/a").want(t, 200, "fine")
		if line := p.waitLine(0, "listening"); !strings.Contains(line, "address=0.0.0.0:") {
			t.Errorf("with HOST=%s: got %q, want 0.0.0.0", host, line)
		}
	}
}

const externalA = "- endpoint: {path: /a, response: {external-body: {provider: json, path: a.json}}}\n"

func TestListener_ARefusedConfigurationIsTriedAgainWhenItsExternalFileIsMended(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, before string // what is in a.json; "" for no file
	}{{"it was missing", ""}, {"it was broken", "{{nope"}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := writeFile(t, dir, "mock.yml", one("old"))
			if c.before != "" {
				writeFile(t, dir, "a.json", c.before)
			}
			p := start(t, "-c", file)
			n := len(p.output())
			writeFile(t, dir, "mock.yml", externalA)
			p.waitLine(n, "last good configuration")
			p.get("/a").want(t, 200, "old")
			n = len(p.output())
			writeFile(t, dir, "a.json", `{"mended": true}`)
			p.waitLine(n, "configuration reloaded")
			p.get("/a").want(t, 200, `{"mended": true}`)
		})
	}
}

func TestListener_AnEditAndSIGHUPReloadOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, dir, "mock.yml", one("old"))
	p := start(t, "-c", file)
	n := len(p.output())
	writeFile(t, dir, "mock.yml", one("new"))
	p.signal(syscall.SIGHUP)
	p.waitLine(n, "configuration reloaded", "SIGHUP")
	p.get("/a").want(t, 200, "new")
	for quiet := time.After(5 * watchInterval); ; { // a second reload would come by then
		p.mu.Lock()
		lines, more := p.lines[n:], p.more
		p.mu.Unlock()
		if got := strings.Count(strings.Join(lines, "\n"), "configuration reloaded"); got != 1 {
			t.Fatalf("got %d reloads of one edit, want 1", got)
		}
		select {
		case <-more:
		case <-quiet:
			return
		}
	}
}

func TestListener_ASignalDoesNotWaitForAReload(t *testing.T) {
	t.Parallel()
	var large strings.Builder
	for i := range 30000 {
		fmt.Fprintf(&large, "- endpoint: {path: '/p%d/:id', response: {body: '{\"id\": \"{{path-params.id}}\"}'}}\n", i)
	}
	dir := t.TempDir()
	file := writeFile(t, dir, "mock.yml", one("small"))
	p := launch(t, nil, "-c", file).listening()
	if err := os.WriteFile(filepath.Join(dir, "new.yml"), []byte(large.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	rename(t, filepath.Join(dir, "new.yml"), file)
	p.signal(syscall.SIGHUP)
	p.signal(syscall.SIGTERM)
	if got := p.exit(); got != 0 {
		t.Errorf("got exit code %d, want 0", got)
	}
	output := strings.Join(p.output(), "\n")
	if stopping, reloaded := strings.Index(output, "stopping"), strings.Index(output, "configuration reloaded"); stopping < 0 || reloaded >= 0 && reloaded < stopping {
		t.Errorf("it reloaded before it stopped:\n%s", output)
	}
}
