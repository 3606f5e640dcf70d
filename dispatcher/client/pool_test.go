package client

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mockserver/internal/clienttls"
)

// target starts a server that responds to each request on its connections with okResponse.
func target(t *testing.T) (url string, made, gone *atomic.Int32) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	made, gone = new(atomic.Int32), new(atomic.Int32)
	var ended sync.WaitGroup
	ended.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			made.Add(1)
			ended.Go(func() {
				defer c.Close()
				defer gone.Add(1)
				for in := bufio.NewReader(c); ; {
					if _, err := http.ReadRequest(in); err != nil {
						return
					}
					io.WriteString(c, okResponse)
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		ended.Wait() // the pool is closed before that
	})
	return "http://" + l.Addr().String(), made, gone
}

// send sends one request and returns its connection to the pool.
func send(t *testing.T, p *Pool, url string) {
	t.Helper()
	at, err := CutURL([]byte(url))
	if err != nil {
		t.Fatal(err)
	}
	x := NewExchange()
	head := Head{Method: "GET", Location: &at}
	x.Request = append(head.Append(nil), "\r\n"...)
	c, err := p.Get(string(at.AppendTarget(nil)), clienttls.Files{}, time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if status, reusable, err := x.RoundTrip(c, "GET", nil); status != 200 || !reusable || err != nil {
		t.Fatalf("status %d, reusable %v, %v", status, reusable, err)
	}
	p.Put(c)
}

// Regardless of the number of targets, only a few connections are kept: those that were used last.
func TestPool_FewAreIdle(t *testing.T) {
	const limit, targets = 8, 40
	p := NewPool(limit)
	var urls []string
	var made, gone []*atomic.Int32
	for range targets {
		url, m, g := target(t)
		urls, made, gone = append(urls, url), append(made, m), append(gone, g)
	}
	t.Cleanup(p.Close)
	sum := func(of []*atomic.Int32) (n int32) {
		for _, one := range of {
			n += one.Load()
		}
		return n
	}
	for _, url := range urls {
		send(t, p, url)
	}
	if len(p.open) != limit || len(p.idle) != limit || p.dialing != 0 {
		t.Errorf("%d open, %d targets have some, %d are being dialed; want %d, as many, none", len(p.open), len(p.idle), p.dialing, limit)
	}
	for sum(gone) < targets-limit { // limited by the timeout of the test
		runtime.Gosched()
	}
	for _, url := range urls[targets-limit:] {
		send(t, p, url)
	}
	if sum(made) != targets {
		t.Errorf("%d connections, want %d: the last %d targets still have theirs", sum(made), targets, limit)
	}
	send(t, p, urls[0])
	if sum(made) != targets+1 {
		t.Errorf("%d connections, want one more: the first target had none", sum(made))
	}
}

// Idle connections make room for new ones, so that there are never more connections than the limit.
func TestPool_IdleOnesMakeRoom(t *testing.T) {
	const most = 4
	c, all := idled(t, most, "a", "b", "c", "d")
	refusing := "http://" + closedPort(t)
	if _, err := c.Get(refusing, clienttls.Files{}, time.Now().Add(time.Minute)); err == nil {
		t.Fatal("connected to a closed port")
	}
	if len(c.open) != most-1 || c.dialing != 0 {
		t.Errorf("%d are open and %d being dialed, want %d and none: one is closed to make room", len(c.open), c.dialing, most-1)
	}
	if err := all[0].SetDeadline(time.Now()); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("the oldest returns %v, want an error that it is closed", err)
	}
	if _, err := c.Get(refusing, clienttls.Files{}, time.Now().Add(time.Minute)); err == nil || len(c.open) != most-1 {
		t.Errorf("%d are open after one that failed, want still %d, because there was room", len(c.open), most-1)
	}
	url, _, _ := target(t)
	defer c.Close() // before the target waits for its connections to be closed
	var used []*Conn
	for i := range most {
		conn, err := c.Get(url, clienttls.Files{}, time.Now().Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		if used = append(used, conn); len(c.open) != most {
			t.Errorf("%d are open with %d in use, want %d", len(c.open), i+1, most)
		}
	}
	if c.oldest() != nil {
		t.Error("one is idle while the maximum is in use")
	}
	for _, conn := range used {
		c.Put(conn)
	}
	if len(c.open) != most {
		t.Errorf("%d are open, want %d", len(c.open), most)
	}
}

// closedPort returns an address on which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// idled returns a pool with idle connections, which are pipes.
func idled(t *testing.T, most int, targets ...string) (*Pool, []*Conn) {
	t.Helper()
	c := NewPool(most)
	t.Cleanup(c.Close)
	var all []*Conn
	for _, target := range targets {
		one, other := net.Pipe()
		t.Cleanup(func() { other.Close() })
		conn := &Conn{Conn: one, plain: one, place: place{target: target}, probe: newProbe(one)}
		c.reserve()
		if err := c.enter(conn); err != nil {
			t.Fatal(err)
		}
		c.Put(conn)
		all = append(all, conn)
	}
	return c, all
}

// The lists of idle connections remain consistent, whatever is removed from them, and in whatever
// order.
func TestPool_Lists(t *testing.T) {
	c, all := idled(t, 5, "a", "b", "a", "c", "a", "b", "d")
	order := func() string { // the oldest first, followed by the number of connections of each target
		var all []*Conn
		for target, conns := range c.idle {
			for i, conn := range conns {
				if all = append(all, conn); conn.place != target || i > 0 && conn.since.Before(conns[i-1].since) {
					t.Errorf("%s at %d among those of %s", conn.place.target, i, target.target)
				}
			}
		}
		slices.SortFunc(all, func(a, b *Conn) int { return a.since.Compare(b.since) })
		var s strings.Builder
		for _, conn := range all {
			s.WriteString(conn.place.target)
		}
		if len(c.open) < s.Len() || len(all) > 0 && c.oldest() != all[0] {
			t.Errorf("%s are idle, %d open", s.String(), len(c.open))
		}
		for _, target := range []string{"a", "b", "c", "d"} {
			fmt.Fprintf(&s, " %d", len(c.idle[place{target: target}]))
		}
		return s.String()
	}
	for _, step := range []struct {
		take string
		conn *Conn
		want string
	}{
		{"", nil, "acabd 2 1 1 1"}, // two were closed because there were too many
		{"a", all[4], "acbd 1 1 1 1"},
		{"d", all[6], "acb 1 1 1 0"},
		{"d", nil, "acb 1 1 1 0"},
		{"a", all[2], "cb 0 1 1 0"},
		{"b", all[5], "c 0 0 1 0"},
		{"c", all[3], " 0 0 0 0"},
	} {
		if step.take != "" {
			if got := c.pop(place{target: step.take}); got != step.conn {
				t.Errorf("taking %s: another connection", step.take)
			}
		}
		if got := order(); got != step.want {
			t.Errorf("after taking %q: %s, want %s", step.take, got, step.want)
		}
	}
	c.Put(all[2])
	c.Put(all[5])
	all[2].since = time.Now().Add(-2 * idleTime)
	c.closeOld(idleTime)
	if got := order(); got != "b 0 1 0 0" {
		t.Errorf("after closing the old: %s", got)
	}
}
