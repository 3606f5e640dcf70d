package wire

import (
	"bytes"
	"math"
	"slices"

	"mockserver/internal/ascii"
	"mockserver/internal/http1"
)

// head is a request line and headers, as far as they have been read. It stores what their lines say
// about where the request ends and what follows it.
//
// Where fasthttp knows only one spelling, the bytes are rewritten in place: "Expect: 100-continue",
// "Connection: close", tabs between the options of HTTP/1.0, and a minor version above 1. Nothing
// else is changed.
type head struct {
	size    int   // of the whole head, in bytes; 0 until it is complete
	wrong   error // the protocol error in it; nil for none
	scanned int   // bytes that were looked at: whole lines
	sought  int   // bytes that were searched for the end of a line
	empty   int   // lines before the request line
	begun   bool  // the request line was read
	minor   byte  // minor version: '0' or '1'

	host    bool // each bool reports whether the header was present
	chunked bool
	sized   bool // Content-Length
	length  int  // value of Content-Length

	connected        bool // a Connection header was present
	close, keepAlive bool // options of the Connection headers

	accepts bool // an Accept header was present that does not accept all media types equally
	prefers bool // a Prefer header was present

	space, end int  // where the target begins and ends in the first request line
	lines      int  // where the line after the request line begins
	hostLine   int  // where the Host header begins
	hostEnd    int  // where the Host header ends
	odd        bool // something differs from what most clients send: see isPlain
}

// maxEmpty is the maximum number of empty lines before a request line: some clients send one after
// a body.
const maxEmpty = 8

var (
	bareLF     = bad("a line ends in LF, not CRLF")
	bareCR     = bad("CR is not followed by LF")
	emptyLines = bad("there are more than 8 empty lines before the request line")
	noHTTP     = bad("this is not HTTP: the request line is not METHOD TARGET HTTP/1.1")
	badVersion = bad("the version of the request line is not HTTP/1.1 or HTTP/1.0")
	folded     = bad("a header continues on a second line")
	badName    = bad("a line of the headers does not begin with a name and a colon")
	spacedName = bad("there is whitespace before the colon of a header")
	badValue   = bad("the value of a header contains a control character")
	badFields  = bad("the Trailer header names a header that cannot be a trailer")
	noHost     = bad("there is no Host header, which HTTP/1.1 requires")
	twoHosts   = bad("there is more than one Host header")
	twoLengths = bad("there is more than one Content-Length header")
	badLength  = bad("the Content-Length is not a number of at most 18 digits")
	twoFrames  = bad("there are both Content-Length and Transfer-Encoding")
	badCoding  = bad("the Transfer-Encoding is not a single \"chunked\" in HTTP/1.1")
	largeHead  = &ProtocolError{431, "the request line and headers are larger than 64 KiB"}
	cutShort   = bad("the client stopped sending before the request was complete")
	badExpect  = &ProtocolError{417, "only the expectation 100-continue can be met"}
)

// read parses the lines of the head at the beginning of b. It returns the length of the head if it
// is complete; otherwise it returns 0, and b must be passed again with more data after it.
func (h *head) read(b []byte) (length int, err error) {
	if h.size == 0 && h.wrong == nil {
		h.size, h.wrong = h.scan(b)
	}
	return h.size, h.wrong
}

// isInside reports whether a request has begun. part is the part of the head that has arrived.
func (h *head) isInside(part []byte) bool {
	line := part[min(len(part), h.scanned):]
	return h.begun || len(line) > 0 && string(line) != "\r"
}

