package h2

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2spec reports no error in strict mode. Build it with
//
//	go -C .ci/tools build -o h2spec github.com/summerwind/h2spec/cmd/h2spec
func TestH2spec(t *testing.T) {
	program, err := exec.LookPath("h2spec")
	if err != nil {
		t.Skip("h2spec is not on the PATH")
	}
	s := serve(t, &answers{inline: true}, nil)
	host, port, _ := net.SplitHostPort(s.address)
	out, err := exec.CommandContext(t.Context(), program, "-h", host, "-p", port, "-S").CombinedOutput()
	if err != nil {
		_, failures, _ := strings.Cut(string(out), "Failures:")
		t.Errorf("%v: %s", err, failures)
	}
}

// httpClient is a client of net/http that speaks HTTP/2 from the beginning.
func httpClient(t *testing.T) *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// Header fields arrive as HTTP/1.1 lines, with the host among them, and all cookies in one line.
func TestStream_HasLines(t *testing.T) {
	s := serve(t, &answers{}, nil)
	c := s.dial(t).begin()
	c.open(1, true, "cookie", "a=1", "x", "y", "cookie", "b=2")
	for {
		f, err := c.next()
		if err != nil {
			t.Fatal(err)
		}
		headers, ok := f.(*http2.MetaHeadersFrame)
		if !ok {
			continue
		}
		for _, field := range headers.RegularFields() {
			if field.Name == "x-lines" && field.Value != `"host: a\r\nx: y\r\ncookie: a=1; b=2\r\n\r\n"` {
				t.Errorf("got %s", field.Value)
			}
		}
		return
	}
}

// Bodies of any size arrive and leave complete, many at once, whatever the sizes of the windows.
func TestBodies(t *testing.T) {
	for _, inline := range []bool{true, false} {
		s := serve(t, &answers{inline: inline}, nil)
		client := httpClient(t)
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				sent := bytes.Repeat([]byte{byte(i)}, i*i*400)
				resp, err := client.Post("http://"+s.address+"/", "text/plain", bytes.NewReader(sent))
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(resp.Body)
				if len(sent) == 0 {
					sent = []byte("hello")
				}
				if err != nil || !bytes.Equal(got, sent) {
					t.Errorf("%d bytes came back as %d: %v", len(sent), len(got), err)
				}
			})
		}
		all.Wait()
	}
}

// A body that the client has no room for waits without a goroutine, and continues when there is
// room.
func TestWindow(t *testing.T) {
	large := bytes.Repeat([]byte("0123456789"), 20_000)
	s := serve(t, &answers{inline: true, large: large}, nil)
	const waiting = 100
	before := runtime.NumGoroutine()
	c := s.dial(t).begin(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
	_ = c.WriteWindowUpdate(0, 1<<30)
	got := map[uint32][]byte{}
	read := func(until func() bool) {
		for !until() {
			f, err := c.next()
			if err != nil {
				t.Fatal(err)
			}
			if data, ok := f.(*http2.DataFrame); ok {
				got[data.StreamID] = append(got[data.StreamID], data.Data()...)
			}
		}
	}
	for i := range uint32(waiting) {
		c.get(2*i+1, "/large")
	}
	read(func() bool { return len(got) == waiting })
	if n := runtime.NumGoroutine() - before; n > waiting/10 { // the goroutines of the connection, of accepting and of the runtime
		t.Errorf("%d goroutines for %d waiting bodies", n, waiting)
	}
	_ = c.WriteWindowUpdate(1, 90)
	read(func() bool { return len(got[1]) == 100 })
	_ = c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	read(func() bool {
		return len(got[1]) == len(large) && len(got[2*waiting-1]) == len(large) && len(got[99]) == len(large)
	})
	if !bytes.Equal(got[99], large) {
		t.Error("the body differs from the one sent")
	}
}

// A window that becomes negative is respected: nothing is sent until it is positive again.
func TestWindow_Negative(t *testing.T) {
	s := serve(t, &answers{inline: true, large: make([]byte, 100)}, nil)
	c := s.dial(t).begin(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 40})
	c.get(1, "/large")
	sent := 0
	for sent < 40 {
		f, err := c.next()
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := f.(*http2.DataFrame); ok {
			sent += len(data.Data())
		}
	}
	_ = c.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10}) // the window is -30
	_ = c.WriteWindowUpdate(1, 30)
	c.get(3, "/")
	if got := c.response(3); got != "200 hello" {
		t.Fatalf("got %q", got)
	}
	_ = c.WriteWindowUpdate(1, 60)
	if got := c.response(1); got != strings.Repeat("\x00", 60) {
		t.Errorf("got %d bytes", len(got))
	}
}

