package listener_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/listener"
	"mockserver/listener/listenertest"
	"mockserver/listener/observe/record"
)

// Of many requests that wait for their latency, those whose clients leave free their places; the
// others are answered when the server stops, whether they are recorded or not, and each counts once.
func TestDelayed_TheEndOfTheServer(t *testing.T) {
	const clients = 200
	for _, options := range []listener.Options{{}, {Record: &record.Options{Journal: record.JournalOptions{Sample: 1}}}} {
		server := listenertest.Start(t, config.Parse("m.yml", fmt.Appendf(nil, `
- endpoint:
    path: "/late/:id"
    latency: {min: 500ms}
    capacity: {concurrent: %d}
    response: {status: 201, headers: {X-Id: "{{path-params.id}}"}, body: "late {{path-params.id}}"}
`, clients)), options)
		ask := func(id int) net.Conn {
			conn := dial(t, server, fmt.Sprintf("GET /late/%d HTTP/1.1\r\nHost: a\r\nOrigin: http://b\r\n\r\n", id))
			if id%2 == 1 {
				_ = conn.Close() // the client leaves
			}
			return conn
		}
		var all []net.Conn
		for id := range clients {
			if conn := ask(id); id%2 == 0 {
				all = append(all, conn)
			}
		}
		if options.Record != nil {
			until(t, "only half of the requests are in progress", func() bool {
				c := server.Counts()
				return c.InFlight == clients/2 && c.Endpoints[0].Requests == clients/2 || c.Endpoints[0].Statuses[201] > 0
			})
		}
		stopped := make(chan error, 1)
		if options.Record != nil { // otherwise it is not known whether all requests have arrived
			go func() { stopped <- server.Shutdown(context.Background()) }()
		}
		for i, conn := range all {
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprint(2 * i)
			body, err := io.ReadAll(resp.Body)
			_ = conn.Close() // otherwise the server waits for what it sends next
			if err != nil || string(body) != "late "+want || resp.StatusCode != 201 || resp.Header.Get("X-Id") != want || resp.Header.Get("Access-Control-Allow-Origin") == "" || resp.Header.Get("Date") == "" {
				t.Errorf("request %s: %d %q, %v, %v", want, resp.StatusCode, body, resp.Header, err)
			}
		}
		if options.Record == nil {
			continue
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if c := server.Counts(); c.InFlight != 0 || c.Endpoints[0].Requests != clients || c.Endpoints[0].Statuses[201] < clients/2 || c.Endpoints[0].Statuses[201]+c.Endpoints[0].Statuses[record.StatusLeft] != clients {
			t.Errorf("the counts are %+v", c.Endpoints[0])
		}
		if late := server.LatencyErrors(); len(late) != 1 || late[0].Count < clients/2 {
			t.Errorf("the latency errors are %+v", late)
		}
		for _, x := range server.Journal() {
			if id := strings.TrimPrefix(x.Target, "/late/"); x.Method != "GET" || x.Host != "a" || x.Status == 201 && string(x.Response.Body) != "late "+id || len(x.Request.Header) != 2 {
				t.Errorf("the journal has %+v", x)
			}
		}
	}
}

// A delayed reply counts for when the next request of its connection arrives.
func TestDelayed_TheNextRequest(t *testing.T) {
	spec := config.Parse("m.yml", []byte("- endpoint: {path: /, latency: {min: 150ms}, response: {body: late}}"))
	server := listenertest.Start(t, spec, listener.Options{Record: &record.Options{}})
	conn := dial(t, server, "")
	for range 3 {
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		response(t, conn)
	}
	if a := server.Counts().Arrivals; a.First != 1 || a.Overlapping != 0 || a.Idle.Count != 2 {
		t.Errorf("%d requests were the first, %d overlapping, and %d came after an idle time; want 1, 0, 2", a.First, a.Overlapping, a.Idle.Count)
	}
}
