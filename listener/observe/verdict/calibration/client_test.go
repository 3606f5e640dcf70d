//go:build linux && measure

package calibration

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// request is a request that the client sends, with the latency that is declared for its reply.
type request struct {
	bytes    []byte
	declared time.Duration
	fresh    bool // on a separate connection
	often    int  // the request is sent once in this many requests
}

func get(path string) []byte { return []byte("GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n") }

// plan specifies what the client sends, and how often.
type plan struct {
	rate     float64 // requests a second
	requests []request
	random   bool    // requests arrive at random times, as from many independent users
	speech   *speech // how the client speaks; nil for HTTP/1.1
	// connections is how many connections are opened before one is used again, at least.
	connections int
}

// gap returns the time from one request to the next.
func (p *plan) gap() time.Duration {
	gap := float64(time.Second) / p.rate
	if p.random {
		gap *= rand.ExpFloat64()
	}
	return time.Duration(gap)
}

// pick returns the i-th request.
func (p *plan) pick(i int) *request {
	for k := range p.requests[1:] {
		if r := &p.requests[k+1]; i%r.often == r.often-1 {
			return r
		}
	}
	return &p.requests[0]
}

// timing is one reply: when its request was written, and how much later than declared the reply
// arrived in the client's kernel.
type timing struct {
	of   *request
	sent time.Time
	over time.Duration
}

// client is an open-loop load generator in real time. It spins on its own CPU, so it is never
// delayed by a wake-up. The time of a reply is the one that the kernel noted.
type client struct {
	addr    *unix.SockaddrInet4
	epoll   int
	idle    []*conversation
	opened  int
	plan    *plan
	waiting map[int]*conversation
	timings []timing
	failed  int
}

// conversation is a connection with at most one request in progress.
type conversation struct {
	fd      int
	of      *request
	sent    time.Time
	rest    []byte // part of the request that still has to be written
	reading []byte // part of the reply that has been read
	greeted bool   // the connection is ready for requests
	asked   int    // number of requests on the connection
}

func newClient(addr *net.TCPAddr) (*client, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &client{addr: &unix.SockaddrInet4{Port: addr.Port, Addr: [4]byte(addr.IP.To4())}, epoll: epoll, waiting: map[int]*conversation{}}, nil
}

// drive sends requests at their rate for the given length, and then waits for replies for the given
// patience. A reply that has not arrived by then counts with the lateness that it has reached by
// then.
func (c *client) drive(p *plan, length, patience time.Duration) {
	c.plan = p
	runtime.LockOSThread() // never unlocked: the thread ends with its goroutine
	pin(0, clientCPU())
	begun := time.Now()
	due := begun
	events := make([]unix.EpollEvent, 128)
	for i := 0; ; {
		now := time.Now()
		if now.Sub(begun) > length && (len(c.waiting) == 0 || now.Sub(begun) > length+patience) {
			break
		}
		if now.Sub(begun) <= length && !now.Before(due) {
			c.send(p.pick(i))
			due = due.Add(p.gap())
			i++
			continue
		}
		n, _ := unix.EpollWait(c.epoll, events, 0) // it is called again even if it was interrupted
		for _, e := range events[:max(n, 0)] {
			if w := c.waiting[int(e.Fd)]; w != nil {
				c.receive(w)
			}
		}
	}
	for _, w := range c.waiting {
		c.done(w, time.Now(), false)
	}
	for _, w := range c.idle {
		_ = unix.Close(w.fd)
	}
	_ = unix.Close(c.epoll)
}

// send writes a request to an idle connection, or to a new one. On a connection that is still being
// established, the request is written as soon as possible; its time begins when send is called.
func (c *client) send(r *request) {
	var w *conversation
	if n := len(c.idle); n > 0 && !r.fresh && c.opened >= c.plan.connections {
		w, c.idle = c.idle[0], c.idle[1:]
	} else if w = c.dial(); w == nil {
		c.failed++
		return
	}
	w.of, w.sent = r, time.Now()
	c.waiting[w.fd] = w
	if s := c.plan.speech; s != nil && !w.greeted {
		w.rest = s.hello
		w.write()
		return
	}
	c.ask(w)
}

// ask writes the request of a conversation.
func (c *client) ask(w *conversation) {
	w.rest, w.reading, w.greeted = w.of.bytes, w.reading[:0], true
	if s := c.plan.speech; s != nil {
		w.rest = s.next(w.asked)
	}
	w.asked++
	w.write()
}

