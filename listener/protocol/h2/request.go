package h2

import (
	"golang.org/x/net/http2/hpack"

	"mockserver/internal/ascii"
	"mockserver/internal/http1"
	"mockserver/internal/semantics"
)

// request holds the header fields of a request as they are decoded, and checks them against RFC
// 9113 section 8: a malformed request resets the stream. Errors that HTTP/1.1 also has, such as an
// invalid host, are left to Server.Check.
type request struct {
	text    []byte   // method, target, authority, and the lines of the fields
	cookies []byte   // the values of all Cookie fields, which clients split
	ends    [3]int32 // of method, target and authority in text
	host    [2]int32 // where the value of the Host field begins and ends in text; 0 for none

	wrong    string // what is malformed; "" for nothing
	size     int    // of the fields, as SETTINGS_MAX_HEADER_LIST_SIZE counts
	hosts    int
	length   int    // Content-Length; -1 for none
	pseudo   pseudo // the pseudo-header fields that were present
	regular  bool   // a regular field has begun the lines
	isHTTP   bool   // the scheme is http or https
	trailing bool   // these are trailers, which are checked and dropped

	expects  bool
	unmet    bool // it expects something other than 100-continue
	prefers  bool
	accepts  bool
	tooLarge bool
}

// pseudo is a set of pseudo-header fields.
type pseudo uint8

const (
	ofMethod pseudo = 1 << iota
	ofPath
	ofAuthority
	ofScheme
)

// begin prepares q for a header block.
func (q *request) begin(trailing bool) {
	text, cookies := q.text[:0], q.cookies[:0]
	*q = request{text: text, cookies: cookies, length: -1, trailing: trailing}
}

// values holds the pseudo-header fields until the first regular one, because their order is free.
type values [3]string

// field processes one field.
func (q *request) field(f hpack.HeaderField, v *values) {
	if q.size += len(f.Name) + len(f.Value) + 32; q.size > maxHeaderList {
		q.tooLarge = true
		return
	}
	switch {
	case q.wrong != "" || q.tooLarge:
	case len(f.Name) == 0:
		q.wrong = "a field without a name"
	case !isValue(f.Value):
		q.wrong = "a field whose value contains a control character, or begins or ends with whitespace"
	case f.Name[0] == ':':
		q.pseudoField(f, v)
	case !isName(f.Name):
		q.wrong = "a field whose name is not a token in lower case"
	case q.trailing:
	default:
		q.enterLines(v)
		q.regularField(f)
	}
}

// pseudoField processes a field whose name begins with a colon: each may occur at most once, before
// all regular fields.
func (q *request) pseudoField(f hpack.HeaderField, v *values) {
	var which pseudo
	switch f.Name {
	case ":method":
		which, v[0] = ofMethod, f.Value
	case ":path":
		which, v[1] = ofPath, f.Value
	case ":authority":
		which, v[2] = ofAuthority, f.Value
	case ":scheme":
		which = ofScheme
		q.isHTTP = f.Value == "http" || f.Value == "https"
	}
	switch {
	case which == 0 || q.trailing:
		q.wrong = "a pseudo-header field that is not allowed in a request"
	case q.pseudo&which != 0:
		q.wrong = "a pseudo-header field twice"
	case q.regular:
		q.wrong = "a pseudo-header field after a regular one"
	case f.Value == "" && which != ofAuthority:
		q.wrong = "an empty pseudo-header field"
	case which == ofMethod && !semantics.IsToken(f.Value):
		q.wrong = "a method that is not a token"
	}
	q.pseudo |= which
}

// enterLines writes the pseudo-header fields before the first regular field, and then the Host line
// that the authority would have in HTTP/1.1.
func (q *request) enterLines(v *values) {
	if q.regular {
		return
	}
	q.regular = true
	for i := range v {
		q.text = append(q.text, v[i]...)
		q.ends[i] = int32(len(q.text))
	}
	if v[2] != "" {
		q.line("host", v[2])
	}
}

func (q *request) line(name, value string) {
	q.text = append(append(append(append(q.text, name...), ": "...), value...), "\r\n"...)
}

