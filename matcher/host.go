package matcher

import (
	"bytes"
	"strings"

	"mockserver/internal/ascii"
)

// longestHost is the longest name a host can have, in bytes (RFC 1035); a longer
// one is treated as unknown, so that no request can make the search expensive.
const longestHost = 255

// normalHost appends host in lower case without its port and trailing dot to dst.
func normalHost(dst, host []byte) []byte {
	colon := bytes.LastIndexByte(host, ':')
	if colon >= 0 && bytes.IndexByte(host[colon:], ']') < 0 { // [::1] ends inside its brackets
		host = host[:colon]
	}
	if n := len(host); n > 0 && host[n-1] == '.' {
		host = host[:n-1]
	}
	return ascii.AppendLower(dst, host)
}

// HostName is the request's host as those of endpoints are compared with it: in lower
// case, without its port and a dot at its end. It is empty when no host has as long a name.
func (r *Request) HostName() []byte {
	if r.host == nil {
		host := r.Host()
		if len(host) > longestHost {
			host = nil
		}
		start := len(r.Arena)
		r.Arena = normalHost(r.Arena, host)
		r.host = r.kept(start)
	}
	return r.host
}

// siteWalk goes through the sites that can answer for a host, the most specific
// first.
type siteWalk struct {
	table *Table
	host  []byte
	at    int // where the last suffix tried began; -1 before the exact host
}

func (t *Table) sitesOf(r *Request) siteWalk {
	w := siteWalk{table: t, at: -1}
	if len(t.exact)+len(t.wildcard) > 0 {
		w.host = r.HostName()
	}
	return w
}

// next returns the next site, or nil after the last.
func (w *siteWalk) next() *site {
	if w.at < 0 {
		w.at = 0
		if s := w.table.exact[string(w.host)]; s != nil {
			return s
		}
	}
	for w.at < len(w.host) {
		dot := bytes.IndexByte(w.host[w.at+1:], '.')
		if dot < 0 {
			break
		}
		w.at += 1 + dot
		if s := w.table.wildcard[string(w.host[w.at:])]; s != nil {
			return s
		}
	}
	if w.at > len(w.host) {
		return nil
	}
	w.at = len(w.host) + 1
	return w.table.anyHost
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
