// Package matcher decides which endpoint answers a request: by its host, then by its path, segment
// by segment from the left, with backtracking, then by types and conditions, in the order of
// declaration. docs/matching.md describes paths and their precedence.
package matcher

import (
	"bytes"
	"cmp"
	"mime/multipart"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/internal/ascii"
	"mockserver/internal/json"
)

// Request is the request being served, in the form shared by all stages. It parses its parts only
// when they are needed, and belongs to the goroutine that acquired it. Every []byte that it returns
// is valid until Release and must not be changed.
type Request struct {
	// In is the request as it was received.
	In Input
	// Arena is scratch memory: the stages append intermediate texts to it. Slices of it remain
	// valid when it grows. It may only be truncated to a previous length, when nothing after that
	// is used any more.
	Arena []byte
	// Line is scratch memory for one short-lived text, such as the value of a header.
	Line []byte
	// Message is the WebSocket message being handled, if the request became a connection; nil if
	// there is none.
	Message []byte
	// Rows contains the rows and values that the endpoint has named, by position; Missing for one
	// that does not exist.
	Rows []json.Value
	// Model is what the request asks of a language model.
	Model Model
	// Response is the response, once there is one; nil before.
	Response Response
	// Access contains data that the stage that finds rows keeps from one request to the next. Reset
	// releases it, but does not remove it.
	Access interface{ Release() }
	// Random is the source of every random choice of the request.
	Random Random
	// MaxText limits the size of each text that is rendered for the request, in bytes; 0 selects
	// DefaultMaxText.
	MaxText int
	// Stopped is why a text that was rendered for the request is incomplete; nil if all texts are
	// complete. If it is set, nothing more is rendered.
	Stopped error

	target         target
	params         [][]byte // parameters of the route being tried, decoded, by position
	segments       [][]byte // decoded segments of an escaped path; empty until needed
	host           []byte   // normalized; nil until needed
	json           json.Value
	response       json.Value    // the body of Response
	fields         []json.Member // members of json, if it is an object; one more than fieldsKept if there are more
	form           *multipart.Form
	now            time.Time
	found          *found // nil until a router is first used
	parsed         bool   // json has been parsed
	responseParsed bool   // response has been parsed
	formed         bool   // form has been parsed
}

// Model is what a request asks of a language model, as an object. It has its own memory.
type Model struct {
	By       any // what has read it; nil before
	Value    json.Value
	Answered bool // it has the answer, too
}

const (
	// arenaKept is the size of the largest arena, in bytes, that is returned to the pool.
	arenaKept = 64 << 10
	// segmentsKept is the largest number of segments whose memory is returned to the pool.
	segmentsKept = 256
)

// DefaultMaxText is the default size of the largest text that is rendered for a request, in bytes.
const DefaultMaxText = 64 << 20

// Most returns the size of the largest text that is rendered for the request, in bytes.
func (r *Request) Most() int { return cmp.Or(r.MaxText, DefaultMaxText) }

var requests = sync.Pool{New: func() any { return new(Request) }}

// Acquire returns a Request for in. It must be returned with Release.
func Acquire(in Input) *Request {
	r := requests.Get().(*Request)
	r.In = in
	return r
}

// Release returns r to the pool. Neither r nor anything it returned may be used afterwards.
func Release(r *Request) {
	r.Reset()
	requests.Put(r)
}

// Reset resets r to its initial state, except for the memory that it reuses. Nothing that r
// returned may be used afterwards.
func (r *Request) Reset() {
	clear(r.params)
	clear(r.segments)
	clear(r.fields)
	arena, line, params, segments, fields := r.Arena[:0], r.Line[:0], r.params[:0], r.segments[:0], r.fields[:0]
	slashes, found, model := r.target.slashes[:0], r.found, r.Model.Value.Raw[:0]
	clear(r.Rows)
	rows, access := r.Rows[:0], r.Access
	if access != nil {
		access.Release()
	}
	*r = Request{} // a literal that contains the reused memory would be built first and then copied
	if cap(arena) <= arenaKept {
		r.Arena = arena
	}
	if cap(line) <= arenaKept {
		r.Line = line
	}
	if cap(slashes) <= segmentsKept {
		r.segments, r.target.slashes = segments, slashes
	}
	if cap(model) <= arenaKept {
		r.Model.Value.Raw = model
	}
	r.params, r.fields, r.found = params, fields, found
	r.Rows, r.Access = rows, access
}

// Method returns the request's method as sent.
func (r *Request) Method() []byte { return r.In.Method }

// Path returns the path as sent: neither decoded nor normalized, without the query. It is "/" for
// an absolute-form target without a path.
func (r *Request) Path() []byte { return r.parts().path }

// QueryString returns the query as sent, without the "?"; empty if there is none.
func (r *Request) QueryString() []byte { return r.parts().query }

// parts splits the target when it is first called.
func (r *Request) parts() *target {
	if !r.target.known {
		r.target.cut(r.In.Target)
	}
	return &r.target
}

// Host returns the host as sent, including its port, if any: the authority of an absolute-form
// target, which takes precedence, or the Host header.
func (r *Request) Host() []byte {
	if t := r.parts(); t.authority != nil {
		return t.authority
	}
	return r.In.Host
}

