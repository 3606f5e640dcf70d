package serve

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"mockserver/listener/protocol/wire"
)

// An HTTP/2 connection without a stream has no goroutine, and is served again when its client sends
// something, leaves, or the server stops.
func TestHTTP2_IsParked(t *testing.T) {
	t.Parallel()
	example := httptest.NewTLSServer(nil) // for its certificate
	defer example.Close()
	for name, end := range map[string]func(s *testServer, transport *http.Transport){
		"the client leaves":  func(_ *testServer, transport *http.Transport) { transport.CloseIdleConnections() },
		"the server stops":   func(s *testServer, _ *http.Transport) { s.stop() },
		"the server is left": func(s *testServer, _ *http.Transport) { s.HTTP2.Cut(); s.connections.CloseAll() },
	} {
		for _, scheme := range []string{"http", "https"} {
			t.Run(name+", "+scheme, func(t *testing.T) {
				t.Parallel()
				s := configured(t, "- endpoint: {path: /, response: {body: hello}}")
				s.handshake = func(_ *wire.Connection, socket net.Conn) (*tls.Conn, error) {
					conn := tls.Server(socket, &tls.Config{Certificates: example.TLS.Certificates, NextProtos: []string{"h2"}})
					return conn, conn.Handshake()
				}
				s.returned = make(chan struct{}, 10)
				s.listen(t)
				transport := &http.Transport{Protocols: new(http.Protocols), TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
				transport.Protocols.SetHTTP2(true)
				transport.Protocols.SetUnencryptedHTTP2(true)
				defer transport.CloseIdleConnections()
				for i := range 2 {
					resp, err := (&http.Client{Transport: transport}).Get(scheme + "://" + s.address)
					if err != nil {
						t.Fatal(err)
					}
					b, err := io.ReadAll(resp.Body)
					if string(b) != "hello" || err != nil || resp.ProtoMajor != 2 || s.connections.Count() != 1 {
						t.Errorf("request %d got %q over HTTP/%d, %v", i, b, resp.ProtoMajor, err)
					}
					_ = resp.Body.Close()
					<-s.returned
				}
				end(s, transport)
				<-s.returned
				if open, n := s.connections.Count(), s.HTTP2.CutOff(); open+n > 0 {
					t.Errorf("%d connections are open, %d requests were cut off", open, n)
				}
			})
		}
	}
}
