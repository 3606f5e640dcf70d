package upstream

import (
	"bytes"
	"slices"
	"strconv"

	"mockserver/internal/ascii"
	"mockserver/internal/http1"
	"mockserver/internal/places"
	"mockserver/matcher"
)

// Waiter is the connection of a request that may have to wait.
type Waiter = places.Waiter

// Request is a request to pass on.
type Request struct {
	Request   *matcher.Request
	Target    []byte // the path and query to request; nil selects those of the client's request
	Forwarded bool   // whether to send X-Forwarded-For, -Host and -Proto
	Waiter    Waiter // the client's connection; nil if its closing cannot be noticed
	Room      []byte // memory for the body of the answer, used if it is large enough
	// Most, if above 0, makes Do read the whole body, up to that many bytes, unless it is streamed.
	Most int64
}

// appendHead appends the head of the request to send: the head that the client sent, without the
// headers that concern only its connection. The error says why the request is not passed on.
func (u *Upstream) appendHead(b []byte, a *Request) ([]byte, error) {
	in := &a.Request.In
	named, framed, err := u.examine(in)
	if err != nil {
		return b, err
	}
	b = append(append(b, in.Method...), ' ')
	b = append(b, u.prefix...)
	if b, err = appendTarget(b, a); err != nil {
		return b, err
	}
	b = append(b, " HTTP/1.1\r\nHost: "...)
	if host := a.Request.Host(); u.passes && len(host) > 0 { // HTTP/1.0 may have none
		b = append(b, host...)
	} else {
		b = append(b, u.host...)
	}
	b = append(b, "\r\n"...)
	for name, value := range in.Header.All() {
		if IsHopByHop(name, named) || u.omits(name) || a.Forwarded && isForwarded(name) {
			continue
		}
		if bytes.IndexByte(value, '\r') >= 0 || bytes.IndexByte(value, 0) >= 0 {
			return b, errRequestHeader
		}
		b = append(append(append(append(b, name...), ": "...), value...), "\r\n"...)
	}
	b = append(b, u.fixed...)
	for i := range u.headers {
		h := &u.headers[i]
		b = append(append(b, h.name...), ": "...)
		b = h.value.Append(b, a.Request)
		b = append(b, "\r\n"...)
	}
	if a.Forwarded {
		b = appendForwarded(b, a)
	}
	b = append(append(b, viaOf[in.Protocol]...), u.via...)
	if len(in.Body) > 0 || framed {
		b = append(b, "\r\nContent-Length: "...)
		b = strconv.AppendInt(b, int64(len(in.Body)), 10)
	}
	return append(b, "\r\n\r\n"...), nil
}

// viaOf contains the beginning of the Via header for each protocol of clients.
var viaOf = [matcher.Protocols]string{matcher.HTTP11: "Via: 1.1 ", matcher.HTTP10: "Via: 1.0 ", matcher.HTTP2: "Via: 2.0 "}

// examine returns the header names in the Connection headers, and whether the client framed a body,
// even an empty one. A request for a WebSocket is an error, because its client could not use any
// other answer; all other protocols in an Upgrade are ignored, RFC 9110 section 7.8.
func (u *Upstream) examine(in *matcher.Input) (named [][]byte, framed bool, err error) {
	for name, value := range in.Header.All() {
		switch {
		case http1.IsName(name, "connection"):
			named = http1.AppendNames(named, value)
		case http1.IsName(name, "upgrade"):
			if string(in.Method) == "GET" && in.Protocol != matcher.HTTP10 && isNamed([]byte("websocket"), http1.AppendNames(nil, value)) {
				return nil, false, ErrUpgrade
			}
		case http1.IsName(name, "via") && bytes.Contains(value, []byte(u.via)):
			return nil, false, ErrLoop
		case http1.IsName(name, "content-length"), http1.IsName(name, "transfer-encoding"):
			framed = true
		}
	}
	return named, framed, nil
}

// appendTarget appends the path and query to request.
func appendTarget(b []byte, a *Request) ([]byte, error) {
	if a.Target == nil {
		b = append(b, a.Request.Path()...)
		if query := a.Request.QueryString(); len(query) > 0 || bytes.HasSuffix(a.Request.In.Target, []byte("?")) {
			b = append(append(b, '?'), query...)
		}
		return b, nil
	}
	if len(a.Target) == 0 || a.Target[0] != '/' {
		return b, errTarget
	}
	for _, c := range a.Target {
		if c <= ' ' || c >= 0x7f || c == '#' {
			return b, errTarget
		}
	}
	return append(b, a.Target...), nil
}

// appendForwarded appends the headers that say what the client requested, and its address.
func appendForwarded(b []byte, a *Request) []byte {
	b = append(b, "X-Forwarded-For: "...)
	for value := range a.Request.In.Header.Values("X-Forwarded-For") {
		if bytes.IndexByte(value, '\r') < 0 {
			b = append(append(b, value...), ", "...)
		}
	}
	b = a.Request.RemoteAddr(b)
	b = append(append(b, "\r\nX-Forwarded-Host: "...), a.Request.Host()...)
	b = append(b, "\r\nX-Forwarded-Proto: http"...)
	if a.Request.In.TLS != nil {
		b = append(b, 's')
	}
	return append(b, "\r\n"...)
}

func isForwarded(name []byte) bool {
	return http1.IsName(name, "x-forwarded-for") || http1.IsName(name, "x-forwarded-host") || http1.IsName(name, "x-forwarded-proto")
}

// omits reports whether a header of the client is omitted.
func (u *Upstream) omits(name []byte) bool {
	return slices.ContainsFunc(u.omit, func(one string) bool { return ascii.EqualFold(name, one) })
}
