package traffic

import (
	"cmp"
	"math"
	"time"

	"mockserver/config"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// Latency is the time from the arrival of a request to its answer, and how often it is
// answered that something went wrong instead.
type Latency struct {
	length  quantiles // nil when there are only rates
	failure float64   // of the requests: they are answered 500
	timeout float64   // of them: they wait limit, and are answered 504
	limit   time.Duration
	// What requests are answered that fail, or time out.
	failing, timedOut *reply.Preset
}

// quantiles is a distribution of lengths: how long the part of all is at most that is
// given, from 0 to below 1. What it gives for random numbers is distributed so.
type quantiles func(part float64) time.Duration

// NewLatency compiles a latency; nil is none. The name is that of what it is declared for.
func NewLatency(l *config.Latency, name string) *Latency {
	if l == nil {
		return nil
	}
	compiled := &Latency{failure: l.FailureRate, timeout: l.TimeoutRate, limit: cmp.Or(l.Timeout, config.DefaultLatencyTimeout)}
	message := "the latency of " + name + " declares that some requests fail so"
	compiled.failing, compiled.timedOut = reply.InjectedFailure.Preset(message), reply.InjectedTimeout.Preset(message)
	switch {
	case len(l.Curve) > 0:
		compiled.length = curved(l)
	case l.Median > 0:
		compiled.length = lognormal(l.Median, l.Sigma)
	case l.Max > 0:
		compiled.length = func(part float64) time.Duration { return between(l.Min, l.Max, part) }
	}
	return compiled
}

// between is the length that lies at a part of the way from one to another.
func between(low, high time.Duration, part float64) time.Duration {
	return low + time.Duration(math.Round(part*float64(high-low)))
}

// point is one of a curve: this part of all are length or less.
type point struct {
	part   float64
	length time.Duration
}

// curved goes through the declared points in straight lines, from the least length,
// which is 0 when none is declared. After the last point it stays there.
func curved(l *config.Latency) quantiles {
	points := make([]point, 1, len(l.Curve)+2)
	points[0].length = l.Min
	for _, p := range l.Curve {
		points = append(points, point{p.Rank / 100, p.Length})
	}
	if last := points[len(points)-1]; last.part < 1 {
		points = append(points, point{1, last.length})
	}
	return func(part float64) time.Duration {
		i := 1
		for part > points[i].part { // there are few
			i++
		}
		low, high := points[i-1], points[i]
		return between(low.length, high.length, (part-low.part)/(high.part-low.part))
	}
}

// longestLatency cuts a lognormal distribution, which has no end.
const longestLatency = 24 * time.Hour

func lognormal(median time.Duration, sigma float64) quantiles {
	if sigma == 0 {
		return func(float64) time.Duration { return median }
	}
	return func(part float64) time.Duration {
		length := float64(median) * math.Exp(sigma*math.Sqrt2*math.Erfinv(2*part-1))
		return time.Duration(math.Round(min(length, float64(longestLatency))))
	}
}

// Wait is what a request has drawn of a latency.
type Wait struct {
	Length  time.Duration
	Timed   bool          // there is a length to be met
	Instead *reply.Preset // the answer to give; nil is that of the endpoint
}

// Draw has a request wait, or fail. A latency that is nil has it do neither.
func (l *Latency) Draw(random *matcher.Random) Wait {
	if l == nil {
		return Wait{}
	}
	w := Wait{Timed: l.length != nil}
	if l.failure > 0 || l.timeout > 0 {
		switch fate := random.Float64(); {
		case fate < l.failure:
			w.Instead = l.failing
		case fate < l.failure+l.timeout:
			return Wait{Length: l.limit, Timed: true, Instead: l.timedOut}
		}
	}
	if w.Timed {
		w.Length = l.length(random.Float64())
	}
	return w
}
