package listener

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
)

// unwritable is a connection that panics when it is written to.
type unwritable struct{ net.Conn }

func (unwritable) Write([]byte) (int, error) { panic("a defect") }

// Whatever ends a connection, the delays of its accepted webhooks begin: a webhook whose delay
// never began would stay pending forever.
func TestServeConnection_APanicReleasesWebhooks(t *testing.T) {
	var log logged
	s := configured(t, "- endpoint: {path: /a, response: {body: x}, webhook: {method: POST, url: 'http://127.0.0.1:1/', sleep-time: 3600}}")
	s.calls.Log = slog.New(slog.NewTextHandler(&log, nil))
	if err := s.openWebhooks(); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	defer s.calls.Webhooks.Close(ended)
	client, inner := net.Pipe()
	defer client.Close()
	l := generally(s, stopping())
	conn := l.Adopt(unwritable{inner})
	go func() { _, _ = io.WriteString(client, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n") }() // an error shows when the answer is read
	s.calls.ServeConnection(conn)
	pending, _ := s.calls.Webhooks.List(1)
	if len(pending) != 1 || pending[0].Due.IsZero() || !strings.Contains(log.buf.String(), "panic while serving a connection") {
		t.Errorf("pending are %v; the log says\n%s", pending, &log.buf)
	}
}
