package wire

import (
	"io"
	"math/bits"
	"slices"

	"mockserver/internal/ascii"
	"mockserver/internal/http1"
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
)

// chunks reads a chunked body, and checks it against RFC 9112 section 7.1 more strictly than fasthttp
// would. It drops extensions and trailers, which fasthttp would take for headers. A malformed body is
// an error as soon as its first wrong byte has arrived.
type chunks struct {
	in      io.ByteReader
	dropped int   // bytes of extensions and trailers so far
	err     error // the first error of in
}

// appendChunks appends the body that comes next, of at most the given number of bytes.
func (c *Connection) appendChunks(body []byte, most int) ([]byte, error) {
	r := chunks{in: c.in}
	for {
		size, err := r.size()
		switch {
		case err != nil:
			return body, err
		case size == 0:
			return body, r.trailers()
		case size > most-len(body):
			return body, c.largeBody()
		}
		begin := len(body)
		for len(body) < begin+size { // memory grows with what has arrived, not with what is announced
			body = slices.Grow(body, min(begin+size-len(body), MaxHeader))
			n, err := c.in.Read(body[len(body):min(cap(body), begin+size)])
			if body = body[:len(body)+n]; err != nil {
				return body, err
			}
		}
		if err := r.expect("\r\n", badChunkEnd); err != nil {
			return body, err
		}
	}
}

// next returns the next byte; 0, which is not allowed anywhere, after an error.
func (r *chunks) next() (b byte) {
	if r.err == nil {
		b, r.err = r.in.ReadByte()
	}
	return b
}

// fail returns the error of reading, or else the protocol error.
func (r *chunks) fail(wrong *ProtocolError) error {
	if r.err != nil {
		return r.err
	}
	return wrong
}

func (r *chunks) expect(text string, otherwise *ProtocolError) error {
	for i := range len(text) {
		if r.next() != text[i] {
			return r.fail(otherwise)
		}
	}
	return nil
}

// size reads the line before a chunk.
func (r *chunks) size() (size int, err error) {
	digits, b := 0, r.next()
	for ; ascii.Hex(b) < 16 && digits < maxDigits; b = r.next() {
		digits++
		size = size<<4 | int(ascii.Hex(b))
	}
	if digits > 0 && b == '\r' {
		return size, r.expect("\n", bareCR)
	}
	for ; digits > 0 && ascii.IsBlank(b); b = r.next() {
		if err := r.drop(longExtension); err != nil {
			return 0, err
		}
	}
	if digits == 0 || b != ';' {
		return 0, r.fail(badSize)
	}
	return size, r.extensions()
}

// drop counts a byte that is dropped.
func (r *chunks) drop(tooMany *ProtocolError) error {
	if r.dropped++; r.dropped > maxDropped {
		return tooMany
	}
	return nil
}

// extensions reads the rest of the line before a chunk, after the first semicolon.
func (r *chunks) extensions() error {
	for at := ofExtension; ; {
		if err := r.drop(longExtension); err != nil {
			return err
		}
		switch at = extensionSteps[at][kindOf(r.next())]; at {
		case wrong:
			return r.fail(badExtension)
		case over:
			return r.expect("\n", bareCR)
		}
	}
}

// trailers reads what follows the last chunk.
func (r *chunks) trailers() error {
	for {
		b := r.next()
		if b == '\r' {
			return r.expect("\n", bareCR)
		}
		for length, named := 0, false; !named || b != '\r'; b = r.next() {
			if !named && !http1.Token[b] && (b != ':' || length == 0) || named && http1.IsControl(b) {
				return r.fail(badTrailer)
			}
			length, named = length+1, named || b == ':'
			if err := r.drop(largeTrailers); err != nil {
				return err
			}
		}
		if err := r.expect("\n", badTrailer); err != nil {
			return err
		}
		if r.dropped += len("\r\n"); r.dropped > maxDropped {
			return largeTrailers
		}
	}
}

// The steps of the grammar of an extension.
const (
	wrong       = iota
	ofExtension // after a semicolon
	ofName
	afterName
	ofValue // after an equals sign
	ofToken // of an unquoted value
	ofQuoted
	ofEscaped // after a backslash
	afterQuoted
	afterValue
	over // the CR
)

// extensionSteps is the grammar of an extension, RFC 9112 section 7.1.1: the step after a byte, by the
// step before it and the kind of the byte.
var extensionSteps = [over][byteKinds]int{
	ofExtension: {tokenByte: ofName, blank: ofExtension},
	ofName:      {tokenByte: ofName, blank: afterName, semicolon: ofExtension, equals: ofValue, cr: over},
	afterName:   {blank: afterName, semicolon: ofExtension, equals: ofValue},
	ofValue:     {tokenByte: ofToken, blank: ofValue, quote: ofQuoted},
	ofToken:     {tokenByte: ofToken, blank: afterValue, semicolon: ofExtension, cr: over},
	ofQuoted:    {ofQuoted, ofQuoted, ofQuoted, ofQuoted, ofQuoted, quote: afterQuoted, backslash: ofEscaped},
	ofEscaped:   {ofQuoted, ofQuoted, ofQuoted, ofQuoted, ofQuoted, quote: ofQuoted, backslash: ofQuoted},
	afterQuoted: {blank: afterValue, semicolon: ofExtension, cr: over},
	afterValue:  {blank: afterValue, semicolon: ofExtension},
}

// The kinds of bytes of an extension.
const (
	tokenByte = iota
	blank
	semicolon
	equals
	textByte // any other that a quoted string may contain
	quote
	backslash
	cr
	control
	byteKinds
)

// marks are the bytes that are a kind of their own.
var marks = [256]int{';': semicolon, '=': equals, '"': quote, '\\': backslash, '\r': cr}

func kindOf(c byte) int {
	switch {
	case marks[c] != 0:
		return marks[c]
	case http1.Token[c]:
		return tokenByte
	case ascii.IsBlank(c):
		return blank
	case http1.IsControl(c):
		return control
	}
	return textByte
}
