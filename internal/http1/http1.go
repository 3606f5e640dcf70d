// Package http1 reads responses in HTTP/1 (RFC 9112): their heads and their bodies. It is strict,
// because readers that interpret a response differently disagree about where it ends. It reads from
// no connection: its callers do, each in its own way.
//
//	size, err := http1.HeadSize(received, 0)  // 0: more is needed
//	err = head.Read(received[:size], func(name, value []byte) { … })
//	body.Begin(&head, false)
//	for !body.Over() { part, rest, err := body.Next(rest); … }
package http1

import (
	"bytes"
	"errors"
	"fmt"
	"iter"

	"mockserver/internal/ascii"
)

// The ways in which a response can be malformed.
var (
	ErrStatus  = errors.New("the answer does not begin with a status line of HTTP/1")
	ErrName    = errors.New("a line of the answer's head does not begin with a name and a colon")
	ErrValue   = errors.New("a header of the answer contains a control character")
	ErrLengths = errors.New("the answer has more than one Content-Length")
	ErrLength  = errors.New("the Content-Length of the answer is not a number of at most 18 digits")
	ErrFrames  = errors.New("the answer has both Content-Length and Transfer-Encoding")
	ErrCoding  = errors.New("the Transfer-Encoding of the answer is not valid; expected chunked, exactly once, in HTTP/1.1")
	ErrChunk   = errors.New("a chunk of the answer has no hexadecimal size of at most 15 digits")
	ErrHead    = errors.New("the head of the answer is larger than 256 KiB")
	ErrLineEnd = errors.New("a line of the answer does not end in CRLF")

	ErrChunkEnd  = errors.New("a chunk of the answer does not end where its size says")
	ErrLongChunk = errors.New("the size line of a chunk is longer than 4 KiB")
	ErrTrailer   = errors.New("a trailer of the answer is malformed")
	ErrTrailers  = errors.New("the trailers of the answer are larger than 16 KiB")
)

// Head is what the head of a response says about its body and the connection.
type Head struct {
	Status  int
	Minor   byte   // the minor version, a digit
	Reason  []byte // a part of the status line
	Length  int64  // of the body; -1 if none is announced
	Chunked bool
	Closes  bool // the connection closes after the response
	keeps   bool // the Connection header has keep-alive, which HTTP/1.0 requires
}

// StatusLine reads "HTTP/1.1 200 OK", in which the reason may be omitted. It resets the head; after
// an error, Status is 0.
func (h *Head) StatusLine(line []byte) error {
	const version = len("HTTP/1.1 ")
	*h = Head{Length: -1}
	if len(line) < version+3 || string(line[:7]) != "HTTP/1." || line[7] < '0' || '9' < line[7] || line[8] != ' ' {
		return ErrStatus
	}
	status, reason := 0, line[version+3:]
	for _, c := range line[version : version+3] {
		if c < '0' || '9' < c {
			return ErrStatus
		}
		status = 10*status + int(c-'0')
	}
	if status < 100 || len(reason) > 0 && reason[0] != ' ' || HasControl(reason) {
		return ErrStatus
	}
	h.Minor, h.Status, h.Reason = line[7], status, bytes.TrimPrefix(reason, []byte(" "))
	return nil
}

// field reads a header line, and what it says about the body and the connection.
func (h *Head) field(line []byte) (name, value []byte, err error) {
	if name, value, err = cutField(line); err != nil {
		return nil, nil, err
	}
	switch { // by length first: most names match none of these
	case IsName(name, "content-length"):
		before, ok := h.Length, false
		if h.Length, ok = Number(value, 10, 18); !ok {
			err = ErrLength
		} else if before >= 0 {
			err = ErrLengths
		}
	case IsName(name, "transfer-encoding"):
		if h.Chunked || h.Minor == '0' || !ascii.EqualFold(value, "chunked") {
			return nil, nil, ErrCoding
		}
		h.Chunked = true
	case IsName(name, "connection"):
		for option := range Options(value) {
			h.Closes = h.Closes || ascii.EqualFold(option, "close")
			h.keeps = h.keeps || ascii.EqualFold(option, "keep-alive")
		}
	}
	return name, value, err
}

// end checks what the fields say together.
func (h *Head) end() error {
	if h.Chunked && h.Length >= 0 {
		return ErrFrames
	}
	h.Closes = h.Closes || h.Minor == '0' && !h.keeps
	return nil
}

// Options returns the items in the value of a header that is a list of tokens, such as Connection.
func Options(value []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for option := range bytes.SplitSeq(value, []byte(",")) {
			if option = ascii.TrimBlanks(option); len(option) > 0 && !yield(option) {
				return
			}
		}
	}
}

// AppendNames appends the names of the headers that the value of a Connection header lists.
func AppendNames(all [][]byte, value []byte) [][]byte {
	for option := range Options(value) {
		if !ascii.EqualFold(option, "close") && !ascii.EqualFold(option, "keep-alive") {
			all = append(all, option)
		}
	}
	return all
}

// cutField splits a header line into its name and its value without the blanks around it.
func cutField(line []byte) (name, value []byte, err error) {
	i := 0
	for i < len(line) && Token[line[i]] {
		i++
	}
	if i == 0 || i == len(line) || line[i] != ':' {
		return nil, nil, ErrName
	}
	if value = ascii.TrimBlanks(line[i+1:]); HasControl(value) {
		return nil, nil, ErrValue
	}
	return line[:i], value, nil
}

// IsName reports whether a name, in any case, equals one given in lower case.
func IsName(name []byte, lower string) bool {
	return len(name) == len(lower) && ascii.EqualFold(name, lower)
}

// Number reads up to most digits.
func Number(digits []byte, base byte, most int) (n int64, ok bool) {
	for _, c := range digits[:min(len(digits), most)] {
		digit := ascii.Hex(c)
		if digit >= base {
			return 0, false
		}
		n = int64(base)*n + int64(digit)
	}
	return n, len(digits) > 0 && len(digits) <= most
}

// chunkSize reads the size line of a chunk. Extensions are ignored.
func chunkSize(line []byte) (int64, error) {
	size, extension, extended := bytes.Cut(line, []byte(";"))
	if extended {
		size = ascii.TrimBlanks(size)
	}
	n, ok := Number(size, 16, 15)
	if !ok || HasControl(extension) {
		return 0, ErrChunk
	}
	return n, nil
}

// Token contains the bytes of a token, such as the name of a header (RFC 9110, section 5.6.2).
var Token = ascii.Set("!#$%&'*+-.^_`|~")

// maxQuoted is how much of a text that is not HTTP is quoted, in bytes.
const maxQuoted = 60

// Quoted returns the beginning of the first line of a text that is not HTTP, in quotes.
func Quoted(text []byte) string {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if line = bytes.TrimSuffix(line, []byte("\r")); len(line) > maxQuoted {
		return fmt.Sprintf("%q…", line[:maxQuoted])
	}
	return fmt.Sprintf("%q", line)
}

// IsControl reports whether c is an ASCII control character other than a tab. Header values and
// quoted strings must not contain one.
func IsControl(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f }

// HasControl reports whether a value contains a control character other than a tab.
func HasControl(value []byte) bool {
	for _, c := range value {
		if IsControl(c) {
			return true
		}
	}
	return false
}
