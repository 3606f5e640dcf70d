package record

import (
	"bytes"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/config"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Exchange is a request and its answer, as the journal keeps them.
type Exchange struct {
	ID       uint64 // rises with each
	Kept     Kept
	Time     time.Time // of its arrival
	Endpoint string    // that answered, "GET /users/:id"; "" for none
	// EndpointID is the ID that EndpointCounts has of it.
	EndpointID string
	Remote     string // the client's address
	Method     string
	Host       string
	Target     string // path and query as sent
	Status     int
	Took       time.Duration // from its arrival to its answer
	Injected   time.Duration // of that, what latency was declared to take
	Fault      string        // "" for none
	Code       string        // of an answer of the server's own: "endpoint_not_found"
	Reason     string        // what that says
	Request    Message
	Response   Message

	route  *route // of the endpoint; nil for none
	short  bool   // method, host or target are not whole
	fewer  bool   // nor are the headers of the request
	places int    // where the journal has it; its lock guards it
}

// route is the path that an endpoint is declared for.
type route struct {
	path     string
	template bool // as OpenAPI writes it
}

// Message is the headers and body of a request or an answer. Values of headers that
// are secrets are left out.
type Message struct {
	Header [][2]string
	Body   []byte // at most 8 KiB of it
	Size   int    // bytes of the whole body
	Cut    bool   // headers or body are not whole
}

const (
	// keptPart is how much of the headers, and of the body, of a message is kept.
	keptPart = 8 << 10
	// keptTarget is how much of a target is kept.
	keptTarget = 2 << 10
	keptReason = 2 << 10 // of a message
	// exchangeSize is what an exchange takes beside its texts and headers, in bytes, with
	// what the heap adds and what it takes in the list that has it.
	exchangeSize = 512
	headerSize   = 64 // of a header beside its texts, in the same way
	// largestExchange is what one takes at most.
	largestExchange = exchangeSize + keptTarget + keptReason + 2<<10 + 4*keptPart
)

// by says which endpoint answered, and why the request is kept.
func (x *Exchange) by(t *Counters, kept Kept) {
	x.Kept, x.Endpoint, x.EndpointID, x.route = kept, t.name, t.key, t.route
}

// own is the time that the server took itself.
func (x *Exchange) own() time.Duration { return x.Took - x.Injected }

// size is what an exchange takes, in bytes and roughly from above. The name of the
// endpoint is that of its counters.
func (x *Exchange) size() int {
	n := exchangeSize + len(x.Remote) + len(x.Method) + len(x.Host) + len(x.Target) + len(x.Reason)
	for _, m := range [...]*Message{&x.Request, &x.Response} {
		n += cap(m.Body)
		for _, h := range m.Header {
			n += headerSize + len(h[0]) + len(h[1])
		}
	}
	return n
}

// exchangeOf copies what a request was and what answers it. Of one whose headers were
// not understood, nothing is known.
func exchangeOf(ctx *fasthttp.RequestCtx) *Exchange {
	x := &Exchange{Time: ctx.Time(), Remote: ctx.RemoteAddr().String(), Status: ctx.Response.StatusCode()}
	if x.Time.IsZero() {
		x.Time = time.Now()
	}
	if h := &ctx.Request.Header; isKnown(h) {
		x.Method, x.Host, x.Target = cutText(h.Method(), 64), cutText(h.Host(), 256), cutText(h.RequestURI(), keptTarget)
		x.short = len(h.Method()) > len(x.Method) || len(h.Host()) > len(x.Host) || len(h.RequestURI()) > len(x.Target)
	}
	x.Request.headers(ctx.Request.Header.All())
	x.fewer = x.Request.Cut
	x.Request.Cut = x.fewer || x.short
	x.Request.body(ctx.Request.Body())
	x.Response.headers(ctx.Response.Header.All())
	if ctx.Response.IsBodyStream() { // it is for the client alone to read
		x.Response.Size, x.Response.Cut = ctx.Response.Header.ContentLength(), true
	} else {
		x.Response.body(ctx.Response.Body())
	}
	if f := RefusalOf(ctx); f != nil {
		x.Code, x.Reason = f.Code, cutText([]byte(f.Message), keptReason)
	}
	return x
}

// refusalKey is the key under which a request keeps what an answer of the server's own
// says.
type refusalKey struct{}

// Refusal is what an answer of the server's own says.
type Refusal struct{ Code, Message string }

// KeepReason keeps what an answer of the server's own says, for the journal.
func KeepReason(ctx *fasthttp.RequestCtx, reason *Refusal) {
	ctx.SetUserValue(refusalKey{}, reason)
}

// RefusalOf is what the answer of the server's own says; nil for none.
func RefusalOf(ctx *fasthttp.RequestCtx) *Refusal {
	f, _ := ctx.UserValue(refusalKey{}).(*Refusal)
	return f
}

// isKnown reports whether the headers of a request were understood.
func isKnown(h *fasthttp.RequestHeader) bool { return len(h.RawHeaders()) > 0 || len(h.Host()) > 0 }

func cutText(b []byte, most int) string { return string(b[:min(len(b), most)]) }

// headers copies header lines, for as long as there is room. All that it copies is one
// text, of which the lines are parts: many small ones would cost more than all else.
func (m *Message) headers(all func(yield func(name, value []byte) bool)) {
	lines, size, room := 0, 0, keptPart
	var secret [keptPart / headerSize]bool // of each line
	for name, value := range all {
		if room -= len(name) + len(value) + headerSize; room < 0 {
			m.Cut = true
			break
		}
		size += len(name) + len(value)
		if config.IsSecretHeader(name) && !isNoSecret(value) {
			secret[lines] = true
			size += len(config.SecretShown) - len(value) // no room for what is not shown: it may be long
		}
		lines++
	}
	var text strings.Builder
	text.Grow(size)
	m.Header = make([][2]string, 0, lines)
	for name, value := range all {
		if len(m.Header) == lines {
			break
		}
		begin := text.Len()
		text.Write(name)
		middle := text.Len()
		if secret[len(m.Header)] {
			text.WriteString(config.SecretShown)
		} else {
			text.Write(value)
		}
		so := text.String()
		m.Header = append(m.Header, [2]string{so[begin:middle], so[middle:]})
	}
}

// body copies the beginning of a body.
func (m *Message) body(b []byte) {
	m.Size = len(b)
	m.Cut = m.Cut || len(b) > keptPart
	m.Body = bytes.Clone(b[:min(len(b), keptPart)])
}

// restore is the request that was kept, as far as it was, for conditions to be tested on.
func (x *Exchange) restore() matcher.Input {
	in := matcher.Input{Method: []byte(x.Method), Target: []byte(x.Target), Host: []byte(x.Host), Body: x.Request.Body}
	for _, line := range x.Request.Header {
		in.Header = append(append(append(append(in.Header, line[0]...), ": "...), line[1]...), "\r\n"...)
	}
	if at, err := netip.ParseAddrPort(x.Remote); err == nil {
		in.Remote = net.TCPAddrFromAddrPort(at)
	}
	return in
}

// unknown is what is not known any more of the request.
func (x *Exchange) unknown() *renderer.Unknown {
	return &renderer.Unknown{Body: len(x.Request.Body) < x.Request.Size, Header: func(name string) renderer.HeaderKnown {
		for _, line := range x.Request.Header {
			switch {
			case !strings.EqualFold(line[0], name):
			case line[1] == config.SecretShown && config.IsSecretHeader(name):
				return renderer.HeaderHidden
			default:
				return renderer.HeaderWhole
			}
		}
		if x.fewer {
			return renderer.HeaderLost
		}
		return renderer.HeaderWhole
	}}
}

// isNoSecret tells of values that conditions take for false, which are none in any header:
// a value that is not shown is taken for true.
func isNoSecret(value []byte) bool { return !renderer.IsTrue(value) }
