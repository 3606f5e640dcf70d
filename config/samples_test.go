package config_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"mockserver/config/samples"
)

const ms = time.Millisecond

// lengthAt returns the length of a curve at a rank, interpolated linearly between its points.
func lengthAt(c samples.Curve, rank float64) time.Duration {
	points := append([]samples.Point{{Length: c.Min}}, append(c.Points, samples.Point{Rank: 100, Length: c.Max})...)
	for i := 1; ; i++ {
		if low, high := points[i-1], points[i]; rank <= high.Rank {
			return low.Length + time.Duration(math.Round((rank-low.Rank)/(high.Rank-low.Rank)*float64(high.Length-low.Length)))
		}
	}
}

// near reports whether two lengths agree within 1 % or 1 ms.
func near(a, b time.Duration) bool {
	return math.Abs(float64(a-b)) <= max(float64(ms), 0.01*float64(b))
}

func TestCurveHasThePercentilesOfItsSamples(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() time.Duration{
		"lognormal": func() time.Duration { return time.Duration(20 * float64(ms) * math.Exp(0.6*random.NormFloat64())) },
		"two modes": func() time.Duration {
			if random.Float64() < 0.03 {
				return 2*time.Second + time.Duration(random.Int64N(int64(50*ms)))
			}
			return 20*ms + time.Duration(random.Int64N(int64(5*ms)))
		},
	} {
		all := make([]time.Duration, 20_000)
		for i := range all {
			all[i] = draw()
		}
		c := samples.Of(all) // sorts
		if c.Min != all[0] || c.Max != all[len(all)-1] || c.Count != int64(len(all)) {
			t.Errorf("%s: %+v", name, c)
		}
		for _, rank := range []float64{50, 75, 90, 95, 99, 99.9} {
			if want := all[int(math.Ceil(rank/100*float64(len(all))))-1]; !near(lengthAt(c, rank), want) {
				t.Errorf("%s: p%v is %v, want %v", name, rank, lengthAt(c, rank), want)
			}
		}
	}
}

func TestHowManyPointsACurveHas(t *testing.T) {
	for _, c := range []struct {
		samples, points int
		last            float64
	}{{1, 0, 0}, {2, 0, 0}, {3, 1, 50}, {100, 98, 98.989899}, {101, 30, 99}, {9_999, 73, 99.989998}, {10_000, 26, 99.9}, {100_000, 27, 99.99}} {
		all := make([]time.Duration, c.samples)
		for i := range all {
			all[i] = time.Duration(i+1) * time.Microsecond
		}
		got := samples.Of(all)
		if len(got.Points) != c.points || c.points > 0 && got.Points[c.points-1].Rank != c.last {
			t.Errorf("%d samples: %d points, %+v", c.samples, len(got.Points), got.Points)
		}
	}
	// 1,000 samples, of which the largest are 47 ms and 200 ms: p99.9 is what was recorded.
	all := make([]time.Duration, 998)
	for i := range all {
		all[i] = time.Duration(i+1) * 10 * time.Microsecond
	}
	if got := lengthAt(samples.Of(append(all, 47*ms, 200*ms)), 99.8); got < 9*ms || got > 47*ms {
		t.Errorf("p99.8 is %v, want at most the second largest, 47ms", got)
	}
	if got := lengthAt(samples.Of(append(all, 47*ms, 200*ms)), 100*998.0/999); math.Abs(float64(got-47*ms)) > 1000 {
		t.Errorf("the second largest is %v, want 47ms", got)
	}
	if c := samples.Of([]time.Duration{ms, ms, ms}); c.Min != ms || c.Max != ms || len(c.Points) != 0 {
		t.Errorf("equal samples: %+v", c)
	}
}

func TestText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 15: "15ns", 8120 * time.Microsecond: "8.12ms", 412 * time.Microsecond: "412us", 1234567 * time.Microsecond: "1.2346s",
		30100 * ms: "30.1s", 999_999_999: "1000ms", time.Hour: "3600s",
	} {
		if got := samples.Text(d); got != want {
			t.Errorf("%v is written %s, want %s", time.Duration(d), got, want)
		}
		if _, err := time.ParseDuration(samples.Text(d)); err != nil {
			t.Error(err)
		}
	}
}

func read(name, text string, o samples.Options) (samples.Curve, error) {
	return samples.Read(name, strings.NewReader(text), o)
}

