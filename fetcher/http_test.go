package fetcher

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"
)

// remote starts a server that calls answer for every request.
func remote(t testing.TB, response http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(response)
	t.Cleanup(s.Close)
	return s
}

func TestRemoteContentIsPassedThrough(t *testing.T) {
	tests := []struct {
		name, contentType, body string
		status                  int
	}{
		{"JSON as it came, not as a template", "application/json", `{"a":  "{{nonsense}}" }`, 200},
		{"another type", "text/csv; header=present", "a,b\n", 200},
		{"a status of success that is not 200", "text/plain", "made", 201},
		{"no content", "", "", 204},
		{"a redirect to nowhere", "text/plain", "choose", 300},
		{"not modified", "", "", 304},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := remote(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != "GET" || r.UserAgent() != "mockserver" || r.Header.Get("Cookie") != "" {
					t.Errorf("request = %s with %v", r.Method, r.Header)
				}
				if tt.contentType != "" {
					w.Header().Set("Content-Type", tt.contentType)
				}
				http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			})
			s := mustSource(t, newTestLoader(t, Options{}), jsonBody(server.URL+"/x"), "")
			for range 2 { // the second would send the cookie if there were a cookie jar
				b, err := s.Body(request(t, ""))
				if err != nil || string(b.Bytes) != tt.body || b.ContentType != tt.contentType || b.Template != nil {
					t.Errorf("body = %q, %q, %v; want %q, %q", b.Bytes, b.ContentType, err, tt.body, tt.contentType)
				}
			}
		})
	}
}

func TestURLIsRenderedAndEncoded(t *testing.T) {
	var got atomic.Value
	server := remote(t, func(_ http.ResponseWriter, r *http.Request) { got.Store(r.RequestURI) })
	l := newTestLoader(t, Options{})
	for _, tt := range []struct{ name, path, query, want string }{
		{"a value in the path cannot add a segment", "/users/{{query-params.id}}/x", "id=..a%2Fadmin%3Fq", "/users/..a%2Fadmin%3Fq/x"},
		{"a value in the query cannot add a parameter", "/s?q={{query-params.id}}&z=1", "id=a%26b%3D1%23", "/s?q=a%26b%3D1%23&z=1"},
		{"a fixed URL keeps its encoding", "/a%2Fb?c=%20", "", "/a%2Fb?c=%20"},
		{"a fragment is not sent", "/a#part", "", "/a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bodyOf(t, mustSource(t, l, jsonBody(server.URL+tt.path), ""), tt.query)
			if got.Load() != tt.want {
				t.Errorf("requested %s, want %s", got.Load(), tt.want)
			}
		})
	}
}

func TestConcurrentRequestsShareOneFetch(t *testing.T) {
	const n = 50
	var fetches atomic.Int32
	release := make(chan struct{})
	server := remote(t, func(w http.ResponseWriter, _ *http.Request) {
		fetches.Add(1)
		<-release
		io.WriteString(w, "shared")
	})
	s := mustSource(t, newTestLoader(t, Options{}), jsonBody(server.URL), "")
	var done sync.WaitGroup
	var ready atomic.Int32
	for range n {
		r := request(t, "")
		done.Go(func() {
			ready.Add(1)
			if b, err := s.Body(r); err != nil || string(b.Bytes) != "shared" {
				t.Errorf("body = %q, %v", b.Bytes, err)
			}
		})
	}
	// All requests must be waiting before the remote server answers: a goroutine blocked in flight
	// appears in the goroutine profile.
	for waiting() < n {
		runtime.Gosched()
	}
	close(release)
	done.Wait()
	if got := fetches.Load(); got != 1 {
		t.Errorf("%d fetches for %d requests, want 1", got, n)
	}
	if got := bodyOf(t, s, ""); got != "shared" || fetches.Load() != 2 {
		t.Errorf("the next request = %q after %d fetches, want a second fetch", got, fetches.Load())
	}
}

// waiting returns the number of goroutines that are blocked in flight.
func waiting() int {
	buf := make([]byte, 1<<20)
	n := 0
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "[chan receive") && strings.Contains(g, "fetcher.(*Source).flight(") {
			n++
		}
	}
	return n
}

