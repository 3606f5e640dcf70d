package h2

import (
	"time"

	"golang.org/x/net/http2"

	"mockserver/internal/pacer"
)

// received notes that a request has arrived completely, and answers it, unless it was refused before:
// then only its response is still to be sent, and the stream may be recycled as soon as that is done.
// large reports whether its trailers are too large.
func (c *conn) received(id uint32, large bool) error {
	c.mu.Lock()
	s := c.streams[id]
	if s == nil || s.answered {
		if s != nil {
			s.received = true
			c.starve(s, false)
		}
		c.mu.Unlock()
		return nil
	}
	s.received = large
	c.mu.Unlock()
	if large {
		return c.refuse(s, 431, largeTrailers)
	}
	return c.complete(s)
}

// complete answers a request that has arrived completely and was not refused.
func (c *conn) complete(s *Stream) error {
	if n := s.request.length; n >= 0 && n != len(s.Body) {
		return streamError(s.id, http2.ErrCodeProtocol)
	}
	s.arrived = c.source.now
	c.mu.Lock()
	s.received, s.served = true, false
	c.starve(s, false)
	c.mu.Unlock()
	s.inline = true
	later := c.srv.Handler.Answer(s)
	if later == nil {
		c.release(s)
		return nil
	}
	s.inline = false
	c.mu.Lock()
	c.serving++
	c.mu.Unlock()
	go c.run(s, later)
	return nil
}

// run answers a request outside of the goroutine that reads, or makes its stream wait without a goroutine. The pacer
// flushes what it returns.
func (c *conn) run(s *Stream, later Later) (made pacer.Flusher) {
	waits := false
	defer func() { // also if the Handler panics or calls Goexit
		if !waits {
			c.done(s)
		}
	}()
	until := later.Serve()
	if waits = !until.IsZero(); !waits {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !s.paced: // it has sent nothing
	case !s.inline || len(c.out) >= outSize:
		c.flush(s.writer())
	case !c.made:
		c.made, made = true, c
	}
	if s.later = later; s.closed { // meanwhile
		s.inline = false
		go c.run(s, later)
		return made
	}
	switch was := s.blocked; {
	case !s.NeedsRoom:
		s.blocked = false
	case c.hasRoom(s): // meanwhile
		s.blocked, until = false, time.Now()
	case !was:
		s.blocked, s.progress = true, time.Now()
		c.enqueue(s)
	}
	c.srv.Pacer.Add(&s.entry, s, until, c.shard)
	return made
}

// Flush writes what streams have sent that the pacer has continued.
func (c *conn) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made = false
	c.flush(byPacer)
}

// writer returns who writes what the Handler has sent.
func (s *Stream) writer() writer {
	if s.inline {
		return byPacer
	}
	return byAnyone
}

// Due continues a stream that waits. Only the pacer calls it.
func (s *Stream) Due() pacer.Flusher {
	if s.inline = !s.Blocks; s.inline {
		return s.c.run(s, s.later)
	}
	go s.c.run(s, s.later)
	return nil
}

// done takes back a stream whose request was answered outside of the goroutine that reads.
func (c *conn) done(s *Stream) {
	by := s.writer()
	c.release(s)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flush(by)
	if c.serving--; c.final && c.serving == 0 {
		_ = c.nc.SetReadDeadline(past)
	}
	c.free.Broadcast()
}

// refuse answers a request that is invalid, too large or too slow, and may be incomplete.
func (c *conn) refuse(s *Stream, status int, why string) error {
	c.mu.Lock()
	s.served = false
	received := s.received
	c.mu.Unlock()
	s.inline = true
	c.srv.Handler.Refuse(s, status, why)
	c.release(s)
	if received {
		return nil
	}
	return c.count() // a refusal costs the server more than the client
}

const (
	tooLarge      = 413
	largeTrailers = "the trailers are larger than 64 KiB"
)

// release takes a stream back from the Handler. A stream that the Handler has not answered is
// reset.
func (c *conn) release(s *Stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s.served = true
	if !s.answered && !s.closed {
		c.reset(s, http2.ErrCodeInternal)
		return
	}
	if s.closed {
		c.follow(s)
		c.drop(s)
	}
}
