package client

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/url"

	"mockserver/internal/address"
	"mockserver/internal/ascii"
)

// Location is a URL split into the parts that a request needs. The parts are slices of the URL's
// bytes.
type Location struct {
	secure bool
	user   []byte // "name:password", encoded as in the URL; empty if there is none
	host   []byte // without port; an IPv6 address is in brackets
	port   []byte // digits; empty for the default port of the scheme
	path   []byte // with the query; may lack the leading slash
}

// CutURL splits a URL into its parts. An error is permanent: a retry would also fail.
func CutURL(from []byte) (l Location, err error) {
	if what := address.URLFault(from); what != "" {
		return l, fmt.Errorf("not a valid URL: %s", what)
	}
	scheme, rest, _ := bytes.Cut(from, []byte("://"))
	l.secure = len(scheme) == len("https")
	l.host, _, _ = bytes.Cut(rest, []byte("#"))
	if i := bytes.IndexAny(l.host, "/?"); i >= 0 {
		l.host, l.path = l.host[:i], l.host[i:]
	}
	if i := bytes.IndexByte(l.host, '@'); i >= 0 {
		l.user, l.host = l.host[:i], l.host[i+1:]
	}
	if i := bytes.LastIndexByte(l.host, ':'); i > bytes.IndexByte(l.host, ']') {
		l.host, l.port = l.host[:i], l.host[i+1:]
	}
	return l, nil
}

// AppendTarget appends the target of the URL, which identifies its connections: scheme, host and
// port, such as "http://host:8080". The text after "://" is an address to dial.
func (l *Location) AppendTarget(dst []byte) []byte {
	scheme, port := "http://", []byte("80")
	if l.secure {
		scheme, port = "https://", []byte("443")
	}
	if len(l.port) > 0 {
		port = l.port
	}
	dst = append(dst, scheme...)
	address, zone, zoned := bytes.Cut(l.host, []byte("%25"))
	dst = ascii.AppendLower(dst, address)
	if zoned { // the names of interfaces are case-sensitive
		dst = append(append(dst, '%'), zone...)
	}
	return append(append(dst, ':'), port...)
}

// AppendHost appends the value of the Host header, without the zone of an address, which has no
// meaning on other machines.
func (l *Location) AppendHost(dst []byte) []byte {
	if address, _, zoned := bytes.Cut(l.host, []byte("%")); zoned {
		dst = append(append(dst, address...), ']')
	} else {
		dst = ascii.AppendLower(dst, l.host)
	}
	if len(l.port) > 0 {
		dst = append(append(dst, ':'), l.port...)
	}
	return dst
}

// Path returns the path and the query; "/" if there is neither.
func (l *Location) Path() []byte { return l.appendPath(nil) }

// appendPath appends the path and the query unchanged.
func (l *Location) appendPath(dst []byte) []byte {
	if len(l.path) == 0 || l.path[0] != '/' {
		dst = append(dst, '/')
	}
	return append(dst, l.path...)
}

// appendAuthorization appends the Authorization header with the user and password of the URL.
func (l *Location) appendAuthorization(dst []byte) []byte {
	who, _ := url.PathUnescape(string(l.user)) // cannot fail, since CutURL has checked it
	if bytes.IndexByte(l.user, ':') < 0 {
		who += ":"
	}
	dst = append(dst, "Authorization: Basic "...)
	dst = base64.StdEncoding.AppendEncode(dst, []byte(who))
	return append(dst, "\r\n"...)
}
