package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLatencyFromAFile(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("out.txt", " 50.000% 5ms\n 99.000% 20ms\n100.000% 30ms\n")
	write("x.csv", "t,elapsed\n1,10\n2,20\n3,30\n")
	write("fall.txt", " 50% 5ms\n 99% 2ms\n")
	path := write("mocks.yml", `
- endpoint: {path: /a, latency: {from: out.txt, failure-rate: 1%}, response: {}}
- endpoint: {path: /b, responses: [{latency: {from: x.csv, unit: ms, column: elapsed}}]}
`)
	spec := Load(path)
	if err := spec.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	a, b := spec.Endpoints[0].Latency, spec.Endpoints[1].Responses[0].Latency
	for _, c := range []struct {
		name string
		got  time.Duration
		want time.Duration
	}{
		{"p50 of wrk2", a.Lengths()(0.5), 5 * time.Millisecond}, {"p99 of wrk2", a.Lengths()(0.99), 20 * time.Millisecond},
		{"the maximum", a.Lengths()(1 - 1e-12), 30 * time.Millisecond}, {"the median of a column", b.Lengths()(0.5), 20 * time.Millisecond},
		{"its minimum", b.Min, 10 * time.Millisecond},
	} {
		if c.got != c.want {
			t.Errorf("%s is %v, want %v", c.name, c.got, c.want)
		}
	}
	if a.FailureRate != 0.01 {
		t.Errorf("the failure rate is %v", a.FailureRate)
	}
	if got := spec.Referenced(); !slices.Contains(got, filepath.Join(dir, "out.txt")) || !slices.Contains(got, filepath.Join(dir, "x.csv")) {
		t.Errorf("got the watched files %q", got)
	}
	for latency, want := range map[string]string{
		"{from: none.csv}":                   `mocks.yml:1:40: [0].endpoint.latency.from: none.csv: there is no such file`,
		"{from: x.csv, column: elapsed}":     `x.csv:2:3: [0].endpoint.latency.from: "10" has no unit; expected a duration such as 8.1ms, or unit: ms next to from`,
		"{from: fall.txt}":                   "fall.txt:2:1: [0].endpoint.latency.from: the length at 99 percent, 2ms, is below that at 50 percent, 5ms; lengths must not fall as percentiles rise",
		"{from: out.txt, p50: 2ms}":          "mocks.yml:1:40: [0].endpoint.latency.from: p50 and from belong to different forms of latency; expected one",
		"{from: out.txt, unit: years}":       "mocks.yml:1:55: [0].endpoint.latency.unit: ",
		`{from: ""}`:                         "mocks.yml:1:41: [0].endpoint.latency.from: ",
		"{from: x.csv, unit: ms, column: q}": `x.csv:1:1: [0].endpoint.latency.from: has no column "q"; expected t or elapsed`,
	} {
		spec := Load(write("mocks.yml", "- endpoint: {path: /a, latency: "+latency+", response: {}}\n"))
		err := spec.Problems.Err()
		if err == nil || !strings.HasPrefix(strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), ""), want) {
			t.Errorf("%s: got %v, want %s", latency, err, want)
		}
	}
}
