package dispatcher

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Names of headers of the dispatcher's own.
const (
	// DepthHeader tells how many webhooks led to a request.
	DepthHeader = "X-Mockserver-Webhook-Depth"
	// KeyHeader tells apart deliveries that may be sent more than once.
	KeyHeader = "Idempotency-Key"
)

// form is a webhook in the form in which it is sent: what its requests have in
// common is written once.
type form struct {
	*Webhook
	at     location // of its own URL
	target string
	err    error     // why its own URL leads nowhere
	head   []byte    // of a request with its own URL and headers, but for the dispatcher's
	said   said      // by its own headers
	macs   sync.Pool // of hash.Hash, keyed with the secret
}

// said is what declared headers say that the dispatcher would say itself.
type said struct {
	host              []byte // nil for nothing
	keyed, authorized bool
}

func newForm(w *Webhook) *form {
	f := &form{Webhook: w}
	if w.Sign != nil {
		f.macs.New = func() any { return hmac.New(sha256.New, []byte(w.Sign.Secret)) }
	}
	f.said = whatIsSaid(w.Header)
	if f.at, f.err = cutURL([]byte(w.URL)); f.err != nil {
		return f
	}
	f.target = string(f.at.appendTarget(nil))
	f.head = f.appendHead(nil, &f.at, w.Header, f.said)
	return f
}

// whatIsSaid reads lines "Name: value\r\n".
func whatIsSaid(lines []byte) (s said) {
	for name, value := range headerLines(lines) {
		switch {
		case isHeader(name, "Host"):
			if value = bytes.TrimSpace(value); len(value) > 0 {
				s.host = value
			}
		case isHeader(name, KeyHeader):
			s.keyed = true
		case isHeader(name, "Authorization"):
			s.authorized = true
		}
	}
	return s
}

// appendHead appends the request line and the headers, but for the dispatcher's.
func (f *form) appendHead(dst []byte, l *location, lines []byte, s said) []byte {
	dst = append(append(dst, f.Method...), ' ')
	dst = append(l.appendPath(dst), " HTTP/1.1\r\nHost: "...)
	if s.host != nil {
		dst = append(dst, s.host...)
	} else {
		dst = l.appendHost(dst)
	}
	dst = append(dst, "\r\n"...)
	for name, value := range headerLines(lines) {
		if !f.writes(name) {
			dst = append(append(append(dst, name...), ':'), value...)
			dst = append(dst, "\r\n"...)
		}
	}
	if len(l.user) > 0 && !s.authorized {
		dst = l.appendAuthorization(dst)
	}
	return dst
}

// headerLines goes through lines "Name: value\r\n"; a value begins behind the colon.
func headerLines(lines []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for len(lines) > 0 {
			line, rest, _ := bytes.Cut(lines, []byte("\r\n"))
			lines = rest
			if name, value, ok := bytes.Cut(line, []byte(":")); ok && !yield(name, value) {
				return
			}
		}
	}
}

// isHeader tells whether a name is that of a header.
func isHeader(name []byte, of string) bool {
	return len(name) == len(of) && strings.EqualFold(string(name), of) // which makes no text
}

// writes tells whether a header is one that is written elsewhere.
func (f *form) writes(name []byte) bool {
	switch len(name) {
	case len("Host"), len("Connection"), len("Content-Length"), len("Transfer-Encoding"), len(DepthHeader):
		if isHeader(name, "Host") || isHeader(name, "Connection") || isHeader(name, "Content-Length") ||
			isHeader(name, "Transfer-Encoding") || isHeader(name, DepthHeader) {
			return true
		}
	}
	return f.Sign != nil && isHeader(name, f.Sign.Header)
}

// copied is the largest body that is copied behind its head, so that both leave in
// one piece.
const copied = 16 << 10

// appendRequest appends the request of a job, and returns what has to be written
// behind it: a body that is not worth copying.
func (j *job) appendRequest(dst []byte, now time.Time) (request, body []byte, err error) {
	f := j.form
	own, err := cutParts(j.parts)
	if err != nil {
		return dst, nil, err
	}
	said := f.said
	if own.URL == nil && own.Header == nil {
		dst = append(dst, f.head...)
	} else {
		if dst, said, err = f.appendOwnHead(dst, own); err != nil {
			return dst, nil, err
		}
	}
	if body = own.Body; body == nil {
		body = f.Body
	}
	dst = j.appendRest(dst, said, body, now)
	if len(body) > copied {
		return dst, body, nil
	}
	return append(dst, body...), nil, nil
}

// appendOwnHead appends the head of a delivery that brings a part of it.
func (f *form) appendOwnHead(dst []byte, own Parts) ([]byte, said, error) {
	at, lines, said := f.at, f.Header, f.said
	if own.Header != nil {
		lines, said = own.Header, whatIsSaid(own.Header)
	}
	if own.URL != nil {
		var err error
		if at, err = cutURL(own.URL); err != nil {
			return dst, said, err
		}
	}
	return f.appendHead(dst, &at, lines, said), said, nil
}

// appendRest appends the headers that are the dispatcher's, and ends the head.
func (j *job) appendRest(dst []byte, s said, body []byte, now time.Time) []byte {
	dst = append(dst, DepthHeader+": "...)
	dst = append(strconv.AppendInt(dst, int64(j.depth), 10), "\r\n"...)
	if j.key != 0 && !s.keyed {
		var key [8]byte
		binary.BigEndian.PutUint64(key[:], j.key)
		dst = append(dst, KeyHeader+": "...)
		dst = append(hex.AppendEncode(dst, key[:]), "\r\n"...)
	}
	if sign := j.form.Sign; sign != nil {
		dst = append(append(dst, sign.Header...), ": "...)
		dst = append(j.form.appendSignature(dst, body, now), "\r\n"...)
	}
	if m := j.form.Method; len(body) > 0 || m != "GET" && m != "HEAD" {
		dst = append(dst, "Content-Length: "...)
		dst = append(strconv.AppendInt(dst, int64(len(body)), 10), "\r\n"...)
	}
	return append(dst, "\r\n"...)
}
