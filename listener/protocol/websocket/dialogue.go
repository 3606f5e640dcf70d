package websocket

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/gobwas/ws"

	"mockserver/config/item"
	"mockserver/listener/observe/record"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Dialogues holds the state that the WebSocket connections of a server share.
type Dialogues struct {
	MaxText int          // maximum size of a rendered text, in bytes
	Log     *slog.Logger // gets a line for each connection that has ended; nil if none
	// Stopped is called when a template of a WebSocket cannot be rendered completely. It returns
	// the reason to send to the client.
	Stopped func(socket string, err error) (reason string)

	open    atomic.Int64
	buffers sync.Pool // pool of *buffer
	writers sync.Pool // pool of *bufio.Writer
}

// Open returns how many connections are open.
func (d *Dialogues) Open() int { return int(d.open.Load()) }

// Conn is the server's connection. Its Write sets its own deadlines.
type Conn interface {
	net.Conn
	// ReadHeld reads what arrived after the handshake and was read with it.
	ReadHeld(b []byte) int
	// IsEnding reports whether the server is stopping. If so, a deadline interrupts reads.
	IsEnding() bool
	// Discard stops sending to the client, and reads what the client sends until the client also
	// stops.
	Discard()
	// CloseNow closes the connection.
	CloseNow() error
}

// Dialogue is one WebSocket connection. A single goroutine does everything on it. That goroutine
// sleeps in a read whose deadline is the time of the next unrequested message. So two writes are
// never interleaved, nothing is read from a client that does not read the replies it requested, and
// a message that falls due several times while the goroutine is busy is sent once.
type Dialogue struct {
	*Dialogues
	socket *Socket
	shard  *record.Shard // nil if nothing is recorded
	seed   func(nth uint64, numbers *matcher.Random)
	made   uint64 // number of texts rendered from templates

	// The request that became the connection, for templates; empty if no template needs it.
	request matcher.Input
	params  [][]byte

	conn Conn
	raw  net.Conn // the connection under conn; used for reading
	in   *bufio.Reader
	// The heads of the frame being received and of the frame being sent, which differ because a
	// frame may be sent while another is received.
	head, sentHead [ws.MaxHeaderSize]byte
	state          ws.State

	opened time.Time
	next   []scheduled // one for each send of the socket
	wakes  time.Time   // the read deadline; zero if none

	code     int       // the close code that was sent or received first; 0 before that
	closing  bool      // a close frame was sent: nothing else is sent any more
	closedBy time.Time // deadline for the client's answer to the close frame
	failed   error     // the error of the connection
	received int       // number of messages
	sent     int
}

// scheduled is the schedule of an unrequested message.
type scheduled struct {
	at   time.Time // zero if the message is not sent again
	sent int
}

// closeTime is how long a client may take to answer a close frame.
const closeTime = 5 * time.Second

// Sizes of buffers, in bytes.
const (
	readBuffer  = 512 // for each connection; large enough for a control frame
	writeBuffer = 4 << 10
	keptMessage = 64 << 10 // the largest buffer that is returned to the pool
)

// New returns the dialogue of a request whose handshake was accepted. The dialogue is counted in a
// shard of the socket's counters.
func (d *Dialogues) New(k *Socket, r *matcher.Request, shard uint32) *Dialogue {
	t := &Dialogue{Dialogues: d, socket: k, state: ws.StateServerSide}
	if k.Counters != nil {
		t.shard = k.Counters.At(shard)
	}
	if k.seed != nil {
		t.seed = k.seed.Connection()
	}
	if k.templated {
		t.request = matcher.Input{
			Method: bytes.Clone(r.In.Method), Target: bytes.Clone(r.In.Target), Host: bytes.Clone(r.In.Host), Header: bytes.Clone(r.In.Header),
			Remote: r.In.Remote, TLS: r.In.TLS,
		}
		for _, param := range r.Params() {
			t.params = append(t.params, bytes.Clone(param))
		}
	}
	return t
}

