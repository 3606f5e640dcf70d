package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
)

func TestReload_AChangedFileIsServed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(t *testing.T, file, content string)
	}{
		{"written in place", overwrite},
		{"saved by rename", func(t *testing.T, file, content string) {
			rename(t, harness.WriteFile(t, filepath.Dir(file), ".mock.yml.swp", content), file)
		}},
		{"moved away and written anew, as editors do", func(t *testing.T, file, content string) {
			rename(t, file, file+"~")
			harness.WriteFile(t, filepath.Dir(file), filepath.Base(file), content)
		}},
		{"written under another name of the same file", func(t *testing.T, file, content string) {
			other := filepath.Join(t.TempDir(), "other")
			if err := os.Link(file, other); err != nil {
				t.Fatal(err)
			}
			overwrite(t, other, content)
		}},
		{"of the same size and modification time as before", func(t *testing.T, file, content string) {
			before, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			overwrite(t, file, strings.TrimSuffix(content, "#\n"))
			if err := os.Chtimes(file, before.ModTime(), before.ModTime()); err != nil {
				t.Fatal(err)
			}
		}},
		{"of the same size as before", func(t *testing.T, file, content string) {
			overwrite(t, file, strings.TrimSuffix(content, "#\n"))
		}},
	} {
		for _, flag := range []string{"-c", "-m"} {
			t.Run(c.name+", "+flag, func(t *testing.T) {
				t.Parallel()
				file := harness.WriteFile(t, t.TempDir(), "mock.yml", One("old"))
				p := Start(t, flag, file)
				p.Get("/a").Want(t, 200, "old")
				n := len(p.Output())
				c.change(t, file, One("new")+"#\n")
				p.WaitLine(n, "configuration reloaded")
				p.Get("/a").Want(t, 200, "new")
			})
		}
	}
}

// overwrite writes a file in place, whereas harness.WriteFile replaces it with a new one.
func overwrite(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

func TestReload_TheSwapOfAMountedConfigMapIsServed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.WriteFile(t, dir, "..2026_01/mock.yml", One("old"))
	symlink(t, "..2026_01", filepath.Join(dir, "..data"))
	symlink(t, "..data/mock.yml", filepath.Join(dir, "mock.yml"))
	p := Start(t, "-c", filepath.Join(dir, "mock.yml"))
	p.Get("/a").Want(t, 200, "old")

	n := len(p.Output())
	harness.WriteFile(t, dir, "..2026_02/mock.yml", One("new"))
	symlink(t, "..2026_02", filepath.Join(dir, "..data_tmp"))
	rename(t, filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data"))
	if err := os.RemoveAll(filepath.Join(dir, "..2026_01")); err != nil {
		t.Fatal(err)
	}
	p.WaitLine(n, "configuration reloaded")
	p.Get("/a").Want(t, 200, "new")
}

func TestReload_SIGHUPReloadsNow(t *testing.T) {
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", One("same"))
	p := Start(t, "-c", file)
	for range 3 {
		n := len(p.Output())
		p.Signal(syscall.SIGHUP) // although nothing has changed
		p.WaitLine(n, "configuration reloaded")
		p.Get("/a").Want(t, 200, "same")
	}
}

func TestReload_ABrokenChangeIsLoggedWithAllItsErrorsAndTheLastGoodOneServed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, file string)
		says  [][]string // expected lines on standard error
	}{
		{"two mistakes", func(t *testing.T, file string) {
			harness.WriteFile(t, filepath.Dir(file), "mock.yml", One("broken")+"- endpoint: {path: /b, respons: {}}\n- endpoint: {path: '/b/:x|nope', response: {}}\n")
		}, [][]string{{"mock.yml:2:", "[1].endpoint.respons", "did you mean"}, {"mock.yml:3:", "[2].endpoint.path", "nope"}}},
		{"a syntax error", func(t *testing.T, file string) {
			harness.WriteFile(t, filepath.Dir(file), "mock.yml", One("broken")+"- endpoint: {path: /b\n")
		}, [][]string{{"mock.yml:"}}},
		{"an empty file", func(t *testing.T, file string) {
			harness.WriteFile(t, filepath.Dir(file), "mock.yml", "")
		}, [][]string{{"mock.yml", "empty"}}},
		{"a file of blanks and comments", func(t *testing.T, file string) {
			harness.WriteFile(t, filepath.Dir(file), "mock.yml", "\n# nothing\n---\n")
		}, [][]string{{"mock.yml", "empty"}}},
		{"a file that is written by halves", func(t *testing.T, file string) {
			harness.WriteFile(t, filepath.Dir(file), "mock.yml", "- endpoint:\n    path: /a\n    response:\n")
		}, [][]string{{"mock.yml:3:14: [0].endpoint.response: ", "write response: {}"}}},
		{"no file", func(t *testing.T, file string) {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}, [][]string{{"mock.yml", "no such file"}}},
		{"a directory instead of a file", func(t *testing.T, file string) {
			rename(t, file, file+"~")
			if err := os.Mkdir(file, 0o755); err != nil {
				t.Fatal(err)
			}
		}, [][]string{{"mock.yml"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := harness.WriteFile(t, dir, "mock.yml", One("good"))
			p := Start(t, "-c", file)
			n := len(p.Output())
			c.spoil(t, file)
			for _, parts := range c.says {
				p.WaitLine(n, parts...)
			}
			p.WaitLine(n, "last good configuration")
			p.Get("/a").Want(t, 200, "good")
			p.Mu.Lock()
			stderr := p.Stderr.String()
			p.Mu.Unlock()
			for _, parts := range c.says {
				if !HasLine(stderr, parts) {
					t.Errorf("no line on standard error contains %q:\n%s", parts, stderr)
				}
			}

			n = len(p.Output())
			if info, err := os.Stat(file); err == nil && info.IsDir() {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			}
			harness.WriteFile(t, dir, "mock.yml", One("mended"))
			p.WaitLine(n, "configuration reloaded")
			p.Get("/a").Want(t, 200, "mended")
		})
	}
}

