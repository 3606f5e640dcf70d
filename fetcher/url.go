package fetcher

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"mockserver/config/syntax"
	"mockserver/internal/address"
)

// checkURL returns what is wrong with a URL, as far as that is known at load.
func (s *Source) checkURL() syntax.Problems {
	if offset, what := address.TemplateFault(s.ext.Path.Value); what != "" { // an env.NAME at its beginning may have made it a URL
		return problem(s.ext.Path.At(offset), s.ext.Path.Key, what)
	}
	known := s.fixedPath
	if !s.fixed {
		// The text after the host can be checked only after rendering.
		scheme, rest, _ := strings.Cut(s.path.Prefix(), "://")
		end := strings.IndexAny(rest, "/?#")
		switch {
		case end < 0 && opensHost(rest, s.ext.Path.Value):
			return s.pathProblem(fmt.Sprintf("bad URL: a placeholder directly follows host %q, so its value would determine the host or the port; put a / between them", hostPart(rest)))
		case end < 0:
			return nil
		}
		known = scheme + "://" + rest[:end] + "/"
	}
	u, err := parseURL(known)
	if err != nil {
		return s.pathProblem(fmt.Sprintf("%q is not a valid URL: %v", address.Shown(known), err))
	}
	if s.fixed {
		u.Fragment, u.RawFragment = "", ""
		s.url = u.String()
	}
	return nil
}

// hostPart returns an authority, or the beginning of one, without its credentials.
func hostPart(authority string) string { return authority[strings.LastIndexByte(authority, '@')+1:] }

// opensHost reports whether a client could extend a host name that is written out. fixed is the
// text between the scheme and the first placeholder; declared is the whole URL. A host that begins
// with a placeholder, or a port that is a placeholder, is chosen deliberately. A name that
// continues after the last placeholder, as in api-{{x}}.example.com, stays below the domain that is
// written there.
func opensHost(fixed, declared string) bool {
	host := hostPart(fixed)
	if host == "" || strings.HasSuffix(host, ":") {
		return false
	}
	const mark = "\x00"
	plain, to := "", 0
	for offset, literal := range address.Literals(declared) {
		if offset > to {
			plain += mark
		}
		plain, to = plain+literal, offset+len(literal)
	}
	if to < len(declared) {
		plain += mark
	}
	if _, rest, found := strings.Cut(plain, "://"); found {
		plain = rest
	}
	if end := strings.IndexAny(plain, "/?#"); end >= 0 {
		plain = plain[:end]
	}
	tail := plain[strings.LastIndex(plain, mark)+1:]
	if at := strings.LastIndexByte(tail, ':'); at >= 0 {
		tail = tail[:at]
	}
	return strings.Trim(tail, "0123456789") == ""
}

// climbs reports whether a rendered URL has a path segment that is . or .. after decoding: servers
// resolve those, and would answer with something outside the declared directory. Encoded slashes
// end a segment too, because many servers decode before they resolve. The text up to the last slash
// of prefix, the literal beginning, is not checked.
func climbs(target, prefix string) bool {
	path := target
	if end := strings.IndexAny(path, "?#"); end >= 0 {
		path = path[:end]
	}
	from := strings.Index(path, "://") + len("://")
	if last := strings.LastIndexByte(prefix[:min(len(prefix), len(path))], '/'); last >= from {
		from = last
	} else if first := strings.IndexByte(path[from:], '/'); first >= 0 {
		from += first
	} else {
		return false
	}
	decoded, err := url.PathUnescape(path[from:])
	if err != nil {
		return false // it is refused as an invalid URL
	}
	for segment := range strings.FieldsFuncSeq(decoded, func(r rune) bool { return r == '/' || r == '\\' }) {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// climbError returns the error for a URL that climbs.
func climbError(target string) *Error {
	u, err := parseURL(target)
	if err != nil {
		return badURL(target, err)
	}
	return &Error{Kind: NotFound, Message: fmt.Sprintf("fetch %s: a path segment is . or .., which would leave the directory of the URL", redacted(u))}
}

// badURL returns the error for a rendered URL that cannot be requested.
func badURL(target string, err error) *Error {
	return &Error{Kind: Upstream, Message: fmt.Sprintf("fetch %q: not a valid URL: %v", address.Shown(target), err), Err: err}
}

// parseURL parses a URL that can be fetched, by the same rules as for webhooks. Its errors do not
// contain the URL, which may contain a password.
func parseURL(text string) (*url.URL, error) {
	if what := address.URLFault([]byte(text)); what != "" {
		return nil, errors.New(what)
	}
	u, err := url.Parse(text)
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return u, err
}

// redacted returns a URL without its credentials, for messages.
func redacted(u *url.URL) string { return address.WithoutUser(u.String()) }

// isURL reports whether a path is a URL; otherwise it is a file.
func isURL(path string) bool {
	scheme, _, found := strings.Cut(path, "://")
	return found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}
