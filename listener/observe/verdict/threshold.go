package verdict

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"mockserver/internal/histogram"
	"mockserver/internal/list"
	"mockserver/internal/wording"
)

// Thresholds contains the largest figures with which the timing is still trusted, by the codes of
// the reasons (see docs/operations.md). A missing code has its default threshold; +Inf disables the
// reason. Durations are in milliseconds, shares from 0 to 1.
type Thresholds map[string]float64

// of returns the threshold of a check, and whether it was set explicitly.
func (t Thresholds) of(c *check) (limit float64, set bool) {
	if value, ok := t[c.code]; ok {
		return value, true
	}
	return c.initial, false
}

// unit is the unit of a figure.
type unit struct {
	name   string  // in JSON
	factor float64 // by which a figure is multiplied in texts

	sign              string
	expected, example string // what a threshold looks like
	read              func(text string) (float64, error)
}

// Count is the unit of reasons that are counted.
const Count = "count"

var (
	milliseconds = &unit{"ms", 1, " ms", "a duration of 0 or more", "2ms", func(text string) (float64, error) {
		d, err := time.ParseDuration(text)
		return Milliseconds(d), err
	}}
	share = &unit{"share", 100, " %", "a percentage from 0% to 100%", "80%", func(text string) (float64, error) {
		number, ok := strings.CutSuffix(text, "%")
		value, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if !ok || value > 100 {
			return 0, errOutOfRange
		}
		return value / 100, err
	}}
	number = &unit{Count, 1, "", "a number of 0 or more", "10", func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }}
)

// check checks for one reason not to trust the timing, or for one explanation.
type check struct {
	code    string
	unit    *unit
	initial float64 // default threshold
	what    string  // message, with %s for the figure
	// figure returns the figure that is compared with the threshold; nil if it is unknown.
	figure func(s *Sample) *float64
	// probed, if set instead, returns what a probe measured, and the share of requests it stands for.
	probed func(s *Sample) (l histogram.Snapshot, of float64)
	// each, if set instead, returns the durations of one endpoint. The endpoint whose 99th
	// percentile exceeds its threshold the most is reported. least returns a lower bound for the
	// threshold of an endpoint; nil means no lower bound.
	each  func(t *timing) histogram.Snapshot
	least func(t *timing) float64
	items bool // these durations are of items of streams, not of requests
	// together is set for the share of requests that several parts made late.
	together bool
	// explains is set for a figure that does not affect a client by itself. It becomes a reason if
	// its threshold is set explicitly, or if nothing measured its effect.
	explains bool
	effect   func(s *Sample) (histogram.Snapshot, float64) // what measures its effect; nil if that is always measured
	// generator is set for an explanation that is about the load generator. It never becomes a
	// reason. say, if set, returns its message.
	generator bool
	say       func(s *Sample) string
}

func beats(s *Sample) (histogram.Snapshot, float64)  { return s.times.Probe, 1 }
func echoes(s *Sample) (histogram.Snapshot, float64) { return s.times.Echo, s.opening }

