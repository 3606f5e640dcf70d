package serve

import (
	"time"

	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/wire"
)

// stepWhole does what step does for a stream whose items are sent as one body: when the last one is due. It needs no
// room, since a stream of HTTP/2 sends such a body as that of any other reply.
func (f *flow) stepWhole(b []byte, now time.Time) (out []byte, ended bool) {
	c := f.call
	switch due := f.dueAt(); {
	case !f.ready && f.clock != nil && now.Before(due): // its share begins with the first item
		f.until = due
		return b, false
	case !f.ready:
		f.collect()
	}
	due := f.dueAt()
	if f.sent.End == "" && now.Before(due) {
		return f.wait(b, now, due), false
	}
	if f.sent.End == "" {
		f.sent.End, c.Reply.Body = record.EndComplete, f.body
		if f.fault != nil && f.fault.Kind == wire.Truncate {
			f.sent.End, c.fault, c.Trace.Fault = record.EndFault, f.fault, f.fault.Kind
		}
	}
	f.headed, f.whole, f.coded = true, true, false
	f.reach(now, due)
	more := max(due.Sub(f.head), 0)
	c.Trace.Declared, c.Trace.Waited = c.Trace.Declared+more, c.Trace.Waited+more
	begin := len(b)
	b = append(f.appendHead(b), c.Reply.Sent(false)...)
	if _, is := c.peer.(*wire.Connection); !is { // a stream of HTTP/2 sends the reply, and owns the buffer
		c.Reply.Body, c.Reply.Rendered = b[begin:], true
	} else if f.sent.End == record.EndFault {
		b = b[:len(b)-(len(f.body)+1)/2]
	}
	f.body = f.body[:0]
	return b, true
}

// collect makes the body of all items, and determines when the last one is due, and the last byte of a slow body.
func (f *flow) collect() {
	c := f.call
	f.ready = true
	if f.clock != nil {
		f.due = f.clock.Enter(f.due, f.stream.Demand)
	}
	for ; f.item != nil && c.Stopped == nil; f.next() {
		f.body = f.cursor.Append(f.body, &c.Request)
		f.sent.Items++
	}
	if f.speed > 0 {
		f.free = f.head.Add(time.Duration(float64(len(f.body)) / float64(f.speed) * float64(time.Second)))
	}
	if c.Stopped != nil {
		items := f.sent.Items
		f.sent.Items = 0 // so that an error is sent
		f.fail()
		f.sent.Items = items
	}
}
