// Package listenertest starts mock servers for tests, as net/http/httptest does for Go handlers.
//
//	func TestClient(t *testing.T) {
//		mock := listenertest.Start(t, config.New(config.Endpoint{
//			Path:     "/rates/:currency",
//			Response: config.Response{Body: map[string]any{"rate": "1.25"}},
//		}), listener.Options{})
//		client := NewClient(mock.URL())
//		…
//	}
//
// A server stops at the end of the test that started it; tests that run at the same time
// may each have their own. The package is only for tests: it imports testing.
package listenertest

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/internal/wording"
	"mockserver/listener"
	"mockserver/listener/observe/logging"
	"mockserver/listener/observe/record"
)

// patience is how long the end of a test waits for requests in flight: a failed test may have left
// requests that would never end.
const patience = 2 * time.Second

// Start serves spec on a free port of the loopback address, or as opts say, until the test
// and its subtests have ended. It then closes every connection. If spec is invalid, or the
// server cannot listen, the test fails immediately with all errors. Without a Logger in opts,
// the log is written to the output of the test until the test ends. Templates see only the
// environment variables that opts.Env returns. Without Record in opts, every request is
// recorded, for Verify.
func Start(t testing.TB, spec *config.Spec, opts listener.Options) *listener.Server {
	t.Helper()
	return start(t, spec, opts, patience)
}

func start(t testing.TB, spec *config.Spec, opts listener.Options, grace time.Duration) *listener.Server {
	t.Helper()
	if opts.Logger == nil {
		log := &output{w: t.Output()}
		t.Cleanup(log.end) // runs after the cleanup below
		opts.Logger = logging.New("println", log, log)
	}
	if opts.Record == nil {
		opts.Record = &record.Options{Journal: record.JournalOptions{Sample: 1}}
	}
	server, err := listener.Start(spec, opts)
	if err != nil {
		t.Fatalf("cannot start the mock server:\n%v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Logf("the mock server is stopped: %v", err)
		}
		if err := server.Err(); err != nil {
			t.Errorf("the mock server failed: %v", err)
		}
	})
	return server
}

// FromText is like Start, with a configuration given as YAML text. Relative file names are
// resolved in the working directory, which is the directory of the test's package:
//
//	mock := listenertest.FromText(t, `
//	  - endpoint:
//	      path: /hello/:name
//	      response: {body: '{"hello": "{{path-params.name}}"}'}
//	`)
func FromText(t testing.TB, yaml string) *listener.Server {
	t.Helper()
	return Start(t, config.Parse("mock.yml", []byte(yaml)), listener.Options{})
}

// listed is the maximum number of requests that a failed verification lists.
const listed = 20

// Verify fails the test, but lets it continue, unless the server has received exactly want
// requests for which the condition is true. The condition is written as in endpoint.if; "" is
// true for all requests:
//
//	listenertest.Verify(t, mock, `method = POST and json-params.amount > 100`, 1)
//
// The failure lists the requests received, the nearest first, each with the parts of the condition
// (those between "and") that do not hold. Verify also fails the test if the condition is
// invalid, or if the server has not kept all requests, so that the count is unknown.
func Verify(t testing.TB, server *listener.Server, condition string, want int) {
	t.Helper()
	switch v, err := server.Verify(condition); {
	case err != nil:
		t.Errorf("cannot verify %q: %v", condition, err)
	case !v.Exact:
		t.Errorf("cannot verify %q: there were %s, and there may have been more: %s", condition, wording.Count(v.Count, "request"), v.Why)
	case v.Count != want:
		t.Errorf("%q matches %s, expected %d; %s", condition, wording.Count(v.Count, "request"), want, requests(server, condition))
	}
}

// requests lists the requests that a server has received: those for which fewest parts of a condition
// fail first, with these parts, and of those the newest.
func requests(server *listener.Server, condition string) string {
	journal := server.Journal()
	if len(journal) == 0 {
		return "no request arrived"
	}
	failed := map[uint64][]string{} // by the ID of the request
	for _, part := range partsOf(condition) {
		v, err := server.Verify(part)
		holds := map[uint64]bool{}
		for _, x := range v.Matches {
			holds[x.ID] = true
		}
		for _, x := range journal {
			if err == nil && !holds[x.ID] {
				failed[x.ID] = append(failed[x.ID], part)
			}
		}
	}
	slices.SortStableFunc(journal, func(a, b *record.Exchange) int { return len(failed[a.ID]) - len(failed[b.ID]) })
	var b strings.Builder
	fmt.Fprintf(&b, "%s arrived, the nearest first:", wording.Count(len(journal), "request"))
	for _, x := range journal[:min(len(journal), listed)] {
		fmt.Fprintf(&b, "\n\t%s %s: %d", x.Method, x.Target, x.Status)
		for _, part := range failed[x.ID] {
			fmt.Fprintf(&b, "\n\t\tdoes not hold: %s", part)
		}
		if body := x.Request.Body; len(body) > 0 && len(failed[x.ID]) > 0 {
			fmt.Fprintf(&b, "\n\t\tbody: %.200s", body)
		}
	}
	return b.String()
}

// partsOf returns the parts of a condition that must all hold; the whole condition if it is not simply
// a list of them.
func partsOf(condition string) []string {
	parts := strings.Split(condition, " and ")
	cut := func(part string) bool { // in a text or in parentheses
		return strings.Count(part, `"`)%2+strings.Count(part, "'")%2 > 0 || strings.Count(part, "(") != strings.Count(part, ")")
	}
	if strings.Contains(condition, " or ") || slices.ContainsFunc(parts, cut) {
		return []string{condition}
	}
	return parts
}

// output is the output of a test. Nothing may be written to it once the test has ended.
type output struct {
	mu    sync.Mutex // guards the fields below
	w     io.Writer
	ended bool
}

// Write writes a whole line, as loggers do. It drops the line if the test has ended.
func (o *output) Write(line []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended {
		return len(line), nil
	}
	return o.w.Write(line)
}

func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
}