// Run serves the connection to its end. It reads from raw, the connection under conn.
func (t *Dialogue) Run(conn Conn, raw net.Conn) {
	t.open.Add(1)
	defer t.open.Add(-1)
	defer func() { _ = conn.CloseNow() }() // there is no one to report the error to
	if raw.SetReadDeadline(time.Time{}) != nil {
		return // it is closed
	}
	t.conn, t.raw, t.opened = conn, raw, time.Now()
	t.in = bufio.NewReaderSize(t, readBuffer)
	for i := range t.socket.sends {
		t.next = append(t.next, scheduled{at: t.opened.Add(t.socket.sends[i].first)})
	}
	if t.socket.connect != nil {
		t.send(t.socket.connect, nil, ws.OpText)
	}
	for t.failed == nil && t.hear() {
	}
	t.end()
}

// hear reads a message, answers it, and reports whether the connection continues.
func (t *Dialogue) hear() bool {
	head, err := t.nextData()
	if err != nil {
		t.explain(err)
		return false
	}
	b := t.borrow() // only now, since the connection may have been idle for a long time
	defer t.giveBack(b)
	if err := t.readMessage(head, b); err != nil {
		t.explain(err)
		return false
	}
	t.received++
	if t.shard != nil {
		t.shard.MessageIn(len(b.bytes))
	}
	if !t.closing {
		t.respond(b.bytes, head.OpCode)
	}
	return true
}

// explain sends the client the reason why reading ended, if the client caused it.
func (t *Dialogue) explain(err error) {
	if wrong, ok := errors.AsType[*protocolError](err); t.failed == nil && ok {
		t.close(int(wrong.code), []byte(wrong.reason))
	}
}

// respond does what is declared for the first pattern that matches the message, if any pattern
// matches.
func (t *Dialogue) respond(text []byte, opcode ws.OpCode) {
	h := heard{text: text}
	for i := range t.socket.reactions {
		if x := &t.socket.reactions[i]; x.pattern.matches(&h) {
			t.send(&x.message, text, opcode)
			return
		}
	}
}

// send sends what m declares: a message, a close frame, or both. received is the message that m
// answers, or nil if m answers none. The message has the given opcode unless m declares its own.
func (t *Dialogue) send(m *message, received []byte, opcode ws.OpCode) {
	if m.opcode != 0 {
		opcode = m.opcode
	}
	if m.sends {
		body := m.static
		if m.template != nil {
			b := t.borrow()
			defer t.giveBack(b)
			var stopped error
			if b.bytes, stopped = t.render(b.bytes[:0], m.template, received); stopped != nil {
				t.close(int(ws.StatusInternalServerError), []byte(t.Stopped(t.socket.name, stopped)))
				return
			}
			if body = b.bytes; opcode == ws.OpText && !utf8.Valid(body) {
				body = bytes.ToValidUTF8(body, []byte("\uFFFD"))
			}
		}
		if t.write(opcode, body); t.failed != nil {
			return
		}
		t.sent++
		if t.shard != nil {
			t.shard.MessageOut(len(body))
		}
	}
	if m.close != nil {
		reason, _ := t.render(nil, m.close.reason, received) // as much of it as could be rendered
		reason = bytes.ToValidUTF8(reason, []byte("\uFFFD"))
		if len(reason) > item.MaxReason {
			reason = bytes.ToValidUTF8(reason[:item.MaxReason], nil)
		}
		t.close(m.close.code, reason)
	}
}

// render appends the text of a template for the request that became the connection, with a message
// as its body. The error says why the text is incomplete.
func (t *Dialogue) render(dst []byte, template *renderer.Template, received []byte) ([]byte, error) {
	in := t.request
	in.Body = received
	r := matcher.Acquire(in)
	defer matcher.Release(r)
	r.Message, r.MaxText = received, t.MaxText
	if _, static := template.Static(); t.seed != nil && !static {
		t.made++
		t.seed(t.made, &r.Random)
	}
	r.Resume(t.params)
	dst = template.Append(dst, r)
	return dst, r.Stopped
}

