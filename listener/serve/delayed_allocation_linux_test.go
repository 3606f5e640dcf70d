//go:build !race

package serve

import (
	"io"
	"net"
	"runtime/debug"
	"testing"
)

// A request that waits without a goroutine, the reply that it waits for, and parking its connection
// again allocate next to nothing.
func TestAllocations_OfDelayedReplies(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would empty the pools
	s := recordingNothingSlow(t, "- endpoint: {path: /late, latency: {min: 100ms, max: 100ms}, response: {body: late}}")
	s.returned = make(chan struct{}, 10000)
	s.listen(t)
	const many = 200
	var all [many]net.Conn
	for i := range all {
		var err error
		if all[i], err = net.Dial("tcp", s.address); err != nil {
			t.Fatal(err)
		}
		defer all[i].Close()
	}
	request, response := []byte("GET /late HTTP/1.1\r\nHost: a\r\n\r\n"), make([]byte, 1<<10)
	size := 0
	got := testing.AllocsPerRun(2, func() {
		for _, conn := range all {
			if _, err := conn.Write(request); err != nil {
				t.Fatal(err)
			}
		}
		for _, conn := range all {
			n, err := io.ReadAtLeast(conn, response, max(size, 1))
			if size = n; err != nil {
				t.Fatal(err)
			}
		}
	}) / many
	const most = 3 // two by the test, which starts a goroutine for each request; one for the copy by which wire knows repeated ones
	if got > most+0.5 {
		t.Errorf("got %v allocations, want at most %d", got, most)
	}
}
