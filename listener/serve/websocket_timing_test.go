package serve

import (
	"io"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
)

// BenchmarkWebSocketEcho measures a message and its answer over a socket.
func BenchmarkWebSocketEcho(b *testing.B) {
	for _, c := range []struct{ name, path, sent, want string }{
		{"fixed", "/fixed", text("ping"), message(opText, "pong")},
		{"templated", "/echo", text("hello"), message(opText, "hello")},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := started(b, echoing)
			conn, err := net.Dial("tcp", s.address)
			must(b, err)
			defer conn.Close()
			handshake(b, conn, "GET "+c.path+askingEcho[len("GET /echo"):])
			got := make([]byte, len(c.want))
			b.ReportAllocs()
			for b.Loop() {
				_, err := io.WriteString(conn, c.sent)
				must(b, err)
				_, err = io.ReadFull(conn, got)
				must(b, err)
			}
		})
	}
}

// TestWebSocket_MemoryOfIdleConnections opens MOCKSERVER_IDLE_WEBSOCKETS connections, or 200 if the
// variable is not set, each of which has had a message answered, and logs the memory that each
// takes. The sockets of both ends are in this process: the kernel's part is not counted, and the
// client's is small.
func TestWebSocket_MemoryOfIdleConnections(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("MOCKSERVER_IDLE_WEBSOCKETS"))
	if err != nil {
		n = 200
	}
	s := started(t, echoing)
	used := func() (heap, stacks uint64) {
		debug.FreeOSMemory()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, m.StackInuse
	}
	heapBefore, stacksBefore := used()
	var all []net.Conn
	for range n {
		conn := openSocket(t, s)
		defer conn.Close()
		_, err := io.WriteString(conn, text("hello"))
		must(t, err)
		_, err = io.ReadFull(conn, make([]byte, 7))
		must(t, err)
		all = append(all, conn)
	}
	heap, stacks := used()
	each := int64(heap-heapBefore) / int64(len(all))
	stack := (int64(stacks) - int64(stacksBefore)) / int64(len(all))
	t.Logf("%d connections: %d bytes of heap and %d of stacks each", n, each, stack)
	if each > 8<<10 { // the buffers of HTTP alone are 64 KiB and more
		t.Errorf("an idle connection takes %d bytes of heap, want at most 8 KiB", each)
	}
}
