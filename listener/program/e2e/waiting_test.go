//go:build linux && measure

// The program with many requests that wait for their latency: make waiting.

package e2e_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"golang.org/x/sys/unix"

	"mockserver/internal/harness"
)

// How late responses are is measured with the time at which the kernel received them, so it does not
// depend on when the client gets the processor. The request is counted from before it is sent.
//
// With MOCKSERVER_BEFORE=FILE, another build of the program is measured at the same time. The other
// variables set the number of waiting requests and for how long they are sent.
func TestWaiting_HTTP1(t *testing.T) { measureWaiting(t, 1, 0) }
func TestWaiting_HTTP2(t *testing.T) { measureWaiting(t, 2, 100) }

func measureWaiting(t *testing.T, protocol, streams int) {
	NeedsProcess(t)
	waiting := setting("MOCKSERVER_WAITING", 10000)
	length := time.Duration(setting("MOCKSERVER_SECONDS", 20)) * time.Second
	latency := time.Second * time.Duration(max(waiting, 10000)) / 10000 // at most 10,000 responses a second
	connections := waiting / max(streams, 1)
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", fmt.Sprintf("- endpoint: {path: /late, latency: {min: %v, max: %[1]v}, response: {body: late}}\n", latency))
	sides := []*side{{name: "now", p: Start(t, "-c", file)}}
	if before := os.Getenv("MOCKSERVER_BEFORE"); before != "" {
		p := LaunchCommand(t, exec.Command(before, "-c", file), t.TempDir(), nil)
		sides = append(sides, &side{name: "before", p: p.Listening()})
	}
	ring, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(ring)
	l := &waitingClient{t: t, ring: ring, latency: latency, streams: max(streams, 1), protocol: protocol, sides: sides}
	for _, s := range sides {
		s.idle = s.p.Usage().RSS
	}
	for range connections { // in turn, so that neither side has an advantage
		for _, s := range sides {
			l.connect(s)
		}
	}
	l.run(latency+warmUp, length)
	fmt.Printf("HTTP/%d: %d waiting over %d connections\n%8s %9s %9s %9s %9s %9s %9s %12s %8s %9s\n", protocol, waiting, connections,
		"", "p50", "p99", "p99.9", "p99.99", "max", "responses", "CPU each", "RSS", "KiB each")
	for _, s := range sides {
		slices.Sort(s.late)
		at := func(part float64) time.Duration {
			return s.late[min(int(part*float64(len(s.late))), len(s.late)-1)].Round(time.Microsecond)
		}
		fmt.Printf("%8s %9v %9v %9v %9v %9v %9d %9.1f µs %8d %9.1f\n", s.name, at(0.5), at(0.99), at(0.999), at(0.9999), at(1), len(s.late),
			float64(s.spent.Microseconds())/float64(len(s.late)), s.full, float64(s.full-s.idle)/float64(waiting))
	}
}

func setting(name string, otherwise int) int {
	n, _ := strconv.Atoi(os.Getenv(name))
	return cmp.Or(n, otherwise)
}

// side is a program that is measured.
type side struct {
	name       string
	p          *Process
	idle, full int // memory in KiB, before the load and during it
	late       []time.Duration
	spent      time.Duration
}

// cpu returns the CPU time that the program has used.
func (s *side) cpu() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.p.pid()))
	if err != nil {
		s.p.T.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / 100
}

// waitingClient is a client of one thread.
type waitingClient struct {
	t                 *testing.T
	ring              int
	latency           time.Duration // what the requests wait for
	streams, protocol int
	sides             []*side
	all               []*waitingConn // by descriptor
	order             []int          // the descriptors
	from              time.Time      // when measuring begins
	once              bool           // a response is not followed by another request
	in, control       [64 << 10]byte
	out               []byte
}

// waitingConn is a connection of the client.
type waitingConn struct {
	side *side
	fd   int
	held []byte      // the beginning of a frame
	next uint32      // the next stream
	sent []time.Time // by number of the stream, modulo twice their number
}

func (l *waitingClient) connect(s *side) {
	address := strings.TrimPrefix(s.p.URL, "http://")
	port, _ := strconv.Atoi(address[strings.LastIndexByte(address, ':')+1:])
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	}
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	}
	if err == nil {
		err = unix.EpollCtl(l.ring, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)})
	}
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = unix.Close(fd) })
	for fd >= len(l.all) {
		l.all = append(l.all, nil)
	}
	l.order = append(l.order, fd)
	l.all[fd] = &waitingConn{side: s, fd: fd, next: 1, sent: make([]time.Time, 2*l.streams)}
	if l.protocol == 2 {
		var b bytes.Buffer
		b.WriteString(http2.ClientPreface)
		f := http2.NewFramer(&b, nil)
		_ = f.WriteSettings()
		_ = f.WriteWindowUpdate(0, 1<<30)
		l.write(l.all[fd], b.Bytes())
	}
}

