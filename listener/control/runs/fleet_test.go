package runs

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"mockserver/internal/harness"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/verdict"
)

// partOf returns the totals of a replica whose only endpoint had the given response times.
func partOf(hash string, seconds float64, lengths ...time.Duration) *Totals {
	l := harness.Histogram(lengths...)
	n := l.Count
	e := EndpointTotals{EndpointCounts: record.EndpointCounts{ID: "e", Endpoint: "GET /a", Requests: n, Statuses: map[int]uint64{200: n}, Faults: map[string]uint64{}, Total: l, Service: l, UpstreamWait: l}}
	t := &Totals{
		ID: "r", Verdict: RunVerdict{Trusted: true, Decisive: []string{}}, Configuration: Configuration{Hash: hash}, Sample: verdict.Sample{Seconds: seconds, Requests: n},
		Times: verdict.TimesOf(&e.EndpointCounts), Endpoints: []EndpointTotals{e}, Machine: Machine{OS: "linux", CPUs: 8, Procs: 4}, Program: Program{Version: "1"},
	}
	return t
}

func fleetOf(parts ...*Totals) *Fleet {
	f := &Fleet{ID: "r", Begin: time.Unix(1000, 0), Now: time.Unix(1010, 0)}
	for i, t := range parts {
		f.Parts = append(f.Parts, Part{Address: string(rune('a' + i)), Totals: t})
	}
	return f
}

