package recording

import (
	"time"

	"mockserver/fetcher/upstream"
	"mockserver/matcher"
)

// Taping is the recording of one exchange. The zero Taping records nothing.
type Taping struct {
	recorder *Recorder
	entry    *Entry // nil if none
}

// Reasons why an exchange is incomplete, as recordings state them, in addition to the codes of
// package reply.
const (
	CodeCut  = "cut"
	CodeLeft = "left"
)

// Tape begins to record an exchange. A nil Recorder records nothing.
func (r *Recorder) Tape(q *matcher.Request, connection uint64) Taping {
	if r == nil {
		return Taping{}
	}
	return Taping{r, r.Begin(q, connection)}
}

// Answered records the head of an answer, and the part of its body that was read. It ends the
// exchange if that part is the whole body.
func (t *Taping) Answered(x *upstream.Exchange) {
	if t.entry == nil {
		return
	}
	t.entry.Answer(x.Status, x.Fields)
	t.entry.More(x.Body)
	if x.Whole {
		t.End(x, "", x.Status)
	}
}

// More records a part of a body. It ends the exchange if the body is over, or if the body broke
// off.
func (t *Taping) More(x *upstream.Exchange, b []byte, over, broken bool) {
	if t.entry == nil {
		return
	}
	t.entry.More(b)
	switch {
	case broken:
		t.End(x, CodeCut, x.Status)
	case over:
		t.End(x, "", x.Status)
	}
}

// End ends the exchange. failure says why it is incomplete; "" means that it is complete. Further
// calls have no effect.
func (t *Taping) End(x *upstream.Exchange, failure string, status int) {
	if t.entry == nil {
		return
	}
	var first, last time.Duration
	if !x.First.IsZero() {
		first, last = x.First.Sub(x.Sent), time.Since(x.Sent)
	}
	t.entry.Times(x.Waited+x.Connected, first, last, x.UnderWay)
	if failure != "" {
		t.entry.Fail(failure, status)
	}
	t.recorder.End(t.entry)
	*t = Taping{}
}
