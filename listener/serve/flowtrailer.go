package serve

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/internal/http1"
	"mockserver/listener/protocol/h2"
)

// serverTiming is the field that says how the time was spent, in the head and in the trailer.
const serverTiming = "Server-Timing"

// announce decides whether a trailer follows the items, and announces it in the head.
func (f *flow) announce() {
	c := f.call
	if f.trails = false; !c.server.ServerTiming || f.bare || f.whole {
		return
	}
	te, _ := c.Request.Header("TE")
	takes := f.coded && slices.ContainsFunc(strings.Split(string(te), ","), func(coding string) bool {
		return strings.EqualFold(strings.TrimSpace(coding), "trailers")
	})
	if _, ok := c.peer.(*h2.Stream); ok || takes {
		f.trails = true
		c.Reply.Add(fasthttp.HeaderTrailer, serverTiming)
	}
}

// timing is the value of Server-Timing in the trailer, in milliseconds: the time to the end, with how it ended, how
// late a later item was at most, and how long items waited for the client.
func (f *flow) timing() string {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return fmt.Sprintf("stream;dur=%v;desc=\"%d items, %s\", late;dur=%v, blocked;dur=%v", ms(time.Since(f.begun)), f.sent.Items, f.sent.End, ms(f.sent.Late), ms(f.sent.Blocked))
}

// trail makes the trailer of a stream of HTTP/2 that ends.
func (f *flow) trail(st *h2.Stream) {
	if f.trails {
		st.Trailer = h2.AppendField(nil, serverTiming, f.timing())
	}
}

// appendLast appends the last chunk, and the trailer.
func (f *flow) appendLast(b []byte) []byte {
	if !f.trails {
		return append(b, http1.LastChunk...)
	}
	return fmt.Appendf(b, "0\r\n%s: %s\r\n\r\n", serverTiming, f.timing())
}
