package serve

import (
	"cmp"
	"errors"
	"io"
	"log/slog"
	"math"
	"slices"
	"time"

	"mockserver/config/policy"
	"mockserver/fetcher/upstream"
	"mockserver/internal/events"
	"mockserver/listener/compile"
	"mockserver/listener/compile/traffic"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/recording"
	"mockserver/listener/protocol/wire"
	"mockserver/matcher"
	"mockserver/renderer/stream"
)

// A streamed answer of an upstream is sent as it arrives. Nothing of it is held back: a fault counts its events, and
// its webhooks follow its end.

// pieces is the state of an upstream's answer that is sent as it arrives.
type pieces struct {
	source  *compile.Response // what declares it
	given   *compile.Response // whose webhooks follow the end; nil for none
	rest    []byte            // what has arrived, or replaces an event, but was not sent
	counted int               // bytes of rest that are the second part of an event
	over    error             // what follows rest; nil while the upstream may send more
	split   events.Splitter
	counts  bool           // events are counted
	within  bool           // one has begun
	items   int            // events that were sent, or lines, or pieces of any other body
	fault   *traffic.Fault // which comes within the answer; nil for none, or once it has come
	most    int            // how many items are sent before it
	faultAt time.Time      // when it comes; zero if time does not matter
	ends    time.Time      // when the answer must have ended
	speed   int            // bytes a second of a slow body; 0 for any other
	free    time.Time      // when a slow body has room for more, or the second part of an event is due
	took    time.Duration  // from the arrival to the head
	headed  bool           // the head was sent
	end     string         // how the answer ended; "" before, and if its client cannot be written to
	kept    []byte         // the body so far, for its webhooks
	keeps   bool           // the body is kept
}

var (
	// errCut ends an answer that a fault cuts off.
	errCut = errors.New("a fault ends the response")
	// errStalled means that nothing more is sent until the client leaves.
	errStalled = errors.New("a fault stalls the response")
)

// beginPieces decides whether the answer of an upstream is sent as it arrives. One without events that has arrived as
// a whole is not.
func (c *call) beginPieces(a *compile.Response) {
	x, fault := c.passing, c.rest.fault
	framed, spoiled := x.Framing != events.None, fault != nil || a.Cut != nil
	c.Reply.Streamed = x.Streamed && !c.isHead() && (fault == nil || !fault.IsBeforeHead()) &&
		(!x.Whole || framed && (spoiled || len(a.Hooks) > 0))
	if !c.Reply.Streamed {
		return
	}
	c.buffered = false
	x.source, x.split, x.counts, x.keeps = a, x.Splitter(), spoiled || len(a.Hooks) > 0, !framed && len(a.Hooks) > 0
	switch {
	case fault == nil:
	case fault.Kind == wire.Slow:
		x.speed = fault.Speed(c.Random.Float64())
	default: // how much is sent is not known
		x.Length = -1
	}
}

// startPieces begins to send an answer, whose head was sent. rest is what has arrived of its body.
func (c *call) startPieces(rest []byte) {
	x, f := c.passing, c.fault
	x.rest, x.headed, x.took, x.ends = rest, true, c.took(), x.Ends
	if x.Whole {
		x.over = io.EOF
	}
	if f == nil || f.Kind == wire.Slow {
		return
	}
	x.fault = f
	most, since := f.Place(-1)
	if x.most = most; since == math.MaxInt64 {
		return
	}
	if x.faultAt = time.Now().Add(since); !f.Replaces { // it may come while nothing arrives
		x.Ends = earliest(x.Ends, x.faultAt)
	}
}

// nextPiece reads what is sent next of the upstream's answer. The error is io.EOF at its end, upstream.ErrLeft if the
// client has left, and errCut if a fault ends it.
func (c *call) nextPiece(b []byte) (n int, err error) {
	x := c.passing
	if x.speed > 0 {
		b = b[:min(len(b), max(x.speed/20, 1))] // of a twentieth of a second
	}
	second := x.counted > 0
	if !second && x.isFaulty(false) {
		c.applyFault(nil)
	}
	switch {
	case second:
		err = c.waitFor(x.free)
		n = copy(b[:min(len(b), x.counted)], x.rest)
		x.rest, x.counted = x.rest[n:], x.counted-n
	case len(x.rest) > 0:
		n = copy(b, x.rest)
		x.rest = x.rest[n:]
	case x.over == errStalled:
		x.end = ""
		if err = c.waitFor(x.ends); err == nil {
			x.end, err = record.EndMaxDuration, io.EOF
		}
	case x.over != nil:
		err = x.over
	default:
		n, err = x.ReadWatching(b, c.peer)
	}
	if x.counts && !second {
		n, err = c.countEvents(b[:n], err)
	}
	if x.keeps = x.keeps && len(x.kept)+n <= c.MaxText; x.keeps {
		x.kept = append(x.kept, b[:n]...)
	}
	if x.speed > 0 && n > 0 {
		x.free = latest(x.free, time.Now()).Add(time.Duration(float64(n) / float64(x.speed) * float64(time.Second)))
		err = cmp.Or(c.waitFor(x.free), err)
	}
	if err != nil && x.end == "" {
		x.end = x.endOf(err)
	}
	return n, err
}

