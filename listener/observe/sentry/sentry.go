// Package sentry reports errors to a Sentry host. No other package imports sentry-go.
package sentry

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	sentrygo "github.com/getsentry/sentry-go"

	"mockserver/fetcher"
	"mockserver/internal/wording"
)

// Limits of error reports.
const (
	reportsPerMinute = 60               // for all errors together; also the size of the queue
	reportTimeout    = 10 * time.Second // for sending one report
	flushTimeout     = 2 * time.Second  // for sending the queued reports when the server stops
	maxReported      = 500              // bytes of a message; the name of an endpoint has the 200 bytes of a Sentry tag
	maxStack         = 64               // calls in a stack
)

// report is one error. Its texts contain nothing that a client sent.
type report struct {
	at       time.Time
	code     string // code of the failure
	endpoint string // "GET /users/:id"; "" if none
	message  string
	panicked bool      // otherwise, the report is about an error response of the server
	stack    []uintptr // program counters of a panic, innermost first; nil if none
}

// Reporter sends error reports to a Sentry host in its own goroutine, so that nothing waits for
// that host. A nil Reporter reports nothing.
//
// It uses the events of sentry-go and the transport that sends them, but not the client, because
// the client adds data from environment variables and from the global configuration of a host
// program to events, and runs git to find a version.
type Reporter struct {
	log      *slog.Logger
	release  string
	host     string // name of this machine
	modules  string // prefix of the package paths of this program
	wire     *delivery
	client   *http.Client
	sentry   *sentrygo.HTTPSyncTransport
	queue    chan report   // closed with the reporter
	ended    chan struct{} // closed when the goroutine has ended
	ctx      context.Context
	cancel   context.CancelFunc
	mu       sync.Mutex // guards the fields below
	closed   bool       // no more reports are queued
	minute   time.Time  // beginning of the minute that taken counts
	taken    int
	lost     int       // reports not sent and not yet logged
	lostWhy  string    // why the last of them was not sent
	lostSaid time.Time // when lost reports were last logged
}

// Open returns a Reporter for a DSN, or nil if the DSN is blank. An invalid DSN is logged as a
// warning, and nothing is reported.
func Open(text, version string, log *slog.Logger) *Reporter {
	d, err := ParseDSN(text)
	switch {
	case err != nil:
		log.Warn("errors are not reported", "error", err.Error())
		return nil
	case d.text == "":
		return nil
	}
	wire := &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: reportTimeout}
	log.Info("errors are reported", "to", d.host)
	return newReporter(d, version, log, wire)
}

