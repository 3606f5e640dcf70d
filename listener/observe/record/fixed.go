package record

import (
	"bytes"
	"net"
	"time"

	"mockserver/listener/reply"
	"mockserver/matcher"
)

// FixedRequest is a request, in its original bytes, that was answered with a fixed reply.
type FixedRequest struct {
	Response interface{ Fixed() *reply.Reply }
	Request  []byte // the head: there is no body
	Time     time.Time
	Remote   net.Addr
	TLS      *matcher.TLS // nil for clear text

	counters *Counters
	took     time.Duration
	kept     Kept
	slow     bool // the request is one of the slowest
}

// CountFixed counts a fixed reply that is about to be written, with its status, the bytes of its
// body and the server time. It reports whether the journal wants the request; if so, the caller
// completes t and passes it to AddFixed.
func (r *Recorder) CountFixed(c *Counters, shard uint32, status, body int, own time.Duration) (t FixedRequest, wanted bool) {
	counts := c.At(shard)
	if body > 0 {
		counts.out.Add(uint64(body))
	}
	counts.service.Add(own)
	nth := counts.status(uint32(status)).Add(1) // last, see Shard.stamp
	if nth%stride == 0 {
		r.spreadBusy(c.places)
	}
	remark := Kept("")
	if status >= 500 {
		remark = Failed
	}
	kept, slow, wanted := r.journal.wants(remark, nth, own)
	return FixedRequest{counters: c, took: own, kept: kept, slow: slow}, wanted
}

// exchange returns the request with its reply.
func (t *FixedRequest) exchange() *Exchange {
	line, lines, _ := bytes.Cut(t.Request, []byte("\r\n"))
	method, line, _ := bytes.Cut(line, []byte{' '})
	target, _, _ := bytes.Cut(line, []byte{' '})
	in := matcher.Input{Method: method, Target: target, Header: lines, Remote: t.Remote, Time: t.Time, TLS: t.TLS}
	in.Host, _ = in.Header.Get("Host")
	x := exchangeOf(&in, t.Response.Fixed())
	x.by(t.counters, t.kept)
	x.Took = t.took
	return x
}

// AddFixed passes a request to the journal, which parses it later: before the journal itself is read.
func (j *Journal) AddFixed(t FixedRequest) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fixed = append(j.fixed, t)
}

// Settle parses the requests passed to AddFixed. It is called before any other request is added or
// read.
func (j *Journal) Settle() {
	j.settling.Lock()
	defer j.settling.Unlock()
	j.mu.Lock()
	list := j.fixed
	j.fixed = nil
	j.mu.Unlock()
	for i := range list {
		j.place(list[i].exchange(), list[i].slow)
	}
}
