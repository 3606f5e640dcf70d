package sentry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	sentrygo "github.com/getsentry/sentry-go"
	"go.uber.org/goleak"

	"mockserver/fetcher"
	"mockserver/internal/harness"
)

// host is a Sentry host that stores the events that it receives.
type host struct {
	status  int           // the status it answers with; 0 is 200
	hang    chan struct{} // the host answers once this is closed; if nil, immediately
	mu      sync.Mutex    // guards the fields below
	events  []sentrygo.Event
	raw     bytes.Buffer
	refused int // requests answered with a status other than 200
}

// take reads one envelope.
func (h *host) take(body []byte) error {
	event, err := sentryEvent(body)
	if err != nil {
		return err
	}
	var e sentrygo.Event
	if err := json.Unmarshal(event, &e); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.raw.Write(body)
	if h.status > 299 {
		h.refused++
		return nil
	}
	h.events = append(h.events, e)
	return nil
}

// RoundTrip passes requests to the host itself, for tests without sockets.
func (h *host) RoundTrip(req *http.Request) (*http.Response, error) {
	if h.hang != nil {
		select {
		case <-h.hang:
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if err := h.take(body); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: max(h.status, 200), Body: http.NoBody, Header: http.Header{}, Request: req}, nil
}

// The report of a panic in a decoder has the stack of the decoder, not the stack of the code that
// waits for it.
func TestReport_PanicOfADecoder(t *testing.T) {
	h := &host{}
	r := newReporter(DSN{text: "http://key@sentry.test/1"}, "", slog.New(slog.DiscardHandler), h)
	stack := make([]uintptr, 10)
	stack = stack[:runtime.Callers(1, stack)]
	r.Failed("body_unavailable", "GET /x?hunter2secret", "", &fetcher.Error{
		Kind: fetcher.Unavailable, Message: "hunter2secret", Err: &fetcher.Panic{Value: "hunter2secret", Stack: stack},
	})
	r.Close(context.Background())
	if len(h.events) != 1 {
		t.Fatalf("%d events, want 1", len(h.events))
	}
	frames := h.events[0].Exception[0].Stacktrace.Frames
	if inner := frames[len(frames)-1]; inner.Function != "TestReport_PanicOfADecoder" || h.events[0].Tags["code"] != "body_unavailable" {
		t.Errorf("the innermost frame is %+v, tags %v", inner, h.events[0].Tags)
	}
	if strings.Contains(h.raw.String(), "hunter2secret") {
		t.Errorf("reported: %s", &h.raw)
	}
}

func TestOpen_NothingWithoutADSN(t *testing.T) {
	for _, dsn := range []string{"", " \n"} {
		var log bytes.Buffer
		if r := Open(dsn, "", slog.New(slog.NewTextHandler(&log, nil))); r != nil || log.Len() > 0 {
			t.Errorf("%q: errors are reported, or the log says that they are: %s", dsn, &log)
		}
	}
}

func TestParseDSN(t *testing.T) {
	for text, want := range map[string]string{
		"https://hunter2@sentry.test/1":                     "sentry.test",
		"http://hunter2:secret@sentry.test:9000/sub/path/1": "sentry.test:9000",
		" https://hunter2@o1.ingest.sentry.io/4507\n":       "o1.ingest.sentry.io",
		"http://hunter2@[::1]:9000/1":                       "[::1]:9000",
		"":                                                  "",
	} {
		if d, err := ParseDSN(text); err != nil || d.host != want || d.text != strings.TrimSpace(text) {
			t.Errorf("%q: got %+v, %v", text, d, err)
		}
	}
	for text, want := range map[string]string{
		"hunter2":                                   "it begins with neither https:// nor http://",
		"hunter2@sentry.test/1":                     "it begins with neither https:// nor http://",
		"hunter2://sentry.test/1":                   "it begins with neither https:// nor http://",
		"ftp://hunter2@sentry.test/1":               "it begins with neither https:// nor http://",
		"https://sentry.test/hunter2":               "the key before the @ is missing",
		"https://:hunter2@sentry.test/1":            "the key before the @ is missing",
		"https://hunter2@/1":                        "the host is missing",
		"https://hunter2@:80/1":                     "the host is missing",
		"https://hunter2@sentry.test":               "the project at its end is missing",
		"https://hunter2@sentry.test/":              "the project at its end is missing",
		"https://hunter2@sentry.test/1/":            "the project at its end is missing",
		"https://hunter2@sentry.test:99999/1":       "its port is not a number from 1 to 65535",
		"https://hunter2@sentry.test:0/1":           "its port is not a number from 1 to 65535",
		"https://k:hunter2/1":                       "it is not a valid URL",
		"https://hunter2@sentry.test:x/1":           "it is not a valid URL",
		"https://hunter2@sentry test/1":             "it is not a valid URL",
		"https://%zzhunter2@sentry.test/1":          "it is not a valid URL",
		"https://hunter2\x00@sentry.test/1":         "it is not a valid URL",
		"https://hunter2%0d%0aX-A:b@sentry.test/1":  "its key contains an invalid character",
		"https://hunter2,sentry_x=1@sentry.test/1":  "its key contains an invalid character",
		"https://hunter2@sentry.test@example.com/1": "its key contains an invalid character",
	} {
		_, err := ParseDSN(text)
		whole := "SENTRY_DSN is not a DSN: " + want + "; expected https://KEY@HOST/PROJECT"
		if err == nil || err.Error() != whole {
			t.Errorf("%q: got %v, want %s", text, err, whole)
		}
	}
}

// FuzzParseDSN looks for errors that contain a part of the text, and for accepted texts to which
// reports cannot be sent.
func FuzzParseDSN(f *testing.F) {
	for _, text := range []string{"https://key@sentry.test/1", "http://a:b@[::1]:80/x/1", "https://key@sentry.test:99999/1", "%zz", "https://a@b@c/1?x#y"} {
		f.Add(text)
	}
	known := func(text string) bool { // an error is one of a few fixed texts, whatever was parsed
		what, found := strings.CutPrefix(text, "SENTRY_DSN is not a DSN: ")
		return found && slices.Contains([]string{
			"it is not a valid URL", "it begins with neither https:// nor http://", "the key before the @ is missing",
			"its key contains an invalid character", "the host is missing", "its port is not a number from 1 to 65535",
			"the project at its end is missing", "sentry-go does not accept it",
		}, strings.TrimSuffix(what, "; expected https://KEY@HOST/PROJECT"))
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDSN(text)
		switch {
		case err != nil && !known(err.Error()):
			t.Errorf("%q: %v", text, err)
		case err == nil && d.text != "":
			h := &host{}
			r := newReporter(d, "", slog.New(slog.DiscardHandler), h)
			r.put(report{code: "internal"})
			r.Close(context.Background())
			if len(h.events) != 1 {
				t.Errorf("%q: accepted, but nothing is sent", text)
			}
		}
	})
}

