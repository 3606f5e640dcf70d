package serve

import (
	"bytes"
	"slices"
	"sync"
	"time"

	"mockserver/listener/protocol/wire"
	"mockserver/matcher"
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
	body   []byte // the body
}

const (
	leastDelay  = 100 * time.Millisecond // a shorter wait costs less CPU time in a goroutine
	mostDelayed = 32 << 10               // bytes of a body that are written at once
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
		d.keep(&c.In, len(p.Body)+headRoom/2)
	}
	begin := len(d.text)
	d.text = p.AppendHead(d.text, conn.Date(), c.connection)
	d.head, d.body = [2]int{begin, len(d.text)}, p.Sent(false)
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

// keep copies the request, since its connection gives up the buffer that it is in. room is the size of
// the rest of the text, about.
func (d *delayed) keep(in *matcher.Input, room int) {
	parts := [...]*[]byte{&in.Method, &in.Target, &in.Host, (*[]byte)(&in.Header), &in.Body}
	size := room
	for _, part := range parts {
		size += len(*part)
	}
	d.text = slices.Grow(d.text, size)
	for _, part := range parts {
		begin := len(d.text)
		d.text = append(d.text, *part...)
		*part = d.text[begin:]
	}
}

// Finish ends the wait, and appends the reply to b unless the client has left.
func (d *delayed) Finish(b []byte, left bool) (text []byte, last bool) {
	s, c, late := d.server, d.call, max(time.Since(d.due), 0)
	if left {
		d.held.Ends = time.Time{}
	} else {
		d.rules.Late(late)
		last = s.Stopping.Load() || d.conn.IsOld()
		begin := len(b)
		b = append(b, d.text[d.head[0]:d.head[1]]...)
		if i := bytes.Index(b[begin:], dateLine); i > 0 {
			copy(b[begin+i+len(dateLine):], d.conn.Date())
		}
		if last && !bytes.Contains(b[begin:], []byte("\r\nConnection: ")) {
			b = append(b[:len(b)-2], "Connection: close\r\n\r\n"...)
		}
		b = append(b, d.body...)
	}
	d.held.Leave()
	if c != nil {
		if !left {
			c.Trace.Late, c.Trace.Timed = late, true
		}
		s.record(c, left)
		c.Release()
	}
	if text := d.text[:0]; cap(text) <= 4<<10 {
		*d = delayed{text: text}
		delays.Put(d)
	}
	return b, last
}
