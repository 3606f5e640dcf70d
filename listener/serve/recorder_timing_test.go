package serve

import (
	"testing"

	"mockserver/listener/protocol/wire"
)

// BenchmarkRecord measures the cost of recording a request that has a fixed answer, has another
// answer, or matches no endpoint. The connection is in memory, so that no system call hides the
// cost.
func BenchmarkRecord(b *testing.B) {
	for _, way := range []struct{ name, request, body string }{
		{"fixed", "GET /static HTTP/1.1\r\nHost: mock.test\r\nAccept: */*\r\n\r\n", `{"hello": "world"}`},
		{"served", "GET /users/abc HTTP/1.1\r\nHost: mock.test\r\nAccept: */*\r\n\r\n", `{"id": "abc"}`},
		{"unmatched", "GET /nothing HTTP/1.1\r\nHost: mock.test\r\nAccept: */*\r\n\r\n", "\n"},
	} {
		for _, c := range []struct {
			name string
			s    *testServer
		}{
			{"off", configured(b, timed)}, {"on", recordingServer(b, timed, 0)}, {"one-in-1000", recordingServer(b, timed, 1000)}, {"all", recordingServer(b, timed, 1)},
		} {
			b.Run(way.name+"/"+c.name, func(b *testing.B) {
				conns := handling(c.s, wire.New(nil, c.s.Log))
				client := &repeating{request: way.request, left: b.N, body: way.body}
				b.ReportAllocs()
				_ = serveOne(c.s, conns.Adopt(client)) // the answers are counted
				if client.served != b.N {
					b.Errorf("%d answers with the body %s to %d requests", client.served, way.body, b.N)
				}
			})
		}
	}
}
