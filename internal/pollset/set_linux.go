package pollset

import (
	"math"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Set waits for input on sockets. Each entry leaves it exactly once: because there is input or the
// client has left, because it is due, or by Take. Its methods may be called from any goroutine.
type Set struct {
	ready   func(e *Entry, due bool)
	base    time.Time
	entries sync.WaitGroup // entries that are waiting or taken

	mu    sync.Mutex // guards the fields below, and those of entries that are waiting
	loops []*loop    // one for each processor; none before the first entry; constant once over is set
	last  int        // the loop of the last new descriptor
	ended sync.WaitGroup
	over  bool // no more entries are added
	slots []slot
	free  []uint32      // indices of unused slots
	woken time.Duration // when events were last read, since base
}

// loop is an epoll instance, and what its goroutine needs.
type loop struct {
	file   *os.File
	fd     int
	events []unix.EpollEvent
	woken  []*Entry // buffer for the entries of some events
}

// slot is what an event of epoll refers to. Events that are pending when the entry leaves have another
// generation, and are ignored. Deadlines are here, and not in entries, so that looking for those that
// have passed reads memory in order: 100,000 in 0.1 ms.
type slot struct {
	entry      *Entry // nil for an unused slot
	due        time.Duration
	generation uint32
}

const (
	eventsAtOnce = 64 // how many events are read in one call
	mostLoops    = 8  // more would wait for the lock of the set
)

// New returns a Set. ready is called for each entry that has input (or whose client has left), or is
// due, after it has left the set. It must not block, nor take long: others wait for it.
func New(ready func(e *Entry, due bool)) *Set { return &Set{ready: ready, base: time.Now()} }

// Add makes an entry wait for input on a socket that does not block, until Expire is called after the
// timeout; 0 means no timeout. The entry was outside, or was taken. Add reports false if that is not
// possible: because the system lacks something, or because the entry was outside and the set was
// ended. The descriptor must not be closed before Add returns, nor, unless Drop was called, replaced
// by a duplicate. As soon as the entry is added, ready may be called.
func (s *Set) Add(e *Entry, fd int, timeout time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over && e.state == outside || !s.open() {
		return false
	}
	now := s.woken // a moment ago, if the entry has stayed
	if !e.edge {
		now = time.Since(s.base)
	}
	if (!e.edge || e.Again) && !s.arm(e, fd) {
		return false
	}
	at := &s.slots[e.slot]
	if e.state == outside {
		s.entries.Add(1)
	}
	if at.entry, at.due = e, math.MaxInt64; timeout > 0 {
		at.due = now + timeout
	}
	e.fd, e.state, e.Waited = int32(fd), waiting, -now
	return true
}

// arm makes the system report the next input of an entry once, or, if it stays, each.
func (s *Set) arm(e *Entry, fd int) bool {
	if !e.edge {
		e.slot = s.slot()
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP, Fd: int32(e.slot), Pad: int32(s.slots[e.slot].generation)}
	op := unix.EPOLL_CTL_MOD
	if e.fd != int32(fd) {
		op = unix.EPOLL_CTL_ADD
		s.last = (s.last + 1) % len(s.loops)
		e.loop = uint8(s.last)
	}
	if e.edge = e.Stays; e.edge {
		event.Events |= unix.EPOLLPRI | 1<<31 // EPOLLET, which is negative in package unix
	} else {
		event.Events |= unix.EPOLLONESHOT
	}
	if control(s.loops[e.loop].fd, op, fd, &event) != 0 {
		s.vacate(e)
		return false
	}
	e.Again = false
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
// it again, or calls Done or Give.
func (s *Set) Take(e *Entry) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.state != waiting {
		return false
	}
	s.vacate(e)
	e.state = taken
	e.Waited += time.Since(s.base)
	return true
}

// vacate makes the slot of an entry unused.
func (s *Set) vacate(e *Entry) {
	at := &s.slots[e.slot]
	at.entry = nil
	at.generation++
	s.free = append(s.free, e.slot)
	e.state, e.edge = outside, false
}

// Done ends the time of an entry in the set, after it was taken by Take.
func (s *Set) Done(e *Entry) {
	s.mu.Lock()
	e.state = outside
	s.mu.Unlock()
	s.entries.Done()
}

// Give does what Done does, after it has called ready as for an entry with input. Until then, Wait waits.
func (s *Set) Give(e *Entry) {
	s.mu.Lock()
	e.state = outside
	s.mu.Unlock()
	s.ready(e, false)
	s.entries.Done()
}

// Drop makes the set and the system forget the descriptor of an entry that is not waiting. It is necessary
// if the entry stays no longer, and before the descriptor is closed while a duplicate stays open. open
// reports whether the descriptor is open; then it must not be closed before Drop returns.
func (s *Set) Drop(e *Entry, open bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open && e.fd != 0 {
		control(s.loops[e.loop].fd, unix.EPOLL_CTL_DEL, int(e.fd), &unix.EpollEvent{})
	}
	if e.edge {
		s.vacate(e)
	}
	e.fd, e.Stays = 0, false
}

// End makes the set accept no more entries, other than those that were taken from it.
func (s *Set) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}

