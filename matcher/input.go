package matcher

import (
	"net"
	"slices"
	"time"
	"unsafe"

	"mockserver/internal/json"
)

// Input is one request as its receiver read it. The receiver owns the bytes; they must not change
// before the Request that contains them is released.
type Input struct {
	Method   []byte
	Target   []byte // target of the request line, as sent
	Host     []byte // value of the Host header; empty if there is none
	Header   Header
	Body     []byte    // after removing the transfer coding
	Protocol Protocol  // the protocol of the request
	Remote   net.Addr  // the client's address; nil if unknown
	Time     time.Time // when the server began to serve the request
	Peer     Peer      // nil if there is no connection
	TLS      *TLS      // nil if the request was sent in clear text
}

// Protocol is a version of HTTP.
type Protocol uint8

// The protocols in which requests are received.
const (
	HTTP11 Protocol = iota
	HTTP10
	HTTP2
	Protocols // the number of protocols
)

// String returns the name of the protocol: "http/1.1", "http/1.0" or "h2".
func (p Protocol) String() string { return [Protocols]string{"http/1.1", "http/1.0", "h2"}[p] }

// ProtocolOf returns the protocol with a name; HTTP/1.1 for any other name.
func ProtocolOf(name string) Protocol {
	for p := HTTP11; p < Protocols; p++ {
		if p.String() == name {
			return p
		}
	}
	return HTTP11
}

// Response is the response to a request.
type Response interface {
	StatusCode() int
	// HeaderValue returns the first value of a header field, whatever the case of its name.
	HeaderValue(name string) (value []byte, ok bool)
	Content() []byte // the body
	// Ended returns how a streamed response ended; nil for any other.
	Ended() *StreamEnd
}

// StreamEnd is what a streamed response has sent, and how it ended.
type StreamEnd struct {
	Items    int
	Duration time.Duration
	End      string // "complete" and the like
}

// Peer is the connection on which a request was received.
type Peer interface {
	// Left reports whether the client is known to have disconnected. It may take a millisecond.
	Left() bool
}

// Copy replaces the bytes of the request by a copy, which it appends to b, with room for more, and returns b.
func (in *Input) Copy(b []byte, room int) []byte {
	parts := [...]*[]byte{&in.Method, &in.Target, &in.Host, (*[]byte)(&in.Header), &in.Body}
	for _, part := range parts {
		room += len(*part)
	}
	b = slices.Grow(b, room)
	for _, part := range parts {
		begin := len(b)
		b = append(b, *part...)
		*part = b[begin:len(b):len(b)]
	}
	return b
}

// Keep is Copy for a request that was matched: it stays usable when its receiver gives up its buffers. What was
// returned from it before becomes invalid.
func (r *Request) Keep(b []byte) []byte {
	before := r.In.Target
	b = r.In.Copy(b, 0)
	for i, param := range r.params { // others are in the arena
		if at := uintptr(unsafe.Pointer(unsafe.SliceData(param))) - uintptr(unsafe.Pointer(unsafe.SliceData(before))); at < uintptr(len(before)) {
			r.params[i] = r.In.Target[at : int(at)+len(param)]
		}
	}
	r.target = target{slashes: r.target.slashes[:0]}
	r.segments = r.segments[:0]
	clear(r.fields)
	r.fields, r.json, r.parsed = r.fields[:0], json.Value{}, false
	return b
}
