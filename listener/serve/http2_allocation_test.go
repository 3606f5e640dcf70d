//go:build !race

package serve

import (
	"bytes"
	"io"
	"net"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A stream that is answered inline allocates only what x/net needs for a HEADERS frame, plus what
// its template needs: see TestAllocations_OfTheWholePath.
func TestHTTP2_Allocations(t *testing.T) {
	s := recordingNothingSlow(t, measured)
	s.listen(t)
	for _, c := range []struct {
		path string
		most float64
	}{{"/static", 1}, {"/empty", 1}, {"/users/abc", 3}, {"/search?q=a%20b", 2}} {
		t.Run(c.path, func(t *testing.T) {
			if got := streamAllocations(t, s.address, c.path); got > c.most {
				t.Errorf("got %v allocations, want at most %v", got, c.most)
			}
		})
	}
}

// streamAllocations returns how many allocations a repeated GET request causes.
func streamAllocations(t *testing.T, address, path string) float64 {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var out, block bytes.Buffer
	framer := http2.NewFramer(&out, conn)
	encoder := hpack.NewEncoder(&block)
	id := uint32(1)
	ask := func() {
		block.Reset()
		for _, f := range [...][2]string{{":method", "GET"}, {":scheme", "http"}, {":path", path}, {":authority", "a.test"}, {"user-agent", "x"}} {
			_ = encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true})
		id += 2
		if _, err := conn.Write(out.Bytes()); err != nil {
			t.Fatal(err)
		}
		out.Reset()
	}
	out.WriteString(http2.ClientPreface)
	_ = framer.WriteSettings()
	ask()
	size := 0
	for ended := false; !ended; { // read the response, which always has the same length
		f, err := framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if h := f.Header(); h.StreamID == 1 {
			size += 9 + int(h.Length)
			ended = h.Flags.Has(http2.FlagDataEndStream)
		}
	}
	response := make([]byte, size)
	return testing.AllocsPerRun(500, func() {
		ask()
		if _, err := io.ReadFull(conn, response); err != nil {
			t.Fatal(err)
		}
	})
}
