package compile

import (
	"cmp"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/renderer"
	"mockserver/renderer/stream"
)

// Stream is what a response sends item by item, and when.
type Stream struct {
	*stream.Items
	// The distributions of times, as policy.Latency.Lengths returns them; nil for none.
	First, Gap  Lengths
	Afters      []Lengths     // by Item.After
	Shared      float64       // items a second of all streams of the endpoint together; 0 for no limit
	HeadAtOnce  bool          // the head is not sent with the first item, but when the latency of the endpoint is over
	Heartbeat   time.Duration // 0 for none
	MaxDuration time.Duration // 0 for no limit
	Resume      bool          // Last-Event-ID leaves out items
	pacing
}

// Lengths is a distribution of lengths of time; see policy.Latency.Lengths.
type Lengths = func(part float64) time.Duration

// endlessDuration is how long a stream without an end lasts, unless it says so.
const endlessDuration = time.Hour

// stream compiles the stream of a response. form is the form of a declared Content-Type.
func (c *Compiler) stream(a *Response, resp *item.Response, form renderer.Form, scope *renderer.Scope) syntax.Problems {
	if !a.TypeDeclared {
		form = renderer.Inferred
	}
	items, problems := stream.Compile(resp.Items, resp.Raw, form, scope)
	if items == nil {
		return problems
	}
	s := &Stream{Items: items, Heartbeat: resp.Heartbeat, MaxDuration: resp.MaxDuration, Resume: items.HasID && !resp.NoResume}
	if p := resp.Pace; p != nil {
		s.First, s.Gap, s.Shared, s.HeadAtOnce = p.First.Lengths(), p.Gap.Lengths(), p.Shared, p.Head == item.HeadAtOnce
	}
	for _, l := range items.Afters {
		s.Afters = append(s.Afters, l.Lengths())
	}
	if items.Endless {
		s.MaxDuration = cmp.Or(s.MaxDuration, endlessDuration)
	}
	c.pace(s)
	a.Stream = s
	if !a.TypeDeclared {
		a.ContentType = resp.Stream.MediaType()
	}
	if resp.Stream.MediaType() == item.TypeEvents && !slices.Contains(a.fieldNames(), fasthttp.HeaderCacheControl) {
		a.Headers = append(a.Headers, header{Name: fasthttp.HeaderCacheControl, Value: "no-cache"})
	}
	return problems
}
