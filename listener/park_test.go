package listener

import (
	"bufio"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A connection that waits is parked, and served again whenever something comes, in
// whatever pieces.
func TestPark_IsServedAgain(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	const sent = "POST /orders HTTP/1.1\r\nHost: a\r\nContent-Length: 17\r\n\r\n{\"project\": \"ab\"}"
	synctest.Test(t, func(t *testing.T) {
		c := talk(t, s)
		defer c.Close()
		in := bufio.NewReader(c)
		for _, cut := range []int{len(sent), 1, len(sent) - 1, 30} {
			go func() {
				_, _ = io.WriteString(c, sent[:cut]) // what it misses shows in the answer
				<-time.After(time.Second)
				_, _ = io.WriteString(c, sent[cut:])
			}()
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			if string(b) != `{"project": "ab"}` || err != nil {
				t.Errorf("cut at %d: got %q, %v", cut, b, err)
			}
			synctest.Wait()
			if n := s.http.GetOpenConnectionsCount() + 1; n != 1 { // it takes a listener for open that there is not
				t.Errorf("cut at %d: fasthttp serves %d connections behind an answer, want 1", cut, n)
			}
			<-time.After(time.Minute)
			if n := s.http.GetOpenConnectionsCount() + 1; n != 0 {
				t.Errorf("cut at %d: fasthttp still serves %d connections", cut, n)
			}
		}
	})
}

// The time that a connection may wait is the same, parked or not, and so is what
// ends it.
func TestPark_Ends(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	for _, c := range []struct {
		name string
		then func(c *conversation)
		want time.Duration // until it is closed, behind the answer
		off  time.Duration // that it may be earlier or later
	}{
		{"nothing comes", func(*conversation) {}, idleTimeout, clockTick},
		{"an empty line comes", func(c *conversation) { _, _ = io.WriteString(c, "\r\n") }, idleTimeout, clockTick},
		{"half of one comes", func(c *conversation) { _, _ = io.WriteString(c, "\r") }, idleTimeout, clockTick},
		{"a part of a head comes", func(c *conversation) { _, _ = io.WriteString(c, "G") }, time.Minute + headerTimeout, 0},
		{"the client leaves", func(c *conversation) { _ = c.Conn.(io.Closer).Close() }, time.Minute, 0},
		{"the server ends", func(c *conversation) { c.from.hurry() }, time.Minute, 0},
		{"the server is closed", func(c *conversation) { c.from.closeAll() }, time.Minute, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			conn := talk(t, s)
			defer conn.Close()
			go func() { _, _ = io.WriteString(conn, "GET /static HTTP/1.1\r\nHost: a\r\n\r\n") }() // the answer says what it misses
			resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 4096), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			begun := time.Now()
			time.AfterFunc(time.Minute, func() { c.then(conn) })
			<-conn.served
			if took := time.Since(begun); took < c.want-c.off || took > c.want+c.off {
				t.Errorf("%s: it was closed after %v, want %v", c.name, took, c.want)
			}
			if n := len(conn.from.all()); n > 0 {
				t.Errorf("%s: it is not forgotten", c.name)
			}
		})
	}
}
