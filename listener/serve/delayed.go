package serve

import (
	"bytes"
	"sync"
	"time"

	"mockserver/listener/protocol/wire"
)

// delayed is a reply over HTTP/1.1 that waits for its latency without a goroutine, and without its
// request, unless that is to be recorded.
type delayed struct {
	rest
	server *Server
	conn   *wire.Connection
	call   *call  // to be recorded; nil for none
	text   []byte // the request, if it is to be recorded, the head of the reply, and a rendered body
	head   [2]int // where the head begins and ends in text
	date   int    // where its date begins
	closes bool   // it says that the connection closes
	body   []byte // the body
}

const (
	leastDelay  = 95 * time.Millisecond // of 100 ms, less what the request took; a shorter wait costs less CPU time in a goroutine
	mostDelayed = 32 << 10              // bytes of a body that are written at once
)

// delays holds unused ones.
var delays = sync.Pool{New: func() any { return new(delayed) }}

// delay makes the reply of a call that waits ready to be sent, and gives up the rest of the call.
func (s *Server) delay(c *call, conn *wire.Connection) {
	d, p := delays.Get().(*delayed), &c.Reply
	d.rest, d.server, d.conn, c.rest = c.rest, s, conn, rest{}
	d.limit.Write(p)
	s.complete(c)
	if s.Recorder != nil {
		d.call = c
		d.text = c.In.Copy(d.text, len(p.Body)+headRoom/2)
	}
	begin := len(d.text)
	d.text = p.AppendHead(d.text, conn.Date(), c.connection)
	d.head, d.closes, d.body = [2]int{begin, len(d.text)}, c.connection != "", p.Sent(false)
	d.date = begin + bytes.Index(d.text[begin:], dateLine) + len(dateLine)
	if p.Rendered {
		d.text = append(d.text, d.body...)
		d.body = d.text[d.head[1]:]
		p.Body, p.Room = d.body, nil
	}
	if d.call == nil {
		c.Release()
	}
	conn.Delay(d, d.due)
}

// Continue ends the wait, and appends the reply to b unless the client has left. It recovers from panics:
// no other request has its goroutine, but the pacer's is that of many.
func (d *delayed) Continue(b []byte, left bool) (reply []byte, next time.Time, last bool) {
	if !left && time.Now().Before(d.due) {
		return b, d.due, false
	}
	defer func() {
		if p := recover(); p != nil {
			reply, last = b[:0], true
			d.server.logSurvived(d.conn, p)
		}
	}()
	defer d.end(left)
	if left {
		d.held.Ends = time.Time{}
		return b, next, false
	}
	late := max(time.Since(d.due), 0)
	if d.rules.Late(late); d.call != nil {
		d.call.Trace.Late, d.call.Trace.Timed = late, true
	}
	copy(d.text[d.date:], d.conn.Date())
	b = append(b, d.text[d.head[0]:d.head[1]]...)
	if last = d.server.Stopping.Load() || d.conn.IsOld(); last && !d.closes {
		b = append(b[:len(b)-len("\r\n")], lastLines...)
	}
	return append(b, d.body...), next, last
}

// end frees the place of the request, and records it.
func (d *delayed) end(left bool) {
	d.held.Leave()
	if c := d.call; c != nil {
		d.server.record(c, left)
		c.Release()
	}
	if text := d.text[:0]; cap(text) <= 4<<10 {
		*d = delayed{text: text}
		delays.Put(d)
	}
}
