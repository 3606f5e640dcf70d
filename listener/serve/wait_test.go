package serve

import (
	"testing"
	"time"

	"mockserver/listener/compile"
	"mockserver/listener/compile/traffic"
	"mockserver/listener/compile/webhook"
	"mockserver/listener/protocol/h2"
	"mockserver/listener/protocol/wire"
	"mockserver/listener/reply"
)

// A stream always waits without a goroutine, unless its reply is being passed on, and gets one for what
// may block. Over HTTP/1.1, such a request keeps its goroutine.
func TestCall_MayWait(t *testing.T) {
	hooked := &compile.Response{Hooks: []webhook.Hook{{}}}
	for name, c := range map[string]struct {
		options Options
		change  func(c *call)
		stream  bool // a stream waits without a goroutine
		blocks  bool
	}{
		"nothing follows": {stream: true},
		"a log":           {options: Options{AccessLog: true}, stream: true, blocks: true},
		"a fault":         {change: func(c *call) { c.rest.fault = &traffic.Fault{} }, stream: true, blocks: true},
		"webhooks":        {change: func(c *call) { c.rest.given = hooked }, stream: true},
		"stored webhooks": {options: Options{Stored: true}, change: func(c *call) { c.rest.given = hooked }, stream: true, blocks: true},
		"of an upstream":  {change: func(c *call) { c.Reply.Passed = &reply.Passed{} }},
	} {
		st, paced := &h2.Stream{}, &compile.Response{}
		paced.Paced = true
		for _, from := range []peer{st, &wire.Connection{}} {
			one := &call{server: &Server{Options: c.options}, peer: from}
			if c.change != nil {
				c.change(one)
			}
			_, isStream := from.(*h2.Stream)
			want := c.stream && (isStream || !c.blocks)
			if got := one.mayWait(paced, time.Now().Add(time.Hour)); got != want || isStream && st.Blocks != c.blocks {
				t.Errorf("%s, stream %v: waits without a goroutine: %v, then blocks: %v", name, isStream, got, st.Blocks)
			}
		}
	}
}