func TestTimeout(t *testing.T) {
	hold := make(chan struct{})
	server := remote(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			io.WriteString(w, "half")
			http.NewResponseController(w).Flush()
		}
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	})
	defer close(hold)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts in the kernel, and never sends anything
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, tt := range []struct{ name, url string }{
		{"while the headers are awaited", server.URL + "/headers"},
		{"in the middle of the body", server.URL + "/body"},
		{"in the TLS handshake", "https://" + silent.Addr().String() + "/x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ext := jsonBody(tt.url)
			ext.Timeout = 50 * time.Millisecond
			e := failure(t, mustSource(t, newTestLoader(t, Options{}), ext, ""), "")
			if want := "fetch " + tt.url + ": no complete answer within 50ms"; e.Kind != Timeout || e.Message != want {
				t.Errorf("error = %v %q, want a timeout, %q", e.Kind, e.Message, want)
			}
		})
	}
}

// The fake clock of the bubble advances by ten seconds when all goroutines are blocked.
func TestTimeoutWhileConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLoader(0)
		defer l.Close(context.Background())
		verified(t, l).Transport.(*http.Transport).DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		began := time.Now()
		e := failure(t, mustSource(t, l, jsonBody("http://example.test/x"), ""), "")
		if e.Kind != Timeout {
			t.Errorf("kind = %v, want Timeout", e.Kind)
		}
		if got := time.Since(began); got != 10*time.Second {
			t.Errorf("the default timeout came after %v, want 10 s", got)
		}
	})
}

func TestFailuresOfARemote(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	server := remote(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/404":
			w.WriteHeader(404)
		case "/503":
			w.WriteHeader(503)
		case "/cut":
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "half")
		case "/long":
			io.WriteString(w, strings.Repeat("x", 101))
		case "/long-chunked":
			http.NewResponseController(w).Flush()
			io.WriteString(w, strings.Repeat("x", 101))
		case "/encoding":
			w.Header().Set("Content-Encoding", "lzma")
			io.WriteString(w, "x")
		case "/not-gzip":
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "this is not gzip at all")
		case "/many":
			w.Header().Set("Content-Encoding", "gzip, gzip, gzip, gzip, gzip")
			io.WriteString(w, "x")
		case "/scheme":
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(302)
		}
	})
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = quiet()
	secure.StartTLS()
	defer secure.Close()
	for _, tt := range []struct{ name, url, cause string }{
		{"not found", server.URL + "/404", "status 404"},
		{"a server error", server.URL + "/503", "status 503"},
		{"unreachable", "http://" + closed.Addr().String() + "/", "refused"},
		{"a body cut short", server.URL + "/cut", "unexpected EOF"},
		{"over the limit, announced", server.URL + "/long", "too large: more than 100 bytes"},
		{"over the limit, not announced", server.URL + "/long-chunked", "too large: more than 100 bytes"},
		{"an unknown content encoding", server.URL + "/encoding", `content encoding "lzma"`},
		{"a content encoding that is not true", server.URL + "/not-gzip", `content encoding "gzip"`},
		{"content encodings without end", server.URL + "/many", "more than 4"},
		{"a redirect to a file", server.URL + "/scheme", "unsupported protocol scheme"},
		{"a certificate nobody vouches for", secure.URL, "certificate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := mustSource(t, newTestLoader(t, Options{MaxRemote: 100}), jsonBody(tt.url), "")
			e := failure(t, s, "")
			if e.Kind != Upstream || !strings.HasPrefix(e.Message, "fetch "+tt.url+": ") || !strings.Contains(e.Message, tt.cause) {
				t.Errorf("error = %v %q, want Upstream naming %s and %q", e.Kind, e.Message, tt.url, tt.cause)
			}
			if strings.Contains(tt.cause, "too large") && !errors.Is(e, ErrTooLarge) {
				t.Error("the cause is not ErrTooLarge")
			}
		})
	}
}

func TestARenderedURLCanTurnOutBad(t *testing.T) {
	l := newTestLoader(t, Options{})
	verified(t, l).Transport.(*http.Transport).DialContext = func(_ context.Context, _, address string) (net.Conn, error) {
		t.Errorf("%s was dialled", address)
		return nil, net.ErrClosed
	}
	s := mustSource(t, l, jsonBody("http://{{query-params.user}}@{{query-params.host}}/x"), "")
	for _, tt := range []struct{ host, cause string }{
		{"", "it names no host"},
		{"a:99999", `the port is "99999"; expected 1 to 65535`},
		{"a:0", `the port is "0"`},
		{"a:b", `the port is "b"`},
		{"a%20b", "is not allowed in the name of a host"},
		{"%C3%BC.example", "is not allowed in the name of a host"},
		{"[1.2.3.4]", "is not an IPv6 address"},
		{"::1", "an IPv6 address is written in [ ]"},
	} {
		e := failure(t, s, "user=sesame&host="+tt.host)
		if e.Kind != Upstream || !strings.HasPrefix(e.Message, `fetch "http://xxxxx@`) || !strings.Contains(e.Message, tt.cause) || strings.Contains(e.Message, "sesame") {
			t.Errorf("host %q: error = %v %q, want Upstream that names the URL and %q", tt.host, e.Kind, e.Message, tt.cause)
		}
	}
}

