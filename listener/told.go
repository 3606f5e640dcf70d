package listener

import (
	"bufio"
	"bytes"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// A request that is answered with a fixed answer takes the same way whether the journal
// is to have it or not: else those that are sampled would be slower than those that they
// stand for. It is told to the journal as its bytes, before the answer is written, so that
// a client that has its answer finds the request there; and read from them once the answer
// is written, or somebody looks at the journal.

// told is such a request.
type told struct {
	fixed   *fixed
	request []byte // the head, which is all of it
	time    time.Time
	remote  net.Addr
	took    time.Duration
	kept    Kept
	slow    bool // one of the slowest
}

// countFixed counts a fixed answer that is about to be written to a request, and tells
// the journal of it if that is to have it.
func (c *connection) countFixed(f *fixed, request []byte) (isTold bool) {
	own := time.Since(c.from.clock.base) - c.readAt
	counts := f.account.at(c.shard)
	if len(f.body) > 0 {
		counts.out.Add(uint64(len(f.body)))
	}
	counts.service.add(own)
	nth := counts.status(uint32(f.status)).Add(1) // last, see counts.stamp
	kept, slow, ok := c.from.recorder.journal.wants(f.remark, nth, own)
	if ok {
		c.from.recorder.journal.tell(told{f, bytes.Clone(request), c.from.clock.base.Add(c.readAt), c.RemoteAddr(), own, kept, slow})
	}
	return ok
}

// retelling is what requests that were told are read with.
type retelling struct {
	ctx  fasthttp.RequestCtx
	text bytes.Reader
	in   *bufio.Reader // that a whole head has room in
}

// exchange is what fasthttp would have made of a request, and its answer.
func (r *retelling) exchange(t *told) *Exchange {
	r.text.Reset(t.request)
	r.in.Reset(&r.text)
	_ = r.ctx.Request.Read(r.in) // wire lets nothing through that fails
	t.fixed.answer.writeFixed(&r.ctx)
	x := exchangeOf(&r.ctx)
	x.by(t.fixed.account, t.kept)
	x.Time, x.Remote, x.Took = t.time, t.remote.String(), t.took
	return x
}

// tell has the journal have a request, at the latest when somebody looks.
func (j *journal) tell(t told) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.told = append(j.told, t)
}

// settle puts what was told. What is put or looked at afterwards comes after it.
func (j *journal) settle() {
	j.settling.Lock()
	defer j.settling.Unlock()
	j.mu.Lock()
	list := j.told
	j.told = nil
	j.mu.Unlock()
	for i := range list {
		j.place(j.retelling.exchange(&list[i]), list[i].slow)
	}
}
