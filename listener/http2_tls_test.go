package listener_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"testing"

	"mockserver/config"
	"mockserver/listener"
	"mockserver/listener/certs"
	"mockserver/listener/record"
)

// What is known of a TLS connection is known to its streams, in templates, conditions and the journal.
func TestHTTP2_KnowsTLS(t *testing.T) {
	const text = `
- endpoint: {path: /tls, if: tls.version = 1.3, response: {body: "{{tls.version}} {{tls.sni}}"}}
- endpoint: {path: /late, latency: {min: 1ms, max: 1ms}, if: tls.version = 1.3, response: {body: "{{tls.version}} {{tls.sni}}"}}
`
	server := started(t, config.Parse("m.yml", []byte(text)), listener.Options{TLS: &certs.Options{Auto: true}, Record: &record.Options{}})
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(server.CA())
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "shop.test"}}
	defer transport.CloseIdleConnections()
	for _, path := range []string{"/tls", "/late"} {
		resp, err := (&http.Client{Transport: transport}).Get("https://" + server.Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if resp.ProtoMajor != 2 || string(body) != "1.3 shop.test" || err != nil {
			t.Errorf("%s: %s %q, %v", path, resp.Proto, body, err)
		}
	}
	for _, x := range server.Journal() {
		if x.TLS == nil || string(x.TLS.Version) != "1.3" {
			t.Errorf("the journal has TLS %v", x.TLS)
		}
	}
}
