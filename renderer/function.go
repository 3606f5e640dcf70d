package renderer

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"mockserver/internal/keyed"
	"mockserver/matcher"
	"mockserver/renderer/fake"
	"mockserver/renderer/value"
)

// Counters are the counters of counter("name"). They belong to a server and outlive its snapshots,
// so a reload does not reset them. The zero value is ready for use.
type Counters struct {
	mu     sync.Mutex          // guards byName
	byName map[string]*counter // by function and name
}

// counter counts for all requests and, for each value of an operand, by itself.
type counter struct {
	n     atomic.Int64
	keyed keyed.Counts
}

// named returns the counter of a function with a name, and creates it if necessary.
func (c *Counters) named(function, name string) *counter {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byName == nil {
		c.byName = map[string]*counter{}
	}
	name = function + " " + name
	if c.byName[name] == nil {
		c.byName[name] = &counter{}
	}
	return c.byName[name]
}

// functions are the functions of the language and the arguments they accept.
var functions = map[string]struct {
	op      opcode
	accepts string
}{
	"random-int": {opRandomInt, "two whole numbers, the lower first: random-int(1, 100)"},
	"pick":       {opPick, `one value or more: pick("a", "b")`},
	"fake":       {opFake, `the name of a kind of data in quotes: fake("email")`},
	"counter":    {opCounter, `a name in quotes, and a value with a count of its own if you like: counter("orders", path-params.user)`},
	"sequence":   {opCounter, `a name in quotes: sequence("orders")`},

	"shared-counter":  {opShared, `a name in quotes, in answers, and a server that replicas count with, --shared-state: shared-counter("orders")`},
	"shared-sequence": {opShared, `a name in quotes, in answers, and a server that replicas count with, --shared-state: shared-sequence("orders")`},

	"random-text": {opRandomText, "a whole number from 1 to 1024: random-text(14)"},
	"random-hex":  {opRandomHex, "a whole number from 1 to 1024: random-hex(32)"},
}

// function parses the arguments of the function t; the token is at its "(".
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
	case opCounter, opShared:
		ok = s.counts(&e, t.text, name)
	case opRandomText, opRandomHex:
		ok = len(args) == 1 && isLength(&args[0])
	}
	if !ok {
		s.fail(t.offset, "%s accepts %s", t.text, known.accepts)
	}
	return e, ok
}

// counts compiles a counter or sequence with a name, and reports whether it may be there.
func (s *scanner) counts(e *expr, function, name string) bool {
	most := 1
	if function == "counter" {
		most = 2
	}
	switch {
	case name == "" || len(e.args) > most:
		return false
	case e.op == opShared && s.scope.Shared != nil:
		e.shared = s.scope.Shared(name, function == "shared-sequence")
		return true
	case e.op == opCounter && s.scope.Counters != nil:
		e.counter, e.args = s.scope.Counters.named(function, name), e.args[1:]
		return true
	}
	return false
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

// isLength reports whether a literal is the length of a random text. One from the request is checked at
// request time.
func isLength(e *expr) bool {
	n, err := strconv.Atoi(string(e.literal.Raw))
	return !e.constant() || err == nil && n >= 1 && n <= maxRandomText
}

// call returns the value of a function.
func (e *expr) call(r *matcher.Request, fr *frame) value.Value {
	switch e.op {
	case opRandomInt:
		from, to := e.args[0].eval(r, fr).Raw, e.args[1].eval(r, fr).Raw
		fr.spend(len(from)+len(to), r)
		low, errLow := strconv.ParseInt(string(from), 10, 64)
		high, errHigh := strconv.ParseInt(string(to), 10, 64)
		if errLow != nil || errHigh != nil || high < low {
			return value.Value{}
		}
		return value.OfInt(low+randomUpTo(high-low, &r.Random), r)
	case opPick:
		return e.args[r.Random.IntN(len(e.args))].eval(r, fr)
	case opCounter:
		if len(e.args) == 0 {
			return value.OfInt(e.counter.n.Add(1), r)
		}
		of := e.args[0].eval(r, fr)
		fr.spend(len(of.Raw), r)
		return value.OfInt(int64(e.counter.keyed.Next(of.Text(r), math.MaxInt64))+1, r)
	case opShared:
		return value.OfInt(e.shared(), r)
	case opRandomText:
		return e.randomText(textCharacters, r, fr)
	case opRandomHex:
		return e.randomText(hexCharacters, r, fr)
	}
	made := e.fake.Value(&r.Random)
	fr.spend(fakeCost*(fakeBase+len(made.Raw)), r)
	return made
}

// fakeCost is how much longer it takes to invent data than to read it. fakeBase is the number of
// bytes that the shortest data count as.
const (
	fakeCost = 16
	fakeBase = 32
)

// randomUpTo returns a random number from 0 to span, which is taken as unsigned: bounds may be
// further apart than the range of int64.
func randomUpTo(span int64, random *matcher.Random) int64 {
	if n := uint64(span) + 1; n != 0 {
		return int64(random.Uint64N(n))
	}
	return int64(random.Uint64())
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
