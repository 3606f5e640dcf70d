package listener

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"
	"unicode/utf8"

	"github.com/fasthttp/websocket"

	"mockserver/config"
	"mockserver/listener/record"
	"mockserver/listener/wire"
	"mockserver/matcher"
)

// A request that becomes a WebSocket connection leaves HTTP as a connection is parked:
// once the answer is written fasthttp reads on, is told that this is the end, and gives
// back all that it served the connection with. Hijacking, its own way out, would keep a
// read buffer of the size of the largest head and the context of the request for as long
// as the connection lasts (valyala/fasthttp#2363), in a goroutine nobody waits for.
//
// One goroutine does all of it. It sleeps in a read, with a deadline at which it is to
// send something unasked, so nothing is ever written by two at once, a client that does
// not read what it asked for is not read any more, and what is due meanwhile is sent
// once, not several times.

// dialogue is one WebSocket connection. Its goroutine alone has it.
type dialogue struct {
	server *Server
	conn   *wire.Connection
	frames frames
	socket *webSocket
	asked  origin
	number uint64 // of the connection among those of the WebSocket, from 1, if there is a seed
	made   uint64 // texts made of templates
	ws     *websocket.Conn

	opened time.Time
	next   []scheduled // by the sends of the socket
	ends   time.Time   // when the server ends it; zero for never
	wakes  time.Time   // the read deadline

	code     int       // the close code that was sent, or came first; 0 before
	closing  bool      // a close was sent: nothing else is any more
	finished bool      // the client sent its close
	closedBy time.Time // until when the client has to answer it
	failed   error     // of the connection
	received int       // messages
	sent     int
	counts   *record.Shard // nil when nothing is recorded
}

// scheduled is when a message is sent unasked.
type scheduled struct {
	at   time.Time // zero for never again
	sent int
}

// closeTime is how long a client may take to answer a close.
const closeTime = 5 * time.Second

// Sizes of buffers, in bytes.
const (
	socketReadBuffer  = 512 // of each connection; more is read past it
	socketWriteBuffer = 4 << 10
	keptMessage       = 64 << 10 // the largest that goes back to the pool
)

// run serves the connection to its end.
func (t *dialogue) run() {
	t.server.talking.Add(1)
	defer t.server.talking.Add(-1)
	defer func() { _ = t.conn.CloseNow() }() // nobody is to be told
	if err := t.open(); err != nil {
		t.failed = err
		return
	}
	if t.socket.connect != nil {
		t.say(t.socket.connect, nil, websocket.TextMessage)
	}
	for t.failed == nil && t.hear() {
	}
	t.end()
}

// open takes the connection over from HTTP.
func (t *dialogue) open() error {
	if err := t.conn.Conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	t.opened = time.Now()
	for i := range t.socket.sends {
		t.next = append(t.next, scheduled{at: t.opened.Add(t.socket.sends[i].first)})
	}
	if t.socket.close != nil {
		t.ends = t.opened.Add(t.socket.close.after)
	}
	return t.takeOver()
}

// takeOver makes the library's connection. It knows no other way than to answer a
// request of net/http; that answer goes nowhere, as the client has one.
func (t *dialogue) takeOver() error {
	upgrader := websocket.Upgrader{
		ReadBufferSize: socketReadBuffer, WriteBufferSize: socketWriteBuffer, WriteBufferPool: &t.server.frames,
		CheckOrigin: func(*http.Request) bool { return true },
	}
	s := &stream{Conn: t.conn.Conn, talk: t, mute: true}
	ws, err := upgrader.Upgrade(takeover{s}, &http.Request{Method: http.MethodGet, Header: http.Header{
		"Connection": {"upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="},
	}}, nil)
	if err != nil {
		return err
	}
	s.mute = false
	t.ws = ws
	ws.SetReadLimit(int64(t.socket.limit))
	answerClose := ws.CloseHandler()
	ws.SetCloseHandler(func(code int, text string) error {
		if t.frames.badClose {
			t.close(websocket.CloseProtocolError, []byte("a close of one byte"))
			t.finished = true
			return nil
		}
		if t.code == 0 {
			t.code = code
		}
		t.closing, t.finished = true, true
		return answerClose(code, text)
	})
	return nil
}

// takeover hands a connection over to the library.
type takeover struct{ *stream }

// Header and the rest make it what net/http answers with.
func (takeover) Header() http.Header { return http.Header{} }

// WriteHeader is called for refusals, which there are none of.
func (takeover) WriteHeader(int) {}

// Hijack gives the connection, with buffers that are too small to be kept.
func (h takeover) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.stream, bufio.NewReadWriter(bufio.NewReaderSize(h.stream, 16), bufio.NewWriterSize(h.stream, 16)), nil
}

// stream is the connection as the library reads and writes it.
type stream struct {
	net.Conn
	talk *dialogue
	mute bool // what is written goes nowhere
}

