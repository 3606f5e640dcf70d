package listener

import (
	"bytes"

	"mockserver/matcher"
)

// origin is what is kept of the request that became a connection, for templates.
type origin struct {
	in     matcher.Input // empty when no template asks
	params [][]byte
}

// asked keeps what the templates of a socket may ask for of a request.
func asked(k *webSocket, r *matcher.Request) origin {
	if !k.templated {
		return origin{}
	}
	kept := origin{in: matcher.Input{
		Method: bytes.Clone(r.In.Method), Target: bytes.Clone(r.In.Target), Host: bytes.Clone(r.In.Host), Header: bytes.Clone(r.In.Header),
		Remote: r.In.Remote,
	}}
	for _, param := range r.Params() {
		kept.params = append(kept.params, bytes.Clone(param))
	}
	return kept
}

// resume makes a request of what is kept of one, with a message for its body. It is to
// be released.
func (t *dialogue) resume(received []byte) *matcher.Request {
	in := t.asked.in
	in.Body = received
	r := matcher.Acquire(in)
	r.Message, r.MaxText = received, t.server.opts.MaxResponse
	if c := t.socket.chance; c.Seeded {
		t.made++
		c.SeedNth(t.socket.tally, t.number<<32|t.made, &r.Random)
	}
	r.Resume(t.asked.params)
	return r
}
