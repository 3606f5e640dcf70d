package serve

import (
	"errors"
	"io"
	"time"

	"mockserver/fetcher/upstream"
	"mockserver/internal/events"
	"mockserver/listener/compile"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/recording"
	"mockserver/listener/protocol/wire"
)

// A streamed answer of an upstream is sent as it arrives. Nothing of it is held back: a fault counts its events, and
// its webhooks follow its end.

// pieces is the state of an upstream's answer that is sent as it arrives.
type pieces struct {
	rest  []byte // what has arrived, but was not sent
	split events.Splitter
	sent  int64
	items int               // events that were sent, or lines, or pieces of any other body
	speed int               // bytes a second of a slow body
	free  time.Time         // when a slow body has room for more
	given *compile.Response // whose webhooks follow the end; nil for none
	kept  []byte            // the body so far, for these webhooks
	keeps bool              // the body is kept
}

// errCut ends an answer that a fault cuts off.
var errCut = errors.New("a fault ends the response")

// beginPieces decides whether the answer of an upstream is sent as it arrives. One without events that has arrived as
// a whole is not.
func (c *call) beginPieces(a *compile.Response) {
	x, fault := c.passing, c.rest.fault
	framed := x.Framing != events.None
	c.Reply.Streamed = x.Streamed && !c.isHead() && (fault == nil || !fault.IsBeforeHead()) &&
		(!x.Whole || framed && (fault != nil || len(a.Hooks) > 0))
	c.buffered = c.buffered && !c.Reply.Streamed
	if c.Reply.Streamed && fault != nil && fault.Kind == wire.Slow {
		x.speed = fault.Speed(c.Random.Float64())
	}
	x.split = x.Splitter()
	x.keeps = c.Reply.Streamed && !framed && len(a.Hooks) > 0
}

// nextPiece reads what is sent next of the upstream's answer. The error is io.EOF at its end, upstream.ErrLeft if the
// client has left, and errCut if a fault ends it.
func (c *call) nextPiece(b []byte) (n int, err error) {
	x, f := c.passing, c.fault
	if f != nil && f.Kind == wire.Slow {
		b = b[:min(len(b), max(x.speed/20, 1))] // of a twentieth of a second
	}
	switch {
	case len(x.rest) > 0:
		n = copy(b, x.rest)
		x.rest = x.rest[n:]
	case x.Whole:
		err = io.EOF
	default:
		n, err = x.ReadWatching(b, c.peer)
	}
	if f == nil && !x.keeps {
		return n, err
	}
	if x.keeps = x.keeps && len(x.kept)+n <= c.MaxText; x.keeps {
		x.kept = append(x.kept, b[:n]...)
	}
	switch {
	case f == nil:
	case f.Kind == wire.Slow && n > 0:
		x.free = latest(x.free, time.Now()).Add(time.Duration(float64(n) / float64(x.speed) * float64(time.Second)))
		if c.peer.WaitUntil(x.free) {
			x.capture.End(x.Exchange, recording.CodeLeft, record.StatusLeft)
			return 0, upstream.ErrLeft
		}
	case f.Kind == wire.Truncate:
		most, _ := f.Place(-1)
		n, err = x.cut(b[:n], err, most)
	}
	return n, err
}

// cut returns how much of b is sent before a fault ends the answer: after most events, or else at its end, which the
// client must not take for complete.
func (x *passing) cut(b []byte, err error, most int) (int, error) {
	if x.sent += int64(len(b)); x.sent == x.Length && len(b) > 0 {
		b, err = b[:len(b)-1], io.EOF
	}
	for from := 0; ; x.items++ {
		if x.items >= most {
			return from, errCut
		}
		size := x.split.Next(b[from:])
		if from += size; size == 0 {
			break
		}
	}
	if err == io.EOF {
		err = errCut
	}
	return len(b), err
}

// endPieces ends an answer that was sent as it arrived, however that ended: it frees its place and triggers its
// webhooks, which do not know the body of events.
func (s *Server) endPieces(c *call) {
	if c.Reply.Passed == nil || !c.Reply.Streamed {
		return
	}
	x := c.passing
	x.Close()
	if c.held != nil {
		c.held.Leave(time.Now())
	}
	if x.given == nil {
		return
	}
	if c.Reply.Body = nil; x.keeps {
		c.Reply.Body = x.kept
	} else {
		c.Reply.Coded = nil
	}
	s.notify(x.given, c)
}
