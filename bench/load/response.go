package load

import (
	"bytes"
	"errors"

	"mockserver/internal/http1"
)

// Errors in answers, in addition to those of package http1. Their texts are the kinds of error that an
// outcome counts.
var (
	errExcess       = errors.New("bytes after the end of the answer")
	errClosed       = errors.New("closed by the server")
	errClosedWithin = errors.New("closed by the server within an answer")
)

// seenHead is the last head that answered a request. The heads of a server repeat byte for
// byte until its Date changes, once a second: comparing one costs a tenth of parsing it.
type seenHead struct {
	text []byte
	head http1.Head
}

// response reads one answer from the bytes of a connection, however they are split.
type response struct {
	head     http1.Head
	body     http1.Body
	headed   bool   // the head of the final answer was read
	bodyless bool   // it answers HEAD
	size     int64  // bytes of the body that were read
	kept     []byte // an incomplete head
}

// reset prepares a for the next answer.
func (a *response) reset(bodyless bool) {
	a.headed, a.bodyless, a.size, a.kept = false, bodyless, 0, a.kept[:0]
}

// begun reports whether any byte of the answer was received.
func (a *response) begun() bool { return a.headed || len(a.kept) > 0 }

// whole reports whether the answer is complete.
func (a *response) whole() bool { return a.headed && a.body.Over() }

// accept takes bytes from a connection, and reports whether the answer is complete. Further bytes
// are an error: one request is sent at a time.
func (a *response) accept(data []byte, seen *seenHead) (done bool, err error) {
	rest, err := a.read(data, seen)
	switch {
	case err != nil:
		return false, err
	case len(rest) > 0:
		return false, errExcess
	}
	return a.whole(), nil
}

// read takes the next bytes and returns those after the end of the answer, once it is whole. seen is
// the expected head, and is set to the received one.
func (a *response) read(data []byte, seen *seenHead) (rest []byte, err error) {
	for !a.headed {
		if len(a.kept) == 0 && len(seen.text) > 0 && bytes.HasPrefix(data, seen.text) {
			a.head = seen.head
			data = data[len(seen.text):]
		} else if data, err = a.readHead(data, seen); err != nil || data == nil {
			return nil, err
		}
		if status := a.head.Status; status/100 != 1 || status == 101 { // the final answer follows an interim one
			a.headed = true
			a.body.Begin(&a.head, a.bodyless)
		}
	}
	for len(data) > 0 && !a.body.Over() {
		var part []byte
		if part, data, err = a.body.Next(data); err != nil {
			return nil, err
		}
		a.size += int64(len(part))
	}
	return data, nil
}

// readHead takes a complete head, or keeps an incomplete one and returns nil.
func (a *response) readHead(data []byte, seen *seenHead) ([]byte, error) {
	text, before := data, len(a.kept)
	if before > 0 {
		a.kept = append(a.kept, data...)
		text = a.kept
	}
	size, err := http1.HeadSize(text, before)
	if size == 0 {
		if before == 0 {
			a.kept = append(a.kept, data...)
		}
		return nil, err
	}
	if err = a.head.Read(text[:size], func(_, _ []byte) {}); err != nil {
		return nil, err
	}
	if a.head.Status > 599 || a.head.Minor > '1' {
		return nil, http1.ErrStatus
	}
	if a.head.Status/100 != 1 {
		seen.text = append(seen.text[:0], text[:size]...)
		seen.head = a.head
	}
	a.kept = a.kept[:0]
	return data[len(data)-(len(text)-size):], nil
}

// end handles the end of the connection, which is an error unless the answer ends there.
func (a *response) end() error {
	switch {
	case a.headed && a.body.End():
		return nil
	case a.begun():
		return errClosedWithin
	}
	return errClosed
}
