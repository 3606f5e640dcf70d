package e2e_test

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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
)

func TestListener_OutlastsThatNoDescriptorIsFree(t *testing.T) {
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", One("fine"))
	cmd := exec.Command("sh", "-c", `ulimit -n 24 && exec "$0" "$@"`, Program(t), "-c", file)
	p := LaunchCommand(t, cmd, t.TempDir(), nil).Listening()
	var held []net.Conn
	for range 40 { // the system accepts connections even when the program cannot
		held = append(held, p.Dial())
	}
	p.WaitLine(0, "cannot accept a connection", "too many open files")
	for _, c := range held {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	p.Get("/a").Want(t, 200, "fine")
	p.Stopped()
}

// rush sends everything before it reads the answer, whether or not the server reads it, as simple
// clients do.
func rush(p *Process, head string, size int) string {
	p.T.Helper()
	c := p.Dial()
	if _, err := io.WriteString(c, head); err != nil {
		p.T.Fatal(err)
	}
	piece := bytes.Repeat([]byte("x"), 64<<10)
	for sent := 0; sent < size; sent += len(piece) {
		if _, err := c.Write(piece); err != nil {
			p.T.Errorf("after %d of %d bytes: %v", sent, size, err)
			return ""
		}
	}
	b, err := io.ReadAll(c)
	if err != nil {
		p.T.Errorf("%v after %.200q", err, b)
	}
	return string(b)
}

func TestListener_ARefusalReachesAClientThatStillSends(t *testing.T) {
	t.Parallel()
	p := Serving(t, One("fine"))
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
				if got := rush(p, c.head, c.size); got != "" {
					wantFailure(closing(t, got), t, c.status, c.title, c.code)
				}
			}
		})
	}
}

func TestListener_ABodyThatIsTooLargeIsNotAskedFor(t *testing.T) {
	t.Parallel()
	p := Serving(t, "- endpoint: {method: POST, path: /a, response: {body: '{{body|length}}'}}", "--max-body", "10")
	const asks = "POST /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nExpect: 100-continue\r\nOrigin: https://a.test\r\nContent-Length: "
	refused := closing(t, wire(p, asks+"11\r\n\r\n"))
	wantFailure(refused, t, 413, "Request body too large", "payload_too_large")
	if got := refused.Header.Get("Access-Control-Allow-Origin"); got != "*" {
		t.Errorf("got Access-Control-Allow-Origin %q, want *", got)
	}
	got := wire(p, asks+"10\r\n\r\n0123456789")
	rest, ok := strings.CutPrefix(got, "HTTP/1.1 100 Continue\r\n\r\n")
	if !ok {
		t.Fatalf("got %q, want 100 Continue", got)
	}
	closing(t, rest).Want(t, 200, "10")
}

