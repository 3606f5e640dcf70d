package matcher

import (
	"bytes"
	"strings"

	"mockserver/internal/ascii"
)

// longestHost is the maximum length of a host name, in bytes (RFC 1035). A longer one is treated as
// unknown, so that no request can make the search expensive.
const longestHost = 255

// normalHost appends host to dst, in lower case and without its port and trailing dot.
func normalHost(dst, host []byte) []byte {
	colon := bytes.LastIndexByte(host, ':')
	if colon >= 0 && bytes.IndexByte(host[colon:], ']') < 0 { // the colons of [::1] are inside brackets
		host = host[:colon]
	}
	if n := len(host); n > 0 && host[n-1] == '.' {
		host = host[:n-1]
	}
	return ascii.AppendLower(dst, host)
}

// HostName returns the request's host in the form that is compared with the hosts of endpoints: in
// lower case, without its port and trailing dot. It is empty if the host is too long to be a host
// name.
func (r *Request) HostName() []byte {
	if r.host == nil {
		host := r.Host()
		if len(host) > longestHost {
			host = nil
		}
		r.host = r.Extend(normalHost(r.Arena, host))
	}
	return r.host
}

// HostCovers reports whether an endpoint declared for host answers requests to name, a
// Request.HostName.
func HostCovers(host string, name []byte) bool {
	if host == "" {
		return true
	}
	var room [longestHost]byte
	declared := string(normalHost(room[:0], []byte(host)))
	if suffix, ok := strings.CutPrefix(declared, "*"); ok {
		return len(name) > len(suffix) && strings.HasSuffix(string(name), suffix)
	}
	return declared == string(name)
}
