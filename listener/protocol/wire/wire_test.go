package wire

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// reads returns the requests that a server reads when a client sends in pieces, with their bodies,
// and why it refuses what follows; "" if it does not.
func reads(sent string, piece int) (all []string, refused string) {
	client := &script{Sent: []byte(sent), Piece: piece}
	l := served(New(nil, slog.New(slog.DiscardHandler)), stub{serve: func(x *Exchange) {
		h := &x.Request.Header
		all = append(all, fmt.Sprintf("%s %s %s\r\n%s%s", h.Method(), h.RequestURI(), h.Protocol(), h.RawHeaders(), x.Request.Body()))
	}, refused: func(_ int, why string) { refused = why }})
	_ = l.Adopt(client).Serve() // the requests show how it ended
	return all, refused
}

// The server reads the same requests, whatever the pieces in which a client sends them.
func TestWire_PiecesDoNotMatter(t *testing.T) {
	heads := strings.Replace(twoHeads, "\r\n\r\n\r\n", "\r\n\r\n", 1)
	for _, c := range []struct {
		name, sent, want string
		end              *ProtocolError
	}{
		{"heads", twoHeads, heads, nil},
		{"a body between heads", twoHeads + sized + twoHeads, heads + sized + heads, nil},
		{"chunks, their extensions and trailers", inChunks + "3 ;\tx = \"\t;\\\"\x80\" ; z=1\r\nabc\r\n0a\r\n0123456789\r\n0;y\r\nX-T: 1\r\nY:\r\n\r\n" + twoHeads,
			inChunks + "abc0123456789" + heads, nil},
		{"nothing after the last request", twoHeads + "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" + twoHeads,
			heads + "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", nil},
		{"nothing after a last body", "POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc" + twoHeads, "POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", nil},
		{"a protocol error in a head", twoHeads + "GET /c HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n" + twoHeads, heads, spacedName},
		{"a protocol error at the first byte", "\x16\x03\x01", "", noHTTP},
		{"a protocol error in a chunk", inChunks + "3\r\nabc\r\n-1\r\n" + twoHeads, "", badSize},
		{"a semicolon without an extension", inChunks + "3;\r\nabc\r\n0\r\n\r\n" + twoHeads, "", badExtension},
		{"a protocol error in a trailer", inChunks + "0\r\nX-T: 1\nY", "", badTrailer},
		{"an end in a head", twoHeads + "GET /c HTTP/1.1\r\nHos", heads, cutShort},
		{"an end in a body", sized[:len(sized)-1], "", cutShort},
		{"an end in a trailer", inChunks + "0\r\nX-T: 1\r", "", cutShort},
		{"blank lines and the end", twoHeads + "\r\n\r\n\r", heads, nil},
		{"LF alone after a header", "GET /c HTTP/1.1\r\nHost: a\r\nX-A: bc\nX-B: d\r\n\r\n", "", bareLF},
		{"LF alone after the request line", "GET /c HTTP/1.11\nHost: a\r\n\r\n", "", bareLF},
		{"LF alone at the end", "GET /c HTTP/1.1\r\nHost: a\r\n\n", "", bareLF},
		{"8 empty lines", strings.Repeat("\r\n", 8) + twoHeads, heads, nil},
		{"9 empty lines", strings.Repeat("\r\n", 9) + twoHeads, "", emptyLines},
		{"close, and another line", "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nConnection: keep-alive\r\nConnection: te\r\n\r\n" + twoHeads,
			"GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nConnection: close     \r\nConnection: te\r\n\r\n", nil},
		{"a control character next to close", "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close,a\x00b\r\n\r\n", "", badValue},
		{"a control character after close", "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nConnection: a\x00bcdefg\r\n\r\n", "", badValue},
		{"CR alone after close", "POST /a HTTP/1.1\r\nHost: a\r\nConnection: close,\rTransfer-Encoding: chunked\r\n\r\n", "", badValue},
		{"no Host", "GET /a HTTP/1.1\r\nX: y\r\n\r\n", "", noHost},
		{"no Host in a later version", "GET /a HTTP/1.2\r\n\r\n", "", noHost},
		{"CR before a method", "\rREW /a HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n", "", noHTTP},
		{"a delimiter in a method", "R[W /a HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n", "", noHTTP},
		{"a blank in a target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "", spacedTarget},
		{"HTTP/1.0 that stays in its second header", "GET / HTTP/1.0\r\nConnection: te\r\nConnection: keep-alive\r\n\r\n" + twoHeads,
			"GET / HTTP/1.0\r\nConnection: te\r\nConnection: keep-alive\r\n\r\n", nil},
		{"HTTP/1.0 that stays in a later list", "GET / HTTP/1.0\r\nConnection:\r\nConnection: te, Keep-Alive\r\n\r\n" + twoHeads,
			"GET / HTTP/1.0\r\nConnection:\r\nConnection: te, Keep-Alive\r\n\r\n", nil},
		{"HTTP/1.0 that stays in its first header", "GET / HTTP/1.0\r\nConnection: te,\tKeep-Alive\r\nConnection: te\r\n\r\n" + twoHeads,
			"GET / HTTP/1.0\r\nConnection: te, Keep-Alive\r\nConnection: te\r\n\r\n" + heads, nil},
		{"HTTP/1.0 that closes in its second header", "GET / HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n" + twoHeads,
			"GET / HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", nil},
		{"three spellings", "GET /a HTTP/1.7\r\nHost: a\r\nEXPECT:\t100-Continue \r\nConnection: TE, Close\r\n\r\n",
			"GET /a HTTP/1.1\r\nHost: a\r\nEXPECT:\t100-continue \r\nConnection: close    \r\n\r\n", nil},
		{"an expectation in HTTP/1.0", "GET /a HTTP/1.0\r\nExpect: 100-continue\r\n\r\n", "GET /a HTTP/1.0\r\nExpect: 100-CONTINUE\r\n\r\n", nil},
		{"no chunk yet", sized + inChunks, sized, cutShort},
		{"half a chunk", sized + inChunks + "2\r\na", sized, cutShort},
		{"a protocol error after a chunk", inChunks + "1\r\nab", "", badChunkEnd},
		{"CR alone after a size", inChunks + "1\rab", "", bareCR},
		{"CR alone at the end", inChunks + "0\r\n\rx", "", bareCR},
	} {
		for piece := 1; piece <= len(c.sent); piece++ {
			got, end := reads(c.sent, piece)
			if text := strings.Join(got, ""); text != c.want || end != what(c.end) {
				t.Errorf("%s, in pieces of %d: got %q and %v, want %q and %v", c.name, piece, text, end, c.want, c.end)
				break
			}
		}
	}
}

// what returns the text of a protocol error; "" for none.
func what(e *ProtocolError) string {
	if e == nil {
		return ""
	}
	return e.What
}

// What a client pipelines after the last request of a connection is read before the connection is
// closed, so that the response is not discarded.
func TestWire_ClosingWaitsForWhatIsBehindTheLastRequest(t *testing.T) {
	const last = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
	for sent, want := range map[string]bool{last: false, last + twoHeads: true} {
		client := &script{Sent: []byte(sent), Piece: len(sent)}
		err := served(New(nil, slog.New(slog.DiscardHandler)), stub{}).Adopt(client).Serve()
		if err != nil || client.Ended != want {
			t.Errorf("after %d bytes: it waited %v (%v), want %v", len(sent), client.Ended, err, want)
		}
	}
}

// A message of another package, which may contain what the client sent, is bounded in length.
func TestRefusal_BoundsTheMessagesOfOthers(t *testing.T) {
	c := Connection{reading: reading{inBody: true}}
	if _, why := c.refusal(errors.New(strings.Repeat("x", 201))); why != strings.Repeat("x", 200)+"…" {
		t.Errorf("got %q", why)
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

// A head that is too large is a protocol error, after the requests before it.
func TestWire_AHeadThatIsTooLargeIsRefused(t *testing.T) {
	for _, before := range []string{"", twoHeads} {
		sent := before + "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", MaxHeader)
		for _, piece := range []int{len(sent), 1000} {
			got, end := reads(sent, piece)
			if whole := strings.Join(got, ""); len(got) != strings.Count(before, "HTTP") || end != largeHead.What {
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
		end        *ProtocolError
	}{
		{"extensions", "1;" + long[1:] + "\r\na\r\n0\r\n\r\n", nil},
		{"longer extensions", "1;" + long + "\r\na\r\n0\r\n\r\n", longExtension},
		{"many extensions", strings.Repeat("1;xxxxxx\r\na\r\n", maxDropped/7+1) + "0\r\n\r\n", longExtension},
		{"trailers", "0\r\nX:" + long[4:] + "\r\n\r\n", nil},
		{"longer trailers", "0\r\nX:" + long[3:] + "\r\n\r\n", largeTrailers},
		{"a later body has its own", "1;" + long[1:] + "\r\na\r\n0\r\n\r\n" + inChunks + "1;" + long[1:] + "\r\na\r\n0\r\n\r\n", nil},
	} {
		if _, end := reads(inChunks+c.sent, 1000); end != what(c.end) {
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
		r := chunks{in: strings.NewReader(c.size)}
		left, err := r.size()
		if c.end == nil && (err != nil || left != c.left) || c.end != nil && !errors.Is(err, c.end) {
			t.Errorf("%q: got %d and %v, want %d and %v", c.size, left, err, c.left, c.end)
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
