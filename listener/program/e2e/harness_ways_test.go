package e2e_test

import (
	"crypto/tls"
	"crypto/x509"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"mockserver/internal/harness/volume"
)

// Ways contains the ways in which the client of StartBy can connect to the program, with their
// protocols: HTTP/1.1 and HTTP/2, in clear text and over TLS.
var Ways = map[string]string{"http": "HTTP/1.1", "https": "HTTP/1.1", "h2": "HTTP/2.0", "h2c": "HTTP/2.0"}

// TestedWays returns all ways at full volume, otherwise one for each protocol.
func TestedWays() map[string]string {
	ways := maps.Clone(Ways)
	if !volume.Full() {
		delete(ways, "https")
		delete(ways, "h2c")
	}
	return ways
}

// StartBy starts the program as Start does, with a client that connects to it only in the given
// way, which is one of Ways.
func StartBy(t *testing.T, way string, args ...string) *Process {
	t.Helper()
	own := newClient()
	transport := own.Transport.(*http.Transport)
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(way == "http" || way == "https")
	transport.Protocols.SetHTTP2(way == "h2")
	transport.Protocols.SetUnencryptedHTTP2(way == "h2c")
	if way == "http" || way == "h2c" {
		p := Start(t, args...)
		t.Cleanup(transport.CloseIdleConnections) // before the program ends, which would wait for them
		p.client = own
		return p
	}
	dir := t.TempDir()
	p := Start(t, append(args, "--tls", "auto", "--tls-dir", dir)...)
	t.Cleanup(transport.CloseIdleConnections)
	text, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		t.Fatalf("ca.pem holds no certificate: %s", text)
	}
	p.TLS = &tls.Config{RootCAs: pool}
	transport.TLSClientConfig = p.TLS
	p.client = own
	return p.Listening()
}
