package serve

import (
	"net"
	"time"

	"mockserver/listener/compile"
	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/wire"
	"mockserver/matcher"
)

// A plain request that can be answered immediately passes through the same stages as every other
// request, from the bytes read from the connection to the reply, except that fasthttp does not
// parse again what package wire has parsed: see wire.Plain. Reply.AppendHead writes the head of the
// reply, producing the same bytes as fasthttp.

// headRoom is the space reserved for the head in front of a rendered body.
const headRoom = 1 << 10

// replyDirectly answers a plain request, or returns the call that it has begun. The error is from
// writing, or net.ErrClosed if the client has left.
func (s *Server) replyDirectly(conn *wire.Connection, p *wire.Plain) (wire.Later, error) {
	c := calls.Get().(*call)
	c.server = s
	in := &c.In
	in.Method, in.Target, in.Host, in.Header, in.Body = p.Method, p.Target, p.Host, p.Header, p.Body
	in.Remote, in.Peer, in.TLS, c.peer = conn.RemoteAddr(), conn, conn.TLS, conn
	if c.connection = p.Connection; p.HTTP10 {
		in.Protocol = matcher.HTTP10
	}
	if p.Alone && !s.Stopping.Load() && !conn.IsOld() && p.Target[0] == '/' {
		if done, err := s.tryDirectly(c, conn, p.Bytes[len(p.Bytes):cap(p.Bytes)]); done {
			c.Release()
			return nil, err
		}
	}
	if in.Time = time.Now(); s.Recorder != nil {
		in.Time = conn.ReadAt()
	}
	return later{c}, nil
}

// tryDirectly answers a call that has a direct answer, and reports whether it did. The response is built
// in room, the free space after the request.
func (s *Server) tryDirectly(c *call, conn *wire.Connection, room []byte) (done bool, err error) {
	if len(room) < 2*headRoom {
		conn.Enlarge()
		return false, nil
	}
	a := s.matchDirectly(c)
	if a == nil || conn.IsShared() && !a.Immediate {
		return false, nil
	}
	c.direct, c.Reply.Room = true, room[headRoom:headRoom]
	if s.serveDirectly(a, c); c.again {
		c.world, c.Trace = nil, record.Trace{} // the rows have changed, so another endpoint may match
		c.direct, c.again, c.immediate = false, false, false
		return false, nil
	}
	if conn.HasLeft() {
		return true, net.ErrClosed
	}
	return true, c.send(conn, room)
}

// later is the call of a plain request that is not answered directly.
type later struct{ *call }

// Serve serves the call as if its request had been read by fasthttp.
func (l later) Serve() (last bool, err error) {
	conn := l.peer.(*wire.Connection)
	x := wire.NewExchange(conn)
	if h := &x.Request.Header; l.connection == "close" {
		h.SetConnectionClose()
	} else if l.connection != "" {
		h.SetProtocol("HTTP/1.0")
	}
	l.Reply.Room, l.paced = x.Response.SwapBody(nil), conn.MayDelay()
	err = l.server.exchange(l.call, x)
	last = x.Last
	x.Free()
	return last, err
}

// serveDirectly is like serve, for a request with a direct answer.
func (s *Server) serveDirectly(a *compile.Response, c *call) {
	c.immediate = a.Immediate
	s.begin(c)
	defer s.finish(c)
	s.serveMatched(a, c, true)
}

// matchDirectly returns the direct answer for a request; nil if there is none. A panic is left to
// serve, where it will occur again.
func (s *Server) matchDirectly(c *call) (a *compile.Response) {
	defer func() {
		if recover() != nil {
			a, c.world = nil, nil
		}
	}()
	sn := s.snapshot.Load()
	c.MaxText = s.MaxResponse // for conditions; begin sets it too late for them
	if i := sn.match(c); i >= 0 && sn.Responses[i].Direct && (sn.Responses[i].Rules == nil || !sn.Responses[i].Operation.MayDiffer(&c.Request, c.peer)) {
		return &sn.Responses[i]
	}
	return nil
}

// send writes the reply: the head, followed by the body, which may already be in room.
func (c *call) send(conn *wire.Connection, room []byte) error {
	p := &c.Reply
	head, body := p.AppendHead(room[:0:headRoom], conn.Date(), c.connection), p.Sent(false)
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