// A client that resets a stream ends any wait of its request.
func TestReset(t *testing.T) {
	a := &answers{inline: true}
	s := serve(t, a, nil)
	c := s.dial(t).begin()
	c.get(1, "/wait")
	c.get(3, "/wait")
	_ = c.WriteRSTStream(1, http2.ErrCodeCancel)
	c.get(5, "/")
	if got := c.response(5); got != "200 hello" {
		t.Errorf("got %q", got)
	}
	within := time.Now().Add(time.Minute)
	for left := 0; left < 1 && time.Now().Before(within); runtime.Gosched() { // its wait ends before the others are released
		a.mu.Lock()
		left = a.left
		a.mu.Unlock()
	}
	close(a.release)
	if got := c.response(3); got != "200 hello" {
		t.Errorf("got %q", got)
	}
	_ = c.Close()
	<-s.ended
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left != 1 {
		t.Errorf("%d clients left, want 1", a.left)
	}
}

// Drain ends a connection without losing a stream, even one that is in flight.
func TestDrain(t *testing.T) {
	a := &answers{inline: true}
	s := serve(t, a, nil)
	c := s.dial(t).begin()
	c.get(1, "/wait")
	c.get(3, "/")
	if got := c.response(3); got != "200 hello" {
		t.Fatalf("got %q", got)
	}
	s.drain()
	var ids []uint32
	pinged := false
	for len(ids) < 2 {
		f, err := c.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		switch f := f.(type) {
		case *http2.GoAwayFrame:
			ids = append(ids, f.LastStreamID)
		case *http2.PingFrame:
			if pinged {
				continue
			}
			pinged = true
			c.get(5, "/wait") // it was in flight
			_ = c.WritePing(true, f.Data)
		}
	}
	if ids[0] != 1<<31-1 || ids[1] != 5 || !pinged {
		t.Errorf("got GOAWAY of %v, pinged %v", ids, pinged)
	}
	c.get(7, "/")
	if got := c.response(7); got != "reset REFUSED_STREAM" {
		t.Errorf("a stream after the last one got %q", got)
	}
	close(a.release)
	seen := map[string]bool{}
	seen[c.response(1)] = true // in any order; the other one is skipped or arrives
	if !seen["200 hello"] {
		t.Errorf("got %v", seen)
	}
	if got := c.response(9); got != "closed" {
		t.Errorf("got %q", got)
	}
	if err := <-s.ended; err != errDrained {
		t.Errorf("the connection ended with %v", err)
	}
	if n := s.CutOff(); n > 0 {
		t.Errorf("%d requests are unanswered", n)
	}
}

// drain drains all connections, as the server that accepts them does.
func (s *serving) drain() {
	s.Drain()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.nc.SetReadDeadline(past)
	}
}

// A connection that has reached its maximum age is also drained.
func TestMaxAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, ended := piped(t, func(s *Server) { s.MaxAge = time.Millisecond })
		go func() {
			c.begin()
			c.get(1, "/")
		}()
		if got := c.response(1); got != "200 hello" {
			t.Errorf("got %q", got)
		}
		if got := c.response(3); got != "closed" {
			t.Errorf("got %q", got)
		}
		if err := <-ended; err != errDrained {
			t.Errorf("the connection ended with %v", err)
		}
	})
}

// Requests that the server cuts off are counted once each: those without a response, without all of
// its body, and those that have not arrived completely.
func TestCut(t *testing.T) {
	s := serve(t, &answers{inline: true, large: make([]byte, 2*streamWindow)}, nil)
	c := s.dial(t).begin()
	for id := uint32(1); id < 10; id += 2 {
		c.get(id, "/wait")
	}
	c.open(11, false)
	c.get(13, "/wait")
	_ = c.WriteRSTStream(13, http2.ErrCodeCancel) // the client needs no response
	c.get(15, "/large")
	for sent := 0; sent < streamWindow; { // it waits for more
		f, err := c.next()
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := f.(*http2.DataFrame); ok {
			sent += len(data.Data())
		}
	}
	_ = c.WriteWindowUpdate(0, streamWindow) // of the connection
	c.get(17, "/")
	if got := c.response(17); got != "200 hello" {
		t.Fatalf("got %q", got)
	}
	s.Cut()
	s.mu.Lock()
	for conn := range s.conns {
		_ = conn.nc.Close()
	}
	s.mu.Unlock()
	<-s.ended
	if n := s.CutOff(); n != 7 {
		t.Errorf("%d requests are unanswered, want 7", n)
	}
}

