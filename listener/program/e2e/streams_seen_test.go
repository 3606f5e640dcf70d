package e2e_test

import (
	"fmt"
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
			p := StartBy(t, way, "-c", file, "--admin", "127.0.0.1:0").Listening()
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
