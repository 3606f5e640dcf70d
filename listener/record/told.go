package record

import (
	"bufio"
	"bytes"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// Told is a request that was answered with a fixed answer, as its bytes.
type Told struct {
	Answer interface {
		WriteTo(ctx *fasthttp.RequestCtx)
	} // as any other is
	Request []byte // the head, which is all of it
	Time    time.Time
	Remote  net.Addr

	counters *Counters
	took     time.Duration
	kept     Kept
	slow     bool // one of the slowest
}

// CountFixed counts a fixed answer that is about to be written: so long a body, with a
// status, after the server's own time. It tells whether the journal is to be told of it,
// with what it returns.
func (r *Recorder) CountFixed(c *Counters, shard uint32, status, body int, own time.Duration) (t Told, wanted bool) {
	counts := c.At(shard)
	if body > 0 {
		counts.out.Add(uint64(body))
	}
	counts.service.Add(own)
	nth := counts.status(uint32(status)).Add(1) // last, see Shard.stamp
	remark := Kept("")
	if status >= 500 {
		remark = Failed
	}
	kept, slow, wanted := r.journal.wants(remark, nth, own)
	return Told{counters: c, took: own, kept: kept, slow: slow}, wanted
}

// retelling is what requests that were told are read with.
type retelling struct {
	ctx  fasthttp.RequestCtx
	text bytes.Reader
	in   *bufio.Reader // that a whole head has room in
}

// exchange is what fasthttp would have made of a request, and its answer.
func (r *retelling) exchange(t *Told) *Exchange {
	r.text.Reset(t.Request)
	r.in.Reset(&r.text)
	_ = r.ctx.Request.Read(r.in) // wire lets nothing through that fails
	t.Answer.WriteTo(&r.ctx)
	x := exchangeOf(&r.ctx)
	x.by(t.counters, t.kept)
	x.Time, x.Remote, x.Took = t.Time, t.Remote.String(), t.took
	return x
}

// Tell has the journal have a request, at the latest when somebody looks.
func (j *Journal) Tell(t Told) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.told = append(j.told, t)
}

// Settle puts what was told. What is put or looked at afterwards comes after it.
func (j *Journal) Settle() {
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
