package listener_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/net/http2"

	"mockserver/config"
	"mockserver/internal/harness"
	"mockserver/listener"
	"mockserver/listener/listenertest"
	"mockserver/listener/observe/record"
)

// pieced is an upstream that sends pieces, each after the first one only once a word came for it, and as many
// as the query n says. Its webhooks go to hooks.
type pieced struct {
	url   string
	words atomic.Pointer[chan string] // those for the next request
	hook  chan string
}

// pieceOf returns a piece of a body with a Content-Type: an event, a line, or anything else.
func pieceOf(kind string, i int) string {
	switch kind {
	case "text/event-stream":
		return fmt.Sprintf("data: %06d\n\n", i)
	case "application/x-ndjson":
		return fmt.Sprintf("{\"n\":%06d}\n", i)
	}
	return fmt.Sprintf("piece %06d", i)
}

func newPieced(t *testing.T) *pieced {
	u := &pieced{hook: make(chan string, 1)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/told" {
			body, _ := io.ReadAll(r.Body)
			u.hook <- string(body)
			return
		}
		q := r.URL.Query()
		kind, n, words := q.Get("kind"), 0, *u.words.Load()
		_, _ = fmt.Sscan(q.Get("n"), &n)
		if w.Header().Set("Content-Type", kind); q.Has("coded") { // nothing in the body looks like an event
			w.Header().Set("Content-Encoding", "of the test")
			kind = "text/plain"
		}
		if q.Has("sized") {
			w.Header().Set("Content-Length", strconv.Itoa(n*len(pieceOf(kind, 0))))
		}
		for i := range n {
			if _, err := io.WriteString(w, pieceOf(kind, i)); err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			if i == n-1 {
				return
			}
			select {
			case <-words:
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(server.Close)
	u.url = server.URL
	return u
}

// take reads pieces until the end, sending a word for each, and returns how many there were.
func (u *pieced) take(ctx context.Context, client *http.Client, url, kind string) (n int, err error) {
	words := make(chan string, 1)
	u.words.Store(&words)
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return 0, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	b := make([]byte, len(pieceOf(kind, 0)))
	for {
		if _, err := io.ReadFull(resp.Body, b); err == io.EOF {
			return n, nil
		} else if err != nil {
			return n, err
		}
		if string(b) != pieceOf(kind, n) {
			return n, fmt.Errorf("piece %d is %q", n, b)
		}
		n++
		select {
		case words <- "":
		default: // the upstream is gone
		}
	}
}

// An answer of events, lines or an unknown length is passed on as it arrives, whatever fault or webhook its endpoint
// has: the upstream sends each piece only when the client has the one before. A fault counts the events, and the
// webhook follows the end.
func TestProxy_StreamsArePassedOnAtOnce(t *testing.T) {
	u := newPieced(t)
	text := strings.ReplaceAll(`
- upstream: {name: real, url: "URL"}
- endpoint: {path: /plain, response: {proxy: real}}
- endpoint: {path: /late, latency: {min: 1ms, max: 1ms}, response: {proxy: real}}
- endpoint: {path: /hook, webhook: {url: "URL/told", sleep-time: 0s, body: "{{response.status}} [{{response.body}}]"}, response: {proxy: real}}
- endpoint: {path: /slow, fault: {type: slow-body, bytes-per-second: 100000000}, response: {proxy: real}}
- endpoint: {path: /cut, fault: {type: truncate}, response: {proxy: real}}
- endpoint: {path: /reset, fault: {type: reset}, response: {proxy: real}}
`, "URL", u.url)
	server := started(t, config.Parse("a.yml", []byte(text)), listener.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	for name, client := range map[string]*http.Client{"http/1.1": http.DefaultClient, "h2": overHTTP2(t)} {
		for _, kind := range []string{"text/event-stream", "text/event-stream&sized", "application/x-ndjson", "application/x-ndjson&sized", "text/plain"} {
			for path, want := range map[string]int{"/plain": 12, "/late": 12, "/hook": 12, "/slow": 12, "/cut": 10, "/reset": 0} {
				media, _, _ := strings.Cut(kind, "&")
				n, err := u.take(ctx, client, server.URL()+path+"?n=12&kind="+kind, media)
				if n != want || (err != nil) != (want < 12) {
					t.Fatalf("%s %s%s: %d pieces, %v; want %d", name, kind, path, n, err, want)
				}
				if path != "/hook" {
					continue
				}
				body := ""
				if kind == "text/plain" {
					body = piecesOf(kind, 12)
				}
				want := fmt.Sprintf("200 [%q]", body)
				if got := <-u.hook; got != want {
					t.Errorf("%s %s: the webhook has %q, want %q", name, kind, got, want)
				}
			}
			media, _, _ := strings.Cut(kind, "&")
			if n, err := u.take(ctx, client, server.URL()+"/cut?n=12&coded&kind="+kind, "text/plain"); n != 10 || err == nil {
				t.Errorf("%s %s: %d pieces of a coded answer before the fault, %v", name, kind, n, err)
			}
			if n, err := u.take(ctx, client, server.URL()+"/cut?n=3&kind="+kind, media); n < 2 || n > 3 || err == nil {
				t.Errorf("%s %s: %d of 3 pieces before the fault, %v", name, kind, n, err)
			}
		}
	}
}

func piecesOf(kind string, n int) (text string) {
	for i := range n {
		text += pieceOf(kind, i)
	}
	return text
}

// The timeout of an upstream bounds the time between two pieces of a streamed answer, and max-duration bounds the
// whole. The client notices that the answer is incomplete.
func TestProxy_StreamsThatTakeTooLong(t *testing.T) {
	u := newPieced(t)
	text := strings.ReplaceAll(`
- upstream: {name: stalls, url: "URL", timeout: 100ms}
- upstream: {name: lasts, url: "URL", max-duration: 100ms}
- endpoint: {path: /stalls, response: {proxy: stalls}}
- endpoint: {path: /lasts, response: {proxy: lasts}}
`, "URL", u.url)
	var log harness.Log
	server := started(t, config.Parse("a.yml", []byte(text)), listener.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	const kind = "text/event-stream"
	none := make(chan string)
	u.words.Store(&none)
	harness.Until(t, "an upstream stalls after a piece that came in time", func() bool {
		n, err := new(pieced).take(ctx, http.DefaultClient, server.URL()+"/stalls?n=5&kind="+kind, kind)
		return n == 1 && err != nil
	})
	harness.Until(t, "an endless answer of which some came in time is cut off", func() bool {
		n, err := u.take(ctx, overHTTP2(t), server.URL()+"/lasts?n=1000000&kind="+kind, kind)
		return n > 0 && err != nil
	})
	if got := log.String(); !strings.Contains(got, "nothing more of the answer arrived for 100ms") {
		t.Errorf("the log has %s", got)
	}
}

// A streamed answer keeps its place of a capacity until it has ended.
func TestProxy_StreamsKeepTheirPlace(t *testing.T) {
	u := newPieced(t)
	text := strings.ReplaceAll(`
- upstream: {name: real, url: "URL"}
- endpoint: {path: /, capacity: {concurrent: 1}, response: {proxy: real}}
- endpoint: {path: /cut, capacity: {concurrent: 1}, fault: {type: truncate}, response: {proxy: real}}
`, "URL", u.url)
	server := started(t, config.Parse("a.yml", []byte(text)), listener.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	const kind = "text/event-stream"
	for _, client := range []*http.Client{http.DefaultClient, overHTTP2(t)} {
		for _, path := range []string{"/", "/cut"} {
			words := make(chan string)
			u.words.Store(&words)
			url := server.URL() + path + "?n=2&kind=" + kind
			resp, err := client.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			if other, _ := ask(t, "GET", url, ""); other.StatusCode != 503 {
				t.Errorf("%s: %d while another stream has the place", path, other.StatusCode)
			}
			words <- ""
			_, _ = io.ReadAll(resp.Body) // the fault is an error
			resp.Body.Close()
			n, err := 0, error(nil)
			harness.Until(t, "the place is free", func() bool {
				n, err = u.take(ctx, client, url, kind)
				return err == nil || path == "/cut" && n == 2
			})
		}
	}
}

// flowing is an upstream that sends as many events, or lines to /lines, as the query n says, and then waits for the
// client to leave if it holds. The first webhook goes to hook.
func flowing(t *testing.T) (url string, hook chan string) {
	hook = make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/told" {
			body, _ := io.ReadAll(r.Body)
			hook <- string(body)
			return
		}
		q := r.URL.Query()
		kind := "text/event-stream"
		if q.Has("lines") {
			kind = "application/x-ndjson"
		}
		n, _ := strconv.Atoi(q.Get("n"))
		w.Header().Set("Content-Type", kind)
		if q.Has("sized") {
			w.Header().Set("Content-Length", strconv.Itoa(n*len(pieceOf(kind, 0))))
		}
		for i := range n {
			_, _ = io.WriteString(w, pieceOf(kind, i))
			if !q.Has("whole") {
				_ = http.NewResponseController(w).Flush()
			}
		}
		if q.Has("hold") {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
		if q.Has("breaks") {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, hook
}

// Each fault comes where it is declared in a stream of an upstream, over both protocols, and only if the stream is long
// enough. It is counted when it has come.
func TestProxy_FaultsOfStreams(t *testing.T) {
	url, _ := flowing(t)
	server := listenertest.Start(t, config.Parse("m.yml", []byte(strings.ReplaceAll(`
- upstream: {name: real, url: "URL"}
- upstream: {name: short, url: "URL", max-duration: 200ms}
- endpoint: {path: /none, response: {proxy: real}, fault: {type: reset, after: 9 items}}
- endpoint: {path: /short, response: {proxy: real}, fault: {type: truncate, after: 9 items}}
- endpoint: {path: /reset, response: {proxy: real}, fault: {type: reset, after: 3 items}}
- endpoint: {path: /all, response: {proxy: real}, fault: {type: reset, of: connection, after: 3 items}}
- endpoint: {path: /truncate, response: {proxy: real}, fault: {type: truncate, after: 0 items}}
- endpoint: {path: /later, response: {proxy: real}, fault: {type: truncate, after: 50ms}}
- endpoint: {path: /malformed, response: {proxy: real}, fault: {type: malformed, after: 3 items}}
- endpoint: {path: /error, response: {proxy: real}, fault: {type: error, after: 3 items, item: {event: error, data: "{{path}} {{stream.index}}"}}}
- endpoint: {path: /late-error, response: {proxy: real}, fault: {type: error, after: 0s, item: {line: x}}}
- endpoint: {path: /no-error, response: {proxy: real}, fault: {type: error, item: {comment: x}}}
- endpoint: {path: /large-error, response: {proxy: real}, fault: {type: error, after: 1 item, item: {data: "{{query-params.large}}"}}}
- endpoint: {path: /stall, response: {proxy: short}, fault: {type: stall, after: 3 items}}
`, "URL", url))), listener.Options{Record: &record.Options{}, MaxResponse: 300})
	three, five := piecesOf("text/event-stream", 3), piecesOf("text/event-stream", 5)
	lines := piecesOf("application/x-ndjson", 3)
	for path, c := range map[string]struct {
		body string
		is   error
		h2   http2.ErrCode
	}{
		"/none?n=5":                          {five, errNone, http2.ErrCodeNo},
		"/short?n=5&sized":                   {five, errNone, http2.ErrCodeNo},
		"/reset?n=5":                         {three, syscall.ECONNRESET, http2.ErrCodeInternal},
		"/reset?n=3":                         {three, syscall.ECONNRESET, http2.ErrCodeInternal},
		"/reset?n=3&hold":                    {three, syscall.ECONNRESET, http2.ErrCodeInternal},
		"/reset?n=5&whole&sized":             {three, syscall.ECONNRESET, http2.ErrCodeInternal},
		"/reset?n=5&lines":                   {lines, syscall.ECONNRESET, http2.ErrCodeInternal},
		"/all?n=5":                           {three, syscall.ECONNRESET, 0},
		"/truncate?n=5":                      {"", io.ErrUnexpectedEOF, http2.ErrCodeInternal},
		"/later?n=3&hold":                    {three, io.ErrUnexpectedEOF, http2.ErrCodeInternal},
		"/malformed?n=5":                     {three + "data: 0", io.ErrUnexpectedEOF, http2.ErrCodeInternal},
		"/malformed?n=5&whole":               {three + "data: 0", io.ErrUnexpectedEOF, http2.ErrCodeInternal},
		"/error?n=5":                         {three + "event: error\ndata: /error 3\n\n", errNone, http2.ErrCodeNo},
		"/error?n=5&whole&sized":             {three + "event: error\ndata: /error 3\n\n", errNone, http2.ErrCodeNo},
		"/error?n=3":                         {three, errNone, http2.ErrCodeNo},
		"/late-error?n=3":                    {"x\n", errNone, http2.ErrCodeNo},
		"/no-error?n=5":                      {five, errNone, http2.ErrCodeNo},
		"/no-error?n=12":                     {piecesOf("text/event-stream", 10) + ": x\n\n", errNone, http2.ErrCodeNo},
		"/large-error?n=5&large=" + large300: {pieceOf("text/event-stream", 0), io.ErrUnexpectedEOF, http2.ErrCodeInternal},
		"/stall?n=5":                         {three, errNone, http2.ErrCodeNo},
		"/stall?n=3&sized":                   {three, errNone, http2.ErrCodeNo},
	} {
		if status, _, body, err := askOnce(t, server.URL()+path); status != 200 || body != c.body || (err == nil) != (c.is == errNone) || err != nil && !errors.Is(err, c.is) {
			t.Errorf("%.40s: got %d %q, %v", path, status, body, err)
		}
		if c.h2 == 0 && c.is != errNone {
			continue
		}
		if body, code := overFrames(t, server, path); body != c.body || code != c.h2 {
			t.Errorf("%.40s over HTTP/2: got %q, %v", path, body, code)
		}
	}
	until(t, "the faults that came are counted", func() bool {
		all := map[string]uint64{}
		for _, e := range server.Counts().Endpoints {
			for fault, n := range e.Faults {
				all[fault] += n
			}
		}
		return server.Counts().InFlight == 0 && maps.Equal(all, map[string]uint64{"reset": 11, "truncate": 4, "malformed": 4, "error": 10, "stall": 4})
	})
}

var large300 = strings.Repeat("x", 300)

// overFrames requests a path over HTTP/2, and returns the body and the code that the stream is reset with.
func overFrames(t *testing.T, server *listener.Server, path string) (body string, code http2.ErrCode) {
	t.Helper()
	s := speak(t, server)
	s.get(1, path)
	for {
		switch f := s.next().(type) {
		case *http2.DataFrame:
			if body += string(f.Data()); f.StreamEnded() {
				return body, http2.ErrCodeNo
			}
		case *http2.RSTStreamFrame:
			return body, f.ErrCode
		}
	}
}

// The bytes of each event of an upstream are sent in two writes, and nothing is lost.
func TestProxy_CutsEvents(t *testing.T) {
	url, _ := flowing(t)
	server := listenertest.Start(t, config.Parse("m.yml", []byte(strings.ReplaceAll(`
- upstream: {name: real, url: "URL"}
- endpoint: {path: /, response: {proxy: real, cut: {rate: 100%, pause: 1ms}}}
- endpoint: {path: /fault, response: {proxy: real, cut: {rate: 1}}, fault: {type: truncate, after: 2 items}}
`, "URL", url))), listener.Options{Record: &record.Options{}})
	for query, body := range map[string]string{
		"n=5": piecesOf("text/event-stream", 5), "n=5&whole&sized": piecesOf("text/event-stream", 5), "n=5&lines&whole": piecesOf("application/x-ndjson", 5),
	} {
		if _, _, got, err := askOnce(t, server.URL()+"/?"+query); got != body || err != nil {
			t.Errorf("%s: %q, %v", query, got, err)
		}
		s := speak(t, server)
		s.get(1, "/?"+query)
		got, frames := "", 0
		for over := false; !over; {
			if f, is := s.next().(*http2.DataFrame); is {
				got, over = got+string(f.Data()), f.StreamEnded()
				frames++
			}
		}
		if got != body || frames < 10 {
			t.Errorf("%s over HTTP/2: %d frames, %q", query, frames, got)
		}
	}
	if _, _, body, err := askOnce(t, server.URL()+"/fault?n=5&whole"); body != piecesOf("text/event-stream", 2) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a fault after events that are cut: %q, %v", body, err)
	}
}

// A webhook of an upstream's stream knows what was sent and how it ended.
func TestProxy_WebhooksKnowHowAStreamEnded(t *testing.T) {
	url, hook := flowing(t)
	server := listenertest.Start(t, config.Parse("m.yml", []byte(strings.ReplaceAll(strings.ReplaceAll(`
- upstream: {name: real, url: "URL"}
- upstream: {name: short, url: "URL", max-duration: 100ms}
- endpoint: {path: /a, webhook: HOOK, response: {proxy: real}}
- endpoint: {path: /short, webhook: HOOK, response: {proxy: short}}
- endpoint: {path: /fault, webhook: HOOK, response: {proxy: real}, fault: {type: error, after: 2 items, item: {data: x}}}
`, "HOOK", `{url: "URL/told", sleep-time: 0s, headers: {Content-Type: text/plain}, body: '{{response.items}} {{response.end}} {% if response.duration >= 0 %}timed{% endif %}'}`), "URL", url))), listener.Options{})
	for name, client := range map[string]*http.Client{"http/1.1": http.DefaultClient, "h2": overHTTP2(t)} {
		for path, want := range map[string]string{
			"/a?n=5": "5 complete timed", "/a?n=5&whole&sized": "5 complete timed", "/a?n=3&breaks": "3 upstream timed",
			"/short?n=2&hold": "2 max-duration timed", "/fault?n=5": "3 fault timed", "/a?n=2&hold": "2 client timed",
		} {
			resp, err := client.Get(server.URL() + path)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(path, "/a?n=2") { // the client leaves
				_, err = io.ReadFull(resp.Body, make([]byte, 2*len(pieceOf("text/event-stream", 0))))
			} else {
				_, _ = io.ReadAll(resp.Body) // it may break off
			}
			if resp.Body.Close(); err != nil {
				t.Fatal(err)
			}
			if got := <-hook; got != want {
				t.Errorf("%s %s: the webhook has %q, want %q", name, path, got, want)
			}
		}
	}
}

// A client that leaves before the head of an upstream's stream triggers no webhook, even if that comes before it is
// noticed.
func TestProxy_NoWebhookWithoutAHead(t *testing.T) {
	arrived, answer, hook := make(chan string, 1), make(chan string), make(chan string, 10)
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/told" {
			body, _ := io.ReadAll(r.Body)
			hook <- string(body)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if r.URL.Path == "/late" {
			arrived <- ""
			<-answer
		}
		_, _ = io.WriteString(w, "data: a\n\n")
	}))
	t.Cleanup(origin.Close)
	server := listenertest.Start(t, config.Parse("m.yml", []byte(strings.ReplaceAll(`
- upstream: {name: real, url: "URL"}
- endpoint: {path: "/*rest", webhook: {url: "URL/told", sleep-time: 0s, headers: {Content-Type: text/plain}, body: "{{path}}"}, response: {proxy: real}}
`, "URL", origin.URL))), listener.Options{Record: &record.Options{}})
	s := speak(t, server)
	s.get(1, "/late")
	<-arrived
	if err := s.WriteRSTStream(1, http2.ErrCodeCancel); err != nil {
		t.Fatal(err)
	}
	_ = s.WritePing(false, [8]byte{1}) // if this fails, its answer does not come
	for pong := false; !pong; {
		f, is := s.next().(*http2.PingFrame)
		pong = is && f.IsAck()
	}
	close(answer) // the server knows that the client has left, but reads the upstream for a moment without looking
	until(t, "the request is over", func() bool { return server.Counts().InFlight == 0 })
	ask(t, "GET", server.URL()+"/now", "")
	if got := <-hook; got != "/now" {
		t.Errorf("the first webhook is that of %s", got)
	}
	if got := server.Counts().Endpoints[0].Statuses; got[499] != 1 || got[200] != 1 {
		t.Errorf("statuses %v", got)
	}
}
