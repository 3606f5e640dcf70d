package record

import (
	"bytes"
	"iter"
	"net"
	"net/netip"
	"strings"
	"time"

	"mockserver/internal/secret"
	"mockserver/listener/reply"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Exchange is a request and its reply, in the form in which the journal keeps them.
type Exchange struct {
	ID       uint64    `json:"id" doc:"ID of the request; it rises with each request that is kept"`
	Kept     Kept      `json:"kept" doc:"why the request was kept: sample, error, unmatched or slow"`
	Time     time.Time `json:"time" doc:"when the request arrived"` // in UTC
	Endpoint string    `json:"endpoint" doc:"endpoint that answered; empty if none did"`
	// EndpointID is the ID of that endpoint; see EndpointCounts.
	EndpointID string        `json:"-"`
	Remote     string        `json:"remote" doc:"address of the client"`
	TLS        *matcher.TLS  `json:"-"` // nil for clear text
	Protocol   string        `json:"protocol" doc:"protocol of the request: http/1.1, http/1.0 or h2"`
	Method     string        `json:"method" doc:"method of the request"`
	Host       string        `json:"host" doc:"host of the request"`
	Target     string        `json:"target" doc:"path and query, as requested"`
	Status     int           `json:"status" doc:"status of the response"`
	Took       time.Duration `json:"-"` // from the arrival of the request to the reply
	Injected   time.Duration `json:"-"` // the part of Took that was declared latency or a wait in a queue
	Upstream   time.Duration `json:"-"` // the part of Took that was spent on an upstream or a remote body
	Fault      string        `json:"fault,omitempty" doc:"the declared fault that was injected"`
	Code       string        `json:"-"` // code of the server's own error, such as "endpoint_not_found"
	Reason     string        `json:"reason,omitempty" doc:"why no endpoint answered, or what the server could not do"`
	Streamed   *Streamed     `json:"-"` // what a streamed response sent; nil for any other
	Request    Message       `json:"-"`
	Response   Message       `json:"-"`

	route  route // path of the endpoint
	short  bool  // method, host or target is truncated
	fewer  bool  // the headers of the request are truncated
	places int   // how many places in the journal contain it; guarded by the journal's lock
}

// route is the path that an endpoint is declared for; the zero route means no endpoint.
type route struct {
	path     string
	template bool // the path is written as in OpenAPI
}

// Message contains the headers and the body of a request or a reply. The values of secret headers
// are replaced.
type Message struct {
	Header [][2]string `json:"headers" doc:"name and value of each header; values that may be secrets are not shown"`
	Body   []byte      `json:"-"` // the first 8 KiB
	Size   int         `json:"size" doc:"size of the whole body, in bytes"`
	Cut    bool        `json:"cut,omitempty" doc:"whether headers or body are longer than what is shown"`
}

const (
	// KeptPart is how many bytes of the headers are kept in the journal, and how many of the body.
	KeptPart = 8 << 10
	// keptTarget is how many bytes of a target are kept.
	keptTarget = 2 << 10
	keptReason = 2 << 10 // bytes kept of the message of an error
	// exchangeSize is the size of an exchange without its strings and headers, in bytes, including
	// the overhead of the heap and its place in a list.
	exchangeSize = 512
	headerSize   = 64 // size of a header without its strings, with the overhead
	// largestExchange is the maximum size of an exchange.
	largestExchange = exchangeSize + keptTarget + keptReason + 2<<10 + 4*KeptPart
)

// by sets the endpoint that answered, and the reason why the request is kept.
func (x *Exchange) by(t *Counters, kept Kept) {
	x.Kept, x.Endpoint, x.EndpointID, x.route = kept, t.name, t.key, t.route
}

// own returns the server's own time.
func (x *Exchange) own() time.Duration { return max(x.Took-x.Injected-x.Upstream, 0) }

// size returns an upper bound of the memory that an exchange uses, in bytes. The name of the
// endpoint is shared with the counters.
func (x *Exchange) size() int {
	n := exchangeSize + len(x.Remote) + len(x.Method) + len(x.Host) + len(x.Target) + len(x.Reason)
	if t := x.TLS; t != nil { // shared with the other requests of the connection, if they are kept
		n += headerSize + len(t.Version) + len(t.Name) + len(t.Cipher)
		if c := t.Client; c != nil {
			n += 2*headerSize + len(c.CommonName) + len(c.Names) + len(c.Subject) + len(c.Fingerprint) + len(c.Serial)
		}
	}
	if x.Streamed != nil {
		n += 2 * headerSize
	}
	for _, m := range [...]*Message{&x.Request, &x.Response} {
		n += cap(m.Body)
		for _, h := range m.Header {
			n += headerSize + len(h[0]) + len(h[1])
		}
	}
	return n
}

// exchangeOf copies a request and its reply. If the request could not be parsed, its method, host
// and target are left empty.
func exchangeOf(in *matcher.Input, p *reply.Reply) *Exchange {
	x := &Exchange{Time: in.Time, Status: p.Status, Protocol: in.Protocol.String(), TLS: in.TLS}
	if in.Remote != nil {
		x.Remote = in.Remote.String()
	}
	if x.Time.IsZero() {
		x.Time = time.Now()
	}
	x.Time = x.Time.UTC()
	if len(in.Method) > 0 {
		x.Method, x.Host, x.Target = cutText(in.Method, 64), cutText(in.Host, 256), cutText(in.Target, keptTarget)
		x.short = len(in.Method) > len(x.Method) || len(in.Host) > len(x.Host) || len(in.Target) > len(x.Target)
	}
	x.Request.headers(in.Header.All(), true)
	x.fewer = x.Request.Cut
	x.Request.Cut = x.fewer || x.short
	x.Request.body(in.Body)
	x.Response.headers(p.Header(), false)
	x.Response.body(p.Sent(false))
	if p.Passed != nil && !p.Passed.Whole {
		x.Response.Body, x.Response.Size, x.Response.Cut = nil, int(max(p.Passed.Length, 0)), true
	}
	if f := p.Refusal; f != nil {
		x.Code, x.Reason = f.Code, cutText([]byte(f.Message), keptReason)
	}
	return x
}

func cutText(b []byte, most int) string { return string(b[:min(len(b), most)]) }

// headers copies header lines as long as there is room, with normalized names if normal is set. The
// lines are slices of one string: many small strings would cost more than everything else.
func (m *Message) headers(all iter.Seq2[[]byte, []byte], normal bool) {
	lines, size, room := 0, 0, KeptPart
	var hidden [KeptPart / headerSize]bool // by line: whether its value is hidden
	for name, value := range all {
		if room -= len(name) + len(value) + headerSize; room < 0 {
			m.Cut = true
			break
		}
		size += len(name) + len(value)
		if secret.IsHeader(name) && renderer.IsTrue(value) { // a false value is not secret in any header
			hidden[lines] = true
			size += len(secret.Shown) - len(value) // a hidden value may be long, but takes no space
		}
		lines++
	}
	text := make([]byte, 0, size)
	m.Header = make([][2]string, 0, lines)
	for name, value := range all {
		if len(m.Header) == lines {
			break
		}
		begin := len(text)
		text = append(text, name...)
		middle := len(text)
		if normal {
			normalName(text[begin:])
		}
		if hidden[len(m.Header)] {
			text = append(text, secret.Shown...)
		} else {
			text = append(text, value...)
		}
		m.Header = append(m.Header, [2]string{reply.Text(text[begin:middle]), reply.Text(text[middle:])})
	}
}

// normalName capitalizes each word of a name: X-Request-Id.
func normalName(name []byte) {
	for i, c := range name {
		switch first := i == 0 || name[i-1] == '-'; {
		case first && 'a' <= c && c <= 'z', !first && 'A' <= c && c <= 'Z':
			name[i] = c ^ 0x20
		}
	}
}

// body copies the first bytes of a body.
func (m *Message) body(b []byte) {
	m.Size = len(b)
	m.Cut = m.Cut || len(b) > KeptPart
	m.Body = bytes.Clone(b[:min(len(b), KeptPart)])
}

// restore returns the request, as far as it was kept, for evaluating conditions.
func (x *Exchange) restore() matcher.Input {
	in := matcher.Input{Method: []byte(x.Method), Protocol: matcher.ProtocolOf(x.Protocol), Target: []byte(x.Target), Host: []byte(x.Host), Body: x.Request.Body}
	for _, line := range x.Request.Header {
		in.Header = append(append(append(append(in.Header, line[0]...), ": "...), line[1]...), "\r\n"...)
	}
	if at, err := netip.ParseAddrPort(x.Remote); err == nil {
		in.Remote = net.TCPAddrFromAddrPort(at)
	}
	in.TLS = x.TLS
	return in
}

// unknown returns the parts of the request that are no longer known.
func (x *Exchange) unknown() *renderer.Unknown {
	return &renderer.Unknown{Body: len(x.Request.Body) < x.Request.Size, Header: func(name string) renderer.HeaderKnown {
		for _, line := range x.Request.Header {
			switch {
			case !strings.EqualFold(line[0], name):
			case line[1] == secret.Shown && secret.IsHeader(name):
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
