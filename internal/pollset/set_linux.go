package pollset

import (
	"math"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Set waits for input on sockets. Each entry is taken from it exactly once: because there is input or
// the client has left, because it is due, or by Take. Its methods may be called from any goroutine.
type Set struct {
	ready   func(e *Entry, due bool)
	base    time.Time
	entries sync.WaitGroup // entries that are waiting or taken
	events  []unix.EpollEvent
	woken   []*Entry // buffer for the entries of some events

	mu      sync.Mutex // guards the fields below, and those of entries that are waiting
	file    *os.File   // the epoll instance; nil before the first entry
	fd      int
	ended   sync.WaitGroup
	over    bool // no more entries are added
	classes []class
	slots   []slot
	free    []uint32 // indices of unused slots
}

// class is a list of entries with the same timeout.
type class struct {
	timeout     time.Duration // 0: they are not due by themselves
	until       time.Duration // when all of them are due, at the latest; 0 for no limit
	first, last *Entry
	timer       *time.Timer // runs while there are entries, and perhaps for a timeout longer
	runs        bool
}

// slot is what an event of epoll refers to. Events that are pending when the entry leaves have another
// generation, and are ignored.
type slot struct {
	entry      *Entry
	generation uint32
}

// eventsAtOnce is how many events are read in one call.
const eventsAtOnce = 256

// New returns a Set with a class for each timeout; 0 means none. ready is called for each entry that
// has input (or whose client has left), or is due, after it has left the set. It must not block.
func New(ready func(e *Entry, due bool), timeouts ...time.Duration) *Set {
	s := &Set{ready: ready, base: time.Now(), classes: make([]class, len(timeouts))}
	for i, timeout := range timeouts {
		s.classes[i].timeout = timeout
	}
	return s
}

// Add makes an entry wait for input on a socket that does not block. The entry was outside, or was
// taken. It reports false if that is not possible: because the system lacks something, or because the
// entry was outside and the set was ended. The descriptor must not be closed before Add returns, nor,
// unless Drop was called, replaced by a duplicate. As soon as the entry is added, ready may be called.
func (s *Set) Add(e *Entry, fd int, in Class) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over && e.state == outside || !s.open() {
		return false
	}
	i := s.slot()
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLONESHOT, Fd: int32(i), Pad: int32(s.slots[i].generation)}
	op := unix.EPOLL_CTL_MOD
	if e.fd != int32(fd) {
		op = unix.EPOLL_CTL_ADD
	}
	if control(s.fd, op, fd, &event) != 0 {
		s.free = append(s.free, i)
		return false
	}
	if e.state == outside {
		s.entries.Add(1)
	}
	s.slots[i].entry = e
	e.fd, e.slot, e.class, e.state = int32(fd), i, in, waiting
	s.classes[in].append(e, time.Since(s.base), func() { s.expire(in) })
	return true
}

// slot returns the index of an unused slot.
func (s *Set) slot() uint32 {
	if last := len(s.free) - 1; last >= 0 {
		i := s.free[last]
		s.free = s.free[:last]
		return i
	}
	s.slots = append(s.slots, slot{})
	return uint32(len(s.slots) - 1)
}

// Take takes an entry from the set, and reports whether it was there. Then the caller has it: it adds
// it again or calls Done.
func (s *Set) Take(e *Entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.state != waiting {
		return false
	}
	s.take(e)
	e.state = taken
	return true
}

func (s *Set) take(e *Entry) {
	s.classes[e.class].remove(e) // before the state changes
	at := &s.slots[e.slot]
	at.entry = nil
	at.generation++
	s.free = append(s.free, e.slot)
	e.state = outside
}

// Done ends the time of an entry in the set, after it was taken by Take.
func (s *Set) Done(e *Entry) {
	s.mu.Lock()
	e.state = outside
	s.mu.Unlock()
	s.entries.Done()
}

// Drop makes the system forget the descriptor of an entry that is not waiting. It is necessary before
// the descriptor is closed while a duplicate of it stays open.
func (s *Set) Drop(e *Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.fd != 0 {
		control(s.fd, unix.EPOLL_CTL_DEL, int(e.fd), &unix.EpollEvent{})
		e.fd = 0
	}
}

