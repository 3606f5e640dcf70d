package upstream

import (
	"errors"
	"os"
	"slices"
	"time"

	"mockserver/dispatcher/client"
	"mockserver/internal/clienttls"
)

const (
	// patience is how long an answer may take before the client is also watched. Until then, a
	// client that disconnects goes unnoticed.
	patience = 50 * time.Millisecond
	// grace is how long to wait for an answer if the request could not be written completely: the
	// upstream may have answered early.
	grace = 10 * time.Millisecond
	// writtenAtOnce is the largest body, in bytes, that is written before the answer is read. An
	// upstream may answer before it has read a larger body.
	writtenAtOnce = 64 << 10
)

// Do sends a request and reads the head of its answer, and also the body if it is short or
// Request.Most is set. After an error the exchange is over; otherwise the caller must call Close.
func (u *Upstream) Do(x *Exchange, a *Request) (err error) {
	x.upstream = u
	x.UnderWay = u.UnderWay.Add(1)
	begun := time.Now()
	x.deadline, x.Ends = u.Deadline(begun), begun.Add(u.maxDuration)
	if x.out, err = u.appendHead(x.out[:0], a); err != nil {
		x.end()
		return err
	}
	x.headSize = len(x.out)
	_, waited, err := u.places.Enter(a.Waiter, begun, x.deadline)
	if waited {
		x.Waited = time.Since(begun)
	}
	if err != nil {
		x.end()
		if err != ErrLeft {
			err = errNoPlace
		}
		return err
	}
	x.placed = true
	x.waiter = a.Waiter
	if err = x.ask(a, begun.Add(x.Waited)); err == nil {
		err = x.readWhole(a.Room, a.Most)
	}
	if x.waiter = nil; err != nil {
		x.closes = true
		err = x.cause(err)
		x.end()
		return err
	}
	if x.Whole {
		x.Close()
	}
	return nil
}

// ask sends the request and reads the head. It drops idle connections that were closed before
// anything was sent. It tries once more, over a new connection, if an idle connection was closed
// without an answer and the method is safe to repeat.
func (x *Exchange) ask(a *Request, placed time.Time) (err error) {
	u := x.upstream
	for err = client.ErrStale; err == client.ErrStale; {
		if err = x.connect(len(a.Request.In.Body)); err != nil {
			return err
		}
		if err = x.once(a, placed); err == client.ErrStale {
			u.pool.Drop(x.conn)
		}
	}
	if err == nil || !x.First.IsZero() || !x.conn.Kept() || x.writing != nil ||
		isTimeout(err) || errors.Is(err, ErrLeft) ||
		!slices.Contains([]string{"GET", "HEAD", "OPTIONS"}, string(a.Request.In.Method)) {
		return err
	}
	u.pool.Drop(x.conn)
	if x.conn, err = u.pool.Dial(u.target, clienttls.Files{}, x.deadline); err != nil {
		return err
	}
	x.in, x.r = x.in[:0], 0
	return x.once(a, placed)
}

// connect gets a connection for a request with a body of the given size.
func (x *Exchange) connect(body int) (err error) {
	u := x.upstream
	if x.asks = body <= writtenAtOnce; !x.asks {
		x.conn, err = u.pool.Get(u.target, clienttls.Files{}, x.deadline)
		return err
	}
	if x.conn, err = u.pool.Take(u.target, clienttls.Files{}, x.deadline); err == nil {
		x.asks = x.conn.Asks()
	}
	return err
}

func (x *Exchange) once(a *Request, placed time.Time) error {
	x.from, x.Sent = x.conn, time.Now()
	x.Connected = x.Sent.Sub(placed)
	err := x.exchange(a)
	var broken *client.SendError
	switch {
	case errors.As(err, &broken):
		x.hurried = false
		_ = x.conn.SetReadDeadline(time.Now().Add(grace)) // the upstream may have answered; if this fails, so does reading
		if x.readHead(a.Request.In.Method) != nil {
			return broken.Err
		}
		x.closes, x.First = true, time.Now()
		return x.conn.SetReadDeadline(x.deadline)
	case err != nil:
		return err
	}
	return x.readHead(a.Request.In.Method)
}

// exchange sends the request and waits for the first byte of the answer. If that takes longer than
// patience, the client is also watched.
func (x *Exchange) exchange(a *Request) error {
	x.hurried = false
	if early := x.Sent.Add(patience); a.Waiter != nil && early.Before(x.deadline) {
		x.hurried = true
		_ = x.conn.SetReadDeadline(early) // if this fails, so does reading
	}
	body := a.Request.In.Body
	room := x.room()
	var n int
	var err error
	if x.asks {
		if !x.hurried {
			_ = x.conn.SetReadDeadline(x.deadline) // likewise
		}
		x.out = append(x.out[:x.headSize], body...)
		var sent bool
		n, sent, err = x.conn.Ask(x.out, room, x.deadline)
		if !sent && x.hurried && errors.Is(err, os.ErrDeadlineExceeded) { // the process was paused in the meantime
			x.unhurry()
			n, sent, err = x.conn.Ask(x.out, room, x.deadline)
		}
		if err != nil && !sent {
			return err
		}
	} else {
		if err := x.send(body); err != nil {
			return &client.SendError{Err: err}
		}
		n, err = x.conn.Read(room)
	}
	if n == 0 && x.hurried && errors.Is(err, os.ErrDeadlineExceeded) && time.Now().Before(x.deadline) {
		n, err = x.watching(a.Waiter, x.conn.Read, room)
	}
	if x.in = x.in[:len(x.in)+n]; n > 0 {
		x.First = time.Now()
		return nil
	}
	return unexpected(err)
}

// send writes the head and the body. A goroutine writes a large body while the answer is awaited.
func (x *Exchange) send(body []byte) error {
	if len(body) <= writtenAtOnce {
		x.out = append(x.out[:x.headSize], body...)
		_, err := x.conn.Write(x.out)
		return err
	}
	if _, err := x.conn.Write(x.out[:x.headSize]); err != nil {
		return err
	}
	conn, writing := x.conn, make(chan error, 1)
	x.writing = writing
	go func() {
		_, err := conn.Write(body)
		writing <- err
	}()
	return nil
}
