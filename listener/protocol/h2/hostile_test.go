package h2

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

// The server reacts as expected to what a client must not send, and to unusual input that a client
// may send. Each case names the section of RFC 9113, or of RFC 7541 for header compression.
func TestHostile(t *testing.T) {
	const protocol, stopped, calm = "goaway PROTOCOL_ERROR", "goaway STREAM_CLOSED", "goaway ENHANCE_YOUR_CALM"
	tests := []struct {
		section, name string
		send          func(c *client)
		want          string // for stream 1
	}{
		{"3.4", "settings do not come first", func(c *client) { _, _ = c.Write([]byte(Preface)); c.get(1, "/") }, protocol},
		{"4.1", "reserved bit", func(c *client) { _ = c.WriteRawFrame(http2.FramePing, 0, 1<<31, make([]byte, 8)); c.get(1, "/") }, "200 hello"},
		{"4.1", "unknown frame", func(c *client) { _ = c.WriteRawFrame(0xfa, 0xff, 0, []byte("x")); c.get(1, "/") }, "200 hello"},
		{"4.2", "frame that is too large", func(c *client) { c.open(1, false); _ = c.WriteData(1, true, make([]byte, maxFrame+1)) }, "goaway FRAME_SIZE_ERROR"},
		{"4.3", "malformed header block", func(c *client) {
			_ = c.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, 1, []byte{0xff, 0xff, 0xff, 0xff, 0xff})
		}, "goaway COMPRESSION_ERROR"},
		{"5.1", "data of an idle stream", func(c *client) { _ = c.WriteData(1, true, nil) }, protocol},
		{"5.1", "reset of an idle stream", func(c *client) { _ = c.WriteRSTStream(1, http2.ErrCodeCancel) }, protocol},
		{"5.1", "window of an idle stream", func(c *client) { _ = c.WriteWindowUpdate(1, 1) }, protocol},
		{"5.1", "window of a stream of the server's", func(c *client) { c.get(3, "/wait"); _ = c.WriteWindowUpdate(2, 1) }, protocol},
		{"5.1", "data after the end", func(c *client) { c.get(1, "/wait"); _ = c.WriteData(1, true, []byte("x")) }, "reset STREAM_CLOSED"},
		{"5.1", "headers after the end", func(c *client) { c.get(1, "/wait"); c.get(1, "/") }, stopped},
		{"5.1.1", "even stream", func(c *client) { c.get(2, "/") }, protocol},
		{"5.1.1", "stream below the highest", func(c *client) { c.get(5, "/wait"); c.get(3, "/") }, protocol},
		{"5.3.1", "stream that depends on itself", func(c *client) {
			_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.headers(), EndStream: true, EndHeaders: true, Priority: http2.PriorityParam{StreamDep: 1}})
		}, protocol},
		{"6.1", "padding longer than the frame", func(c *client) {
			c.open(1, false)
			_ = c.WriteRawFrame(http2.FrameData, http2.FlagDataPadded, 1, []byte{9, 'x'})
		}, protocol},
		{"6.2", "headers of stream 0", func(c *client) { c.get(0, "/") }, protocol},
		{"6.2", "padding longer than the headers", func(c *client) {
			_ = c.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersPadded|http2.FlagHeadersEndHeaders, 1, []byte{200, 0x82})
		}, protocol},
		{"6.3", "priority of another length", func(c *client) { _ = c.WriteRawFrame(http2.FramePriority, 0, 1, []byte("1234")) }, "goaway FRAME_SIZE_ERROR"},
		{"6.4", "reset of another length", func(c *client) { c.get(1, "/wait"); _ = c.WriteRawFrame(http2.FrameRSTStream, 0, 1, []byte("123")) }, "goaway FRAME_SIZE_ERROR"},
		{"6.5", "settings of a stream", func(c *client) { _ = c.WriteRawFrame(http2.FrameSettings, 0, 1, nil) }, protocol},
		{"6.5.2", "push that is neither on nor off", func(c *client) { _ = c.WriteSettings(http2.Setting{ID: http2.SettingEnablePush, Val: 2}) }, protocol},
		{"6.5.2", "frame size below the least", func(c *client) { _ = c.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1}) }, protocol},
		{"6.5", "more settings than there are", func(c *client) { _ = c.WriteSettings(make([]http2.Setting, maxSettings+1)...) }, calm},
		{"6.6", "push from a client", func(c *client) {
			c.get(1, "/wait")
			_ = c.WriteRawFrame(http2.FramePushPromise, 4, 1, []byte{0, 0, 0, 2, 0x82})
		}, protocol},
		{"6.7", "ping of another length", func(c *client) { _ = c.WriteRawFrame(http2.FramePing, 0, 0, []byte("1234567")) }, "goaway FRAME_SIZE_ERROR"},
		{"6.9", "window that grows by nothing", func(c *client) {
			c.get(1, "/wait")
			_ = c.WriteRawFrame(http2.FrameWindowUpdate, 0, 1, make([]byte, 4))
		}, "reset PROTOCOL_ERROR"},
		{"6.9.1", "window of a stream that is too large", func(c *client) { c.get(1, "/wait"); _ = c.WriteWindowUpdate(1, 1<<31-1) }, "reset FLOW_CONTROL_ERROR"},
		{"6.9.1", "window of the connection that is too large", func(c *client) { _ = c.WriteWindowUpdate(0, 1<<31-1) }, "goaway FLOW_CONTROL_ERROR"},
		{"6.9.2", "initial window that makes one too large", func(c *client) {
			c.get(1, "/wait")
			_ = c.WriteWindowUpdate(1, 1<<31-1-streamWindow)
			_ = c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow + 1})
		}, "goaway FLOW_CONTROL_ERROR"},
		{"6.9.1", "a body larger than the window", func(c *client) {
			_ = c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
			_ = c.WriteWindowUpdate(0, 1<<20)
			c.open(1, false)
			for range 5 {
				_ = c.WriteData(1, false, make([]byte, maxFrame)) // the server opens the window again only once it reads them
			}
			_ = c.WriteData(1, true, nil)
		}, "200 " + strings.Repeat("\x00", 5*maxFrame)},
		{"6.10", "another frame inside a header block", func(c *client) {
			_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.headers(), EndStream: true})
			_ = c.WritePing(false, [8]byte{})
		}, protocol},
		{"6.10", "a header block that goes on and on", func(c *client) {
			_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.headers("x", strings.Repeat("a", 9000)), EndStream: true})
			for range 120 {
				_ = c.WriteContinuation(1, false, c.headers("x", strings.Repeat("Z", 9000))) // Huffman coding does not make it shorter
			}
		}, calm},
		{"6.10", "empty continuations", func(c *client) {
			_ = c.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: c.headers(), EndStream: true})
			for range maxCheap + 10 {
				_ = c.WriteContinuation(1, false, nil)
			}
		}, calm},
		{"8.1", "trailers that do not end the stream", func(c *client) { c.open(1, false); c.open(1, false, "", "") }, protocol},
		{"8.2", "name in capitals", func(c *client) { c.open(1, true, "X-A", "b") }, "reset PROTOCOL_ERROR"},
		{"8.2", "name with a blank", func(c *client) { c.open(1, true, "x a", "b") }, "reset PROTOCOL_ERROR"},
		{"8.2", "name with a colon", func(c *client) { c.open(1, true, "x:a", "b") }, "reset PROTOCOL_ERROR"},
		{"8.2.1", "value with a line end", func(c *client) { c.open(1, true, "x", "a\r\nevil: 1") }, "reset PROTOCOL_ERROR"},
		{"8.2.1", "value with a zero", func(c *client) { c.open(1, true, "x", "a\x00") }, "reset PROTOCOL_ERROR"},
		{"8.2.1", "value with a blank at its end", func(c *client) { c.open(1, true, "x", "a ") }, "reset PROTOCOL_ERROR"},
		{"8.2.2", "connection", func(c *client) { c.open(1, true, "connection", "close") }, "reset PROTOCOL_ERROR"},
		{"8.2.2", "transfer-encoding", func(c *client) { c.open(1, true, "transfer-encoding", "chunked") }, "reset PROTOCOL_ERROR"},
		{"8.2.2", "te of another kind", func(c *client) { c.open(1, true, "te", "gzip") }, "reset PROTOCOL_ERROR"},
		{"8.2.2", "te", func(c *client) { c.open(1, true, "te", "trailers") }, "200 hello"},
		{"8.3", "pseudo-header field after another", func(c *client) {
			c.open(1, true, ":method", "GET", ":scheme", "http", "x", "y", ":path", "/")
		}, "reset PROTOCOL_ERROR"},
		{"8.3", "pseudo-header field of a response", func(c *client) {
			c.open(1, true, ":method", "GET", ":scheme", "http", ":path", "/", ":status", "200")
		}, "reset PROTOCOL_ERROR"},
		{"8.3.1", "two paths", func(c *client) {
			c.open(1, true, ":method", "GET", ":scheme", "http", ":path", "/", ":path", "/b")
		}, "reset PROTOCOL_ERROR"},
		{"8.3.1", "no path", func(c *client) { c.open(1, true, ":method", "GET", ":scheme", "http") }, "reset PROTOCOL_ERROR"},
		{"8.3.1", "empty path", func(c *client) { c.open(1, true, ":method", "GET", ":scheme", "http", ":path", "") }, "reset PROTOCOL_ERROR"},
		{"8.3.1", "path without a slash", func(c *client) {
			c.open(1, true, ":method", "GET", ":scheme", "http", ":path", "http://b/", ":authority", "a")
		}, "400 the :path does not begin with a slash"},
		{"8.3.1", "no host", func(c *client) { c.open(1, true, ":method", "GET", ":scheme", "http", ":path", "/") }, "400 there is neither :authority nor a Host header"},
		{"8.3.1", "host and authority differ", func(c *client) { c.open(1, true, "host", "b") }, "400 the Host header and :authority differ"},
		{"8.3.1", "host and authority agree", func(c *client) { c.open(1, true, "host", "A") }, "200 hello"},
		{"8.3.1", "another scheme", func(c *client) {
			c.open(1, true, ":method", "GET", ":scheme", "ftp", ":path", "/", ":authority", "a")
		}, "400 the :scheme is neither http nor https"},
		{"8.5", "CONNECT with a path", func(c *client) {
			c.open(1, true, ":method", "CONNECT", ":path", "/", ":scheme", "http", ":authority", "a:1")
		}, "reset PROTOCOL_ERROR"},
		{"8.1.1", "less body than announced", func(c *client) { c.open(1, false, "content-length", "5"); _ = c.WriteData(1, true, []byte("1234")) }, "reset PROTOCOL_ERROR"},
		{"8.1.1", "more body than announced", func(c *client) { c.open(1, false, "content-length", "3"); _ = c.WriteData(1, true, []byte("1234")) }, "reset PROTOCOL_ERROR"},
		{"8.1.1", "two lengths", func(c *client) { c.open(1, true, "content-length", "0", "content-length", "0") }, "reset PROTOCOL_ERROR"},
		{"10.5.1", "more headers than announced", func(c *client) {
			pairs := []string{}
			for range 30 {
				pairs = append(pairs, "x", strings.Repeat("a", 3000)) // sent in full once, then by index
			}
			c.open(1, true, pairs...)
		}, "431 the header fields are larger than 64 KiB"},
		{"7541 4.2", "table larger than allowed", func(c *client) {
			_ = c.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, 1, []byte{0x3f, 0xe2, 0x1f, 0x82})
		}, "goaway COMPRESSION_ERROR"},
		{"7541 6.1", "index 0", func(c *client) {
			_ = c.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, 1, []byte{0x80})
		}, "goaway COMPRESSION_ERROR"},
		{"10.5", "body that is too large", func(c *client) { c.open(1, false, "content-length", "1048577") }, "413 the request body is larger than 1 MiB"},
	}
	s := serve(t, &answers{inline: true}, nil)
	for _, tt := range tests {
		t.Run(tt.section+" "+tt.name, func(t *testing.T) {
			c := s.dial(t)
			if tt.section != "3.4" {
				c.begin()
			}
			tt.send(c)
			if got := c.response(1); got != tt.want && got != tt.want+" " {
				t.Errorf("got %.200q, want %.200q", got, tt.want)
			}
		})
	}
}

