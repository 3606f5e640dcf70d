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

// Thresholds are how far a figure may go before the timing is not trusted any more, by
// the codes of the reasons (docs/operations.md lists them); what is not in it has its
// default, and +Inf is never passed. Times are in milliseconds, shares from 0 to 1. nil
// is all defaults.
type Thresholds map[string]float64

// of is the threshold of a check.
func (t Thresholds) of(c *check) float64 {
	if value, ok := t[c.code]; ok {
		return value
	}
	return c.initial
}

// unit is what a figure is counted in.
type unit string

const (
	milliseconds unit = "ms"
	share        unit = "share" // 0 to 1, written in percent
	number       unit = "count"
)

// check is one reason not to trust the timing.
type check struct {
	code    string
	unit    unit
	initial float64                           // its threshold
	figure  func(s *Sample) (float64, bool)   // and whether it is known
	least   func(s *Sample) float64           // the threshold is at least that; nil for none
	text    func(figure, limit string) string // what is wrong
}

// checks are all reasons, in the order in which they are told: what causes others
// stands before them.
var checks = []check{
	{"throttled", milliseconds, 0, func(s *Sample) (float64, bool) { return known(s.Throttled) }, nil,
		saying("the CPU quota kept threads from running for %s, summed over the CPUs; %s is accepted")},
	{"cpu-quota", share, 0.9, (*Sample).CPUShare, nil,
		saying("the process used %s of the CPU that it may use; %s is accepted")},
	{"machine", share, 0.95, func(s *Sample) (float64, bool) { return known(s.MachineCPU) }, nil,
		saying("the CPUs of the machine were busy for %s of the time; %s is accepted")},
	{"steal", share, 0.05, func(s *Sample) (float64, bool) { return known(s.Steal) }, nil,
		saying("the hypervisor gave %s of the machine's CPU time to others; %s is accepted")},
	{"cpu-wait", milliseconds, 0.1, func(s *Sample) (float64, bool) { return known(s.CPUWait) }, nil,
		saying("threads of the process waited %s for a CPU on average; %s is accepted")},
	{"stall", milliseconds, 100, func(s *Sample) (float64, bool) { return s.Stall, true }, nil,
		saying("the process stood still for %s; %s is accepted")},
	{"scheduler-p99", milliseconds, 1, func(s *Sample) (float64, bool) { return s.Scheduler.P99, true }, nil,
		saying("goroutines that could run waited %s at the 99th percentile; %s is accepted")},
	{"gc-pause", milliseconds, 1, func(s *Sample) (float64, bool) { return s.Pauses.Max, true }, nil,
		saying("the collector stopped the process for %s at a time; %s is accepted")},
	{"descriptors", share, 0.9, (*Sample).ofDescriptors, nil,
		saying("%s of the file descriptors that the process may have are open; %s is accepted")},
	{"own-p99", milliseconds, 1, func(s *Sample) (float64, bool) { return s.Own.P99, true }, nil,
		saying("the server's own work on a request took %s at the 99th percentile; %s is accepted")},
	{"injection-p99", milliseconds, 1, func(s *Sample) (float64, bool) { return s.InjectionError.P99, true }, (*Sample).injectionLeast,
		saying("answers with a latency came %s late at the 99th percentile; %s is accepted")},
	{"lag-p99", milliseconds, 10, func(s *Sample) (float64, bool) { return s.WebhookLag.P99, true }, nil,
		saying("webhooks were sent %s late at the 99th percentile; %s is accepted")},
	{"webhooks-refused", number, 0, func(s *Sample) (float64, bool) { return float64(s.WebhooksRefused), true }, nil,
		saying("%s webhooks were refused, since too many were pending; %s is accepted")},
}

func known(figure *float64) (float64, bool) {
	if figure == nil {
		return 0, false
	}
	return *figure, true
}

// saying is a text with the figure and its threshold.
func saying(format string) func(figure, limit string) string {
	return func(figure, limit string) string { return fmt.Sprintf(format, figure, limit) }
}

