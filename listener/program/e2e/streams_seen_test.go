package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"testing"

	"mockserver/internal/harness"
)

// A stream is in the metrics and the counts: its items with their times, those that are open, and how they ended.
func TestStreams_AreCounted(t *testing.T) {
	for way := range TestedWays() {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			file := harness.WriteFile(t, t.TempDir(), "m.yml", `
- endpoint: {path: /words, response: {stream: [{times: 4, data: word}, {data: "[DONE]", with: previous}], pace: {first: 20ms, gap: 2ms, shared: 250/s}}}
- endpoint: {path: /short, response: {stream: [{times: forever, data: a}], pace: {gap: 1h}, max-duration: 20ms}}
- endpoint: {path: /plain, response: {body: plain}}`)
			p := StartBy(t, way, "-c", file, "--admin", "127.0.0.1:0")
			a := AdminOf(p)
			for range 3 {
				p.Get("/words").Want(t, 200, strings.Repeat("data: word\n\n", 4)+"data: [DONE]\n\n")
			}
			p.Do("HEAD", "/words", "").Want(t, 200, "")
			p.Get("/short").Want(t, 200, "data: a\n\n")
			p.Get("/plain").Want(t, 200, "plain")
			metrics := Scrape(t, a)
			words, short := []string{"endpoint", "GET /words"}, []string{"endpoint", "GET /short"}
			for name, want := range map[string]float64{"items_total": 15, "bytes_total": 3 * 62, "open": 0, "stretch": 1} {
				if got := Value(t, metrics, "mockserver_stream_"+name, words...); got != want {
					t.Errorf("%s is %v, want %v", name, got, want)
				}
			}
			for name, want := range map[string]uint64{"first": 3, "gap": 9, "gap_error": 9} {
				m := Metric(t, metrics, "mockserver_stream_"+name+"_seconds", words...).GetHistogram()
				if m.GetSampleCount() != want {
					t.Errorf("%s has %d values, want %d", name, m.GetSampleCount(), want)
				}
				if name == "first" && m.GetSampleSum() < 3*0.02*0.99 {
					t.Errorf("the first items came after %v s", m.GetSampleSum())
				}
			}
			if got := Value(t, metrics, "mockserver_stream_ends_total", append(words, "end", "complete")...); got != 3 {
				t.Errorf("%v are complete", got)
			}
			if got := Value(t, metrics, "mockserver_stream_ends_total", append(short, "end", "max-duration")...); got != 1 {
				t.Errorf("%v ended by max-duration", got)
			}
			if text := a.Get("/metrics").Body; strings.Contains(text, `mockserver_stream_items_total{condition="",endpoint="GET /plain"`) {
				t.Error("there are items of an endpoint without a stream")
			}
			var counts struct {
				Endpoints []struct {
					Endpoint string
					Streams  *struct {
						Open, Items, Bytes uint64
						Ends               map[string]uint64
						Stretch            float64
						Gap                struct{ Count uint64 }
					}
				}
			}
			a.Get("/__admin/counts").Into(t, 200, &counts)
			if s := counts.Endpoints[0].Streams; s == nil || s.Items != 15 || s.Open != 0 || fmt.Sprint(s.Ends) != "map[complete:3]" || s.Stretch < 1.99 || s.Stretch > 2.01 || s.Gap.Count != 9 {
				t.Errorf("the counts are %+v", s)
			}
			if counts.Endpoints[2].Streams != nil {
				t.Errorf("the counts of an endpoint without a stream are %+v", counts.Endpoints[2])
			}
		})
	}
}

