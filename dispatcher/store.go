package dispatcher

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"mockserver/dispatcher/outbox"
)

// restore opens the outbox and makes its deliveries pending again.
func (q *Queue) restore(dir string) error {
	box, pending, err := outbox.Open(dir, q.log)
	if err != nil {
		return err
	}
	q.outbox = box
	q.actor.stats.Lost = box.Lost()
	webhooks := map[string]*Webhook{} // one for all that are equal
	for _, e := range pending {
		w := webhooks[string(e.Webhook)]
		if w == nil {
			if w, err = readWebhook(e.Webhook); err != nil {
				q.log.Error("a webhook of the store is left out", "error", err.Error())
				q.actor.stats.Lost++
				continue
			}
			webhooks[string(e.Webhook)] = w
		}
		d := Delivery{Webhook: w, Depth: e.Depth, parts: bytes.Clone(e.Parts), id: e.ID}
		q.pending.Add(1)
		q.mail.put(arrival{Delivery: d, due: max(e.Due.Sub(q.began.Round(0)), 0)})
	}
	if len(pending) > 0 {
		q.log.Info("webhooks are pending from before", "pending", len(pending), "store", dir)
	}
	return nil
}

// store makes an accepted delivery durable.
func (q *Queue) store(d *Delivery) error {
	// The outbox cannot hold a later moment.
	due := time.Now().Add(min(d.Delay, time.Until(time.Unix(0, math.MaxInt64))))
	e := outbox.Entry{Due: due, Depth: d.Depth, Webhook: appendWebhook(nil, d.Webhook), Parts: d.parts}
	if err := q.outbox.Store(&e); err != nil {
		return err
	}
	d.id = e.ID
	return nil
}

// maxNumbers is the most room that the numbers of a webhook take, in bytes.
const maxNumbers = 9 * binary.MaxVarintLen64

// appendWebhook appends all there is to know of a webhook, so that its deliveries can be
// sent when the configuration no longer has it.
func appendWebhook(to []byte, w *Webhook) []byte {
	to = slices.Grow(to, maxNumbers+len(w.Name)+len(w.Method)+len(w.URL)+len(w.Header)+len(w.Body))
	for _, text := range []string{w.Name, w.Method, w.URL} {
		to = outbox.AppendText(to, text)
	}
	to = outbox.AppendText(to, w.Header)
	to = outbox.AppendText(to, w.Body)
	for _, n := range []int64{int64(w.Timeout), int64(w.Retry.Attempts), int64(w.Retry.Backoff), int64(w.Retry.MaxBackoff)} {
		to = binary.AppendUvarint(to, uint64(max(n, 0)))
	}
	if w.Sign != nil {
		for _, text := range []string{w.Sign.Secret, w.Sign.Header, w.Sign.Scheme} {
			to = outbox.AppendText(to, text)
		}
	}
	return to
}

// readWebhook reads what appendWebhook wrote. It keeps nothing of from.
func readWebhook(from []byte) (*Webhook, error) {
	f := outbox.NewFields(bytes.Clone(from))
	w := &Webhook{Name: string(f.Text()), Method: string(f.Text()), URL: string(f.Text())}
	w.Header, w.Body = f.Text(), f.Text()
	w.Timeout = time.Duration(f.Uvarint())
	w.Retry = Retry{Attempts: int(f.Uvarint() & 0xFFFF), Backoff: time.Duration(f.Uvarint()), MaxBackoff: time.Duration(f.Uvarint())}
	if f.More() {
		w.Sign = &Signature{Secret: string(f.Text()), Header: string(f.Text()), Scheme: string(f.Text())}
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	return w, nil
}
