package wire

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

// inTurn is a connection on which each read returns one request.
type inTurn struct {
	net.Conn
	requests []string
}

func (s *inTurn) Read(b []byte) (int, error) {
	if len(s.requests) == 0 {
		return 0, io.EOF
	}
	n := copy(b, s.requests[0])
	s.requests = s.requests[1:]
	return n, nil
}
func (s *inTurn) SetReadDeadline(time.Time) error { return nil }
func (s *inTurn) Close() error                    { return nil }

// A repeated request looks the same to the code that answers it, whatever that code did to the
// bytes of the previous request. A request that differs in any byte is not a repetition.
func TestAgain_IsAsAtFirst(t *testing.T) {
	request := func(path, body, more string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\n%sContent-Length: %d\r\n\r\n%s", path, more, len(body), body)
	}
	long := "X: " + strings.Repeat("x", longestLast) + "\r\n"
	var sent []string
	for _, r := range []string{
		request("/a", "one", ""), request("/a", "two", ""), request("/b", "two", ""), request("/a", "one", ""), request("/a", "", ""),
		request("/long", "x", long), request("/long", "y", long), request("/a", "one", ""),
	} {
		sent = append(sent, r, r, r)
	}
	l := New(nil, slog.New(slog.DiscardHandler))
	var got []string
	served(l, stub{plain: func(_ *Connection, p *Plain) error {
		got = append(got, string(p.Bytes))
		if whole := fmt.Sprintf("%s %s HTTP/1.1\r\n%s%s", p.Method, p.Target, p.Header, p.Body); whole != string(p.Bytes) || string(p.Host) != "a" {
			t.Errorf("%q is taken for %q, with the host %q", p.Bytes, whole, p.Host)
		}
		copy(p.Bytes[:cap(p.Bytes)], bytes.Repeat([]byte("answer"), 200))
		return nil
	}})
	if err := l.Adopt(&inTurn{requests: sent}).Serve(); err != nil {
		t.Errorf("then got %v", err)
	}
	for i, want := range sent {
		if i >= len(got) || got[i] != want {
			t.Fatalf("request %d of %d: got %q, want %q", i, len(sent), got[min(i, len(got)-1)], want)
		}
	}
}

// After a request that is not plain, the next request does not count as a repetition of an earlier
// one.
func TestAgain_NotAfterAnother(t *testing.T) {
	const plain, other = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n"
	w := Connection{from: New(nil, nil)}
	w.from.MaxBody = 1
	room := make([]byte, MaxHeader)
	for i, c := range []struct {
		request string
		again   bool
	}{{plain, false}, {plain, true}, {"", false}, {plain, false}, {plain, true}, {other, false}, {plain, false}, {plain, true}, {plain[:9], false}} {
		b := room[:copy(room, c.request)]
		if got := w.repeats(b); got != c.again {
			t.Errorf("%d: %q again: %t", i, c.request, got)
		}
		_, _ = w.look(b) // no request here is an error
		w.head = head{}
	}
	elsewhere := []byte(plain)
	if w.isPlain = false; w.repeats(elsewhere) {
		t.Error("the first request is repeated")
	}
}
