package upstream

import (
	"bytes"
	"fmt"

	"mockserver/internal/http1"
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
			return 0, http1.ErrStatus
		case at-1 == line:
			return x.r + at + 1, nil
		}
		from, line = at+1, at+1
	}
}

// parseHead parses a head, each line of which ends in CRLF.
func (x *Exchange) parseHead(head, method []byte) error {
	line, rest, _ := bytes.Cut(head, crlf)
	var h http1.Head
	if err := h.StatusLine(line); err != nil {
		return err
	}
	x.Status, x.Reason = h.Status, h.Reason
	x.Fields, x.named = x.Fields[:0], x.named[:0]
	for line, rest, _ = bytes.Cut(rest, crlf); len(line) > 0; line, rest, _ = bytes.Cut(rest, crlf) {
		name, value, err := h.Field(line)
		switch {
		case err != nil:
			return err
		case http1.IsName(name, "connection"):
			x.named = http1.AppendNames(x.named, value)
		case isConnection(name) && !http1.IsName(name, "host") && !http1.IsName(name, "expect"):
		default:
			x.Fields = append(x.Fields, Field{name, value})
		}
	}
	if err := h.End(); err != nil {
		return err
	}
	if len(x.named) > 0 {
		x.Fields = without(x.Fields, x.named)
	}
	x.closes = h.Closes
	x.frame(method, h.Length, h.Chunked)
	return nil
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