func TestMessagesHoldNoCredentials(t *testing.T) {
	server := remote(t, func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "alice" || password != "sesame" {
			t.Errorf("credentials = %s, %s", user, password)
		}
		if r.URL.Path == "/loop" {
			http.Redirect(w, r, "http://bob:sesame@"+r.Host+"/loop", http.StatusFound)
			return
		}
		w.WriteHeader(500)
	})
	l := newTestLoader(t, Options{})
	host := strings.TrimPrefix(server.URL, "http://")
	e := failure(t, mustSource(t, l, jsonBody("http://alice:sesame@"+host+"/x"), ""), "")
	if want := "fetch http://xxxxx@" + host + "/x: it answered with status 500"; e.Message != want {
		t.Errorf("message = %q, want %q", e.Message, want)
	}
	closed := jsonBody("http://alice:sesame@127.0.0.1:1/{{query-params.x}}")
	if e := failure(t, mustSource(t, l, closed, ""), "x=1"); strings.Contains(e.Message, "sesame") || strings.Contains(e.Message, "alice") {
		t.Errorf("message %q contains credentials", e.Message)
	}
	bad := "http://alice:sesame@exa mple.test:x/"
	if _, err := parseURL(bad); err == nil || strings.Contains(err.Error(), "sesame") {
		t.Errorf("parseURL = %v, want an error without credentials", err)
	}
}

func TestRedirects(t *testing.T) {
	server := remote(t, func(w http.ResponseWriter, r *http.Request) {
		var left int
		fmt.Sscanf(r.URL.Path, "/%d", &left)
		if left > 0 {
			http.Redirect(w, r, fmt.Sprintf("/%d", left-1), http.StatusFound)
			return
		}
		io.WriteString(w, "arrived")
	})
	l := newTestLoader(t, Options{})
	if got := bodyOf(t, mustSource(t, l, jsonBody(server.URL+"/10"), ""), ""); got != "arrived" {
		t.Errorf("after ten redirects = %q", got)
	}
	e := failure(t, mustSource(t, l, jsonBody(server.URL+"/11"), ""), "")
	if e.Kind != Upstream || !strings.Contains(e.Message, "more than 10 redirects") {
		t.Errorf("after eleven = %v %q, want Upstream", e.Kind, e.Message)
	}
}

// encoders returns the content encodings by name.
func encoders() map[string]func([]byte) []byte {
	through := func(open func(io.Writer) io.WriteCloser) func([]byte) []byte {
		return func(b []byte) []byte {
			var out bytes.Buffer
			w := open(&out)
			w.Write(b)
			w.Close()
			return out.Bytes()
		}
	}
	return map[string]func([]byte) []byte{
		"identity": func(b []byte) []byte { return b },
		"gzip":     through(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }),
		"x-gzip":   through(func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }),
		"deflate":  through(func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }),
		"Deflate": through(func(w io.Writer) io.WriteCloser { // without the zlib header, as sent by some
			fw, _ := flate.NewWriter(w, 9)
			return fw
		}),
		"br":   func(b []byte) []byte { return fasthttp.AppendBrotliBytes(nil, b) },
		"zstd": through(func(w io.Writer) io.WriteCloser { zw, _ := zstd.NewWriter(w); return zw }),
	}
}

func TestContentEncodingsAreUndone(t *testing.T) {
	text := []byte(strings.Repeat(`{"a": "some text"} `, 100_000)) // more than is stored before its size is known
	for name, encode := range encoders() {
		t.Run(name, func(t *testing.T) {
			server := remote(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Encoding", name)
				w.Header().Set("Content-Type", "application/json")
				w.Write(encode(text))
			})
			b, err := mustSource(t, newTestLoader(t, Options{}), jsonBody(server.URL), "").Body(request(t, ""))
			if err != nil || !bytes.Equal(b.Bytes, text) || b.ContentType != "application/json" {
				t.Errorf("body = %d bytes, %q, %v; want %d", len(b.Bytes), b.ContentType, err, len(text))
			}
		})
	}
	t.Run("two over one another", func(t *testing.T) {
		e := encoders()
		got, err := decode(e["br"](e["gzip"](text)), []string{"gzip", "br"}, 2<<20)
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("decode = %d bytes, %v", len(got), err)
		}
	})
	t.Run("nothing needs no decoding", func(t *testing.T) {
		if got, err := decode(nil, []string{"gzip"}, 1<<20); err != nil || len(got) != 0 {
			t.Errorf("decode = %q, %v", got, err)
		}
	})
}

