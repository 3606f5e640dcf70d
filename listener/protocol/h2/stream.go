package h2

import (
	"net"
	"sync"
	"time"

	"mockserver/internal/pacer"
)

// Stream is one request and its response. Its request is complete before the Handler sees it, and
// its slices are valid until the Handler returns. Its methods may only be called in the goroutine
// of the Handler, unless they say otherwise.
type Stream struct {
	Method, Target, Host []byte
	Header               []byte // lines of the form "name: value", with CRLF, and an empty one
	Body                 []byte
	// Room is a buffer for the body of the response.
	Room []byte
	// Trailer is a block of fields that follows a body sent with Put; nil for none.
	Trailer []byte
	// NeedsRoom means that more of the body is due, for which HasRoom has reported false: the next wait ends early as
	// soon as there is room. Later.Serve sets it each time.
	NeedsRoom bool
	// Blocks means that the next call of Later.Serve after a wait may block.
	Blocks bool

	c       *conn
	arrived time.Time // when the last byte of the request arrived; until then, its latest frame
	begun   time.Time // when its first frame arrived
	request request
	response
	spoil  string
	timer  *time.Timer
	later  Later // continues a request that waits without a goroutine; nil for any other
	entry  pacer.Entry
	id     uint32
	inline bool // the goroutine that reads the connection, or the pacer, answers it, and flushes later

	guarded
	pausing pausing
}

// guarded are the fields of a stream that the lock of the connection guards.
type guarded struct {
	received bool // the request is complete
	served   bool // the Handler has returned, or was never called
	answered bool // the headers of the response were sent, or the stream was reset
	closed   bool // it is no longer one of the streams of the connection
	starved  bool // it got no larger window
	queued   bool // it is in conn.ready
	paced    bool // its body is sent with Put
	blocked  bool // more of its body is due, but there is no room for it
	window   int  // bytes that may be sent
	given    int  // bytes that may be received
	counted  int  // its bytes in conn.bodies
	waits    int  // its bytes in conn.waiting
}

// response is the response of a stream, and how much of it was sent. The lock of the connection guards
// all fields but after.
type response struct {
	// after is called when the response has been written, or cannot be written.
	after         func(written time.Time)
	sending       bool   // the Handler has sent the response
	following     bool   // after is to be called
	followed      bool   // after was queued
	ending        ending // what follows the body
	body          []byte
	sent, allowed int       // of body: sent, and due to be sent
	answerBegun   time.Time // when a body that could not be sent at once began to be sent
	progress      time.Time // when the last part of it was sent
}

// pausing is the state of a stream's waits that is shared with other goroutines.
type pausing struct {
	mu     sync.Mutex // guards the fields below
	woken  bool       // Wake was called, and no wait has reported it
	left   bool
	signal chan struct{} // nil before the first wait
}

// ending is how a response ends.
type ending uint8

const (
	endsWhole  ending = iota
	endsReset         // a reset follows what was sent
	endsBroken        // the connection ends in the middle of a frame
	endsLater         // what follows is not known yet: see Begin
)

// Kinds of faults, see Spoil.
const (
	Reset     = "reset"
	Empty     = "empty"
	Malformed = "malformed"
	Truncate  = "truncate"
	// ResetConnection resets the connection, and so ends all its streams.
	ResetConnection = "reset-connection"
)

// streams holds unused streams.
var streams = sync.Pool{New: func() any { return new(Stream) }}

func newStream(c *conn, id uint32, now time.Time) *Stream {
	s := streams.Get().(*Stream)
	s.c, s.id, s.begun, s.arrived = c, id, now, now
	return s
}

// recycle returns to the pool a stream that is no longer used.
func (s *Stream) recycle() {
	room, body, text, cookies, timer, signal := s.Room, s.Body, s.request.text, s.request.cookies, s.timer, s.pausing.signal
	*s = Stream{timer: timer}
	s.pausing.signal = signal
	if cap(room) <= keptBody {
		s.Room = room[:0]
	}
	if cap(body) <= keptBody {
		s.Body = body[:0]
	}
	if cap(text) <= keptLines {
		s.request.text = text[:0]
	}
	if cap(cookies) <= keptLines {
		s.request.cookies = cookies[:0]
	}
	streams.Put(s)
}

// Conn returns the connection that Serve was called with.
func (s *Stream) Conn() net.Conn { return s.c.nc }

// Shard returns the shard of the connection.
func (s *Stream) Shard() uint32 { return s.c.shard }

// Arrived returns when the last byte of the request was read.
func (s *Stream) Arrived() time.Time { return s.arrived }

// Chooses reports whether the request has a header that may select a response: Prefer, or an Accept
// other than */*.
func (s *Stream) Chooses() (prefers, accepts bool) { return s.request.prefers, s.request.accepts }

// AfterWrite sets f to be called once the response has been written, or cannot be written, after the
// functions set before.
func (s *Stream) AfterWrite(f func(written time.Time)) {
	if before := s.after; before == nil {
		s.after = f
	} else {
		s.after = func(written time.Time) {
			before(written)
			f(written)
		}
	}
}

// Spoil applies a fault to the response that Send is going to send.
func (s *Stream) Spoil(kind string) { s.spoil = kind }

// HasLeft reports whether no response is needed: the client reset the stream, or the connection
// ended.
func (s *Stream) HasLeft() bool {
	s.pausing.mu.Lock()
	defer s.pausing.mu.Unlock()
	return s.pausing.left
}

// Left is the same as HasLeft.
func (s *Stream) Left() bool { return s.HasLeft() }

// Wake ends the current wait of the stream, or else the next one. Any goroutine may call it, while
// holding any lock except those of this package.
func (s *Stream) Wake() { s.wakeUp(false) }

func (s *Stream) wakeUp(left bool) {
	p := &s.pausing
	p.mu.Lock()
	defer p.mu.Unlock()
	if left {
		p.left = true
	} else {
		p.woken = true
	}
	select {
	case p.signal <- struct{}{}: // nil if no wait needs it
	default:
	}
}

// WaitUntil waits until t or until the stream ends, and reports whether the client left.
func (s *Stream) WaitUntil(t time.Time) (left bool) {
	s.c.srv.Pacer.Wake(t)
	for {
		if s.timer == nil {
			s.timer = time.NewTimer(time.Until(t))
		} else {
			s.timer.Reset(time.Until(t))
		}
		left, due := s.wait(s.timer.C)
		s.timer.Stop()
		if left || due && !time.Now().Before(t) {
			return left
		}
	}
}

// Wait waits until Wake is called or the stream ends, and reports whether the client left.
func (s *Stream) Wait() (left bool) {
	left, _ = s.wait(nil)
	return left
}

// wait waits until Wake is called, the stream ends, or due fires. over means that due has fired.
func (s *Stream) wait(due <-chan time.Time) (left, over bool) {
	p := &s.pausing
	for {
		p.mu.Lock()
		if p.signal == nil {
			p.signal = make(chan struct{}, 1)
		}
		left, woken := p.left, p.woken
		p.woken = false
		p.mu.Unlock()
		if left || woken {
			return left, false
		}
		select {
		case <-due:
			return false, true
		case <-p.signal:
		}
	}
}
