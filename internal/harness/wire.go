package harness

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// SendRaw sends bytes unchanged over a separate connection and returns the response.
func (p *Process) SendRaw(t *testing.T, request string) Answer {
	t.Helper()
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(p.URL, "http://"), Patience)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(Patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%q: %v", request, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return Answer{resp.StatusCode, resp.Proto, resp.Header, string(body), resp.ContentLength}
}

// Dial opens a connection to the server, over TLS if p.TLS is set. No wait on it takes longer than
// Patience.
func (p *Process) Dial() net.Conn {
	p.T.Helper()
	_, address, _ := strings.Cut(p.URL, "://")
	c, err := net.Dial("tcp", address)
	if err != nil {
		p.T.Fatal(err)
	}
	if p.TLS != nil {
		config := p.TLS.Clone()
		config.ServerName, _, _ = net.SplitHostPort(address)
		c = tls.Client(c, config)
	}
	p.T.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(Patience)) // a TCP connection supports deadlines
	return c
}

// Wire sends bytes unchanged over a separate connection and returns everything received until the
// server closes the connection. A failed write does not fail the test: a server may respond and
// close the connection before it has read everything.
func (p *Process) Wire(request string) string {
	p.T.Helper()
	c := p.Dial()
	go func() { _, _ = io.WriteString(c, request) }()
	b, err := io.ReadAll(c)
	if err != nil && len(b) == 0 {
		p.T.Fatalf("no response: %v", err)
	}
	return string(b)
}

// Closing parses a response, which must be everything that the server sent.
func Closing(t *testing.T, raw string) Answer {
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
	return Answer{resp.StatusCode, resp.Proto, resp.Header, string(body), resp.ContentLength}
}

// PortOf returns the port of "host:port" or "http://host:port".
func PortOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return port
}