// checks contains all checks in the order in which they are listed: the reasons, then the explanations.
var checks = []check{
	{code: "accept", unit: number, figure: func(s *Sample) *float64 { return new(float64(s.AcceptFailures)) }, what: "%s times a connection could not be accepted"},
	{code: "backlog", unit: number, figure: func(s *Sample) *float64 { return s.ListenDrops }, what: "%s times the system dropped a connection because too many waited to be accepted"},
	{code: "probe-p99", unit: milliseconds, initial: 2, probed: beats, what: "the probe was %s late at the 99th percentile, as requests are"},
	{code: "echo-p99", unit: milliseconds, initial: 2, probed: echoes, what: "new connections delayed one request in a hundred by %s, as measured by connections of the server to itself"},
	{code: "own-p99", unit: milliseconds, initial: 1, each: func(t *timing) histogram.Snapshot { return t.own }, what: "the server's own work on a request took %s at the 99th percentile"},
	{code: "upstream-p99", unit: milliseconds, initial: 1, each: func(t *timing) histogram.Snapshot { return t.upstream }, what: "requests waited %s at the 99th percentile for the URL that their answers come from"},
	{code: "upstream-wait", unit: milliseconds, initial: 1, each: func(t *timing) histogram.Snapshot { return t.place }, what: "requests waited %s at the 99th percentile for a free connection to their upstream"},
	{code: "injection-p99", unit: milliseconds, initial: 1, each: func(t *timing) histogram.Snapshot { return t.late }, least: (*timing).tolerance, what: "answers with a latency came %s late at the 99th percentile"},
	{code: "stream-p99", unit: milliseconds, initial: 2, items: true, each: func(t *timing) histogram.Snapshot { return t.items }, what: "items of streams came %s late at the 99th percentile"},
	{code: "late", unit: share, initial: 0.01, together: true, what: "%s of the requests were late by one part or another"},
	{code: "lag-p99", unit: milliseconds, initial: 10, figure: (*Sample).lagP99, what: "webhooks were sent %s late at the 99th percentile"},
	{code: "webhooks-refused", unit: number, figure: func(s *Sample) *float64 { return new(float64(s.WebhooksRefused)) }, what: "%s webhooks were refused because too many were pending or the store did not accept them"},
	{code: "recording-dropped", unit: number, figure: func(s *Sample) *float64 { return new(float64(s.RecordingDropped)) }, what: "%s exchanges with upstreams were not recorded"},
	{code: "state-given-up", unit: number, figure: func(s *Sample) *float64 { return new(float64(s.StateGivenUp)) }, what: "%s changes of rows were dropped for lack of room"},

	{code: "throttled", unit: share, initial: 0.02, explains: true, effect: beats, figure: (*Sample).throttledShare, what: "the CPU quota kept threads from running for %s of the time, summed over the CPUs"},
	{code: "steal", unit: share, initial: 0.2, explains: true, effect: beats, figure: func(s *Sample) *float64 { return s.Steal }, what: "the hypervisor gave %s of the machine's CPU time to others"},
	{code: "descriptors", unit: share, initial: 0.9, explains: true, effect: echoes, figure: (*Sample).descriptorShare, what: "%s of the file descriptors that the process may have are open"},
	{code: "handshakes", unit: share, initial: 0.1, explains: true, effect: beats, figure: (*Sample).handshakeShare, what: "%s of the requests needed a full TLS handshake because clients do not keep their connections"},
	{code: "cpu-quota", unit: share, initial: 0.9, explains: true, figure: (*Sample).CPUShare, what: "the process used %s of the CPU that it may use"},
	{code: "machine", unit: share, initial: 0.95, explains: true, figure: func(s *Sample) *float64 { return s.MachineCPU }, what: "the CPUs of the machine were busy for %s of the time"},
	{code: "cpu-wait", unit: milliseconds, initial: 0.1, explains: true, figure: func(s *Sample) *float64 { return s.CPUWait }, what: "threads of the process waited %s for a CPU on average"},
	{code: "scheduler-p99", unit: milliseconds, initial: 1, explains: true, figure: func(s *Sample) *float64 { return &s.Scheduler.P99 }, what: "goroutines that could run waited %s at the 99th percentile"},
	{code: "gc-pause", unit: milliseconds, initial: 1, explains: true, figure: func(s *Sample) *float64 { return &s.Pauses.Max }, what: "the garbage collector stopped the process for %s at a time"},
	{code: "generator", unit: number, explains: true, generator: true, figure: func(s *Sample) *float64 { return new(float64(s.Stops)) }, say: (*Sample).stopsText},
	{code: "connections", unit: share, initial: 0.5, explains: true, generator: true, figure: (*Sample).openerShare, what: "%s of the requests were the first of their connection: the load generator does not keep its connections"},
}

// look returns the figure of a check and, in at, the threshold to compare it with; of is the
// endpoint to which the figure belongs, if any.
func (c *check) look(s *Sample, limit float64) (figure *float64, of string, at float64) {
	switch {
	case c.probed != nil:
		l, of := c.probed(s)
		return probeLate(l, of, limit), "", limit
	case c.each == nil:
		return c.figure(s), "", limit
	}
	figure, at = new(float64), limit
	for i := range s.timings {
		t := &s.timings[i]
		durations, own := c.each(t), limit
		if c.least != nil {
			own = max(own, c.least(t))
		}
		p99 := Milliseconds(durations.Quantile(0.99))
		if p99 > own && p99-own > *figure-at && exceeds(durations, own, 0.01) {
			*figure, of, at = p99, t.name, own
		}
	}
	return figure, of, at
}

// tolerance is 1 % of the 1st percentile of the declared latency: if all replies take ten seconds,
// they may be 100 ms late, but not if some of them take only ten milliseconds.
func (t *timing) tolerance() float64 { return Milliseconds(t.injected.Quantile(0.01)) / 100 }

// CPUShare returns the share that was used of the CPU time available to the process, or nil if it
// is unknown.
func (s *Sample) CPUShare() *float64 {
	if s.CPU == nil || s.CPULimit <= 0 {
		return s.CPU
	}
	return new(*s.CPU / s.CPULimit)
}