// A recording that cannot be written is an error of the configuration, although its file is valid.
// Other recordings go on.
func TestReload_ARecordingThatCannotBeWrittenIsLogged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	upstreams := func(first, second string) string {
		return `- upstream: {name: one, url: "http://127.0.0.1:1", record: {to: ` + first + "}}\n" +
			`- upstream: {name: two, url: "http://127.0.0.1:1"` + second + "}\n" +
			"- endpoint: {path: /one, response: {proxy: one}}\n- endpoint: {path: /two, response: {proxy: two}}\n"
	}
	old, changed := filepath.Join(dir, "old"), filepath.Join(dir, "changed")
	file := harness.WriteFile(t, dir, "mock.yml", upstreams(old, "")+"- endpoint: {path: /a, response: {body: old}}\n")
	p := Start(t, "-c", file, "--admin", "127.0.0.1:0")
	admin := AdminOf(p)
	taken := harness.WriteFile(t, dir, "taken", "not a directory")
	harness.WriteFile(t, dir, "mock.yml", upstreams(changed, ", record: {to: "+taken+"}")+"- endpoint: {path: /a, response: {body: new}}\n")
	p.Signal(syscall.SIGHUP)
	p.WaitLine(0, "ERROR", "configuration not reloaded", "mock.yml:2:", "cannot record to "+taken)
	p.WaitLine(0, "the last good configuration stays in service")
	p.Get("/a").Want(t, 200, "old")
	if Value(t, Scrape(t, admin), "mockserver_configuration_last_successful") != 0 {
		t.Error("the metrics report that the last configuration is served")
	}
	admin.Do("POST", "/__admin/reload", "").Refusal(t, 422, "invalid_configuration")
	var list struct {
		Recordings []struct {
			Upstream, To string
			Running      bool
		}
	}
	admin.Get("/__admin/recordings").Into(t, 200, &list)
	running := ""
	for _, r := range list.Recordings {
		if r.Running {
			running += r.Upstream + " " + r.To
		}
	}
	if running != "one "+old {
		t.Errorf("running are %q, want the recording of one in %s", running, old)
	}
	if files, err := filepath.Glob(filepath.Join(old, "*.zst")); len(files) != 1 || err != nil {
		t.Errorf("the recording was interrupted: %q, %v", files, err)
	}
	if files, err := filepath.Glob(filepath.Join(changed, "*.zst")); len(files) != 0 || err != nil {
		t.Errorf("files of a recording that was never in service are left: %q, %v", files, err)
	}
}

func TestReload_AnEmptyListIsNoMistake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := Start(t, "-c", harness.WriteFile(t, dir, "mock.yml", One("old")))
	n := len(p.Output())
	harness.WriteFile(t, dir, "mock.yml", "[]\n")
	p.WaitLine(n, "configuration reloaded")
	if a := p.Get("/a"); a.Status != 404 {
		t.Errorf("got %d, want 404", a.Status)
	}
}

func TestReload_ARequestInFlightEndsAsItBegan(t *testing.T) {
	t.Parallel()
	u := NewHeld(t)
	dir := t.TempDir()
	p := Start(t, "-c", harness.WriteFile(t, dir, "mock.yml", "- endpoint: {path: /a, response: {status: 201, external-body: {provider: json, path: '"+u.URL+"'}}}\n"))
	done := make(chan Response, 1)
	go func() {
		a, err := p.Try("GET", "/a", "")
		if err != nil {
			t.Error(err)
		}
		done <- a
	}()
	<-u.Arrived
	n := len(p.Output())
	harness.WriteFile(t, dir, "mock.yml", One("new"))
	p.Signal(syscall.SIGHUP)
	p.WaitLine(n, "configuration reloaded")
	p.Get("/a").Want(t, 200, "new")
	u.Release()
	(<-done).Want(t, 201, `{"held": true}`)
}

