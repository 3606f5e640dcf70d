package listener_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"go.uber.org/goleak"

	"mockserver/config"
	"mockserver/config/syntax"
	"mockserver/internal/harness"
	"mockserver/listener"
)

// theDate ignores the one goroutine that keeps running: in it, fasthttp updates the Date of its
// answers. The process has one such goroutine, which starts with the first answer and never stops.
// The goroutines that run at the beginning belong to ants, which starts a pool when it is imported.
var theDate = goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1")

func TestMain(m *testing.M) {
	moreAtOnce(3)
	goleak.VerifyTestMain(m, theDate, goleak.IgnoreCurrent())
}

// start starts a server that the test stops itself.
func start(t *testing.T, spec *config.Spec, opts listener.Options) *listener.Server {
	t.Helper()
	server, err := listener.Start(spec, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() }) // the test has checked its error
	return server
}

// nothingLeft fails the test if a goroutine runs that did not run before.
func nothingLeft(t *testing.T) {
	t.Helper()
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		goleak.VerifyNone(t, theDate, before)
	})
}

// dial opens a connection and sends a text over it.
func dial(t *testing.T, server *listener.Server, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // the server has closed it
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// response reads one answer from a connection.
func response(t *testing.T, conn net.Conn) string {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// closed fails the test unless the server has closed a connection.
func closed(t *testing.T, name string, conn net.Conn) {
	t.Helper()
	if b, err := io.ReadAll(conn); len(b) > 0 || err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%s: got %q, %v, want it closed", name, b, err)
	}
}

const request = "GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"

// stuck is a remote server whose answers never arrive.
type stuck struct {
	*httptest.Server
	reached chan struct{} // receives one value for each request
}

func newStuck(t *testing.T) *stuck {
	s := &stuck{reached: make(chan struct{}, 100)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		s.reached <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	return s
}

// spec returns a configuration whose answers wait for the remote server.
func (s *stuck) spec() *config.Spec {
	return config.New(config.Endpoint{
		Path:     "/hello",
		Response: config.Response{External: &config.ExternalBody{Provider: "json", Path: s.URL, Timeout: time.Hour}},
	})
}

func TestShutdown_ClosesConnectionsThatWaitAndLeavesNothing(t *testing.T) {
	nothingLeft(t)
	server := start(t, hello("one"), listener.Options{})
	idle := dial(t, server, request)
	if got := response(t, idle); got != "one" {
		t.Fatalf("got %q", got)
	}
	silent := dial(t, server, "")
	get(t, server.URL()+"/hello") // leaves a connection in the client's pool
	if err := server.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	closed(t, "the idle connection", idle)
	closed(t, "the silent connection", silent)
	if _, err := net.Dial("tcp", server.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v, want a refused connection", err)
	}
}

// A connection that is idle when the server stops has one more request answered, whichever path
// answers it and however long the connection was idle. The answer says that the connection closes.
func TestShutdown_AnIdleConnectionHasItsLastRequestServed(t *testing.T) {
	nothingLeft(t)
	spec := config.New(
		config.Endpoint{Path: "/hello", Response: config.Response{Body: "one"}},
		config.Endpoint{Path: "/made", Response: config.Response{Body: "{{path}}"}},
	)
	server := start(t, spec, listener.Options{LastCall: time.Hour})
	var idle []net.Conn
	for range 8 {
		conn := dial(t, server, request)
		if got := response(t, conn); got != "one" {
			t.Fatalf("got %q", got)
		}
		idle = append(idle, conn)
	}
	silent := dial(t, server, "")
	stopped := make(chan error, 1)
	go func() { stopped <- server.Shutdown(context.Background()) }()
	for { // until the server has begun to stop
		if err := server.Apply(spec); errors.Is(err, listener.ErrStopped) {
			break
		}
	}
	for i, conn := range append(idle, silent) {
		path, want := "/hello", "one"
		if i%2 == 1 {
			path, want = "/made", "/made"
		}
		if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil || string(b) != want || !resp.Close {
			t.Errorf("connection %d: got %q, %v, with Connection: close %v; want %q", i, b, err, resp.Close, want)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestShutdown_WithAnEndedContext(t *testing.T) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	t.Run("without requests in flight", func(t *testing.T) {
		nothingLeft(t)
		server := start(t, hello("one"), listener.Options{})
		idle := dial(t, server, request)
		response(t, idle)
		if err := server.Shutdown(ended); err != nil {
			t.Errorf("got %v, want no error: nothing was cut off", err)
		}
		closed(t, "the idle connection", idle)
	})
	t.Run("with requests in flight", func(t *testing.T) {
		nothingLeft(t)
		remote := newStuck(t)
		server := start(t, remote.spec(), listener.Options{})
		one, two := dial(t, server, request), dial(t, server, request)
		<-remote.reached // both requests share one fetch
		half := dial(t, server, "GET /hello HTTP/1.1\r\nHos")
		err := server.Shutdown(ended)
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "cut off: context canceled") {
			t.Errorf("got %v, want requests cut off", err)
		}
		closed(t, "a request in flight", one)
		closed(t, "another", two)
		closed(t, "half a request", half)
		if err := server.Close(); err != nil {
			t.Errorf("closing it again: %v", err)
		}
	})
}

// A request in flight is answered, and its connection is closed afterwards.
func TestShutdown_WaitsForRequestsInFlight(t *testing.T) {
	nothingLeft(t)
	reached, release := make(chan struct{}), make(chan struct{})
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(reached)
		<-release
		fmt.Fprint(w, `"late"`)
	}))
	defer remote.Close()
	server := start(t, (&stuck{Server: remote}).spec(), listener.Options{})
	conn := dial(t, server, request)
	<-reached
	stopped := make(chan error, 3)
	for range cap(stopped) {
		go func() { stopped <- server.Shutdown(context.Background()) }()
	}
	for { // until the server has begun to stop
		if err := server.Apply(hello("two")); errors.Is(err, listener.ErrStopped) {
			break
		}
	}
	select {
	case err := <-stopped:
		t.Errorf("the server has stopped with %v although a request is in flight", err)
	case <-server.Done():
		t.Error("Done is closed although a request is in flight")
	default:
	}
	close(release)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); string(body) != `"late"` || err != nil || !resp.Close {
		t.Errorf("got %q, %v, with Connection: close %v", body, err, resp.Close)
	}
	_ = conn.Close() // the server waits for that
	for range cap(stopped) {
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	}
	<-server.Done()
	if err := server.Err(); err != nil {
		t.Error(err)
	}
}

