// Package matcher decides which endpoint answers a request.
//
// # Paths
//
// A path begins with "/" and is a row of segments. A segment is one of
//
//	users          a literal: that text and no other, case included
//	:id            a parameter: any text that is not empty
//	:id|int        a typed parameter: any text of that type
//	*rest          a catch-all, in the last place only: all segments that are
//	               left, or none; it needs no name (*)
//
// The types are
//
//	string         any text; what a parameter without a type is
//	int            digits, a sign before them or not, of any length: 7, -12
//	float, double  a decimal number: 7, -1.5, 6.02e23
//	bool, boolean  true or false
//	uuid           8-4-4-4-12 hexadecimal digits, in either case
//	date           a day, 2024-02-29, or a day and time, 2024-02-29T12:00:00Z;
//	               seconds and zone may be left out
//
// Names are letters, digits, "-" and "_". Everything else is literal: {x}, a
// colon inside a segment, a star that is not in the last segment. One trailing
// slash is ignored, declared or requested. Segments are compared decoded, so
// "/a b" and "/a%20b" are the same path; an encoded slash stays inside its
// segment and never separates two.
//
// # Which endpoint answers
//
// Hosts come first: the endpoints declared for exactly the request's host, then
// those for a wildcard that covers it (the longest first), then those without a
// host. Inside a host, at each segment from the left, a literal beats a typed
// parameter, which beats a plain one, which beats a catch-all, in whatever order
// they were declared; a choice that does not resolve is taken back. With
//
//	/users/:id
//	/users/:id|int
//	/users/me/settings
//	/files/*path
//
// the request /users/me reaches /users/:id, /users/7 and /users/7/ reach
// /users/:id|int, /files/a/b reaches /files/*path with path = a/b, and
// /users nothing. Among endpoints of one shape the first declared answers whose
// types and condition hold.
package matcher

import (
	"bytes"
	"mime/multipart"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/matcher/json"
)

// Request is the request being served, as every stage sees it. It reads nothing
// before it is asked, and belongs to the goroutine that acquired it. Every
// []byte it returns is valid until Release and must not be changed.
type Request struct {
	// In is what was received.
	In Input
	// Arena is scratch room: what the stages need for intermediate texts they append here.
	// Slices of it stay valid when it grows. Shorten it only to a length it had before, when nothing after that is used any more.
	Arena []byte
	// Line is scratch room for one text that is made, used and done with: a header's value.
	Line []byte
	// Message is the WebSocket message that r is about, of a request that became a
	// connection; nil for none.
	Message []byte
	// Random is what every random choice of the request is taken from.
	Random Random
	// MaxText bounds each text that is rendered for the request, in bytes; 0 is DefaultMaxText.
	MaxText int
	// Stopped says why a text that was rendered for the request is not whole; nil when all
	// of them are. Nothing more is rendered then.
	Stopped error

	target   target
	params   [][]byte // of the route being tried, decoded, by position
	segments [][]byte // of an escaped path, decoded; empty until asked
	host     []byte   // normalised; nil until asked
	json     json.Value
	parsed   bool          // json was asked for
	fields   []json.Member // of json, if it is an object; one more than fieldsKept for more
	form     *multipart.Form
	formed   bool // form was asked for
	now      time.Time
	found    *found // nil until a router was asked
}

// Input is one request as its receiver read it. The bytes stay the receiver's: they must
// not change before the Request that holds them is released.
type Input struct {
	Method []byte
	Target []byte // of the request line, as sent
	Host   []byte // value of the Host header; empty without one
	Header Header
	Body   []byte    // without the transfer coding
	HTTP10 bool      // sent in HTTP/1.0, not a later version
	Remote net.Addr  // the client's address; nil when unknown
	Time   time.Time // when the server began to serve the request
	Peer   Peer      // nil when there is no connection
}

// Peer is the connection that a request came by.
type Peer interface {
	// Left reports whether the client is known to have left. It may take a millisecond.
	Left() bool
}

