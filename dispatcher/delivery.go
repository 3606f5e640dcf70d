package dispatcher

import (
	"encoding/binary"
	"errors"
	"time"

	"mockserver/internal/clienttls"
)

// Webhook contains what the deliveries of one declared webhook have in common. The deliveries share
// it, and it must not change after the first one is accepted.
type Webhook struct {
	// Name identifies the webhook in logs: "POST /orders webhooks[0]".
	Name   string
	Method string

	// URL, Header and Body are used for each delivery that does not have its own.
	URL    string
	Header []byte // lines "Name: value\r\n"; framing headers except Host, and headers that the dispatcher always sets, are omitted
	Body   []byte

	Timeout time.Duration // of one attempt
	Retry   Retry
	Sign    *Signature // nil for no signature
	TLS     clienttls.Files
}

// Delivery is one webhook to be sent. It owns its bytes, so it can outlive the request that
// triggered it.
type Delivery struct {
	Webhook  *Webhook
	Delay    time.Duration // from the time the response was written
	Depth    int           // number of webhooks that led to this one
	parts    []byte
	id       uint64    // ID in the store; 0 without a store
	counters *Counters // in which it is counted; set when it is accepted
}

// arrival is a delivery that was accepted.
type arrival struct {
	Delivery
	due time.Duration // on the queue's clock
}

// Parts contains the texts that were rendered for a delivery. For a nil part, the webhook's part
// is used.
type Parts struct{ URL, Header, Body []byte }

// NewDelivery returns a delivery with copies of the parts. It makes one allocation, or none if all
// parts are nil.
func NewDelivery(w *Webhook, delay time.Duration, depth int, p Parts) Delivery {
	d := Delivery{Webhook: w, Delay: delay, Depth: depth}
	if p.URL == nil && p.Header == nil && p.Body == nil {
		return d
	}
	d.parts = make([]byte, 0, 3*binary.MaxVarintLen32+len(p.URL)+len(p.Header)+len(p.Body))
	for _, part := range [...][]byte{p.URL, p.Header, p.Body} {
		d.parts = appendPart(d.parts, part)
	}
	return d
}

// appendPart appends the length of a part plus one, or 0 for nil, followed by the part.
func appendPart(to, part []byte) []byte {
	if part == nil {
		return append(to, 0)
	}
	to = binary.AppendUvarint(to, uint64(len(part))+1)
	return append(to, part...)
}

var errParts = errors.New("the parts of a delivery are damaged")

// cutPart returns the first part and the bytes after it.
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
