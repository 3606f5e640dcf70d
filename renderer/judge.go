package renderer

import (
	"slices"

	"mockserver/matcher"
)

// Unknown is what is not known any more of a request that was kept.
type Unknown struct {
	Body bool // it is not whole
	// Header returns what is known of the first header of a name; nil knows all of them.
	Header func(name string) HeaderKnown
}

// HeaderKnown is what is known of a header.
type HeaderKnown uint8

// What is known of a header that was sent, or was not.
const (
	HeaderWhole  HeaderKnown = iota // its value, or that there is none
	HeaderHidden                    // it is there, with a value that IsTrue
	HeaderLost                      // not even whether it is there
)

// Truth is what is known of a condition.
type Truth int8

// What a condition says of a request of which not everything is known.
const (
	False Truth = iota - 1
	Undecided
	True
)

// IsTrue is what a condition that is nothing but a text says: false of none, of "false"
// and of a zero, "0" and "0.0" and "000".
func IsTrue(value []byte) bool { return textValue(value).truth() }

func truthOf(holds bool) Truth {
	if holds {
		return True
	}
	return False
}

// Judge is Holds for a request of which some is unknown: it is Undecided where the
// answer depends on that.
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
	return truthOf(c.holds(r, nil))
}

// asksForNothing reports whether a hidden header is compared with what a missing one equals.
func (c *cond) asksForNothing(u *Unknown) bool {
	return u.hides(&c.left) && c.right.isNothing() || u.hides(&c.right) && c.left.isNothing()
}

// isNothing reports whether an operand is null, or the empty text.
func (e *expr) isNothing() bool {
	return e.constant() && (e.literal.kind == null || e.literal.kind == text && len(e.literal.raw) == 0)
}

// hides reports whether an operand is a header that is there, of which no more is known.
func (u *Unknown) hides(e *expr) bool {
	return e.op == opHeader && !e.length && len(e.filters) == 0 && u.header(e.name) == HeaderHidden
}

// has reports whether an operand is made of what is unknown.
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