// A request whose header fields or trailers are too large is answered with 431, whatever makes them
// so large, and the next request finds all fields in the dynamic table.
func TestHostile_LargeFields(t *testing.T) {
	const fields, trailers = "431 the header fields are larger than 64 KiB", "431 the trailers are larger than 64 KiB"
	plain, short := strings.Repeat("Z", 70_000), strings.Repeat("a", 104_000) // in Huffman coding, short has 65,000 bytes
	var many, large []string
	for range 3000 {
		many = append(many, "many", "fields of a request")
	}
	for _, name := range strings.Split("abcdefghij", "") {
		large = append(large, name, plain)
	}
	s := serve(t, &answers{inline: true}, nil)
	for name, tt := range map[string]struct {
		fields []string
		piece  int // bytes in each frame
	}{
		"a value":                   {[]string{"x", plain}, maxFrame},
		"a value in Huffman coding": {[]string{"x", short}, maxFrame},
		"a name":                    {[]string{strings.ToLower(plain), "y"}, maxFrame},
		"a name in Huffman coding":  {[]string{short, "y"}, maxFrame},
		"a cookie":                  {[]string{"cookie", plain}, maxFrame},
		"large values":              {large, maxFrame},
		"many fields":               {many, maxFrame},
		"a value in small frames":   {[]string{"x", plain}, 100},
	} {
		c := s.dial(t).begin()
		send := func(id uint32, fields ...string) {
			block, kind, flags := c.fields(fields...), http2.FrameHeaders, http2.FlagHeadersEndStream
			for len(block) > tt.piece {
				_ = c.WriteRawFrame(kind, flags, id, block[:tt.piece])
				block, kind, flags = block[tt.piece:], http2.FrameContinuation, 0
			}
			_ = c.WriteRawFrame(kind, flags|http2.FlagHeadersEndHeaders, id, block)
		}
		get := []string{":method", "GET", ":scheme", "http", ":path", "/", ":authority", "a"}
		send(1, slices.Concat(get, []string{"before", "1"}, tt.fields, []string{"after", "2"})...)
		if got := c.response(1); got != fields {
			t.Errorf("%s: got %q", name, got)
		}
		c.open(3, false, "before", "1", "after", "2")
		send(3, slices.Concat(tt.fields, []string{"later", "3"})...)
		if got := c.response(3); got != trailers {
			t.Errorf("%s in trailers: got %q", name, got)
		}
		c.open(5, true, "before", "1", "after", "2", "later", "3")
		if got := c.response(5); got != "200 hello" {
			t.Errorf("after %s: got %q", name, got)
		}
	}
}

