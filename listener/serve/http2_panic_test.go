package serve

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mockserver/fetcher"
	"mockserver/listener/reply"
)

// A panic affects only its own stream, which gets a 500, whether or not the answer may take long.
func TestHTTP2_APanicIsOneReply(t *testing.T) {
	s := recordingServer(t, `
- endpoint: {path: /brief, response: {body: "{{path}}"}}
- endpoint: {path: /late, latency: {min: 1ms, max: 1ms}, response: {body: "{{path}}"}}
- endpoint: {path: /fine, response: {body: fine}}
`, 0)
	stop := s.listen(t)
	broken := *s.snapshot.Load().Snapshot
	broken.Responses = slices.Clone(broken.Responses)
	for i := range 2 {
		broken.Responses[i].Template = broken.Responses[2].Template // endpoint 2 has no template
		broken.Responses[i].Source = &fetcher.Source{}              // it has no loader: asking it for a body panics
	}
	s.snapshot.Store(&world{Snapshot: &broken})
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	for _, path := range []string{"/brief", "/late", "/fine", "/brief"} {
		resp, err := (&http.Client{Transport: transport}).Get("http://" + s.address + path)
		if err != nil {
			t.Fatal(path, err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if fails := path != "/fine"; (resp.StatusCode == 500) != fails || strings.Contains(string(body), reply.InternalError.Code) != fails {
			t.Errorf("%s: got %d %s", path, resp.StatusCode, body)
		}
	}
	counts := s.Recorder.Counts()
	if counts.Endpoints[0].Statuses[500] != 2 || counts.Endpoints[1].Statuses[500] != 1 || counts.InFlight != 0 {
		t.Errorf("got %+v", counts)
	}
	transport.CloseIdleConnections()
	stop()
}
