package runs

import (
	"math"
	"reflect"

	"mockserver/internal/histogram"
	"mockserver/listener/observe/verdict"
)

// distributions lists the distributions of a run, in the order of the fields of verdict.Times.
var distributions = func() (list [17]struct{ name, title string }) {
	for i, f := range reflect.VisibleFields(reflect.TypeFor[verdict.Times[int]]()) {
		list[i].name, list[i].title = f.Tag.Get("json"), f.Tag.Get("title")
	}
	return list
}()

// Percentile is one point of a distribution: Percentile percent of the durations were at most MS.
type Percentile struct {
	Percentile float64 `json:"percentile" doc:"percentile, from 0 to 100"`
	MS         float64 `json:"ms" doc:"time that this percentage took at most"`
}

// Percentiles contains the distributions by percentile. As in HdrHistogram, the steps become smaller
// towards 100 %. A distribution is empty if nothing was timed.
type Percentiles struct{ verdict.Times[[]Percentile] }

// percentilesOf returns a distribution by percentile, with the same steps between any two nines: 0
// to 90, 90 to 99, 99 to 99.9. It ends with the longest duration, as soon as less than one duration
// is left.
func percentilesOf(l histogram.Snapshot) []Percentile {
	list := []Percentile{}
	if l.Count == 0 {
		return list
	}
	for nine := 1.0; ; nine /= 10 {
		for _, tenth := range [...]float64{10, 9, 8, 7, 6, 5, 4, 3, 2.5, 2, 1.5, 1.2} {
			left := nine * tenth / 10
			if left*float64(l.Count) < 1 {
				return append(list, Percentile{100, verdict.Milliseconds(l.Max)})
			}
			// Rounded to 99.97 instead of 99.970000000000013.
			list = append(list, Percentile{math.Round((1-left)*1e12) / 1e10, verdict.Milliseconds(l.Quantile(1 - left))})
		}
	}
}
