package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// Every example gives the same answers over every protocol as over HTTP in clear text.
func TestExamples_ReplyInEveryWay(t *testing.T) {
	t.Parallel()
	for way, proto := range TestedWays() {
		for name, calls := range exampleCalls {
			t.Run(way+" "+name, func(t *testing.T) {
				t.Parallel()
				checkCalls(t, StartBy(t, way, "-c", File("examples", name)), calls)
			})
		}
		t.Run(way+" latency.yml", func(t *testing.T) {
			t.Parallel()
			p := StartBy(t, way, "-c", File("examples", "latency.yml"))
			if a := p.Get("/fixed"); a.Status != 200 || a.Proto != proto {
				t.Errorf("got %d %s by %s, want 200 by %s", a.Status, a.Body, a.Proto, proto)
			}
		})
		t.Run(way+" petstore.yml", func(t *testing.T) {
			t.Parallel()
			if a := StartBy(t, way, "-c", File("examples", "petstore.yml"), "--no-webhooks").Get("/v1/pets"); a.Status != 200 {
				t.Errorf("got %d %s", a.Status, a.Body)
			}
		})
		if proto != "HTTP/1.1" { // a WebSocket begins with an upgrade
			continue
		}
		t.Run(way+" websocket.yml", func(t *testing.T) {
			t.Parallel()
			p := StartBy(t, way, "-c", File("examples", "websocket.yml"))
			conn, _, err := websocket.Dial(t.Context(), p.URL+"/rooms/7?as=ann", &websocket.DialOptions{HTTPClient: &http.Client{Transport: &http.Transport{TLSClientConfig: p.TLS}}})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.CloseNow() }()
			if err = conn.Write(t.Context(), websocket.MessageText, []byte("ping")); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{`{"welcome":"ann"`, "pong"} {
				if _, got, err := conn.Read(t.Context()); err != nil || !strings.HasPrefix(string(got), want) {
					t.Errorf("got %q, %v, want %s", got, err, want)
				}
			}
		})
	}
}
