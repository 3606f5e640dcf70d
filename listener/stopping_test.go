package listener

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"mockserver/config"
	"mockserver/listener/protocol/wire"
	"mockserver/listener/serve"
)

// The accept loop may be serving a connection that is not registered yet: cutOff waits for it,
// but not for long.
func TestCutOff_WaitsForWhatAccepts(t *testing.T) {
	for _, takes := range []time.Duration{0, lastWord / 2, lastWord * 2} {
		synctest.Test(t, func(t *testing.T) {
			s := &Server{drained: make(chan struct{}), calls: new(serve.Server)}
			time.AfterFunc(takes, func() { close(s.drained) })
			begun := time.Now()
			if n := s.cutOff(nil); n != 0 {
				t.Errorf("got %d requests", n)
			}
			if took, want := time.Since(begun), min(takes, lastWord); took != want {
				t.Errorf("accepting ends after %v: the wait was %v, want %v", takes, took, want)
			}
			<-s.drained // the goroutines of a bubble must end
		})
	}
}

// failing is a listener that cannot accept.
type failing struct{ net.Listener }

func (failing) Accept() (net.Conn, error) { return nil, syscall.EINVAL }
func (failing) Close() error              { return nil }

func TestAccept_ThatFailsEndsTheServer(t *testing.T) {
	s := newServer(Options{})
	s.listener = wire.New(failing{}, s.log)
	if err := errors.Join(s.Apply(config.New()), s.openWebhooks(), s.Err()); err != nil {
		t.Fatal(err)
	}
	s.accept()
	<-s.Done()
	if err := s.Err(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("got %v, want the reason why it cannot accept", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Err(); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("after closing: got %v, want the same", err)
	}
}

// elsewhere is a listener that reports another address.
type elsewhere struct {
	net.Listener
	addr net.Addr
}

func (e elsewhere) Addr() net.Addr { return e.addr }

func TestURL(t *testing.T) {
	for _, c := range []struct {
		addr       net.TCPAddr
		want, host string // host is the host that a client extracts from it
	}{
		{net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8000}, "http://127.0.0.1:8000", "127.0.0.1"},
		{net.TCPAddr{IP: net.IPv6unspecified, Port: 8000}, "http://127.0.0.1:8000", "127.0.0.1"},
		{net.TCPAddr{IP: net.ParseIP("::1"), Port: 8000}, "http://[::1]:8000", "::1"},
		{net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 8000, Zone: "eth0"}, "http://[fe80::1%25eth0]:8000", "fe80::1%eth0"},
		{net.TCPAddr{IP: net.ParseIP("fe80::1"), Port: 8000, Zone: "eth 0"}, "http://[fe80::1%25eth%200]:8000", "fe80::1%eth 0"},
	} {
		s := &Server{listener: wire.New(elsewhere{addr: &c.addr}, nil)}
		got := s.URL()
		u, err := url.Parse(got)
		if got != c.want || err != nil || u.Hostname() != c.host {
			t.Errorf("%v: got %s, which is %v, %v, want %s and %s", &c.addr, got, u, err, c.want, c.host)
		}
	}
}

// A WebSocket whose client does not answer the close is cut off, which is no request.
func TestClose_AWebSocketIsNoRequest(t *testing.T) {
	s, err := Start(config.Parse("mock.yml", []byte("- websocket: {path: /echo}")), Options{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, _ = io.WriteString(client, "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n") // the answer shows an error
	in := bufio.NewReader(client)
	if resp, err := http.ReadResponse(in, nil); err != nil || resp.StatusCode != 101 {
		t.Fatalf("got %v, %v", resp, err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("got %v, want nil: the request was answered", err)
	}
	if _, err := io.Copy(io.Discard, in); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
}
