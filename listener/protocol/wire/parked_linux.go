package wire

import (
	"bytes"
	"net"
	"sync"
	"time"

	"mockserver/internal/pacer"
	"mockserver/internal/pollset"
)

// A connection waits without a goroutine as long as its first request has not begun to arrive, and
// while it is idle: its descriptor is in a set, which gives the connection to Resume as soon as there
// is something to read. What it still needs is in Connection; buffers are given back before.
//
// One that gets requests in quick succession waits in its goroutine instead, until none has arrived
// for about leaveTime: that is cheaper.

// lot is where connections are parked.
type lot struct{ *pollset.Set }

// place is the place of a connection in the lot.
type place struct {
	pollset.Entry
	socket *accepted // nil for a connection that cannot be parked
	stays  bool      // it could not be parked
	soon   bool      // its last request came soon after it was parked
	quick  bool      // it needs a goroutine, since its requests follow quickly
	woken  bool      // it was parked, and has something to read
	late   bool      // it was parked for too long
}

func (p *place) open(conn net.Conn) { p.socket, _ = conn.(*accepted) }

// openLot makes it possible to park connections.
func (c *Connections) openLot() { c.lot.Set = pollset.New(c.unpark) }

// unpark is called when a parked connection has something to read, or has waited for too long.
func (c *Connections) unpark(e *pollset.Entry, due bool) {
	conn := e.Owner.(*Connection)
	p := &conn.place
	conn.delay.mu.Lock() // it may be due just now
	p.stays, p.quick = false, false
	p.late = due && conn.delay.reply == nil && conn.talk == nil // a limit may come when a reply is delayed again
	if !p.late {
		conn.idle.Store(isBusy)
	}
	conn.delay.mu.Unlock()
	switch {
	case !p.late:
		p.woken = true
		p.soon = conn.delay.reply == nil && conn.requests > 0 && e.Waited < leaveTime
		if conn.shared = conn.mayShare(); conn.shared {
			c.Share(conn)
			return
		}
	case conn.secured == nil:
		_ = conn.CloseNow() // the client expects no response
		return
	}
	c.lot.leave(conn, true)
	c.Resume(conn)
}

// fewRequests is how many requests that follow quickly a connection may have and still be shared. Each of
// them costs less then; but others wait for it, and on several processors those need not.
const fewRequests = 128

// mayShare reports whether the goroutine of the set may serve the connection.
func (c *Connection) mayShare() bool {
	d := &c.delay
	able := c.secured == nil && !c.upgraded.Load() && !c.ended && d.reply == nil && d.rest == nil
	return able && (c.requests < fewRequests || !c.soon) && c.from.Share != nil && !c.from.isEnding()
}

// leave is called by the goroutine of the set before another one serves a connection, or before it is
// closed; open reports which.
func (l lot) leave(c *Connection, open bool) {
	c.quick = c.soon
	if s := c.place.socket; c.Stays {
		s.mu.Lock()
		defer s.mu.Unlock()
		l.Drop(&c.place.Entry, open && !s.closed)
	}
}

// mayPark reports whether the connection may be parked if there is nothing to read.
func (c *Connection) mayPark() bool {
	p := &c.place
	return p.socket != nil && p.socket.file == nil && !p.stays && !p.quick && !c.inBody && !c.head.begun && c.head.empty == 0
}

// Park parks the connection, and reports whether it did. If so, another goroutine may serve it already.
func (c *Connection) Park() bool {
	if c.requests == 0 {
		return c.parkFor(headerTimeout)
	}
	return c.parkFor(idleTimeout)
}

// ParkTalk is Park for a connection that has left HTTP/1.1. Another goroutine runs talk, once, when there is
// something to read, after the timeout, or when the server stops.
func (c *Connection) ParkTalk(talk func(), timeout time.Duration) bool {
	if c.talk = talk; c.parkFor(timeout) {
		return true
	}
	c.talk = nil
	return false
}

