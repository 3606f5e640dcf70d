package e2e_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mockserver/internal/harness"
)

// loopback listens on a free port and calls a function for each connection.
func loopback(t *testing.T, each func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			go each(c)
		}
	}()
	return PortOf(t, l.Addr().String())
}

func TestHealth_SomethingOtherThanAMockServer(t *testing.T) {
	t.Parallel()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := PortOf(t, gone.Addr().String())
	gone.Close()
	other := httptest.NewUnstartedServer(http.NotFoundHandler())
	other.Config.DisableGeneralOptionsHandler = true // net/http would answer OPTIONS * for it
	other.Start()
	t.Cleanup(other.Close)
	speaks := func(text string) string {
		return loopback(t, func(c net.Conn) {
			_, _ = bufio.NewReader(c).ReadString('\n') // the content of the request does not matter
			_, _ = io.WriteString(c, text)
			_ = c.Close()
		})
	}
	for _, c := range []struct {
		name string
		port string
		says []string
	}{
		{"nothing listens", free, []string{"127.0.0.1:" + free, "does not answer", "connection refused"}},
		{"it says nothing", loopback(t, func(net.Conn) {}), []string{"does not answer", "deadline exceeded"}},
		{"it begins an answer", speaks("HTTP/1.1 200 OK\r\nContent-"), []string{"does not answer", "malformed"}},
		{"it closes", speaks(""), []string{"does not answer", "EOF"}},
		{"it speaks another protocol", speaks("SSH-2.0-OpenSSH_9.9\r\n"), []string{"does not answer", "SSH-2.0"}},
		{"it is another HTTP server", PortOf(t, other.URL), []string{"status 404"}},
		{"its port is unknown", "0", []string{"port 0", "--port"}},
		{"its port is none", "http", []string{"PORT", "65535"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := Refused(t, []string{"PORT=" + c.port}, "health")
			if code != 1 || stdout != "" || strings.Count(stderr, "\n") != 1 || !containsAll(stderr, c.says) {
				t.Errorf("got exit code %d, %q and %q, want 1, nothing and one line with %q", code, stdout, stderr, c.says)
			}
		})
	}
}

func TestHealth_AServerThatResponds(t *testing.T) {
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", One("fine"))
	for _, c := range []struct {
		name, host string
		asked      string // HOST of the request; "" if not set
		reached    string
	}{
		{"on all IPv4 addresses", "0.0.0.0", "0.0.0.0", "127.0.0.1"},
		{"on all IPv4 addresses, asked with the default", "0.0.0.0", "", "127.0.0.1"},
		{"on one address", "127.0.0.1", "127.0.0.1", "127.0.0.1"},
		{"by its name", "localhost", "localhost", "localhost"},
		{"on all addresses", "::", "::", "127.0.0.1"},
		{"on IPv6", "::1", "[::1]", "[::1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(c.host, ":") {
				l, err := net.Listen("tcp", "[::1]:0")
				if err != nil {
					t.Skip("this machine has no IPv6")
				}
				l.Close()
			}
			p := Launch(t, []string{"HOST=" + c.host}, "-c", file).Listening()
			port := PortOf(t, p.URL)
			for _, env := range [][]string{{"HOST=" + c.asked, "PORT=" + port}, {"HOST=" + c.asked, "PORT=" + port, "CONFIG=/no/such/file.yml"}} {
				code, stdout, stderr := Refused(t, env, "health")
				if code != 0 || stderr != "" || !containsAll(stdout, []string{"healthy: " + c.reached + ":" + port}) {
					t.Errorf("%v: got exit code %d, %q and %q, want 0, that it is healthy, and nothing", env, code, stdout, stderr)
				}
			}
			if code, _, stderr := Refused(t, []string{"PORT=1", "HOST=" + c.asked}, "health", "--port", port); code != 0 {
				t.Errorf("asked with --port: got exit code %d and %q", code, stderr)
			}
		})
	}
}

func TestHealth_InJSON(t *testing.T) {
	t.Parallel()
	p := Serving(t, One("fine"))
	for port, want := range map[string]struct {
		code       int
		level, msg string
	}{PortOf(t, p.URL): {0, "INFO", "healthy"}, "0": {1, "ERROR", "not healthy"}} {
		code, stdout, stderr := Refused(t, []string{"PORT=" + port}, "health", "-f", "json")
		var line struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(stdout+stderr), &line); err != nil || code != want.code || line.Level != want.level || line.Msg != want.msg {
			t.Errorf("port %s: got exit code %d and %q %q (%v), want %+v", port, code, stdout, stderr, err, want)
		}
	}
}

// OPTIONS * is a request to the server, not to an endpoint (RFC 9110, section 9.3.7).
func TestHealth_ThePingTouchesNoEndpoint(t *testing.T) {
	t.Parallel()
	p := Serving(t, `
- endpoint: {method: OPTIONS, path: "/*rest", response: {status: 418, body: 'options {{counter("asked")}}'}}
- endpoint: {path: "/*rest", response: {status: 418, body: 'get {{counter("asked")}}'}}
`, "--unmatched-status", "599")
	c, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	responses := bufio.NewReader(c)
	for range 2 { // the connection stays open
		if _, err := io.WriteString(c, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(responses, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != 200 || len(body) != 0 || resp.Header.Get("Content-Length") != "0" || resp.Close {
			t.Errorf("got %d %q with %v, %v, want 200 and an empty body", resp.StatusCode, body, resp.Header, err)
		}
	}
	p.Get("/a").Want(t, 418, "get 1")
	// No other target is treated that way.
	if a := p.Do("POST", "/a", ""); a.Status != 599 {
		t.Errorf("POST /a: got %d, want 599", a.Status)
	}
	p.WaitLine(0, "unmatched request", "POST")
	for _, line := range p.Output() {
		if strings.Contains(line, "unmatched request") && !strings.Contains(line, "POST") {
			t.Errorf("it is logged: %s", line)
		}
	}
}
