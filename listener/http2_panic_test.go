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
	"mockserver/listener/serve"
)

// A panic affects only its own stream, which gets a 500, whether or not the answer may take long.
func TestHTTP2_APanicIsOneReply(t *testing.T) {
	var log logged
	s, err := Start(config.Parse("m.yml", []byte(`
- endpoint: {path: /brief, response: {body: "{{path}}"}}
- endpoint: {path: /late, latency: {min: 1ms, max: 1ms}, response: {body: "{{path}}"}}
- endpoint: {path: /fine, response: {body: fine}}
`)), Options{Record: &record.Options{}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	broken := *s.calls.Snapshot.Load().Snapshot
	broken.Responses = slices.Clone(broken.Responses)
	for i := range 2 {
		broken.Responses[i].Template = broken.Responses[2].Template // endpoint 2 has no template
		broken.Responses[i].Source = &fetcher.Source{}              // it has no loader: asking it for a body panics
	}
	s.calls.Snapshot.Store(&serve.World{Snapshot: &broken})
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