func TestBodyText(t *testing.T) {
	refused := &fetcher.Error{Message: "fetch http://hunter2secret: x", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	unknown := &fetcher.Error{Message: "hunter2secret", Err: errors.New("hunter2secret")}
	for _, c := range []struct {
		declared string
		err      error
		want     string
	}{
		{"data/a.json", &fetcher.Error{Message: `file "data/a.json": it does not exist`, Err: fs.ErrNotExist}, `file "data/a.json": it does not exist`},
		{"data/{{query-params.hunter}}.json", &fetcher.Error{Message: "hunter2secret", Err: syscall.EACCES}, `"data/{{query-params.hunter}}.json": permission denied`},
		{"data/{% if x %}a{% endif %}.json", unknown, `"data/{% if x %}a{% endif %}.json": see the server's log`},
		{"http://a.test/x", refused, `"http://a.test/x": connection refused`},
		{"http://u:hunter2secret@a.test/x", refused, `"http://…": connection refused`},
		{"HTTP://hunter2secret@a.test/x", refused, `"HTTP://…": connection refused`},
		{"http://u:{{ env.X|default:\"/\" }}hunter2secret@a.test/x", refused, `"http://…": connection refused`},
		{"http://u:hunter2secret{{env.S|default:\"?\"}}@a.test/x", refused, `"http://…": connection refused`},
		{"http://u:hunter2secret{{env.S|default:'}}?'}}@a.test/x", refused, `"http://…": connection refused`},
		{"http://u:{{#if env.S}}hunter2secret{{/if}}@a.test/x", refused, `"http://…": connection refused`},
		{"http://u:hunter2secret@{{env.H}}/{{path|default:\"?\"}}?key=hunter2secret", refused, `"http://…": connection refused`},
		{"http://a.test/{{path|default:'?'}}?key=hunter2secret@b", refused, `"http://…": connection refused`},
		{"http://a.test/{{path}}?from=me@b.test&key=hunter2secret", refused, `"http://…": connection refused`},
		{"http://a.test/x?key=hunter2secret&b", refused, `"http://a.test/x?…": connection refused`},
		{"http://a.test/x?hunter2secret here", refused, `"http://a.test/x?…": connection refused`},
		{"http://a.test/x#hunter2secret", refused, `"http://a.test/x#…": connection refused`},
		{"{{env.BASE}}/x?key=hunter2secret", unknown, `"{{env.BASE}}/x?…": see the server's log`},
		{"{{env.BASE}}/x", errors.New("hunter2secret"), `"{{env.BASE}}/x": see the server's log`},
	} {
		if got := bodyText(c.declared, c.err); got != c.want {
			t.Errorf("%s: got %s, want %s", c.declared, got, c.want)
		}
	}
}

// logged is a log that a test can read while it is being written.
type logged struct{ harness.Log }

// lost returns how many reports were not sent according to the log, and the reasons.
func (l *logged) lost(t *testing.T) (total int, reasons []string) {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		var said struct {
			Msg     string
			Reports int
			Reason  string
		}
		if err := json.Unmarshal([]byte(line), &said); err != nil || said.Msg != "error reports not sent" || said.Reports == 0 {
			t.Errorf("logged %s: %v", line, err)
		}
		total += said.Reports
		reasons = append(reasons, said.Reason)
	}
	return total, reasons
}

