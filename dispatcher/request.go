package dispatcher

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"sync"
	"time"

	"mockserver/dispatcher/client"
	"mockserver/internal/ascii"
)

// Names of headers that the dispatcher sets.
const (
	// DepthHeader contains the number of webhooks that led to a request.
	DepthHeader = "X-Mockserver-Webhook-Depth"
	// KeyHeader identifies a delivery, which may be sent more than once.
	KeyHeader = "Idempotency-Key"
)

// job is one attempt.
type job struct {
	entry   uint32
	form    *form
	parts   []byte
	target  string
	depth   int
	attempt int
	due     time.Time
	key     uint64 // ID of the delivery, which is its idempotency key; 0 if there is none
}

// form is a webhook prepared for sending: the common part of its requests is formatted only once.
type form struct {
	*Webhook
	counters *Counters
	at       client.Location // location of its own URL
	target   string
	err      error     // why its own URL is invalid
	head     []byte    // head of a request with its own URL and headers, without the dispatcher's headers
	declared declared  // what its own headers declare
	except   []string  // headers that the dispatcher always sets, even if they are declared
	macs     sync.Pool // of hash.Hash, keyed with the secret
}

// declared describes the declared headers that replace headers of the dispatcher.
type declared struct {
	host              []byte // nil if not declared
	keyed, authorized bool
}

func newForm(w *Webhook) *form {
	f := &form{Webhook: w, except: []string{DepthHeader}}
	if w.Sign != nil {
		f.macs.New = func() any { return hmac.New(sha256.New, []byte(w.Sign.Secret)) }
		f.except = append(f.except, w.Sign.Header)
	}
	f.declared = readDeclared(w.Header)
	if f.at, f.err = client.CutURL([]byte(w.URL)); f.err != nil {
		return f
	}
	f.target = string(f.at.AppendTarget(nil))
	f.head = f.appendHead(nil, &f.at, w.Header, f.declared)
	return f
}

// readDeclared parses header lines of the form "Name: value\r\n".
func readDeclared(lines []byte) (d declared) {
	for name, value := range client.HeaderLines(lines) {
		switch {
		case ascii.EqualFold(name, "Host"):
			if value = bytes.TrimSpace(value); len(value) > 0 {
				d.host = value
			}
		case ascii.EqualFold(name, KeyHeader):
			d.keyed = true
		case ascii.EqualFold(name, "Authorization"):
			d.authorized = true
		}
	}
	return d
}

// appendHead appends the request line and the headers, except the dispatcher's headers.
func (f *form) appendHead(dst []byte, at *client.Location, lines []byte, d declared) []byte {
	head := client.Head{Method: f.Method, Location: at, Lines: lines, Except: f.except, Host: d.host, Authorized: d.authorized}
	return head.Append(dst)
}

// maxCopied is the size of the largest body that is copied after its head, in bytes, so that both
// are sent in one write.
const maxCopied = 16 << 10

// appendRequest appends the request of a job. If the body is too large to copy, it is returned, and
// must be written after the request.
func (j *job) appendRequest(dst []byte, now time.Time) (request, body []byte, err error) {
	f := j.form
	own, err := cutParts(j.parts)
	if err != nil {
		return dst, nil, err
	}
	d := f.declared
	if own.URL == nil && own.Header == nil {
		dst = append(dst, f.head...)
	} else if dst, d, err = f.appendOwnHead(dst, own); err != nil {
		return dst, nil, err
	}
	if body = own.Body; body == nil {
		body = f.Body
	}
	dst = j.appendRest(dst, d, body, now)
	if len(body) > maxCopied {
		return dst, body, nil
	}
	return append(dst, body...), nil, nil
}

// appendOwnHead appends the head of a delivery that has its own URL or headers.
func (f *form) appendOwnHead(dst []byte, own Parts) ([]byte, declared, error) {
	at, lines, d := f.at, f.Header, f.declared
	if own.Header != nil {
		lines, d = own.Header, readDeclared(own.Header)
	}
	if own.URL != nil {
		var err error
		if at, err = client.CutURL(own.URL); err != nil {
			return dst, d, err
		}
	}
	return f.appendHead(dst, &at, lines, d), d, nil
}

// appendRest appends the dispatcher's headers and the end of the head.
func (j *job) appendRest(dst []byte, d declared, body []byte, now time.Time) []byte {
	dst = append(dst, DepthHeader+": "...)
	dst = append(strconv.AppendInt(dst, int64(j.depth), 10), "\r\n"...)
	if j.key != 0 && !d.keyed {
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