// Limit makes an entry that is waiting due within a duration, unless it is due earlier.
func (s *Set) Limit(e *Entry, within time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.state == waiting {
		at := &s.slots[e.slot]
		at.due = min(at.due, time.Since(s.base)+within)
	}
}

// Wait waits until no entry is waiting or taken. End was called before.
func (s *Set) Wait() { s.entries.Wait() }

// Close ends the set, in which no entry may be waiting. When it returns, nothing of it runs.
func (s *Set) Close() {
	s.End()
	for _, l := range s.loops {
		_ = l.file.Close() // it was only polled; this waits for calls of ready, which may lock mu
	}
	s.ended.Wait()
}

// open creates the epoll instances, as far as possible.
func (s *Set) open() bool {
	if len(s.loops) == 0 {
		for n := min(runtime.GOMAXPROCS(0), mostLoops); n > 0 && s.openLoop(); n-- {
		}
	}
	return len(s.loops) > 0
}

// openLoop creates an epoll instance, whose descriptor waits in the poller of the runtime: a thread that
// waited in epoll_wait would cost more.
func (s *Set) openLoop() bool {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return false
	}
	_ = unix.SetNonblock(fd, true) // for NewFile: the calls do not block in any case
	l := &loop{file: os.NewFile(uintptr(fd), "epoll"), fd: fd, events: make([]unix.EpollEvent, eventsAtOnce)}
	s.loops = append(s.loops, l)
	s.ended.Go(func() { s.run(l) })
	return true
}

// run takes the entries of a loop that have input, until the set is closed.
func (s *Set) run(l *loop) {
	raw, _ := l.file.SyscallConn() // it fails only without a file
	_ = raw.Read(func(fd uintptr) bool {
		for taken := 0; ; {
			n := wait(int(fd), l.events)
			if n > 0 {
				s.wake(l, l.events[:n])
			}
			// Meanwhile, others may have come, and the poller takes longer to say so. But others wait for it, too.
			if taken += n; n <= 0 || n < len(l.events) && taken >= eventsAtOnce {
				return n < 0 // the poller reports what comes later
			}
		}
	})
}

// wake takes the entries that some events are for.
func (s *Set) wake(l *loop, events []unix.EpollEvent) {
	woken := l.woken[:0]
	s.mu.Lock()
	s.woken = time.Since(s.base)
	for i := range events {
		event := &events[i]
		at := &s.slots[event.Fd]
		e := at.entry
		if e == nil || at.generation != uint32(event.Pad) {
			continue
		}
		woken = append(woken, e)
		e.Waited += s.woken
		if e.edge {
			at.entry, e.state, e.Again = nil, outside, e.Again || event.Events != unix.EPOLLIN
		} else {
			s.vacate(e)
		}
	}
	s.mu.Unlock()
	s.give(woken, false)
	clear(woken)
	l.woken = woken
}

// Expire takes the entries that are due.
func (s *Set) Expire() {
	var due []*Entry
	s.mu.Lock()
	now := time.Since(s.base)
	for i := range s.slots {
		if at := &s.slots[i]; at.entry != nil && at.due <= now {
			due = append(due, at.entry)
			s.vacate(at.entry)
		}
	}
	s.mu.Unlock()
	s.give(due, true)
}

// give calls ready for entries that have left the set.
func (s *Set) give(all []*Entry, due bool) {
	for _, e := range all {
		s.ready(e, due)
		s.entries.Done()
	}
}

// The calls do not block, so the scheduler is not notified of them.

// control changes what an epoll instance knows of a descriptor.
func control(epoll, op, fd int, event *unix.EpollEvent) syscall.Errno {
	_, _, err := syscall.RawSyscall6(unix.SYS_EPOLL_CTL, uintptr(epoll), uintptr(op), uintptr(fd), uintptr(unsafe.Pointer(event)), 0, 0)
	return err
}

// wait returns the number of events that are pending; a negative number if epoll fails.
func wait(epoll int, events []unix.EpollEvent) int {
	for {
		n, _, err := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
		switch err {
		case 0:
			return int(n)
		case unix.EINTR:
		default:
			return -1
		}
	}
}
