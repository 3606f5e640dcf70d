package upstream

import (
	"bytes"
	"errors"
	"fmt"

	"mockserver/internal/ascii"
)

// Field is a header of an answer. It is valid until the exchange is closed.
type Field struct{ Name, Value []byte }

const (
	// headRoom is the size of the buffer that answers are read into, in bytes. It grows for a longer
	// head, up to maxHead.
	headRoom = 4 << 10
	maxHead  = 128 << 10
	// keptRoom is the largest buffer that is kept, in bytes.
	keptRoom = 32 << 10
	// maxInterim limits the number of 1xx answers before the final one.
	maxInterim = 16
	// maxLine limits the size line of a chunk, with its extensions, in bytes; maxTrailers the lines
	// after the last chunk.
	maxLine     = 4 << 10
	maxTrailers = 16 << 10
)

// How an answer is malformed. All of it is refused: what another reader might understand differently
// is not passed on.
var (
	errHead      = errors.New("the head of the answer is larger than 128 KiB")
	errInterim   = errors.New("more than 16 interim answers")
	errSwitch    = errors.New("the answer switches the protocol, which was not asked for")
	errLineEnd   = errors.New("a line of the answer does not end in CRLF")
	errStatus    = errors.New("the answer does not begin with a status line of HTTP/1")
	errName      = errors.New("a line of the answer's head does not begin with a name and a colon")
	errValue     = errors.New("a header of the answer holds a control character")
	errLengths   = errors.New("the answer has more than one Content-Length")
	errLength    = errors.New("the Content-Length of the answer is not a number of at most 18 digits")
	errFrames    = errors.New("the answer has both Content-Length and Transfer-Encoding")
	errCoding    = errors.New("the Transfer-Encoding of the answer is not chunked, once, in HTTP/1.1")
	errChunk     = errors.New("a chunk of the answer has no hexadecimal size of at most 15 digits")
	errChunkEnd  = errors.New("a chunk of the answer does not end where its size says")
	errTrailer   = errors.New("a trailer of the answer is malformed")
	errTrailers  = errors.New("the trailers of the answer are larger than 16 KiB")
	errLongChunk = errors.New("the size line of a chunk is longer than 4 KiB")
)

// framing is how the end of a body is found.
type framing uint8

const (
	noBody framing = iota
	sized
	chunked
	untilClose
)

// readHead reads the head of the final answer.
func (x *Exchange) readHead(method []byte) error {
	for range maxInterim {
		end, err := x.findHead()
		if err != nil {
			return err
		}
		if err := x.parseHead(x.in[x.r:end], method); err != nil {
			return err
		}
		x.r = end
		switch {
		case x.Status == 101:
			return errSwitch
		case x.Status >= 200:
			return nil
		}
	}
	return errInterim
}

// findHead reads until a head is whole and returns its end.
func (x *Exchange) findHead() (end int, err error) {
	for from, line := 0, 0; ; { // offsets from x.r, which filling may move
		head := x.in[x.r:x.w]
		i := bytes.IndexByte(head[from:], '\n')
		if i < 0 {
			if len(head) > maxHead {
				return 0, errHead
			}
			from = len(head)
			if err := x.fill(); err != nil {
				return 0, unexpected(err)
			}
			continue
		}
		at := from + i
		switch {
		case at == line || head[at-1] != '\r':
			return 0, errLineEnd
		case at-1 == line && line == 0:
			return 0, errStatus
		case at-1 == line:
			return x.r + at + 1, nil
		}
		from, line = at+1, at+1
	}
}

// parseHead parses a head, each line of which ends in CRLF.
func (x *Exchange) parseHead(head, method []byte) error {
	line, rest, _ := bytes.Cut(head, crlf)
	minor, err := x.statusLine(line)
	if err != nil {
		return err
	}
	x.Fields, x.named = x.Fields[:0], x.named[:0]
	x.closes, x.keeps = false, minor != '0'
	length, coded := int64(-1), false
	for line, rest, _ = bytes.Cut(rest, crlf); len(line) > 0; line, rest, _ = bytes.Cut(rest, crlf) {
		name, value, err := cutField(line)
		switch {
		case err != nil:
			return err
		case is(name, "content-length"):
			if length >= 0 {
				return errLengths
			}
			if length, err = parseLength(value); err != nil {
				return err
			}
		case is(name, "transfer-encoding"):
			if coded || minor == '0' || !ascii.EqualFold(value, "chunked") {
				return errCoding
			}
			coded = true
		case is(name, "connection"):
			x.connection(value)
		case isConnection(name) && !is(name, "host") && !is(name, "expect"):
		default:
			x.Fields = append(x.Fields, Field{name, value})
		}
	}
	if coded && length >= 0 {
		return errFrames
	}
	if len(x.named) > 0 {
		x.Fields = without(x.Fields, x.named)
	}
	x.closes = x.closes || !x.keeps
	x.frame(method, length, coded)
	return nil
}

