// Package wire handles one HTTP/1.1 connection, between its socket and the code that reads requests
// and writes responses: it checks what a client sends against RFC 9112, applies timeouts, parks the
// connection while it is idle, and lets a request wait in it. It does not know about endpoints: what
// it needs from the layers above is passed in function fields.
package wire

import (
	"bytes"
	"io"
	"math/bits"
	"unsafe"

	"mockserver/internal/ascii"
	"mockserver/internal/http1"
)

// framing follows what a client sends and checks it against RFC 9112 before fasthttp parses any of
// it: input that fasthttp would accept although it is invalid, would interpret differently from
// other implementations, or would wait for in vain, is rejected here. It knows where each request
// ends, so it passes on a head only when the head is complete. It drops chunk extensions and
// trailers, which fasthttp would take for headers. docs/adr/0007 lists what fasthttp accepts.
//
// The zero value of framing is at the beginning of a connection.
type framing struct {
	stage stage
	left  int // bytes of a body or chunk still to come
	// The digits of the size of a chunk, and the bytes dropped from this body.
	digits, dropped int
	requests        int // that were taken completely
	// isPlain means that the last bytes passed were exactly one plain request, and plain is that
	// request.
	isPlain bool
	plain   Plain
	last    []byte // a copy of that request; empty for one that is too long: see again
	// preferred and accepted mean that a request on the connection, this one or an earlier one, had
	// a header that may select a response of an operation: Prefer, or an Accept other than */*.
	preferred, accepted bool

	head head // the head that is being read, or whose body is being read
}

// stage is what the next byte belongs to.
type stage uint8

const (
	atHead stage = iota
	atBody       // of a known length
	atSize       // of a chunk, before its first digit
	atDigits
	atBlank     // after the size
	atExtension // after a semicolon
	atName      // of the extension
	atNameBlank
	atValue // after an equals sign
	atToken // of an unquoted value
	atQuoted
	atEscaped // after a backslash
	atValueEnd
	atValueBlank
	atSizeEnd // the LF after a size
	atChunk
	atChunkCR
	atChunkLF
	atTrailer // the first byte of one, or the end of the body
	atTrailerName
	atTrailerValue
	atTrailerLF
	atBodyEnd // the last LF
	atEnd     // no further request is answered
)

const (
	// maxDropped is the maximum number of bytes of extensions and trailers in one body.
	maxDropped = 64 << 10
	// maxDigits is the maximum number of digits in the size of a chunk.
	maxDigits = bits.UintSize/4 - 1
)

var (
	badSize       = bad("a chunk has no hexadecimal size of at most 15 digits")
	badExtension  = bad("the extension of a chunk is malformed (expected ;NAME, ;NAME=TOKEN or ;NAME=\"TEXT\")")
	longExtension = bad("the extensions of the chunks are larger than 64 KiB")
	badChunkEnd   = bad("a chunk does not end with CRLF where its size says")
	badTrailer    = bad("a trailer is malformed")
	largeTrailers = &ProtocolError{431, "the trailers are larger than 64 KiB"}
	cutShort      = bad("the client stopped sending before the request was complete")
)

// take parses b: the part of a head that the previous call left, followed by the received bytes. It
// returns how much of b is ready to be returned by Read, which it has moved to the front, and where
// the rest begins; the rest must be passed again with more data after it. The rest is a part of a
// head, or what follows a request: take ends after each, so that the time when the next one arrived is
// known. The error is a ProtocolError, or io.EOF after the last request of the connection.
func (w *framing) take(b []byte) (ready, rest int, err error) {
	w.isPlain = false
	before := w.requests
	for rest < len(b) && w.stage != atEnd {
		if w.requests > before {
			return ready, rest, nil
		}
		n := 1
		switch w.stage {
		case atHead:
			if n, err = w.head.read(b[rest:]); err != nil {
				return ready, rest, err
			}
			if n == 0 {
				return ready, rest, nil
			}
			w.remember(b, rest, n)
			w.enterBody()
		case atBody, atChunk:
			n = min(w.left, len(b)-rest)
			if w.left -= n; w.left == 0 {
				w.leaveData()
			}
		default:
			drop, err := w.step(b[rest])
			if err != nil {
				return ready, rest, err
			}
			if drop {
				rest++
				continue
			}
		}
		if ready != rest {
			copy(b[ready:], b[rest:rest+n])
		}
		ready += n
		rest += n
	}
	if w.stage == atEnd {
		err = io.EOF
	}
	return ready, rest, err
}

