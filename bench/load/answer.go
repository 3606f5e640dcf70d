package load

import (
	"bytes"
	"errors"

	"mockserver/internal/http1"
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

// seenHead is the last head that answered a request. The heads of a server repeat byte for
// byte until its Date changes, once a second: comparing one costs a tenth of parsing it.
type seenHead struct {
	text []byte
	head http1.Head
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
	head     http1.Head
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
	if a.head.Status/100 != 1 {
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
	case h.Status/100 == 1 && h.Status != 101: // an interim answer; the final one follows
		a.stage = inHead
	case a.bodyless || h.Status < 200 || h.Status == 204 || h.Status == 304:
		a.stage = whole
	case h.Chunked:
		a.stage, a.framing = inChunkSize, 0
	case h.Length == 0:
		a.stage = whole
	case h.Length > 0:
		a.stage, a.left = inBody, h.Length
	default:
		a.stage, h.Closes = inBodyToClose, true
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
	size, err := http1.ChunkSize(line)
	if err != nil {
		return errChunk
	}
	a.stage, a.framing, a.left = inChunk, 0, size
	if a.left == 0 {
		a.stage = inTrailer
	}
	return nil
}

// trailer takes a line after the last chunk.
func (a *answer) trailer(line []byte) error {
	if len(line) == 0 {
		a.stage = whole
		return nil
	}
	_, _, err := http1.CutField(line)
	return kindOf(err)
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
func parseHead(text []byte) (h http1.Head, err error) {
	h.Repeats = true
	line, text, ended := cutLine(text)
	if err = h.StatusLine(line); !ended || err != nil || h.Status > 599 {
		return h, errStatusLine
	}
	if h.Minor > '1' {
		return h, errNotHTTP
	}
	for {
		if line, text, ended = cutLine(text); !ended {
			return h, errHeaderLine
		}
		if len(line) == 0 {
			return h, kindOf(h.End())
		}
		if _, _, err = h.Field(line); err != nil {
			return h, kindOf(err)
		}
	}
}

// cutLine takes the first line off a head. ended is false if the line does not end in CR LF.
func cutLine(text []byte) (line, rest []byte, ended bool) {
	line, rest, _ = bytes.Cut(text, []byte("\n"))
	line, ended = bytes.CutSuffix(line, []byte("\r"))
	return line, rest, ended
}

// kindOf returns the kind of an error in a head.
func kindOf(err error) error {
	switch err {
	case nil:
		return nil
	case http1.ErrLength, http1.ErrLengths:
		return errLength
	case http1.ErrCoding, http1.ErrFrames:
		return errEncoding
	}
	return errHeaderLine
}
