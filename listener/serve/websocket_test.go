package serve

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mockserver/config"
	"mockserver/listener/compile"
)

// echoing is a configuration that sends every message back.
const echoing = `
- websocket: {path: /echo, max-message: 70KiB, on-message: [{pattern: bye, response: {close: 4000}}, {pattern: '.*', response: '{{message}}'}]}
- websocket: {path: /fixed, on-message: [{pattern: ping, response: pong}]}
`

const askingEcho = "GET /echo HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
	"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"

// These are the opcodes, and the other bits of the first byte.
const (
	fin, rsv1, rsv2, rsv3 = "\x80", "\x40", "\x20", "\x10"

	opContinue, opText, opBinary, opClose, opPing, opPong = 0, 1, 2, 8, 9, 10
)

// frame returns a masked frame, as a client sends it.
func frame(final bool, opcode byte, payload string) string {
	return rawFrame(opcode|map[bool]byte{true: 0x80, false: 0}[final], uint64(len(payload)), payload)
}

// rawFrame returns a frame with any first byte and length.
func rawFrame(first byte, length uint64, payload string) string {
	b := []byte{first}
	switch {
	case length < 126:
		b = append(b, 0x80|byte(length))
	case length < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(length))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), length)
	}
	key := [4]byte{0x37, 0xfa, 0x21, 0x3d}
	b = append(b, key[:]...)
	for i := range len(payload) {
		b = append(b, payload[i]^key[i%4])
	}
	return string(b)
}

