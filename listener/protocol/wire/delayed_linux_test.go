package wire

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// delaying is a Handler whose replies are delayed by the duration in the target: the target. over gets
// the result of each wait.
type delaying struct {
	stub
	over chan string
}

func (h delaying) Answer(c *Connection, p *Plain) (Later, error) {
	return &delayedOne{delaying: h, c: c, target: string(p.Target)}, nil
}

type delayedOne struct {
	delaying
	c      *Connection
	target string
	due    time.Time
	pieces int // that were sent
}

func (d *delayedOne) Serve() (last bool, err error) {
	if !d.c.known {
		panic("its memory might be used again while the pacer knows it")
	}
	length, err := time.ParseDuration(strings.TrimLeft(d.target, "/+"))
	if !d.c.MayDelay() || err != nil {
		d.over <- "it cannot be delayed"
	}
	d.due = time.Now().Add(length)
	d.c.Delay(d, d.due)
	return false, nil
}

// largeReply is more than is written at once, and more than a socket takes.
const largeReply = 8 << 20

func (d *delayedOne) Continue(b []byte, left bool) (reply []byte, next time.Time, last bool) {
	switch {
	case left:
		d.over <- "left"
		return b, next, false
	case time.Now().Before(d.due):
		return b, d.due, false
	case d.target[1] == '+' && d.pieces < 3: // a stream
		d.pieces++
		d.due = d.due.Add(time.Millisecond)
		if d.target == "/+2us" {
			b = append(b, strings.Repeat("y", largeReply)...)
		}
		return append(b, '0'+byte(d.pieces)), d.due, false
	default:
		d.over <- "due"
	}
	if b = append(b, d.target...); d.target == "/1us" {
		b = append(b, strings.Repeat("x", largeReply)...)
	}
	return b, next, d.target == "/2ms"
}

func ask(target, more string) string {
	return "GET " + target + " HTTP/1.1\r\nHost: a\r\n" + more + "\r\n"
}