// A run has the items of its time, also of a stream that was open before it and is open at its end. The report and the
// comparison show what is declared next to what was delivered, the journal how a stream ended. Without streams, none of
// them says anything about streams.
func TestStreams_AreReported(t *testing.T) {
	t.Parallel()
	p, a := Administered(t, `
- endpoint: {path: /words, response: {stream: [{times: 4, data: word}], pace: {first: 20ms, gap: 2ms, shared: 250/s}}}
- endpoint: {path: /forever, response: {stream: [{times: forever, data: tick}], pace: {gap: 1ms}}}
- endpoint: {path: /plain, response: {body: plain}}`, "--journal-sample", "1")
	run := func(id string, during func()) {
		if got := a.Do("POST", "/__admin/runs", `{"settle": "0s"}`); got.Status != 201 {
			t.Fatal(got)
		}
		during()
		if got := a.Do("POST", "/__admin/runs/"+id+"/stop", ""); got.Status != 200 {
			t.Fatal(got)
		}
	}
	type figure struct{ Value *float64 }
	type quantiles struct {
		Count int
		P50   figure
	}
	type endpoint struct {
		Endpoint      string
		Requests      int
		Items         int                         `json:"stream_items"`
		Ends          map[string]int              `json:"stream_ends"`
		Stretch       float64                     `json:"stretch"`
		DeclaredFirst *struct{ P50, P99 float64 } `json:"declared_first"`
		DeclaredGap   *struct{ P50, P99 float64 } `json:"declared_gap"`
		First         *quantiles                  `json:"stream_first"`
		Gap           *quantiles                  `json:"stream_gap"`
		GapError      *quantiles                  `json:"stream_gap_error"`
	}
	report := func(id string) (all []endpoint) {
		var shown struct{ Endpoints []endpoint }
		a.Get("/__admin/runs/"+id).Into(t, 200, &shown)
		return shown.Endpoints
	}
	run("1", func() { p.Get("/plain").Want(t, 200, "plain") })
	conn := p.Dial()
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /forever HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	if line, err := in.ReadString('\n'); line != "HTTP/1.1 200 OK\r\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	run("2", func() {
		for range 6 {
			p.Get("/words").Want(t, 200, strings.Repeat("data: word\n\n", 4))
		}
		harness.Until(t, "items of the run", func() bool { return len(report("2")) == 2 && report("2")[0].Items > 0 && report("2")[1].Items > 0 })
	})
	if all := report("1"); len(all) != 1 || all[0].First != nil || all[0].Items != 0 {
		t.Errorf("the report of a run without streams has %+v", all)
	}
	all := report("2")
	words, forever := all[0], all[1]
	if words.Endpoint != "GET /words" || words.Requests != 6 || words.Items != 24 || words.Ends["complete"] != 6 || words.Stretch < 1.99 || words.Stretch > 2.01 ||
		words.DeclaredFirst.P50 != 20 || words.DeclaredGap.P99 != 2 || words.First.Count != 6 || words.Gap.Count != 18 || words.GapError.Count != 18 {
		t.Errorf("got %+v", words)
	}
	if forever.Endpoint != "GET /forever" || forever.Requests != 0 || forever.Items == 0 || forever.First != nil && forever.First.Count > 0 || forever.DeclaredFirst != nil || forever.DeclaredGap.P50 != 1 {
		t.Errorf("of the stream that was open all the time: %+v", forever)
	}
	for id, want := range map[string]bool{"1": false, "2": true} {
		page := a.Get("/__admin/runs/" + id + "/report").Body
		for _, text := range []string{`<a href="#streams">`, "gap, declared", "slower by a shared rate: 2 times"} {
			if strings.Contains(page, text) != want {
				t.Errorf("the page of run %s contains %q: %v", id, text, !want)
			}
		}
	}
	for query, want := range map[string]bool{"a=1&b=1": false, "a=1&b=2": true} {
		page := a.Get("/__admin/runs/compare?" + query + "&format=html").Body
		if strings.Contains(page, "Gap p99, streams") != want {
			t.Errorf("the comparison %s has gaps: %v", query, !want)
		}
	}
	_ = conn.Close()
	journal := map[string]string{}
	harness.Until(t, "the stream has ended", func() bool {
		var shown struct {
			Requests []struct {
				Target string
				Stream *struct {
					Items    int
					End      string
					Stretch  float64
					Duration float64 `json:"duration_ms"`
				}
				Response struct{ Size int }
			}
		}
		a.Get("/__admin/journal").Into(t, 200, &shown)
		for _, x := range shown.Requests {
			journal[x.Target] = "none"
			if s := x.Stream; s != nil && s.Duration > 0 {
				journal[x.Target] = fmt.Sprintf("%s, %d of %d bytes, %.1f", s.End, s.Items, x.Response.Size, s.Stretch)
			}
		}
		return journal["/forever"] != ""
	})
	if !strings.HasPrefix(journal["/forever"], "client, ") || journal["/words"] != "complete, 4 of 48 bytes, 2.0" || journal["/plain"] != "none" {
		t.Errorf("the journal has %v", journal)
	}
}
