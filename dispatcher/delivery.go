package dispatcher

import (
	"encoding/binary"
	"errors"
	"time"
)

// Webhook is what the deliveries of one declared webhook have in common. They share it, and
// it does not change after the first is accepted.
type Webhook struct {
	// Name identifies the webhook in logs: "POST /orders webhooks[0]".
	Name   string
	Method string

	// URL, Header and Body are those of every delivery without its own.
	URL    string
	Header []byte // lines "Name: value\r\n"; those of framing, Host and the dispatcher are left out
	Body   []byte

	Timeout time.Duration // of one attempt
	Retry   Retry
	Sign    *Signature // nil for none
}

// Delivery is one webhook to be sent. It owns its bytes, so that it can outlive the request
// that triggered it.
type Delivery struct {
	Webhook *Webhook
	Delay   time.Duration // from the moment the response was written
	Depth   int           // how many webhooks led to this one
	parts   []byte
	id      uint64 // in the outbox; 0 when it is not there
}

// Parts are the texts that were rendered for a delivery. A nil one is that of the webhook.
type Parts struct{ URL, Header, Body []byte }

// NewDelivery copies the parts, in one allocation, or in none when all are nil.
func NewDelivery(w *Webhook, delay time.Duration, depth int, p Parts) Delivery {
	d := Delivery{Webhook: w, Delay: delay, Depth: depth}
	if p.URL == nil && p.Header == nil && p.Body == nil {
		return d
	}
	size := 0
	for _, part := range [...][]byte{p.URL, p.Header, p.Body} {
		size += binary.MaxVarintLen32 + len(part)
	}
	d.parts = make([]byte, 0, size)
	for _, part := range [...][]byte{p.URL, p.Header, p.Body} {
		d.parts = appendPart(d.parts, part)
	}
	return d
}

// appendPart appends the length of a part and one, or 0 for nil, and the part.
func appendPart(to, part []byte) []byte {
	if part == nil {
		return append(to, 0)
	}
	to = binary.AppendUvarint(to, uint64(len(part))+1)
	return append(to, part...)
}

var errParts = errors.New("the parts of a delivery are damaged")

// cutPart returns the first part and what follows it.
func cutPart(from []byte) (part, rest []byte, err error) {
	n, size := binary.Uvarint(from)
	if size <= 0 || n > uint64(len(from)-size)+1 {
		return nil, nil, errParts
	}
	from = from[size:]
	if n == 0 {
		return nil, from, nil
	}
	return from[: n-1 : n-1], from[n-1:], nil
}

// cutParts returns the parts of a delivery.
func cutParts(from []byte) (p Parts, err error) {
	if len(from) == 0 {
		return p, nil
	}
	for _, into := range [...]*[]byte{&p.URL, &p.Header, &p.Body} {
		if *into, from, err = cutPart(from); err != nil {
			return p, err
		}
	}
	return p, nil
}
