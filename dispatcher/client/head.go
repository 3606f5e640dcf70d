// Package client sends requests over HTTP/1.1. A Pool keeps connections to any number of targets,
// and an Exchange sends one request over one of them and reads its response:
//
//	location, err := client.CutURL(url)
//	exchange.Request = client.Head{Method: "GET", Location: &location}.Append(nil)
//	exchange.Request = append(exchange.Request, "\r\n"...)
//	conn, err := pool.Get(string(location.AppendTarget(nil)), clienttls.Files{}, deadline)
//	status, reusable, err := exchange.RoundTrip(conn, "GET", nil)
//
// The package imports only internal packages of the module.
package client

import (
	"bytes"
	"iter"
	"slices"

	"mockserver/internal/ascii"
	"mockserver/internal/http1"
)

// Head is the beginning of a request: its request line and header lines.
type Head struct {
	Method   string
	Location *Location
	// Lines contains header lines of the form "Name: value\r\n". Append omits the lines that frame
	// a message (Host, Connection, Content-Length and Transfer-Encoding) and those named in Except.
	Lines  []byte
	Except []string
	// Host is the value of the Host header; nil selects the host of the URL.
	Host []byte
	// Authorized omits the user and password of the URL, because Lines contains an Authorization
	// header.
	Authorized bool
}

// Append appends the head without the empty line at its end.
func (h *Head) Append(dst []byte) []byte {
	dst = append(append(dst, h.Method...), ' ')
	dst = append(h.Location.appendPath(dst), " HTTP/1.1\r\nHost: "...)
	if h.Host != nil {
		dst = append(dst, h.Host...)
	} else {
		dst = h.Location.AppendHost(dst)
	}
	dst = append(dst, "\r\n"...)
	for name, value := range HeaderLines(h.Lines) {
		if !isFraming(name) && !slices.ContainsFunc(h.Except, func(one string) bool { return ascii.EqualFold(name, one) }) {
			dst = append(append(append(dst, name...), ':'), value...)
			dst = append(dst, "\r\n"...)
		}
	}
	if len(h.Location.user) > 0 && !h.Authorized {
		dst = h.Location.appendAuthorization(dst)
	}
	return dst
}

// HeaderLines iterates over lines of the form "Name: value\r\n". A value begins immediately after
// the colon.
func HeaderLines(lines []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		for len(lines) > 0 {
			line, rest, _ := bytes.Cut(lines, []byte("\r\n"))
			lines = rest
			if name, value, ok := bytes.Cut(line, []byte(":")); ok && !yield(name, value) {
				return
			}
		}
	}
}

func isFraming(name []byte) bool {
	return http1.IsName(name, "host") || http1.IsName(name, "connection") || http1.IsName(name, "content-length") ||
		http1.IsName(name, "transfer-encoding")
}
