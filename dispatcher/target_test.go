package dispatcher

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// rawTarget is a target with the lowest possible cost: it has one goroutine for each connection,
// which only searches for the end of a request and responds with prepared bytes.
type rawTarget struct {
	net.Listener
	response []byte
	seen     func(request []byte) // called with each request; may be nil
	count    atomic.Int64
	open     atomic.Int64 // connections

	mu    sync.Mutex // guards the fields below
	conns []net.Conn
	ended sync.WaitGroup
}

const okResponse = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

func newRawTarget(t testing.TB, seen func(request []byte)) *rawTarget {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := serveRaw(l, seen)
	t.Cleanup(r.end)
	return r
}

func serveRaw(l net.Listener, seen func(request []byte)) *rawTarget {
	r := &rawTarget{Listener: l, response: []byte(okResponse), seen: seen}
	r.ended.Go(r.accept)
	return r
}

func (r *rawTarget) url() string { return "http://" + r.Addr().String() }

func (r *rawTarget) accept() {
	for {
		c, err := r.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		r.conns = append(r.conns, c)
		r.mu.Unlock()
		r.open.Add(1)
		r.ended.Go(func() {
			defer r.open.Add(-1)
			r.converse(c)
		})
	}
}

// converse responds to the requests on a connection.
func (r *rawTarget) converse(c net.Conn) {
	defer c.Close()
	room, have := make([]byte, 4<<10), 0
	for {
		for {
			n := wholeRequest(room[:have])
			if n == 0 {
				break
			}
			r.count.Add(1)
			if r.seen != nil {
				r.seen(room[:n])
			}
			have = copy(room, room[n:have])
			if _, err := c.Write(r.response); err != nil {
				return
			}
		}
		n, err := c.Read(room[have:])
		if err != nil {
			return
		}
		have += n
	}
}

// wholeRequest returns the length of the first request; 0 if it is incomplete.
func wholeRequest(b []byte) int {
	head := bytes.Index(b, []byte("\r\n\r\n"))
	if head < 0 {
		return 0
	}
	body := 0
	if _, after, ok := bytes.Cut(b[:head+2], []byte("\r\nContent-Length: ")); ok {
		digits, _, _ := bytes.Cut(after, []byte("\r"))
		body, _ = strconv.Atoi(string(digits))
	}
	if n := head + 4 + body; n <= len(b) {
		return n
	}
	return 0
}

// end closes everything and waits until all goroutines have ended.
func (r *rawTarget) end() {
	r.Close()
	r.mu.Lock()
	for _, c := range r.conns {
		c.Close()
	}
	r.mu.Unlock()
	r.ended.Wait()
}

// targetProcess in the environment makes the test binary run as a separate target, so that the cost
// of the target is not attributed to the queue.
const targetProcess = "DISPATCHER_TEST_TARGET"

func TestMain(m *testing.M) {
	if os.Getenv(targetProcess) == "" {
		os.Exit(m.Run())
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	r := serveRaw(l, nil)
	fmt.Println(r.url())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); { // until the parent exits
		fmt.Println(r.count.Load())
	}
}

// remoteTarget is a raw target in a separate process.
type remoteTarget struct {
	url string
	in  io.WriteCloser
	out *bufio.Scanner
}

func newRemoteTarget(b *testing.B) *remoteTarget {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), targetProcess+"=1")
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		c.Wait()
	})
	r := &remoteTarget{in: in, out: bufio.NewScanner(out)}
	r.url = r.line(b)
	return r
}

func (r *remoteTarget) line(b *testing.B) string {
	b.Helper()
	if !r.out.Scan() {
		b.Fatal("the target prints nothing: ", r.out.Err())
	}
	return strings.TrimSpace(r.out.Text())
}

// count returns how many requests the target has answered.
func (r *remoteTarget) count(b *testing.B) int {
	b.Helper()
	if _, err := io.WriteString(r.in, "count\n"); err != nil {
		b.Fatal(err)
	}
	n, err := strconv.Atoi(r.line(b))
	if err != nil {
		b.Fatal(err)
	}
	return n
}
