package wire

import (
	"bytes"
	"math"
	"slices"

	"mockserver/internal/ascii"
)

// head is a request line and headers, as far as they were read: what their lines
// say of where the request ends and what comes after it.
//
// What fasthttp knows in one spelling only is spelt so in place, and otherwise nothing
// of it is changed: "Expect: 100-continue", "Connection: close", tabs between the
// options of HTTP/1.0, and a minor version above 1.
type head struct {
	scanned int  // bytes of it that were looked at: whole lines
	sought  int  // bytes of it that the end of a line was looked for in
	empty   int  // lines before the request line
	begun   bool // the request line was read
	minor   byte // of the version: '0' or '1'

	host    bool // each reports whether the header was there
	chunked bool
	sized   bool // Content-Length
	length  int  // what it says

	connected        bool // a Connection header was there
	close, keepAlive bool // its options

	upgrade bool // an Upgrade header was there
	accepts bool // an Accept header was there that does not take all media types alike
	prefers bool // a Prefer header was there

	space, end int  // of the first request line: where the target begins and ends
	lines      int  // where the line after it begins
	hostLine   int  // where the Host header begins
	hostEnd    int  // and ends
	odd        bool // something is not as most clients send it: see isPlain
}

// LargeHead says that a head is larger than MaxHeader.
const LargeHead = "the request line and headers are larger than 64 KiB"

// maxEmpty is how many empty lines may stand before a request line: some clients
// send one after a body.
const maxEmpty = 8

var (
	bareLF     = bad("a line ends in LF, not CRLF")
	bareCR     = bad("CR is not followed by LF")
	emptyLines = bad("there are more than 8 empty lines before the request line")
	noHTTP     = bad("this is not HTTP: the request line is not METHOD TARGET HTTP/1.1")
	badVersion = bad("the version of the request line is not HTTP/1.1 or HTTP/1.0")
	folded     = bad("a header goes on in a second line")
	badName    = bad("a line of the headers does not begin with a name and a colon")
	spacedName = bad("there is a blank before the colon of a header")
	badOptions = bad("the Connection header holds a control character")
	noHost     = bad("there is no Host header, which HTTP/1.1 demands")
	twoHosts   = bad("there is more than one Host header")
	twoLengths = bad("there is more than one Content-Length header")
	badLength  = bad("the Content-Length is not a number of at most 18 digits")
	twoFrames  = bad("there are both Content-Length and Transfer-Encoding")
	badCoding  = bad("the Transfer-Encoding is not chunked, once, in HTTP/1.1")
	largeHead  = &ProtocolError{431, LargeHead}
	badExpect  = &ProtocolError{417, "only the expectation 100-continue can be met"}
)

// read looks at the lines that b holds of the head it begins with. It returns the
// length of the head once that is whole, else 0: b has to come again then, with more
// after it.
func (h *head) read(b []byte) (length int, err error) {
	for {
		end := bytes.IndexByte(b[h.sought:], '\n')
		if end < 0 {
			h.sought = len(b)
			return 0, h.checkPart(b[h.scanned:])
		}
		start := h.scanned
		line := b[start : h.sought+end]
		if len(line) == 0 || line[len(line)-1] != '\r' {
			return 0, bareLF
		}
		line = line[:len(line)-1]
		h.sought += end + 1
		h.scanned = h.sought
		switch {
		case h.begun && len(line) == 0 && !h.host && h.minor != '0':
			return 0, noHost
		case h.begun && len(line) == 0:
			return h.scanned, nil
		case h.begun:
			had := h.host
			if err = h.field(line); h.host && !had {
				h.hostLine, h.hostEnd = start, start+len(line)
			}
		case len(line) == 0:
			if h.empty++; h.empty > maxEmpty {
				err = emptyLines
			}
		default:
			err = h.requestLine(line)
			h.lines = h.scanned
		}
		if err != nil {
			return 0, err
		}
	}
}