// newReporter returns a reporter that sends over wire. It must be closed.
func newReporter(d DSN, version string, log *slog.Logger, wire http.RoundTripper) *Reporter {
	r := &Reporter{
		log:     log,
		modules: strings.TrimSuffix(reflect.TypeFor[Reporter]().PkgPath(), "/listener/observe/sentry"),
		wire:    &delivery{wire: wire},
		sentry:  sentrygo.NewHTTPSyncTransport(),
		queue:   make(chan report, reportsPerMinute),
		ended:   make(chan struct{}),
	}
	if version != "" {
		r.release = path.Base(r.modules) + "@" + version
	}
	r.host, _ = os.Hostname() // optional in a report
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.client = &http.Client{
		Transport: r.wire,
		// A redirect would send the key to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	r.sentry.Configure(sentrygo.ClientOptions{Dsn: d.text, HTTPClient: r.client})
	go r.run()
	return r
}

// DSN is a data source name: where reports go, and the key to them.
type DSN struct {
	text string // as Sentry gives it: "https://KEY@HOST/PROJECT"
	host string // without the key, for messages
}

// ParseDSN parses a DSN. A blank text is not an error. The error quotes no part of the text, since
// any part may be the key.
func ParseDSN(text string) (DSN, error) {
	text = strings.TrimSpace(text)
	u, err := url.Parse(text)
	fault := ""
	switch {
	case text == "":
		return DSN{}, nil
	case err != nil:
		fault = "it is not a valid URL"
	case u.Scheme != "http" && u.Scheme != "https":
		fault = "it begins with neither https:// nor http://"
	case u.User.Username() == "":
		fault = "the key before the @ is missing"
	case strings.ContainsFunc(u.User.String(), func(r rune) bool { return r <= ' ' || r == '%' || r == ',' || r > '~' }):
		fault = "its key contains an invalid character"
	case u.Hostname() == "":
		fault = "the host is missing"
	case u.Port() != "" && !dialable(u.Port()):
		fault = "its port is not a number from 1 to 65535"
	case strings.HasSuffix(u.Path, "/") || u.Path == "":
		fault = "the project at its end is missing"
	}
	if fault == "" {
		if _, err := sentrygo.NewDsn(text); err == nil {
			return DSN{text: text, host: u.Host}, nil
		}
		fault = "sentry-go does not accept it"
	}
	return DSN{}, errors.New("SENTRY_DSN is not a DSN: " + fault + "; expected https://KEY@HOST/PROJECT")
}

func dialable(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// Failed reports a 5xx response of the server itself. For an external body, declared is its
// declared path; otherwise it is "".
func (r *Reporter) Failed(code, endpoint, declared string, err error) {
	if r == nil {
		return
	}
	rep := report{code: code, endpoint: endpoint}
	if p, ok := errors.AsType[*fetcher.Panic](err); ok {
		rep.panicked, rep.message, rep.stack = true, panicText(p.Value), p.Stack
	} else if declared == "" {
		rep.message = err.Error()
	} else {
		rep.message = bodyText(declared, err)
	}
	r.put(rep)
}

// Panicked reports a panic while a request was served; endpoint is "" if it was not known
// yet. It must be called on the stack of the panic.
func (r *Reporter) Panicked(code, endpoint string, p any) {
	if r == nil {
		return
	}
	rep := report{code: code, message: panicText(p), panicked: true, endpoint: endpoint, stack: make([]uintptr, maxStack)}
	rep.stack = rep.stack[:runtime.Callers(1, rep.stack)]
	r.put(rep)
}

// panicText returns the text of a panic of the runtime. Any other text may contain parts of
// a request, and stays in the log.
func panicText(p any) string {
	if err, ok := p.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a panic with a value of type %T, see the server's log", p)
}

// bodyText returns the text for an unavailable body. A file that is the same for every request is
// named as in messages. Any other body is named as declared, without credentials and query, and the
// cause is given only in words that cannot contain either.
func bodyText(declared string, err error) string {
	if !strings.Contains(declared, "{{") && !strings.Contains(declared, "{%") && !strings.Contains(declared, "://") {
		return err.Error()
	}
	cause := ""
	if e, ok := errors.AsType[*fetcher.Error](err); ok {
		cause = e.Cause()
	}
	return strconv.Quote(withoutSecrets(declared)) + ": " + cmp.Or(cause, "see the server's log")
}

// withoutSecrets removes what may be secret in a URL: the query and the fragment, and everything
// except the scheme if the URL may contain credentials.
func withoutSecrets(declared string) string {
	if scheme, rest, found := strings.Cut(declared, "://"); found && strings.Contains(rest, "@") {
		return scheme + "://…"
	}
	if at := strings.IndexAny(declared, "?#"); at >= 0 {
		return declared[:at+1] + "…"
	}
	return declared
}

// put queues a report unless there are too many.
func (r *Reporter) put(rep report) {
	rep.at = time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if rep.at.Sub(r.minute) >= time.Minute {
		r.minute, r.taken = rep.at, 0
	}
	switch {
	case r.closed:
		r.lose("the server is stopping")
	case r.taken >= reportsPerMinute:
		r.lose(fmt.Sprintf("at most %d are sent a minute", reportsPerMinute))
	default:
		select {
		case r.queue <- rep:
			r.taken++
		default:
			r.lose("too many wait to be sent")
		}
	}
}

// lose counts a report that is not sent, and logs lost reports at most once a minute. The lock must
// be held.
func (r *Reporter) lose(why string) {
	r.lost++
	r.lostWhy = why
	if now := time.Now(); now.Sub(r.lostSaid) >= time.Minute {
		r.lostSaid = now
		r.logLost()
	}
}

func (r *Reporter) logLost() {
	r.log.Warn("error reports not sent", "reports", r.lost, "reason", r.lostWhy)
	r.lost = 0
}

// run sends reports, one after the other, until the reporter is closed and the queue is
// empty.
func (r *Reporter) run() {
	defer close(r.ended)
	for rep := range r.queue {
		r.send(rep)
	}
}

// send sends one report, or counts it as lost.
func (r *Reporter) send(rep report) {
	err := r.deliver(rep)
	if err == nil {
		return
	}
	why := err.Error()
	switch {
	case r.ctx.Err() != nil:
		why = "the server stopped before they were"
	case errors.Is(err, context.DeadlineExceeded):
		why = "the host gave no answer within " + reportTimeout.String()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lose(why)
}

// deliver sends one report with sentry-go, which does not return the outcome and must not
// end the program.
func (r *Reporter) deliver(rep report) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("sentry-go panicked: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(r.ctx, reportTimeout)
	defer cancel()
	r.wire.outcome = errors.New("the host asked for a pause")
	r.sentry.SendEventWithContext(ctx, r.event(rep))
	return r.wire.outcome
}

// delivery sends reports and keeps the outcome of the last one. Only the sending goroutine
// uses it.
type delivery struct {
	wire    http.RoundTripper
	outcome error
}

// RoundTrip is called by net/http.
func (d *delivery) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := d.wire.RoundTrip(req)
	d.outcome = err
	if err == nil && resp.StatusCode/100 != 2 {
		d.outcome = fmt.Errorf("the host answered with status %d", resp.StatusCode)
	}
	return resp, err
}

// CloseIdleConnections is called by net/http.
func (d *delivery) CloseIdleConnections() {
	(&http.Client{Transport: d.wire}).CloseIdleConnections()
}

// event returns a report as a Sentry event. Only the data listed here is sent.
func (r *Reporter) event(rep report) *sentrygo.Event {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	e := &sentrygo.Event{
		EventID:    sentrygo.EventID(hex.EncodeToString(id[:])),
		Timestamp:  rep.at.UTC(),
		Level:      sentrygo.LevelError,
		Platform:   "go",
		Sdk:        sentrygo.SdkInfo{Name: "sentry.go", Version: sentrygo.SDKVersion},
		ServerName: r.host,
		Release:    r.release,
		Tags:       map[string]string{"code": rep.code},
	}
	exception := sentrygo.Exception{Type: rep.code, Value: wording.Truncate(rep.message, maxReported-len("…"))}
	if rep.endpoint != "" {
		endpoint, _, _ := strings.Cut(rep.endpoint, "?")
		e.Tags["endpoint"] = wording.Truncate(endpoint, 200-len("…"))
	}
	if rep.panicked {
		e.Level = sentrygo.LevelFatal
		exception.Type = "panic"
		exception.Stacktrace = r.stacktrace(rep.stack)
		e.Fingerprint = []string{rep.code, "{{ default }}"} // Sentry distinguishes events by their stacks
	} else {
		e.Fingerprint = []string{rep.code, e.Tags["endpoint"]}
	}
	e.Exception = []sentrygo.Exception{exception}
	return e
}

// stacktrace returns the stack of a panic, without the calls that recovered the panic and those of
// the runtime. Files are named by their packages, not by where the program was built.
func (r *Reporter) stacktrace(stack []uintptr) *sentrygo.Stacktrace {
	var trace sentrygo.Stacktrace
	calls := runtime.CallersFrames(stack)
	for more, recovering := true, true; more; {
		var call runtime.Frame
		call, more = calls.Next()
		if recovering && call.Function == "runtime.gopanic" {
			trace.Frames, recovering = nil, false
		}
		if call.Function == "" || strings.HasPrefix(call.Function, "runtime.") {
			continue
		}
		frame := sentrygo.NewFrame(call)
		frame.Filename, frame.AbsPath = path.Join(frame.Module, path.Base(call.File)), ""
		frame.InApp = frame.Module == "main" || strings.HasPrefix(frame.Module+"/", r.modules+"/")
		trace.Frames = append(trace.Frames, frame)
	}
	slices.Reverse(trace.Frames) // Sentry expects the innermost call last
	return &trace
}

// Close sends the reports in the queue, for two seconds at most and not beyond ctx, and ends
// the reporter. Later reports are lost. It may be called again, also concurrently.
func (r *Reporter) Close(ctx context.Context) {
	if r == nil {
		return
	}
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.queue)
	}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	select {
	case <-r.ended:
	case <-ctx.Done():
	}
	r.cancel()
	<-r.ended
	r.client.CloseIdleConnections()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost > 0 {
		r.logLost()
	}
}
