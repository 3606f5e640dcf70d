package record

import (
	"bytes"
	"net"
	"time"

	"mockserver/listener/reply"
	"mockserver/matcher"
)

// Told is a request that was answered with a fixed answer, as its bytes.
type Told struct {
	Answer  interface{ Fixed() *reply.Reply }
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

// exchange is the request that was told, and its answer.
func (t *Told) exchange() *Exchange {
	line, lines, _ := bytes.Cut(t.Request, []byte("\r\n"))
	method, line, _ := bytes.Cut(line, []byte{' '})
	target, _, _ := bytes.Cut(line, []byte{' '})
	in := matcher.Input{Method: method, Target: target, Header: lines, Remote: t.Remote, Time: t.Time}
	in.Host, _ = in.Header.Get("Host")
	x := exchangeOf(&in, t.Answer.Fixed())
	x.by(t.counters, t.kept)
	x.Took = t.took
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
		j.place(list[i].exchange(), list[i].slow)
	}
}
