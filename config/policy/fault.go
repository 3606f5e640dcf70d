package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/flags"
)

// Fault is a way in which an answer goes wrong.
type Fault struct {
	Key  string `key:"-"`
	Type string // one of FaultTypes
	// Rate is the share of requests that have the fault, from 0 to 1. If Rate is 0 and Rated is not
	// set, every request has the fault.
	Rate  float64 `given:"Rated"`
	Rated bool    // Rate applies even if it is 0
	// BytesPerSecond is the speed of slow-body: a number, or a map of percentiles such as "p50" to numbers.
	// Decoding makes a *Latency of such a map, whose nanoseconds are bytes a second. nil means
	// DefaultBytesPerSecond.
	BytesPerSecond any
	// Of says whether a reset over HTTP/2 ends only the stream or the whole connection: OfStream
	// or OfConnection; "" means OfStream.
	Of string
	// After says where in a stream the fault comes: "12 items", "40%" of its items, or a time since its head;
	// "" means before the head for reset, empty and malformed, and otherwise after half of the items.
	After    string
	AfterPos syntax.Pos `key:"-"`
	// Item is what the fault error sends in place of the next item, a map with the keys of one.
	// Decoding makes an *item.StreamItem of it.
	Item any
}

// FaultTypes are all types of faults. The slice must not be modified.
var FaultTypes = []string{FaultReset, FaultEmpty, FaultMalformed, FaultTruncate, FaultSlowBody, FaultStall, FaultError}

const (
	// DefaultBytesPerSecond is the default speed of a slow body.
	DefaultBytesPerSecond = 1024

	// OfStream makes a reset end only the stream over HTTP/2.
	OfStream = "stream"
	// OfConnection makes a reset end the whole connection over HTTP/2.
	OfConnection = "connection"

	maxBytesPerSecond = 1_000_000_000
)

// The types of faults.
const (
	FaultReset     = "reset"
	FaultEmpty     = "empty"
	FaultMalformed = "malformed"
	FaultTruncate  = "truncate"
	FaultSlowBody  = "slow-body"
	FaultStall     = "stall"
	FaultError     = "error"
)

var faultFields = []table.Field[Fault]{
	table.Of[Fault](table.Row{Key: "type", Doc: "what goes wrong: one of " + strings.Join(FaultTypes, ", "), Required: true, Kinds: table.Texts, Enum: FaultTypes}),
	table.Of[Fault](table.Row{Key: "rate", Given: "rated", Doc: "the share of requests that have the fault; all by default", Kinds: table.Numbers | table.Texts, Pattern: table.PercentPattern, UpTo: 1}),
	table.With(table.Row{Key: "bytes-per-second", Doc: "how fast the body of slow-body is sent; 1024 by default", Kinds: table.Numbers | table.Texts | table.Maps, Min: 1, Max: maxBytesPerSecond,
		Pattern: table.SizePattern, Form: "an integer from 1 to 1000000000, a size such as 64KiB, or a map of percentiles such as p1 and p50", Table: table.Rows(speedFields)},
		func(d *table.Decoder, v table.Value, f *Fault) { f.BytesPerSecond = decodeSpeed(d, v) }),
	table.Of[Fault](table.Row{Key: "of", Doc: "what reset closes over HTTP/2: stream (the default), or connection for the whole connection", Kinds: table.Texts, Enum: []string{OfStream, OfConnection}}),
	table.With(table.Row{Key: "after", Doc: "where in a stream it comes: a number of items, a part of them, or a time since the head", Kinds: table.Texts, Pattern: afterPattern, Form: "12 items, 40% or a duration such as 3s"},
		func(d *table.Decoder, v table.Value, f *Fault) {
			f.After, f.AfterPos = v.Text.Value, v.Pos()
			if _, _, ok := parseAfter(f.After); !ok {
				d.Refuse(v)
			}
		}),
}

// speedFields are the keys of a distribution of speeds, whose nanoseconds are bytes a second.
var speedFields = []table.Field[latencyForm]{
	speedKey(table.Row{Key: "min", Doc: "the slowest request; 1 by default"}, func(_ *table.Decoder, _ table.Value, l *latencyForm, speed time.Duration) { l.Min = speed }),
	speedKey(table.Row{Key: "max", Doc: "the fastest request; the last percentile by default"}, func(_ *table.Decoder, _ table.Value, l *latencyForm, speed time.Duration) {
		l.Max, l.MaxGiven = speed, true
	}),
	speedKey(table.Row{Key: "pNN", Doc: "a percentile such as p1 or p50: the bytes a second that this percentage of requests does not exceed",
		Many: &table.Many{Pattern: percentilePattern, Takes: beginsPercentile, Near: nearPercentile}}, addPercentile),
}