// isPlain reports whether the request is as most clients send it: in HTTP/1.1, on a
// connection that stays open, from no page of a browser, of printable ASCII; GET without a
// body, or one of the methods that have one of a known length. The head is whole, and that
// of b.
func (h *head) isPlain(b []byte) bool {
	if h.odd || h.empty > 0 || h.minor != '1' || h.close || h.chunked {
		return false
	}
	switch string(b[:h.space-1]) {
	case "GET":
		return h.length == 0
	case "POST", "PUT", "PATCH", "DELETE":
		return true
	}
	return false
}

// plain is the request that b holds: the head, and the body behind it.
func (h *head) plain(b []byte, length int) Plain {
	return Plain{
		Method: b[:h.space-1], Target: b[h.space:h.end], Header: b[h.lines:length], Body: b[length:],
		Host: ascii.TrimBlanks(b[h.hostLine+len("Host:") : h.hostEnd]), Accepts: h.accepts,
	}
}

// checkPart looks at a line that is not whole: what is not HTTP at all may never
// hold the end of a line.
func (h *head) checkPart(line []byte) error {
	if h.begun || len(line) == 0 || tokenBytes[line[0]] || string(line) == "\r" {
		return nil
	}
	return noHTTP
}

// last reports whether the connection closes after the request.
func (h *head) last() bool { return h.close || h.minor == '0' && !h.keepAlive }

// bodied reports whether a body follows.
func (h *head) bodied() bool { return h.chunked || h.length > 0 }

func (h *head) requestLine(line []byte) error {
	const version = " HTTP/1.1"
	begin := len(line) - len(version)
	space := bytes.IndexByte(line, ' ')
	switch {
	case space <= 0 || begin <= space || string(line[begin:begin+6]) != " HTTP/":
		return noHTTP
	case line[begin+6] != '1' || line[begin+7] != '.' || line[begin+8] < '0' || '9' < line[begin+8]:
		return badVersion
	}
	for _, c := range line[:space] {
		if !tokenBytes[c] {
			return noHTTP
		}
	}
	h.begun = true
	h.space, h.end = space+1, begin
	h.minor = line[begin+8]
	if h.minor > '1' { // to be served as the highest there is, RFC 9110 section 2.5
		h.minor, line[begin+8] = '1', '1'
	}
	return checkTarget(line[:space], line[space+1:begin])
}

// field looks at one header. fasthttp checks its value, but for what is spelt anew.
func (h *head) field(line []byte) error {
	n := 0
	for n < len(line) && tokenBytes[line[n]] {
		n++
	}
	if n == 0 || n == len(line) || line[n] != ':' {
		return nameBreach(line, n)
	}
	if !isPrintable(line[n+1:]) {
		h.odd = true
	}
	switch { // by length first: most are none of these
	case n == len("host") && hasName(line, "host"):
		return h.hostField(ascii.TrimBlanks(line[n+1:]))
	case n == len("expect") && hasName(line, "expect"):
		h.odd = true
		return h.expect(ascii.TrimBlanks(line[n+1:]))
	case n == len("connection") && hasName(line, "connection"):
		return h.connection(ascii.TrimBlanks(line[n+1:]))
	case n == len("content-length") && hasName(line, "content-length"):
		return h.contentLength(ascii.TrimBlanks(line[n+1:]))
	case n == len("transfer-encoding") && hasName(line, "transfer-encoding"):
		return h.transferEncoding(ascii.TrimBlanks(line[n+1:]))
	}
	h.note(line, n)
	return nil
}

// note takes note of a header that may change the answer.
func (h *head) note(line []byte, n int) {
	switch {
	case n == len("accept") && hasName(line, "accept"):
		h.accepts = h.accepts || string(ascii.TrimBlanks(line[n+1:])) != "*/*"
	case n == len("prefer") && hasName(line, "prefer"):
		h.odd, h.prefers = true, true // it may ask for another answer
	case n == len("origin") && hasName(line, "origin"), n == len("trailer") && hasName(line, "trailer"):
		h.odd = true // one has an answer of its own, the other's names are fasthttp's to check
	case n == len("upgrade") && hasName(line, "upgrade"):
		h.odd, h.upgrade = true, true
	}
}