func (q *request) regularField(f hpack.HeaderField) {
	if isOfConnection(f.Name) {
		q.wrong = "the field " + f.Name + ", which belongs to HTTP/1.1"
		return
	}
	switch f.Name {
	case "te":
		if f.Value != "trailers" {
			q.wrong = "the field te with a value other than trailers"
			return
		}
	case "cookie":
		if len(q.cookies) > 0 {
			q.cookies = append(q.cookies, "; "...)
		}
		q.cookies = append(q.cookies, f.Value...)
		return
	case "host":
		q.hosts++
		if begin := len(q.text); q.ends[2] > q.ends[1] { // there is an authority
			q.text = append(q.text, f.Value...)
			if q.hosts == 1 && !ascii.EqualFold(q.text[q.ends[1]:q.ends[2]], f.Value) {
				q.hosts = differs
			}
			q.text = q.text[:begin]
			return
		}
		begin := int32(len(q.text) + len("host: "))
		q.host = [2]int32{begin, begin + int32(len(f.Value))}
	case "content-length":
		q.contentLength(f.Value)
	case "expect":
		q.expects, q.unmet = true, q.unmet || f.Value != "" && !ascii.EqualFold([]byte(f.Value), "100-continue")
	case "prefer":
		q.prefers = true
	case "accept":
		q.accepts = q.accepts || f.Value != "*/*"
	}
	q.line(f.Name, f.Value)
}

// differs replaces the number of Host fields if the first Host field is not the authority.
const differs = 1 << 30

func (q *request) contentLength(value string) {
	length, ok := http1.Number([]byte(value), 10, 18)
	if q.length >= 0 || !ok {
		q.wrong = "a Content-Length that is not a single number"
	}
	q.length = int(length)
}

// end completes the request after its last field, and stores its parts in s.
func (q *request) end(v *values, s *Stream) {
	q.enterLines(v)
	if len(q.cookies) > 0 {
		q.line("cookie", string(q.cookies))
	}
	q.text = append(q.text, "\r\n"...)
	switch {
	case q.wrong != "" || q.trailing || q.tooLarge:
	case q.pseudo&ofMethod == 0:
		q.wrong = "no :method"
	case v[0] == "CONNECT" && q.pseudo != ofMethod|ofAuthority:
		q.wrong = "a CONNECT with more than :method and :authority"
	case v[0] != "CONNECT" && q.pseudo|ofAuthority != ofMethod|ofPath|ofAuthority|ofScheme:
		q.wrong = "no :path, or no :scheme"
	}
	e := q.ends
	s.Method, s.Target, s.Host = q.text[:e[0]:e[0]], q.text[e[0]:e[1]:e[1]], q.text[e[1]:e[2]:e[2]]
	if q.host[1] > 0 {
		s.Host = q.text[q.host[0]:q.host[1]:q.host[1]]
	}
	s.Header = q.text[e[2]:]
}

// refusal returns the status of the response to a well-formed request that cannot be served; 0 if
// it can be.
func (q *request) refusal(s *Stream) (status int, why string) {
	switch {
	case q.tooLarge:
		return 431, "the header fields are larger than 64 KiB"
	case q.hosts > 1 && q.hosts < differs:
		return 400, "there is more than one Host header"
	case q.hosts >= differs:
		return 400, "the Host header and :authority differ"
	case len(s.Host) == 0:
		return 400, "there is neither :authority nor a Host header"
	case q.unmet:
		return 417, "only the expectation 100-continue can be met"
	case string(s.Method) == "CONNECT":
	case !q.isHTTP:
		return 400, "the :scheme is neither http nor https"
	case s.Target[0] != '/' && string(s.Target) != "*":
		return 400, "the :path does not begin with a slash"
	}
	if s.c.srv.Check == nil {
		return 0, ""
	}
	target := s.Target
	if len(target) == 0 { // of CONNECT
		target = s.Host
	}
	return s.c.srv.Check(s.Method, target, s.Host)
}

// isName reports whether s is a token without capital letters.
func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; !http1.Token[c] || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

// isValue reports whether s may be the value of a field.
func isValue(s string) bool {
	for i := range len(s) {
		if http1.IsControl(s[i]) {
			return false
		}
	}
	return s == "" || !ascii.IsBlank(s[0]) && !ascii.IsBlank(s[len(s)-1])
}