// longestLast is the maximum size of framing.last, in bytes.
const longestLast = 512

// again reports whether b repeats the last plain request, byte for byte and in the same buffer, as
// the requests of load generators do. If so, again has taken that request.
func (w *framing) again(b []byte) bool {
	if !w.isPlain || len(b) == 0 || w.stage != atHead || unsafe.SliceData(b) != unsafe.SliceData(w.plain.Bytes) || !bytes.Equal(b, w.last) {
		return false
	}
	w.requests++
	return true
}

// forget releases the memory in which framing stores the last request.
func (w *framing) forget() { w.isPlain, w.plain, w.last = false, Plain{}, nil }

// remember notes whether b is exactly one plain request, and what its head says about the
// connection as a whole. begin and length are the position and the length of the head in b.
func (w *framing) remember(b []byte, begin, length int) {
	if begin == 0 && length+w.head.length == len(b) && w.head.isPlain(b) {
		w.isPlain, w.plain = true, w.head.plain(b, length)
		if w.last = w.last[:0]; len(b) <= longestLast {
			w.last = append(w.last, b...)
		}
	}
	w.preferred, w.accepted = w.preferred || w.head.prefers, w.accepted || w.head.accepts
}

// inside reports whether a request has begun and is incomplete. part is the part of the head that
// has arrived.
func (w *framing) inside(part []byte) bool {
	if w.stage == atHead {
		line := part[min(len(part), w.head.scanned):]
		return w.head.begun || len(line) > 0 && string(line) != "\r"
	}
	return w.stage != atEnd
}

func (w *framing) enterBody() {
	w.dropped = 0
	switch {
	case w.head.chunked:
		w.stage = atSize
	case w.head.length > 0:
		w.stage, w.left = atBody, w.head.length
	default:
		w.leaveRequest()
	}
}

// leaveData is called after the last byte of a body or chunk.
func (w *framing) leaveData() {
	if w.stage == atChunk {
		w.stage = atChunkCR
		return
	}
	w.leaveRequest()
}

func (w *framing) leaveRequest() {
	w.requests++
	w.stage = atHead
	if w.head.last() {
		w.stage = atEnd
	}
	w.head = head{}
}

// step parses one byte of a chunked body that is not part of its data, and reports whether it is
// dropped.
func (w *framing) step(c byte) (drop bool, err error) {
	switch w.stage {
	case atSize, atDigits, atBlank:
		return w.stepSize(c)
	case atExtension, atName, atNameBlank, atValue, atToken, atQuoted, atEscaped, atValueEnd, atValueBlank:
		next := extensionSteps[w.stage][kindOf(c)]
		if next == atHead {
			return false, badExtension
		}
		if w.stage = next; next == atSizeEnd {
			return false, nil
		}
		return w.drop()
	case atTrailer, atTrailerName, atTrailerValue, atTrailerLF:
		return w.stepTrailer(c)
	case atChunkCR:
		return false, w.expect(c, '\r', atChunkLF, badChunkEnd)
	case atChunkLF:
		return false, w.expect(c, '\n', atSize, badChunkEnd)
	case atSizeEnd:
		next := atChunk
		if w.left == 0 {
			next = atTrailer
		}
		return false, w.expect(c, '\n', next, bareCR)
	}
	if err := w.expect(c, '\n', atHead, bareCR); err != nil {
		return false, err
	}
	w.leaveRequest()
	return false, nil
}

