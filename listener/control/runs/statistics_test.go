//go:build measure

package runs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"mockserver/internal/histogram"
)

// law is a distribution of response times in milliseconds, by its quantile function.
type law struct {
	name string
	at   func(u float64) float64
	// level is the standard deviation of the logarithm of a factor that all requests of a second
	// share; 0 for independent requests.
	level float64
}

func normal(u float64) float64 { return math.Sqrt2 * math.Erfinv(2*u-1) }

// between interpolates the logarithm, as the percentile form of a latency does.
func between(points [][2]float64, u float64) float64 {
	i := min(slices.IndexFunc(points, func(p [2]float64) bool { return p[0] >= u }), len(points)-1)
	a, b := points[max(i-1, 0)], points[max(i, 1)]
	part := (u - a[0]) / (b[0] - a[0])
	return math.Exp(math.Log(a[1])*(1-part) + math.Log(b[1])*part)
}

var laws = []law{
	{"uniform, 10 to 100 ms", func(u float64) float64 { return 10 + 90*u }, 0},
	{"lognormal, median 80 ms, sigma 0.5", func(u float64) float64 { return 80 * math.Exp(0.5*normal(u)) }, 0},
	{"bimodal, 70 % around 20 ms and 30 % around 200 ms", func(u float64) float64 {
		if u < 0.7 {
			return 20 * math.Exp(0.2*normal(u/0.7))
		}
		return 200 * math.Exp(0.2*normal((u-0.7)/0.3))
	}, 0},
	{"percentiles: 80 ms, 150 ms, 400 ms, max 2 s", func(u float64) float64 {
		return between([][2]float64{{0, 20}, {0.5, 80}, {0.9, 150}, {0.99, 400}, {1, 2000}}, u)
	}, 0},
	{"lognormal, and each second another level, sigma 0.1", func(u float64) float64 { return 80 * math.Exp(0.5*normal(u)) }, 0.1},
}

// truth returns the percentile q of all seconds together.
func (l *law) truth(q float64) float64 {
	if l.level > 0 { // the product of two lognormal factors is lognormal
		return 80 * math.Exp(math.Hypot(0.5, l.level)*normal(q))
	}
	return l.at(q)
}

// simulated returns the report of a run of so many seconds and requests. One in a hundred requests
// fails. faster divides the times.
func simulated(t *testing.T, r *rand.Rand, l *law, requests, seconds int, faster float64) *Report {
	s := newScene("GET /a", "GET /b")
	runs, sampler := s.runs()
	entry, err := runs.Begin(Beginning{})
	if err != nil {
		t.Fatal(err)
	}
	var times [2]histogram.Histogram
	for second := range seconds {
		level := math.Exp(l.level * r.NormFloat64())
		for i := second * requests / seconds; i < (second+1)*requests/seconds; i++ {
			c := &s.counts.Endpoints[i%2]
			times[i%2].Add(time.Duration(l.at(r.Float64()) * level / faster * float64(time.Millisecond)))
			c.Requests++
			if r.IntN(100) == 0 {
				c.Broken++
			}
		}
		for i := range times {
			c := &s.counts.Endpoints[i]
			c.Statuses = map[int]uint64{200: c.Requests - c.Broken, 500: c.Broken}
			c.Total = histogram.Snapshot{}
			times[i].Read(&c.Total)
			c.Service = c.Total
		}
		sampler.Take(s.after(time.Second))
	}
	report, _ := runs.End(entry.ID)
	return report
}

// TestStatistics simulates runs, and counts how often intervals and findings are right. It prints the
// tables of docs/operations.md.
func TestStatistics(t *testing.T) {
	const runs, pairs = 300, 200
	r := rand.New(rand.NewPCG(1, 2))
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
	defer out.Flush()
	row := func(cells ...string) { fmt.Fprintln(out, "| "+strings.Join(cells, "\t | ")+"\t |") }
	row("response times", "500 requests", "2,000", "10,000", "100,000")
	row("---", "---", "---", "---", "---")
	for i := range laws {
		l := &laws[i]
		cells := []string{l.name}
		for _, requests := range []int{500, 2000, 10_000, 100_000} {
			inside, all := 0, 0
			for range runs {
				report := simulated(t, r, l, requests, 30, 1)
				for k, f := range report.Total.Times.Total.figures() {
					if f.Value == nil {
						continue
					}
					all++
					if truth := l.truth(percentiles[k].q); *f.Low <= truth && truth <= *f.High {
						inside++
					}
				}
			}
			share := float64(inside) / float64(all)
			cells = append(cells, fmt.Sprintf("%.1f %%", 100*share))
			if share < 0.93 || share > 0.97 {
				t.Errorf("%s, %d requests: %.1f %% of %d intervals contain the true percentile; expected 93 to 97 %%", l.name, requests, 100*share, all)
			}
		}
		row(cells...)
	}
	fmt.Fprintln(out)
	row("pairs of runs with 10,000 requests", "pairs with a finding", "p50 found")
	row("---", "---", "---")
	for i := range laws {
		l := &laws[i]
		for _, faster := range []float64{1, 1.05} {
			findings, found := 0, 0
			for range pairs {
				c := Compare(simulated(t, r, l, 10_000, 30, 1), simulated(t, r, l, 10_000, 30, faster))
				if !strings.HasPrefix(c.Text, "No figure") {
					findings++
				}
				if c.Total.TotalP50.Finding == "better" {
					found++
				}
			}
			name := l.name + ": equal"
			if faster > 1 {
				name = l.name + ": 5 % faster"
			} else if findings > pairs/20 {
				t.Errorf("%s: %d of %d equal pairs have a finding; expected at most 5 %%", l.name, findings, pairs)
			}
			if faster > 1 && l.name == laws[1].name && found < pairs*95/100 {
				t.Errorf("%s: p50 is found in %d of %d pairs; expected at least 95 %%", l.name, found, pairs)
			}
			row(name, fmt.Sprintf("%.1f %%", 100*float64(findings)/pairs), fmt.Sprintf("%.1f %%", 100*float64(found)/pairs))
		}
	}
}
