package bench

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wcharczuk/go-chart/v2"
	"github.com/wcharczuk/go-chart/v2/drawing"
)

// drawn is the picture of results in a format.
func drawn(t *testing.T, opts Options, format string, results ...*result) []byte {
	t.Helper()
	opts.Plot = filepath.Join(t.TempDir(), "r."+format)
	r := &run{opts: opts, results: results}
	if err := r.draw(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(opts.Plot)
	if err != nil {
		t.Fatal(err)
	}
	if err := isPicture(format, content); err != nil {
		t.Fatalf("%s: %v", format, err)
	}
	return content
}

// plottedResult is a result of one round.
func plottedResult(name string, cpu float64) *result {
	return &result{name: name, capacity: 1234, rounds: []pair{{baseline: side1(10), candidate: side1(cpu)}}}
}

// textsOf are the texts of an SVG, as a reader sees them.
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

// boxesOf are the left edges and the heights of the boxes of a colour in an SVG.
func boxesOf(t *testing.T, svg []byte, color string) (lefts, heights []int) {
	t.Helper()
	box := regexp.MustCompile(`d="M (\d+) (\d+)\nL \d+ \d+\nL \d+ (\d+)\nL \d+ \d+\nL \d+ \d+" style="[^"]*fill:rgba\(` + color + `,1.0\)`)
	for _, m := range box.FindAllSubmatch(svg, -1) {
		var n [3]int
		for i := range n {
			n[i], _ = strconv.Atoi(string(m[i+1]))
		}
		lefts, heights = append(lefts, n[0]), append(heights, n[2]-n[1])
	}
	return lefts, heights
}

func TestPlotSaysWhatItShows(t *testing.T) {
	const name = `GET /<a>&"b"`
	res := plottedResult(name, 20)
	unknown := plottedResult(name, math.NaN())
	res.curve = []step{{0.5, 100, res.rounds}, {1.2, 1000, res.rounds}}
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
		{Options{Curve: true}, &result{name: name, curve: []step{{0.1, 100, []pair{{}}}}}, []string{"nothing was measured", "ms"}},
	} {
		got := textsOf(t, drawn(t, c.opts, "svg", c.res))
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

// Many results with long names, one of them unknown: each has its bars, apart from the
// others, as high as its value is.
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
	svg := drawn(t, Options{}, "svg", results...)
	besides, bare := boxesOf(t, svg, "153,153,153")
	lefts, server := boxesOf(t, svg, "0,114,178")
	if len(bare) != 40 || len(server) != 40 {
		t.Fatalf("%d and %d bars of 40", len(bare), len(server))
	}
	if server[0] < 100 || bare[0] < server[0]/4-1 || bare[0] > server[0]/4+1 || server[1] < server[0]/2-1 || server[1] > server[0]/2+1 || server[7] != 0 {
		t.Errorf("10 µs are %d pixels high, 20 are %d, 40 are %d, an unknown value is %d", bare[0], server[1], server[0], server[7])
	}
	for i := range lefts[1:] {
		if lefts[i+1]-lefts[i] < 30 || lefts[i]-besides[i] < 10 {
			t.Errorf("bars stand at %v beside %v", lefts, besides)
			break
		}
	}
	if !bytes.Contains(svg, []byte(`rotate(45`)) {
		t.Error("long names below narrow places are not slanted")
	}
}

// A single point is no line, but is seen. So is a bar whose name has nothing to be seen.
func TestPlotOfLittle(t *testing.T) {
	one := plottedResult("one", 20)
	one.curve = []step{{0.45, 100, one.rounds}}
	for _, c := range []struct {
		name    string
		content []byte
		of      drawing.Color
	}{
		{"curve", drawn(t, Options{Curve: true}, "png", one), orange},
		{"no name", drawn(t, Options{}, "png", plottedResult(" ", 20), plottedResult("", 20)), blue},
	} {
		picture, err := png.Decode(bytes.NewReader(c.content))
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for y := range picture.Bounds().Dy() {
			for x := range 900 { // the legend is further right
				if r, g, b, _ := picture.At(x, y).RGBA(); r>>8 == uint32(c.of.R) && g>>8 == uint32(c.of.G) && b>>8 == uint32(c.of.B) {
					seen++
				}
			}
		}
		if seen < 4 {
			t.Errorf("%s: %d pixels are seen", c.name, seen)
		}
	}
}

// An axis reaches around what it shows, from one round number to another.
func TestTicks(t *testing.T) {
	labels := func(ticks []chart.Tick) string {
		var s []string
		for i, k := range ticks {
			if s = append(s, k.Label); i > 0 && !(ticks[i-1].Value < k.Value) {
				t.Errorf("ticks are not in order: %v", ticks)
			}
		}
		return strings.Join(s, " ")
	}
	for most, want := range map[float64]string{
		0: "0 0.2 0.4 0.6 0.8 1", 7.3: "0 1 2 3 4 5 6 7 8", 40: "0 5 10 15 20 25 30 35 40", 120: "0 20 40 60 80 100 120",
		1_200_000: "0 200000 400000 600000 800000 1000000 1200000", 0.03: "0 0.005 0.01 0.015 0.02 0.025 0.03",
	} {
		if got := labels(linear(most)); got != want {
			t.Errorf("to %v: %s; want %s", most, got, want)
		}
	}
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{nil, "0.1 0.2 0.5 1"},
		{[]float64{1}, "1 2"},
		{[]float64{3}, "2 5"},
		{[]float64{0.3, 40}, "0.2 0.5 1 2 5 10 20 50"},
		{[]float64{0.003, 9000}, "0.001 0.01 0.1 1 10 100 1000 10000"},
		{[]float64{math.NaN(), 0, -1, math.Inf(1), 3}, "2 5"},
	} {
		l := line("", blue, false)
		for _, v := range c.values {
			addPoint(&l, 1, v)
		}
		if got := labels(decades([]chart.Series{l})); got != c.want {
			t.Errorf("%v: %s; want %s", c.values, got, c.want)
		}
	}
}
