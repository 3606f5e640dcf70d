package listener

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"
)

// scripted is the connection of a client that has sent everything, in pieces of so
// many bytes, and closed its sending side. What the server sends is kept.
type scripted struct {
	sent  []byte
	piece int
	got   bytes.Buffer
	ended bool // the server closed its sending side
}

func (s *scripted) Read(b []byte) (int, error) {
	if len(s.sent) == 0 {
		return 0, io.EOF
	}
	n := copy(b, s.sent[:min(s.piece, len(s.sent))])
	s.sent = s.sent[n:]
	return n, nil
}

func (s *scripted) Write(b []byte) (int, error)      { return s.got.Write(b) }
func (s *scripted) Close() error                     { return nil }
func (s *scripted) CloseWrite() error                { s.ended = true; return nil }
func (s *scripted) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (s *scripted) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (s *scripted) SetDeadline(time.Time) error      { return nil }
func (s *scripted) SetReadDeadline(time.Time) error  { return nil }
func (s *scripted) SetWriteDeadline(time.Time) error { return nil }

// reads is what a server reads of what a client sent in pieces: each read, and the
// error that ends it.
func reads(sent string, piece int) (all []string, end error) {
	conn := newConnections(nil, slog.New(slog.DiscardHandler)).adopt(&scripted{sent: []byte(sent), piece: piece})
	for b := make([]byte, maxHeader); ; {
		n, err := conn.Read(b)
		if n > 0 {
			all = append(all, string(b[:n]))
		}
		if err != nil {
			return all, err
		}
	}
}

const (
	twoHeads = "GET /a HTTP/1.1\r\nHost: a\r\nX-Long: 0123456789\r\n\r\n\r\nGET /b HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
	sized    = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n01\r\n4"
	inChunks = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
)

// However a client cuts what it sends into pieces, the same is read.
func TestWire_PiecesDoNotMatter(t *testing.T) {
	for _, c := range []struct {
		name, sent, want string
		end              error
	}{
		{"heads", twoHeads, twoHeads, io.EOF},
		{"a body between heads", twoHeads + sized + twoHeads, twoHeads + sized + twoHeads, io.EOF},
		{"chunks, their extensions and trailers", inChunks + "3 ;x=\"\t;\r\nabc\r\n0a\r\n0123456789\r\n0;y\r\nX-T: 1\r\nY:\r\n\r\n" + twoHeads,
			inChunks + "3\r\nabc\r\n0a\r\n0123456789\r\n0\r\n\r\n" + twoHeads, io.EOF},
		{"nothing behind the last request", twoHeads + "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" + twoHeads,
			twoHeads + "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", io.EOF},
		{"nothing behind a last body", "POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc" + twoHeads, "POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", io.EOF},
		{"a breach in a head", twoHeads + "GET /c HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n" + twoHeads, twoHeads + "x", spacedName},
		{"a breach at the first byte", "\x16\x03\x01", "x", noHTTP},
		{"a breach in a chunk", inChunks + "3\r\nabc\r\n-1\r\n" + twoHeads, inChunks + "3\r\nabc\r\n", badSize},
		{"a breach in a trailer", inChunks + "0\r\nX-T: 1\nY", inChunks + "0\r\n", badTrailer},
		{"an end in a head", twoHeads + "GET /c HTTP/1.1\r\nHos", twoHeads + "x", cutShort},
		{"an end in a body", sized[:len(sized)-1], sized[:len(sized)-1], cutShort},
		{"an end in a trailer", inChunks + "0\r\nX-T: 1\r", inChunks + "0\r\n", cutShort},
		{"blank lines and the end", twoHeads + "\r\n\r\n\r", twoHeads, io.EOF},
		{"LF alone behind a header", "GET /c HTTP/1.1\r\nHost: a\r\nX-A: bc\nX-B: d\r\n\r\n", "x", bareLF},
		{"LF alone behind the request line", "GET /c HTTP/1.11\nHost: a\r\n\r\n", "x", bareLF},
		{"LF alone at the end", "GET /c HTTP/1.1\r\nHost: a\r\n\n", "x", bareLF},
		{"8 empty lines", strings.Repeat("\r\n", 8) + twoHeads, strings.Repeat("\r\n", 8) + twoHeads, io.EOF},
		{"9 empty lines", strings.Repeat("\r\n", 9) + twoHeads, "x", emptyLines},
		{"close, and another line", "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nConnection: keep-alive\r\nConnection: te\r\n\r\n" + twoHeads,
			"GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nConnection: close     \r\nConnection: te\r\n\r\n", io.EOF},
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

// What a client pipelines behind the last request of a connection is read before
// that is closed, so that the answer is not thrown away.
func TestWire_ClosingWaitsForWhatIsBehindTheLastRequest(t *testing.T) {
	const last = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
	for sent, want := range map[string]bool{last: false, last + twoHeads: true} {
		client := &scripted{sent: []byte(sent), piece: len(sent)}
		conn := newConnections(nil, slog.New(slog.DiscardHandler)).adopt(client)
		if n, err := conn.Read(make([]byte, maxHeader)); n != len(last) || err != nil {
			t.Errorf("got %d bytes and %v, want %d", n, err, len(last))
		}
		if err := conn.Close(); err != nil || client.ended != want {
			t.Errorf("behind %d bytes: it waited %v (%v), want %v", len(sent), client.ended, err, want)
		}
	}
}

// fasthttp reads the whole of a head anew whenever there is more of it.
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

// A head that is too large reaches fasthttp, which knows the answer.
func TestWire_AHeadThatIsTooLargeIsPassedOn(t *testing.T) {
	for _, before := range []string{"", twoHeads} {
		sent := before + "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", maxHeader)
		for _, piece := range []int{len(sent), 1000} {
			got, _ := reads(sent, piece)
			if whole := strings.Join(got, ""); len(whole) < len(before)+maxHeader || !strings.HasPrefix(sent, whole) {
				t.Errorf("behind %d bytes, in pieces of %d: got %d bytes", len(before), piece, len(whole))
			}
		}
	}
}

// What is dropped of a body is bounded.
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

// A size is as large as it says, and no other.
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
		var w wire
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
