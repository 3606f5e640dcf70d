package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
)

// result is the outcome of a request that was sent in the background.
type result struct {
	Response
	err error
}

// heldRequest starts a server and sends it a request that is not answered until the upstream
// releases its answer.
func heldRequest(t *testing.T, args ...string) (*Process, *Held, <-chan result) {
	t.Helper()
	u := NewHeld(t)
	p := Serving(t, One("fine")+"- endpoint: {path: /slow, response: {external-body: {provider: json, path: '"+u.URL+"', timeout: 10m}}}\n", args...)
	done := make(chan result, 1)
	go func() {
		a, err := p.Try("GET", "/slow", "")
		done <- result{a, err}
	}()
	select {
	case <-u.Arrived:
	case <-time.After(harness.Patience):
		t.Fatal("the request does not reach the upstream")
	}
	return p, u, done
}

// closed waits until the server accepts no more connections.
func closed(p *Process) {
	p.T.Helper()
	deadline := time.Now().Add(harness.Patience)
	for {
		c, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
		if err != nil {
			return
		}
		_ = c.Close() // nothing was sent
		if time.Now().After(deadline) {
			p.T.Fatal("the server still takes connections")
		}
	}
}

func TestSignal_TermAndIntLetTheRequestsInFlightFinish(t *testing.T) {
	NeedsProcess(t)
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			p, u, done := heldRequest(t)
			p.Signal(s)
			closed(p)
			u.Release()
			got := <-done
			if got.err != nil {
				t.Fatalf("the request in flight failed: %v", got.err)
			}
			got.Want(t, 200, `{"held": true}`)
			if code := p.Exit(); code != 0 {
				t.Errorf("got exit code %d, want 0", code)
			}
		})
	}
}

func TestSignal_IdleConnectionsDoNotDelayTheEnd(t *testing.T) {
	NeedsProcess(t)
	t.Parallel()
	for _, c := range []struct{ name, sent, grace string }{
		// This is less than the 10 min that a connection may be idle.
		{"kept after a request", "GET /a HTTP/1.1\r\nHost: a\r\n\r\n", "9m"},
		// This is less than the 10 s that the server waits for the headers of a request.
		{"that never sent a request", "", "3s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := Serving(t, One("fine"), "--grace", c.grace)
			for range 3 {
				conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				if c.sent == "" {
					continue
				}
				if _, err := io.WriteString(conn, c.sent); err != nil {
					t.Fatal(err)
				}
				if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
			p.Get("/a").Want(t, 200, "fine") // by now those connections are accepted
			p.Stopped()
		})
	}
}

// busy sends requests on one connection, each after the answer to the one before, until an answer
// announces that the connection closes. It calls answered for each answer.
func busy(p *Process, path string, replied func()) error {
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		return err
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	for n := 0; ; n++ {
		if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path); err != nil {
			return fmt.Errorf("request %d: %w", n, err)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return fmt.Errorf("answer %d: %w", n, err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
			return fmt.Errorf("answer %d: status %d, %w", n, resp.StatusCode, err)
		}
		replied()
		if resp.Close {
			return nil
		}
	}
}

// Clients that are busy when the program stops, and never retry, see no error: each is told on its
// connection that the connection closes. A reload and SIGHUP make no difference.
func TestSignal_BusyConnectionsSeeNoError(t *testing.T) {
	NeedsProcess(t)
	t.Parallel()
	for _, signals := range [][]syscall.Signal{
		{syscall.SIGTERM},
		{syscall.SIGINT},
		{syscall.SIGHUP, syscall.SIGTERM, syscall.SIGHUP},
	} {
		t.Run(fmt.Sprint(signals), func(t *testing.T) {
			t.Parallel()
			const clients, before = 16, 16 * 20
			p := Serving(t, One("fine")+"- endpoint: {path: '/made/:id', response: {body: '{{path-params.id}}'}}\n")
			var responses atomic.Int64
			warm := make(chan struct{})
			errs := make(chan error, clients)
			for i := range clients {
				path := "/a"
				if i%2 == 1 {
					path = "/made/1"
				}
				go func() {
					errs <- busy(p, path, func() {
						if responses.Add(1) == before {
							close(warm)
						}
					})
				}()
			}
			select {
			case <-warm:
			case <-time.After(harness.Patience):
				t.Fatal("the clients have no answers")
			}
			for _, s := range signals {
				p.Signal(s)
			}
			for range clients {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
			if code := p.Exit(); code != 0 {
				t.Errorf("got exit code %d, want 0", code)
			}
		})
	}
}

func TestSignal_ASecondOneEndsTheProgramAtOnce(t *testing.T) {
	NeedsProcess(t)
	t.Parallel()
	p, _, _ := heldRequest(t, "--grace", "10m")
	p.Signal(syscall.SIGTERM)
	closed(p)
	p.Signal(syscall.SIGTERM)
	if code := p.Exit(); code == 0 {
		t.Error("got exit code 0, want another")
	}
}

func TestSignal_GraceBoundsTheWait(t *testing.T) {
	NeedsProcess(t)
	t.Parallel()
	patient, u, done := heldRequest(t, "--grace", "10m")
	hasty, _, _ := heldRequest(t, "--grace", "100ms")
	patient.Signal(syscall.SIGTERM)
	closed(patient)
	hasty.Signal(syscall.SIGTERM)
	hasty.Exit()
	select {
	case <-patient.Exited:
		t.Error("a grace period of 10m ended before one of 100ms")
	default:
	}
	u.Release()
	if got := <-done; got.err != nil || got.Status != 200 {
		t.Errorf("the request in flight got %d (%v), want 200", got.Status, got.err)
	}
	if code := patient.Exit(); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
}

// Requests that were sent before the signal are answered, whether or not they have been read
// already.
func TestSignal_RequestsThatWereSentAreServed(t *testing.T) {
	NeedsProcess(t)
	t.Parallel()
	p := Serving(t, One("fine"))
	var conns []net.Conn
	// The server closes a connection that sends nothing for ten seconds, which all of this may take on
	// a busy machine.
	for slow := true; slow; {
		began := time.Now()
		conns = requesting(t, p, 100, "/a")
		slow = time.Since(began) > 5*time.Second
	}
	p.Signal(syscall.SIGTERM)
	for _, conn := range conns {
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
			t.Errorf("got %q, %v", line, err)
		}
	}
	if code := p.Exit(); code != 0 {
		t.Errorf("got exit code %d, want 0", code)
	}
}