func TestFleet_MergesExactly(t *testing.T) {
	one, two := partOf("x", 10, time.Millisecond, 2*time.Millisecond), partOf("x", 9, 3*time.Millisecond, time.Second)
	two.Endpoints[0].Statuses[503], two.Endpoints[0].Requests = 1, 3
	two.Endpoints = append(two.Endpoints, EndpointTotals{EndpointCounts: record.EndpointCounts{ID: "f", Endpoint: "GET /b", Requests: 7, Statuses: map[int]uint64{200: 7}}})
	two.Unmatched = []UnmatchedReport{{Path: "/x", Count: 3}}
	one.Unmatched = []UnmatchedReport{{Path: "/y", Count: 4}, {Path: "/x", Count: 2}}
	two.Machine.CPUs, two.Program.Version = 9, "2"
	text, err := json.Marshal(two) // as it is sent over the network
	if err == nil {
		two = new(Totals)
		err = json.Unmarshal(text, two)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := fleetOf(one, two).Report()
	all := quantilesOf(harness.Histogram(time.Millisecond, 2*time.Millisecond, 3*time.Millisecond, time.Second), "total", nil)
	same := func(a, b Quantiles) bool { return reflect.DeepEqual(a, b) }
	if all.P50.Value != nil || !same(r.Total.Total, all) || !same(r.Total.Own, all) || !same(r.Total.UpstreamWait, all) || r.Total.Requests != 4 || r.Total.Seconds != 10 || r.Total.Rate != 0.4 {
		t.Errorf("total %+v, want %+v", r.Total, all)
	}
	if len(r.Endpoints) != 2 || r.Endpoints[0].Endpoint != "GET /b" || r.Endpoints[1].Requests != 5 || r.Endpoints[1].Statuses[200] != 4 || r.Endpoints[1].Statuses[503] != 1 || !same(r.Endpoints[1].Total, all) {
		t.Errorf("the endpoints are %+v", r.Endpoints)
	}
	if len(r.Unmatched) != 2 || r.Unmatched[0].Path != "/x" || r.Unmatched[0].Count != 5 || r.Unmatched[1].Count != 4 {
		t.Errorf("the unmatched requests are %+v", r.Unmatched)
	}
	if r.Machine.CPUs != 9 || r.Machine.Procs != 8 || r.Machine.OS != "linux" || r.Program.Version != "1, 2" || r.Configuration.Hash != "x" {
		t.Errorf("the machine is %+v, the program %+v", r.Machine, r.Program)
	}
	if !r.Verdict.Trusted || len(r.Verdict.Reasons) > 0 {
		t.Errorf("the verdict is %+v", r.Verdict)
	}
	page, err := r.Page()
	if err != nil || !strings.Contains(string(page), "<h2 id=\"replicas\">") {
		t.Errorf("the page shows no replicas, %v", err)
	}
}

func TestFleet_Verdict(t *testing.T) {
	many := slices.Repeat([]time.Duration{time.Millisecond}, 100)
	for name, c := range map[string]struct {
		change func(f *Fleet)
		code   string // "" if the run is trusted
		of     string
	}{
		"nothing":                       {func(*Fleet) {}, "", ""},
		"one was lost":                  {func(f *Fleet) { f.Parts[1].Lost = "gone" }, "replica-lost", "b"},
		"one was never read":            {func(f *Fleet) { f.Parts[1] = Part{Address: "b", Lost: "gone"} }, "replica-lost", "b"},
		"one joined":                    {func(f *Fleet) { f.Joined = []string{"d"} }, "replica-joined", "d"},
		"one served something else":     {func(f *Fleet) { f.Parts[1].Totals.Configuration.Hash = "y" }, "configuration-differs", "b"},
		"one changed":                   {func(f *Fleet) { f.Parts[2].Totals.Configuration.Changed = true }, "configuration-differs", "c"},
		"one changed, and changed back": {func(f *Fleet) { f.Parts[2].Changed = true }, "configuration-differs", "c"},
		"one had nearly all":            {func(f *Fleet) { f.Parts[0].Totals, f.Parts[1].Totals = partOf("x", 10), partOf("x", 10) }, "uneven", "c"},
		"one had all of few": {func(f *Fleet) {
			f.Parts = fleetOf(partOf("x", 10, many[:2]...), partOf("x", 10), partOf("x", 10)).Parts
		}, "", ""},
		"one had half more, and no more": {func(f *Fleet) { f.Parts = fleetOf(partOf("x", 10, many[:75]...), partOf("x", 10, many[:25]...)).Parts }, "", ""},
		"one had a reason": {func(f *Fleet) {
			f.Parts[1].Totals.Verdict = RunVerdict{Decisive: []string{"steal"}, Reasons: []RunCause{{Code: "steal"}}}
		}, "steal", "b"},
		"one had a reason for a while":     {func(f *Fleet) { f.Parts[1].Totals.Verdict.Reasons = []RunCause{{Code: "steal"}} }, "", ""},
		"all were lost, without a reading": {func(f *Fleet) { f.Parts = []Part{{Address: "a", Lost: "gone"}} }, "replica-lost", "a"},
	} {
		f := fleetOf(partOf("x", 10, many...), partOf("x", 10, many...), partOf("x", 10, many...))
		c.change(f)
		v := f.Report().Verdict
		if v.Trusted != (c.code == "") || !v.Trusted && (!slices.Equal(v.Decisive, []string{c.code}) || v.Reasons[0].Replica != c.of || v.Reasons[0].Code != c.code) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// A chart over time keeps the total counts, no matter when the seconds of the replicas began.
func TestFleet_TimelineKeepsCounts(t *testing.T) {
	one, two := partOf("x", 3), partOf("x", 3)
	five := 5.0
	one.Timeline = []Point{{At: 0.4, Seconds: 0.4, Rate: 10, Trusted: true, InFlight: 3}, {At: 1.4, Seconds: 1, Rate: 20, Trusted: true, InFlight: 1}, {At: 3, Seconds: 1.6, Rate: 5, Trusted: true}}
	two.Timeline = []Point{{At: 1, Seconds: 1, Rate: 7, Trusted: true, OwnP99: &five}, {At: 2, Seconds: 1, Rate: 9, InFlight: 2}}
	r := fleetOf(one, two).Report()
	sum := 0.0
	for _, p := range r.Timeline {
		sum += p.Rate * p.Seconds
	}
	if want := 4.0 + 20 + 8 + 7 + 9; math.Abs(sum-want) > 1e-9 {
		t.Errorf("the curve has %v requests, want %v: %+v", sum, want, r.Timeline)
	}
	first := r.Timeline[0]
	// Calculated by hand: points of 1 to 1.6 s are joined into points of 2 s, so the first two
	// seconds are one point.
	if first.Seconds != 2 || !(first.Rate > 0) || first.InFlight != 5 || first.OwnP99 == nil || *first.OwnP99 != 5 || first.Trusted {
		t.Errorf("the first point is %+v", first)
	}
}

func TestFollow_ReplacesWhatWasJoined(t *testing.T) {
	points := Follow(nil, []Point{{At: 1, Seconds: 1}, {At: 2, Seconds: 1}, {At: 3, Seconds: 1}})
	points = Follow(points, []Point{{At: 4, Seconds: 2, Rate: 1}, {At: 5, Seconds: 1}})
	var got []float64
	for _, p := range points {
		got = append(got, p.At, p.Seconds)
	}
	if want := []float64{1, 1, 2, 1, 4, 2, 5, 1}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	var all []Point
	for at := range 5000 {
		all = Follow(all, []Point{{At: float64(at + 1), Seconds: 1, Rate: 1}})
	}
	covered := 0.0
	for _, p := range all {
		covered += p.Seconds
	}
	if len(all) > 2*pointsKept || covered != 5000 {
		t.Errorf("%d points cover %v seconds", len(all), covered)
	}
}

// For every figure of a sample, the sum or the largest value of the replicas is taken: no replica's
// figures are left out.
func TestSample_AddLeavesNoFigureOut(t *testing.T) {
	fields := reflect.VisibleFields(reflect.TypeFor[verdict.Sample]())
	protocols, _ := reflect.TypeFor[verdict.Sample]().FieldByName("Protocols")
	for _, f := range reflect.VisibleFields(protocols.Type) {
		f.Index = append(slices.Clone(protocols.Index), f.Index...)
		fields = append(fields, f)
	}
	for _, f := range fields {
		var one, two verdict.Sample
		a, b := reflect.ValueOf(&one).Elem().FieldByIndex(f.Index), reflect.ValueOf(&two).Elem().FieldByIndex(f.Index)
		switch {
		case !a.CanSet() || f.Tag.Get("merge") == "-": // it is calculated from other figures
			continue
		case a.CanUint():
			a.SetUint(1)
			b.SetUint(2)
		case a.CanInt():
			a.SetInt(1)
			b.SetInt(2)
		case a.CanFloat():
			a.SetFloat(1)
			b.SetFloat(2)
		default: // distributions, and structs of several figures
			continue
		}
		if verdict.Merge(&one, &two); a.Interface() == reflect.ValueOf(1).Convert(a.Type()).Interface() {
			t.Errorf("%s is still that of the first replica", f.Name)
		}
	}
}

// The largest share of late requests is that of one replica, which is named.
func TestFleet_LateNamesItsReplica(t *testing.T) {
	one, two := partOf("x", 10, time.Millisecond), partOf("x", 10, time.Millisecond)
	one.Verdict.Late, two.Verdict.Late = &verdict.Late{Endpoint: "GET /a", Share: 0.01}, &verdict.Late{Endpoint: "GET /b", Share: 0.02}
	if late := fleetOf(one, two).Report().Verdict.Late; late.Replica != "b" || late.Endpoint != "GET /b" || two.Verdict.Late.Replica != "" {
		t.Errorf("%+v, want GET /b of the replica b", late)
	}
}
