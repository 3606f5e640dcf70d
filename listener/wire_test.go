package listener

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/fasthttp"
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
		{"chunks, their extensions and trailers", inChunks + "3 ;\tx = \"\t;\\\"\x80\" ; z=1\r\nabc\r\n0a\r\n0123456789\r\n0;y\r\nX-T: 1\r\nY:\r\n\r\n" + twoHeads,
			inChunks + "3\r\nabc\r\n0a\r\n0123456789\r\n0\r\n\r\n" + twoHeads, io.EOF},
		{"nothing behind the last request", twoHeads + "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" + twoHeads,
			twoHeads + "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", io.EOF},
		{"nothing behind a last body", "POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc" + twoHeads, "POST / HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", io.EOF},
		{"a breach in a head", twoHeads + "GET /c HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n" + twoHeads, twoHeads + "x", spacedName},
		{"a breach at the first byte", "\x16\x03\x01", "x", noHTTP},
		{"a breach in a chunk", inChunks + "3\r\nabc\r\n-1\r\n" + twoHeads, inChunks + "3\r\nabc\r\n", badSize},
		{"a semicolon without an extension", inChunks + "3;\r\nabc\r\n0\r\n\r\n" + twoHeads, inChunks + "3", badExtension},
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
		{"a control character beside close", "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close,a\x00b\r\n\r\n", "x", badOptions},
		{"a control character behind close", "GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nConnection: a\x00bcdefg\r\n\r\n", "x", badOptions},
		{"CR alone behind close", "POST /a HTTP/1.1\r\nHost: a\r\nConnection: close,\rTransfer-Encoding: chunked\r\n\r\n", "x", badOptions},
		{"no Host", "GET /a HTTP/1.1\r\nX: y\r\n\r\n", "x", noHost},
		{"no Host in a later version", "GET /a HTTP/1.2\r\n\r\n", "x", noHost},
		{"CR before a method", "\rREW /a HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n", "x", noHTTP},
		{"a delimiter in a method", "R[W /a HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n", "x", noHTTP},
		{"a blank in a target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "x", spacedTarget},
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

// A client may wait for an answer before it sends more of the next request, so that
// one comes alone: fasthttp sends its answers before it reads more.
func TestWire_ABodyThatIsNotWholeComesBehindAllAnswers(t *testing.T) {
	one, other := twoHeads+sized, inChunks+"2;x\r\nab\r\n0\r\nX-T: 1\r\n\r\n"
	bare := inChunks + "2\r\nab\r\n0\r\n\r\n" // what is read of the other
	for _, c := range []struct {
		name, sent string
		want       []string
	}{
		{"whole ones", one + other + one, []string{one + bare + one}},
		{"no body yet", one + sized[:len(sized)-5], []string{one, sized[:len(sized)-5]}},
		{"half a body", one + sized[:len(sized)-1], []string{one, sized[:len(sized)-1]}},
		{"no chunk yet", one + inChunks, []string{one, inChunks}},
		{"half a chunk", one + inChunks + "2\r\na", []string{one, inChunks + "2\r\na"}},
		{"half a trailer", one + other[:len(other)-4], []string{one, bare[:len(bare)-2]}},
		{"a breach in a chunk", one + inChunks + "x", []string{one + inChunks}},
		{"the first of all", inChunks + "2\r\na", []string{inChunks + "2\r\na"}},
		{"behind a body", sized[:len(sized)-1], []string{sized[:len(sized)-1]}},
	} {
		if got, _ := reads(c.sent, len(c.sent)); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// A line that comes in many pieces is not searched from its begin for each.
func TestHead_IsSearchedOnce(t *testing.T) {
	var h head
	b := []byte("GET / HTTP/1.1\r\nHost: a\r\nX-Long: xxxx")
	if n, err := h.read(b); n != 0 || err != nil {
		t.Fatalf("got %d and %v", n, err)
	}
	b[len(b)-2] = '\n' // which a search from the begin would find
	b = append(b, "yyyy\r\n\r\n"...)
	if n, err := h.read(b[:len(b)-5]); n != 0 || err != nil {
		t.Errorf("with more of the line: got %d and %v", n, err)
	}
	b[len(b)-10] = 'x'
	if n, err := h.read(b); n != len(b) || err != nil {
		t.Errorf("at the end: got %d and %v, want %d", n, err, len(b))
	}
}

// A connection that idles keeps no room for what it has served.
func TestWire_NothingIsHeldOnceItWasRead(t *testing.T) {
	client := &scripted{sent: []byte(twoHeads + sized + twoHeads[:10]), piece: len(twoHeads + sized)}
	conn := newConnections(nil, slog.New(slog.DiscardHandler)).adopt(client)
	client.piece -= 3
	b := make([]byte, maxHeader)
	if n, err := conn.Read(b); string(b[:n]) != twoHeads || err != nil || len(conn.held) != len(sized)-3 {
		t.Fatalf("got %q and %v, and %d bytes are held", b[:n], err, len(conn.held))
	}
	if n, err := conn.Read(b); string(b[:n]) != sized[:len(sized)-3] || err != nil || conn.held != nil {
		t.Errorf("got %q and %v, and room for %d bytes", b[:n], err, cap(conn.held))
	}
}

// Empty lines behind a request are no next one: the connection waits as before.
func TestConnection_EmptyLinesAreNoRequest(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	const first = "GET /static HTTP/1.1\r\nHost: a\r\n\r\n"
	for _, sent := range []string{first, first + "\r\n", first + "\r\n\r"} {
		synctest.Test(t, func(t *testing.T) {
			c := talk(t, s)
			defer c.Close()
			begun := time.Now()
			go func() { _, _ = io.WriteString(c, sent) }() // what it misses shows in the answer
			if b, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 200") {
				t.Errorf("got %q, %v", b, err)
			}
			if took := time.Since(begun); took != idleTimeout {
				t.Errorf("%q: it was closed after %v, want %v", sent, took, idleTimeout)
			}
			<-c.served
		})
	}
}

// socket is a pipe that says as a socket does that it was closed.
type socket struct{ net.Conn }

func (s socket) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	if errors.Is(err, io.ErrClosedPipe) {
		err = net.ErrClosed
	}
	return n, err
}

// What closing a connection at the end of the grace period cuts off is a request
// once something of its head came, the first or a later one.
func TestUnanswered_CountsHeadsThatHaveBegun(t *testing.T) {
	const first = "GET /static HTTP/1.1\r\nHost: a\r\n\r\n"
	for sent, want := range map[string]int{
		"": 0, "\r\n": 0, "\r\n\r": 0, "G": 1, "\r\nGET /": 1, first: 0, first + "\r\n": 0, first + "G": 1, first + first + "\r\nGET /static HTTP/1.1\r\n": 1,
		first + slowly: 1,
	} {
		s := configured(t, timed)
		warm(t, s)
		synctest.Test(t, func(t *testing.T) {
			client, inner := net.Pipe()
			defer client.Close()
			l := stopping()
			conn := l.adopt(socket{inner})
			s.drained = make(chan struct{})
			go func() {
				s.serveConnection(conn)
				close(s.drained)
			}()
			go func() { _, _ = io.Copy(io.Discard, client) }() // until it is closed
			_, _ = io.WriteString(client, sent)                // which is read, or the count is wrong
			synctest.Wait()
			if got := s.unanswered(l.closeAll()); got != want {
				t.Errorf("%q: got %d, want %d", sent, got, want)
			}
		})
	}
}

// An answer does not wait for the body of the request behind it.
func TestConnection_AnAnswerDoesNotWaitForTheNextBody(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	const first = "GET /static HTTP/1.1\r\nHost: a\r\n\r\n"
	for _, body := range []struct{ head, first, second string }{
		{"Content-Length: 17", "", `{"item": "x-ray"}`},
		{"Content-Length: 17", `{"item"`, `: "x-ray"}`},
		{"Transfer-Encoding: chunked", "", "11\r\n" + `{"item": "x-ray"}` + "\r\n0\r\n\r\n"},
		{"Transfer-Encoding: chunked", "11\r\n" + `{"item"`, `: "x-ray"}` + "\r\n0\r\n\r\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := talk(t, s)
			r := bufio.NewReader(c)
			begun := time.Now()
			_, _ = io.WriteString(c, first+"POST /orders HTTP/1.1\r\nHost: a\r\n"+body.head+"\r\n\r\n"+body.first) // what it misses shows in the answers
			for i := range 2 {
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 || time.Since(begun) != 0 {
					t.Errorf("%+v: answer %d is %d after %v (%v), want 200 at once", body, i, resp.StatusCode, time.Since(begun), err)
				}
				if i == 0 {
					_, _ = io.WriteString(c, body.second)
				}
			}
			_ = c.Close() // of a pipe, which does not fail
			<-c.served
		})
	}
}

// What fasthttp has to say may hold what the client sent.
func TestMalformed_BoundsTheMessagesOfOthers(t *testing.T) {
	for message, want := range map[string]string{
		"short":                               "short",
		strings.Repeat("x", maxMessage):       strings.Repeat("x", maxMessage),
		strings.Repeat("x", maxMessage+1):     strings.Repeat("x", maxMessage) + "…",
		strings.Repeat("x", 199) + "é" + "yy": strings.Repeat("x", 199) + "…",
	} {
		s := configured(t, "[]")
		var ctx fasthttp.RequestCtx
		s.malformed(&ctx, errors.New(message))
		var got struct{ Message string }
		if err := json.Unmarshal(ctx.Response.Body(), &got); err != nil || got.Message != want || ctx.Response.StatusCode() != 400 {
			t.Errorf("got %s (%v), want %q", ctx.Response.Body(), err, want)
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