// bubble runs a test of a reporter in a bubble, in which time advances without waiting.
func bubble(t *testing.T, h *host, test func(t *testing.T, r *Reporter, l *logged)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if h.hang != nil {
			h.hang = make(chan struct{}) // the channel must belong to the bubble
		}
		l := &logged{}
		test(t, newReporter(DSN{text: "http://key@sentry.test/1"}, "", slog.New(slog.NewJSONHandler(l, nil)), h), l)
	})
}

func (r *Reporter) putMany(n int) {
	for i := range n {
		r.put(report{code: "upstream_failed", endpoint: "GET /" + strconv.Itoa(i), message: "x"})
		synctest.Wait()
	}
}

func TestReporter_SixtyAMinute(t *testing.T) {
	h := &host{}
	bubble(t, h, func(t *testing.T, r *Reporter, l *logged) {
		r.putMany(100)
		if len(h.events) != 60 {
			t.Errorf("%d arrived in a minute, want 60", len(h.events))
		}
		<-time.After(time.Minute)
		r.putMany(10)
		r.Close(t.Context())
		if len(h.events) != 70 {
			t.Errorf("%d arrived, want 70", len(h.events))
		}
		total, reasons := l.lost(t)
		if total != 40 || reasons[0] != "at most 60 are sent a minute" || len(reasons) != 2 {
			t.Errorf("the log counts %d lost, for %q, want 40 in two lines", total, reasons)
		}
	})
}

// goroutines counts the goroutines of the bubble, since the runtime starts and stops its own for
// finalizers.
func goroutines() int {
	stacks := make([]byte, 1<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte(", synctest bubble "))
}

// While a host hangs, reports take no additional memory or goroutines, however many there are, and
// each report is counted.
func TestReporter_HangingHost(t *testing.T) {
	h := &host{hang: make(chan struct{})}
	bubble(t, h, func(t *testing.T, r *Reporter, l *logged) {
		r.putMany(1) // while a report is being sent, net/http runs additional goroutines
		before := goroutines()
		overflowed := false
		<-time.After(time.Minute)
		for range 10 {
			r.putMany(60)
			r.mu.Lock()
			overflowed = overflowed || r.lostWhy == "too many wait to be sent"
			r.mu.Unlock()
			<-time.After(time.Minute)
		}
		synctest.Wait()
		if after := goroutines(); before == 0 || after > before {
			t.Errorf("%d goroutines, %d before", after, before)
		}
		if n := len(r.queue); n > reportsPerMinute || !overflowed {
			t.Errorf("%d reports wait, overflowed: %v", n, overflowed)
		}
		begun := time.Now()
		r.Close(t.Context())
		if took := time.Since(begun); took != flushTimeout {
			t.Errorf("closing took %v, want %v", took, flushTimeout)
		}
		total, reasons := l.lost(t)
		if total != 601 {
			t.Errorf("the log counts %d lost, want 601", total)
		}
		for _, want := range []string{"the host gave no answer within 10s", "the server stopped before they were"} {
			if !slices.Contains(reasons, want) {
				t.Errorf("reasons %q lack %q", reasons, want)
			}
		}
	})
}