// A request that is pipelined after the last answered one gets no answer, and does not make the
// client's system discard the answers already sent.
func TestShutdown_TheLastReplyReachesAClientThatSendsOn(t *testing.T) {
	nothingLeft(t)
	reached, release := make(chan struct{}), make(chan struct{})
	text := `"` + strings.Repeat("x", 16<<20) + `"` // more than the network buffers of the system hold
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(reached)
		<-release
		fmt.Fprint(w, text)
	}))
	defer remote.Close()
	server := start(t, (&stuck{Server: remote}).spec(), listener.Options{})
	conn := dial(t, server, request)
	<-reached
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Shutdown(context.Background()) }()
	for { // until the server has begun to stop
		if err := server.Apply(hello("two")); errors.Is(err, listener.ErrStopped) {
			break
		}
	}
	close(release)
	if got := response(t, conn); got != text {
		t.Errorf("got %d bytes, want %d", len(got), len(text))
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestShutdown_AnyOfItsContextsCutsOff(t *testing.T) {
	nothingLeft(t)
	remote := newStuck(t)
	server := start(t, remote.spec(), listener.Options{})
	conn := dial(t, server, request)
	<-remote.reached
	patient := make(chan error, 1)
	go func() { patient <- server.Shutdown(context.Background()) }()
	if err := server.Close(); err == nil || !strings.HasPrefix(err.Error(), "1 request was cut off") {
		t.Errorf("got %v, want one request cut off", err)
	}
	if err := <-patient; err != nil {
		t.Errorf("the patient client: %v", err)
	}
	closed(t, "the request in flight", conn)
}

func TestApply_AfterShutdownIsRefused(t *testing.T) {
	server := start(t, hello("one"), listener.Options{})
	if err := server.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := server.Apply(hello("two")); !errors.Is(err, listener.ErrStopped) {
		t.Errorf("got %v, want that the server was shut down", err)
	}
}

func TestStart_WithoutASpec(t *testing.T) {
	var problems syntax.Problems
	if _, err := listener.Start(nil, listener.Options{}); !errors.As(err, &problems) || !strings.Contains(err.Error(), "the spec is nil") {
		t.Errorf("Start: got %v", err)
	}
	server := started(t, config.New(), listener.Options{})
	if err := server.Apply(nil); !errors.As(err, &problems) {
		t.Errorf("Apply: got %v", err)
	}
	if got := listener.Check(nil, listener.Options{}); got.Err() == nil {
		t.Error("Check: found no error")
	}
	if status, body := get(t, server.URL()+"/"); status != 404 || !strings.Contains(body, "no endpoints are declared") {
		t.Errorf("a spec without endpoints: got %d %s", status, body)
	}
}

func TestStart_SaysWhichOptionIsWrong(t *testing.T) {
	for _, c := range []struct {
		opts listener.Options
		want string
	}{
		{listener.Options{Port: -1}, "options: Port is -1; "},
		{listener.Options{Port: 65536}, "options: Port is 65536; "},
		{listener.Options{MaxBody: -1}, "options: MaxBody is -1; "},
		{listener.Options{UnmatchedStatus: 199}, "options: UnmatchedStatus is 199; "},
		{listener.Options{UnmatchedStatus: 600}, "options: UnmatchedStatus is 600; "},
		{listener.Options{Host: "no such host"}, "listen on no such host:0: "},
	} {
		if _, err := listener.Start(hello("one"), c.opts); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// A Start that fails leaves nothing running, and its error can be inspected.
func TestStart_ThatFailsLeavesNothing(t *testing.T) {
	nothingLeft(t)
	server := started(t, hello("one"), listener.Options{})
	port := server.Addr().(*net.TCPAddr).Port
	var op *net.OpError
	recorded := config.Parse("a.yml", fmt.Appendf(nil, "- upstream: {name: real, url: \"http://a\", record: {to: %q}}\n"+
		"- endpoint: {path: /real, response: {proxy: real}}\n- resource: {path: /notes}\n", t.TempDir()))
	for range 2 { // the second one needs the directory again
		if _, err := listener.Start(recorded, listener.Options{Port: port}); !errors.Is(err, syscall.EADDRINUSE) || !errors.As(err, &op) {
			t.Errorf("got %v, want the system's error wrapped", err)
		}
	}
	var problems syntax.Problems
	if _, err := listener.Start(hello("{{nope}}"), listener.Options{}); !errors.As(err, &problems) {
		t.Errorf("got %v, want problems", err)
	}
}

// A server that cannot read its state does not wait for webhooks that are due later, which stay in
// their store.
func TestStart_DoesNotWaitForStoredWebhooks(t *testing.T) {
	nothingLeft(t)
	dir := t.TempDir()
	options := listener.Options{WebhookStore: filepath.Join(dir, "webhooks")}
	spec := config.Parse("a.yml", []byte(`- endpoint: {path: /a, response: {}, webhook: {url: "http://127.0.0.1:1/", sleep-time: 3600}}`))
	server := start(t, spec, options)
	_ = response(t, dial(t, server, toGet("/a")))
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	options.State = harness.WriteFile(t, dir, "state", "[]")
	if _, err := listener.Start(spec, options); err == nil || !strings.Contains(err.Error(), "state") {
		t.Errorf("got %v", err)
	}
	options.State = ""
	server = start(t, spec, options)
	if n := server.Webhooks().Restored; n != 1 {
		t.Errorf("%d webhooks are left, want 1", n)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	options.WebhookStore = "nats://ann:hidden@127.0.0.1:1"
	if _, err := listener.Start(spec, options); err == nil || err.Error() != "the webhook store is a URL; expected the name of a directory" {
		t.Errorf("a URL: %v", err)
	}
}

// Problems that are found only while compiling also name the endpoint.
func TestStart_NamesEndpointsMadeInGo(t *testing.T) {
	endpoint := func(path, condition, body string) config.Endpoint {
		return config.Endpoint{Path: path, If: condition, Response: config.Response{Body: body}}
	}
	problems := listener.Check(config.New(
		endpoint("/a/:", "", ""),
		endpoint("/b", "= 1", ""),
		endpoint("/c", "", "{{nope}}"),
		config.Endpoint{Path: "/d", Response: config.Response{Headers: config.Headers("X-A", "{{")}},
		config.Endpoint{Path: "/e", Response: config.Response{External: &config.ExternalBody{Provider: "json", Path: "nowhere.json"}}},
		config.Endpoint{Path: "/f", Response: config.Response{Status: 1, Body: "{{nope}}"}},
	), listener.Options{}).Errors()
	want := []string{
		"[0].endpoint.path: GET /a/:: ", "[1].endpoint.if: GET /b: ", "[2].endpoint.response.body: GET /c: ",
		"[3].endpoint.response.headers.X-A: GET /d: ", "[4].endpoint.response.external-body.path: GET /e: ",
		"[5].endpoint.response.status: GET /f: ", "[5].endpoint.response.body: GET /f: ",
	}
	if len(problems) != len(want) {
		t.Fatalf("got %d problems, want %d:\n%v", len(problems), len(want), problems)
	}
	for i, p := range problems {
		if !strings.HasPrefix(p.String(), want[i]) {
			t.Errorf("got %q, want %q", p, want[i])
		}
	}
	shadow := listener.Check(config.New(endpoint("/a", "", ""), endpoint("/a", "", "")), listener.Options{}).Warnings()
	if len(shadow) != 1 || !strings.HasSuffix(shadow[0].String(), "shadowed by GET /a at [0].endpoint") {
		t.Errorf("got %v, want a warning that the first shadows the second", shadow)
	}
}

func TestApply_UnderLoadLeavesNothing(t *testing.T) {
	nothingLeft(t)
	file := filepath.Join(t.TempDir(), "a.json")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"n": 0}`)
	spec := config.New(config.Endpoint{
		Path:     "/hello",
		Response: config.Response{External: &config.ExternalBody{Provider: "json", Path: file}},
	})
	var servers []*listener.Server
	for range 3 {
		servers = append(servers, start(t, spec, listener.Options{}))
	}
	var clients sync.WaitGroup
	for _, server := range servers {
		for range 3 {
			clients.Go(func() {
				for range 30 {
					resp, err := http.Get(server.URL() + "/hello")
					if err != nil {
						t.Error(err)
						return
					}
					if body, err := io.ReadAll(resp.Body); resp.StatusCode != 200 || err != nil {
						t.Errorf("got %d %s, %v", resp.StatusCode, body, err)
					}
					_ = resp.Body.Close() // it has been read to its end
				}
			})
		}
		clients.Go(func() {
			for range 20 {
				if err := server.Apply(spec); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := range 20 {
		write(fmt.Sprintf(`{"n": %d}`, n)) // the next request that needs the file reads it again
	}
	clients.Wait()
	for _, server := range servers {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// A host program's own fasthttp server keeps the buffers of its bodies, as it does without a mock
// server in the process.
func TestStart_LeavesTheSettingsOfFasthttpAlone(t *testing.T) {
	started(t, hello("one"), listener.Options{})
	const large = 1 << 20
	kept := make(chan int, 2)
	host := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		kept <- cap(ctx.Response.SwapBody(nil))
		ctx.Response.SwapBody(make([]byte, large))
	}}
	client, inner := net.Pipe()
	var serving sync.WaitGroup
	serving.Go(func() { _ = host.ServeConn(inner) }) // ends when the client closes
	in := bufio.NewReader(client)
	for range cap(kept) {
		if _, err := io.WriteString(client, request); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, resp.Body); n != large || err != nil {
			t.Fatalf("got %d bytes, %v", n, err)
		}
	}
	_ = client.Close() // closing a pipe does not fail
	serving.Wait()
	if <-kept; <-kept < large {
		t.Error("the buffer of the first answer was not kept for the second")
	}
}

// A connection that stays open does not hold the buffers of its largest request and answer.
func TestServer_GivesTheRoomOfLargeBodiesBack(t *testing.T) {
	if testing.Short() {
		t.Skip("it keeps a CPU busy for some seconds")
	}
	const connections, size = 16, 4 << 20
	server := started(t, config.New(config.Endpoint{
		Method: "POST", Path: "/hello", Response: config.Response{Body: "{{body}}"},
	}), listener.Options{})
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // empties the pools
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	text := strings.Repeat("x", size)
	var open []net.Conn
	for range connections {
		conn := dial(t, server, fmt.Sprintf("POST /hello HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", size))
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
		if got := response(t, conn); got != text {
			t.Fatalf("got %d bytes, want %d", len(got), size)
		}
		open = append(open, conn)
	}
	if more := heap() - before; more > connections*size/4 {
		t.Errorf("%d idle connections hold %d bytes", len(open), more)
	}
	runtime.KeepAlive(open)
}

// A client that has not read its response to the end when the server stops counts as cut off.
func TestShutdown_AResponseThatIsNotReadIsCutOff(t *testing.T) {
	nothingLeft(t)
	for _, body := range []string{strings.Repeat("x", 12<<20), "{{path-params.a}}" + strings.Repeat("x", 12<<20)} {
		server := start(t, config.Parse("m.yml", []byte("- endpoint: {path: '/:a', response: {body: '"+body+"'}}")), listener.Options{})
		conn := dial(t, server, toGet("/y"))
		if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil { // reads only the head
			t.Fatal(err)
		}
		if err := server.Close(); err == nil || !strings.HasPrefix(err.Error(), "1 request was cut off") {
			t.Errorf("got %v, want one request cut off", err)
		}
	}
}
