package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// withKeys returns an endpoint with additional keys, one per line.
func withKeys(lines ...string) string {
	return "- endpoint:\n    path: /x/:id\n    response: {}\n    " + strings.Join(lines, "\n    ") + "\n"
}

const maxPercentiles = 100 // of one latency

const atLatency = atEndpoint + ".latency"

func TestMistakesOfLatencies(t *testing.T) {
	latency := func(inside string) string { return withKeys("latency: {" + inside + "}") }
	testMistakes(t, "f.yml", []mistake{
		{"a text", withKeys("latency: §20ms"), one(atLatency, `is a text ("20ms"); expected a map with min and max, percentiles such as p50 and p99 (with min and max), median and sigma, or from; equal min and max make it constant`)},
		{"nothing in it", withKeys("latency: §{}"), one(atLatency, "is an empty map; expected min and max, percentiles such as p50")},
		{"a misspelt key", latency("§mim: 20ms"), one(atLatency+".mim", `did you mean "min"?); expected one of min, … 13 more: docs/latency-and-limits.md`)},
		{"a percentile in capitals", latency("§P99: 20ms"), one(atLatency+".P99", `did you mean "p99"?`)},
		{"a percentile in words", latency("§95th: 20ms"), one(atLatency+".95th", `did you mean "p95"?`)},
		{"a percentile with a comma", latency("'§p_99,9': 20ms"), one(atLatency+".p_99,9", `did you mean "p99.9"?`)},
		{"a percentile above 100", latency("p101: §20ms"), one(atLatency+".p101", "p101 is not a percentile; expected p0.1 to p100")},
		{"the percentile 0", latency("p0: §20ms, p0.0: §1s"), []complaint{{atLatency + ".p0", "p0 is not a percentile"}, {atLatency + ".p0.0", "p0.0 is not a percentile"}}},
		{"percentiles that are hardly ones", latency("p99.: §1s, p50x: §1s, p09: §1s, p5.5.5: §1s, p100.5: §1s"), []complaint{
			{atLatency + ".p99.", "not a percentile"}, {atLatency + ".p50x", "not a percentile"}, {atLatency + ".p09", "not a percentile"},
			{atLatency + ".p5.5.5", "not a percentile"}, {atLatency + ".p100.5", "not a percentile"}}},
		{"a percentile twice", latency("p50: 1ms, p50.0: §1ms"), one(atLatency+".p50.0", "the percentile 50 is already given")},
		{"p99 below p50", latency("p50: 20ms, p99: §10ms"), one(atLatency+".p99", "p99 (10ms) is below p50 (20ms); lengths must not fall as percentiles rise")},
		{"p99 below p50, in another order", latency("p99: §10ms, p50: 20ms"), one(atLatency+".p99", "p99 (10ms) is below p50 (20ms)")},
		{"two percentiles below one", latency("p50: 20ms, p90: §10ms, p99: §15ms, p99.9: 30ms"), []complaint{
			{atLatency + ".p90", "p90 (10ms) is below p50 (20ms)"}, {atLatency + ".p99", "p99 (15ms) is below p50 (20ms)"}}},
		{"max below a percentile", latency("p50: 20ms, p99.9: 1s, max: §999ms"), one(atLatency+".max", "max (999ms) is below p99.9 (1s)")},
		{"max of 0 below a percentile", latency("p50: 20ms, max-ms: §0"), one(atLatency+".max-ms", "max-ms (0s) is below p50 (20ms)")},
		{"min above a percentile", latency("min-ms: 30, p50: §20ms"), one(atLatency+".p50", "p50 (20ms) is below min-ms (30ms)")},
		{"max and p100", latency("p100: 1s, max: §1s"), one(atLatency+".max", "p100 and max are both given; expected one of them")},
		{"max below min", latency("min-ms: 80, max-ms: §20"), one(atLatency+".max-ms", "max-ms (20ms) is below min-ms (80ms)")},
		{"max of 0 below min", latency("min: 80ms, max: §0"), one(atLatency+".max", "max (0s) is below min (80ms)")},
		{"max in two spellings", latency("max: 1s, max-ms: §1000"), one(atLatency+".max-ms", "max and max-ms are both given")},
		{"min and timeout in two spellings", latency("min: 1s, min-ms: §1000, timeout-rate: 1, timeout-ms: §1, timeout: 1ms"), []complaint{
			{atLatency + ".min-ms", "min and min-ms are both given"}, {atLatency + ".timeout-ms", "timeout and timeout-ms are both given"}}},
		{"lengths without their unit", latency("min: §20, p50: §1.5, median: §40, timeout: §30"), []complaint{
			{atLatency + ".min", "is a number (20); expected a duration with a unit, such as 20ms"}, {atLatency + ".p50", "a duration with a unit"},
			{atLatency + ".median", "a duration above 0 with a unit"}, {atLatency + ".timeout", "a duration above 0 with a unit"}}},
		{"lengths that are none", latency("min: §soon, max: §-1s, p99: §1e-20"), []complaint{
			{atLatency + ".min", `is a text ("soon")`}, {atLatency + ".max", `is a text ("-1s")`}, {atLatency + ".p99", "is a number (1e-20)"}}},
		{"lengths of a day and more", latency("min: §25h, max-ms: §86400001, p50: §24h1ns"), []complaint{
			{atLatency + ".min", "of at most 24h"}, {atLatency + ".max-ms", "a number of milliseconds of at most 24h"}, {atLatency + ".p50", "of at most 24h"}}},
		{"milliseconds that are none", latency("min-ms: §20ms, max-ms: §.inf, timeout-ms: §0"), []complaint{
			{atLatency + ".min-ms", `is a text ("20ms"); expected a number of milliseconds`}, {atLatency + ".max-ms", "is a number (.inf)"}, {atLatency + ".timeout-ms", "a number of milliseconds above 0"}}},
		{"milliseconds below 0", latency("min-ms: §-1"), one(atLatency+".min-ms", "is a number (-1); expected a number of milliseconds")},
		{"two forms", latency("p50: 20ms, median: §40ms, sigma: 0.4"),
			one(atLatency+".median", "p50 and median belong to different forms of latency; expected one: min and max, percentiles")},
		{"two other forms", latency("sigma: §0.4, median: 40ms, max-ms: 100"), one(atLatency+".sigma", "max-ms and sigma belong to different forms")},
		{"a median alone", withKeys("latency: §{median: 40ms}"), one(atLatency+".sigma", "sigma is missing")},
		{"a sigma alone", withKeys("latency: §{sigma: 0.4}"), one(atLatency+".median", "median is missing")},
		{"a median of 0", latency("median: §0ms, sigma: 1"), one(atLatency+".median", "a duration above 0")},
		{"a sigma below 0", latency("median: 40ms, sigma: §-0.4"), one(atLatency+".sigma", "is a number (-0.4); expected a number from 0 to 10")},
		{"sigmas that are no numbers", latency("median: 40ms, sigma: §.nan"), one(atLatency+".sigma", "is a number (.nan)")},
		{"a sigma beyond all", latency("median: 40ms, sigma: §11"), one(atLatency+".sigma", "0 to 10")},
		{"rates that are none", latency("failure-rate: §1.01, timeout-rate: §-0.1"), []complaint{
			{atLatency + ".failure-rate", "is a number (1.01); expected a number from 0 to 1, or a percentage such as 1%"}, {atLatency + ".timeout-rate", "a number from 0 to 1"}}},
		{"rates that are no numbers", latency("failure-rate: §.NaN, timeout-rate: §.inf"), []complaint{
			{atLatency + ".failure-rate", "is a number (.NaN)"}, {atLatency + ".timeout-rate", "is a number (.inf)"}}},
		{"percentages that are none", latency("failure-rate: §101%, timeout-rate: §-1%"), []complaint{
			{atLatency + ".failure-rate", `is a text ("101%")`}, {atLatency + ".timeout-rate", `is a text ("-1%")`}}},
		{"a text for a rate", latency("failure-rate: §often"), one(atLatency+".failure-rate", "or a percentage such as 1%")},
		{"rates above 1 together", latency("failure-rate: 0.6, timeout-rate: §60%"), one(atLatency+".timeout-rate", "failure-rate and timeout-rate add up to 1.2; expected at most 1")},
	})
}