// message returns a frame as the server sends it: final and unmasked.
func message(opcode byte, payload string) string {
	b := []byte{0x80 | opcode}
	switch n := len(payload); {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
	return string(b) + payload
}

func text(payload string) string { return frame(true, opText, payload) }

func closing(code int, reason string) string {
	return string(binary.BigEndian.AppendUint16(nil, uint16(code))) + reason
}

// bytesOfSocket sends bytes in pieces after a handshake, and returns everything that follows the
// handshake's answer until the server ends the connection.
func bytesOfSocket(t testing.TB, s *testServer, sent string, piece int) string {
	t.Helper()
	conn, err := net.Dial("tcp", s.address)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	var sending sync.WaitGroup
	sending.Go(func() {
		rest := askingEcho + sent
		for len(rest) > 0 {
			n := min(piece, len(rest))
			if _, err := io.WriteString(conn, rest[:n]); err != nil {
				return // the server has closed the connection, as some cases expect
			}
			rest = rest[n:]
		}
	})
	b, err := io.ReadAll(conn)
	if err != nil {
		t.Errorf("got %q, %v", b, err)
	}
	sending.Wait()
	head, rest, found := bytes.Cut(b, []byte("\r\n\r\n"))
	if !found || !bytes.HasPrefix(head, []byte("HTTP/1.1 101 ")) {
		t.Fatalf("got %q", b)
	}
	return string(rest)
}

func started(t testing.TB, text string) *testServer {
	t.Helper()
	s := configured(t, text)
	s.listen(t)
	return s
}

// The cases follow the Autobahn test suite. Each ends with a close frame from the client with code
// 1000, unless the server must end the connection earlier.
func TestWebSocket_Frames(t *testing.T) {
	end := frame(true, opClose, closing(1000, ""))
	ended := message(opClose, closing(1000, ""))
	long := func(n int) string { return strings.Repeat("x", n) }
	greek := "κόσμε"
	for _, c := range []struct{ name, sent, want string }{
		{"a text", text("hello"), message(opText, "hello")},
		{"an empty text", text(""), message(opText, "")},
		{"an empty binary message", frame(true, opBinary, ""), message(opBinary, "")},
		{"bytes that are not UTF-8, as binary", frame(true, opBinary, "\x00\xff\xfe"), message(opBinary, "\x00\xff\xfe")},
		{"125 bytes", text(long(125)), message(opText, long(125))},
		{"126 bytes", text(long(126)), message(opText, long(126))},
		{"127 bytes", text(long(127)), message(opText, long(127))},
		{"65,535 bytes", text(long(65535)), message(opText, long(65535))},
		{"65,536 bytes", text(long(65536)), message(opText, long(65536))},
		{"the largest message", frame(true, opBinary, long(70<<10)), message(opBinary, long(70<<10))},

		{"a ping", frame(true, opPing, "hi"), message(opPong, "hi")},
		{"an empty ping", frame(true, opPing, ""), message(opPong, "")},
		{"a ping of 125 bytes", frame(true, opPing, long(125)), message(opPong, long(125))},
		{"pings in a row", frame(true, opPing, "1") + frame(true, opPing, "2"), message(opPong, "1") + message(opPong, "2")},
		{"an unsolicited pong", frame(true, opPong, "hi") + text("a"), message(opText, "a")},

		{"two fragments", frame(false, opText, "ab") + frame(true, opContinue, "cd"), message(opText, "abcd")},
		{"empty fragments", frame(false, opText, "") + frame(false, opContinue, "") + frame(true, opContinue, ""), message(opText, "")},
		{"control frames between fragments", frame(false, opBinary, "ab") + frame(true, opPing, "1") + frame(false, opContinue, "") + frame(true, opPong, "") +
			frame(true, opPing, "2") + frame(true, opContinue, "cd"), message(opPong, "1") + message(opPong, "2") + message(opBinary, "abcd")},
		{"a letter cut by a fragment", frame(false, opText, greek[:5]) + frame(true, opContinue, greek[5:]), message(opText, greek)},
		{"messages in a row", text("a") + text("b") + frame(true, opBinary, "c"), message(opText, "a") + message(opText, "b") + message(opBinary, "c")},
	} {
		testFrames(t, c.name, c.sent+end, c.want+ended)
	}
	for _, code := range []int{1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999} {
		testFrames(t, fmt.Sprintf("a close with %d", code), frame(true, opClose, closing(code, "why")), message(opClose, closing(code, "")))
	}
	testFrames(t, "a close without a code", frame(true, opClose, ""), message(opClose, ""))
	testFrames(t, "a close with the longest reason", frame(true, opClose, closing(1000, long(123))), ended)
	testFrames(t, "a close of the server", text("bye")+text("late")+frame(true, opPing, "late")+frame(true, opClose, closing(4000, "")), message(opClose, closing(4000, "")))
	testFrames(t, "data after a close", end+text("late")+frame(true, opPing, "late")+end, ended)
}

func testFrames(t *testing.T, name, sent, want string) {
	t.Run(name, func(t *testing.T) {
		s := started(t, echoing)
		pieces := []int{len(askingEcho), len(askingEcho) + len(sent), 700}
		if len(sent) < 1000 {
			pieces = append(pieces, 1)
		}
		for _, piece := range pieces {
			if got := bytesOfSocket(t, s, sent, piece); got != want {
				t.Errorf("in pieces of %d: got %.200q\nwant %.200q", piece, got, want)
			}
		}
	})
}

func TestWebSocket_ProtocolErrorsEndTheConnection(t *testing.T) {
	more := text("late") + frame(true, opPing, "late")
	unmasked := "\x81\x05hello"
	for _, c := range []struct {
		name, sent string
		code       int
	}{
		{"a frame without a mask", unmasked, 1002},
		{"a ping without a mask", "\x89\x00", 1002},
		{"the first reserved bit", rawFrame(0x81|rsv1[0], 1, "a"), 1002},
		{"the second reserved bit", rawFrame(0x81|rsv2[0], 1, "a"), 1002},
		{"the third reserved bit", rawFrame(0x82|rsv3[0], 1, "a"), 1002},
		{"a reserved bit of a ping", rawFrame(0x89|rsv1[0], 0, ""), 1002},
		{"a reserved opcode of data", rawFrame(0x83, 1, "a"), 1002},
		{"a reserved opcode of control", rawFrame(0x8b, 1, "a"), 1002},
		{"a ping in fragments", frame(false, opPing, "a") + frame(true, opContinue, "b"), 1002},
		{"a ping of 126 bytes", frame(true, opPing, strings.Repeat("x", 126)), 1002},
		{"a close of 126 bytes", frame(true, opClose, closing(1000, strings.Repeat("x", 124))), 1002},
		{"a continuation of nothing", frame(true, opContinue, "a"), 1002},
		{"a message inside another", frame(false, opText, "a") + text("b"), 1002},
		{"a close of one byte", frame(true, opClose, "\x03"), 1002},
		{"a close whose reason is not UTF-8", frame(true, opClose, closing(1000, "\xff")), 1002},
		{"a text that is not UTF-8", text("a\xff"), 1007},
		{"a surrogate half", text("\xed\xa0\x80"), 1007},
		{"a letter beyond Unicode", text("\xf4\x90\x80\x80"), 1007},
		{"an overlong letter", text("\xc0\xaf"), 1007},
		{"a text that ends inside a letter", text("κ\xce"), 1007},
		{"a fragmented text that is not UTF-8", frame(false, opText, "κόσμε") + frame(true, opContinue, "\xed\xa0\x80"), 1007},
		{"the beginning of a text that is not UTF-8", frame(false, opText, "\xff") + frame(true, opPing, ""), 1007},
		{"a message that is too large", text(strings.Repeat("x", 70<<10+1)), 1009},
		{"fragments that are too large", frame(false, opText, strings.Repeat("x", 70<<10)) + frame(true, opContinue, "x"), 1009},
		{"a frame that says it is too large", rawFrame(0x82, 1<<40, "x"), 1009},
		{"a length with its highest bit set", rawFrame(0x82, 1<<63, "x"), 1009},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := started(t, echoing)
			for _, piece := range []int{len(askingEcho), 1 << 20} {
				got := bytesOfSocket(t, s, text("first")+c.sent+more, piece)
				got, found := strings.CutPrefix(got, message(opText, "first"))
				if n := len(got); !found || n < 4 || got[0] != 0x88 || int(got[1]) != n-2 || int(binary.BigEndian.Uint16([]byte(got[2:]))) != c.code {
					t.Errorf("got %.200q, want the echo before it and a close with %d at the end", got, c.code)
				}
			}
		})
	}
	for _, code := range []int{0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65535} {
		t.Run(fmt.Sprintf("a close with %d", code), func(t *testing.T) {
			got := bytesOfSocket(t, started(t, echoing), frame(true, opClose, closing(code, "")), 1<<20)
			if !strings.HasPrefix(got[2:], "\x03\xea") { // 1002
				t.Errorf("got %q, want a close with 1002", got)
			}
		})
	}
}

