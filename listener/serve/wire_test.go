package serve

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const (
	twoHeads = "GET /a HTTP/1.1\r\nHost: a\r\nX-Long: 0123456789\r\n\r\n\r\nGET /b HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
	sized    = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n01\r\n4"
	inChunks = "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
)

// Empty lines after a request do not begin another request: the connection keeps waiting.
func TestConnection_EmptyLinesAreNoRequest(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	const first = "GET /static HTTP/1.1\r\nHost: a\r\n\r\n"
	for _, sent := range []string{first, first + "\r\n", first + "\r\n\r"} {
		synctest.Test(t, func(t *testing.T) {
			c := talk(t, s)
			defer c.Close()
			begun := time.Now()
			go func() { _, _ = io.WriteString(c, sent) }() // an error shows in the answer
			if b, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 200") {
				t.Errorf("got %q, %v", b, err)
			}
			if took := time.Since(begun); took != idleTimeout {
				t.Errorf("%q: it was closed after %v, want %v", sent, took, idleTimeout)
			}
			<-c.served
		})
	}
}

// socket is a pipe that reports, as a socket does, that it was closed.
type socket struct{ net.Conn }

func (s socket) Read(b []byte) (int, error) {
	n, err := s.Conn.Read(b)
	if errors.Is(err, io.ErrClosedPipe) {
		err = net.ErrClosed
	}
	return n, err
}

// Input that is cut off when connections are closed at the end of the grace period counts as a
// request once a part of its head has arrived, whether it is the first request or a later one.
func TestWasCutOff_CountsHeadsThatHaveBegun(t *testing.T) {
	const first = "GET /static HTTP/1.1\r\nHost: a\r\n\r\n"
	for sent, want := range map[string]int{
		"": 0, "\r\n": 0, "\r\n\r": 0, "G": 1, "\r\nGET /": 1, first: 0, first + "\r\n": 0, first + "G": 1, first + first + "\r\nGET /static HTTP/1.1\r\n": 1,
		first + slowly: 1,
	} {
		s := configured(t, timed)
		warm(t, s)
		synctest.Test(t, func(t *testing.T) {
			client, inner := net.Pipe()
			defer client.Close()
			l := generally(s, stopping())
			conn := l.Adopt(socket{inner})
			served := make(chan struct{})
			go func() {
				s.ServeConnection(conn)
				close(served)
			}()
			go func() { _, _ = io.Copy(io.Discard, client) }() // until it is closed
			_, _ = io.WriteString(client, sent)                // the server must read it, or the count is wrong
			synctest.Wait()
			got := 0
			for _, conn := range l.CloseAll() {
				<-served
				if conn.WasCutOff() {
					got++
				}
			}
			if got != want {
				t.Errorf("%q: got %d, want %d", sent, got, want)
			}
		})
	}
}

// An answer does not wait for the body of the next request.
func TestConnection_AReplyDoesNotWaitForTheNextBody(t *testing.T) {
	s := configured(t, timed)
	warm(t, s)
	const first = "GET /static HTTP/1.1\r\nHost: a\r\n\r\n"
	for _, body := range []struct{ head, first, second string }{
		{"Content-Length: 17", "", `{"item": "x-ray"}`},
		{"Content-Length: 17", `{"item"`, `: "x-ray"}`},
		{"Transfer-Encoding: chunked", "", "11\r\n" + `{"item": "x-ray"}` + "\r\n0\r\n\r\n"},
		{"Transfer-Encoding: chunked", "11\r\n" + `{"item"`, `: "x-ray"}` + "\r\n0\r\n\r\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := talk(t, s)
			r := bufio.NewReader(c)
			begun := time.Now()
			_, _ = io.WriteString(c, first+"POST /orders HTTP/1.1\r\nHost: a\r\n"+body.head+"\r\n\r\n"+body.first) // an error shows in the answers
			for i := range 2 {
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 || time.Since(begun) != 0 {
					t.Errorf("%+v: answer %d is %d after %v (%v), want 200 at once", body, i, resp.StatusCode, time.Since(begun), err)
				}
				if i == 0 {
					_, _ = io.WriteString(c, body.second)
				}
			}
			_ = c.Close() // closing a pipe does not fail
			<-c.served
		})
	}
}
