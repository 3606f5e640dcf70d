package imports_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/config/imports"
	"mockserver/config/imports/draft"
	form "mockserver/internal/recording"
	"mockserver/listener"
	"mockserver/listener/listenertest"
)

// streamed returns a line of a recording: a stream of events with a mark of its end. gaps are the times before each
// event; a ping comes in the middle of each but the first.
func streamed(n int, url string, gaps []time.Duration) (line, body string) {
	at := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Millisecond)
	l := form.Line{Time: at, Method: "GET", URL: "http://localhost:8000" + url, Status: 200, First: gaps[0].Microseconds(),
		Response: form.Message{Headers: [][2]string{{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-cache"}}}}
	var us int64
	add := func(text string, gap time.Duration) {
		us += gap.Microseconds()
		body += text
		l.Pieces = append(l.Pieces, form.Piece{int64(len(body)), us})
	}
	for i, gap := range gaps {
		if i > 0 {
			add(": ping\n\n", gap/2)
			gap -= gap / 2 / time.Microsecond * time.Microsecond
		}
		add(fmt.Sprintf("data: {\"stream\":%d,\"n\":%d,\"text\":\"{{x}}\"}\n\n", n, i), gap)
	}
	add("data: [DONE]\n\n", 0)
	l.Last, l.Response.Body, l.Response.Size = us, body, int64(len(body))
	return strings.TrimSuffix(string(l.Append(nil)), "\n"), body
}

// quantile is a distribution of gaps: 5 ms, and what is exponential with a mean of 10 ms.
func quantile(p float64) time.Duration {
	return time.Duration((5 - 10*math.Log(1-p)) * float64(time.Millisecond)).Round(time.Microsecond)
}

// lengthsOf returns the pace of the first stream of a specification, by percentiles.
func lengthsOf(t *testing.T, spec *config.Spec) (first, gap func(part float64) time.Duration, stream int) {
	t.Helper()
	for i := range spec.Endpoints {
		if r := &spec.Endpoints[i].Response; len(r.Items) > 0 {
			return r.Pace.First.Lengths(), r.Pace.Gap.Lengths(), i
		}
	}
	t.Fatal("there is no stream")
	return nil, nil, 0
}

// A server that streams with a known distribution of gaps is recorded, and the recording is imported: p50 to p99.9 of
// the times that are written are those of the server, within 1 % or 1 ms, without pings and the mark of the end. The
// bodies are those that were recorded.
func TestMake_Streams(t *testing.T) {
	const streams, each = 100, 101
	var lines []string
	var bodies []string
	var gaps []time.Duration
	for i := range streams * (each - 1) {
		gaps = append(gaps, quantile((float64(i*7919%(streams*(each-1)))+0.5)/(streams*(each-1))))
	}
	for n := range streams {
		own := append([]time.Duration{time.Duration(300+n) * time.Millisecond}, gaps[n*(each-1):(n+1)*(each-1)]...)
		line, body := streamed(n, "/events", own)
		lines, bodies = append(lines, line), append(bodies, body)
	}
	d, spec, text := made(t, draft.Options{}, recording(t, lines...))
	if lost, approximate := d.Count(draft.Lost), d.Count(draft.Approximate); lost+approximate > 0 {
		t.Errorf("%d lost, %d approximate in:\n%.2000s", lost, approximate, text)
	}
	first, gap, _ := lengthsOf(t, spec)
	for _, p := range []float64{0.5, 0.75, 0.9, 0.95, 0.99, 0.999} {
		if want := quantile(p); !near(gap(p), want) {
			t.Errorf("p%g of the gaps is %v, want %v", 100*p, gap(p), want)
		}
		if want := time.Duration(300+p*(streams-1)) * time.Millisecond; !near(first(p), want) {
			t.Errorf("p%g of the first events is %v, want %v", 100*p, first(p), want)
		}
	}
	server := listenertest.Start(t, spec, listener.Options{NoLatency: true})
	for range 3 {
		resp, err := http.Get(server.URL() + "/events")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if !slices.Contains(bodies, string(got)) || err != nil || resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%v %v: %.300s", resp.Header, err, got)
		}
	}
}

// With Exact, a stream is sent as it was recorded: each of its pieces at its time. A stream whose client left is one,
// too; JSON at the same path is an outcome of its own.
func TestMake_ExactStream(t *testing.T) {
	line, body := streamed(1, "/events", []time.Duration{40 * time.Millisecond, 20 * time.Millisecond, 30 * time.Millisecond})
	line = strings.Replace(line, `"first_us"`, `"error":"left","first_us"`, 1)
	for _, others := range [][]string{nil, {exchange(2, "/events", 200, time.Millisecond, "{}")}} {
		_, spec, text := made(t, draft.Options{Exact: true, Subtract: 5 * time.Millisecond}, recording(t, append(others, line)...))
		response := spec.Endpoints[0].Response
		for _, o := range spec.Endpoints[0].Responses {
			if len(o.Response.Items) > 0 {
				response = o.Response
			}
		}
		var got string
		var times []time.Duration
		for _, it := range response.Items {
			got += it.Body.Text.Value
			if it.After == nil {
				continue
			}
			if times = append(times, 0); it.After.Lengths() != nil {
				times[len(times)-1] = it.After.Lengths()(0.5)
			}
		}
		ms := time.Millisecond
		if want := []time.Duration{10 * ms, 10 * ms, 15 * ms, 15 * ms, 0}; got != body || !slices.Equal(times, want) || response.Pace.First.Lengths()(0.5) != 35*ms {
			t.Errorf("%q after %v, want %q after %v, in\n%s", got, times, body, want, text)
		}
	}
}

// What came of a body that is no stream before its client left is not a response.
func TestMake_NoStreamThatWasLeft(t *testing.T) {
	line, _ := streamed(1, "/part", []time.Duration{time.Millisecond, time.Millisecond})
	line = strings.NewReplacer(`"first_us"`, `"error":"left","first_us"`, "text/event-stream", "text/plain").Replace(line)
	_, spec, text := made(t, draft.Options{}, recording(t, exchange(2, "/whole", 200, time.Millisecond, "{}"), line))
	if len(spec.Endpoints) != 1 || spec.Endpoints[0].Path.Value != "/whole" {
		t.Errorf("endpoints for more than /whole:\n%s", text)
	}
}

// FuzzStreams imports recordings with any pieces: the result is a valid configuration.
func FuzzStreams(f *testing.F) {
	f.Add("data: a\n\n: ping\n\ndata: [DONE]\n\n", "text/event-stream", int64(9), int64(17), int64(100), false)
	f.Add("{}\n\n\xff\n", "application/jsonl", int64(3), int64(-1), int64(-5), true)
	f.Add("", "text/event-stream", int64(1)<<62, int64(1)<<62, int64(1)<<62, false)
	f.Fuzz(func(t *testing.T, body, kind string, a, b, us int64, exact bool) {
		l := form.Line{Method: "GET", URL: "http://h/a", Status: 200, Pieces: []form.Piece{{a, us}, {b, 2 * us}},
			Response: form.Message{Headers: [][2]string{{"Content-Type", kind}}}}
		if l.Response.SetContent([]byte(body)); body == "" {
			l.Response.Omitted = form.OmittedSize
		}
		d, err := imports.Make([]string{recording(t, strings.TrimSuffix(string(l.Append(nil)), "\n"))}, draft.Options{Exact: exact})
		if err != nil {
			return
		}
		defer d.Close()
		var text strings.Builder
		if err := d.Write(&text); err != nil {
			t.Fatal(err)
		}
		if len(d.Files) > 0 {
			return
		}
		if err := listener.Check(config.Parse("a.yml", []byte(text.String())), listener.Options{}).Err(); err != nil {
			t.Fatalf("%v in:\n%s", err, text.String())
		}
	})
}
