package dispatcher

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"time"

	"mockserver/dispatcher/outbox"
	"mockserver/internal/clienttls"
)

// restore opens the outbox and makes its deliveries pending again.
func (q *Queue) restore(dir string) error {
	box, pending, err := outbox.Open(dir, q.log)
	if err != nil {
		return err
	}
	q.outbox = box
	q.actor.stats.Lost = box.Lost()
	webhooks := map[string]*Webhook{} // equal webhooks share one
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
	// The outbox cannot store a later time.
	due := time.Now().Add(min(d.Delay, time.Until(time.Unix(0, math.MaxInt64))))
	e := outbox.Entry{Due: due, Depth: d.Depth, Webhook: appendWebhook(nil, d.Webhook), Parts: d.parts}
	if err := q.outbox.Store(&e); err != nil {
		return err
	}
	d.id = e.ID
	return nil
}

// maxNumbers is the maximum size of the numbers of a webhook, in bytes.
const maxNumbers = 9 * binary.MaxVarintLen64

// appendWebhook appends all data of a webhook, so that its deliveries can be sent even if the
// configuration no longer contains it.
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
	if w.Sign == nil && w.TLS == (clienttls.Files{}) {
		return to
	}
	sign := cmp.Or(w.Sign, &Signature{}) // without a secret there is none
	for _, text := range []string{sign.Secret, sign.Header, sign.Scheme} {
		to = outbox.AppendText(to, text)
	}
	if w.TLS != (clienttls.Files{}) {
		for _, text := range []string{w.TLS.CA, w.TLS.Cert, w.TLS.Key, strconv.FormatBool(w.TLS.Insecure)} {
			to = outbox.AppendText(to, text)
		}
	}
	return to
}

// readWebhook decodes what appendWebhook wrote. It does not retain from.
func readWebhook(from []byte) (*Webhook, error) {
	f := outbox.NewFields(bytes.Clone(from))
	w := &Webhook{Name: string(f.Text()), Method: string(f.Text()), URL: string(f.Text())}
	w.Header, w.Body = f.Text(), f.Text()
	w.Timeout = time.Duration(f.Uvarint())
	w.Retry = Retry{Attempts: int(f.Uvarint() & 0xFFFF), Backoff: time.Duration(f.Uvarint()), MaxBackoff: time.Duration(f.Uvarint())}
	if f.More() {
		w.Sign = &Signature{Secret: string(f.Text()), Header: string(f.Text()), Scheme: string(f.Text())}
		if w.Sign.Secret == "" {
			w.Sign = nil
		}
	}
	if f.More() {
		w.TLS = clienttls.Files{CA: string(f.Text()), Cert: string(f.Text()), Key: string(f.Text()), Insecure: string(f.Text()) == "true"}
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	return w, nil
}
