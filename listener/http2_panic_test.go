package listener

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/fetcher"
	"mockserver/listener/observe/record"
	"mockserver/listener/reply"
)

// A panic affects only its own stream, which gets a 500, whether or not the answer may take long.
func TestHTTP2_APanicIsOneAnswer(t *testing.T) {
	var log logged
	s, err := Start(config.Parse("m.yml", []byte(`
- endpoint: {path: /brief, response: {body: "{{path}}"}}
- endpoint: {path: /late, latency: {min: 1ms, max: 1ms}, response: {body: "{{path}}"}}
- endpoint: {path: /fine, response: {body: fine}}
`)), Options{Record: &record.Options{}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	broken := *s.snapshot.Load()
	broken.answers = slices.Clone(broken.answers)
	for i := range 2 {
		broken.answers[i].template = broken.answers[2].template // endpoint 2 has no template
		broken.answers[i].source = &fetcher.Source{}            // it has no loader: asking it for a body panics
	}
	s.snapshot.Store(&broken)
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	for _, path := range []string{"/brief", "/late", "/fine", "/brief"} {
		resp, err := (&http.Client{Transport: transport}).Get(s.URL() + path)
		if err != nil {
			t.Fatal(path, err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if fails := path != "/fine"; (resp.StatusCode == 500) != fails || strings.Contains(string(body), reply.InternalError.Code) != fails {
			t.Errorf("%s: got %d %s", path, resp.StatusCode, body)
		}
	}
	counts := s.Counts()
	if counts.Endpoints[0].Statuses[500] != 2 || counts.Endpoints[1].Statuses[500] != 1 || counts.InFlight != 0 || counts.Connections != 1 {
		t.Errorf("got %+v", counts)
	}
	transport.CloseIdleConnections()
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}