// End makes the set accept no more entries, other than those that were taken from it.
func (s *Set) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// Limit makes the entries of a class due within a duration, unless they are due earlier. End was
// called before.
func (s *Set) Limit(in Class, within time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.classes[in]
	c.until = time.Since(s.base) + within
	if c.first != nil {
		c.start(within, func() { s.expire(in) })
	}
}

// Wait waits until no entry is waiting or taken. End was called before.
func (s *Set) Wait() { s.entries.Wait() }

// Close ends the set, in which no entry may be waiting. When it returns, nothing of it runs.
func (s *Set) Close() {
	s.mu.Lock()
	s.over = true
	for i := range s.classes {
		if t := s.classes[i].timer; t != nil {
			t.Stop()
		}
	}
	if s.file != nil {
		_ = s.file.Close() // it was only polled
	}
	s.mu.Unlock()
	s.ended.Wait()
}

// open creates the epoll instance, whose descriptor waits in the poller of the runtime: a thread that
// waited in epoll_wait would cost more.
func (s *Set) open() bool {
	if s.file != nil {
		return true
	}
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	_ = unix.SetNonblock(fd, true) // for NewFile: the calls do not block in any case
	s.file, s.fd, s.events = os.NewFile(uintptr(fd), "epoll"), fd, make([]unix.EpollEvent, eventsAtOnce)
	raw, err := s.file.SyscallConn()
	if err != nil {
		return false
	}
	s.ended.Go(func() { s.run(raw) })
	return true
}

// run takes the entries that have input, until the set is closed.
func (s *Set) run(raw syscall.RawConn) {
	_ = raw.Read(func(fd uintptr) bool { // it fails only once the file is closed
		for {
			n := wait(int(fd), s.events)
			if n > 0 {
				s.wake(s.events[:n])
			}
			if n < len(s.events) {
				return n < 0 // the poller reports what comes later
			}
		}
	})
}

// wake takes the entries that some events are for.
func (s *Set) wake(events []unix.EpollEvent) {
	woken := s.woken[:0]
	s.mu.Lock()
	for i := range events {
		event := &events[i]
		if at := &s.slots[event.Fd]; at.entry != nil && at.generation == uint32(event.Pad) {
			woken = append(woken, at.entry)
			s.take(at.entry)
		}
	}
	s.mu.Unlock()
	for _, e := range woken {
		s.ready(e, false)
		s.entries.Done()
	}
	clear(woken)
	s.woken = woken
}

// expire takes the entries of a class that are due.
func (s *Set) expire(in Class) {
	var due []*Entry
	s.mu.Lock()
	c := &s.classes[in]
	c.runs = false
	for now := time.Since(s.base); c.first != nil; {
		if left := c.due(c.first) - now; left > 0 {
			c.start(left, nil)
			break
		}
		due = append(due, c.first)
		s.take(c.first)
	}
	s.mu.Unlock()
	for _, e := range due {
		s.ready(e, true)
		s.entries.Done()
	}
}

// due returns when an entry is due.
func (c *class) due(e *Entry) time.Duration {
	if c.until > 0 {
		return min(e.due, c.until)
	}
	return e.due
}

// append appends an entry.
func (c *class) append(e *Entry, now time.Duration, expire func()) {
	if e.due = now + c.timeout; c.timeout == 0 {
		e.due = math.MaxInt64
	}
	e.prev, e.next = c.last, nil
	if c.last != nil {
		c.last.next = e
	} else {
		c.first = e
	}
	c.last = e
	if !c.runs && c.timeout+c.until > 0 {
		c.start(c.due(e)-now, expire)
	}
}

// start starts the timer; expire is needed for the first time.
func (c *class) start(after time.Duration, expire func()) {
	c.runs = true
	if c.timer == nil {
		c.timer = time.AfterFunc(after, expire)
		return
	}
	c.timer.Reset(after)
}

func (c *class) remove(e *Entry) {
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		c.first = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		c.last = e.prev
	}
	e.next, e.prev = nil, nil
}
