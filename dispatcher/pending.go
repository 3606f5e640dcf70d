package dispatcher

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Pending describes a delivery that was accepted and has not finished.
type Pending struct {
	ID        string    `json:"id" doc:"ID of the delivery while it is pending; it changes after each attempt"` // such as "17-60000000000"
	Webhook   string    `json:"webhook" doc:"the endpoint that declares the webhook, with the webhook's number there"`
	Method    string    `json:"method" doc:"method of the request that is sent"`
	URL       string    `json:"url" doc:"URL of the request, without a password"` // with it here
	Due       time.Time `json:"due" doc:"when the next attempt is due"`
	Attempt   int       `json:"attempt" doc:"number of the last attempt; 0 before the first"`
	InFlight  bool      `json:"in_flight" doc:"whether it is being sent"`
	LastError string    `json:"last_error,omitempty" doc:"why the last attempt failed"` // the first 200 bytes
}

// GivenUp describes the deliveries of a webhook to one target that were given up.
type GivenUp struct {
	Webhook   string    `json:"webhook" doc:"the endpoint that declares the webhook, with the webhook's number there"`
	Method    string    `json:"method" doc:"method of the requests that were sent"`
	URL       string    `json:"url" doc:"URL of the last one, without a password"` // with it here
	Count     uint64    `json:"count" doc:"how many were given up"`
	Last      time.Time `json:"last" doc:"when the last one was given up"`
	LastError string    `json:"last_error" doc:"why its last attempt failed"`
	target    string
}

// givenUpKept is the maximum number of webhooks and targets of which it is known why deliveries were
// given up: those that failed last.
const givenUpKept = 100

// giveUp adds a delivery that is not attempted again; target is "" if its URL is invalid. Only the actor
// may call it.
func (a *actor) giveUp(w *Webhook, parts []byte, target, reason string) {
	one := GivenUp{Webhook: w.Name, target: target}
	if i := slices.IndexFunc(a.givenUp, func(g GivenUp) bool { return g.Webhook == w.Name && g.target == target }); i >= 0 {
		one = a.givenUp[i]
		a.givenUp = slices.Delete(a.givenUp, i, i+1)
	}
	one.Method, one.URL, one.Last, one.LastError = w.Method, urlOf(w, parts), time.Now().UTC(), reason
	one.Count++
	a.givenUp = slices.Insert(a.givenUp[:min(len(a.givenUp), givenUpKept-1)], 0, one)
}

// GivenUp returns the deliveries that were given up, by webhook and target, the latest first. After Close
// there are none.
func (q *Queue) GivenUp() (list []GivenUp) {
	q.ask(func() { list = slices.Clone(q.actor.givenUp) })
	return list
}

// urlOf returns the URL of a delivery.
func urlOf(w *Webhook, parts []byte) string {
	if url, _, err := cutPart(parts); err == nil && url != nil {
		return string(url)
	}
	return w.URL
}

// Errors returned by Fire and Cancel.
var (
	ErrUnknown  = errors.New("no pending webhook has this ID")
	ErrInFlight = errors.New("the webhook is being sent")
)

// lookAt is how many entries the actor examines before it continues with other work.
const lookAt = 1 << 13

// List returns the pending deliveries that were started, the earliest due first, up to a maximum
// number, and the number of all such deliveries. The actor examines a limited number of entries at
// a time, so that it does not delay deliveries; changes in the meantime may or may not be visible.
// After Close the list is empty.
func (q *Queue) List(most int) (list []Pending, all int) {
	began := time.Now().Add(-q.clock()) // by the clock as it is now
	for from, last := uint32(1), uint32(0); ; from += lookAt {
		if !q.ask(func() {
			last = q.actor.ledger.used
			list, all = q.look(list, all, began, from, min(from+lookAt-1, last))
		}) {
			return nil, 0
		}
		slices.SortFunc(list, func(a, b Pending) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.ID, b.ID)) })
		list = list[:min(len(list), max(most, 0))]
		if last < from+lookAt {
			return list, all
		}
	}
}

// look appends the entries in a range of numbers, with times that count from when the queue began.
// Only the actor may call it.
func (q *Queue) look(list []Pending, all int, began time.Time, from, to uint32) ([]Pending, int) {
	for id := from; id <= to; id++ {
		e, f, _ := q.actor.ledger.peek(id)
		if e.state == free || e.state == cancelled {
			continue
		}
		all++
		list = append(list, Pending{
			ID: e.name(id), Webhook: f.Name, Method: f.Method, URL: urlOf(f.Webhook, e.parts),
			Due: began.Add(e.due), Attempt: int(e.attempt), InFlight: e.state == inFlight, LastError: q.actor.ledger.reasons[id],
		})
	}
	return list, all
}

// Fire sends a pending delivery now, as if it were due. The error is ErrUnknown or ErrClosed. Fire
// has no effect on a delivery that is already due or being sent.
func (q *Queue) Fire(id string) error {
	return q.order(id, func(n uint32, e *entry) error {
		if e.state == waiting {
			q.actor.wheel.Cancel(n)
			e.due = q.clock()
			q.actor.wheel.Add(tickOf(e.due), n)
		}
		return nil
	})
}

// Cancel removes a pending delivery: it is neither sent nor retried, and is removed from the store.
// The error is ErrUnknown, ErrInFlight or ErrClosed.
func (q *Queue) Cancel(id string) error {
	return q.order(id, func(n uint32, e *entry) error {
		a := &q.actor
		_, f, _ := a.ledger.get(n)
		switch e.state {
		case inFlight:
			return ErrInFlight
		case ready: // it is dropped when its turn comes
			e.state = cancelled
			q.forget(e.id)
		default:
			a.wheel.Cancel(n)
			q.forget(e.id)
			a.ledger.remove(n)
		}
		f.counters.dropped.Add(1)
		a.stats.Cancelled++
		return nil
	})
}

// order has the actor call do on the pending delivery with an ID. The error is that of do,
// ErrUnknown or ErrClosed.
func (q *Queue) order(id string, do func(n uint32, e *entry) error) error {
	var n uint32
	var due int64
	if _, err := fmt.Sscanf(id, "%d-%d", &n, &due); err != nil || n == 0 {
		return ErrUnknown
	}
	err := ErrClosed
	q.ask(func() {
		err = ErrUnknown
		if n > q.actor.ledger.used {
			return
		}
		e, _, _ := q.actor.ledger.peek(n)
		if e.state != free && e.state != cancelled && e.name(n) == id {
			err = do(n, e)
		}
	})
	return err
}
