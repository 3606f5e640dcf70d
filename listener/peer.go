package listener

import (
	"time"

	"mockserver/dispatcher"
	"mockserver/listener/traffic"
	"mockserver/listener/wire"
)

// peer is what an answer may ask of the connection that its request came by. The zero peer
// is that of a request which came by none, in a test: it does not wait, and nothing can be
// done to it.
type peer struct{ conn *wire.Connection }

// exists reports whether there is a connection.
func (p peer) exists() bool { return p.conn != nil }

// hasLeft reports whether nobody is there to be answered any more.
func (p peer) hasLeft() bool { return p.conn != nil && p.conn.HasLeft() }

// shard is where the requests of the connection are counted.
func (p peer) shard() uint32 {
	if p.conn == nil {
		return 0
	}
	return p.conn.Shard()
}

// arrived is when the request came, if that was before it began to be served: while
// another one of its connection was. Otherwise it is zero.
func (p peer) arrived() time.Time {
	if p.conn == nil {
		return time.Time{}
	}
	return p.conn.Arrived()
}

// chooses reports whether the request may have a header by which answers of an operation
// are chosen: Prefer, or an Accept that says something. It costs less than to look.
func (p peer) chooses() (prefers, accepts bool) {
	if p.conn == nil {
		return true, true
	}
	return p.conn.Chooses()
}

// waiter is where the request may wait; nil for nowhere.
func (p peer) waiter() traffic.Waiter {
	if p.conn == nil {
		return nil
	}
	return p.conn
}

// isAlone reports whether nothing but the answer to this request is to be written: what
// happens to it happens to no other.
func (p peer) isAlone() bool { return p.conn != nil && p.conn.IsAlone() }

// follow has the delay of a webhook begin when the answer is written. It reports false
// if nobody can tell when that is.
func (p peer) follow(s *Server, d dispatcher.Delivery) bool {
	if p.conn == nil {
		return false
	}
	f, _ := p.conn.Above.(*following)
	if f == nil {
		f = &following{}
		f.start = func(written time.Time) {
			for i := range f.deliveries {
				s.webhooks.Start(f.deliveries[i], written)
			}
			clear(f.deliveries)
			f.deliveries = f.deliveries[:0]
		}
		p.conn.Above = f
	}
	f.deliveries = append(f.deliveries, d)
	p.conn.AfterWrite(f.start)
	return true
}

// following are the webhooks of a connection whose delay begins when its answer is written.
type following struct {
	deliveries []dispatcher.Delivery
	start      func(written time.Time)
}

// takeOver has the connection leave HTTP for a dialogue, after the answer.
func (p peer) takeOver(t *dialogue) {
	t.conn = p.conn
	p.conn.Leave(t.run)
}
