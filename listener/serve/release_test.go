package serve

import (
	"io"
	"log/slog"
	"mockserver/internal/harness"
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
	var log harness.Log
	s := configured(t, "- endpoint: {path: /a, response: {body: x}, webhook: {method: POST, url: 'http://127.0.0.1:1/', sleep-time: 3600}}")
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	s.openWebhooks(t)
	client, inner := net.Pipe()
	defer client.Close()
	l := generally(s, stopping())
	conn := l.Adopt(unwritable{inner})
	go func() { _, _ = io.WriteString(client, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n") }() // an error shows when the answer is read
	s.ServeConnection(conn)
	pending, _ := s.Webhooks.List(1)
	if len(pending) != 1 || pending[0].Due.IsZero() || !strings.Contains(log.String(), "panic while serving a connection") {
		t.Errorf("pending are %v; the log says\n%s", pending, &log)
	}
}