func (c *Connection) parkFor(timeout time.Duration) bool {
	p := &c.place
	p.stays = true // until it is parked and has left the lot
	if p.socket == nil || c.from.Resume == nil || c.hasMore() {
		return false
	}
	c.freeBuffers()
	c.large, c.grows = false, false
	c.readInForce, c.writeExpires = time.Time{}, 0
	shared := c.shared
	p.Owner, c.shared = c, false
	p.Stays = shared || c.requests == 0 && c.talk == nil && c.secured == nil && c.from.Share != nil
	state := uint32(isParked)
	d := &c.delay
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.reply != nil {
		timeout, state = 0, isDelayed
		c.from.Pacer.Add(&d.Entry, c, d.due, c.shard)
	}
	c.idle.Store(state)
	if p.socket.park(c.from, &p.Entry, timeout) {
		if d.reply != nil && c.endRead() { // Prompt came a moment ago
			c.continueNow()
		}
		return true
	}
	c.idle.Store(isBusy)
	c.shared = shared
	pacer.Cancel(&d.Entry)
	return false
}

// replies holds unused buffers for delayed replies.
var replies = sync.Pool{New: func() any { return new([]byte) }}

// Due sends what is due of a delayed reply. Only the pacer calls it, perhaps after a goroutine has taken the
// connection. The connection stays parked meanwhile: who takes it from the lot locks delay.mu first.
func (c *Connection) Due() pacer.Flusher {
	d, p, lot := &c.delay, &c.place, c.from.lot
	d.mu.Lock()
	if c.idle.Load() != isDelayed || d.reply == nil || c.sendDue() || !lot.Take(&p.Entry) {
		d.mu.Unlock()
		return nil
	}
	d.mu.Unlock()
	if d.reply == nil && !c.ended && d.rest == nil {
		c.idle.Store(isParked)
		if p.socket.park(c.from, &p.Entry, idleTimeout) {
			if c.from.isEnding() { // perhaps it was not idle when the others were hurried
				lot.Limit(&p.Entry, c.from.patience)
			}
			return nil
		}
	}
	lot.Give(&p.Entry)
	return nil
}

// sendDue sends what is due of a delayed reply, and reports whether the connection waits for the rest as before.
// Otherwise the reply has ended, or needs a goroutine.
func (c *Connection) sendDue() (waits bool) {
	d := &c.delay
	b := replies.Get().(*[]byte)
	out, next, last := d.reply.Continue((*b)[:0], false)
	if len(out) > 0 {
		if n := c.WriteNow(out); n < len(out) {
			d.rest, d.full = bytes.Clone(out[n:]), c.from.clock.exactly()
		}
	}
	if d.due = next; next.IsZero() {
		d.reply, c.ended = nil, c.ended || last
	} else if waits = d.rest == nil && len(out) < Enough; waits {
		c.from.Pacer.Add(&d.Entry, c, next, c.shard)
	}
	*b = out
	replies.Put(b)
	return waits
}

// parksAgain reports whether the connection, which was parked, may be parked again.
func (c *Connection) parksAgain() bool { return !c.place.stays && !c.hasMore() }

// prompt makes what waits on the connection continue at once. The lock is held during Wake: a connection that is
// parked after it sees it.
func (c *Connection) prompt() {
	c.delay.mu.Lock()
	defer c.delay.mu.Unlock()
	if c.idle.Load() < isParked {
		c.Wake()
	}
	c.continueNow()
}

// continueNow makes a delayed reply continue at once. delay.mu is locked.
func (c *Connection) continueNow() {
	if c.idle.Load() == isDelayed && pacer.Cancel(&c.delay.Entry) {
		c.from.Pacer.Add(&c.delay.Entry, c, time.Now(), c.shard)
	}
}

// forget takes a connection that was closed from the lot.
func (l lot) forget(c *Connection) {
	if c.idle.Load() < isParked || !l.Take(&c.place.Entry) {
		return
	}
	if c.talk != nil { // it ends by itself
		l.Give(&c.place.Entry)
		return
	}
	c.delay.mu.Lock()
	reply := c.delay.reply
	c.delay.reply = nil
	c.delay.mu.Unlock()
	if reply != nil {
		pacer.Cancel(&c.delay.Entry)
		reply.Continue(nil, true)
	}
	l.Done(&c.place.Entry)
}

// hurry makes a parked connection wait only a little longer. No others are parked any more.
func (l lot) hurry(c *Connection, wait time.Duration) { l.Limit(&c.place.Entry, wait) }

// Drain waits until no connection is parked, and none will be.
func (c *Connections) Drain() {
	c.lot.End()
	c.lot.Wait()
}
