package load

import (
	"bytes"
	"errors"
)

// What is wrong with an answer. The texts are the kinds of error that an outcome counts.
var (
	errNotHTTP      = errors.New("malformed answer: not HTTP/1.1")
	errStatusLine   = errors.New("malformed answer: status line")
	errHeaderLine   = errors.New("malformed answer: header line")
	errHeadSize     = errors.New("malformed answer: head over 64 KiB")
	errLength       = errors.New("malformed answer: Content-Length")
	errEncoding     = errors.New("malformed answer: Transfer-Encoding")
	errChunk        = errors.New("malformed answer: chunk")
	errClosed       = errors.New("closed by the server")
	errClosedWithin = errors.New("closed by the server within an answer")
)

// maxAnswerHead is the longest head, and the longest trailer, that is read.
const maxAnswerHead = 64 << 10

// head is what the head of an answer says about what follows.
type head struct {
	status  int
	length  int64 // of the body; -1 is not said
	chunked bool
	closing bool // the server closes the connection after this answer
}

// seenHead is the head that came last for a request. Heads of a server repeat byte for
// byte until its Date changes, once a second: comparing one costs a tenth of reading it.
type seenHead struct {
	text []byte
	head head
}

// stage is where in an answer the next byte stands.
type stage uint8

const (
	inHead stage = iota
	inBody
	inBodyToClose
	inChunkSize
	inChunkBlank // after the size
	inChunkExtension
	inChunkSizeEnd // the line feed
	inChunk
	inChunkEnd     // the carriage return after the data
	inChunkEndFeed // and its line feed
	inTrailer      // at the start of a line
	inTrailerLine
	inTrailerLineEnd // its line feed
	inTrailerEnd     // the last line feed
	whole
)

// answer reads one answer from the bytes of a connection, however they are split. It
// is for HTTP/1.1 as RFC 9112 has it and takes nothing that only lenient readers do:
// lines end in CR LF, lengths are digits, chunked is the only encoding.
type answer struct {
	head  head
	stage stage
	// bodyless is set for an answer to HEAD.
	bodyless bool
	digits   uint8 // of a chunk's size that were read
	lines    int32 // bytes of the chunk's line, or of the trailer, which are bounded like a head
	left     int64 // bytes to come of the body or chunk; the size while it is read
	body     int64 // bytes of the body that came
	kept     []byte
}

// reset makes it ready for the next answer.
func (a *answer) reset(bodyless bool) {
	a.stage, a.bodyless, a.body, a.kept = inHead, bodyless, 0, a.kept[:0]
}

// begun says whether any byte of the answer came.
func (a *answer) begun() bool { return a.stage != inHead || len(a.kept) > 0 }

// read takes the bytes that came next and returns those behind the answer's end, once
// stage is whole. seen is the head expected, and is set to the one that came.
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

// readHead takes a head, or keeps what came of it and returns nil.
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

// startsHTTP says whether text can be the start of an answer, however little there is.
func startsHTTP(text []byte) bool {
	const version = "HTTP/1."
	n := min(len(text), len(version))
	return string(text[:n]) == version[:n]
}

// enterBody decides what follows a head (RFC 9112, section 6.3).
func (a *answer) enterBody() {
	h := &a.head
	switch {
	case h.status/100 == 1 && h.status != 101: // an interim answer; the one meant follows
		a.stage = inHead
	case a.bodyless || h.status < 200 || h.status == 204 || h.status == 304:
		a.stage = whole
	case h.chunked:
		a.stage, a.left, a.digits, a.lines = inChunkSize, 0, 0, 0
	case h.length == 0:
		a.stage = whole
	case h.length > 0:
		a.stage, a.left = inBody, h.length
	default:
		a.stage, h.closing = inBodyToClose, true
	}
}

func (a *answer) readBody(data []byte) (rest []byte, err error) {
	for len(data) > 0 && a.stage != whole {
		switch a.stage {
		case inBody, inChunk:
			n := min(int64(len(data)), a.left)
			data = data[n:]
			a.body += n
			if a.left -= n; a.left > 0 {
				break
			}
			if a.stage++; a.stage == inBodyToClose {
				a.stage = whole
			}
		case inBodyToClose:
			a.body += int64(len(data))
			data = nil
		default:
			if err := a.frame(data[0]); err != nil {
				return nil, err
			}
			data = data[1:]
		}
	}
	return data, nil
}

// frame takes one byte that frames chunks.
func (a *answer) frame(b byte) error {
	switch a.stage {
	case inChunkSize, inChunkBlank, inChunkExtension:
		return a.chunkLine(b)
	case inChunkSizeEnd:
		a.stage, a.lines = inChunk, 0
		if a.left == 0 {
			a.stage = inTrailer
		}
		return expect(b, '\n')
	case inChunkEnd:
		a.stage = inChunkEndFeed
		return expect(b, '\r')
	case inChunkEndFeed:
		a.stage, a.digits = inChunkSize, 0
		return expect(b, '\n')
	case inTrailerLineEnd:
		a.stage = inTrailer
		return expect(b, '\n')
	case inTrailerEnd:
		a.stage = whole
		return expect(b, '\n')
	}
	return a.trailer(b)
}