// CPUShare is how much of the CPU that the process may use it used.
func (s *Sample) CPUShare() (float64, bool) {
	if s.CPU == nil || s.CPULimit <= 0 {
		return 0, s.CPU != nil
	}
	return *s.CPU / s.CPULimit, true
}

func (s *Sample) ofDescriptors() (float64, bool) {
	if s.Descriptors == 0 || s.DescriptorLimit == 0 {
		return 0, false
	}
	return float64(s.Descriptors) / float64(s.DescriptorLimit), true
}

// injectionLeast is 1 % of the latency that was declared, of the shortest but for one in
// a hundred: where answers are to take ten seconds they may be 100 ms late, and not where
// some are to take ten milliseconds.
func (s *Sample) injectionLeast() float64 { return s.shortest / 100 }

// texts are a figure and the threshold that it is above, with as many digits as it takes
// to see that.
func (u unit) texts(figure, limit float64) (string, string) {
	for digits := 3; ; digits++ {
		a, b := u.written(figure, digits), u.written(limit, digits)
		if a != b || digits == 15 {
			return a, b
		}
	}
}

// written is a figure with its unit.
func (u unit) written(value float64, digits int) string {
	switch u {
	case share:
		return rounded(value*100, digits) + " %"
	case milliseconds:
		return rounded(value, digits) + " ms"
	default:
		return rounded(value, digits)
	}
}

// Short is a number with three digits that count.
func Short(value float64) string { return rounded(value, 3) }

// rounded is a number with three or more digits that count.
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

// ParseThresholds reads "own-p99=2ms,machine=off": codes of reasons, each with a
// duration, a percentage or a number, or off, after which it is no reason any more. ""
// is all defaults. The error, an ErrThreshold, names what is wrong, and what is accepted.
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
			return nil, fmt.Errorf("%w: %q is no reason%s; accepted are %s", ErrThreshold, code, wording.DidYouMean(code, codes()), strings.Join(codes(), ", "))
		case !ok:
			return nil, fmt.Errorf("%w: %s has no value; %s is accepted, such as %s=%s", ErrThreshold, code, checks[i].unit.accepts(), code, checks[i].unit.example())
		}
		if _, twice := thresholds[code]; twice {
			return nil, fmt.Errorf("%w: %s is given twice", ErrThreshold, code)
		}
		limit, err := checks[i].unit.parse(value)
		if err != nil {
			return nil, fmt.Errorf("%w: %s is %q; %s is accepted, or off", ErrThreshold, code, value, checks[i].unit.accepts())
		}
		thresholds[code] = limit
	}
	return thresholds, nil
}

// codes are the codes of all reasons, for messages.
func codes() []string {
	var all []string
	for i := range checks {
		all = append(all, checks[i].code)
	}
	slices.SortFunc(all, cmp.Compare[string])
	return all
}

func (u unit) accepts() string {
	switch u {
	case milliseconds:
		return "a duration of 0 or more"
	case share:
		return "a percentage from 0% to 100%"
	default:
		return "a number of 0 or more"
	}
}

func (u unit) example() string {
	switch u {
	case milliseconds:
		return "2ms"
	case share:
		return "80%"
	default:
		return "10"
	}
}

// ErrThreshold is in the errors of thresholds that cannot be read.
var ErrThreshold = errors.New("wrong threshold")

var errOutOfRange = errors.New("out of range")

// parse reads a threshold of this unit.
func (u unit) parse(text string) (float64, error) {
	if text == "off" {
		return math.Inf(1), nil
	}
	var value float64
	var err error
	most := math.MaxFloat64
	switch u {
	case milliseconds:
		var d time.Duration
		d, err = time.ParseDuration(text)
		value = Milliseconds(d)
	case share:
		var ok bool
		if text, ok = strings.CutSuffix(text, "%"); !ok {
			return 0, errOutOfRange
		}
		value, err = strconv.ParseFloat(strings.TrimSpace(text), 64)
		value, most = value/100, 1
	default:
		value, err = strconv.ParseFloat(text, 64)
	}
	if err == nil && !(value >= 0 && value <= most) { // NaN neither
		err = errOutOfRange
	}
	return value, err
}
