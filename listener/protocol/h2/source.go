package h2

import (
	"errors"
	"os"
	"sync"
	"time"
)

// source is the input that the frames of a connection are read from, a buffer at a time. Before it
// waits for more input, everything in the write buffer is written, so the responses to a burst of
// requests leave in one piece. When a deadline passes while it waits, all timeouts of the
// connection are checked, and nothing is lost.
type source struct {
	c         *conn
	buffer    *[]byte   // nil while the connection is parked, or has not read anything
	one       [1]byte   // what a parked connection is read into
	r, w      int       // the unread bytes of buffer
	now       time.Time // of the last read
	armed     time.Time // the deadline in force, unless something else has set one
	inFrame   int       // bytes of the current frame so far
	frameTime time.Time // when waiting for the rest of it began
	idleSince time.Time // zero if it is not idle
	looked    time.Time // when the timeouts were last checked
	stays     bool      // the idle connection needs its goroutine
}

// A connection begins with a small buffer, and has a large one from when it fills that until it is parked.
var (
	small = sync.Pool{New: func() any { b := make([]byte, firstSize); return &b }}
	large = sync.Pool{New: func() any { b := make([]byte, readSize); return &b }}
)

// Read reads for the framer.
func (s *source) Read(b []byte) (int, error) {
	if s.r == s.w {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(b, (*s.buffer)[s.r:s.w])
	s.r += n
	s.inFrame += n
	return n, nil
}

// await waits for the first byte of a frame. A connection is parked only here.
func (s *source) await() error {
	s.inFrame, s.frameTime = 0, time.Time{}
	if s.r < s.w {
		return nil
	}
	return s.fill()
}

// begin makes read, the bytes that were already read, the first input.
func (s *source) begin(read []byte) {
	s.now = time.Now()
	s.looked = s.now
	s.acquire(len(read))
	s.w = copy(*s.buffer, read)
}

// acquire makes the buffer, which is empty, large enough for n bytes.
func (s *source) acquire(n int) {
	if s.buffer != nil && len(*s.buffer) >= n {
		return
	}
	s.release()
	switch {
	case n <= firstSize:
		s.buffer = small.Get().(*[]byte)
	case n <= readSize:
		s.buffer = large.Get().(*[]byte)
	default:
		b := make([]byte, n)
		s.buffer = &b
	}
}

func (s *source) release() {
	if s.buffer != nil {
		switch len(*s.buffer) {
		case firstSize:
			small.Put(s.buffer)
		case readSize:
			large.Put(s.buffer)
		}
	}
	s.buffer = nil
}

// fill waits until there is something to read. It sets the deadline before it looks at the state of
// the connection, so that a goroutine that changes that state can end the wait by setting another
// deadline.
func (s *source) fill() error {
	c := s.c
	if s.w == firstSize { // it was full
		s.acquire(readSize)
	}
	s.r, s.w = 0, 0
	for waits := false; ; waits = true {
		parks := s.arm(waits) && !s.stays
		if err := c.settle(); err != nil {
			return err
		}
		if parks {
			if c.leave(s.armed) {
				return ErrParked
			}
			s.stays = true
			continue // the deadline may be lost
		}
		room := s.one[:]
		if s.buffer != nil {
			room = *s.buffer
		}
		n, err := c.nc.Read(room)
		s.now = time.Now()
		if n > 0 {
			if s.acquire(1); len(room) == 1 {
				(*s.buffer)[0] = s.one[0]
			}
			s.w, s.idleSince, s.stays = n, time.Time{}, false
			if s.now.Sub(s.looked) < tick {
				return nil
			}
			s.looked = s.now // while a client keeps sending, no deadline passes
			return c.look(s.now)
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		s.armed, s.looked = time.Time{}, s.now
		if s.buffer != nil { // nothing has arrived for some time
			s.release()
			s.acquire(1)
		}
		if err := c.look(s.now); err != nil {
			return err
		}
	}
}

// arm sets the read deadline, unless the one in force is close enough. A connection that has been
// idle for some time has no buffers: it is parked, or waits for one byte.
func (s *source) arm(waits bool) (parks bool) {
	c := s.c
	idle := s.inFrame == 0 && c.isIdle()
	switch {
	case !idle:
		s.idleSince = time.Time{}
	case s.idleSince.IsZero():
		s.idleSince = s.now
	}
	if s.inFrame > 0 && s.frameTime.IsZero() {
		s.frameTime = s.now
	}
	until := s.now.Add(tick)
	if parks = waits && idle && s.now.Sub(s.idleSince) >= parkTime; parks {
		s.release()
		c.park()
		if until = s.idleSince.Add(idleTimeout); !c.expires.IsZero() && c.expires.Before(until) {
			until = c.expires
		}
	} else if left := s.armed.Sub(s.now); left > tick/2 && left <= tick {
		return false
	}
	s.armed = until
	_ = c.nc.SetReadDeadline(until) // if this fails, reading fails too
	return parks
}

// leave makes the connection wait without a goroutine until the given time, and reports whether it does.
func (c *conn) leave(until time.Time) bool {
	parking, able := c.nc.(interface {
		Park(again func() error, timeout time.Duration) bool
	})
	c.mu.Lock()
	able = able && !c.writing && len(c.out) == 0
	c.mu.Unlock()
	return able && parking.Park(func() error { return c.live(nil) }, time.Until(until))
}
