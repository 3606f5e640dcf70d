package listener

import (
	"bytes"
	"time"
)

// A request that is answered with a fixed answer takes the same way whether the journal
// is to have it or not: else those that are sampled would be slower than those that they
// stand for. It is told to the journal as its bytes, before the answer is written, so that
// a client that has its answer finds the request there; and read from them once the answer
// is written, or somebody looks at the journal.

// countFixed counts a fixed answer that is about to be written to a request, and tells
// the journal of it if that is to have it.
func (c *connection) countFixed(f *fixed, request []byte) (isTold bool) {
	own := time.Since(c.from.clock.base) - c.readAt
	told, wanted := c.from.recorder.CountFixed(f.counters, c.shard, f.status, len(f.body), own)
	if wanted {
		told.Answer, told.Request, told.Time, told.Remote = f.answer, bytes.Clone(request), c.from.clock.base.Add(c.readAt), c.RemoteAddr()
		c.from.recorder.Journal().Tell(told)
	}
	return wanted
}
