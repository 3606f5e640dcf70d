package bench

import (
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"testing"
)

// The bare server answers with the given body, and only with the headers Content-Length,
// Content-Type and Date.
func TestServeBare(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- serveBare(l, "text/plain", []byte("hello")) }()
	response, err := http.Get("http://" + l.Addr().String() + "/any")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || string(body) != "hello" || response.StatusCode != 200 {
		t.Errorf("%d %q %v", response.StatusCode, body, err)
	}
	names := slices.Sorted(maps.Keys(response.Header))
	if !slices.Equal(names, []string{"Content-Length", "Content-Type", "Date"}) {
		t.Errorf("headers %v", names)
	}
	http.DefaultClient.CloseIdleConnections()
	_ = l.Close()
	if err := <-served; err != nil {
		t.Errorf("it ended with %v", err)
	}
}
