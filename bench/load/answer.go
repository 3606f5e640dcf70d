package load

import (
	"bytes"
	"errors"
	"strconv"
)

// Errors in answers. Their texts are the kinds of error that an outcome counts.
var (
	errNotHTTP      = errors.New("malformed answer: not HTTP/1.1")
	errStatusLine   = errors.New("malformed answer: status line")
	errHeaderLine   = errors.New("malformed answer: header line")
	errHeadSize     = errors.New("malformed answer: head over 64 KiB")
	errLength       = errors.New("malformed answer: Content-Length")
	errEncoding     = errors.New("malformed answer: Transfer-Encoding")
	errChunk        = errors.New("malformed answer: chunk")
	errExcess       = errors.New("malformed answer: bytes after its end")
	errClosed       = errors.New("closed by the server")
	errClosedWithin = errors.New("closed by the server within an answer")
)

// maxAnswerHead is the longest head, and the longest trailer, in bytes.
const maxAnswerHead = 64 << 10

// head contains what the head of an answer says about its body and the connection.
type head struct {
	status  int
	length  int64 // of the body; -1 if the head does not say
	chunked bool
	closing bool // the server closes the connection after this answer
}

// seenHead is the last head that answered a request. The heads of a server repeat byte for
// byte until its Date changes, once a second: comparing one costs a tenth of parsing it.
type seenHead struct {
	text []byte
	head head
}

// stage is the part of an answer that the next byte belongs to.
type stage uint8

const (
	inHead stage = iota
	inBody
	inBodyToClose
	inChunkSize // a line
	inChunk
	inChunkEnd // the empty line after a chunk
	inTrailer  // lines, the last of them empty
	whole
)

// answer reads one answer from the bytes of a connection, however they are split. It follows RFC
// 9112 strictly: lines end in CR LF, lengths are digits, and chunked is the only transfer coding.
type answer struct {
	head     head
	stage    stage
	bodyless bool   // it answers HEAD
	framing  int    // bytes of the chunk's lines or of the trailer, which are bounded like a head
	left     int64  // bytes of the body or chunk that are still to be read
	body     int64  // bytes of the body that were read
	kept     []byte // bytes of an incomplete head or line
}

// reset prepares a for the next answer.
func (a *answer) reset(bodyless bool) {
	a.stage, a.bodyless, a.body, a.kept = inHead, bodyless, 0, a.kept[:0]
}

// begun reports whether any byte of the answer was received.
func (a *answer) begun() bool { return a.stage != inHead || len(a.kept) > 0 }

// accept takes bytes from a connection, and reports whether the answer is complete. Further bytes
// are an error: one request is sent at a time.
func (a *answer) accept(data []byte, seen *seenHead) (done bool, err error) {
	rest, err := a.read(data, seen)
	switch {
	case err != nil:
		return false, err
	case len(rest) > 0:
		return false, errExcess
	}
	return a.stage == whole, nil
}

// read takes the next bytes and returns those after the end of the answer, once stage is
// whole. seen is the expected head, and is set to the received one.
func (a *answer) read(data []byte, seen *seenHead) (rest []byte, err error) {
	for a.stage == inHead {
		if len(a.kept) == 0 && len(seen.text) > 0 && bytes.HasPrefix(data, seen.text) {
			a.head = seen.head
			data = data[len(seen.text):]
		} else if data, err = a.readHead(data, seen); err != nil || data == nil {
			return nil, err
		}
		a.enterBody()
	}
	return a.readBody(data)
}