func TestCompressedBombsAreRefused(t *testing.T) {
	const limit = 1 << 17
	zeros := make([]byte, 32*limit)
	for name, encode := range encoders() {
		if name == "identity" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			bomb := encode(zeros)
			if len(bomb) > limit {
				t.Fatalf("the bomb has %d bytes: it would be refused undecoded", len(bomb))
			}
			if _, err := decode(bomb, []string{name}, limit); !errors.Is(err, ErrTooLarge) {
				t.Errorf("decode = %v, want ErrTooLarge", err)
			}
			if got, err := decode(encode(zeros[:limit]), []string{name}, limit); err != nil || len(got) != limit {
				t.Errorf("at the limit = %d bytes, %v; want them", len(got), err)
			}
		})
	}
	t.Run("a frame that asks for a huge window", func(t *testing.T) {
		frame := func(exponent byte) []byte { // with a window of 2^(10+exponent) bytes, RFC 8878 section 3.1.1
			return []byte{0x28, 0xB5, 0x2F, 0xFD, 0, exponent << 3, 3<<3 | 1, 0, 0, 'a', 'b', 'c'}
		}
		if got, err := decode(frame(13), []string{"zstd"}, 1<<30); string(got) != "abc" {
			t.Errorf("with a window of %d bytes: %q, %v; want abc", maxWindow, got, err)
		}
		for exponent := byte(14); exponent < 32; exponent++ {
			if _, err := decode(frame(exponent), []string{"zstd"}, 1<<30); !errors.Is(err, zstd.ErrWindowSizeExceeded) {
				t.Errorf("a window of 2^%d bytes: %v", 10+exponent, err)
			}
		}
	})
}

func TestTTLKeepsACopy(t *testing.T) {
	var fetches atomic.Int32
	server := remote(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %d", r.URL.Path, fetches.Add(1))
	})
	c := newClock()
	l := newTestLoader(t, Options{Now: c.now})
	ext := jsonBody(server.URL + "/{{query-params.id}}")
	ext.TTL = 30 * time.Second
	s := mustSource(t, l, ext, "")
	steps := []struct {
		name    string
		advance time.Duration
		id      string
		want    string
	}{
		{"the first is fetched", 0, "a", "/a 1"},
		{"another URL is another body", 0, "b", "/b 2"},
		{"the copy is served", 30*time.Second - 1, "a", "/a 1"},
		{"until it is too old", 1, "a", "/a 3"},
		{"and then is kept anew", 29 * time.Second, "a", "/a 3"},
	}
	for _, tt := range steps {
		c.advance(tt.advance)
		if got := bodyOf(t, s, "id="+tt.id); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := bodyOf(t, mustSource(t, l, ext, ""), "id=a"); got != "/a 3" {
		t.Errorf("after a reload = %q, want the copy", got)
	}
	always := jsonBody(server.URL + "/a")
	if got := bodyOf(t, mustSource(t, l, always, ""), ""); got != "/a 4" {
		t.Errorf("without a ttl = %q, want a fetch", got)
	}
	insecure := *ext
	insecure.Insecure = true
	if got := bodyOf(t, mustSource(t, l, &insecure, ""), "id=a"); got != "/a 5" {
		t.Errorf("insecure = %q, want a copy of its own", got)
	}
}

func TestStaleIfError(t *testing.T) {
	var status atomic.Int32
	server := remote(t, func(w http.ResponseWriter, _ *http.Request) {
		n := int(status.Load())
		if n == 0 {
			panic(http.ErrAbortHandler) // closes the connection without an answer
		}
		w.WriteHeader(n)
		io.WriteString(w, "good")
	})
	c := newClock()
	l := newTestLoader(t, Options{Now: c.now})
	stale, plain := jsonBody(server.URL), jsonBody(server.URL)
	stale.StaleIfError = true
	plain.TTL = time.Second
	s, p := mustSource(t, l, stale, ""), mustSource(t, l, plain, "")
	status.Store(500)
	if e := failure(t, s, ""); e.Kind != Upstream {
		t.Errorf("without a good copy = %v, want Upstream", e.Kind)
	}
	status.Store(200)
	bodyOf(t, s, "")
	c.advance(24 * time.Hour)
	for _, n := range []int32{500, 404, 0} {
		status.Store(n)
		if got := bodyOf(t, s, ""); got != "good" {
			t.Errorf("status %d: %q, want the last good copy", n, got)
		}
	}
	if e := failure(t, p, ""); e.Kind != Upstream {
		t.Errorf("an endpoint that does not want stale copies = %v, want Upstream", e.Kind)
	}
}