func (c *client) dial() *conversation {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) // so that no port remains in use
	if err := unix.Connect(fd, c.addr); err != nil && err != unix.EINPROGRESS {
		_ = unix.Close(fd)
		return nil
	}
	c.opened++
	_ = unix.EpollCtl(c.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLET, Fd: int32(fd)})
	return &conversation{fd: fd}
}

// write writes as much of a request as possible. An event signals when to continue.
func (w *conversation) write() {
	for len(w.rest) > 0 {
		n, err := unix.Write(w.fd, w.rest)
		if err != nil {
			return
		}
		w.rest = w.rest[n:]
	}
}

// receive reads the available data.
func (c *client) receive(w *conversation) {
	w.write()
	var room [64 << 10]byte
	var control [128]byte
	for {
		n, controls, _, _, err := unix.Recvmsg(w.fd, room[:], control[:], unix.MSG_DONTWAIT)
		switch {
		case err == unix.EAGAIN || err == unix.EINTR:
			return
		case err != nil || n == 0:
			c.done(w, time.Now(), false)
			return
		}
		w.reading = append(w.reading, room[:n]...)
		whole, s := isWhole, c.plan.speech
		if s != nil {
			whole = s.whole
		}
		if s != nil && !w.greeted {
			if s.greeted(w.reading) {
				c.ask(w)
			}
		} else if whole(w.reading) {
			c.done(w, arrival(control[:controls]), true)
			return
		}
	}
}

// arrival returns the kernel timestamp in control messages.
func arrival(control []byte) time.Time {
	messages, _ := unix.ParseSocketControlMessage(control)
	for _, m := range messages {
		if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) >= 16 {
			return time.Unix(int64(binary.NativeEndian.Uint64(m.Data)), int64(binary.NativeEndian.Uint64(m.Data[8:])))
		}
	}
	return time.Now()
}

// isWhole reports whether a reply is complete according to its Content-Length.
func isWhole(reply []byte) bool {
	head, body, ok := bytes.Cut(reply, []byte("\r\n\r\n"))
	if !ok {
		return false
	}
	_, length, ok := bytes.Cut(head, []byte("Content-Length: "))
	if !ok {
		return true
	}
	length, _, _ = bytes.Cut(length, []byte("\r\n"))
	n, err := strconv.Atoi(string(length))
	return err == nil && len(body) >= n
}

// done records a reply, or the end of the wait for it.
func (c *client) done(w *conversation, at time.Time, ok bool) {
	delete(c.waiting, w.fd)
	c.timings = append(c.timings, timing{w.of, w.sent, at.Sub(w.sent) - w.of.declared})
	if !ok {
		c.failed++
	}
	if ok && !w.of.fresh {
		c.idle = append(c.idle, w)
		return
	}
	_ = unix.Close(w.fd)
}

// between returns, for each kind of request, how much later than declared the replies to requests
// sent between two times were.
func (c *client) between(from, to time.Time) map[*request][]time.Duration {
	all := map[*request][]time.Duration{}
	for _, t := range c.timings {
		if !t.sent.Before(from) && t.sent.Before(to) {
			all[t.of] = append(all[t.of], t.over)
		}
	}
	return all
}

// p99 returns the longest 99th percentile of all kinds.
func p99(kinds map[*request][]time.Duration) (worst time.Duration) {
	for _, all := range kinds {
		worst = max(worst, p99Of(all))
	}
	return worst
}

func p99Of(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[(len(all)*99+99)/100-1]
}

// surely reports whether the 99th percentile of a kind is above a limit by more than chance
// explains: one slow request among a few says little about the percentile.
func surely(kinds map[*request][]time.Duration, limit time.Duration) bool {
	for _, all := range kinds {
		over := 0
		for _, d := range all {
			if d > limit {
				over++
			}
		}
		expected := float64(len(all)) / 100
		if float64(over) > expected+3*math.Sqrt(expected)+1 {
			return true
		}
	}
	return false
}

// clientCPU returns the last CPU; the server uses the others.
func clientCPU() int { return runtime.NumCPU() - 1 }

// pin makes a thread, or the calling one if thread is 0, run on one CPU.
func pin(thread, cpu int) {
	var set unix.CPUSet
	set.Set(cpu)
	_ = unix.SchedSetaffinity(thread, &set) // if it fails, the figures are noisier
}
