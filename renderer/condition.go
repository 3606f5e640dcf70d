package renderer

import (
	"regexp"
	"slices"
	"strings"

	"mockserver/config/syntax"
	"mockserver/internal/secret"
	"mockserver/internal/semantics"
	"mockserver/matcher"
	"mockserver/renderer/value"
)

// Condition is a compiled condition. It is immutable and safe for concurrent use.
type Condition struct {
	root   cond
	always bool
}

// CompileCondition parses a condition, as docs/conditions.md describes it. For an empty text the
// condition is nil, which always holds.
func CompileCondition(text syntax.Text, scope *Scope) (*Condition, syntax.Problems) {
	s := newSource(text, scope)
	sc := newScanner(s, 0, len(text.Value))
	if sc.tok.kind == endToken {
		return nil, nil
	}
	root := sc.condition()
	if s.problems.Err() != nil {
		return nil, s.problems
	}
	c := &Condition{root: *root}
	c.always = root.every((*expr).constant) && root.holds(&matcher.Request{}, nil)
	return c, s.problems
}

// Holds reports whether the condition is true for r. A nil condition is true. A condition that
// needs a text larger than r.MaxText is false.
func (c *Condition) Holds(r *matcher.Request) bool {
	if c == nil {
		return true
	}
	before := r.Stopped
	holds := c.root.holds(r, nil)
	holds, r.Stopped = holds && r.Stopped == before, before
	return holds
}

// Always reports whether the condition is true for every request.
func (c *Condition) Always() bool { return c == nil || c.always }

// Steady reports whether the condition has the same result each time for the same request: nothing in
// it is random or counts.
func (c *Condition) Steady() bool { return c == nil || c.root.every((*expr).isSteady) }

func (e *expr) isSteady() bool {
	return e.changes() != anyTurn && e.everyArgument((*expr).isSteady)
}

// test is the operation of a condition.
type test uint8

const (
	testTruth test = iota
	testAnd
	testOr
	testNot
	testEqual
	testNotEqual
	testGreater
	testLess
	testGreaterOrEqual
	testLessOrEqual
	testContains
	testMatches
)

// tests contains the operators.
var tests = map[string]test{
	"=": testEqual, "!=": testNotEqual, ">": testGreater, "<": testLess,
	">=": testGreaterOrEqual, "<=": testLessOrEqual, "contains": testContains, "matches": testMatches,
}

// cond is one node of a condition.
type cond struct {
	test        test
	left, right expr           // the operands of a comparison; only left for testTruth
	conds       []cond         // for and, or, not
	pattern     *regexp.Regexp // for matches
}

// every reports whether all operands of the condition are of a kind.
func (c *cond) every(is func(*expr) bool) bool {
	for i := range c.conds {
		if !c.conds[i].every(is) {
			return false
		}
	}
	return is(&c.left) && is(&c.right)
}

func (c *cond) holds(r *matcher.Request, fr *frame) bool {
	switch c.test {
	case testAnd:
		for i := range c.conds {
			if !c.conds[i].holds(r, fr) {
				return false
			}
		}
		return true
	case testOr:
		for i := range c.conds {
			if c.conds[i].holds(r, fr) {
				return true
			}
		}
		return false
	case testNot:
		return !c.conds[0].holds(r, fr)
	case testTruth:
		v := c.left.eval(r, fr)
		fr.spend(len(v.Raw), r)
		return v.Truth()
	}
	return c.compare(c.left.eval(r, fr), r, fr)
}

// patternCost is how much longer a regular expression takes for a text than other operators.
const patternCost = 16

func (c *cond) compare(left value.Value, r *matcher.Request, fr *frame) bool {
	fr.spend(len(left.Raw), r)
	if c.test == testMatches {
		fr.spend(patternCost*len(left.Raw), r)
		return left.Kind != value.Missing && left.Kind != value.Null && c.pattern.Match(left.Text(r))
	}
	right := c.right.eval(r, fr)
	fr.spend(len(right.Raw), r)
	switch c.test {
	case testEqual:
		return value.Equal(left, right, r)
	case testNotEqual:
		return !value.Equal(left, right, r)
	case testContains:
		return value.Contains(left, right, r)
	}
	sign, ok := value.Order(left, right, r)
	if !ok {
		return false
	}
	switch c.test {
	case testGreater:
		return sign > 0
	case testLess:
		return sign < 0
	case testGreaterOrEqual:
		return sign >= 0
	default:
		return sign <= 0
	}
}