// The log is one of hdrhistogram-go v1.4.0 with the histograms of two tags: 1 to 500 ms and 501 to
// 1000 ms, each once, in nanoseconds.
const (
	hdrLog = "Tag=0,0.000000,0.000000,500.170751,HISTFAAAAIp42pJpmSzMwMD8iwECmKE0IwMDA+8P9wgG+w8QgYPrGJn" +
		"+8jOt5mA6z850mIXpKTMIPWdmOs/E9JERBX0Gk1cZmcqxwko4K5rJmsmSBIxNVJ5JmkmWSRoM8dPEqSJPFz8TLxMvEzcaSSl/aOr" +
		"iZGJmYoVDZiws7KK00TWY3DI0dQECAAD//23ZOfM=\n" +
		"Tag=1,0.000000,0.000000,1000.341503,HISTFAAAAE542pJpmSzMwMC8nwECmKE0IwMDA+8P9wgG+w8Qgbd7mZiYmVjhkBkLC7sopjwDE" +
		"wMTmECHFAlS30Q6WTNkHT5qzZBJVIAAAAD//4ndCxo=\n"
	// manySamples is a histogram with 2^62-1 times 0.
	manySamples = "HISTFAAAACF42pNpmSzMwMDAyQABzFCaEcp9Yf8Bwvr3HwLqAY6wC+Q="
)

const (
	wrk2 = `Running 30s test @ http://127.0.0.1:80/index.html
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    4.90ms
 99.900%   12.50ms
100.000%   20.00ms

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       1.000     0.000000            1         1.00
       5.000     0.500000          500         2.00
      12.000     0.999000          999      1000.00
      20.000     1.000000         1000          inf
#[Mean    =        5.123, StdDeviation   =        1.234]
----------------------------------------------------------
`
	wrk    = "  Latency Distribution\n     50%  635.91us\n     99%    1.35ms\n"
	vegeta = "Requests      [total, rate, throughput]  1200, 120.00, 65.87\n" +
		"Latencies     [min, mean, 50, 90, 95, 99, max]  90.43ms, 113.17ms, 108.27ms, 125.8ms, 140.18ms, 247.8ms, 1.98s\n"
	hdrplot    = "Value(ms)  Percentile  TotalCount  1/(1-Percentile)\n1.5  0.000000  0  1.000000\n3.0  0.500000  5  2.000000\n9.5  1.000000  10  Inf\n"
	vegetaJSON = `{"latencies": {"total": 9e9, "mean": 1e6, "50th": 1000000, "90th": 2000000, "99th": 4000000, "max": 8000000, "min": 500000}, "requests": 77}`
	recorded   = `{"mockserver":"recording","version":1}` + "\n" +
		`{"status":200,"first_us":1000,"last_us":2000}` + "\n" +
		`{"status":502,"error":"upstream_failed","first_us":0,"last_us":0}` + "\n" +
		`{"status":200,"first_us":3000,"last_us":4000}` + "\n" + `{"status":200,"first_us":9000,"last`
)