const (
	// arenaKept is the largest arena, in bytes, that goes back to the pool.
	arenaKept = 64 << 10
	// segmentsKept is how many segments there is room for in the pool.
	segmentsKept = 256
)

// DefaultMaxText is the largest text that is rendered for a request, in bytes, unless
// something else is set.
const DefaultMaxText = 64 << 20

var requests = sync.Pool{New: func() any { return new(Request) }}

// Acquire returns a Request for what was received. It must be given back with Release.
func Acquire(in Input) *Request {
	r := requests.Get().(*Request)
	r.In = in
	return r
}

// Release ends the use of r and of everything it returned.
func Release(r *Request) {
	r.Reset()
	requests.Put(r)
}

// Reset makes r as good as new, but for the room it keeps. It ends the use of everything
// that r returned.
func (r *Request) Reset() {
	clear(r.params)
	clear(r.segments)
	clear(r.fields)
	arena, line, params, segments, fields := r.Arena[:0], r.Line[:0], r.params[:0], r.segments[:0], r.fields[:0]
	slashes, found := r.target.slashes[:0], r.found
	*r = Request{} // and not one with the room in it, which would be made first and then copied
	if cap(arena) <= arenaKept {
		r.Arena = arena
	}
	if cap(line) <= arenaKept {
		r.Line = line
	}
	if cap(slashes) <= segmentsKept {
		r.segments, r.target.slashes = segments, slashes
	}
	r.params, r.fields, r.found = params, fields, found
}

// Method is the request's method as sent.
func (r *Request) Method() []byte { return r.In.Method }

// Path is the path as sent: neither decoded nor normalised, without the query.
// It is "/" for an absolute-form target without a path.
func (r *Request) Path() []byte { return r.parts().path }

// QueryString is the query as sent, without the "?"; empty when there is none.
func (r *Request) QueryString() []byte { return r.parts().query }

// Host is the host as sent, with its port if one was: the Host header, or the
// authority of an absolute-form target, which wins.
func (r *Request) Host() []byte {
	if t := r.parts(); t.authority != nil {
		return t.authority
	}
	return r.In.Host
}

// Param is the i-th path parameter of the endpoint that matched, decoded, in the
// order of Pattern.Params; nil when there is none. A condition may ask for the
// parameters of its own endpoint while that is being tried.
func (r *Request) Param(i int) []byte {
	if uint(i) >= uint(len(r.params)) {
		return nil
	}
	return r.params[i]
}

// Params are the path parameters of the endpoint that matched, decoded.
func (r *Request) Params() [][]byte { return r.params }

// Resume makes the path parameters those of a match of before, of the same target.
func (r *Request) Resume(params [][]byte) { r.params = append(r.params[:0], params...) }

// Query is the first value of a query parameter, decoded ("+" is a space), and
// whether it is there at all.
func (r *Request) Query(name string) (value []byte, ok bool) {
	return r.pair(r.parts().query, name)
}

// Form is the first value of a field of the request's form, decoded, and whether
// it is there: of an application/x-www-form-urlencoded body, or a text field of
// a multipart/form-data one. A body of another kind has no fields.
func (r *Request) Form(name string) (value []byte, ok bool) {
	kind, _ := r.In.Header.Get(fasthttp.HeaderContentType)
	switch {
	case hasMediaType(kind, "application/x-www-form-urlencoded"):
		return r.pair(r.Body(), name)
	case hasMediaType(kind, "multipart/form-data"):
		return r.multipart(name)
	}
	return nil, false
}

// multipartLimit bounds what a compressed multipart body may unpack to, in bytes.
const multipartLimit = 64 << 20

func (r *Request) multipart(name string) ([]byte, bool) {
	if !r.formed {
		r.formed = true
		r.form = r.parseMultipart()
	}
	if r.form == nil || len(r.form.Value[name]) == 0 {
		return nil, false
	}
	start := len(r.Arena)
	r.Arena = append(r.Arena, r.form.Value[name][0]...)
	return r.kept(start), true
}

