package renderer

import (
	"slices"

	"mockserver/matcher"
	"mockserver/renderer/value"
)

// Unknown describes the parts of a stored request that are no longer known.
type Unknown struct {
	Body bool // the body is incomplete
	// Header returns what is known about the first header with a name; nil means that all headers
	// are known.
	Header func(name string) HeaderKnown
}

// HeaderKnown says what is known about a header.
type HeaderKnown uint8

// What is known about a header that may have been sent.
const (
	HeaderWhole  HeaderKnown = iota // its value is known, or it is known not to exist
	HeaderHidden                    // it exists, with a value that IsTrue
	HeaderLost                      // it is unknown whether it exists
)

// Truth says what is known about the result of a condition.
type Truth int8

// The result of a condition on a request that is not completely known.
const (
	False Truth = iota - 1
	Undecided
	True
)

// IsTrue returns the result of a condition that consists of a text only: it is false for an empty
// text, "false", and a zero such as "0", "0.0" or "000".
func IsTrue(text []byte) bool { return value.OfText(text).Truth() }

// Judge is like Holds, for a request that is not completely known. It returns Undecided if the
// result depends on something unknown.
func (c *Condition) Judge(r *matcher.Request, u *Unknown) Truth {
	if c == nil {
		return True
	}
	return c.root.judge(r, u)
}

func (c *cond) judge(r *matcher.Request, u *Unknown) Truth {
	switch c.test {
	case testAnd:
		least := True
		for i := range c.conds {
			least = min(least, c.conds[i].judge(r, u))
		}
		return least
	case testOr:
		most := False
		for i := range c.conds {
			most = max(most, c.conds[i].judge(r, u))
		}
		return most
	case testNot:
		return -c.conds[0].judge(r, u)
	}
	switch {
	case c.test == testTruth && u.hides(&c.left):
		return True
	case c.test == testEqual && c.asksForNothing(u):
		return False
	case c.test == testNotEqual && c.asksForNothing(u):
		return True
	case u.has(&c.left) || u.has(&c.right):
		return Undecided
	}
	if c.holds(r, nil) {
		return True
	}
	return False
}

// asksForNothing reports whether a hidden header is compared with a value that equals a missing
// one.
func (c *cond) asksForNothing(u *Unknown) bool {
	return u.hides(&c.left) && c.right.isNothing() || u.hides(&c.right) && c.left.isNothing()
}

// isNothing reports whether an operand is null or an empty text.
func (e *expr) isNothing() bool {
	return e.constant() && (e.literal.Kind == value.Null || e.literal.Kind == value.Text && len(e.literal.Raw) == 0)
}

// hides reports whether an operand is a header that exists but whose value is unknown.
func (u *Unknown) hides(e *expr) bool {
	return e.op == opHeader && !e.length && len(e.filters) == 0 && u.header(e.name) == HeaderHidden
}

// has reports whether an operand depends on something unknown.
func (u *Unknown) has(e *expr) bool {
	switch e.op {
	case opBody, opJSON:
		if u.Body {
			return true
		}
	case opForm:
		if u.Body || u.header("Content-Type") != HeaderWhole {
			return true
		}
	case opHeader:
		if u.header(e.name) != HeaderWhole {
			return true
		}
	case opCookie:
		if u.header("Cookie") != HeaderWhole {
			return true
		}
	}
	within := func(arg expr) bool { return u.has(&arg) }
	return slices.ContainsFunc(e.args, within) ||
		slices.ContainsFunc(e.filters, func(f filter) bool { return f.arg != nil && u.has(f.arg) })
}

func (u *Unknown) header(name string) HeaderKnown {
	if u.Header == nil {
		return HeaderWhole
	}
	return u.Header(name)
}
