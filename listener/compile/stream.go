package compile

import (
	"cmp"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/listener/compile/traffic"
	"mockserver/matcher"
	"mockserver/renderer"
	"mockserver/renderer/llm"
	"mockserver/renderer/stream"
)

// Stream is what a response sends item by item, and when.
type Stream struct {
	*stream.Items
	// The distributions of times, as policy.Latency.Lengths returns them; nil for none.
	First, Gap  Lengths
	PerToken    time.Duration // added to First for each token of the prompt of a language model
	Opens       bool          // what goes with the first item is sent with the head
	Whole       bool          // the items are sent as one body, when the last one is due
	Afters      []Lengths     // by Item.After
	Shared      float64       // items a second of all streams of the endpoint together; 0 for no limit
	HeadAtOnce  bool          // the head is not sent with the first item, but when the latency of the endpoint is over
	Heartbeat   time.Duration // 0 for none
	MaxDuration time.Duration // 0 for no limit
	Resume      bool          // Last-Event-ID leaves out items
	// The items of an endless stream after which it ends; 0 for no limit.
	Most   int
	Clock  *traffic.Clock // of the streams that share a rate; nil for none
	Demand float64        // the items a second that the stream wants to send, by that clock
	// ReadsBody means that items, or the one of a fault, read the body of the request.
	ReadsBody bool
}

// Lengths is a distribution of lengths of time; see policy.Latency.Lengths.
type Lengths = func(part float64) time.Duration

// endlessDuration is how long a stream without an end lasts, unless it says so.
const endlessDuration = time.Hour

// stream compiles the stream of the response of an endpoint. form is the form of a declared Content-Type.
func (c *Compiler) stream(a *Response, e *item.Endpoint, form renderer.Form, scope *renderer.Scope) syntax.Problems {
	resp := &e.Response
	if !a.TypeDeclared {
		form = renderer.Inferred
	}
	s, within := new(Stream), *scope
	within.ReadsBody = &s.ReadsBody
	scope = &within
	items, problems := stream.Compile(resp.Items, resp.Raw, form, scope)
	if items == nil {
		return problems
	}
	s.Items, s.Heartbeat, s.MaxDuration, s.Resume = items, resp.Heartbeat, resp.MaxDuration, items.HasID && !resp.NoResume
	if p := resp.Pace; p != nil {
		s.First, s.Gap, s.Shared, s.HeadAtOnce = p.First.Lengths(), p.Gap.Lengths(), p.Shared, p.Head == item.HeadAtOnce
	}
	if e.LLM != nil {
		a.Model, s.PerToken, s.Whole, s.Opens = c.models.byForm[e.LLM.Form], e.LLM.Pace.PerToken, resp.Whole, s.HeadAtOnce
	}
	for _, l := range items.Afters {
		s.Afters = append(s.Afters, l.Lengths())
	}
	if items.Endless {
		s.MaxDuration = cmp.Or(s.MaxDuration, endlessDuration)
	}
	c.pace(s)
	if a.Stream = s; a.Proxy == nil {
		problems = append(problems, c.spoiling(a, e, items.Count, form, scope)...)
	}
	if !a.TypeDeclared {
		a.ContentType = resp.Stream.MediaType()
	}
	if resp.Stream.MediaType() == item.TypeEvents && !slices.Contains(a.fieldNames(), fasthttp.HeaderCacheControl) {
		a.Headers = append(a.Headers, header{Name: fasthttp.HeaderCacheControl, Value: "no-cache"})
	}
	return problems
}