// Each fault has the expected effect on the client.
func TestSpoil(t *testing.T) {
	for _, tt := range []struct{ kind, want string }{
		{Reset, "reset INTERNAL_ERROR"}, {Truncate, "200 he reset INTERNAL_ERROR"}, {Empty, ""},
	} {
		s := serve(t, &answers{inline: true, spoil: tt.kind}, nil)
		c := s.dial(t).begin()
		c.get(1, "/")
		if got := c.response(1); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.kind, got, tt.want)
		}
	}
	s := serve(t, &answers{inline: true, spoil: Malformed}, nil)
	resp, err := httpClient(t).Get("http://" + s.address)
	if err == nil {
		_, err = io.ReadAll(resp.Body)
	}
	if err == nil {
		t.Error("the client accepts a malformed response")
	}
	if err := <-s.ended; err != errFault {
		t.Errorf("the connection ended with %v", err)
	}
}

// A client that allows no dynamic table is told that none is used.
func TestNoDynamicTable(t *testing.T) {
	s := serve(t, &answers{inline: true}, nil)
	c := s.dial(t)
	c.ReadMetaHeaders = nil
	c.begin(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0})
	c.open(1, false, "content-length", "1", "expect", "100-continue") // its first block is that of the interim response
	for {
		f, err := c.next()
		if err != nil {
			t.Fatal(err)
		}
		if headers, ok := f.(*http2.HeadersFrame); ok {
			if block := headers.HeaderBlockFragment(); block[0] != 0x20 {
				t.Errorf("the block begins with %#x", block[0])
			}
			return
		}
	}
}

// Encoded fields are decoded to the same fields.
func TestAppendField(t *testing.T) {
	long := strings.Repeat("v", 40_000)
	b := AppendStatus(nil, 418)
	for _, status := range []int{200, 204, 206, 304, 400, 404, 500, 100, 999} {
		b = AppendStatus(b, status)
	}
	for _, f := range [][2]string{{"X-Own", " blank "}, {"Content-Type", "a/b"}, {"connection", "close"}, {"x-long", long}, {"Set-Cookie", ""}} {
		b = AppendField(b, f[0], f[1])
	}
	b = AppendDate(AppendLength(b, 1<<40), []byte("now"))
	fields, err := hpack.NewDecoder(0, nil).DecodeFull(b)
	var got []string
	for _, f := range fields {
		got = append(got, f.Name+"="+f.Value)
	}
	want := ":status=418 :status=200 :status=204 :status=206 :status=304 :status=400 :status=404 :status=500 :status=100 :status=999 " +
		"x-own=blank content-type=a/b x-long=" + long + " set-cookie= content-length=1099511627776 date=now"
	if strings.Join(got, " ") != want || err != nil {
		t.Errorf("got %.300s, %v", strings.Join(got, " "), err)
	}
}

// Idle connections and waiting streams take little memory; the bounds are twice what was measured.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("not with -short")
	}
	const connections, waiting = 200, 100
	a := &answers{inline: true}
	s := serve(t, a, nil)
	used := func() int {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapInuse + m.StackInuse)
	}
	var clients []*client
	for range connections {
		c := s.dial(t)
		clients = append(clients, c)
	}
	before := used()
	for _, c := range clients {
		c.begin()
		c.get(1, "/")
		if got := c.response(1); got != "200 hello" {
			t.Fatal(got)
		}
	}
	idle := (used() - before) / connections
	before = used()
	for _, c := range clients[:20] {
		for i := range uint32(waiting) {
			c.get(2*i+3, "/wait")
		}
		_ = c.WritePing(false, [8]byte{1})
		for {
			if f, err := c.ReadFrame(); err != nil {
				t.Fatal(err)
			} else if ping, ok := f.(*http2.PingFrame); ok && ping.IsAck() {
				break
			}
		}
	}
	stream := (used() - before) / (20 * waiting)
	t.Logf("an idle connection takes %d bytes with its client in this process, a waiting stream %d", idle, stream)
	if idle > 100<<10 || stream > 20<<10 {
		t.Errorf("an idle connection takes %d bytes, a waiting stream %d", idle, stream)
	}
	close(a.release)
}
