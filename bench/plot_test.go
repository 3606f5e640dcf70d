package bench

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// drawn returns the picture of results.
func drawn(t *testing.T, opts Options, results ...*result) []byte {
	t.Helper()
	opts.Plot = filepath.Join(t.TempDir(), "r.svg")
	r := &run{opts: opts, results: results}
	if err := r.draw(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(opts.Plot)
	if err != nil {
		t.Fatal(err)
	}
	if err := isPicture(content); err != nil {
		t.Fatal(err)
	}
	return content
}

// plottedResult returns a result with one round.
func plottedResult(name string, cpu float64) *result {
	return &result{Name: name, Capacity: 1234, Rounds: []pair{{Baseline: side1(10), Candidate: side1(cpu)}}}
}

// textsOf returns the texts of an SVG, as a reader sees them.
func textsOf(t *testing.T, svg []byte) []string {
	t.Helper()
	var doc struct {
		Texts []string `xml:"text"`
	}
	if err := xml.Unmarshal(svg, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Texts
}

// boxesOf returns the left edges and the heights of the bars of a color in an SVG.
func boxesOf(t *testing.T, svg []byte, color int) (lefts, heights []int) {
	t.Helper()
	svg = svg[:bytes.LastIndex(svg, []byte(`<rect class="bar s6"`))] // the legend
	box := regexp.MustCompile(fmt.Sprintf(`<rect class="bar s%d" x="([0-9.]+)" y="[0-9.]+" width="[0-9.]+" height="([0-9.]+)"`, color))
	for _, m := range box.FindAllSubmatch(svg, -1) {
		left, _ := strconv.ParseFloat(string(m[1]), 64)
		height, _ := strconv.ParseFloat(string(m[2]), 64)
		lefts, heights = append(lefts, int(left)), append(heights, int(height))
	}
	return lefts, heights
}

func TestPlotSaysWhatItShows(t *testing.T) {
	const name = `GET /<a>&"b"`
	res := plottedResult(name, 20)
	unknown := plottedResult(name, math.NaN())
	res.Curve = []step{{0.5, 100, res.Rounds}, {1.2, 1000, res.Rounds}}
	for _, c := range []struct {
		opts Options
		res  *result
		want []string
	}{
		{Options{}, res, []string{"CPU time of a request", "µs", "bare fasthttp handler", "mockserver", name, "0", "20"}},
		{Options{}, unknown, []string{"Requests answered", "requests/s", "bare fasthttp handler", "mockserver", name, "1000"}},
		{Options{Rate: Rate{PerSecond: 5}}, res, []string{"Latency from the time a request was due", "ms", "percentile",
			"50", "90", "99", "99.9", "99.99", name + ", bare", name + ", server"}},
		{Options{Curve: true}, res, []string{name + ": latency by load; capacity 1234 requests/s", "ms", "load, % of capacity", "0", "120",
			"p50, bare", "p50, server", "p99, bare", "p99, server", "p99.9, bare", "p99.9, server"}},
		{Options{Curve: true}, &result{Name: name, Curve: []step{{0.1, 100, []pair{{}}}}}, []string{"nothing was measured", "ms"}},
	} {
		got := textsOf(t, drawn(t, c.opts, c.res))
		for _, want := range c.want {
			if !slices.Contains(got, want) {
				t.Errorf("%q is not in the picture; %q are", want, got)
			}
		}
		if slices.Contains(got, "nothing was measured") != slices.Contains(c.want, "nothing was measured") {
			t.Errorf("got %q", got)
		}
	}
}

// With many results, long names and an unknown value, each result has its own bars, whose heights
// are proportional to its values.
func TestBarsAreAsHighAsTheirValues(t *testing.T) {
	var results []*result
	for i := range 40 {
		cpu := 20.0
		switch i {
		case 0:
			cpu = 40
		case 7:
			cpu = math.NaN()
		}
		results = append(results, plottedResult(fmt.Sprintf("%d %s", i, strings.Repeat("long name ", 20)), cpu))
	}
	svg := drawn(t, Options{}, results...)
	besides, bare := boxesOf(t, svg, grey)
	lefts, server := boxesOf(t, svg, blue)
	if len(bare) != 40 || len(server) != 40 {
		t.Fatalf("%d and %d bars of 40", len(bare), len(server))
	}
	if server[0] < 100 || bare[0] < server[0]/4-1 || bare[0] > server[0]/4+1 || server[1] < server[0]/2-1 || server[1] > server[0]/2+1 || server[7] != 0 {
		t.Errorf("10 µs are %d pixels high, 20 are %d, 40 are %d, an unknown value is %d", bare[0], server[1], server[0], server[7])
	}
	for i := range lefts[1:] {
		if lefts[i+1]-lefts[i] < 30 || lefts[i]-besides[i] < 10 {
			t.Errorf("bars are at %v, next to %v", lefts, besides)
			break
		}
	}
	if !bytes.Contains(svg, []byte(`rotate(45)`)) {
		t.Error("long names below narrow places are not slanted")
	}
}

// A single point is visible, as a dot, and a bar without a name is visible.
func TestPlotOfLittle(t *testing.T) {
	one := plottedResult("one", 20)
	one.Curve = []step{{0.45, 100, one.Rounds}}
	if svg := drawn(t, Options{Curve: true}, one); !regexp.MustCompile(`<path class="line s2" d="M[0-9.]+ [0-9.]+h0.1"/>`).Match(svg) {
		t.Errorf("no dot: %s", svg)
	}
	if lefts, _ := boxesOf(t, drawn(t, Options{}, plottedResult(" ", 20), plottedResult("", 20)), blue); len(lefts) != 2 {
		t.Errorf("%d bars of 2", len(lefts))
	}
}
