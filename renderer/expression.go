package renderer

import (
	"strings"

	"mockserver/internal/wording"
	"mockserver/renderer/value"
)

// expression parses a variable, literal or function with its filters. ok is false after an error,
// which has been reported.
func (s *scanner) expression() (e expr, ok bool) {
	before := len(s.unset)
	e, ok = s.operand()
	for ok && s.tok.is("|") {
		s.next()
		if s.tok.word("default") {
			s.unset = s.unset[:before]
		}
		var f filter
		if f, ok = s.filter(); ok {
			e.filters = append(e.filters, f)
		}
	}
	for _, name := range s.unset[before:] {
		s.warn(name.offset, "the environment variable %s is not set; it renders as missing", name.text)
	}
	s.unset = s.unset[:before]
	s.remember(&e)
	return e, ok
}

// operand parses a variable, literal or function. In conditions, a bare word that is none of these
// is a text; see word.
func (s *scanner) operand() (expr, bool) {
	t := s.tok
	switch {
	case t.kind == textToken:
		s.next()
		return expr{literal: value.OfText([]byte(t.text))}, true
	case t.kind == wordToken:
		s.next()
		if s.tok.is("(") {
			return s.function(t)
		}
		return s.word(t)
	case t.kind == badToken:
		return expr{}, false
	}
	s.fail(t.offset, "expected a variable, a literal or a function, not %s", t.describe())
	return expr{}, false
}

// word parses a keyword, a number or a variable or, in a condition, a bare word.
func (s *scanner) word(t token) (expr, bool) {
	if v, ok := value.Literal(t.text); ok {
		return expr{literal: v}, true
	}
	if e, ok, known := s.variable(t); known {
		return e, ok
	}
	root, rest := cutRoot(t.text)
	if s.bare && (rest == "" || wording.DidYouMean(root, s.variableNames()) == "") && !strings.HasSuffix(root, "-params") {
		return expr{literal: value.OfText([]byte(t.text)), bare: true}, true
	}
	hint := s.hint(t.text)
	if root == messageRoot {
		hint += "; message is available only in WebSocket replies"
	}
	if root == responseRoot {
		hint = "; response is available only in webhooks, which are sent after it"
	}
	message := ""
	if s.scope.Message {
		message = "message, "
	}
	s.fail(t.offset, "unknown variable %q%s; variables are path-params.x, query-params.x, header-params.X, cookie-params.x, "+
		"form-params.x, json-params, %smethod, path, path-segments.N, path-and-query, host, query-string, protocol, remote-addr, tls.X, client-cert.X, body, env.NAME, now, uuid, uuid7, ulid, random", t.text, hint, message)
	return expr{}, false
}
