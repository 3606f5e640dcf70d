package listener

import (
	"sync"
	"time"

	"mockserver/listener/record"
	"mockserver/listener/reply"
	"mockserver/listener/wire"
	"mockserver/matcher"
)

// call is one request on its way through the server: what came, what is answered, and
// what is recorded of both. It belongs to the goroutine that serves the request.
type call struct {
	matcher.Request
	reply    reply.Reply
	trace    record.Trace
	peer     peer
	fault    *fault    // that spoils the answer; nil for none
	held     *capacity // the place to leave once a spoilt body is sent; nil for none
	panicked bool      // nobody knows what state the call is in
}

// calls are those that no request has. Each is answered 200 without a body so far.
var calls = sync.Pool{New: func() any {
	c := new(call)
	c.reply.Begin()
	return c
}}

// release ends the use of a call, and of all that its request and reply returned.
func (c *call) release() {
	if c.panicked {
		return
	}
	c.Request.Reset()
	c.reply.Room = nil
	c.reply.Begin()
	c.trace, c.peer, c.fault, c.held = record.Trace{}, peer{}, nil, nil
	calls.Put(c)
}

// isHead reports whether the client asks for the head of an answer alone.
func (c *call) isHead() bool    { return string(c.In.Method) == "HEAD" }
func (c *call) isGet() bool     { return string(c.In.Method) == "GET" }
func (c *call) isOptions() bool { return string(c.In.Method) == "OPTIONS" }

// arrival is when the request came: when its last byte was read, or, if it came while
// another of its connection was served, when that was seen.
func (c *call) arrival() time.Time {
	for _, t := range [...]time.Time{c.peer.arrived(), c.In.Time} {
		if !t.IsZero() {
			return t
		}
	}
	return time.Now()
}

// isStreamed reports whether a fault sends the body in pieces, or a piece of it.
func (c *call) isStreamed() bool {
	return c.fault != nil && (c.fault.kind == wire.Slow || c.fault.kind == wire.Truncate) && len(c.reply.Body) > 0 && !c.isHead()
}