// Requests that wait for their latency are answered after the signal, and no connection is reset. With
// MOCKSERVER_VOLUME_TESTS=1, there are 9,000 of them.
func TestSignal_RequestsThatWaitAreServed(t *testing.T) {
	NeedsProcess(t)
	t.Parallel()
	many, latency := 200, "1s"
	if volume.Full() {
		many, latency = 9000, "5s"
	}
	p := Serving(t, One("fine")+"- endpoint: {path: /late, latency: {min: "+latency+"}, response: {body: late}}\n", "--grace", "10m")
	var conns []net.Conn
	for len(conns) < many { // a few at a time, since the server closes a connection that is silent for ten seconds
		conns = append(conns, requesting(t, p, min(many, 500), "/late")...)
	}
	p.Signal(syscall.SIGTERM)
	failed := 0
	for _, conn := range conns {
		all, err := io.ReadAll(conn) // up to the end of the connection
		if text := string(all); err != nil || !strings.HasPrefix(text, "HTTP/1.1 200 ") || !strings.HasSuffix(text, "\r\n\r\nlate") {
			if failed++; failed < 5 {
				t.Errorf("got %q, %v", all, err)
			}
		}
	}
	if code := p.Exit(); code != 0 || failed > 0 {
		t.Errorf("got exit code %d, want 0; %d of %d requests failed", code, failed, many)
	}
}

// requesting returns n connections that were accepted before each of them sent a request for path.
func requesting(t *testing.T, p *Process, n int, path string) (conns []net.Conn) {
	t.Helper()
	for range n {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		conns = append(conns, conn)
	}
	// Connections are accepted in order, so all of them are accepted once a later one has an
	// answer.
	probe, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer probe.Close()
	if _, err := io.WriteString(probe, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(probe).ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
		t.Fatalf("got %q, %v", line, err)
	}
	for _, conn := range conns {
		if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	return conns
}

// A signal stops the program while it is still loading: it never listens. Loading the configuration
// takes a long time, since each of its bodies is a large template.
func TestSignal_IsHeardDuringTheLoad(t *testing.T) {
	NeedsProcess(t)
	t.Parallel()
	dir := t.TempDir()
	harness.WriteFile(t, dir, "big.json", `["`+strings.Repeat("{{path}}{{query-params.a}}", 100_000)+`"]`)
	file := harness.WriteFile(t, dir, "mock.yml", strings.Repeat("- endpoint: {path: /a, response: {external-body: {provider: json, path: big.json}}}\n", 100))
	for _, command := range []string{"serve", "validate"} {
		p := Launch(t, nil, command, "-c", file)
		p.Signal(syscall.SIGTERM) // before the program handles signals, this also stops it
		if code := p.Exit(); code == 0 {
			t.Errorf("%s: got exit code 0, want another", command)
		}
		if out := strings.Join(p.Output(), "\n"); strings.Contains(out, "listening") || strings.Contains(out, "valid:") {
			t.Errorf("%s: the program continued:\n%s", command, out)
		}
	}
}

// The server goes on when the reader of its log has exited.
func TestSignal_AReaderOfTheLogThatExits(t *testing.T) {
	NeedsProcess(t)
	t.Parallel()
	address := Free(t)
	_, port, _ := strings.Cut(address, ":")
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", One("fine"))
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(Program(t), "-c", file, "--host", "127.0.0.1", "--port", port, "--access-log")
	cmd.Env, cmd.Stdout = []string{}, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it fails if the program has ended
	_ = w.Close()                                // the program has it
	if line, err := bufio.NewReader(r).ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	_ = r.Close()
	replied := 0
	harness.Until(t, "the server answers", func() bool {
		resp, err := http.Get("http://" + address + "/a")
		if err == nil {
			_ = resp.Body.Close()
			replied++
		}
		return replied == 20
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
