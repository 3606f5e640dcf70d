package internal_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"mockserver/internal/harness"
	"mockserver/internal/histogram"
)

// The readings of three histograms, added up in raw form, equal the reading of a single histogram
// that counted all durations: in every cell, and so in every percentile.
func TestSnapshot_RawFormsAddUpToOneRecorder(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var all histogram.Histogram
	var parts [3]histogram.Histogram
	for range 100_000 {
		d := time.Duration(rng.ExpFloat64() * float64(3*time.Millisecond))
		all.Add(d)
		parts[rng.IntN(3)].Add(d)
	}
	all.Add(2 * time.Hour) // beyond the last cell
	parts[1].Add(2 * time.Hour)
	var want histogram.Snapshot
	all.Read(&want)
	got := histogram.Sum(func(yield func(histogram.Snapshot) bool) {
		for i := range parts {
			var one histogram.Snapshot
			parts[i].Read(&one)
			parsed, err := histogram.ParseRaw(one.AppendRaw(nil))
			if err != nil {
				t.Fatal(err)
			}
			if !yield(parsed) {
				return
			}
		}
	})
	if got.Count != want.Count || got.Sum != want.Sum || got.Max != want.Max || !sameCells(got, want) {
		t.Fatalf("got %d durations, sum %v, max %v; want %d, %v, %v", got.Count, got.Sum, got.Max, want.Count, want.Sum, want.Max)
	}
	for _, q := range []float64{0, 0.5, 0.9, 0.95, 0.99, 0.999, 1} {
		if got.Quantile(q) != want.Quantile(q) {
			t.Errorf("quantile %v is %v, want %v", q, got.Quantile(q), want.Quantile(q))
		}
	}
}

// The raw form is the documented one, encoded by hand here: 127 ns is cell 127, 128 and 129 ns are
// cells 128 and 129.
func TestSnapshot_RawForm(t *testing.T) {
	raw := harness.Histogram(127, 128, 129, 129).AppendRaw(nil)
	if want := []byte{0x81, 1, 127, 1, 0, 1, 0, 2}; !slices.Equal(raw, want) {
		t.Errorf("got % x, want % x", raw, want)
	}
	text, err := json.Marshal(struct{ A, B histogram.Snapshot }{A: harness.Histogram(1)})
	if err != nil || string(text) != `{"A":"AQEB","B":""}` {
		t.Errorf("got %s, %v", text, err)
	}
	var back struct{ A, B histogram.Snapshot }
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back.A, harness.Histogram(1)) || back.B.Count != 0 {
		t.Errorf("got %+v, %v", back, err)
	}
}

func TestParseRaw_Refuses(t *testing.T) {
	for name, raw := range map[string][]byte{
		"a maximum alone":        {5},
		"half a varint":          {0x80},
		"a cell without a count": {5, 5},
		"a count of 0":           {5, 5, 0},
		"a cell that is none":    {5, 0x80, 0x24, 1}, // 36 * 128
		"too many in all":        append(slices.Concat([]byte{5, 1}, most, []byte{0}), most...),
		"a cell beyond the last": {5, 0xff, 0x23, 1, 0, 1},
	} {
		if l, err := histogram.ParseRaw(raw); err == nil {
			t.Errorf("%s: read as %+v", name, l)
		}
	}
}

// most is the varint of 2^63-1.
var most = []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}

// A reading that was parsed from its raw form is unchanged when it is written and parsed again.
func FuzzParseRaw(f *testing.F) {
	f.Add(harness.Histogram(1, 1000, time.Hour).AppendRaw(nil))
	f.Add([]byte{5, 0xff, 0x23, 1})
	f.Fuzz(func(t *testing.T, raw []byte) {
		l, err := histogram.ParseRaw(raw)
		if err != nil {
			return
		}
		again, err := histogram.ParseRaw(l.AppendRaw(nil))
		if err != nil || !reflect.DeepEqual(l, again) || l.Quantile(0.5) < 0 && l.Max >= 0 {
			t.Errorf("%+v became %+v, %v", l, again, err)
		}
	})
}
