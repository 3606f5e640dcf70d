package upstream

import (
	"bytes"
	"fmt"

	"mockserver/internal/ascii"
)

const (
	// maxHead limits the head of an answer, in bytes.
	maxHead = 128 << 10
	// maxInterim limits the number of 1xx answers before the final one.
	maxInterim = 16
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

// findHead reads until a head is complete and returns its end.
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
		case at >= maxHead: // however the bytes arrived
			return 0, errHead
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

// frame sets how the body ends; see RFC 9112 section 6.3. length is the announced length; -1 if
// none was announced.
func (x *Exchange) frame(method []byte, length int64, coded bool) {
	x.Length, x.left, x.chunkEnds = length, 0, false
	switch {
	case string(method) == "HEAD" || x.Status == 304:
		x.framing = noBody
	case x.Status == 204 || x.Status < 200:
		x.framing, x.Length = noBody, -1
		x.closes = x.closes || length > 0 || coded // the upstream may send a body anyway
	case coded:
		x.framing = chunked
	case length >= 0:
		x.framing, x.left = sized, length
	default:
		x.framing, x.closes = untilClose, true
	}
}

// quoted returns the beginning of something that is not an answer, for messages.
func quoted(b []byte) string {
	const most = 60
	line, _, _ := bytes.Cut(b, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > most {
		return fmt.Sprintf("%q…", line[:most])
	}
	return fmt.Sprintf("%q", line)
}
