package e2e_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// A client that closes its sending side after its last request is answered, and its connection is
// then closed: immediately, and not after the idle timeout, which is minutes later.
func TestConnection_AClientThatEndsWithItsLastRequest(t *testing.T) {
	t.Parallel()
	p := Serving(t, "- endpoint: {path: /fixed, response: {body: a}}\n- endpoint: {path: '/made/:id', response: {body: '{{path-params.id}}'}}\n"+
		"- endpoint: {method: POST, path: /json, response: {body: '{{json-params.a}}'}}\n- endpoint: {path: /late, response: {body: b}, latency: {min: 10ms}}\n")
	const head = " HTTP/1.1\r\nHost: a\r\n"
	for name, request := range map[string]string{
		"fixed": "GET /fixed" + head + "\r\n", "path": "GET /made/7" + head + "\r\n", "JSON": "POST /json" + head + "Content-Length: 7\r\n\r\n{\"a\":1}",
		// A client that closes its side during a latency counts as having left, unless it
		// announced its last request.
		"late": "GET /late" + head + "Connection: close\r\n\r\n", "unmatched": "GET /nowhere" + head + "\r\n", "several": strings.Repeat("GET /made/7"+head+"\r\n", 3),
	} {
		for _, replyFirst := range []bool{false, true} {
			conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(harness.Patience)) // then reading fails
			responses := bufio.NewReader(conn)
			n := strings.Count(request, " HTTP/1.1")
			_, _ = io.WriteString(conn, request) // an error shows in the answers
			if !replyFirst {
				_ = conn.(*net.TCPConn).CloseWrite()
			}
			for i := range n {
				resp, err := http.ReadResponse(responses, nil)
				if err != nil {
					t.Fatalf("%s: answer %d of %d: %v", name, i+1, n, err)
				}
				_, _ = io.Copy(io.Discard, resp.Body) // the next answer cannot be read before this body
			}
			if replyFirst {
				_ = conn.(*net.TCPConn).CloseWrite()
			}
			if rest, err := io.ReadAll(responses); len(rest) > 0 || err != nil {
				t.Errorf("%s, answered first %t: then got %q, %v, want the end", name, replyFirst, rest, err)
			}
			_ = conn.Close()
		}
	}
}