// expect goes to the next stage, unless c is not the required byte.
func (w *framing) expect(c, want byte, next stage, otherwise *ProtocolError) error {
	if c != want {
		return otherwise
	}
	w.stage = next
	return nil
}

func (w *framing) stepSize(c byte) (drop bool, err error) {
	digit := int(ascii.Hex(c))
	switch {
	case w.stage == atSize && digit < 16:
		w.stage, w.digits, w.left = atDigits, 1, digit
		return false, nil
	case w.stage == atDigits && digit < 16 && w.digits < maxDigits:
		w.digits++
		w.left = w.left<<4 | digit
		return false, nil
	case c == '\r' && w.stage == atDigits:
		w.stage = atSizeEnd
		return false, nil
	case c == ';' && w.stage != atSize:
		w.stage = atExtension
	case ascii.IsBlank(c) && w.stage != atSize:
		w.stage = atBlank
	default:
		return false, badSize
	}
	return w.drop()
}

// drop drops a byte of an extension.
func (w *framing) drop() (drop bool, err error) {
	if w.dropped++; w.dropped > maxDropped {
		return false, longExtension
	}
	return true, nil
}

func (w *framing) stepTrailer(c byte) (drop bool, err error) {
	switch {
	case w.stage == atTrailer && c == '\r':
		w.stage = atBodyEnd
		return false, nil
	case w.stage == atTrailer && http1.Token[c]:
		w.stage = atTrailerName
	case w.stage == atTrailerName && c == ':':
		w.stage = atTrailerValue
	case w.stage == atTrailerName && http1.Token[c]:
	case w.stage == atTrailerValue && c == '\r':
		w.stage = atTrailerLF
	case w.stage == atTrailerValue && !http1.IsControl(c):
	case w.stage == atTrailerLF && c == '\n':
		w.stage = atTrailer
	default:
		return false, badTrailer
	}
	if w.dropped++; w.dropped > maxDropped {
		return false, largeTrailers
	}
	return true, nil
}

// extensionSteps is the grammar of an extension, RFC 9112 section 7.1.1: the stage after
// a byte, by the stage before it and the kind of the byte. atHead stands for an error.
var extensionSteps = [atSizeEnd][byteKinds]stage{
	atExtension:  {ofToken: atName, ofBlank: atExtension},
	atName:       {ofToken: atName, ofBlank: atNameBlank, ofSemicolon: atExtension, ofEquals: atValue, ofCR: atSizeEnd},
	atNameBlank:  {ofBlank: atNameBlank, ofSemicolon: atExtension, ofEquals: atValue},
	atValue:      {ofToken: atToken, ofBlank: atValue, ofQuote: atQuoted},
	atToken:      {ofToken: atToken, ofBlank: atValueBlank, ofSemicolon: atExtension, ofCR: atSizeEnd},
	atQuoted:     {atQuoted, atQuoted, atQuoted, atQuoted, atQuoted, ofQuote: atValueEnd, ofBackslash: atEscaped},
	atEscaped:    {atQuoted, atQuoted, atQuoted, atQuoted, atQuoted, ofQuote: atQuoted, ofBackslash: atQuoted},
	atValueEnd:   {ofBlank: atValueBlank, ofSemicolon: atExtension, ofCR: atSizeEnd},
	atValueBlank: {ofBlank: atValueBlank, ofSemicolon: atExtension},
}

// The kinds of bytes of an extension.
const (
	ofToken = iota
	ofBlank
	ofSemicolon
	ofEquals
	ofText // any other that a quoted string may contain
	ofQuote
	ofBackslash
	ofCR
	ofControl
	byteKinds
)

func kindOf(c byte) int {
	switch {
	case http1.Token[c]:
		return ofToken
	case ascii.IsBlank(c):
		return ofBlank
	case c == ';':
		return ofSemicolon
	case c == '=':
		return ofEquals
	case c == '"':
		return ofQuote
	case c == '\\':
		return ofBackslash
	case c == '\r':
		return ofCR
	case http1.IsControl(c):
		return ofControl
	}
	return ofText
}