// statusLine parses "HTTP/1.1 200 OK" and returns the minor version.
func (x *Exchange) statusLine(line []byte) (minor byte, err error) {
	const version = len("HTTP/1.1 ")
	if len(line) < version+3 || string(line[:7]) != "HTTP/1." || line[7] < '0' || '9' < line[7] || line[8] != ' ' {
		return 0, errStatus
	}
	x.Status = 0
	for _, c := range line[version : version+3] {
		if c < '0' || '9' < c {
			return 0, errStatus
		}
		x.Status = 10*x.Status + int(c-'0')
	}
	if x.Status < 100 {
		return 0, errStatus
	}
	x.Reason = line[version+3:]
	if len(x.Reason) > 0 && x.Reason[0] != ' ' || hasControl(x.Reason) {
		return 0, errStatus
	}
	x.Reason = bytes.TrimPrefix(x.Reason, []byte(" "))
	return line[7], nil
}

// cutField splits a header line.
func cutField(line []byte) (name, value []byte, err error) {
	i := bytes.IndexByte(line, ':')
	if i <= 0 {
		return nil, nil, errName
	}
	for _, c := range line[:i] {
		if !isToken(c) {
			return nil, nil, errName
		}
	}
	if value = ascii.TrimBlanks(line[i+1:]); hasControl(value) {
		return nil, nil, errValue
	}
	return line[:i], value, nil
}

func parseLength(value []byte) (int64, error) {
	if len(value) == 0 || len(value) > 18 {
		return 0, errLength
	}
	n := int64(0)
	for _, c := range value {
		if c < '0' || '9' < c {
			return 0, errLength
		}
		n = 10*n + int64(c-'0')
	}
	return n, nil
}

// connection notes what a Connection header says.
func (x *Exchange) connection(value []byte) {
	for part := range bytes.SplitSeq(value, []byte(",")) {
		switch part = ascii.TrimBlanks(part); {
		case ascii.EqualFold(part, "close"):
			x.closes = true
		case ascii.EqualFold(part, "keep-alive"):
			x.keeps = true
		case len(part) > 0:
			x.named = append(x.named, part)
		}
	}
}

// without removes the fields with the given names.
func without(fields []Field, named [][]byte) []Field {
	kept := fields[:0]
	for _, f := range fields {
		if !isNamed(f.Name, named) {
			kept = append(kept, f)
		}
	}
	return kept
}

// frame sets how the body ends, RFC 9112 section 6.3. Length is what the client is told; -1 for
// nothing.
func (x *Exchange) frame(method []byte, length int64, coded bool) {
	x.Length, x.left, x.chunkEnds = length, 0, false
	switch {
	case string(method) == "HEAD" || x.Status == 304:
		x.framing = noBody
	case x.Status == 204 || x.Status < 200:
		x.framing, x.Length = noBody, -1
		x.closes = x.closes || length > 0 || coded // it may send one nevertheless
	case coded:
		x.framing = chunked
	case length >= 0:
		x.framing, x.left = sized, length
	default:
		x.framing, x.closes = untilClose, true
	}
}

// isToken reports whether c may be in a name, RFC 9110 section 5.6.2.
func isToken(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c > ' ' && c < 0x7f && bytes.IndexByte(tokens, c) >= 0
}

var (
	tokens = []byte("!#$%&'*+-.^_`|~")
	crlf   = []byte("\r\n")
)

// hasControl reports whether a value has a character that none may have; a tab is allowed.
func hasControl(value []byte) bool {
	for _, c := range value {
		if c < ' ' && c != '\t' || c == 0x7f {
			return true
		}
	}
	return false
}

// quoted returns the beginning of what is not an answer, for messages.
func quoted(b []byte) string {
	const most = 60
	line, _, _ := bytes.Cut(b, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > most {
		return fmt.Sprintf("%q…", line[:most])
	}
	return fmt.Sprintf("%q", line)
}