// Text that is not UTF-8 ends the connection immediately, however much of the message has yet to
// arrive.
func TestWebSocket_InvalidTextEndsBeforeItIsWhole(t *testing.T) {
	s := started(t, echoing)
	client := openSocket(t, s)
	defer client.Close()
	_, err := io.WriteString(client, rawFrame(0x81, 1000, "valid so far, and then \xff"))
	must(t, err)
	got := make([]byte, 4)
	if _, err := io.ReadFull(client, got); err != nil || got[0] != 0x88 || string(got[2:]) != "\x03\xef" {
		t.Errorf("got %q, %v, want a close with 1007", got, err)
	}
}

// openSocket returns a connection to /echo after its handshake.
func openSocket(t testing.TB, s *testServer) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.address)
	must(t, err)
	must(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	handshake(t, conn, askingEcho)
	return conn
}

func handshake(t testing.TB, conn net.Conn, asking string) {
	t.Helper()
	_, err := io.WriteString(conn, asking)
	must(t, err)
	var head []byte
	for one := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); head = append(head, one[0]) {
		_, err := io.ReadFull(conn, one)
		must(t, err)
	}
	if !bytes.HasPrefix(head, []byte("HTTP/1.1 101 ")) {
		t.Fatalf("got %q", head)
	}
}

func TestWebSocket_ConnectionsAreCountedAndForgotten(t *testing.T) {
	s := started(t, echoing)
	var all []net.Conn
	for range 10 {
		all = append(all, openSocket(t, s))
	}
	await(t, func() bool { return s.Dialogues.Open() == 10 })
	for i, conn := range all {
		if i%2 == 0 { // some clients close properly, others just disconnect
			_, err := io.WriteString(conn, frame(true, opClose, ""))
			must(t, err)
			_, err = io.Copy(io.Discard, conn)
			must(t, err)
		}
		must(t, conn.Close())
	}
	await(t, func() bool { return s.Dialogues.Open() == 0 && s.connections.Count() == 0 })
}

