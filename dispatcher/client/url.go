package client

import (
	"bytes"
	"encoding/base64"
	"errors"
	"net/url"
	"strconv"
)

// Location is a URL, cut into the parts that a request needs. They are slices of the
// URL's bytes.
type Location struct {
	secure bool
	user   []byte // "name:password", encoded as in the URL; empty for none
	host   []byte // without port; an IPv6 address in its brackets
	port   []byte // digits; empty for the scheme's own
	path   []byte // with the query; may lack its first slash
}

// Errors of URLs. None of them goes away by trying again.
var (
	errScheme  = errors.New("the URL begins with neither http:// nor https://")
	errHost    = errors.New("the URL names no host")
	errBadHost = errors.New("the URL has an invalid host")
	errPort    = errors.New("the URL has an invalid port; expected a number up to 65535")
	errUser    = errors.New("the user or password of the URL is not percent-encoded")
	errControl = errors.New("the URL contains a control character")
)

// CutURL cuts a URL into its parts.
func CutURL(from []byte) (l Location, err error) {
	scheme, rest, ok := bytes.Cut(from, []byte("://"))
	switch {
	case ok && bytes.EqualFold(scheme, []byte("https")):
		l.secure = true
	case !ok || !bytes.EqualFold(scheme, []byte("http")):
		return l, errScheme
	}
	for _, c := range rest {
		if c < ' ' || c == 0x7F {
			return l, errControl
		}
	}
	if i := bytes.IndexByte(rest, '#'); i >= 0 {
		rest = rest[:i]
	}
	authority := rest
	if i := bytes.IndexAny(rest, "/?"); i >= 0 {
		authority, l.path = rest[:i], rest[i:]
	}
	if i := bytes.LastIndexByte(authority, '@'); i >= 0 {
		l.user, authority = authority[:i], authority[i+1:]
		if _, err := url.PathUnescape(string(l.user)); err != nil {
			return l, errUser
		}
	}
	return l, l.cutHost(authority)
}

// cutHost cuts host and port.
func (l *Location) cutHost(from []byte) error {
	end := bytes.IndexByte(from, ':')
	literal := len(from) > 0 && from[0] == '['
	if literal {
		end = bytes.IndexByte(from, ']') + 1
		if end < len("[::]") || end < len(from) && from[end] != ':' {
			return errBadHost
		}
	}
	if end < 0 || end == len(from) {
		l.host = from
	} else {
		l.host, l.port = from[:end], from[end+1:]
	}
	if len(l.host) == 0 {
		return errHost
	}
	if !literal && bytes.ContainsAny(l.host, " \"%<>[\\]^`{|}") || literal && bytes.ContainsAny(l.host, " \"<>\\^`{|}") {
		return errBadHost
	}
	if len(l.port) == 0 {
		return nil
	}
	for _, c := range l.port {
		if c < '0' || c > '9' {
			return errPort
		}
	}
	if _, err := strconv.ParseUint(string(l.port), 10, 16); err != nil {
		return errPort
	}
	return nil
}

// AppendTarget appends the target of the URL, by which connections are told apart:
// scheme, host and port, "http://host:8080". What follows "://" is an address to dial.
func (l *Location) AppendTarget(dst []byte) []byte {
	port := l.port
	if l.secure {
		dst = append(dst, "https://"...)
		if len(port) == 0 {
			port = []byte("443")
		}
	} else {
		dst = append(dst, "http://"...)
		if len(port) == 0 {
			port = []byte("80")
		}
	}
	address, zone, zoned := bytes.Cut(l.host, []byte("%25"))
	dst = appendLower(dst, address)
	if zoned { // the names of interfaces are case-sensitive
		dst = append(append(dst, '%'), zone...)
	}
	return append(append(dst, ':'), port...)
}

func appendLower(dst, text []byte) []byte {
	for _, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

// appendHost appends the value of the Host header, without the zone of an address, which
// has no meaning elsewhere.
func (l *Location) appendHost(dst []byte) []byte {
	if address, _, zoned := bytes.Cut(l.host, []byte("%")); zoned {
		dst = append(append(dst, address...), ']')
	} else {
		dst = appendLower(dst, l.host)
	}
	if len(l.port) > 0 {
		dst = append(append(dst, ':'), l.port...)
	}
	return dst
}

// appendPath appends path and query unchanged, but for spaces, which would end them.
func (l *Location) appendPath(dst []byte) []byte {
	if len(l.path) == 0 || l.path[0] != '/' {
		dst = append(dst, '/')
	}
	rest := l.path
	for {
		before, after, blank := bytes.Cut(rest, []byte(" "))
		dst = append(dst, before...)
		if !blank {
			return dst
		}
		dst = append(dst, "%20"...)
		rest = after
	}
}

// appendAuthorization appends the header with the user and password of the URL.
func (l *Location) appendAuthorization(dst []byte) []byte {
	who, _ := url.PathUnescape(string(l.user)) // CutURL has tried it
	if bytes.IndexByte(l.user, ':') < 0 {
		who += ":"
	}
	dst = append(dst, "Authorization: Basic "...)
	dst = base64.StdEncoding.AppendEncode(dst, []byte(who))
	return append(dst, "\r\n"...)
}
