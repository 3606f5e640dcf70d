package listener

import (
	"strconv"
	"sync"
	"time"

	"mockserver/listener/record"
	"mockserver/listener/reply"
	"mockserver/listener/traffic"
	"mockserver/listener/wire"
	"mockserver/matcher"
)

// call is one request on its way through the server: what came, what is answered, and
// what is recorded of both. It belongs to the goroutine that serves the request.
type call struct {
	matcher.Request
	reply    reply.Reply
	trace    record.Trace
	peer     *wire.Connection  // that it came by; nil for none, in a test
	fault    *traffic.Fault    // that spoils the answer; nil for none
	held     *traffic.Capacity // the place to leave once a spoilt body is sent; nil for none
	panicked bool              // nobody knows what state the call is in
	world    *snapshot         // that the request was matched in; nil if it was not yet
	matched  int               // the endpoint, as Match has it
	brief    bool              // it is answered at once: nobody sees it in progress
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
	c.trace, c.peer, c.fault, c.held, c.world, c.brief = record.Trace{}, nil, nil, nil, nil, false
	calls.Put(c)
}

// isHead reports whether the client asks for the head of an answer alone.
func (c *call) isHead() bool    { return string(c.In.Method) == "HEAD" }
func (c *call) isGet() bool     { return string(c.In.Method) == "GET" }
func (c *call) isOptions() bool { return string(c.In.Method) == "OPTIONS" }

// arrival is when the request came: when its last byte was read, or, if it came while
// another of its connection was served, when that was seen.
func (c *call) arrival() time.Time {
	for _, t := range [...]time.Time{c.peer.Arrived(), c.In.Time} {
		if !t.IsZero() {
			return t
		}
	}
	return time.Now()
}

// took is for how long the request is served. One that is answered directly has no time of
// its own, which would cost more than to ask its connection.
func (c *call) took() time.Duration {
	switch {
	case !c.In.Time.IsZero():
		return time.Since(c.In.Time)
	case c.peer != nil:
		_, ago := c.peer.LastRead()
		return ago
	}
	return 0
}

// waiter is where the request may wait; nil for nowhere.
func (c *call) waiter() traffic.Waiter {
	if c.peer == nil {
		return nil
	}
	return c.peer
}

// wait has a request wait until its latency is over, and reports whether it is to be
// answered.
func (c *call) wait(rules *traffic.Rules, begun time.Time, length time.Duration) bool {
	due := begun.Add(length)
	served := begun
	if t := c.In.Time; t.After(begun) {
		served = t // it came before: the part that passed meanwhile is none of its own
	}
	c.trace.Declared += length
	c.trace.Waited += max(due.Sub(served), 0)
	if c.peer.WaitUntil(due) {
		return false
	}
	c.trace.Late, c.trace.Timed = max(time.Since(due), 0), true
	rules.Late(c.trace.Late)
	return true
}

// spoil has a fault happen to the answer that the request has by now. What is added to its
// headers afterwards is of the answer too. It reports whether the place that the request
// holds is left once the answer is sent; else the caller has to leave it.
func (c *call) spoil(f *traffic.Fault, held *traffic.Capacity) (leaves bool) {
	if !c.peer.IsAlone() {
		return false // in a test; or it came with others before a reload, whose answers would go wrong with it
	}
	c.fault, c.trace.Fault = f, f.Kind
	switch {
	case c.isStreamed():
		c.held = held
		return true
	case f.Kind != wire.Slow: // there may be nothing to be slow with
		c.peer.Spoil(f.Kind)
	}
	return false
}

// isStreamed reports whether a fault sends the body in pieces, or a piece of it.
func (c *call) isStreamed() bool {
	return c.fault != nil && (c.fault.Kind == wire.Slow || c.fault.Kind == wire.Truncate) && len(c.reply.Body) > 0 && !c.isHead()
}

// addServerTiming adds a field that says what the time of the reply was spent on so far, in
// milliseconds: the latency that is declared, for how long the request waited, how much
// longer that was than declared, for how long it waited for an upstream, and the server's own
// work.
func (c *call) addServerTiming() {
	t := &c.trace
	own := t.Own(time.Since(c.In.Time))
	var value []byte
	for i, part := range [...]struct {
		name   string
		length time.Duration
	}{{"declared", t.Declared}, {"waited", t.Waited + t.Late}, {"late", t.Late}, {"upstream", t.Upstream}, {"own", own}} {
		if i > 0 {
			value = append(value, ", "...)
		}
		value = append(append(value, part.name...), ";dur="...)
		value = strconv.AppendFloat(value, float64(part.length)/float64(time.Millisecond), 'f', -1, 64)
	}
	c.reply.Add("Server-Timing", string(value))
}