func (h *head) hostField(value []byte) error {
	if h.host {
		return twoHosts
	}
	h.host = true
	if bytes.IndexByte(value, '%') >= 0 || bytes.IndexByte(value, '[') >= 0 {
		h.odd = true // fasthttp looks closer at those
	}
	return checkHost(value, h.minor == '0')
}

func nameBreach(line []byte, n int) error {
	switch {
	case ascii.IsBlank(line[0]):
		return folded
	case 0 < n && n < len(line) && ascii.IsBlank(line[n]):
		return spacedName
	}
	return badName
}

func (h *head) contentLength(value []byte) error {
	switch {
	case h.sized:
		return twoLengths
	case h.chunked:
		return twoFrames
	case len(value) == 0 || len(value) > 18:
		return badLength
	}
	for _, c := range value {
		if c < '0' || '9' < c || h.length > (math.MaxInt-9)/10 {
			return badLength
		}
		h.length = 10*h.length + int(c-'0')
	}
	h.sized = true
	return nil
}

func (h *head) transferEncoding(value []byte) error {
	switch {
	case h.sized:
		return twoFrames
	case h.chunked || h.minor == '0' || !ascii.EqualFold(value, "chunked"):
		return badCoding
	}
	h.chunked = true
	return nil
}

// expect looks at an expectation, which HTTP/1.0 does not have: fasthttp, which
// takes it in any version, has to miss it there.
func (h *head) expect(value []byte) error {
	isContinue := ascii.EqualFold(value, "100-continue")
	switch {
	case isContinue && h.minor == '0':
		copy(value, "100-CONTINUE")
	case isContinue:
		copy(value, "100-continue")
	case len(value) > 0 && h.minor != '0':
		return badExpect
	}
	return nil
}

// connection looks at the options of a Connection header. One that has close among
// others becomes close alone, and one after it too if there is room, so that
// fasthttp tells the client that it closes. keep-alive counts in the first header
// only, as it does for fasthttp, which asks for it in HTTP/1.0 and knows no tabs.
func (h *head) connection(value []byte) error {
	first := !h.connected
	h.connected = true
	if !h.close && string(value) == "keep-alive" { // what most send
		h.keepAlive = h.keepAlive || first
		return nil
	}
	h.odd = true
	if slices.ContainsFunc(value, isControl) {
		return badOptions
	}
	for rest := value; len(rest) > 0; {
		var option []byte
		option, rest, _ = bytes.Cut(rest, []byte{','})
		switch option = ascii.TrimBlanks(option); {
		case ascii.EqualFold(option, "close"):
			h.close = true
		case ascii.EqualFold(option, "keep-alive"):
			h.keepAlive = h.keepAlive || first
		}
	}
	switch {
	case h.close && len(value) >= len("close"):
		for i := copy(value, "close"); i < len(value); i++ {
			value[i] = ' '
		}
	case h.minor == '0':
		for i, c := range value {
			if c == '\t' {
				value[i] = ' '
			}
		}
	}
	return nil
}

// hasName reports whether a line begins with a name, which is given in lower case.
// The bytes of the line are those of a token.
func hasName(line []byte, name string) bool {
	for i := range len(name) {
		if line[i]|0x20 != name[i] {
			return false
		}
	}
	return true
}

// tokenBytes are the bytes of a token, RFC 9110 section 5.6.2.
var tokenBytes = bytesOf("!#$%&'*+-.^_`|~")

// Plain is a request that came whole, with nothing behind it, and as most clients send it:
// see head.isPlain. Its bytes are valid until the connection is read again.
type Plain struct {
	Method, Target, Host []byte
	Header               []byte // its lines, and the empty one
	Body                 []byte
	Accepts              bool   // its answer may depend on Accept
	Bytes                []byte // all of it; the answer may take its room, to its capacity
}