// A delayed reply is sent when it is due, and ends once, whatever its client does meanwhile. The
// connection serves other requests afterwards.
func TestDelayed(t *testing.T) {
	hour := ask("/1h", "")
	for name, c := range map[string]struct {
		sent string
		then func(p *parking, conn *net.TCPConn) // once the connection is parked; nil for nothing
		want string                              // what arrives
		over string
	}{
		"it is due":                         {sent: ask("/1ms", ""), want: "/1ms", over: "due"},
		"the server says that it ends":      {sent: ask("/2ms", ""), want: "/2ms", over: "due"},
		"the client says that it ends":      {sent: ask("/3ms", "Connection: close\r\n"), want: "/3ms", over: "due"},
		"it was due before it waited":       {sent: ask("/-1s", ""), want: "/-1s", over: "due"},
		"the socket takes a part":           {sent: ask("/1us", ""), want: "/1us" + strings.Repeat("x", largeReply), over: "due"},
		"a stream":                          {sent: ask("/+1ms", ""), want: "123/+1ms", over: "due"},
		"a stream, and the client ends it":  {sent: ask("/+1ms", "Connection: close\r\n"), want: "123/+1ms", over: "due"},
		"the socket takes parts of it":      {sent: ask("/+2us", ""), want: strings.Repeat("y", largeReply) + "1" + strings.Repeat("y", largeReply) + "2" + strings.Repeat("y", largeReply) + "3/+2us", over: "due"},
		"the client leaves in a stream":     {sent: ask("/+1h", ""), then: func(_ *parking, conn *net.TCPConn) { _ = conn.Close() }, over: "left"},
		"a request in a stream":             {sent: ask("/+300ms", ""), then: func(_ *parking, conn *net.TCPConn) { _, _ = io.WriteString(conn, ask("/+4ms", "")) }, want: "123/+300ms123/+4ms", over: "due due"},
		"the client leaves":                 {sent: hour, then: func(_ *parking, conn *net.TCPConn) { _ = conn.Close() }, over: "left"},
		"the client resets it":              {sent: hour, then: func(_ *parking, conn *net.TCPConn) { _ = conn.SetLinger(0); _ = conn.Close() }, over: "left"},
		"the client sends no more":          {sent: hour, then: func(_ *parking, conn *net.TCPConn) { _ = conn.CloseWrite() }, over: "left"},
		"the client sends and leaves":       {sent: hour, then: func(_ *parking, conn *net.TCPConn) { _, _ = io.WriteString(conn, hour); _ = conn.Close() }, over: "left"},
		"the server is closed":              {sent: hour, then: func(p *parking, _ *net.TCPConn) { p.CloseAll() }, over: "left"},
		"the client ends, and waits for it": {sent: ask("/300ms", "Connection: close\r\n"), then: func(_ *parking, conn *net.TCPConn) { _ = conn.CloseWrite() }, want: "/300ms", over: "due"},
		"the client sends another request":  {sent: ask("/300ms", ""), then: func(_ *parking, conn *net.TCPConn) { _, _ = io.WriteString(conn, ask("/4ms", "")) }, want: "/300ms/4ms", over: "due due"},
		"its time is limited": {sent: ask("/300ms", ""), then: func(p *parking, _ *net.TCPConn) {
			p.lot.Limit(&p.all()[0].place.Entry, 0)
			p.lot.Expire()
		}, want: "/300ms", over: "due"},
		"the server stops": {sent: ask("/300ms", ""), then: func(p *parking, _ *net.TCPConn) { _ = p.End(time.Hour); p.ExpireIdle() }, want: "/300ms", over: "due"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := delaying{over: make(chan string, 10)}
			p := parksBy(t, h)
			conn, in, served := p.client(t)
			_, err := io.WriteString(conn, c.sent)
			must(t, err)
			if c.then != nil {
				served.becomes(t, isDelayed)
				c.then(p, conn.(*net.TCPConn))
			}
			b := make([]byte, len(c.want))
			if _, err := io.ReadFull(in, b); err != nil || string(b) != c.want {
				t.Errorf("got %.100q, %v", b, err)
			}
			for _, want := range strings.Fields(c.over) {
				if got := <-h.over; got != want {
					t.Errorf("it is over: %s, want %s", got, want)
				}
			}
			if c.over == "left" && len(b) == 0 {
				nothingMore(t, in)
			}
			if strings.Contains(c.sent+c.want, "/2ms") || strings.Contains(c.sent, "close") {
				nothingMore(t, in)
			} else if c.over != "left" && name != "the server stops" {
				served.becomes(t, isParked)
				asksFor(t, conn, in)
				if got := <-h.over; got != "due" {
					t.Errorf("the next one is over: %s", got)
				}
			}
			_ = p.End(0)
			p.CloseAll()
			p.Drain()
			p.serving.Wait()
			if n := len(h.over); n > 0 {
				t.Errorf("it was over %d times more", n)
			}
		})
	}
}

// A drain waits until a goroutine has the connection of the last reply.
func TestDelayed_IsDrained(t *testing.T) {
	p := parksBy(t, delaying{over: make(chan string, 1)})
	conn, in, served := p.client(t)
	_, err := io.WriteString(conn, ask("/100ms", "Connection: close\r\n"))
	must(t, err)
	served.becomes(t, isDelayed)
	drained := make(chan bool)
	go func() {
		_ = p.End(0)
		p.Drain()
		close(drained)
	}()
	resuming := func() {
		select {
		case <-drained:
			t.Error("the server has stopped before")
		case <-time.After(10 * time.Millisecond):
		}
	}
	p.resuming.Store(&resuming)
	b, err := io.ReadAll(in)
	if <-drained; string(b) != "/100ms" || err != nil {
		t.Errorf("got %q, %v", b, err)
	}
}

