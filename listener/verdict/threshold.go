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

	"mockserver/internal/wording"
)

// Thresholds are the largest figures with which the timing is still trusted, by the codes
// of the reasons (see docs/operations.md). A missing one has its default; +Inf disables the
// reason. Durations are in milliseconds, shares from 0 to 1.
type Thresholds map[string]float64

// of returns the threshold of a check.
func (t Thresholds) of(c *check) float64 {
	if value, ok := t[c.code]; ok {
		return value
	}
	return c.initial
}

// unit is what a figure is counted in.
type unit struct {
	name   string  // in JSON
	factor float64 // by which it is multiplied in texts

	sign              string
	expected, example string // what a threshold looks like
	read              func(text string) (float64, error)
}

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
	number = &unit{"count", 1, "", "a number of 0 or more", "10", func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }}
)

// check is one reason not to trust the timing.
type check struct {
	code    string
	unit    *unit
	initial float64                  // default threshold
	figure  func(s *Sample) *float64 // returns nil if it is unknown
	least   func(s *Sample) float64  // lower bound of the threshold; nil for none
	what    string                   // message, with %s for the figure
}

// checks are all reasons in the order in which they are listed: causes come before their
// effects.
var checks = []check{
	{"throttled", milliseconds, 0, func(s *Sample) *float64 { return s.Throttled }, nil, "the CPU quota kept threads from running for %s, summed over the CPUs"},
	{"cpu-quota", share, 0.9, (*Sample).CPUShare, nil, "the process used %s of the CPU that it may use"},
	{"machine", share, 0.95, func(s *Sample) *float64 { return s.MachineCPU }, nil, "the CPUs of the machine were busy for %s of the time"},
	{"steal", share, 0.05, func(s *Sample) *float64 { return s.Steal }, nil, "the hypervisor gave %s of the machine's CPU time to others"},
	{"cpu-wait", milliseconds, 0.1, func(s *Sample) *float64 { return s.CPUWait }, nil, "threads of the process waited %s for a CPU on average"},
	{"stall", milliseconds, 100, func(s *Sample) *float64 { return &s.Stall }, nil, "the process stood still for %s"},
	{"scheduler-p99", milliseconds, 1, func(s *Sample) *float64 { return &s.Scheduler.P99 }, nil, "goroutines that could run waited %s at the 99th percentile"},
	{"gc-pause", milliseconds, 1, func(s *Sample) *float64 { return &s.Pauses.Max }, nil, "the collector stopped the process for %s at a time"},
	{"descriptors", share, 0.9, (*Sample).descriptorShare, nil, "%s of the file descriptors that the process may have are open"},
	{"own-p99", milliseconds, 1, func(s *Sample) *float64 { return &s.Own.P99 }, nil, "the server's own work on a request took %s at the 99th percentile"},
	{"injection-p99", milliseconds, 1, func(s *Sample) *float64 { return &s.InjectionError.P99 }, (*Sample).injectionLeast, "answers with a latency came %s late at the 99th percentile"},
	{"lag-p99", milliseconds, 10, func(s *Sample) *float64 { return &s.WebhookLag.P99 }, nil, "webhooks were sent %s late at the 99th percentile"},
	{"webhooks-refused", number, 0, func(s *Sample) *float64 { return new(float64(s.WebhooksRefused)) }, nil, "%s webhooks were refused, since too many were pending"},
}

// CPUShare returns the used share of the CPU that the process may use; nil if it is
// unknown.
func (s *Sample) CPUShare() *float64 {
	if s.CPU == nil || s.CPULimit <= 0 {
		return s.CPU
	}
	return new(*s.CPU / s.CPULimit)
}

func (s *Sample) descriptorShare() *float64 {
	if s.Descriptors == 0 || s.DescriptorLimit == 0 {
		return nil
	}
	return new(float64(s.Descriptors) / float64(s.DescriptorLimit))
}

// injectionLeast is 1 % of the 1st percentile of the declared latency: if replies take ten
// seconds they may be 100 ms late, but not if some take ten milliseconds.
func (s *Sample) injectionLeast() float64 { return s.shortest / 100 }

// text is the message, with enough digits to see that the figure is above the threshold.
func (c *check) text(figure, limit float64) string {
	for digits := 3; ; digits++ {
		a, b := c.unit.text(figure, digits), c.unit.text(limit, digits)
		if a != b || digits == 15 {
			return fmt.Sprintf(c.what, a) + "; expected at most " + b
		}
	}
}

// text writes a figure with its unit.
func (u *unit) text(value float64, digits int) string {
	return rounded(value*u.factor, digits) + u.sign
}

// Short writes a number with three significant digits.
func Short(value float64) string { return rounded(value, 3) }

// rounded writes a number with three or more significant digits.
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

// ParseThresholds parses "own-p99=2ms,machine=off": codes of reasons, each with a duration,
// a percentage, a number, or off, which disables the reason. The error wraps ErrThreshold.
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
	var all []string
	for i := range checks {
		all = append(all, checks[i].code)
	}
	slices.SortFunc(all, cmp.Compare[string])
	return all
}

// ErrThreshold is the error of invalid thresholds.
var ErrThreshold = errors.New("wrong threshold")

var errOutOfRange = errors.New("out of range")

// parse parses a threshold of this unit.
func (u *unit) parse(text string) (float64, error) {
	if text == "off" {
		return math.Inf(1), nil
	}
	value, err := u.read(text)
	if err == nil && !(value >= 0 && value <= math.MaxFloat64) { // nor NaN
		err = errOutOfRange
	}
	return value, err
}
