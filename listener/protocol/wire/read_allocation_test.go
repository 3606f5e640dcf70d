//go:build !race

package wire

import (
	"log/slog"
	"testing"
)

func TestAllocations_OfReading(t *testing.T) {
	for _, request := range []string{
		"GET /static HTTP/1.1\r\nHost: mock.test\r\nUser-Agent: x\r\nConnection: keep-alive, x\r\n\r\n",
		"POST /orders HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 3\r\nExpect: 100-Continue\r\n\r\nabc",
		inChunks + "3;x=y\r\nabc\r\n0\r\nX-T: 1\r\n\r\n",
		"GET http://mock.test:80/static?a=b HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
	} {
		conn := served(New(nil, slog.New(slog.DiscardHandler)), stub{}).Adopt(&again{request: request})
		wrong := 0
		got := testing.AllocsPerRun(200, func() {
			if conn.next() != nil {
				wrong++
			} else if _, err := conn.answer(); err != nil {
				wrong++
			}
		})
		if got > 0 || wrong > 0 {
			t.Errorf("%q: got %v allocations and %d errors, want none", request, got, wrong)
		}
	}
}