func (h *head) scan(b []byte) (length int, err error) {
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

// isPlain reports whether the request has the form that most clients send: not from a page in a
// browser, of printable ASCII, without headers that need more than an answer, such as Expect; and
// either a GET without a body, or a POST, PUT, PATCH or DELETE whose body has a known length. The
// head must be complete, and be the one in b.
func (h *head) isPlain(b []byte) bool {
	if h.odd || h.empty > 0 || h.chunked {
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

// plain returns the request in b: the head and its body.
func (h *head) plain(b []byte, length int) Plain {
	p := Plain{
		Method: b[:h.space-1], Target: b[h.space:h.end], Header: b[h.lines:length], Body: b[length:],
		Accepts: h.accepts, Bytes: b, HTTP10: h.minor == '0',
	}
	if h.host {
		p.Host = ascii.TrimBlanks(b[h.hostLine+len("Host:") : h.hostEnd])
	}
	switch {
	case h.last():
		p.Connection = "close"
	case p.HTTP10:
		p.Connection = "keep-alive"
	}
	return p
}

// checkPart checks an incomplete line: data that is not HTTP at all might never contain the end of
// a line.
func (h *head) checkPart(line []byte) error {
	if h.begun || len(line) == 0 || http1.Token[line[0]] || string(line) == "\r" {
		return nil
	}
	return noHTTP
}

// last reports whether the connection closes after the request.
func (h *head) last() bool { return h.close || h.minor == '0' && !h.keepAlive }

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
		if !http1.Token[c] {
			return noHTTP
		}
	}
	h.begun = true
	h.space, h.end = space+1, begin
	h.minor = line[begin+8]
	if h.minor > '1' { // served as the highest supported version, RFC 9110 section 2.5
		h.minor, line[begin+8] = '1', '1'
	}
	return checkTarget(line[:space], line[space+1:begin])
}

// field parses one header.
func (h *head) field(line []byte) error {
	n := 0
	for n < len(line) && http1.Token[line[n]] {
		n++
	}
	if n == 0 || n == len(line) || line[n] != ':' {
		return nameError(line, n)
	}
	if !isPrintable(line[n+1:]) {
		if h.odd = true; http1.HasControl(line[n+1:]) {
			return badValue
		}
	}
	switch { // by length first: most names match none of these
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
	case n == len("trailer") && hasName(line, "trailer"):
		return checkTrailers(line[n+1:])
	}
	h.note(line, n)
	return nil
}

// checkTrailers checks the names in a Trailer header, RFC 9110 section 6.5.1. fasthttp also refuses
// requests that announce these names.
func checkTrailers(value []byte) error {
	var name []byte
	for value = ascii.TrimBlanks(value); len(value) > 0; {
		name, value, _ = bytes.Cut(value, []byte{','})
		name = bytes.ToLower(ascii.TrimBlanks(name))
		if len(name) == 0 || slices.ContainsFunc(name, func(c byte) bool { return !http1.Token[c] }) || notTrailers[string(name)] ||
			bytes.HasPrefix(name, []byte("x-forwarded")) || bytes.HasPrefix(name, []byte("x-real-ip")) {
			return badFields
		}
	}
	return nil
}

// notTrailers are the headers that frame, route or authorize a request.
var notTrailers = map[string]bool{
	"authorization": true, "connection": true, "content-encoding": true, "content-length": true, "content-range": true,
	"content-type": true, "cookie": true, "expect": true, "host": true, "keep-alive": true, "location": true,
	"max-forwards": true, "proxy-authenticate": true, "proxy-authorization": true, "proxy-connection": true, "range": true,
	"set-cookie": true, "te": true, "trailer": true, "transfer-encoding": true, "www-authenticate": true,
}

// note records a header that may change the response.
func (h *head) note(line []byte, n int) {
	switch {
	case n == len("accept") && hasName(line, "accept"):
		h.accepts = h.accepts || string(ascii.TrimBlanks(line[n+1:])) != "*/*"
	case n == len("prefer") && hasName(line, "prefer"):
		h.odd, h.prefers = true, true // it may select another response
	case n == len("origin") && hasName(line, "origin"):
		h.odd = true // it may lead to a CORS response
	case n == len("upgrade") && hasName(line, "upgrade"):
		h.odd = true
	}
}

func (h *head) hostField(value []byte) error {
	if h.host {
		return twoHosts
	}
	h.host = true
	return checkHost(value, h.minor == '0')
}

func nameError(line []byte, n int) error {
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
	}
	length, ok := http1.Number(value, 10, 18)
	if !ok || length > math.MaxInt {
		return badLength
	}
	h.sized, h.length = true, int(length)
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

// expect parses an expectation. HTTP/1.0 has no expectations, but fasthttp accepts them in any
// version, so it must not see one in a request of HTTP/1.0.
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

// connection parses the options of a Connection header. A header with close among other options is
// rewritten as close alone, and so is a later header if there is room, because fasthttp requires it.
// keep-alive counts in the first header only, as in fasthttp, which requires it in HTTP/1.0 and does
// not handle tabs.
func (h *head) connection(value []byte) error {
	first := !h.connected
	h.connected = true
	if !h.close && string(value) == "keep-alive" { // what most clients send
		h.keepAlive = h.keepAlive || first
		return nil
	}
	h.odd = h.odd || !first || !ascii.EqualFold(value, "close") && !ascii.EqualFold(value, "keep-alive")
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

// hasName reports whether a line begins with a name, given in lower case. The bytes of the line are
// token bytes.
func hasName(line []byte, name string) bool {
	for i := range len(name) {
		if line[i]|0x20 != name[i] {
			return false
		}
	}
	return true
}

// Plain is a request that was received completely, in the form that most clients send: see
// head.isPlain. Its bytes are valid until the connection is read again.
type Plain struct {
	Method, Target, Host []byte
	Header               []byte // the header lines and the empty line after them
	Body                 []byte
	Accepts              bool   // the response may depend on Accept
	HTTP10               bool   // the version is HTTP/1.0
	Connection           string // the value of the Connection header of the response; "" for none
	Bytes                []byte // the whole request
	Alone                bool   // nothing follows: the response may overwrite Bytes, up to its capacity
}

// ProtocolError is a violation of the protocol by a client.
type ProtocolError struct {
	Status int // the status of the response to it
	What   string
}

// Error returns What.
func (e *ProtocolError) Error() string { return e.What }

// bad returns a protocol error that is answered with status 400.
func bad(what string) *ProtocolError { return &ProtocolError{400, what} }