// Frames that follow a malformed request on its stream are ignored, and the connection continues.
func TestHostile_AfterAMalformedRequest(t *testing.T) {
	s := serve(t, &answers{inline: true}, nil)
	for name, send := range map[string]func(c *client){
		"nothing":              func(*client) {},
		"data":                 func(c *client) { _ = c.WriteData(1, false, []byte("x")); _ = c.WriteData(1, true, []byte("y")) },
		"data without content": func(c *client) { _ = c.WriteData(1, true, nil) },
		"trailers":             func(c *client) { c.trailers(1, "x", "y") },
		"another request":      func(c *client) { c.get(1, "/") },
		"reset":                func(c *client) { _ = c.WriteRSTStream(1, http2.ErrCodeCancel) },
		"window":               func(c *client) { _ = c.WriteWindowUpdate(1, 100) },
		"priority":             func(c *client) { _ = c.WritePriority(1, http2.PriorityParam{StreamDep: 3}) },
	} {
		c := s.dial(t).begin()
		c.open(1, false, "connection", "close")
		send(c)
		c.get(3, "/")
		if got := c.response(1); got != "reset PROTOCOL_ERROR" {
			t.Errorf("%s: the request got %q", name, got)
		}
		if got := c.response(3); got != "200 hello" {
			t.Errorf("%s: the next request got %q", name, got)
		}
	}
}

