package serve

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttputil"

	"mockserver/listener/protocol/wire"
)

// many returns a configuration with n endpoints, half of them with a parameter.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		if i%2 == 0 {
			fmt.Fprintf(&b, "- endpoint: {path: /static/%d, response: {body: '{\"ok\": %d}'}}\n", i+1, i)
		} else {
			fmt.Fprintf(&b, "- endpoint: {path: '/users%d/:id', response: {body: '{\"ok\": \"{{path-params.id}}\"}'}}\n", i)
		}
	}
	return b.String()
}

const timed = `
- endpoint: {path: /static, response: {body: '{"hello": "world"}'}}
- endpoint: {path: "/users/:id", response: {body: '{"id": "{{path-params.id}}"}'}}
- endpoint: {method: POST, path: /orders, response: {body: '{"project": "{{json-params.project}}"}'}}
`

// Each benchmark measures a request and its answer over a persistent connection in memory, and
// compares it with the least that fasthttp can do: a handler that sets fixed bytes.

func BenchmarkServe_Static(b *testing.B) {
	compare(b, timed, "GET", "/static", "", `{"hello": "world"}`)
}

func BenchmarkServe_PathParameter(b *testing.B) {
	compare(b, timed, "GET", "/users/abc", "", `{"id": "abc"}`)
}

// Answering an operation of a document costs the same as sending a declared answer with the same
// content, with a parameter or as fixed bytes.
func BenchmarkServe_Operation(b *testing.B) {
	const body = `{"cat":1}`
	s := described(b, "[{endpoint: {path: '/declared/:id', response: {body: {cat: 1}}}}, {endpoint: {path: /declared, response: {body: {cat: 1}}}}]",
		endpointWith("GET", "/generated/:id", 0, ofJSON(200, "200", "", body), ofJSON(404, "404", "", "{}")),
		endpointWith("GET", "/generated", 0, ofJSON(200, "200", "", body), ofJSON(404, "404", "", "{}")))
	for _, path := range []string{"/declared/7", "/generated/7", "/declared", "/generated"} {
		b.Run(path[1:], func(b *testing.B) {
			conns := handling(s, wire.New(nil, s.Log))
			client := &repeating{request: "GET " + path + " HTTP/1.1\r\nHost: mock.test\r\nAccept: */*\r\n\r\n", left: b.N, body: body}
			_ = serveOne(s, conns.Adopt(client)) // the answers are counted
			if client.served != b.N {
				b.Errorf("got %d answers with the body %s to %d requests", client.served, body, b.N)
			}
		})
	}
}

// repeating is the connection of a client that sends one request a number of times, and counts the
// answers that have the given body. It needs no other goroutine.
type repeating struct {
	script
	request, body string
	left, served  int
}

func (r *repeating) Read(b []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	r.left--
	return copy(b, r.request), nil
}

func (r *repeating) Write(b []byte) (int, error) {
	if bytes.HasSuffix(b, []byte(r.body)) {
		r.served++
	}
	return len(b), nil
}

func BenchmarkServe_JSONField(b *testing.B) {
	compare(b, timed, "POST", "/orders", `{"id": 7, "project": "mock", "items": [1, 2, 3]}`, `{"project": "mock"}`)
}

func BenchmarkServe_1000Endpoints(b *testing.B) {
	compare(b, many(1000), "GET", "/users999/abc", "", `{"ok": "abc"}`)
}

func BenchmarkServe_10000Endpoints(b *testing.B) {
	compare(b, many(10000), "GET", "/users9999/abc", "", `{"ok": "abc"}`)
}

// compare measures one request to a server with a configuration, and to a bare handler that returns
// the same body.
func compare(b *testing.B, configuration, method, uri, body, want string) {
	s := configured(b, configuration)
	request := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: mock.test\r\nContent-Length: %d\r\n\r\n%s", method, uri, len(body), body)
	ours := func(l net.Listener) error {
		conns := handling(s, wire.New(l, s.Log))
		for {
			conn, err := conns.Accept()
			if err != nil {
				return err
			}
			go func() { _ = serveOne(s, conn) }() // the answers are checked
		}
	}
	b.Run("mockserver", func(b *testing.B) { converseOver(b, ours, request, want) })
	fixed := []byte(want)
	bare := &fasthttp.Server{NoDefaultServerHeader: true, Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.Response.Header.SetContentType(typeJSON)
		ctx.Response.SetBodyRaw(fixed)
	}}
	b.Run("bare", func(b *testing.B) { converseOver(b, bare.Serve, request, want) })
}

// converseOver sends the request repeatedly and checks every answer.
func converseOver(b *testing.B, serve func(net.Listener) error, request, want string) {
	l := fasthttputil.NewInmemoryListener()
	ended := make(chan error, 1)
	go func() { ended <- serve(l) }()
	defer func() {
		_ = l.Close() // ends serving
		<-ended
	}()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		c, err := l.Dial()
		if err != nil {
			b.Error(err)
			return
		}
		defer c.Close()
		converse(b, pb, c, []byte(request), want)
	})
}

func converse(b *testing.B, pb *testing.PB, c net.Conn, request []byte, want string) {
	in := bufio.NewReader(c)
	var resp fasthttp.Response
	for pb.Next() {
		if _, err := c.Write(request); err != nil {
			b.Error(err)
			return
		}
		if err := resp.Read(in); err != nil || string(resp.Body()) != want {
			b.Errorf("got %q, want %q: %v", resp.Body(), want, err)
			return
		}
	}
}