// Read reads what the client sent: first what came behind the request. It wakes for
// what is to be sent unasked.
func (s *stream) Read(b []byte) (int, error) {
	t := s.talk
	if n := t.conn.ReadHeld(b); n > 0 {
		t.frames.pass(b[:n])
		return n, nil
	}
	for {
		if err := t.catchUp(); err != nil {
			t.failed = err
			return 0, err
		}
		n, err := s.Conn.Read(b)
		if n > 0 || err == nil {
			t.frames.pass(b[:n])
			return n, nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.failed = err
			return 0, err
		}
	}
}

// Write writes as long as the client takes any of it, and enough: see connection.Write.
func (s *stream) Write(b []byte) (int, error) {
	if s.mute {
		return len(b), nil
	}
	n, err := s.talk.conn.Write(b)
	if err != nil {
		s.talk.failed = err
	}
	return n, err
}

// SetDeadline does nothing: deadlines are ours.
func (*stream) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (*stream) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (*stream) SetWriteDeadline(time.Time) error { return nil }

// errUnanswered ends a connection whose client does not answer a close.
var errUnanswered = errors.New("the client did not answer the close")

// catchUp sends what is due, and sets the time at which reading is to wake for what
// comes next. The error ends the connection.
func (t *dialogue) catchUp() error {
	for {
		if t.conn.IsEnding() && !t.closing {
			t.close(websocket.CloseGoingAway, nil)
		}
		var wakes time.Time
		if t.closing || len(t.next) > 0 || !t.ends.IsZero() {
			now := time.Now()
			t.sendDue(now)
			wakes = t.due()
			if t.closing && !now.Before(t.closedBy) {
				return errUnanswered
			}
		}
		if t.failed != nil {
			return t.failed
		}
		if wakes != t.wakes || t.closing {
			t.wakes = wakes
			if err := t.conn.Conn.SetReadDeadline(wakes); err != nil {
				return err
			}
		}
		if t.closing || !t.conn.IsEnding() { // otherwise the deadline may have replaced that of hurry
			return nil
		}
	}
}

// sendDue sends what is due at now, in the order of when it was.
func (t *dialogue) sendDue(now time.Time) {
	for !t.closing && t.failed == nil {
		first := -1
		for i := range t.next {
			at := t.next[i].at
			if !at.IsZero() && !at.After(now) && (first < 0 || at.Before(t.next[first].at)) {
				first = i
			}
		}
		ends := !t.ends.IsZero() && !t.ends.After(now)
		switch {
		case ends && (first < 0 || t.ends.Before(t.next[first].at)):
			t.close(t.socket.close.code, t.reason(t.socket.close, nil))
		case first < 0:
			return
		default:
			k := &t.socket.sends[first]
			t.next[first].advance(k, now)
			t.say(&k.message, nil, websocket.TextMessage)
		}
	}
}

// advance goes on to the next time that is to come: those that have passed meanwhile are
// left out.
func (s *scheduled) advance(k *send, now time.Time) {
	if s.sent++; k.times > 0 && s.sent >= k.times {
		s.at = time.Time{}
		return
	}
	s.at = s.at.Add(k.every)
	if late := now.Sub(s.at); late >= 0 {
		s.at = s.at.Add((late/k.every + 1) * k.every)
	}
}

// due is when reading is to wake; zero for never.
func (t *dialogue) due() time.Time {
	if t.closing {
		return t.closedBy
	}
	wakes := t.ends
	for i := range t.next {
		if at := t.next[i].at; !at.IsZero() && (wakes.IsZero() || at.Before(wakes)) {
			wakes = at
		}
	}
	return wakes
}

// buffer is the room for one message.
type buffer struct{ bytes []byte }

// hear reads a message and answers it, and tells whether the connection goes on.
func (t *dialogue) hear() bool {
	kind, reader, err := t.ws.NextReader()
	if err != nil {
		t.explain(err)
		return false
	}
	b, _ := t.server.messages.Get().(*buffer)
	if b == nil {
		b = &buffer{bytes: make([]byte, 0, socketReadBuffer)}
	}
	defer func() {
		if cap(b.bytes) <= keptMessage {
			t.server.messages.Put(b)
		}
	}()
	m := b.bytes[:0]
	for checked := 0; ; {
		if len(m) == cap(m) {
			m = append(m, 0)[:len(m)]
		}
		n, err := reader.Read(m[len(m):cap(m)])
		m = m[:len(m)+n]
		b.bytes = m
		whole := err == io.EOF
		if kind == websocket.TextMessage {
			if checked = checkText(m, checked, whole); checked < 0 {
				t.close(websocket.CloseInvalidFramePayloadData, []byte("a text message is not valid UTF-8"))
				return false
			}
		}
		switch {
		case whole:
			t.received++
			if t.counts != nil {
				t.counts.MessageIn(len(m))
			}
			t.answer(m, kind)
			return true
		case err != nil:
			t.explain(err)
			return false
		}
	}
}