func asksFor(t *testing.T, conn io.Writer, in *bufio.Reader) {
	t.Helper()
	_, err := io.WriteString(conn, ask("/5ms", ""))
	must(t, err)
	b := make([]byte, len("/5ms"))
	if _, err := io.ReadFull(in, b); err != nil || string(b) != "/5ms" {
		t.Errorf("the next reply is %q, %v", b, err)
	}
}

// nothingMore reads until the connection ends; a client that has closed it cannot read.
func nothingMore(t *testing.T, in *bufio.Reader) {
	t.Helper()
	if rest, _ := io.ReadAll(in); len(rest) > 0 {
		t.Errorf("got %.100q, want nothing", rest)
	}
}

// Requests one after another over some connections are answered once each, in time, whoever has the
// connection when they are due, also when descriptors are closed and reused meanwhile.
func TestDelayed_ManyInTurn(t *testing.T) {
	h := delaying{over: make(chan string, 1<<16)}
	p := parksBy(t, h)
	done := make(chan error)
	const clients, requests = 8, 100
	for i := range clients {
		go func() {
			done <- func() error {
				var conn net.Conn
				for n := range requests {
					if n%10 == 0 {
						if conn != nil {
							if _, err := io.WriteString(conn, ask("/1h", "")); err != nil {
								return err
							}
							_ = conn.Close()
						}
						var err error
						if conn, err = net.Dial("tcp", p.Addr().String()); err != nil {
							return err
						}
						defer conn.Close()
					}
					target := []string{"/1ms", "/100us", "/7ms"}[(n+i)%3]
					if _, err := io.WriteString(conn, ask(target, "")); err != nil {
						return err
					}
					b := make([]byte, len(target))
					if _, err := io.ReadFull(conn, b); err != nil || string(b) != target {
						t.Errorf("got %q, want %q", b, target)
						return err
					}
				}
				return nil
			}()
		}()
	}
	for range clients {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	count := map[string]int{}
	for range clients * (requests + requests/10 - 1) {
		count[<-h.over]++
	}
	if count["due"] != clients*requests || len(count) != 2 || len(h.over) > 0 {
		t.Errorf("they were over: %v, and %d more", count, len(h.over))
	}
}

// prompting is a Handler whose replies are delayed, and continue early because Prompt is called before the
// connection is parked.
type prompting struct{ stub }

func (prompting) Answer(c *Connection, _ *Plain) (Later, error) { return prompted{c}, nil }

type prompted struct{ c *Connection }

func (d prompted) Serve() (last bool, err error) {
	d.c.Delay(d, time.Now().Add(time.Hour))
	d.c.from.Prompt()
	return false, nil
}

func (d prompted) Continue(b []byte, _ bool) (reply []byte, next time.Time, last bool) {
	return append(b, answered...), next, true
}

func TestDelayed_PromptedBeforeItIsParked(t *testing.T) {
	p := parksBy(t, prompting{})
	conn, in, _ := p.client(t)
	_, err := io.WriteString(conn, whole)
	must(t, err)
	if got, err := io.ReadAll(in); err != nil || string(got) != answered {
		t.Errorf("got %q, %v", got, err)
	}
}

// watched is a socket that reports whether its connection could be parked while Wake interrupts it.
type watched struct {
	net.Conn
	c    *Connection
	free bool
}

func (w *watched) SetReadDeadline(time.Time) error {
	if w.free = w.c.delay.mu.TryLock(); w.free {
		w.c.delay.mu.Unlock()
	}
	return nil
}

// A connection is parked before Prompt looks at it, or after it was woken, but not in between.
func TestDelayed_NotParkedWhileItIsPrompted(t *testing.T) {
	w := &watched{free: true}
	w.c = &Connection{Conn: w, pausing: pausing{reads: true}}
	(&Connections{open: []*Connection{w.c}}).Prompt()
	if w.free {
		t.Error("it could be parked after Prompt had found it busy, and before it was woken")
	}
}