func expect(b, want byte) error {
	if b != want {
		return errChunk
	}
	return nil
}

// chunkLine takes a byte of a line with a chunk's size, up to its CR.
func (a *answer) chunkLine(b byte) error {
	if a.lines++; a.lines > maxAnswerHead {
		return errHeadSize
	}
	if a.stage == inChunkSize {
		if digit, ok := hexDigit(b); ok {
			// 15 digits are more than any body, and do not overflow.
			if a.digits++; a.digits > 15 {
				return errChunk
			}
			a.left = a.left<<4 | digit
			return nil
		}
		if a.digits == 0 {
			return errChunk
		}
	}
	switch {
	case b == '\r':
		a.stage = inChunkSizeEnd
	case a.stage == inChunkExtension && !isText(b):
		return errChunk
	case a.stage == inChunkExtension:
	case b == ';':
		a.stage = inChunkExtension
	case b == ' ' || b == '\t':
		a.stage = inChunkBlank
	default:
		return errChunk
	}
	return nil
}

// trailer takes a byte of the lines behind the last chunk.
func (a *answer) trailer(b byte) error {
	if a.lines++; a.lines > maxAnswerHead {
		return errHeadSize
	}
	switch {
	case b == '\r' && a.stage == inTrailer:
		a.stage = inTrailerEnd
	case b == '\r':
		a.stage = inTrailerLineEnd
	case !isText(b), a.stage == inTrailer && !isToken(b): // nor does it begin with a colon or blank
		return errHeaderLine
	default:
		a.stage = inTrailerLine
	}
	return nil
}

// end is the connection's: an error, unless the answer ends there.
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

// statusLine reads "HTTP/1.1 200 OK", of which the reason may be left out. old is HTTP/1.0.
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

// field reads one header line, for what it says about the body and the connection.
func (h *head) field(line []byte, keepAlive *bool) error {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 || !areToken(line[:colon]) || !areText(line[colon:]) {
		return errHeaderLine
	}
	name, value := line[:colon], bytes.Trim(line[colon+1:], " \t")
	switch {
	case isName(name, "content-length"):
		n, err := parseLength(value)
		if err != nil || h.length >= 0 && h.length != n {
			return errLength
		}
		h.length = n
	case isName(name, "transfer-encoding"):
		if h.chunked || !isName(value, "chunked") {
			return errEncoding
		}
		h.chunked = true
	case isName(name, "connection"):
		for option := range bytes.SplitSeq(value, []byte{','}) {
			option = bytes.Trim(option, " \t")
			h.closing = h.closing || isName(option, "close")
			*keepAlive = *keepAlive || isName(option, "keep-alive")
		}
	}
	return nil
}

func isName(text []byte, name string) bool {
	return len(text) == len(name) && bytes.EqualFold(text, []byte(name))
}

func parseLength(text []byte) (int64, error) {
	if len(text) == 0 || len(text) > 18 { // more digits than any body has, and fewer than overflow
		return 0, errLength
	}
	var n int64
	for _, b := range text {
		if b < '0' || b > '9' {
			return 0, errLength
		}
		n = n*10 + int64(b-'0')
	}
	return n, nil
}

func hexDigit(b byte) (int64, bool) {
	switch {
	case b >= '0' && b <= '9':
		return int64(b - '0'), true
	case b >= 'a' && b <= 'f':
		return int64(b-'a') + 10, true
	case b >= 'A' && b <= 'F':
		return int64(b-'A') + 10, true
	}
	return 0, false
}

// isText is true of what a header's value may hold (RFC 9110, section 5.5).
func isText(b byte) bool { return b >= ' ' && b != 0x7f || b == '\t' }

func areText(text []byte) bool {
	for _, b := range text {
		if !isText(b) {
			return false
		}
	}
	return true
}

// isToken is true of what a header's name may hold (RFC 9110, section 5.6.2).
func isToken(b byte) bool {
	switch {
	case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9':
		return true
	}
	return bytes.IndexByte([]byte("!#$%&'*+-.^_`|~"), b) >= 0
}

func areToken(text []byte) bool {
	for _, b := range text {
		if !isToken(b) {
			return false
		}
	}
	return true
}

// accept takes what a connection yielded: the answer is whole after it, or more has to
// come. Bytes behind an answer are an error: one request is sent at a time.
func (a *answer) accept(data []byte, seen *seenHead) (done bool, err error) {
	rest, err := a.read(data, seen)
	switch {
	case err != nil:
		return false, err
	case len(rest) > 0:
		return false, errBehind
	}
	return a.stage == whole, nil
}

var errBehind = errors.New("malformed answer: bytes behind it")
