package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// hashOf returns the hash of a token. Tokens are compared by their hashes: all hashes have the same
// length, so the duration of a comparison reveals nothing about the token.
func hashOf(token string) [32]byte { return sha256.Sum256([]byte(token)) }

// bears reports whether a request contains the token. The comparison takes constant time.
func (a *Admin) bears(r *http.Request) bool {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	given := hashOf(strings.TrimSpace(token))
	return subtle.ConstantTimeCompare(given[:], a.token[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// guarded wraps a handler: requests need the token, if one is set, and must not come from a page of
// another origin. The checks of named follow.
func (a *Admin) guarded(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case a.opts.Token != "" && !a.bears(r):
			w.Header().Set("WWW-Authenticate", `Bearer realm="mockserver"`)
			refuse(w, http.StatusUnauthorized, "unauthorized", "Unauthorized", "the token is missing or wrong; send it as Authorization: Bearer TOKEN")
		case fromElsewhere(r):
			refuse(w, http.StatusForbidden, "foreign_origin", "Forbidden", "the request comes from a page of another site")
		default:
			a.named(next)(w, r)
		}
	}
}

// named wraps a handler: without a token, only requests to a name of this machine pass. Another
// site may have pointed its own host name at this machine, so that its pages have the same origin.
func (a *Admin) named(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if a.opts.Token == "" && !namesThisMachine(r.Host) {
			refuse(w, http.StatusForbidden, "foreign_host", "Forbidden", "the Host header names another machine: without a token, the request may come from such a page")
			return
		}
		next(w, r)
	}
}

// namesThisMachine reports whether a Host header contains a loopback address or localhost. Anyone
// may point another name at this machine.
func namesThisMachine(host string) bool {
	name := host
	if h, port, err := net.SplitHostPort(host); err == nil {
		if strings.Trim(port, "0123456789") != "" {
			return false
		}
		name = h
	} else if inside, ok := strings.CutPrefix(name, "["); ok {
		name = strings.TrimSuffix(inside, "]")
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return strings.EqualFold(name, "localhost")
}

// fromElsewhere reports whether a browser sent the request on behalf of a page of another origin.
func fromElsewhere(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		return err != nil || !strings.EqualFold(u.Host, r.Host)
	}
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}
