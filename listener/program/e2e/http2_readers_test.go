//go:build linux

package e2e_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"mockserver/internal/harness"
)

// 2,000 streams whose clients do not read occupy no thread of the process.
func TestHTTP2_SlowReadersHoldNoThread(t *testing.T) {
	NeedsProcess(t)
	t.Parallel()
	const connections, each = 20, 100
	body := strings.Repeat("0123456789", 2000)
	p := Serving(t, "- endpoint: {path: /fixed, response: {body: \""+body+"\"}}\n- endpoint: {path: \"/made/:id\", response: {body: \"{{path-params.id}}"+body+"\"}}\n"+
		"- endpoint: {path: /slow, response: {body: \""+body+"\"}, fault: {type: slow-body, bytes-per-second: 100000}}\n")
	p.Get("/fixed").Want(t, 200, body)
	before := p.Usage().Threads
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	encoder.SetMaxDynamicTableSize(0)
	for range connections {
		conn := p.Dial()
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(harness.Patience))
		framer := http2.NewFramer(conn, conn)
		_, _ = io.WriteString(conn, http2.ClientPreface)
		_ = framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
		for i := range uint32(each) {
			block.Reset()
			path := []string{"/fixed", "/made/7", "/slow"}[i%3]
			for _, f := range []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: path}, {Name: ":authority", Value: "a"}} {
				_ = encoder.WriteField(f)
			}
			if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*i + 1, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}); err != nil {
				t.Fatal(err)
			}
		}
		for begun := map[uint32]bool{}; len(begun) < each; { // wait for the first bytes of each
			f, err := framer.ReadFrame()
			if err != nil {
				t.Fatalf("%d of %d are answered: %v", len(begun), each, err)
			}
			if f.Header().Type == http2.FrameData {
				begun[f.Header().StreamID] = true
			}
		}
	}
	if after := p.Usage().Threads; after > before+10 {
		t.Errorf("%d threads for %d streams, %d before", after, connections*each, before)
	}
	p.Get("/fixed").Want(t, 200, body)
}