func (s *Sample) throttledShare() *float64 {
	if s.Throttled == nil || s.Seconds <= 0 {
		return nil
	}
	return new(*s.Throttled / 1000 / s.Seconds)
}

func (s *Sample) descriptorShare() *float64 {
	if s.Descriptors == 0 || s.DescriptorLimit == 0 {
		return nil
	}
	return new(float64(s.Descriptors) / float64(s.DescriptorLimit))
}

// fewHandshakes is how many full handshakes a second are too few to matter: each takes half a
// millisecond of CPU time, so together they take about a hundredth of a core.
const fewHandshakes = 20

// handshakeShare returns how many full TLS handshakes there were for each request, at most 1.
func (s *Sample) handshakeShare() *float64 {
	full := float64(s.FullHandshakes)
	if full <= fewHandshakes*s.Seconds {
		return new(0.0)
	}
	return new(min(full/max(float64(s.Requests), 1), 1))
}

// lagP99 returns the 99th percentile of how late webhooks are. Every webhook that waits for a
// worker counts as being as late as the one that has waited longest.
func (s *Sample) lagP99() *float64 {
	if due := float64(s.WebhooksDue); due > (float64(s.WebhookLag.Count)+due)/100 {
		return new(max(s.WebhookLag.P99, s.WebhooksOldest))
	}
	return &s.WebhookLag.P99
}

// text returns the message, with enough digits to show that the figure is above the threshold.
func (c *check) text(of string, figure, limit float64) string {
	if of != "" {
		of = of + ": "
	}
	for digits := 3; ; digits++ {
		a, b := c.unit.text(figure, digits), c.unit.text(limit, digits)
		if a != b || digits == 15 {
			return of + fmt.Sprintf(c.what, a) + "; expected at most " + b
		}
	}
}

// text formats a figure with its unit.
func (u *unit) text(value float64, digits int) string {
	return rounded(value*u.factor, digits) + u.sign
}

// Short formats a number with at most two decimal places, at most one from 10 on, and none from 100
// on.
func Short(value float64) string { return rounded(value, 3) }

// rounded formats a number with at most digits-1 decimal places, one fewer from 10 on, and two
// fewer from 100 on. digits is 3 or more.
func rounded(value float64, digits int) string {
	digits -= 3
	switch size := math.Abs(value); {
	case size < 10:
		digits += 2
	case size < 100:
		digits++
	}
	text := strconv.FormatFloat(value, 'f', digits, 64)
	if digits > 0 {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// ParseThresholds parses "own-p99=2ms,machine=off": codes of reasons, each set to a duration, a
// percentage, a number, or off, which disables the reason. The error wraps ErrThreshold.
func ParseThresholds(text string) (Thresholds, error) {
	thresholds := Thresholds{}
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		code, value, ok := strings.Cut(part, "=")
		code, value = strings.TrimSpace(code), strings.TrimSpace(value)
		i := slices.IndexFunc(checks, func(c check) bool { return c.code == code })
		switch {
		case i < 0:
			return nil, fmt.Errorf("%w: %q is not a reason%s; expected one of %s", ErrThreshold, code, wording.DidYouMean(code, codes()), strings.Join(codes(), ", "))
		case !ok:
			return nil, fmt.Errorf("%w: missing value of %s; expected %s, such as %s=%s", ErrThreshold, code, checks[i].unit.expected, code, checks[i].unit.example)
		}
		if _, twice := thresholds[code]; twice {
			return nil, fmt.Errorf("%w: %s is given twice", ErrThreshold, code)
		}
		limit, err := checks[i].unit.parse(value)
		if err != nil {
			return nil, fmt.Errorf("%w: %s is %q; expected %s, or off", ErrThreshold, code, value, checks[i].unit.expected)
		}
		thresholds[code] = limit
	}
	return thresholds, nil
}

// codes returns the codes of all reasons, sorted.
func codes() []string {
	all := list.Map(checks, func(c check) string { return c.code })
	slices.SortFunc(all, cmp.Compare[string])
	return all
}

// ErrThreshold is the error for invalid thresholds.
var ErrThreshold = errors.New("invalid threshold")

var errOutOfRange = errors.New("out of range")

// parse parses a threshold of this unit.
func (u *unit) parse(text string) (float64, error) {
	if text == "off" {
		return math.Inf(1), nil
	}
	value, err := u.read(text)
	if err == nil && !(value >= 0 && value <= math.MaxFloat64) { // false for NaN too
		err = errOutOfRange
	}
	return value, err
}