// errNoClose is the error that ends a connection whose client does not answer a close frame.
var errNoClose = errors.New("the client did not answer the close")

// Read reads what the client sent, for the frame reader. It wakes up to send unrequested messages.
func (t *Dialogue) Read(b []byte) (int, error) {
	if n := t.conn.ReadHeld(b); n > 0 {
		return n, nil
	}
	for t.failed == nil {
		if t.failed = t.catchUp(); t.failed != nil {
			break
		}
		n, err := t.raw.Read(b)
		if n > 0 {
			return n, nil
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.failed = err
		}
	}
	return 0, t.failed
}

// catchUp sends the messages that are due, and sets the read deadline for the next one. The error
// ends the connection.
func (t *Dialogue) catchUp() error {
	for {
		if t.conn.IsEnding() {
			t.close(int(ws.StatusGoingAway), nil)
		}
		now := time.Now()
		t.sendDue(now)
		switch {
		case t.failed != nil:
			return t.failed
		case t.closing && !now.Before(t.closedBy):
			return errNoClose
		}
		if wakes := t.due(); wakes != t.wakes || t.closing {
			t.wakes = wakes
			if err := t.raw.SetReadDeadline(wakes); err != nil {
				return err
			}
		}
		if t.closing || !t.conn.IsEnding() { // otherwise the deadline may have replaced the one that interrupts
			return nil
		}
	}
}

// sendDue sends the messages that are due at now, in the order in which they fell due.
func (t *Dialogue) sendDue(now time.Time) {
	for !t.closing && t.failed == nil {
		first := -1
		for i := range t.next {
			at := t.next[i].at
			if !at.IsZero() && !at.After(now) && (first < 0 || at.Before(t.next[first].at)) {
				first = i
			}
		}
		if first < 0 {
			return
		}
		k := &t.socket.sends[first]
		t.next[first].advance(k, now)
		t.send(&k.message, nil, ws.OpText)
	}
}

// advance moves on to the next time after now. Times that have passed are skipped.
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

// due returns when reading must wake up, or the zero time for never.
func (t *Dialogue) due() time.Time {
	if t.closing {
		return t.closedBy
	}
	var wakes time.Time
	for i := range t.next {
		if at := t.next[i].at; !at.IsZero() && (wakes.IsZero() || at.Before(wakes)) {
			wakes = at
		}
	}
	return wakes
}

// close sends a close frame, unless it has already sent one. Until the client answers the frame,
// reading continues.
func (t *Dialogue) close(code int, reason []byte) {
	if t.closing {
		return
	}
	t.closing, t.closedBy = true, time.Now().Add(closeTime)
	if t.code == 0 {
		t.code = code
	}
	t.writeClose(code, reason)
}

// end ends the connection: the client has answered a close frame, has been told of its protocol
// error, or has left.
func (t *Dialogue) end() {
	if t.failed == nil {
		t.conn.Discard() // the client may still be sending, and must receive the close frame
	}
	if t.Log != nil {
		t.Log.LogAttrs(context.Background(), slog.LevelInfo, "websocket closed",
			slog.String("endpoint", t.socket.name),
			slog.Int("code", t.code),
			slog.Int("received", t.received),
			slog.Int("sent", t.sent),
			slog.String("remote", t.conn.RemoteAddr().String()),
			slog.Duration("took", time.Since(t.opened)))
	}
}

// buffer is the memory for one message.
type buffer struct{ bytes []byte }

func (d *Dialogues) borrow() *buffer {
	if b, ok := d.buffers.Get().(*buffer); ok {
		return b
	}
	return &buffer{make([]byte, 0, readBuffer)}
}

func (d *Dialogues) giveBack(b *buffer) {
	if cap(b.bytes) <= keptMessage {
		d.buffers.Put(b)
	}
}