func TestListener_PathsOfManySegments(t *testing.T) {
	t.Parallel()
	p := Serving(t, "- endpoint: {path: '/p/*rest', response: {body: '{{path|length}}'}}")
	for _, path := range []string{"/p" + strings.Repeat("/", 60000), "/p" + strings.Repeat("/..", 20000) + "/x", "/p/" + strings.Repeat("x/", 30000) + "x"} {
		got := wire(p, "GET "+path+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
		closing(t, got).Want(t, 200, strconv.Itoa(len(path)))
	}
}

func TestListener_ConnectionsDoNotKeepTheirLargestBodies(t *testing.T) {
	volume.Only(t)
	t.Parallel()
	NeedsProcess(t) // its memory is measured
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", "- endpoint: {method: POST, path: /a, response: {body: fine}}\n"+
		"- endpoint: {method: POST, path: /echo, response: {body: '{{body}}'}}\n")
	p := Launch(t, []string{"GOGC=20"}, "-c", file).Listening() // keeps garbage from hiding what the test measures
	const many, size = 40, 8 << 20
	for _, path := range []string{"/a", "/echo"} {
		var kept []net.Conn
		for range many {
			c := p.Dial()
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
		holdsAtMost(p, many*size/2) // half of all that they sent, one after the other
		for _, c := range kept {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestListener_HEADOfAConditionalGETMatchesAsTheGET(t *testing.T) {
	t.Parallel()
	p := Serving(t, "- endpoint: {path: /cond, if: query-params.a = 1, response: {body: yes}}\n"+
		"- endpoint: {method: POST, path: /post, response: {body: yes}}\n")
	for path, want := range map[string]int{"/cond?a=1": 200, "/cond?a=2": 404, "/cond": 404, "/nowhere": 404, "/post": 405} {
		for _, method := range []string{"GET", "HEAD"} {
			a := p.Do(method, path, "")
			if a.Status != want || (a.Header.Get("Allow") != "") != (want == 405) {
				t.Errorf("%s %s: got %d with Allow %q, want %d", method, path, a.Status, a.Header.Get("Allow"), want)
			}
		}
	}
}

func TestListener_RefusedRequestsAreInTheAccessLog(t *testing.T) {
	t.Parallel()
	p := Serving(t, One("fine"), "--access-log", "--max-body", "10")
	p.Do("POST", "/a?large", strings.Repeat("x", 11))
	wire(p, "POST /a?asked HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n")
	wire(p, "nonsense\r\n\r\n")
	wire(p, "GET /a HTTP/1.1\r\nHost: a\r\nX-A: "+strings.Repeat("x", 70<<10)+"\r\n\r\n")
	stdout, _ := p.Stopped()
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
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", One("fine"))
	for _, host := range []string{"", "0.0.0.0"} {
		p := Launch(t, []string{"HOST=" + host}, "-c", file).Listening()
		p.Get("/a").Want(t, 200, "fine")
		if line := p.WaitLine(0, "listening"); !strings.Contains(line, "address=0.0.0.0:") {
			t.Errorf("with HOST=%s: got %q, want 0.0.0.0", host, line)
		}
	}
}

const externalA = "- endpoint: {path: /a, response: {external-body: {provider: json, path: a.json}}}\n"

func TestListener_ARefusedConfigurationIsTriedAgainWhenItsExternalFileIsFixed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, before string // the content of a.json; "" for no file
	}{{"it was missing", ""}, {"it was broken", "{{nope"}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := harness.WriteFile(t, dir, "mock.yml", One("old"))
			if c.before != "" {
				harness.WriteFile(t, dir, "a.json", c.before)
			}
			p := Start(t, "-c", file)
			n := len(p.Output())
			harness.WriteFile(t, dir, "mock.yml", externalA)
			p.WaitLine(n, "last good configuration")
			p.Get("/a").Want(t, 200, "old")
			n = len(p.Output())
			harness.WriteFile(t, dir, "a.json", `{"mended": true}`)
			p.WaitLine(n, "configuration reloaded")
			p.Get("/a").Want(t, 200, `{"mended": true}`)
		})
	}
}

func TestListener_AnEditAndSIGHUPReloadOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := harness.WriteFile(t, dir, "mock.yml", One("old"))
	p := Start(t, "-c", file)
	n := len(p.Output())
	harness.WriteFile(t, dir, "mock.yml", One("new"))
	p.Signal(syscall.SIGHUP)
	p.WaitLine(n, "configuration reloaded", "SIGHUP")
	p.Get("/a").Want(t, 200, "new")
	for quiet := time.After(3 * watchEvery); ; { // a second reload would happen within this time
		p.Mu.Lock()
		lines, more := p.Lines[n:], p.More
		p.Mu.Unlock()
		if got := strings.Count(strings.Join(lines, "\n"), "configuration reloaded"); got != 1 {
			t.Fatalf("got %d reloads for one edit, want 1", got)
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
	file := harness.WriteFile(t, dir, "mock.yml", One("small"))
	p := Launch(t, nil, "-c", file).Listening()
	if err := os.WriteFile(filepath.Join(dir, "new.yml"), []byte(large.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	rename(t, filepath.Join(dir, "new.yml"), file)
	p.Signal(syscall.SIGHUP)
	p.Signal(syscall.SIGTERM)
	if got := p.Exit(); got != 0 {
		t.Errorf("got exit code %d, want 0", got)
	}
	output := strings.Join(p.Output(), "\n")
	if stopping, reloaded := strings.Index(output, "stopping"), strings.Index(output, "configuration reloaded"); stopping < 0 || reloaded >= 0 && reloaded < stopping {
		t.Errorf("the server reloaded before it stopped:\n%s", output)
	}
}

// watchEvery is how often the program checks its files.
const watchEvery = 500 * time.Millisecond

// closing parses a response, which must be everything that the server sent.
func closing(t *testing.T, raw string) Response {
	t.Helper()
	r := bufio.NewReader(strings.NewReader(raw))
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatalf("%v in %.300q", err, raw)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%v in %.300q", err, raw)
	}
	if rest, _ := io.ReadAll(r); len(rest) > 0 {
		t.Errorf("unexpected bytes after the response: %.300q", rest)
	}
	return Response{Status: resp.StatusCode, Proto: resp.Proto, Header: resp.Header, Body: string(body), Length: resp.ContentLength}
}

// holdsAtMost fails the test if the program uses more than most bytes of memory. It never fails
// with the race detector, which needs several times as much memory.
func holdsAtMost(p *Process, most int) {
	p.T.Helper()
	if got := p.Usage().RSS << 10; got > most && !Race {
		p.T.Errorf("the server holds %d MiB, want at most %d", got>>20, most>>20)
	}
}