func TestReporter_Close(t *testing.T) {
	t.Run("takes no time when nothing is pending", func(t *testing.T) {
		bubble(t, &host{hang: make(chan struct{})}, func(t *testing.T, r *Reporter, l *logged) {
			begun := time.Now()
			r.Close(t.Context())
			if took := time.Since(begun); took != 0 {
				t.Errorf("took %v", took)
			}
			l.lost(t)
		})
	})
	t.Run("is over with its context", func(t *testing.T) {
		bubble(t, &host{hang: make(chan struct{})}, func(t *testing.T, r *Reporter, l *logged) {
			r.putMany(3)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			begun := time.Now()
			r.Close(ctx)
			if took := time.Since(begun); took != time.Second {
				t.Errorf("took %v, want 1s", took)
			}
			if total, _ := l.lost(t); total != 3 {
				t.Errorf("the log counts %d lost, want 3", total)
			}
		})
	})
	t.Run("sends what waits", func(t *testing.T) {
		h := &host{hang: make(chan struct{})}
		bubble(t, h, func(t *testing.T, r *Reporter, l *logged) {
			r.putMany(5)
			time.AfterFunc(time.Second, func() { close(h.hang) })
			r.Close(t.Context())
			if total, _ := l.lost(t); len(h.events) != 5 || total != 0 {
				t.Errorf("%d arrived, %d lost, want 5 and 0", len(h.events), total)
			}
		})
	})
	t.Run("may be called again, and what comes later is counted", func(t *testing.T) {
		bubble(t, &host{}, func(t *testing.T, r *Reporter, l *logged) {
			var calls sync.WaitGroup
			for range 3 {
				calls.Go(func() { r.Close(t.Context()) })
			}
			calls.Wait()
			r.put(report{code: "internal"})
			if total, reasons := l.lost(t); total != 1 || reasons[0] != "the server is stopping" {
				t.Errorf("the log counts %d lost, for %q", total, reasons)
			}
		})
	})
}

func TestReporter_HostThatRefuses(t *testing.T) {
	for _, c := range []struct {
		status, asked int
		reasons       []string
	}{
		{429, 1, []string{"the host answered with status 429", "the host asked for a pause"}},
		{500, 4, []string{"the host answered with status 500"}},
		{403, 4, []string{"the host answered with status 403"}},
		{307, 4, []string{"the host answered with status 307"}}, // following the redirect would send the key to another host
	} {
		h := &host{status: c.status}
		bubble(t, h, func(t *testing.T, r *Reporter, l *logged) {
			r.putMany(4)
			r.Close(t.Context())
			total, reasons := l.lost(t)
			if slices.Sort(reasons); total != 4 || !slices.Equal(slices.Compact(reasons), c.reasons) || h.refused != c.asked {
				t.Errorf("%d: %d lost, for %q, %d asked, want 4, %q, %d", c.status, total, reasons, h.refused, c.reasons, c.asked)
			}
		})
	}
}

// panics is a transport that fails in the worst way.
type panics struct{}

func (panics) RoundTrip(*http.Request) (*http.Response, error) { panic("boom") }

func TestReporter_SurvivesAPanicOfTheLibrary(t *testing.T) {
	l := &logged{}
	r := newReporter(DSN{text: "http://key@sentry.test/1"}, "", slog.New(slog.NewJSONHandler(l, nil)), panics{})
	r.put(report{code: "internal"})
	r.Close(context.Background())
	if total, reasons := l.lost(t); total != 1 || reasons[0] != "sentry-go panicked: boom" {
		t.Errorf("the log counts %d lost, for %q", total, reasons)
	}
}

// Texts in reports are truncated to the lengths that Sentry accepts.
func TestReport_LongTextsAreClipped(t *testing.T) {
	h := &host{}
	r := newReporter(DSN{text: "http://key@sentry.test/1"}, "", slog.New(slog.DiscardHandler), h)
	r.put(report{code: "upstream_failed", endpoint: "GET /" + strings.Repeat("ü", 300), message: strings.Repeat("ü", 3000)})
	r.Close(context.Background())
	e := h.events[0]
	for text, most := range map[string]int{e.Tags["endpoint"]: 200, e.Exception[0].Value: maxReported} {
		if len(text) > most || !strings.HasSuffix(text, "ü…") || strings.ContainsRune(text, '\ufffd') {
			t.Errorf("got %d bytes, want at most %d: %s", len(text), most, text)
		}
	}
}

// The reporter leaves no goroutine behind once the server is stopped, whatever the host does.
func TestReporter_LeavesNoGoroutine(t *testing.T) {
	for name, h := range map[string]*host{
		"answers": {}, "hangs": {hang: make(chan struct{})},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				if resp, err := h.RoundTrip(req); err == nil {
					w.WriteHeader(resp.StatusCode)
				}
			}))
			defer server.Close()
			if h.hang != nil {
				defer close(h.hang) // net/http notices that a client has left only after the body is read
			}
			ignore := goleak.IgnoreCurrent()
			r := Open("http://key@"+server.Listener.Addr().String()+"/1", "", slog.New(slog.DiscardHandler))
			r.put(report{code: "internal"})
			ctx, cancel := context.WithCancel(context.Background())
			if h.hang != nil {
				cancel()
			}
			r.Close(ctx)
			cancel()
			// The host may have received the request, and may still be waiting.
			goleak.VerifyNone(t, ignore, goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
				goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"))
		})
	}
}
