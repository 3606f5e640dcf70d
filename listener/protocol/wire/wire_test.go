package wire

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
)

// reads returns what a server reads when a client sends in pieces: each read, and the error at the
// end.
func reads(sent string, piece int) (all []string, end error) {
	conn := New(nil, slog.New(slog.DiscardHandler)).Adopt(&scripted{sent: []byte(sent), piece: piece})
	for b := make([]byte, MaxHeader); ; {
		n, err := conn.Read(b)
		if n > 0 {
			all = append(all, string(b[:n]))
		}
		if err != nil {
			return all, err
		}
	}
}

// The server reads the same bytes, whatever the pieces in which a client sends them.
func TestWire_PiecesDoNotMatter(t *testing.T) {
	for _, c := range []struct {
		name, sent, want string
		end              error
	}{
		{"heads", twoHeads, twoHeads, io.EOF},
		{"a body between heads", twoHeads + sized + twoHeads, twoHeads + sized + twoHeads, io.EOF},
		{"chunks, their extensions and trailers", inChunks + "3 ;\tx = \"\t;\\\"\x80\" ; z=1\r\nabc\r\n0a\r\n0123456789\r\n0;y\r\nX-T: 1\r\nY:\r\n\r\n" + twoHeads,
			inChunks + "3\r\nabc\r\n0a\r\n0123456789\r\n0\r\n\r\n" + twoHeads, io.EOF},
		{"nothing after the last request", twoHeads + "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" + twoHeads,
			twoHeads + "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", io.EOF},
		{"nothing after a last body", "POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc" + twoHeads, "POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", io.EOF},
		{"a protocol error in a head", twoHeads + "GET /c HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n" + twoHeads, twoHeads, spacedName},
		{"a protocol error at the first byte", "\x16\x03\x01", "", noHTTP},
		{"a protocol error in a chunk", inChunks + "3\r\nabc\r\n-1\r\n" + twoHeads, inChunks + "3\r\nabc\r\n", badSize},
		{"a semicolon without an extension", inChunks + "3;\r\nabc\r\n0\r\n\r\n" + twoHeads, inChunks + "3", badExtension},
		{"a protocol error in a trailer", inChunks + "0\r\nX-T: 1\nY", inChunks + "0\r\n", badTrailer},
		{"an end in a head", twoHeads + "GET /c HTTP/1.1\r\nHos", twoHeads, cutShort},
		{"an end in a body", sized[:len(sized)-1], sized[:len(sized)-1], cutShort},
		{"an end in a trailer", inChunks + "0\r\nX-T: 1\r", inChunks + "0\r\n", cutShort},
		{"blank lines and the end", twoHeads + "\r\n\r\n\r", twoHeads, io.EOF},
		{"LF alone after a header", "GET /c HTTP/1.1\r\nHost: a\r\nX-A: bc\nX-B: d\r\n\r\n", "", bareLF},
		{"LF alone after the request line", "GET /c HTTP/1.11\nHost: a\r\n\r\n", "", bareLF},
		{"LF alone at the end", "GET /c HTTP/1.1\r\nHost: a\r\n\n", "", bareLF},
		{"8 empty lines", strings.Repeat("\r\n", 8) + twoHeads, strings.Repeat("\r\n", 8) + twoHeads, io.EOF},
		{"9 empty lines", strings.Repeat("\r\n", 9) + twoHeads, "", emptyLines},
		{"close, and another line", "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nConnection: keep-alive\r\nConnection: te\r\n\r\n" + twoHeads,
			"GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nConnection: close     \r\nConnection: te\r\n\r\n", io.EOF},
		{"a control character next to close", "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close,a\x00b\r\n\r\n", "", badValue},
		{"a control character after close", "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nConnection: a\x00bcdefg\r\n\r\n", "", badValue},
		{"CR alone after close", "POST /a HTTP/1.1\r\nHost: a\r\nConnection: close,\rTransfer-Encoding: chunked\r\n\r\n", "", badValue},
		{"no Host", "GET /a HTTP/1.1\r\nX: y\r\n\r\n", "", noHost},
		{"no Host in a later version", "GET /a HTTP/1.2\r\n\r\n", "", noHost},
		{"CR before a method", "\rREW /a HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n", "", noHTTP},
		{"a delimiter in a method", "R[W /a HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n", "", noHTTP},
		{"a blank in a target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "", spacedTarget},
		{"HTTP/1.0 that stays in its second header", "GET / HTTP/1.0\r\nConnection: te\r\nConnection: keep-alive\r\n\r\n" + twoHeads,
			"GET / HTTP/1.0\r\nConnection: te\r\nConnection: keep-alive\r\n\r\n", io.EOF},
		{"HTTP/1.0 that stays in a later list", "GET / HTTP/1.0\r\nConnection:\r\nConnection: te, Keep-Alive\r\n\r\n" + twoHeads,
			"GET / HTTP/1.0\r\nConnection:\r\nConnection: te, Keep-Alive\r\n\r\n", io.EOF},
		{"HTTP/1.0 that stays in its first header", "GET / HTTP/1.0\r\nConnection: te,\tKeep-Alive\r\nConnection: te\r\n\r\n" + twoHeads,
			"GET / HTTP/1.0\r\nConnection: te, Keep-Alive\r\nConnection: te\r\n\r\n" + twoHeads, io.EOF},
		{"HTTP/1.0 that closes in its second header", "GET / HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n" + twoHeads,
			"GET / HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", io.EOF},
		{"three spellings", "GET /a HTTP/1.7\r\nHost: a\r\nEXPECT:\t100-Continue \r\nConnection: TE, Close\r\n\r\n",
			"GET /a HTTP/1.1\r\nHost: a\r\nEXPECT:\t100-continue \r\nConnection: close    \r\n\r\n", io.EOF},
		{"an expectation in HTTP/1.0", "GET /a HTTP/1.0\r\nExpect: 100-continue\r\n\r\n", "GET /a HTTP/1.0\r\nExpect: 100-CONTINUE\r\n\r\n", io.EOF},
	} {
		for piece := 1; piece <= len(c.sent); piece++ {
			got, end := reads(c.sent, piece)
			if text := strings.Join(got, ""); text != c.want || !errors.Is(end, c.end) {
				t.Errorf("%s, in pieces of %d: got %q and %v, want %q and %v", c.name, piece, text, end, c.want, c.end)
				break
			}
		}
	}
}

// What a client pipelines after the last request of a connection is read before the connection is
// closed, so that the response is not discarded.
func TestWire_ClosingWaitsForWhatIsBehindTheLastRequest(t *testing.T) {
	const last = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
	for sent, want := range map[string]bool{last: false, last + twoHeads: true} {
		client := &scripted{sent: []byte(sent), piece: len(sent)}
		conn := New(nil, slog.New(slog.DiscardHandler)).Adopt(client)
		if n, err := conn.Read(make([]byte, MaxHeader)); n != len(last) || err != nil {
			t.Errorf("got %d bytes and %v, want %d", n, err, len(last))
		}
		if err := conn.Close(); err != nil || client.ended != want {
			t.Errorf("after %d bytes: it waited %v (%v), want %v", len(sent), client.ended, err, want)
		}
	}
}

// A head is passed on whole, so that it is parsed once.
func TestWire_AHeadComesWhole(t *testing.T) {
	for piece := 1; piece <= len(twoHeads); piece++ {
		got, _ := reads(twoHeads+sized, piece)
		for _, read := range got {
			if strings.HasPrefix(read, "\r\nGET") || strings.HasPrefix(read, "GET") || strings.HasPrefix(read, "POST") {
				if !strings.Contains(read, "\r\n\r\n") {
					t.Errorf("in pieces of %d: got %q", piece, read)
				}
			}
		}
		if heads := strings.Count(strings.Join(got, ""), "HTTP/1."); heads != 3 {
			t.Errorf("in pieces of %d: got %d heads", piece, heads)
		}
	}
}

// Each request is passed on alone, with as much of its body as has arrived: a client may wait for a
// response before it sends more of the next request.
func TestWire_EachRequestComesAlone(t *testing.T) {
	one, other := twoHeads+sized, inChunks+"2;x\r\nab\r\n0\r\nX-T: 1\r\n\r\n"
	first, second := twoHeads[:strings.Index(twoHeads, "\r\n\r\n")+4], twoHeads[strings.Index(twoHeads, "\r\n\r\n")+4:]
	bare := inChunks + "2\r\nab\r\n0\r\n\r\n" // what is read from the other input
	for _, c := range []struct {
		name, sent string
		want       []string
	}{
		{"whole ones", one + other + one, []string{first, second, sized, bare, first, second, sized}},
		{"no body yet", one + sized[:len(sized)-5], []string{first, second, sized, sized[:len(sized)-5]}},
		{"half a body", one + sized[:len(sized)-1], []string{first, second, sized, sized[:len(sized)-1]}},
		{"no chunk yet", one + inChunks, []string{first, second, sized, inChunks}},
		{"half a chunk", one + inChunks + "2\r\na", []string{first, second, sized, inChunks + "2\r\na"}},
		{"half a trailer", one + other[:len(other)-4], []string{first, second, sized, bare[:len(bare)-2]}},
		{"a protocol error in a chunk", one + inChunks + "x", []string{first, second, sized, inChunks}},
		{"the first of all", inChunks + "2\r\na", []string{inChunks + "2\r\na"}},
		{"after a body", sized[:len(sized)-1], []string{sized[:len(sized)-1]}},
	} {
		if got, _ := reads(c.sent, len(c.sent)); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// A line that arrives in many pieces is not searched from its beginning for each piece.
func TestHead_IsSearchedOnce(t *testing.T) {
	var h head
	b := []byte("GET / HTTP/1.1\r\nHost: a\r\nX-Long: xxxx")
	if n, err := h.read(b); n != 0 || err != nil {
		t.Fatalf("got %d and %v", n, err)
	}
	b[len(b)-2] = '\n' // which a search from the beginning would find
	b = append(b, "yyyy\r\n\r\n"...)
	if n, err := h.read(b[:len(b)-5]); n != 0 || err != nil {
		t.Errorf("with more of the line: got %d and %v", n, err)
	}
	b[len(b)-10] = 'x'
	if n, err := h.read(b); n != len(b) || err != nil {
		t.Errorf("at the end: got %d and %v, want %d", n, err, len(b))
	}
}

// An idle connection keeps no memory for the requests it has served.
func TestWire_NothingIsHeldOnceItWasRead(t *testing.T) {
	client := &scripted{sent: []byte(twoHeads + sized + twoHeads[:10]), piece: len(twoHeads + sized)}
	conn := New(nil, slog.New(slog.DiscardHandler)).Adopt(client)
	client.piece -= 3
	b := make([]byte, MaxHeader)
	second := strings.Index(twoHeads, "\r\n\r\n") + 4
	for _, want := range []string{twoHeads[:second], twoHeads[second:]} {
		if n, err := conn.Read(b); string(b[:n]) != want || err != nil || len(conn.held) < len(sized)-3 {
			t.Fatalf("got %q and %v, and %d bytes are held", b[:n], err, len(conn.held))
		}
	}
	if n, err := conn.Read(b); string(b[:n]) != sized[:len(sized)-3] || err != nil || conn.held != nil {
		t.Errorf("got %q and %v, and space for %d bytes", b[:n], err, cap(conn.held))
	}
}

// A head that is too large is a protocol error, after the requests before it.
func TestWire_AHeadThatIsTooLargeIsRefused(t *testing.T) {
	for _, before := range []string{"", twoHeads} {
		sent := before + "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", MaxHeader)
		for _, piece := range []int{len(sent), 1000} {
			got, end := reads(sent, piece)
			if whole := strings.Join(got, ""); whole != before || end != largeHead {
				t.Errorf("after %d bytes, in pieces of %d: got %d bytes and %v", len(before), piece, len(whole), end)
			}
		}
	}
}

// The number of bytes dropped from a body is bounded.
func TestWire_ExtensionsAndTrailersAreBounded(t *testing.T) {
	long := strings.Repeat("x", maxDropped)
	for _, c := range []struct {
		name, sent string
		end        error
	}{
		{"extensions", "1;" + long[1:] + "\r\na\r\n0\r\n\r\n", io.EOF},
		{"longer extensions", "1;" + long + "\r\na\r\n0\r\n\r\n", longExtension},
		{"many extensions", strings.Repeat("1;xxxxxx\r\na\r\n", maxDropped/7+1) + "0\r\n\r\n", longExtension},
		{"trailers", "0\r\nX:" + long[4:] + "\r\n\r\n", io.EOF},
		{"longer trailers", "0\r\nX:" + long[3:] + "\r\n\r\n", largeTrailers},
		{"a later body has its own", "1;" + long[1:] + "\r\na\r\n0\r\n\r\n" + inChunks + "1;" + long[1:] + "\r\na\r\n0\r\n\r\n", io.EOF},
	} {
		if _, end := reads(inChunks+c.sent, 1000); !errors.Is(end, c.end) {
			t.Errorf("%s: got %v, want %v", c.name, end, c.end)
		}
	}
}

// A chunk has exactly the size that it declares.
func TestWire_SizesDoNotOverflow(t *testing.T) {
	for _, c := range []struct {
		size string
		left int
		end  error
	}{
		{"7fffffff\r\n", 1<<31 - 1, nil},
		{strings.Repeat("0", maxDigits-1) + "1\r\n", 1, nil},
		{strings.Repeat("f", maxDigits+1) + "\r\n", 0, badSize},
		{strings.Repeat("0", maxDigits) + "1\r\n", 0, badSize},
	} {
		var w framing
		_, _, err := w.take([]byte(inChunks + c.size))
		if c.end == nil && (err != nil || w.left != c.left) || c.end != nil && !errors.Is(err, c.end) {
			t.Errorf("%q: got %d and %v, want %d and %v", c.size, w.left, err, c.left, c.end)
		}
	}
	for _, c := range []struct {
		value string
		end   error
	}{
		{"999999999999999999", nil}, {"0999999999999999999", badLength}, {"9999999999999999999", badLength},
	} {
		var h head
		if err := h.contentLength([]byte(c.value)); !errors.Is(err, c.end) || err == nil && fmt.Sprint(h.length) != c.value {
			t.Errorf("%s: got %d and %v, want %v", c.value, h.length, err, c.end)
		}
	}
}

func TestAllocations_OfReading(t *testing.T) {
	for _, request := range []string{
		"GET /static HTTP/1.1\r\nHost: mock.test\r\nUser-Agent: x\r\nConnection: keep-alive, x\r\n\r\n",
		"POST /orders HTTP/1.1\r\nHost: [::1]:80\r\nContent-Length: 3\r\nExpect: 100-Continue\r\n\r\nabc",
		inChunks + "3;x=y\r\nabc\r\n0\r\nX-T: 1\r\n\r\n",
		"GET http://mock.test:80/static?a=b HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
	} {
		conn := New(nil, slog.New(slog.DiscardHandler)).Adopt(&again{request: request})
		b := make([]byte, MaxHeader)
		wrong := 0
		got := testing.AllocsPerRun(200, func() {
			if n, err := conn.Read(b); n == 0 || err != nil {
				wrong++
			}
		})
		if got > 0 || wrong > 0 {
			t.Errorf("%q: got %v allocations and %d errors, want none", request, got, wrong)
		}
	}
}
