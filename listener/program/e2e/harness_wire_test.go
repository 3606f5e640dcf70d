package e2e_test

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"
	"time"

	"mockserver/internal/harness"
)

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
	_ = c.SetDeadline(time.Now().Add(harness.Patience)) // a TCP connection supports deadlines
	return c
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