// readHead takes a complete head, or keeps an incomplete one and returns nil.
func (a *answer) readHead(data []byte, seen *seenHead) ([]byte, error) {
	text := data
	from := 0
	if len(a.kept) > 0 {
		from = max(len(a.kept)-3, 0)
		a.kept = append(a.kept, data...)
		text = a.kept
	}
	if !startsHTTP(text) {
		return nil, errNotHTTP
	}
	end := bytes.Index(text[from:], []byte("\r\n\r\n"))
	size := from + end + 4
	if end < 0 {
		size = len(text)
	}
	switch {
	case size > maxAnswerHead:
		return nil, errHeadSize
	case end < 0 && len(a.kept) == 0:
		a.kept = append(a.kept, data...)
		return nil, nil
	case end < 0:
		return nil, nil
	}
	var err error
	if a.head, err = parseHead(text[:size]); err != nil {
		return nil, err
	}
	if a.head.status/100 != 1 {
		seen.text = append(seen.text[:0], text[:size]...)
		seen.head = a.head
	}
	rest := data[len(data)-(len(text)-size):]
	a.kept = a.kept[:0]
	return rest, nil
}

// startsHTTP reports whether a text, however short, can be the beginning of an answer.
func startsHTTP(text []byte) bool {
	const version = "HTTP/1."
	n := min(len(text), len(version))
	return string(text[:n]) == version[:n]
}

// enterBody decides what follows the head (RFC 9112, section 6.3).
func (a *answer) enterBody() {
	h := &a.head
	switch {
	case h.status/100 == 1 && h.status != 101: // an interim answer; the final one follows
		a.stage = inHead
	case a.bodyless || h.status < 200 || h.status == 204 || h.status == 304:
		a.stage = whole
	case h.chunked:
		a.stage, a.framing = inChunkSize, 0
	case h.length == 0:
		a.stage = whole
	case h.length > 0:
		a.stage, a.left = inBody, h.length
	default:
		a.stage, h.closing = inBodyToClose, true
	}
}

func (a *answer) readBody(data []byte) (rest []byte, err error) {
	for len(data) > 0 && a.stage != whole && err == nil {
		switch a.stage {
		case inBody, inChunk:
			n := min(int64(len(data)), a.left)
			data = data[n:]
			a.body += n
			if a.left -= n; a.left > 0 {
				break
			}
			if a.stage == inBody {
				a.stage = whole
			} else {
				a.stage = inChunkEnd
			}
		case inBodyToClose:
			a.body += int64(len(data))
			data = nil
		default:
			data, err = a.frame(data)
		}
	}
	return data, err
}

// frame takes a line that frames chunks or belongs to the trailer, or keeps an incomplete line. It
// returns the bytes after the line.
func (a *answer) frame(data []byte) (rest []byte, err error) {
	end := bytes.IndexByte(data, '\n') + 1
	if end == 0 {
		end = len(data)
	}
	line, rest := data[:end], data[end:]
	if a.framing += end; a.framing > maxAnswerHead {
		return nil, errHeadSize
	}
	if len(a.kept) > 0 || line[end-1] != '\n' {
		a.kept = append(a.kept, line...)
		line = a.kept
	}
	if line[len(line)-1] != '\n' {
		return nil, nil
	}
	a.kept = a.kept[:0]
	line, ok := bytes.CutSuffix(line, []byte("\r\n"))
	switch {
	case !ok:
		return nil, errChunk
	case a.stage == inChunkSize:
		return rest, a.chunkSize(line)
	case a.stage == inTrailer:
		return rest, a.trailer(line)
	case len(line) > 0: // the chunk is longer than its declared size
		return nil, errChunk
	}
	a.stage = inChunkSize
	return rest, nil
}

// chunkSize reads the size of the next chunk. An extension after it is ignored.
func (a *answer) chunkSize(line []byte) error {
	rest := bytes.TrimLeft(line, "0123456789abcdefABCDEF")
	size, err := strconv.ParseUint(string(line[:len(line)-len(rest)]), 16, 60)
	extension := bytes.TrimLeft(rest, " \t")
	if err != nil || len(extension) > 0 && extension[0] != ';' || !areText(extension) {
		return errChunk
	}
	a.stage, a.framing, a.left = inChunk, 0, int64(size)
	if a.left == 0 {
		a.stage = inTrailer
	}
	return nil
}