// spoiling compiles how a stream of an endpoint, with so many items, is spoiled; -1 for an unknown number.
func (c *Compiler) spoiling(a *Response, e *item.Endpoint, count int, form renderer.Form, scope *renderer.Scope) (problems syntax.Problems) {
	if cut := e.Response.Cut; cut != nil && !c.NoFaults {
		a.Cut = new(*cut)
		if c.NoLatency {
			a.Cut.Pause = 0
		}
	}
	f := e.Fault
	if f == nil {
		return nil
	}
	if f.NeedsCount() && count < 0 {
		problems = append(problems, syntax.Problem{Pos: f.AfterPos, Key: f.Key + ".after",
			What: "is a part of the items, whose number differs between requests; expected a number of items or a time"})
	}
	if failing, is := f.Item.(*item.StreamItem); is {
		if !a.TypeDeclared {
			form = renderer.Inferred
		}
		var wrong syntax.Problems
		a.Failing, wrong = stream.Compile([]item.StreamItem{*failing}, false, form, scope)
		problems = append(problems, wrong...)
	}
	return problems
}

// mostWithoutLatency is how many items an endless stream sends without latencies.
const mostWithoutLatency = 100

// pace completes the pacing of a stream.
func (c *Compiler) pace(s *Stream) {
	if c.NoLatency {
		s.First, s.Gap, s.Afters, s.Shared, s.PerToken = nil, nil, nil, 0, 0
		if s.Endless {
			s.Most = mostWithoutLatency
		}
	}
	if s.Shared == 0 {
		return
	}
	if s.Demand = s.Shared; s.Gap != nil {
		s.Demand = 1 / mean(s.Gap).Seconds()
	}
}

// mean returns the mean of a distribution, but at least a microsecond.
func mean(lengths Lengths) time.Duration {
	const parts = 1000
	sum := time.Duration(0)
	for i := range parts {
		sum += lengths((float64(i) + 0.5) / parts)
	}
	return max(sum/parts, time.Microsecond)
}

// share gives the streams of an endpoint that share the same rate one clock.
func (a *Response) share(clock func(rate float64) *traffic.Clock) {
	clocks := map[float64]*traffic.Clock{}
	a.may(func(a *Response) bool {
		if s := a.Stream; s != nil && s.Shared > 0 {
			if clocks[s.Shared] == nil {
				clocks[s.Shared] = clock(s.Shared)
			}
			s.Clock = clocks[s.Shared]
		}
		return false
	})
}

// Begins returns the time to the first item of the stream, and whether it has one. part is as for Step.
func (s *Stream) Begins(r *matcher.Request, part func() float64) (first time.Duration, ok bool) {
	if s.First != nil {
		first = s.First(part())
	}
	if s.PerToken > 0 {
		first += s.PerToken * time.Duration(llm.Uncached(r))
	}
	return first, s.First != nil || s.PerToken > 0
}

// Step returns the time from an item to the next one. part says where that is in the distribution.
func (s *Stream) Step(before, next *stream.Item, part float64) time.Duration {
	if GoesWithNext(before) || next.With == item.WithPrevious {
		return 0
	}
	if next.After >= 0 && s.Afters != nil {
		after := s.Afters[next.After]
		if after == nil { // it is 0
			return 0
		}
		return after(part)
	}
	return s.step(part)
}

// GoesWithNext reports whether an item is sent with the next one.
func GoesWithNext(i *stream.Item) bool { return i.With == item.WithNext }

// IsTimed reports whether an item has a time of its own, which is not that of an item that it is sent with.
func (s *Stream) IsTimed(i *stream.Item) bool {
	return i.With == "" && (s.Gap != nil || s.Clock != nil || i.After >= 0 && s.Afters != nil)
}

// step returns the time to an item without a time of its own.
func (s *Stream) step(part float64) time.Duration {
	switch {
	case s.Gap != nil:
		return s.Gap(part)
	case s.Clock != nil:
		return time.Duration(float64(time.Second) / s.Demand)
	}
	return 0
}

// Pause returns the time before an iteration of an endless loop if no item of the one before took a step: that of an
// item without a time of its own, or else the first one of an item that has one. part is as for Step.
func (s *Stream) Pause(part float64) time.Duration {
	pause := s.step(part)
	for i := 0; i < len(s.Afters) && pause == 0; i++ {
		if after := s.Afters[i]; after != nil {
			pause = after(part)
		}
	}
	return pause
}