// condition parses a whole condition. After an error, which has been reported, the result must not
// be used.
func (s *scanner) condition() *cond {
	s.bare = true
	c, ok := s.or(0)
	if ok && s.tok.kind != endToken && s.tok.kind != badToken {
		s.fail(s.tok.offset, "unexpected %s%s; operators are = != > < >= <= contains matches, and conditions are joined by and, or, not%s",
			s.shown(s.tok), s.operatorHint(s.tok), colonHint(s.tok))
	}
	return &c
}

func (s *scanner) or(depth int) (cond, bool) {
	return s.joined("or", testOr, depth, (*scanner).and)
}

func (s *scanner) and(depth int) (cond, bool) {
	return s.joined("and", testAnd, depth, (*scanner).not)
}

// joined parses conditions separated by the given word.
func (s *scanner) joined(word string, t test, depth int, part func(*scanner, int) (cond, bool)) (cond, bool) {
	first, ok := part(s, depth)
	if !ok || !s.tok.word(word) {
		return first, ok
	}
	c := cond{test: t, conds: []cond{first}}
	for s.tok.word(word) {
		s.next()
		next, ok := part(s, depth)
		if !ok {
			return c, false
		}
		c.conds = append(c.conds, next)
	}
	return c, true
}

func (s *scanner) not(depth int) (cond, bool) {
	if depth > maxDepth {
		s.fail(s.tok.offset, "the condition is nested more than %d deep", maxDepth)
		return cond{}, false
	}
	switch {
	case s.tok.word("not"):
		s.next()
		inner, ok := s.not(depth + 1)
		return cond{test: testNot, conds: []cond{inner}}, ok
	case s.tok.is("("):
		s.next()
		inner, ok := s.or(depth + 1)
		if ok && !s.tok.is(")") {
			s.fail(s.tok.offset, "a ) is missing before %s", s.shown(s.tok))
			return inner, false
		}
		s.next()
		return inner, ok
	}
	return s.comparison()
}

// comparison parses OPERAND, or OPERAND OPERATOR OPERAND.
func (s *scanner) comparison() (cond, bool) {
	begin := s.tok.offset
	left, ok := s.conditionOperand()
	if ok && left.bare {
		word := string(left.literal.Raw)
		hint := s.hint(word)
		if slices.Contains(semantics.Methods, word) { // not a misspelling: POST resembles host
			hint = " (write method = " + word + ")"
		}
		s.fail(begin, "%q is not a variable%s; expected a variable, or a text in quotes", word, hint)
	}
	c := cond{left: left}
	if s.lone = s.tok.kind != operator; !ok || s.lone {
		return c, ok
	}
	op := s.tok
	c.test = tests[op.text]
	s.next()
	if op.text == "=" && s.tok.is("=") {
		s.fail(op.offset, "unexpected \"==\"; equality is written =")
		return c, false
	}
	at := s.tok
	c.right, ok = s.conditionOperand()
	if !ok || c.test != testMatches {
		return c, ok
	}
	if at.kind != textToken || !c.right.constant() {
		s.fail(at.offset, "matches accepts a regular expression (RE2) in quotes")
		return c, false
	}
	var err error
	if c.pattern, err = regexp.Compile(at.text); err != nil {
		s.fail(at.offset, "the regular expression is not valid: %v", err)
		return c, false
	}
	return c, true
}

// shown describes a token, unless it may belong to a secret that lacks quotes.
func (s *scanner) shown(t token) string {
	if t.text != "" && !strings.Contains(secret.Condition(s.text.Value), t.text) {
		return "a text"
	}
	return t.describe()
}

// conditionOperand parses an operand, which may be inside {{ }}.
func (s *scanner) conditionOperand() (expr, bool) {
	if !s.tok.is("{{") {
		return s.expression()
	}
	s.bare = false // as in a template, where an unknown word is an error
	s.next()
	e, ok := s.expression()
	s.bare = true
	if ok && !s.tok.is("}}") {
		s.fail(s.tok.offset, "}} is missing before %s", s.tok.describe())
		return e, false
	}
	s.next()
	return e, ok
}