// A client that sends more than a thousand frames per second that cost it nothing loses its
// connection.
func TestFlood(t *testing.T) {
	for name, send := range map[string]func(c *client, id uint32){
		"pings":           func(c *client, _ uint32) { _ = c.WritePing(false, [8]byte{}) },
		"settings":        func(c *client, _ uint32) { _ = c.WriteSettings() },
		"acknowledgments": func(c *client, _ uint32) { _ = c.WriteSettingsAck() },
		"priorities":      func(c *client, _ uint32) { _ = c.WritePriority(1, http2.PriorityParam{StreamDep: 3}) },
		"resets": func(c *client, id uint32) {
			c.get(id, "/wait")
			_ = c.WriteRSTStream(id, http2.ErrCodeCancel)
		},
		"resets that the server must send": func(c *client, id uint32) {
			c.open(id, true, "connection", "close")
		},
		"refused bodies": func(c *client, id uint32) {
			c.open(id, false, "content-length", "9999999")
		},
		"streams that are too many": func(c *client, id uint32) { c.get(id, "/wait") },
		"empty data":                func(c *client, _ uint32) { _ = c.WriteData(1, false, nil) },
		"unknown frames":            func(c *client, _ uint32) { _ = c.WriteRawFrame(0xfa, 0, 0, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, &answers{inline: true}, nil)
			c := s.dial(t).begin()
			c.open(1, false)
			c.get(3, "/")
			go func() {
				for i := range uint32(4 * maxCheap) { // the connection ends before all frames are written
					send(c, 5+2*i)
				}
			}()
			if got := c.response(1); got != "goaway ENHANCE_YOUR_CALM" && got != "closed" {
				t.Errorf("got %q", got)
			}
			if err := <-s.ended; err != http2.ConnectionError(http2.ErrCodeEnhanceYourCalm) {
				t.Errorf("the connection ended with %v", err)
			}
		})
	}
}