func TestFormats(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		o                samples.Options
		min, p50, max    time.Duration
		count            int64
	}{
		{"wrk2", "out.txt", wrk2, samples.Options{}, ms, 5 * ms, 20 * ms, 1000},
		{"wrk", "out.txt", wrk, samples.Options{}, 635910 * time.Nanosecond, 635910 * time.Nanosecond, 1350 * time.Microsecond, 1},
		{"vegeta", "out.txt", vegeta, samples.Options{}, 90430 * time.Microsecond, 108270 * time.Microsecond, 1980 * ms, 1},
		{"vegeta hdrplot", "plot.txt", hdrplot, samples.Options{}, 1500 * time.Microsecond, 3 * ms, 9500 * time.Microsecond, 10},
		{"vegeta JSON", "report.json", vegetaJSON, samples.Options{}, 500 * time.Microsecond, ms, 8 * ms, 77},
		{"recording", "real-0001.ndjson", recorded, samples.Options{}, ms, 2 * ms, 3 * ms, 2},
		{"durations", "a.csv", "1ms\n2ms\n4ms\n", samples.Options{}, ms, 2 * ms, 4 * ms, 3},
		{"numbers with a title", "a.csv", "elapsed\r\n1000\r\n2000\r\n4000\r\n", samples.Options{Unit: time.Microsecond}, ms, 2 * ms, 4 * ms, 3},
		{"a column", "results.jtl", "timeStamp,elapsed,label\n1,1,a\n2,2,b\n3,4,\"c, d\"\n", samples.Options{Unit: ms, Column: "elapsed"}, ms, 2 * ms, 4 * ms, 3},
		{"tabs", "a.tsv", "a\tb\n1\t0.001\n", samples.Options{Unit: time.Second, Column: "b"}, ms, ms, ms, 1},
	} {
		got, err := read(c.file, c.text, c.o)
		if err != nil || got.Min != c.min || got.Max != c.max || lengthAt(got, 50) != c.p50 || got.Count != c.count {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
	got, err := read("a.hlog", hdrLog, samples.Options{})
	if err != nil || got.Count != 1000 || !near(got.Min, ms) || !near(lengthAt(got, 50), 500*ms) || !near(lengthAt(got, 99), 990*ms) || !near(got.Max, time.Second) {
		t.Errorf("a log of HdrHistogram: %+v, %v", got, err)
	}
}

func TestErrorsNameTheirPlace(t *testing.T) {
	for _, c := range []struct{ name, file, text, want string }{
		{"empty", "a.csv", "", "has no sample"},
		{"no sample", "a.csv", "elapsed\n", "has no sample"},
		{"empty recording", "a.ndjson", `{"mockserver":"recording"}` + "\n", "has no sample"},
		{"something else", "a.txt", "hello\n", `1:1: has an unknown format; expected a recording, a log of HdrHistogram, percentiles of wrk2 or vegeta, or a table named .csv, .tsv or .jtl`},
		{"no unit", "a.csv", "1ms\n2\n", `2:1: "2" has no unit; expected a duration such as 8.1ms, or unit: ms next to from`},
		{"a word", "a.csv", "1ms\nx\n", `2:1: "x" is not a duration; expected a number, or a duration such as 8.1ms`},
		{"negative", "a.csv", "1ms\n-3ms\n", `2:1: "-3ms" is outside of 0 to 24h`},
		{"too long", "a.csv", "25h\n", `1:1: "25h" is outside of 0 to 24h`},
		{"percentiles fall", "a.txt", " 50% 2ms\n 90% 1ms\n", "2:1: the length at 90 percent, 1ms, is below that at 50 percent, 2ms; lengths must not fall as percentiles rise"},
		{"percentiles out of order", "a.txt", " 50% 2ms\n 10% 3ms\n", "2:1: the percentile 10 comes after 50; expected rising percentiles"},
		{"a line of a recording", "a.ndjson", `{"mockserver":"recording"}` + "\n{\"first_us\":\n", "2:1: is not an exchange: unexpected end of JSON input"},
		{"a histogram", "a.hlog", "#[x]\n0.1,1.0,2.7,HISTFAAAAE\n", "2:1: is not a histogram: "},
		{"too many samples", "a.hlog", "#[x]\n" + strings.Repeat("0,1,2,"+manySamples+"\n", 3), "4:1: has too many samples; expected fewer than 2^63"},
		{"not vegeta", "a.json", `{"a": 1}`, "1:1: is not a report of vegeta; expected an object with latencies"},
	} {
		_, err := read(c.file, c.text, samples.Options{})
		var p *samples.Problem
		if !errors.As(err, &p) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := read("a.csv", "a,b\n1ms,2ms\n", samples.Options{Column: "c"}); err == nil || err.Error() != `1:1: has no column "c"; expected a or b` {
		t.Errorf("an unknown column: %v", err)
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range []string{wrk2, wrk, vegeta, hdrplot, vegetaJSON, recorded, "1ms\n2ms\n", "a,b\n1,2\n", hdrLog, "#[\n", "{", "Tag=,\n,HIST"} {
		for _, name := range []string{"a.txt", "a.csv", "a.tsv"} {
			f.Add(name, text, int64(ms))
		}
	}
	f.Fuzz(func(t *testing.T, name, text string, unit int64) {
		c, err := read(name, text, samples.Options{Unit: time.Duration(max(0, min(unit, int64(time.Second))))})
		if err != nil {
			return
		}
		last := samples.Point{Length: c.Min}
		for _, p := range append(c.Points, samples.Point{Rank: 100, Length: c.Max}) {
			if p.Rank <= last.Rank || p.Length < last.Length || p.Length > samples.MaxLength {
				t.Fatalf("%v after %v in %+v", p, last, c)
			}
			last = p
		}
	})
}
