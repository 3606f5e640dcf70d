package serve

import (
	"net"
	"time"

	"mockserver/listener/compile"
	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/wire"
)

// A plain request that can be answered immediately passes through the same stages as every other
// request, from the bytes read from the connection to the reply, except that fasthttp does not
// parse again what package wire has parsed: see wire.Plain. Reply.AppendHead writes the head of the
// reply, producing the same bytes as fasthttp.

// headRoom is the space reserved for the head in front of a rendered body.
const headRoom = 1 << 10

// answerDirectly answers a plain request and reports whether it did. If it began a call but did not
// answer, serve continues with that call. The response is built in the free space after the
// request. The error is from writing, or net.ErrClosed if the client has left.
func (s *Server) answerDirectly(conn *wire.Connection, p *wire.Plain) (done bool, err error) {
	if s.Stopping.Load() || len(p.Body) > s.MaxBody || p.Target[0] != '/' {
		return false, nil
	}
	room := p.Bytes[len(p.Bytes):cap(p.Bytes)]
	if len(room) < 2*headRoom {
		conn.Enlarge()
		return false, nil
	}
	c := calls.Get().(*Call)
	c.server, c.length, c.direct = s, len(p.Bytes), true
	in := &c.In
	in.Method, in.Target, in.Host, in.Header, in.Body = p.Method, p.Target, p.Host, p.Header, p.Body
	in.Remote, in.Peer, in.TLS, c.peer = conn.RemoteAddr(), conn, conn.TLS, conn
	a := s.matchDirectly(c)
	if a != nil {
		c.Reply.Room = room[headRoom:headRoom]
		s.serveDirectly(a, c)
	}
	if a == nil || c.again {
		if c.again {
			c.world, c.Trace = nil, record.Trace{} // the rows have changed, so another endpoint may match
		}
		c.direct, c.again = false, false
		if in.Time = time.Now(); s.Recorder != nil {
			in.Time = conn.ReadAt()
		}
		conn.Later = later{c}
		return false, nil
	}
	if err = net.ErrClosed; !conn.HasLeft() {
		err = c.send(conn, room)
	}
	c.Release()
	return true, err
}

// later is the call of a plain request that is not answered directly.
type later struct{ *Call }

// Serve serves the call as if its request had been read by fasthttp.
func (l later) Serve() (last bool, err error) {
	x := newExchange(l.peer.(*wire.Connection))
	x.begun = l.Call
	in, length := x.Conn.Input(), l.length
	err = l.server.Handler(x)
	last = x.last
	x.free()
	_, _ = in.Discard(length) // all of it is buffered
	return last, err
}

// serveDirectly is like serve, for a request with a direct answer.
func (s *Server) serveDirectly(a *compile.Answer, c *Call) {
	c.immediate = a.Immediate
	s.begin(c)
	defer s.finish(c)
	s.answer(a, c, true)
}

// matchDirectly returns the direct answer for a request; nil if there is none. A panic is left to
// serve, where it will occur again.
func (s *Server) matchDirectly(c *Call) (a *compile.Answer) {
	defer func() {
		if recover() != nil {
			a, c.world = nil, nil
		}
	}()
	sn := s.Snapshot.Load()
	if i := sn.match(c); i >= 0 && sn.Answers[i].Direct && (sn.Answers[i].Rules == nil || !sn.Answers[i].Operation.Asked(&c.Request, c.peer)) {
		return &sn.Answers[i]
	}
	return nil
}

// send writes the reply: the head, followed by the body, which may already be in room.
func (c *Call) send(conn *wire.Connection, room []byte) error {
	p := &c.Reply
	head, body := p.AppendHead(room[:0:headRoom], conn.Date()), p.Sent(false)
	if n := len(head) + len(body); n <= len(room) {
		copy(room[len(head):], body)
		copy(room, head) // the head is already there, unless it was too long
		_, err := conn.Write(room[:n])
		return err
	}
	if len(body) < wire.MaxHeader-2*headRoom {
		conn.Enlarge()
	}
	if _, err := conn.Write(head); err != nil {
		return err
	}
	_, err := conn.Write(body)
	return err
}