// endOf returns how an answer ends with an error of nextPiece.
func (x *passing) endOf(err error) string {
	switch {
	case err == io.EOF:
		return record.EndComplete
	case err == upstream.ErrLeft:
		return record.EndClient
	case !time.Now().Before(x.ends):
		return record.EndMaxDuration
	}
	return record.EndUpstream
}

// waitFor waits until t. The error is upstream.ErrLeft.
func (c *call) waitFor(t time.Time) error {
	if c.peer.WaitUntil(t) {
		return upstream.ErrLeft
	}
	return nil
}

// isFaulty reports whether the fault comes now, if it is one that replaces an event, or one that does not.
func (x *passing) isFaulty(replaces bool) bool {
	return x.fault != nil && x.fault.Replaces == replaces &&
		(x.items >= x.most || !x.faultAt.IsZero() && !time.Now().Before(x.faultAt))
}

// countEvents counts the events in b, and returns how much of b is sent before a fault, or before the second part of an
// event.
func (c *call) countEvents(b []byte, err error) (n int, _ error) {
	x, cut := c.passing, c.passing.source.Cut
	for n < len(b) {
		if x.isFaulty(false) {
			return n, nil
		} else if !x.within && x.isFaulty(true) {
			return n + c.replace(b[n:]), nil
		}
		size := x.split.Next(b[n:])
		if x.within = size == 0; x.within {
			n = len(b)
			break
		}
		x.items++
		n += size
		if cut != nil && size > 1 && c.Random.Float64() < cut.Rate {
			at := n - size + 1 + int(c.Random.Float64()*float64(size-1))
			x.rest, x.counted, x.free = slices.Concat(b[at:], x.rest), n-at, time.Now().Add(cut.Pause)
			return at, nil
		}
	}
	if f := x.fault; err == io.EOF && f != nil && (x.isFaulty(false) || f.Kind == policy.FaultTruncate && !f.OnlyStreams) {
		c.applyFault(nil) // also at the end of a shorter answer, which the client must not take for complete
		err = nil
	}
	return n, err
}

// replace makes a fault come in place of the event that begins with b, and returns how much of b is sent.
func (c *call) replace(b []byte) (n int) {
	x := c.passing
	if x.fault.Kind == policy.FaultMalformed {
		if n = x.split.Next(b); n == 0 { // more of it would follow
			n = len(b) + 1
		}
		c.applyFault(nil)
		return n / 2
	}
	var cursor stream.Cursor
	cursor.BeginAt(x.source.Failing, x.items, &c.Request)
	x.items++
	if c.applyFault(cursor.Append(nil, &c.Request)); c.Stopped != nil {
		f, err := c.server.unfinished(c.Stopped)
		c.server.logServerError(f, x.source, err)
		x.rest, x.over, x.end, c.Stopped = nil, errCut, record.EndBroken, nil
	}
	return 0
}

// applyFault makes the fault happen: rest is sent instead of what the upstream still sends.
func (c *call) applyFault(rest []byte) {
	x, f := c.passing, c.passing.fault
	switch x.over = io.EOF; {
	case f.Stalls:
		x.over = errStalled
	case f.Breaks:
		x.over = errCut
	}
	x.rest, x.end, x.fault, x.counts, c.Trace.Fault = rest, record.EndFault, nil, false, f.Kind
	x.capture.End(x.Exchange, recording.CodeLeft, record.StatusLeft)
	x.Close()
}

// endPieces ends an answer that was sent as it arrived, however that ended: it frees its place, records the request, and
// triggers its webhooks, which do not know the body of events.
func (s *Server) endPieces(c *call) {
	if !c.passesOn() {
		return
	}
	x := c.passing
	x.Close()
	if c.held != nil {
		c.held.Leave(time.Now())
	}
	if s.Recorder != nil {
		s.record(c, !x.headed)
	}
	if x.given != nil && x.headed {
		if c.Reply.Body = nil; x.keeps {
			c.Reply.Body = x.kept
		} else {
			c.Reply.Coded = nil
		}
		c.Reply.End = &matcher.StreamEnd{Items: x.items, Duration: time.Since(c.In.Time), End: cmp.Or(x.end, record.EndClient)}
		s.notify(x.given, c)
	}
	if s.AccessLog {
		s.logAccess(c, !x.headed, slog.Duration("took", time.Since(c.In.Time)))
	}
}