func speedKey(r table.Row, set func(d *table.Decoder, v table.Value, l *latencyForm, speed time.Duration)) table.Field[latencyForm] {
	r.Kinds, r.Form, r.Pattern, r.Min, r.Max = table.Numbers|table.Texts, table.SizeForm, table.SizePattern, 1, maxBytesPerSecond
	return table.With(r, func(d *table.Decoder, v table.Value, l *latencyForm) {
		if size := d.Size(v); size > maxBytesPerSecond {
			d.Refuse(v)
		} else if size > 0 {
			set(d, v, l, time.Duration(size))
		}
	})
}

// decodeSpeed returns an int, or the distribution in a map.
func decodeSpeed(d *table.Decoder, v table.Value) any {
	if v.Kind != syntax.MapNode {
		if size := d.Size(v); size <= maxBytesPerSecond {
			return size
		}
		d.Refuse(v)
		return nil
	}
	if len(v.Entries) == 0 {
		d.About(v, "is an empty map; expected percentiles such as p1 and p50, or min and max")
	}
	var l latencyForm
	table.Fill(d, v.Node, v.Key, speedFields, &l)
	slices.SortStableFunc(l.Curve, byRank)
	l.complete(l.MaxGiven)
	return &l.Latency
}

// Speeds returns the distribution of the bytes a second of slow-body over requests: it maps a share, from 0 to below
// 1, to the speed that this share of the requests does not exceed.
func (f *Fault) Speeds() func(part float64) int {
	speed := DefaultBytesPerSecond
	switch given := f.BytesPerSecond.(type) {
	case int:
		speed = given
	case *Latency:
		lengths := given.Lengths()
		return func(part float64) int { return max(int(lengths(part)), 1) }
	}
	return func(float64) int { return speed }
}

// EffectiveRate returns the share of requests that have the fault.
func (f *Fault) EffectiveRate() float64 { return table.OrOne(f.Rate, f.Rated) }

// SendsNothing reports whether requests with the fault get no answer at all.
func (f *Fault) SendsNothing() bool {
	return f.After == "" && (f.Type == FaultReset || f.Type == FaultEmpty)
}

// OnlyStreams reports whether the fault happens only in streams.
func (f *Fault) OnlyStreams() bool {
	return f.After != "" || f.Type == FaultStall || f.Type == FaultError
}

// The units of Fault.After.
const (
	AfterItems   = " items"
	AfterPercent = "%"
	AfterTime    = "ns"
)

// afterPattern matches what parseAfter accepts.
const afterPattern = `^([0-9]{1,8} items?|(0|[1-9][0-9]*)(\.[0-9]+)?%|([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*)$`

var afterText = regexp.MustCompile(afterPattern)

// Place returns where in a stream the fault comes, as a number and its unit; "" for where its type says.
func (f *Fault) Place() (n float64, unit string) {
	n, unit, _ = parseAfter(f.After)
	return n, unit
}

// NeedsCount reports whether the place of the fault depends on the number of items.
func (f *Fault) NeedsCount() bool { return strings.HasSuffix(f.After, AfterPercent) }

func parseAfter(text string) (n float64, unit string, ok bool) {
	number, isPercent := strings.CutSuffix(text, AfterPercent)
	items, isItems := strings.CutSuffix(strings.TrimSuffix(text, "s"), " item")
	switch {
	case !afterText.MatchString(text):
		return 0, "", false
	case isPercent:
		n, _ = strconv.ParseFloat(number, 64) // it matches the pattern
		return n, AfterPercent, n <= 100
	case isItems:
		n, _ = strconv.ParseFloat(items, 64)
		return n, AfterItems, true
	}
	var t time.Duration
	ok = flags.Duration(&t, text) && t <= maxLatency
	return float64(t), AfterTime, ok
}

func (f *Fault) replies() []Reply { return nil }

func (f *Fault) check(c *table.Checker, _ string, at []string) {
	if c.Faulty(at...) {
		return
	}
	applies := func(key string, types ...string) {
		if c.Node(table.Below(at, key)...) != nil && !slices.Contains(types, f.Type) {
			c.Wrong(fmt.Sprintf("%s applies only to the fault %s; this one is %s", key, strings.Join(types, ", "), f.Type), table.Below(at, key)...)
		}
	}
	applies("bytes-per-second", FaultSlowBody)
	applies("of", FaultReset)
	applies("after", FaultReset, FaultMalformed, FaultTruncate, FaultStall, FaultError)
	applies("item", FaultError)
	if l, ok := f.BytesPerSecond.(*Latency); ok {
		at := table.Below(at, "bytes-per-second")
		checkPoints(c, l, c.Node(at...), at, func(speed time.Duration) any { return int(speed) })
	}
	if f.Type == FaultError && f.Item == nil && c.Node(table.Below(at, "item")...) == nil {
		c.Wrong("item is missing; expected the item that the fault error sends", at...)
	}
}
