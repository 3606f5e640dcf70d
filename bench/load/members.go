package load

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"time"
)

// members are the sockets of systems without epoll. There is a goroutine for each connection, so a
// request costs about twice as much as with epoll.
type members struct {
	t       *thread
	address string
	now     []*member // of each connection; nil if it is closed
	running sync.WaitGroup
	events  chan event
	woken   chan struct{}
	timer   *time.Timer
}

// member is an open connection, or one that is being opened.
type member struct {
	*members
	number   int
	requests chan []byte
	over     context.Context
	end      context.CancelFunc
	buf      []byte
	response response
	seen     seenHead
}

// event is what has become of a member: it is open or has an answer, or it has failed.
type event struct {
	*member
	err error
}

const (
	memberBuffer = 16 << 10
	eventsAtOnce = 256
)

func newMembers(t *thread, address *net.TCPAddr) *members {
	return &members{
		t: t, address: address.String(), now: make([]*member, len(t.conns)), events: make(chan event, len(t.conns)),
		woken: make(chan struct{}, 1), timer: time.NewTimer(0),
	}
}

func (*members) begin()   {}
func (*members) end()     {}
func (s *members) close() { s.running.Wait() }

func (s *members) dial(i int) (what string, err error) {
	m := &member{members: s, number: i, requests: make(chan []byte, 1), buf: make([]byte, memberBuffer)}
	m.over, m.end = context.WithCancel(context.Background())
	s.now[i] = m
	s.running.Go(m.run)
	return "", nil
}

func (s *members) shut(i int) {
	if m := s.now[i]; m != nil {
		m.end()
		s.now[i] = nil
	}
}

func (s *members) send(i int, request []byte) { s.now[i].requests <- request }

func (s *members) wake() {
	select {
	case s.woken <- struct{}{}:
	default: // it is about to wake
	}
}

func (s *members) wait(nanoseconds int64) (n int) {
	s.timer.Reset(time.Duration(nanoseconds))
	select {
	case e := <-s.events:
		s.take(e)
		n++
	case <-s.woken:
	case <-s.timer.C:
	}
	for ; n < eventsAtOnce; n++ {
		select {
		case e := <-s.events:
			s.take(e)
		default:
			return n
		}
	}
	return n
}

// take handles an event, unless the connection was closed meanwhile.
func (s *members) take(e event) {
	t, i := s.t, e.number
	if s.now[i] != e.member {
		return
	}
	t.now = t.schedule.now()
	switch opens := t.conns[i].state == opening; {
	case opens && e.err != nil:
		t.unreachable(i, "connect", e.err)
	case opens:
		t.opened(i)
	case e.err == nil:
		t.served(i, &e.response, false)
	default:
		t.cut(i, e.response.begun(), e.err)
	}
}

// used returns the CPU time of the whole process, because the system does not count it by
// goroutine.
func (*members) used() (time.Duration, int) {
	cpu, err := CPUOf(os.Getpid())
	if err != nil {
		return 0, 0
	}
	return cpu, runtime.GOMAXPROCS(0)
}

// run opens the connection, and sends requests until it fails or is shut.
func (m *member) run() {
	dialer := net.Dialer{Timeout: connectTime}
	conn, err := dialer.DialContext(m.over, "tcp", m.address)
	if err == nil {
		defer conn.Close()                                                          // nothing that was written matters any more
		context.AfterFunc(m.over, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // ends what it waits for
	}
	for m.send(err) && err == nil {
		select {
		case request := <-m.requests:
			err = m.ask(conn, request)
		case <-m.over.Done():
			return
		}
	}
}

// send sends an event, and reports whether the connection is not shut.
func (m *member) send(err error) bool {
	select {
	case m.events <- event{m, err}:
		return true
	case <-m.over.Done():
		return false
	}
}

// ask writes a request and reads until its answer is complete.
func (m *member) ask(conn net.Conn, request []byte) error {
	m.response.reset(isHead(request))
	if _, err := conn.Write(request); err != nil {
		return err
	}
	for {
		n, err := conn.Read(m.buf)
		if n > 0 {
			if done, err := m.response.accept(m.buf[:n], &m.seen); done || err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return m.response.end()
		case err != nil:
			return err
		}
	}
}