// explain keeps why reading ended. The library has told the client of what it did
// wrong, but for some messages that are too large.
func (t *dialogue) explain(err error) {
	switch {
	case t.failed != nil || t.finished:
	case errors.Is(err, websocket.ErrReadLimit):
		t.close(websocket.CloseMessageTooBig, nil)
	case t.code == 0:
		t.code = websocket.CloseProtocolError
	}
}

// checkText goes on checking the text that b holds for UTF-8 from an offset, and returns
// how far it got: to the end, but for a letter that is not whole yet. Below 0 it is none.
func checkText(b []byte, from int, whole bool) int {
	end := len(b)
	for i := 1; i < utf8.UTFMax && i <= end-from && !whole; i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			if !utf8.FullRune(b[len(b)-i:]) {
				end = len(b) - i
			}
			break
		}
	}
	if !utf8.Valid(b[from:end]) {
		return -1
	}
	return end
}

// answer says what answers a message: what the first pattern that matches has.
func (t *dialogue) answer(text []byte, kind int) {
	h := heard{text: text}
	for i := range t.socket.reactions {
		if t.closing {
			return
		}
		if x := &t.socket.reactions[i]; x.pattern.matches(&h) {
			t.say(&x.message, text, kind)
			return
		}
	}
}

// say sends a message; received is the one that it answers, nil for none. The kind is
// that of the message it answers.
func (t *dialogue) say(m *message, received []byte, kind int) {
	if t.closing {
		return
	}
	if m.frame != 0 {
		kind = m.frame
	}
	if m.sends {
		body := m.static
		if m.template != nil {
			made, _ := t.server.messages.Get().(*buffer)
			if made == nil {
				made = &buffer{}
			}
			var stopped error
			if made.bytes, stopped = t.render(made.bytes[:0], m, received); stopped != nil {
				t.giveUp(stopped)
				return
			}
			if body = made.bytes; kind == websocket.TextMessage && !utf8.Valid(body) {
				body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
			}
			if cap(made.bytes) <= keptMessage {
				defer t.server.messages.Put(made)
			}
		}
		if err := t.ws.WriteMessage(kind, body); err != nil {
			t.failed = err
			return
		}
		t.sent++
		if t.counts != nil {
			t.counts.MessageOut(len(body))
		}
	}
	if m.close != nil {
		t.close(m.close.code, t.reason(m.close, received))
	}
}

// render appends what a message's template makes. The error is why it is not whole.
func (t *dialogue) render(dst []byte, m *message, received []byte) ([]byte, error) {
	r := t.resume(received)
	defer matcher.Release(r)
	dst = m.template.Append(dst, r)
	return dst, r.Stopped
}

// giveUp ends a connection on which a template cannot be rendered whole.
func (t *dialogue) giveUp(stopped error) {
	f, err := t.server.unfinished(stopped)
	t.server.tellServerError(f, &answer{name: t.socket.name}, err)
	t.close(websocket.CloseInternalServerErr, []byte(f.Title))
}

// reason is the reason that a close tells: as much of it as fits.
func (t *dialogue) reason(e *ending, received []byte) []byte {
	if text, ok := e.reason.Static(); ok {
		return []byte(text)
	}
	r := t.resume(received)
	defer matcher.Release(r)
	text := bytes.ToValidUTF8(e.reason.Append(nil, r), []byte("\uFFFD"))
	if len(text) > config.MaxReason {
		text = bytes.ToValidUTF8(text[:config.MaxReason], nil)
	}
	return text
}

// close begins the end of the connection: what the client sends is read until it
// answers.
func (t *dialogue) close(code int, reason []byte) {
	if t.closing {
		return
	}
	t.closing, t.closedBy = true, time.Now().Add(closeTime)
	if t.code == 0 {
		t.code = code
	}
	err := t.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, string(reason)), time.Time{})
	if err != nil && !errors.Is(err, websocket.ErrCloseSent) {
		t.failed = err
	}
}

// end ends the connection: the client has answered a close, or broken the rules and was
// told so, or is gone.
func (t *dialogue) end() {
	if t.failed == nil {
		t.conn.Discard() // it may still be sending, and has to get the close
	}
	if t.server.opts.AccessLog {
		t.server.log.LogAttrs(context.Background(), slog.LevelInfo, "websocket closed",
			slog.String("endpoint", t.socket.name),
			slog.Int("code", t.code),
			slog.Int("received", t.received),
			slog.Int("sent", t.sent),
			slog.String("remote", t.conn.RemoteAddr().String()),
			slog.Duration("took", time.Since(t.opened)))
	}
}