// write sends b, which is short enough for an empty socket.
func (l *waitingClient) write(c *waitingConn, b []byte) {
	if n, err := unix.Write(c.fd, b); n != len(b) {
		l.t.Fatalf("%d of %d bytes were sent: %v", n, len(b), err)
	}
}

// run sends requests for the given times, and measures during the second one.
func (l *waitingClient) run(warm, length time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begun := time.Now()
	l.from = begun.Add(warm)
	var events [256]unix.EpollEvent
	for measuring, asked := false, 0; time.Since(begun) < warm+length; {
		wait := 1
		for due := int(min(time.Since(begun), l.latency) * time.Duration(len(l.order)*l.streams) / l.latency); asked < due; asked++ {
			l.ask(l.all[l.order[asked%len(l.order)]], 1)
			wait = 0
		}
		if !measuring && !time.Now().Before(l.from) {
			measuring = true
			for _, s := range l.sides {
				s.spent, s.full = -s.cpu(), s.p.Usage().RSS
			}
		}
		n, err := unix.EpollWait(l.ring, events[:], wait)
		if err != nil && err != unix.EINTR {
			l.t.Fatal(err)
		}
		for _, e := range events[:max(n, 0)] {
			l.receive(l.all[e.Fd])
		}
	}
	for _, s := range l.sides {
		s.spent += s.cpu()
	}
}

// ask sends n requests.
func (l *waitingClient) ask(c *waitingConn, n int) {
	if l.protocol == 1 {
		c.sent[0] = time.Now()
		l.write(c, []byte("GET /late HTTP/1.1\r\nHost: a\r\n\r\n"))
		return
	}
	l.out = l.out[:0]
	now := time.Now()
	for range n {
		c.sent[int(c.next/2)%len(c.sent)] = now
		l.out = append(l.out, 0, 0, byte(len(headerBlock)), byte(http2.FrameHeaders), byte(http2.FlagHeadersEndStream|http2.FlagHeadersEndHeaders))
		l.out = append(binary.BigEndian.AppendUint32(l.out, c.next), headerBlock...)
		c.next += 2
	}
	l.write(c, l.out)
}

// headerBlock is that of each request over HTTP/2.
var headerBlock = func() []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	encoder.SetMaxDynamicTableSize(0)
	for _, f := range []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"}, {Name: ":path", Value: "/late"}, {Name: ":authority", Value: "a"}} {
		_ = encoder.WriteField(f) // writing to memory does not fail
	}
	return block.Bytes()
}()

// receive reads what has arrived, notes how late it is, and sends as many requests as there were
// responses.
func (l *waitingClient) receive(c *waitingConn) {
	n, oobn, _, _, err := unix.Recvmsg(c.fd, l.in[:], l.control[:], 0)
	if err == unix.EAGAIN {
		return
	}
	if err != nil || n == 0 {
		l.t.Fatalf("a connection ended: %v", err)
	}
	messages, err := unix.ParseSocketControlMessage(l.control[:oobn])
	if err != nil {
		l.t.Fatal(err)
	}
	at := time.Now() // the first connections have no times of arrival yet
	if len(messages) > 0 {
		data := messages[0].Data
		at = time.Unix(int64(binary.NativeEndian.Uint64(data)), int64(binary.NativeEndian.Uint64(data[8:])))
	}
	if l.protocol == 1 {
		if l.note(c, c.sent[0], at); !l.once {
			l.ask(c, 1)
		}
		return
	}
	ended := 0
	c.held = append(c.held, l.in[:n]...)
	b := c.held
	for len(b) >= 9 {
		size := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
		if len(b) < 9+size {
			break
		}
		switch kind := http2.FrameType(b[3]); {
		case kind == http2.FrameSettings && b[4] == 0:
			l.write(c, []byte{0, 0, 0, byte(http2.FrameSettings), byte(http2.FlagSettingsAck), 0, 0, 0, 0})
		case kind == http2.FrameRSTStream || kind == http2.FrameGoAway:
			l.t.Fatalf("the server sends %v", kind)
		case kind == http2.FrameData && b[4]&byte(http2.FlagDataEndStream) != 0:
			l.note(c, c.sent[int(binary.BigEndian.Uint32(b[5:])/2)%len(c.sent)], at)
			ended++
		}
		b = b[9+size:]
	}
	if c.held = append(c.held[:0], b...); ended > 0 && !l.once {
		l.ask(c, ended)
	}
}

// note notes how late a response is.
func (l *waitingClient) note(c *waitingConn, sent, at time.Time) {
	if sent.After(l.from) {
		c.side.late = append(c.side.late, at.Sub(sent.Round(0))-l.latency)
	}
}