// await waits for a condition.
func await(t testing.TB, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatal("the condition was never met")
		}
		<-time.After(time.Millisecond)
	}
}

func TestWebSocket_ShutdownWaitsForTheClosesOfClients(t *testing.T) {
	s := started(t, echoing)
	client := openSocket(t, s)
	defer client.Close()
	_, err := io.WriteString(client, text("a"))
	must(t, err)
	stopped := make(chan struct{})
	for _, want := range []string{message(opText, "a"), message(opClose, closing(1001, ""))} {
		got := make([]byte, len(want))
		if _, err := io.ReadFull(client, got); err != nil || string(got) != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
		if want[0] == 0x81 {
			go func() {
				s.stop()
				close(stopped)
			}()
		}
	}
	select {
	case <-stopped:
		t.Fatal("the server stopped before the client answered")
	default:
	}
	_, err = io.WriteString(client, text("late")+frame(true, opClose, closing(1001, "")))
	must(t, err)
	if rest, err := io.ReadAll(client); err != nil || len(rest) > 0 {
		t.Errorf("got %q, %v after the close", rest, err)
	}
	must(t, client.Close())
	<-stopped
}

// dialogueOf returns a connection to a WebSocket in a bubble, after its handshake.
func dialogueOf(t *testing.T, s *testServer) *conversation {
	t.Helper()
	c := talk(t, s)
	handshake(t, c, askingEcho)
	return c
}

// hears expects frames, and returns how long they took to arrive.
func (c *conversation) hears(t *testing.T, want string) time.Duration {
	t.Helper()
	begun := time.Now()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("got %q, %v\nwant %q", got[:n], err, want)
	}
	return time.Since(begun)
}

func TestWebSocket_ScriptedSendsComeWhenTheyAreDue(t *testing.T) {
	s := configured(t, `
- websocket:
    path: /echo
    on-connect: {response: hello}
    on-message: [{pattern: '.*', response: '{{message}}'}]
    send:
      - {after: 1s, every: 5s, response: tick}
      - {every: 2s, times: 2, response: tock}
      - {after: 11s, response: {body: once, binary: true}}
      - {after: 0, response: at once}
    close: {code: 1012, reason: "again later", after: 12s}
`)
	warm(t, s)
	synctest.Test(t, func(t *testing.T) {
		c := dialogueOf(t, s)
		defer c.Close()
		for _, next := range []struct {
			after time.Duration
			frame string
		}{
			{0, message(opText, "hello")}, {0, message(opText, "at once")},
			{time.Second, message(opText, "tick")}, {time.Second, message(opText, "tock")}, {2 * time.Second, message(opText, "tock")},
			{2 * time.Second, message(opText, "tick")}, {5 * time.Second, message(opText, "tick") + message(opBinary, "once")},
			{time.Second, message(opClose, closing(1012, "again later"))},
		} {
			if took := c.hears(t, next.frame); took != next.after {
				t.Errorf("%q came after %v, want %v", next.frame, took, next.after)
			}
		}
		_, err := io.WriteString(c, frame(true, opClose, closing(1012, "")))
		must(t, err)
		if err := <-c.served; err != nil {
			t.Error(err)
		}
	})
}

// A single message is sent for all those that fall due while the client does not read, and the
// interval is kept.
func TestWebSocket_SendsThatWereMissedAreLeftOut(t *testing.T) {
	s := configured(t, "- websocket: {path: /echo, send: [{every: 1s, response: 'tick'}]}\n")
	warm(t, s)
	synctest.Test(t, func(t *testing.T) {
		c := dialogueOf(t, s)
		c.hears(t, message(opText, "tick"))
		<-time.After(5*time.Second + 500*time.Millisecond) // net.Pipe does not buffer: the server blocks on the second message
		c.hears(t, message(opText, "tick"))
		if took := c.hears(t, message(opText, "tick")); took != 0 {
			t.Errorf("the message in place of the missed ones came after %v, want at once", took)
		}
		if took := c.hears(t, message(opText, "tick")); took != 500*time.Millisecond {
			t.Errorf("the next message came after %v, want it at the next second", took)
		}
		c.Close()
		<-c.served
	})
}

