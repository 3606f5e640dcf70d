package renderer

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"mockserver/renderer/fake"
	"mockserver/renderer/value"
)

// functions are the functions of the language and the arguments they accept.
var functions = map[string]struct {
	op      opcode
	accepts string
}{
	"random-int": {opRandomInt, "two whole numbers, the lower first: random-int(1, 100)"},
	"pick":       {opPick, `one value or more: pick("a", "b")`},
	"fake":       {opFake, `the name of a kind of data in quotes: fake("email")`},
	"counter":    {opCounter, `a name in quotes, and optionally a value that is counted separately: counter("orders", path-params.user)`},
	"sequence":   {opCounter, `a name in quotes: sequence("orders")`},

	"random-text": {opRandomText, "a whole number from 1 to 1024: random-text(14)"},
	"random-hex":  {opRandomHex, "a whole number from 1 to 1024: random-hex(32)"},
}

// function parses the arguments of the function t; the current token is the "(" after t.
func (s *scanner) function(t token) (expr, bool) {
	known, ok := functions[t.text]
	if !ok {
		names := slices.Sorted(maps.Keys(functions))
		s.fail(t.offset, "unknown function %q%s; functions are %s", t.text, s.functionHint(t.text, names), strings.Join(names, ", "))
		return expr{}, false
	}
	args, ok := s.arguments(t)
	if !ok {
		return expr{}, false
	}
	e := expr{op: known.op, args: args}
	name := ""
	if len(args) > 0 && args[0].constant() && args[0].literal.Kind == value.Text {
		name = string(args[0].literal.Raw)
	}
	switch e.op {
	case opRandomInt:
		ok = len(args) == 2 && inOrder(args)
	case opPick:
		ok = len(args) > 0
	case opFake:
		if ok = name != "" && len(args) == 1; ok {
			return s.fake(t, name)
		}
	case opCounter:
		ok = s.counts(&e, t.text, name)
	case opRandomText, opRandomHex:
		ok = len(args) == 1 && isLength(&args[0])
	}
	if !ok {
		s.fail(t.offset, "%s accepts %s", t.text, known.accepts)
	}
	return e, ok
}

// counts compiles a counter or sequence with a name, and reports whether it is allowed there.
func (s *scanner) counts(e *expr, function, name string) bool {
	most := 1
	if function == "counter" {
		most = 2
	}
	if name == "" || len(e.args) > most || s.scope.Counters == nil {
		return false
	}
	e.counter, e.args = s.scope.Counters.named(function, name), e.args[1:]
	return true
}

// arguments parses "(a, b, …)". The values may be function calls.
func (s *scanner) arguments(t token) (args []expr, ok bool) {
	if s.calls >= maxDepth {
		s.fail(t.offset, "functions are nested more than %d deep", maxDepth)
		return nil, false
	}
	s.calls++
	defer func() { s.calls-- }()
	s.next()
	for !s.tok.is(")") {
		if len(args) > 0 {
			if !s.tok.is(",") {
				s.fail(s.tok.offset, "%s(: expected a comma or ), not %s", t.text, s.tok.describe())
				return nil, false
			}
			s.next()
		}
		arg, ok := s.expression()
		if !ok {
			return nil, false
		}
		args = append(args, arg)
	}
	s.next()
	return args, true
}

// inOrder reports whether literal bounds are integers in ascending order. Bounds from the request
// are checked at request time.
func inOrder(args []expr) bool {
	var bounds []int64
	for i := range args {
		if !args[i].constant() {
			continue
		}
		n, err := strconv.ParseInt(string(args[i].literal.Raw), 10, 64)
		if err != nil {
			return false
		}
		bounds = append(bounds, n)
	}
	return slices.IsSorted(bounds)
}

// isLength reports whether a literal is the length of a random text. A length from the request is
// checked at request time.
func isLength(e *expr) bool {
	n, err := strconv.Atoi(string(e.literal.Raw))
	return !e.constant() || err == nil && n >= 1 && n <= maxRandomText
}

// fake compiles fake("name").
func (s *scanner) fake(t token, name string) (expr, bool) {
	data, what := fake.New(name)
	if what != "" {
		s.fail(t.offset, "%s", what)
		return expr{}, false
	}
	return expr{op: opFake, fake: data}, true
}
