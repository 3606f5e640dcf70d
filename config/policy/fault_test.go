package policy

import (
	"math"
	"strings"
	"testing"
)

func FuzzParseAfter(f *testing.F) {
	for _, text := range []string{"12 items", "1 item", "0 items", "40%", "0.5%", "100%", "101%", "3s", "1h2m3.5ms", "25h", "-1s", "1 items ", "12", "s", "", "1e2%", "99999999 items"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, unit, ok := parseAfter(text)
		if ok && (n < 0 || math.IsNaN(n) || math.IsInf(n, 0) || unit == AfterPercent && n > 100 || unit == AfterTime && n > float64(maxLatency)) {
			t.Errorf("%q is %v%s", text, n, unit)
		}
		if ok && !afterText.MatchString(text) || ok && strings.HasSuffix(text, "%") != (unit == AfterPercent) {
			t.Errorf("%q is accepted, as %v%s", text, n, unit)
		}
	})
}

func TestSpeeds(t *testing.T) {
	for _, c := range []struct {
		given any
		want  [3]int // at 0, 1 % and 90 %
	}{
		{nil, [3]int{1024, 1024, 1024}},
		{4096, [3]int{4096, 4096, 4096}},
		{&Latency{Curve: []Percentile{{Rank: 1, Length: 4 << 10}, {Rank: 50, Length: 64 << 10}}}, [3]int{1, 4 << 10, 64 << 10}},
		{&Latency{Min: 100, Max: 1100}, [3]int{100, 110, 1000}},
	} {
		speeds := (&Fault{BytesPerSecond: c.given}).Speeds()
		if got := [3]int{speeds(0), speeds(0.01), speeds(0.9)}; got != c.want {
			t.Errorf("%+v: got %v, want %v", c.given, got, c.want)
		}
	}
}