// parseMultipart returns nil for a malformed body.
func (r *Request) parseMultipart() *multipart.Form {
	var req fasthttp.Request
	for _, name := range [...]string{fasthttp.HeaderContentType, fasthttp.HeaderContentEncoding} {
		if value, ok := r.In.Header.Get(name); ok {
			req.Header.SetBytesV(name, value)
		}
	}
	req.SetBodyRaw(r.In.Body)
	form, err := req.MultipartFormWithLimit(max(multipartLimit, len(r.In.Body)))
	if err != nil {
		return nil
	}
	return form
}

// kept is what was appended to the arena since start. Its capacity ends with it,
// so that appending to it never writes into what follows.
func (r *Request) kept(start int) []byte { return r.Arena[start:len(r.Arena):len(r.Arena)] }

// Header is the first value of a header, whose name may be in any case, and
// whether it is there.
func (r *Request) Header(name string) (value []byte, ok bool) { return r.In.Header.Get(name) }

// Cookie is the value of a cookie as sent, without quotes around it, and whether
// it is there. Of several with one name it is the first.
func (r *Request) Cookie(name string) (value []byte, ok bool) {
	for line := range r.In.Header.Values(fasthttp.HeaderCookie) {
		for len(line) > 0 {
			var item []byte
			item, line = cutByte(line, ';')
			key, value := cutByte(bytes.TrimSpace(item), '=')
			if len(key) > 0 && string(key) == name {
				return unquoted(value), true
			}
		}
	}
	return nil, false
}

func unquoted(b []byte) []byte {
	if n := len(b); n >= 2 && b[0] == '"' && b[n-1] == '"' {
		return b[1 : n-1]
	}
	return b
}

// Left reports whether the client is known to have left. Asking may take a millisecond:
// it is for work that has taken much longer.
func (r *Request) Left() bool { return r.In.Peer != nil && r.In.Peer.Left() }

// Body is the request's body as sent.
func (r *Request) Body() []byte { return r.In.Body }

// RemoteIP is the client's IP address. A client that has none (a Unix socket) is 0.0.0.0.
func (r *Request) RemoteIP() netip.Addr {
	if tcp, ok := r.In.Remote.(*net.TCPAddr); ok {
		if ip, ok := netip.AddrFromSlice(tcp.IP); ok {
			return ip.Unmap()
		}
	}
	return netip.IPv4Unspecified()
}

// RemoteAddr appends the text of RemoteIP to dst.
func (r *Request) RemoteAddr(dst []byte) []byte { return r.RemoteIP().AppendTo(dst) }

// Now is the time of the request, the same however often it is asked: when the
// server began to serve it, or else when Now was first asked.
func (r *Request) Now() time.Time {
	if r.now.IsZero() {
		r.now = r.In.Time
		if r.now.IsZero() {
			r.now = time.Now()
		}
	}
	return r.now
}

// JSON is the request's body as a JSON value; Missing when it is not JSON. The
// body is parsed once, and only if asked.
func (r *Request) JSON() json.Value {
	if !r.parsed {
		r.parsed = true
		if r.fields == nil {
			r.fields = make([]json.Member, 0, fieldsKept+1)
		}
		r.json, r.fields = json.ParseObject(r.Body(), r.fields)
	}
	return r.json
}

// fieldsKept is how many members of a body are kept where they are.
const fieldsKept = 32

// Field is a member of the request's body, a JSON object; of several with one name the
// last. It is Missing when there is none, or the body is another value. Parsing the body
// finds its members: templates and conditions ask for several.
func (r *Request) Field(name string) json.Value {
	body := r.JSON()
	if len(r.fields) > fieldsKept {
		return body.Member(name)
	}
	for i := len(r.fields) - 1; i >= 0; i-- {
		if r.fields[i].Key.Equals(name) {
			return r.fields[i].Value
		}
	}
	return json.Value{}
}
