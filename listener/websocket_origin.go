package listener

import (
	"bufio"
	"bytes"
	"sync"

	"github.com/valyala/fasthttp"

	"mockserver/matcher"
)

// origin is what is kept of the request that became a connection, for templates.
type origin struct {
	head   []byte // as HTTP has it; nil when no template asks
	params [][]byte
}

// asked keeps what the templates of a socket may ask for of a request.
func asked(k *webSocket, r *matcher.Request) origin {
	if !k.templated {
		return origin{}
	}
	kept := origin{head: bytes.Clone(r.Ctx.Request.Header.Header())}
	for _, param := range r.Params() {
		kept.params = append(kept.params, bytes.Clone(param))
	}
	return kept
}

// resumed is a request that became a connection, for templates.
type resumed struct {
	ctx     fasthttp.RequestCtx
	from    bytes.Reader
	in      *bufio.Reader
	request *matcher.Request
}

// resumptions are those in use by nobody.
var resumptions = sync.Pool{New: func() any { return &resumed{in: bufio.NewReaderSize(nil, 2*maxHeader)} }}

// resume makes a request of what is kept of one, with a message for its body. It is to
// be released.
func (t *dialogue) resume(received []byte) *resumed {
	x := resumptions.Get().(*resumed)
	x.from.Reset(t.asked.head)
	x.in.Reset(&x.from)
	if x.ctx.Request.Header.Read(x.in) != nil { // which it was read from already
		x.ctx.Request.Header.Reset()
	}
	x.ctx.Request.SetBodyRaw(received)
	x.ctx.SetRemoteAddr(t.conn.RemoteAddr())
	x.request = matcher.Acquire(&x.ctx)
	x.request.Message, x.request.MaxText = received, t.server.opts.MaxResponse
	if c := t.socket.chance; c.seeded {
		t.made++
		x.request.Random.Seed(c.seed^matcher.Mix(t.socket.tally.stream+ofRequests), t.number<<32|t.made)
	}
	x.request.Resume(t.asked.params)
	return x
}

func (x *resumed) release() {
	matcher.Release(x.request)
	x.request = nil
	x.ctx.Request.Reset()
	x.ctx.SetRemoteAddr(nil)
	x.from.Reset(nil)
	x.in.Reset(nil)
	resumptions.Put(x)
}
