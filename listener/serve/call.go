package serve

import (
	"sync"
	"time"

	"mockserver/internal/places"
	"mockserver/listener/compile/traffic"
	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/h2"
	"mockserver/listener/protocol/wire"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// call is one request on its way through the server: the request, the reply, and what is recorded
// about both. It belongs to the goroutine that serves the request.
type call struct {
	matcher.Request
	Reply      reply.Reply
	Trace      record.Trace
	peer       peer              // the source of the request; nobody in tests without a connection
	fault      *traffic.Fault    // the fault that spoils the reply; nil for none
	held       *traffic.Capacity // the place to free once a spoilt body is sent; nil for none
	rest       rest              // what follows its latency
	flow       *flow             // the streamed reply; nil for any other
	kept       []byte            // the copy of the request that a streamed reply needs
	world      *world            // the snapshot the request was matched in; nil before matching
	matched    int               // the endpoint, as returned by Match
	values     []byte            // the values made by the endpoint's let
	following  *following        // its webhooks, which start when the response is written; nil for none
	server     *Server
	connection string   // the value of the Connection header of the reply to a plain request; "" for none
	paced      bool     // its latency may be waited for without a goroutine
	waits      bool     // serving it has returned, and goes on with resume
	panicked   bool     // serving the call has panicked, so its state is unknown
	buffered   bool     // upstream responses are read completely, and written like any other
	immediate  bool     // answered immediately, so it never shows up as in progress
	direct     bool     // it is answered within the read of its connection, so it must not wait
	again      bool     // it must be answered again, outside of that read
	passing    *passing // the answer of an upstream; nil before the first one, and then kept for others
}

// calls holds unused calls. A new call has an empty 200 reply.
var calls = sync.Pool{New: func() any {
	c := &call{peer: nobody}
	c.Reply.Begin()
	return c
}}

// keptBody is the size, in bytes, of the largest buffer that is kept for reuse.
const keptBody = 256 << 10

// keptCopy is the size, in bytes, of the largest buffer for a copy of a request that is kept for reuse.
const keptCopy = 4 << 10

// Release returns a call to the pool, unless serving it has panicked. Values obtained from its
// request or reply become invalid.
func (c *call) Release() {
	if c.panicked {
		return
	}
	c.endPassing()
	c.Request.Reset()
	if c.values = c.values[:0]; cap(c.values) > keptBody {
		c.values = nil
	}
	if c.kept = c.kept[:0]; cap(c.kept) > keptCopy {
		c.kept = nil
	}
	c.Reply.Room, c.flow = nil, nil
	c.Reply.Begin()
	c.Trace, c.fault, c.held, c.world, c.immediate, c.buffered = record.Trace{}, nil, nil, nil, false, false
	c.following, c.direct, c.again, c.connection, c.paced, c.waits = nil, false, false, "", false, false
	c.peer = (*wire.Connection)(nil) // nobody, without reading a variable from memory
	calls.Put(c)
}

// isHead reports whether the request is a HEAD request.
func (c *call) isHead() bool    { return string(c.In.Method) == "HEAD" }
func (c *call) isGet() bool     { return string(c.In.Method) == "GET" }
func (c *call) isOptions() bool { return string(c.In.Method) == "OPTIONS" }

// arrival returns when the request arrived: when its last byte was read or, if it arrived while
// another request of its connection was being served, when the bytes that were kept for later had
// arrived.
func (c *call) arrival() time.Time {
	for _, t := range [...]time.Time{c.peer.Arrived(), c.In.Time} {
		if !t.IsZero() {
			return t
		}
	}
	return time.Now()
}

// took returns how long ago serving the request began, or, for a request that is answered directly,
// how long ago its connection was last read, because reading the clock again would cost more.
func (c *call) took() time.Duration {
	if !c.In.Time.IsZero() {
		return time.Since(c.In.Time)
	}
	if conn, _ := c.peer.(*wire.Connection); conn != nil {
		_, ago := conn.LastRead()
		return ago
	}
	return 0
}

// waiter returns what the request can wait on; nil if it cannot wait.
func (c *call) waiter() places.Waiter {
	if c.peer == nobody {
		return nil
	}
	return c.peer
}

// spoil applies a fault to the reply, including headers that are added later. It reports whether the request's place is
// freed once the reply is sent; if not, the caller must free it.
func (c *call) spoil(f *traffic.Fault, held *traffic.Capacity) (leaves bool) {
	if c.peer == nobody {
		return false
	}
	if c.fault = f; !c.passesOn() || f.Kind == wire.Slow { // others may not come
		c.Trace.Fault = f.Kind
	}
	switch {
	case c.isStreamed():
		c.held = held
		return true
	case f.OfConnection && c.In.Protocol == matcher.HTTP2:
		c.peer.Spoil(h2.ResetConnection)
	case f.Kind != wire.Slow: // there may be no body to send slowly
		c.peer.Spoil(f.Kind)
	}
	return false
}

// isStreamed reports whether a fault sends the body, or a part of it, in pieces.
func (c *call) isStreamed() bool {
	return c.fault != nil && (c.passesOn() ||
		(c.fault.Kind == wire.Slow || c.fault.Kind == wire.Truncate) && len(c.Reply.Sent(c.isHead())) > 0)
}

// passesOn reports whether the answer of an upstream is sent as it arrives, after which the request ends.
func (c *call) passesOn() bool { return c.Reply.Passed != nil && c.Reply.Streamed }
