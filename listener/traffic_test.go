package listener_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"mockserver/config"
	"mockserver/config/policy"
	"mockserver/listener"
)

// However many clients send requests at the same time, exactly as many are served as the limit
// allows.
func TestRateLimit_UnderConcurrentClients(t *testing.T) {
	for _, algorithm := range policy.LimitAlgorithms {
		server := start(t, config.Parse("m.yml", []byte(fmt.Sprintf(
			`- endpoint: {path: /, response: {body: ok}, rate-limit: {max-requests: 100, window-ms: 86400000, algorithm: %s}}`, algorithm))), listener.Options{})
		responses := make(chan int, 64*10)
		var clients sync.WaitGroup
		for range 64 {
			clients.Go(func() {
				conn, err := net.Dial("tcp", server.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				in := bufio.NewReader(conn)
				for range 10 {
					if _, err := io.WriteString(conn, toGet("/")); err != nil {
						t.Error(err)
					}
					resp, err := http.ReadResponse(in, nil)
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, resp.Body)
					responses <- resp.StatusCode
				}
			})
		}
		clients.Wait()
		close(responses)
		got := map[int]int{}
		for status := range responses {
			got[status]++
		}
		if got[200] != 100 || got[429] != 540 {
			t.Errorf("%s: got %v, want 100 served and 540 refused", algorithm, got)
		}
	}
}

// crowd fills an endpoint whose requests wait for a remote: one is served, as many as allowed wait,
// and one more is refused. The statuses of the other requests, once known, are sent over the
// channel, with 0 for a request that was not answered.
func crowd(t *testing.T, queue int, remote http.HandlerFunc) (server *listener.Server, others chan int) {
	t.Helper()
	upstream := httptest.NewServer(remote)
	t.Cleanup(upstream.Close)
	server = start(t, config.New(config.Endpoint{
		Path: "/", Capacity: &config.Capacity{Concurrent: 1, Queue: queue},
		Response: config.Response{External: &config.ExternalBody{Provider: "json", Path: upstream.URL}},
	}), listener.Options{})
	others = make(chan int, queue+2)
	for range queue + 2 {
		conn := dial(t, server, toGet("/"))
		go func() {
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				others <- 0
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body) // the body has a known length
			if resp.Close {
				_ = conn.Close() // a server that stops waits for that
			}
			others <- resp.StatusCode
		}()
	}
	if got := <-others; got != http.StatusServiceUnavailable {
		t.Fatalf("the first answer is %d, want 503", got)
	}
	return server, others
}

// Waiting requests are also served within the grace period.
func TestCapacity_TheQueueIsServedBeforeTheEnd(t *testing.T) {
	nothingLeft(t)
	release := make(chan struct{})
	server, others := crowd(t, 5, func(w http.ResponseWriter, _ *http.Request) {
		<-release
		fmt.Fprint(w, "{}")
	})
	stopped := make(chan error, 1)
	go func() { stopped <- server.Shutdown(context.Background()) }()
	for !errors.Is(server.Apply(hello("two")), listener.ErrStopped) { // until the server has begun to stop
		runtime.Gosched()
	}
	close(release)
	for range 6 {
		if got := <-others; got != http.StatusOK {
			t.Errorf("got %d, want 200", got)
		}
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// Once the server has stopped, no request is waiting any more.
func TestCapacity_TheEndEmptiesTheQueue(t *testing.T) {
	nothingLeft(t)
	server, others := crowd(t, 5, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	if err := server.Close(); err == nil || !strings.HasPrefix(err.Error(), "6 requests were cut off") {
		t.Errorf("got %v, want 6 requests cut off", err)
	}
	for range 6 {
		if got := <-others; got != 0 {
			t.Errorf("got %d, want no answer", got)
		}
	}
}