// Param returns the i-th path parameter of the endpoint that matched, decoded, in the order of
// Pattern.Params; nil if there is none. A condition may use the parameters of its own endpoint
// while that endpoint is being tried.
func (r *Request) Param(i int) []byte {
	if uint(i) >= uint(len(r.params)) {
		return nil
	}
	return r.params[i]
}

// Params returns the path parameters of the endpoint that matched, decoded.
func (r *Request) Params() [][]byte { return r.params }

// Resume sets the path parameters to those of an earlier match of the same target.
func (r *Request) Resume(params [][]byte) { r.params = append(r.params[:0], params...) }

// Query returns the first value of a query parameter, decoded ("+" is a space), and reports whether
// the parameter exists.
func (r *Request) Query(name string) (value []byte, ok bool) {
	return r.pair(r.parts().query, name)
}

// pair finds name in a list of the form a=1&b=2 and returns its first value.
func (r *Request) pair(list []byte, name string) ([]byte, bool) {
	for len(list) > 0 {
		var item []byte
		item, list = cutByte(list, '&')
		if len(item) == 0 {
			continue
		}
		if key, value := cutByte(item, '='); equalDecoded(key, name) {
			return r.decoded(value, true), true
		}
	}
	return nil, false
}

// Form returns the first value of a field of the request's form, decoded, and reports whether the
// field exists. The form is an application/x-www-form-urlencoded body, or the text fields of a
// multipart/form-data body. A body of another type has no fields.
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

// multipartLimit is the maximum decompressed size of a multipart body, in bytes. A body that is
// larger as sent may have that size.
const multipartLimit = 64 << 20

func (r *Request) multipart(name string) ([]byte, bool) {
	if !r.formed {
		r.formed = true
		r.form = r.parseMultipart()
	}
	if r.form == nil || len(r.form.Value[name]) == 0 {
		return nil, false
	}
	return r.Extend(append(r.Arena, r.form.Value[name][0]...)), true
}

// parseMultipart parses a multipart body; it returns nil if the body is malformed.
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

// Extend replaces the arena with arena, which has the same bytes and more, and returns the bytes that
// were appended. Their capacity equals their length, so that appending to them never overwrites what
// follows.
func (r *Request) Extend(arena []byte) []byte {
	start := len(r.Arena)
	r.Arena = arena
	return arena[start:len(arena):len(arena)]
}

// decoded returns b percent-decoded: b itself if it contains no percent-encoding, otherwise a slice
// of the arena. If plus is set, "+" is decoded as a space.
func (r *Request) decoded(b []byte, plus bool) []byte {
	if bytes.IndexByte(b, '%') < 0 && !(plus && bytes.IndexByte(b, '+') >= 0) {
		return b
	}
	return r.Extend(appendDecoded(r.Arena, b, plus))
}

// Header returns the first value of a header, and reports whether the header exists. The name is
// matched case-insensitively.
func (r *Request) Header(name string) (value []byte, ok bool) { return r.In.Header.Get(name) }

// Cookie returns the value of a cookie as sent, without quotes around it, and reports whether the
// cookie exists. If several cookies have the name, it returns the first one.
func (r *Request) Cookie(name string) (value []byte, ok bool) {
	for line := range r.In.Header.Values(fasthttp.HeaderCookie) {
		for len(line) > 0 {
			var item []byte
			item, line = cutByte(line, ';')
			key, value := cutByte(bytes.TrimSpace(item), '=')
			if len(key) > 0 && string(key) == name {
				return ascii.Unquoted(value), true
			}
		}
	}
	return nil, false
}

// Left reports whether the client is known to have disconnected. It may take a millisecond, so it
// is meant for work that has taken much longer.
func (r *Request) Left() bool { return r.In.Peer != nil && r.In.Peer.Left() }

// Body returns the request's body as sent.
func (r *Request) Body() []byte { return r.In.Body }

// RemoteIP returns the client's IP address. For a client without one (a Unix socket) it returns
// 0.0.0.0.
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

// Now returns the time of the request, which is the same for every call: when the server began to
// serve it or, if that is unknown, when Now was first called.
func (r *Request) Now() time.Time {
	if r.now.IsZero() {
		if r.now = r.In.Time; r.now.IsZero() {
			r.now = time.Now()
		}
	}
	return r.now
}

// SetNow sets the time that Now returns: each item of a streamed response has its own.
func (r *Request) SetNow(now time.Time) { r.now = now }

// JSON returns the request's body as a JSON value; Missing if it is not JSON. The body is parsed
// once, by the first call.
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

// ResponseJSON returns the body of the Response as a JSON value; Missing if it is not JSON. The body is
// parsed once, by the first call.
func (r *Request) ResponseJSON() json.Value {
	if !r.responseParsed {
		r.responseParsed = true
		r.response = json.Parse(r.Response.Content())
	}
	return r.response
}

// fieldsKept is the maximum number of members of a body that are stored in fields.
const fieldsKept = 32

// Field returns a member of the request's body, which should be a JSON object. If several members
// have the name, it returns the last one. It returns Missing if there is no such member, or if the
// body is not an object. The members are found when the body is parsed, since templates and
// conditions use several of them.
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