func TestPercentilesWithoutEnd(t *testing.T) {
	var keys []string
	for i := range maxPercentiles {
		keys = append(keys, fmt.Sprintf("p50.%06d: 1s", i+1))
	}
	all := strings.Join(keys, ", ")
	only(t, "f.yml", withKeys("latency: {"+all+", max: 2s}"))
	testMistakes(t, "f.yml", []mistake{{"one too many", withKeys("latency: {" + all + ", p99: §1s}"), one(atLatency+".p99", "p99 is one too many; expected at most 100 percentiles")}})
}

func TestWarningsOfLatencies(t *testing.T) {
	text, places := marked("f.yml", withKeys("latency: {min-ms: 1, timeout-ms: §5}"))
	expect(t, Parse("f.yml", []byte(text)).Problems, places, one(atLatency+".timeout-ms", "has no effect without timeout-rate"))
	only(t, "f.yml", withKeys("latency: {timeout-rate: 0, timeout-ms: 5}"))
}

func TestWhatALatencyMayBe(t *testing.T) {
	const ms = time.Millisecond
	for inside, want := range map[string]Latency{
		"min-ms: 20, max-ms: 80":             {Min: 20 * ms, Max: 80 * ms},
		"min-ms: 0.5, max: 1.5s":             {Min: ms / 2, Max: 1500 * ms},
		"min: 20ms":                          {Min: 20 * ms, Max: 20 * ms},
		"max-ms: 80":                         {Max: 80 * ms},
		"max: 0":                             {},
		"min: 0, max: 24h":                   {Max: 24 * time.Hour},
		"p50: 20ms":                          {Curve: []Percentile{{Rank: 50, Length: 20 * ms}}},
		"p99.9: 400ms, p50: 20ms, p90: 20ms": {Curve: []Percentile{{Rank: 50, Length: 20 * ms}, {Rank: 90, Length: 20 * ms}, {Rank: 99.9, Length: 400 * ms}}},
		"max: 1s, p99.99: 1s, min: 1ms, p0.000001: 1ms": {Min: ms, Curve: []Percentile{{Rank: 0.000001, Length: ms}, {Rank: 99.99, Length: time.Second}, {Rank: 100, Length: time.Second}}},
		"p100: 1s, p50: 0":                             {Curve: []Percentile{{Rank: 50, Length: 0}, {Rank: 100, Length: time.Second}}},
		"median: 40ms, sigma: 0.4":                     {Median: 40 * ms, Sigma: 0.4},
		"median: 40ms, sigma: 0":                       {Median: 40 * ms},
		"failure-rate: 0.01, timeout-rate: 0.5%":       {FailureRate: 0.01, TimeoutRate: 0.005},
		"failure-rate: 100%":                           {FailureRate: 1},
		"failure-rate: 0.7, timeout-rate: 0.3":         {FailureRate: 0.7, TimeoutRate: 0.3},
		"p50: 1ms, timeout-rate: 1, timeout: 30s":      {Curve: []Percentile{{Rank: 50, Length: ms}}, TimeoutRate: 1, Timeout: 30 * time.Second},
		"min: 1ms, timeout-rate: 1, timeout-ms: 30000": {Min: ms, Max: ms, TimeoutRate: 1, Timeout: 30 * time.Second},
	} {
		got := only(t, "f.yml", withKeys("latency: {"+inside+"}")).Latency
		if !reflect.DeepEqual(*got, want) {
			t.Errorf("%s is\n%+v\nwant\n%+v", inside, *got, want)
		}
	}
}
