package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mockserver/internal/harness"
)

// side1 returns the figures of one side in a round, with a latency of 1 ms.
func side1(cpu float64) *figures {
	latency := harness.Histogram(slices.Repeat([]time.Duration{time.Millisecond}, 1000)...)
	return &figures{Requests: 1000, Seconds: 1, Rate: 1000, CPU: figure(cpu), Memory: 20e6, Busy: 0.5, Latency: latencies{latency}}
}

// round1 returns a round of the baseline and the server.
func round1(baseline, candidate *figures) round {
	return round{Sides: map[string]*figures{nameOfBaseline: baseline, nameOfCandidate: candidate}}
}

// finished returns a run with three rounds of one result, whose ratios are 1, 2 and 1.5.
func finished(t *testing.T, opts Options) (*run, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	opts.defaults()
	r := &run{opts: opts, out: &out, progress: io.Discard, machine: thisMachine("v1")}
	res := &result{Name: "static", Shows: "a fixed answer"}
	for _, cpu := range []float64{10, 20, 15} {
		res.Rounds = append(res.Rounds, round1(side1(10), side1(cpu)))
	}
	r.results = []*result{res}
	return r, &out
}

func TestTableShowsMedians(t *testing.T) {
	r, out := finished(t, Options{})
	if err := r.report(nil); err != nil {
		t.Fatal(err)
	}
	var row []string
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "static ") {
			row = strings.Fields(line)
		}
	}
	// The standard error of 1, 2 and 1.5: 0.5 divided by the square root of 3.
	want := []string{"static", "1000", "15.0", "1.500", "0.289", "1.00", "1.00", "20.0", "0"}
	if !reflect.DeepEqual(row, want) {
		t.Errorf("got  %q\nwant %q", row, want)
	}
	if !strings.Contains(out.String(), "noisy") {
		t.Errorf("rounds that lie 67 %% apart are not reported as noisy:\n%s", out)
	}
}

// A rival has a row, and its ratio is the ratio of its own rounds.
func TestTableOfRivals(t *testing.T) {
	r, out := finished(t, Options{Rivals: []Rival{{Name: "nginx"}}})
	for i := range r.results[0].Rounds {
		r.results[0].Rounds[i].Sides["nginx"] = side1(9 + float64(i))
	}
	if err := r.report(nil); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(out.String()) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	for _, want := range []string{"static 1000 15.0 1.500 0.289 1.00 1.00 20.0 0", "nginx 10.0 1.000 0.058 20.0 0"} {
		if !slices.Contains(rows, want) {
			t.Errorf("no row %q in\n%s", want, out)
		}
	}
	r.results[0].Rounds[1].Sides["nginx"].Errors = map[string]uint64{"status 404": 1}
	if r.results[0].judge(); r.results[0].Void != "errors of nginx: 1 × status 404" {
		t.Errorf("void: %q", r.results[0].Void)
	}
}

func TestErrorsMakeResultVoid(t *testing.T) {
	r, out := finished(t, Options{})
	r.results[0].Rounds[1].Sides[nameOfCandidate].Errors = map[string]uint64{"status 500": 3}
	r.results[0].judge()
	err := r.report(nil)
	if err == nil || !strings.Contains(err.Error(), "3 × status 500") {
		t.Errorf("error: %v", err)
	}
	if strings.Contains(out.String(), "15.0") {
		t.Errorf("a void result has figures:\n%s", out)
	}
	if d := r.document(true); d.Complete || d.Results[0].Void == "" {
		t.Errorf("JSON: complete %v, void %q", d.Complete, d.Results[0].Void)
	}
}

// A void result has no figures at a constant rate, and no medians in JSON.
func TestVoidResultHasNoFiguresAtARate(t *testing.T) {
	r, out := finished(t, Options{Rate: Rate{PerSecond: 1000}})
	r.results[0].Rounds[1].Sides[nameOfCandidate].Errors = map[string]uint64{"status 500": 3}
	r.results[0].judge()
	if err := r.report(nil); err == nil {
		t.Error("no error")
	}
	for _, side := range []string{"static  bare", "static  server"} {
		_, row, found := strings.Cut(out.String(), "\n"+side)
		row, _, _ = strings.Cut(row, "\n")
		if fields := strings.Fields(row); !found || len(fields) != 12 || strings.Trim(strings.Join(fields[1:11], ""), "–") != "" {
			t.Errorf("%s: got %q, want no figures\n%s", side, row, out)
		}
	}
	if got, err := json.Marshal(r.document(true).Results[0].Medians); err != nil || strings.Count(string(got), ":null") != 7+6+6 {
		t.Errorf("medians of a void result: %s, %v", got, err)
	}
}

func TestIncompleteIsSaid(t *testing.T) {
	r, out := finished(t, Options{})
	if err := r.report(ErrStopped); !errors.Is(err, ErrStopped) {
		t.Errorf("error: %v", err)
	}
	if !strings.Contains(out.String(), "incomplete") || !strings.Contains(out.String(), "static") {
		t.Errorf("got\n%s", out)
	}
}

func TestGeneratorThatIsTheBottleneckIsNamed(t *testing.T) {
	r, out := finished(t, Options{})
	for i := range r.results[0].Rounds {
		r.results[0].Rounds[i].Sides[nameOfCandidate].Busy = 0.99
	}
	if err := r.report(nil); err != nil || !strings.Contains(out.String(), "generator was the bottleneck") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestSummarize_LeavesOutUnknownFigures(t *testing.T) {
	if s := summarize([]figure{unknown, 4, 2}); s.median != 3 || s.least != 2 || s.most != 4 {
		t.Errorf("got %+v", s)
	}
}

// docs/bench.md names every field of the JSON form.
func TestJSONIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/bench.md")
	if err != nil {
		t.Fatal(err)
	}
	var walk func(of reflect.Type)
	walk = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(of.Elem())
		case reflect.Struct:
			for i := range of.NumField() {
				name := of.Field(i).Tag.Get("json")
				if !strings.Contains(string(text), "`"+name+"`") {
					t.Errorf("docs/bench.md does not name `%s`", name)
				}
				walk(of.Field(i).Type)
			}
		}
	}
	walk(reflect.TypeFor[document]())
}

func TestJSONFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	r, _ := finished(t, Options{JSON: path})
	r.results[0].Rounds[0].Sides[nameOfCandidate].CPU = unknown
	if err := r.report(nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Form     int
		Complete bool
		Results  []struct {
			Name   string
			Rounds []struct {
				Sides struct {
					Server struct {
						CPU     *float64           `json:"cpu_us_per_request"`
						Latency map[string]float64 `json:"latency_ms"`
						Memory  uint64             `json:"memory_bytes"`
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	round := got.Results[0].Rounds
	if got.Form != 2 || !got.Complete || len(round) != 3 || round[0].Sides.Server.CPU != nil || *round[1].Sides.Server.CPU != 20 || round[1].Sides.Server.Memory != 20e6 {
		t.Errorf("got %s", text)
	}
	if p99 := round[0].Sides.Server.Latency["p99"]; math.Abs(p99-1) > 0.01 {
		t.Errorf("p99 is %v ms; 1 ms within 1 %% is what was recorded", p99)
	}
}