// versionFile returns a configuration whose /version answers n. It is quick to parse but large:
// memory grows visibly if old versions are kept.
func versionFile(n int) string {
	var c strings.Builder
	kept := 24 << 10
	if Race {
		kept = 1 << 10
	}
	fmt.Fprintf(&c, "- endpoint: {path: /version, response: {headers: {X-Text: &kept %q}, body: '%d'}}\n", strings.Repeat("k", kept), n)
	c.WriteString("- endpoint: {path: /file, response: {external-body: {provider: json, path: kept.json}}}\n")
	for i := range 10 {
		fmt.Fprintf(&c, "- endpoint: {path: '/kept/%d/:x', if: query-params.n = %d, response: {body: [*kept, '{{path-params.x}}']}}\n", i, n)
	}
	return c.String()
}

// load is a steady stream of requests over connections that are kept open.
type load struct {
	p       *Process
	applied atomic.Int64 // the version that is known to be served
	written atomic.Int64 // the newest version that may be served
	sent    atomic.Int64
	failed  chan string
	stop    chan struct{}
	clients sync.WaitGroup
}

func (l *load) fail(format string, args ...any) {
	select {
	case l.failed <- fmt.Sprintf(format, args...):
	default: // enough failures are reported
	}
}

// client sends requests over one connection until the load stops. It never reconnects or retries:
// any error is a failure.
func (l *load) client(path string) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(l.p.URL, "http://"))
	if err != nil {
		l.fail("%v", err)
		return
	}
	defer conn.Close()
	responses := bufio.NewReader(conn)
	pace := time.NewTicker(50 * time.Millisecond)
	defer pace.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-pace.C:
		}
		if err := l.request(conn, responses, path); err != nil {
			l.fail("%s: %v", path, err)
			return
		}
	}
}

func (l *load) request(conn net.Conn, responses *bufio.Reader, path string) error {
	least := l.applied.Load()
	if err := conn.SetDeadline(time.Now().Add(harness.Patience)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		return err
	}
	resp, err := http.ReadResponse(responses, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode != 200 || resp.Close:
		return fmt.Errorf("got %d %.200s, connection to be closed: %v", resp.StatusCode, body, resp.Close)
	}
	l.sent.Add(1)
	if path != "/version" {
		return nil
	}
	n, err := strconv.ParseInt(string(body), 10, 64)
	if newest := l.written.Load(); err != nil || n < least || n > newest || n%2 != 0 {
		return fmt.Errorf("version %s is served, want an even one from %d to %d", body, least, newest)
	}
	return nil
}

func TestReload_UnderLoad(t *testing.T) {
	t.Parallel()
	NeedsProcess(t) // its memory is measured
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("no /proc here")
	}
	const clients, warmUp = 64, 40
	reloads := 200
	if !volume.Full() {
		reloads = warmUp + 10
	}
	dir := t.TempDir()
	harness.WriteFile(t, dir, "kept.json", `{"kept": true}`)
	l := &load{
		p:      Start(t, "-c", harness.WriteFile(t, dir, "mock.yml", versionFile(0))),
		failed: make(chan string, 10),
		stop:   make(chan struct{}),
	}
	for i := range clients {
		path := "/version"
		if i%16 == 0 {
			path = "/file"
		}
		l.clients.Go(func() { l.client(path) })
	}
	var before Usage
	for n := 1; n <= reloads; n++ {
		l.reload(dir, n)
		if n == warmUp {
			before = l.p.Usage()
		}
	}
	after := l.p.Usage()
	close(l.stop)
	l.clients.Wait()
	close(l.failed)
	for failure := range l.failed {
		t.Errorf("a request failed: %s", failure)
	}
	t.Logf("%d requests; before %+v, after %+v", l.sent.Load(), before, after)
	if l.sent.Load() < clients {
		t.Errorf("only %d requests were answered", l.sent.Load())
	}
	// The versions read after the warm-up hold 19 MiB of bodies, more than the garbage collector's
	// slack.
	if growth := after.RSS - before.RSS; growth > 15<<10 && volume.Full() && !Race {
		t.Errorf("memory grew by %d KiB, from %d", growth, before.RSS)
	}
	if after.Threads > before.Threads+4 || after.Descriptors > before.Descriptors+4 {
		t.Errorf("got %+v, want no more threads and descriptors than %+v", after, before)
	}
}

// reload replaces the configuration with version n, a broken one if n is odd, and waits until the
// server has processed it.
func (l *load) reload(dir string, n int) {
	t := l.p.T
	t.Helper()
	content, outcome := versionFile(n), "configuration reloaded"
	if n%2 != 0 {
		content, outcome = content+"- endpoint: {path: /broken, respons: {}}\n", "last good configuration"
	} else {
		l.written.Store(int64(n))
	}
	lines := len(l.p.Output())
	rename(t, harness.WriteFile(t, dir, "next", content), filepath.Join(dir, "mock.yml"))
	l.p.Signal(syscall.SIGHUP)
	l.p.WaitLine(lines, outcome, "SIGHUP")
	if n%2 == 0 {
		l.applied.Store(int64(n))
	}
}
