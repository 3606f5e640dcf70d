package recording

import (
	"crypto/sha256"
	"time"

	"mockserver/fetcher/upstream"
	"mockserver/internal/events"
	"mockserver/internal/recording"
	"mockserver/matcher"
)

// Capture is the recording of one exchange. The zero Capture records nothing.
type Capture struct {
	recorder *Recorder
	entry    *Entry // nil if none
	asking   *asking
}

// CodeLeft is the reason why the exchange with a client that left is incomplete.
const CodeLeft = recording.Left

// Begin returns the recorded answer to a request if recorded answers are served, and otherwise
// begins to record its exchange. Until a time, a request with a Waiter waits for the answer to an
// equal one. The error is upstream.ErrLeft.
func (t *Capture) Begin(r *Recorder, q *matcher.Request, connection uint64, w upstream.Waiter, until time.Time) (s *Served, waited time.Duration, err error) {
	var key [sha256.Size]byte
	if r.index != nil {
		key = keyOf(q.In.Method, target(q), q.Body())
		s, t.asking, waited, err = r.index.find(key, w, until)
		if s != nil || err != nil {
			if s != nil {
				r.served.Add(1)
			}
			return s, waited, err
		}
	}
	if t.recorder, t.entry = r, r.Begin(q, connection); t.entry != nil {
		t.entry.key = key
	}
	if t.entry == nil || t.entry.omitted != "" || t.entry.request.omitted != "" {
		t.asking.end(false)
	}
	return nil, waited, nil
}

// Response records the head of an answer, and the part of its body that was read. It ends the
// exchange if that part is the whole body.
func (t *Capture) Response(x *upstream.Exchange) {
	if t.entry == nil {
		return
	}
	t.entry.Response(x.Status, x.Fields)
	if x.Streamed && (!x.Whole || x.Framing != events.None) {
		t.entry.stream(x)
	}
	if t.asking != nil && !x.Whole && (x.Length > int64(t.entry.kept) || x.Framing != events.None) {
		t.asking.end(false) // the answer is too large, or may have no end
	}
	t.More(x, x.Body, x.Whole, false)
}

// More records a part of a body. It ends the exchange if the body is over, or if the body broke
// off.
func (t *Capture) More(x *upstream.Exchange, b []byte, over, broken bool) {
	if t.entry == nil {
		return
	}
	if t.entry.More(b, time.Since(x.Sent)); t.entry.response.omitted != "" { // it has become too large to be waited for
		t.asking.end(false)
	}
	switch {
	case broken:
		t.End(x, recording.Cut, x.Status)
	case over:
		t.End(x, "", x.Status)
	}
}

// End ends the exchange. failure says why it is incomplete; "" means that it is complete. Further
// calls have no effect.
func (t *Capture) End(x *upstream.Exchange, failure string, status int) {
	if t.entry == nil {
		return
	}
	e := t.entry
	if !x.First.IsZero() {
		e.first, e.last = x.First.Sub(x.Sent), time.Since(x.Sent)
	}
	e.wait, e.underWay = x.Waited+x.Connected, x.UnderWay
	if e.err = failure; failure != "" && !(e.streamed && failure == CodeLeft) { // a client leaves an endless stream
		e.status = status
	}
	t.recorder.End(e)
	t.asking.end(failure != "")
	*t = Capture{}
}
