package serve

import (
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mockserver/fetcher"
	"mockserver/listener/observe/record"
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

// A panic after a wait without a goroutine ends its own connection, and no other request: its place is
// freed all the same.
func TestDelayed_APanicEndsItsConnection(t *testing.T) {
	s := recordingServer(t, `
- endpoint: {path: /late, latency: {min: 100ms, max: 100ms}, capacity: {concurrent: 1, queue: 0}, response: {body: late}}
`, 0)
	s.returned = make(chan struct{}, 10)
	defer s.listen(t)()
	intact := s.snapshot.Load()
	broken := *intact.Snapshot
	broken.Responses = slices.Clone(broken.Responses)
	broken.Responses[0].Counters = &record.Counters{} // it has no lanes: recording the request panics
	for i, w := range []*world{{Snapshot: &broken}, intact} {
		s.snapshot.Store(w)
		conn, err := net.Dial("tcp", s.address)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "GET /late HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n") // an error shows in the response
		got, err := io.ReadAll(conn)
		if answered := strings.HasPrefix(string(got), "HTTP/1.1 200 OK"); err != nil || answered != (i == 1) {
			t.Errorf("request %d: got %q, %v", i, got, err)
		}
		_ = conn.Close()
	}
}