// trailer takes a line after the last chunk.
func (a *answer) trailer(line []byte) error {
	switch {
	case len(line) == 0:
		a.stage = whole
	case !areToken(line[:1]) || !areText(line): // a name cannot begin with a colon or a blank
		return errHeaderLine
	}
	return nil
}

// end handles the end of the connection, which is an error unless the answer ends there.
func (a *answer) end() error {
	switch {
	case a.stage == inBodyToClose:
		a.stage = whole
		return nil
	case a.begun():
		return errClosedWithin
	}
	return errClosed
}

// parseHead reads a whole head, with its empty line.
func parseHead(text []byte) (head, error) {
	h := head{length: -1}
	line, text, err := cutLine(text)
	if err != nil {
		return h, errStatusLine
	}
	old, err := h.statusLine(line)
	if err != nil {
		return h, err
	}
	keepAlive := false
	for {
		if line, text, err = cutLine(text); err != nil {
			return h, err
		}
		if len(line) == 0 {
			break
		}
		if err := h.field(line, &keepAlive); err != nil {
			return h, err
		}
	}
	if h.chunked && (h.length >= 0 || old) {
		return h, errEncoding
	}
	h.closing = h.closing || old && !keepAlive
	return h, nil
}

// cutLine takes the first line off a head.
func cutLine(text []byte) (line, rest []byte, err error) {
	end := bytes.IndexByte(text, '\n')
	if end < 1 || text[end-1] != '\r' {
		return nil, nil, errHeaderLine
	}
	return text[:end-1], text[end+1:], nil
}

// statusLine reads "HTTP/1.1 200 OK", in which the reason may be omitted. old is set for HTTP/1.0.
func (h *head) statusLine(line []byte) (old bool, err error) {
	const digits = len("HTTP/1.1 ")
	if len(line) < digits+3 || line[digits-1] != ' ' || len(line) > digits+3 && line[digits+3] != ' ' {
		return false, errStatusLine
	}
	minor := line[digits-2]
	if minor != '0' && minor != '1' {
		return false, errNotHTTP
	}
	for _, b := range line[digits : digits+3] {
		if b < '0' || b > '9' {
			return false, errStatusLine
		}
		h.status = h.status*10 + int(b-'0')
	}
	if h.status < 100 || h.status > 599 || !areText(line) {
		return false, errStatusLine
	}
	return minor == '0', nil
}

// field reads what one header line says about the body and the connection.
func (h *head) field(line []byte, keepAlive *bool) error {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 || !areToken(line[:colon]) || !areText(line[colon:]) {
		return errHeaderLine
	}
	name, value := line[:colon], bytes.Trim(line[colon+1:], " \t")
	switch {
	case bytes.EqualFold(name, []byte("content-length")):
		n, err := strconv.ParseUint(string(value), 10, 63)
		if err != nil || h.length >= 0 && h.length != int64(n) {
			return errLength
		}
		h.length = int64(n)
	case bytes.EqualFold(name, []byte("transfer-encoding")):
		if h.chunked || !bytes.EqualFold(value, []byte("chunked")) {
			return errEncoding
		}
		h.chunked = true
	case bytes.EqualFold(name, []byte("connection")):
		for option := range bytes.SplitSeq(value, []byte{','}) {
			option = bytes.Trim(option, " \t")
			h.closing = h.closing || bytes.EqualFold(option, []byte("close"))
			*keepAlive = *keepAlive || bytes.EqualFold(option, []byte("keep-alive"))
		}
	}
	return nil
}

// areText reports whether all bytes may occur in a header's value (RFC 9110, section 5.5).
func areText(text []byte) bool {
	return !bytes.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// areToken reports whether all bytes may occur in a header's name (RFC 9110, section 5.6.2).
func areToken(text []byte) bool {
	return len(bytes.TrimLeft(text, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")) == 0
}