func TestWebSocket_AClientThatReadsNothingIsLeft(t *testing.T) {
	s := configured(t, echoing)
	warm(t, s)
	synctest.Test(t, func(t *testing.T) {
		c := dialogueOf(t, s)
		defer c.Close()
		begun := time.Now()
		_, err := io.WriteString(c, text("never read"))
		must(t, err)
		<-c.served
		if took := time.Since(begun); took < writeTimeout || took > 2*writeTimeout {
			t.Errorf("the server closed the connection after %v, want some more than %v", took, writeTimeout)
		}
	})
}

func TestWebSocket_AnIdleConnectionStaysOpen(t *testing.T) {
	s := configured(t, echoing)
	warm(t, s)
	synctest.Test(t, func(t *testing.T) {
		c := dialogueOf(t, s)
		<-time.After(48 * time.Hour)
		_, err := io.WriteString(c, text("still"))
		must(t, err)
		c.hears(t, message(opText, "still"))
		c.Close()
		<-c.served
	})
}

func TestWebSocket_AClientThatIgnoresACloseIsLeft(t *testing.T) {
	s := configured(t, echoing)
	warm(t, s)
	synctest.Test(t, func(t *testing.T) {
		c := dialogueOf(t, s)
		defer c.Close()
		_, err := io.WriteString(c, text("bye"))
		must(t, err)
		c.hears(t, message(opClose, closing(4000, "")))
		begun := time.Now()
		if b, err := io.ReadAll(c); err != nil || len(b) > 0 {
			t.Errorf("got %q, %v", b, err)
		}
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("the server closed the connection after %v, want 5s", took)
		}
		<-c.served
	})
}

// Text messages are valid UTF-8, even if a template inserts arbitrary bytes.
func TestWebSocket_TextIsAlwaysUTF8(t *testing.T) {
	s := started(t, `- websocket: {path: /echo, on-message: [{pattern: '.*', response: {body: '<{{message}}>', binary: false}}]}`)
	got := bytesOfSocket(t, s, frame(true, opBinary, "a\xffb")+frame(true, opClose, ""), 1<<20)
	if want := message(opText, "<a\uFFFDb>") + message(opClose, ""); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWebSocket_AReasonIsCutToWhatFits(t *testing.T) {
	s := started(t, `- websocket: {path: /echo, on-message: [{pattern: '.*', response: {close: {code: 4001, reason: '{{message}}'}}}]}`)
	got := bytesOfSocket(t, s, text(strings.Repeat("é", 100))+frame(true, opClose, ""), 1<<20)
	if want := message(opClose, closing(4001, strings.Repeat("é", 61))); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A panic while a connection is served ends that connection and affects no other.
func TestWebSocket_APanicHarmsNobodyElse(t *testing.T) {
	var log bytes.Buffer
	s := newServer(t, compile.Options{Log: slog.New(panicking{slog.NewTextHandler(&log, nil)})}).serving(t, config.Parse("mock.yml", []byte(echoing)))
	s.Dialogues.Log = s.Log
	stop := s.listen(t)
	other, victim := openSocket(t, s), openSocket(t, s)
	defer other.Close()
	defer victim.Close()
	_, err := io.WriteString(victim, frame(true, opClose, closing(4999, "")))
	must(t, err)
	if b, err := io.ReadAll(victim); err == nil && string(b) != message(opClose, closing(4999, "")) {
		t.Errorf("got %q", b)
	}
	_, err = io.WriteString(other, text("b"))
	must(t, err)
	got := make([]byte, 3)
	if _, err := io.ReadFull(other, got); err != nil || string(got) != message(opText, "b") {
		t.Errorf("got %q, %v", got, err)
	}
	stop()
	if !strings.Contains(log.String(), "panic while serving a connection") {
		t.Errorf("the log says %s", log.String())
	}
}

// panicking is a log that panics at the end of a connection that was closed with code 4999.
type panicking struct{ slog.Handler }

func (h panicking) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "code" && a.Value.String() == "4999" {
			panic("made up")
		}
		return true
	})
	return h.Handler.Handle(ctx, r)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