func TestTLSIsVerifiedUnlessInsecure(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "secure") }))
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	defer server.Close()
	l := newTestLoader(t, Options{})
	ext := jsonBody(server.URL)
	if e := failure(t, mustSource(t, l, ext, ""), ""); e.Kind != Upstream || !strings.Contains(e.Message, "certificate") {
		t.Errorf("verified = %v %q, want the certificate refused", e.Kind, e.Message)
	}
	insecure := *ext
	insecure.Insecure = true
	if got := bodyOf(t, mustSource(t, l, &insecure, ""), ""); got != "secure" {
		t.Errorf("insecure = %q", got)
	}
}

func TestCloseEndsFetchesAndLeavesNoGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	arrived, left := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		close(left)
	}))
	l := NewLoader(0)
	s := mustSource(t, l, jsonBody(server.URL), "")
	r := request(t, "")
	result := make(chan error)
	go func() {
		_, err := s.Body(r)
		result <- err
	}()
	<-arrived
	l.Close(context.Background())
	if err := <-result; err == nil || !strings.Contains(err.Error(), "the server is stopping") {
		t.Errorf("error = %v", err)
	}
	<-left
	if e := failure(t, s, ""); e.Kind != Upstream {
		t.Errorf("after Close = %v, want Upstream", e.Kind)
	}
	server.Close()
	for range 1_000_000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

func TestGuardTurnsAPanicIntoAnError(t *testing.T) {
	err := guard(func() error {
		var none []int
		_ = none[len(none)]
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "index out of range") {
		t.Errorf("error = %v", err)
	}
	var p *Panic
	if !errors.As(err, &p) {
		t.Fatalf("error = %T", err)
	}
	var calls []string
	for frames, more := runtime.CallersFrames(p.Stack), true; more; {
		var call runtime.Frame
		call, more = frames.Next()
		calls = append(calls, call.Function)
	}
	stack := strings.Join(calls, " ")
	if !strings.Contains(stack, "runtime.gopanic") || !strings.Contains(stack, "fetcher.TestGuardTurnsAPanicIntoAnError") {
		t.Errorf("stack = %s", stack)
	}
}

// FuzzDecode passes bytes to every decoder: none may panic or produce more than the limit.
func FuzzDecode(f *testing.F) {
	for name, encode := range encoders() {
		f.Add(name, encode([]byte("hello, hello, hello")))
		f.Add(name, []byte("hello"))
	}
	f.Add("gzip, br,zstd ,deflate", []byte{0x1f, 0x8b})
	f.Fuzz(func(t *testing.T, encodings string, content []byte) {
		const limit = 1 << 16
		got, err := decode(content, []string{encodings}, limit)
		if err == nil && len(got) > max(limit, len(content)) {
			t.Errorf("%d bytes, over the limit", len(got))
		}
		var parts []byte
		whole, rest := content[:len(content)/2], content[len(content)/2:]
		wrong := DecodeParts(func() (part []byte) {
			part, whole, rest = whole, rest, nil
			return part
		}, []string{encodings}, limit, func(part []byte) { parts = append(parts, part...) })
		if name := strings.ToLower(encodings); err == nil && (name == "gzip" || name == "zstd" || name == "br") && len(content) > 1 && (wrong != nil || !bytes.Equal(parts, got)) {
			t.Errorf("in parts: %q, %v; want %q", parts, wrong, got)
		}
	})
}

// FuzzURL looks for messages that contain credentials.
func FuzzURL(f *testing.F) {
	f.Add("example.test/x")
	f.Add("exa mple.test:port/%zz")
	f.Fuzz(func(t *testing.T, rest string) {
		u, err := parseURL("http://user:hunter2secret@" + rest)
		if err != nil {
			if strings.Contains(err.Error(), "hunter2secret") {
				t.Errorf("error %q", err)
			}
			return
		}
		e := fetchError(u, &url.Error{Op: "Get", URL: u.String(), Err: io.EOF}, time.Second)
		if u.User != nil && strings.Contains(strings.ReplaceAll(e.Message, rest, ""), "hunter2secret") {
			t.Errorf("message %q", e.Message)
		}
	})
}

func TestDecode_LimitsContentWithoutEncodingToo(t *testing.T) {
	for size, want := range map[int]error{100: nil, 101: ErrTooLarge} {
		if _, err := Decode(make([]byte, size), []string{"identity"}, 100); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v, want %v", size, err, want)
		}
	}
}
