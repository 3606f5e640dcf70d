package renderer

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/brianvoe/gofakeit/v7"

	"mockserver/config/syntax"
	"mockserver/internal/keyed"
	"mockserver/internal/wording"
	"mockserver/matcher"
	view "mockserver/matcher/json"
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
	if len(args) > 0 && args[0].constant() && args[0].literal.kind == text {
		name = string(args[0].literal.raw)
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
		most := 1
		if t.text == "counter" {
			most = 2
		}
		if ok = name != "" && len(args) <= most && s.scope.Counters != nil; ok {
			e.counter, e.args = s.scope.Counters.named(t.text, name), args[1:]
		}
	case opRandomText, opRandomHex:
		ok = len(args) == 1 && isLength(&args[0])
	}
	if !ok {
		s.fail(t.offset, "%s accepts %s", t.text, known.accepts)
	}
	return e, ok
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
		n, err := strconv.ParseInt(string(args[i].literal.raw), 10, 64)
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
	n, err := strconv.Atoi(string(e.literal.raw))
	return !e.constant() || err == nil && n >= 1 && n <= maxRandomText
}

// call returns the value of a function.
func (e *expr) call(r *matcher.Request, fr *frame) value {
	switch e.op {
	case opRandomInt:
		from, to := e.args[0].eval(r, fr).raw, e.args[1].eval(r, fr).raw
		fr.spend(len(from)+len(to), r)
		low, errLow := strconv.ParseInt(string(from), 10, 64)
		high, errHigh := strconv.ParseInt(string(to), 10, 64)
		if errLow != nil || errHigh != nil || high < low {
			return value{}
		}
		return intValue(low+randomUpTo(high-low, &r.Random), r)
	case opPick:
		return e.args[r.Random.IntN(len(e.args))].eval(r, fr)
	case opCounter:
		if len(e.args) == 0 {
			return intValue(e.counter.n.Add(1), r)
		}
		of := e.args[0].eval(r, fr)
		fr.spend(len(of.raw), r)
		return intValue(int64(e.counter.keyed.Next(of.text(r), math.MaxInt64))+1, r)
	case opRandomText:
		return e.randomText(textCharacters, r, fr)
	case opRandomHex:
		return e.randomText(hexCharacters, r, fr)
	}
	made := e.fake.value(&r.Random)
	fr.spend(fakeCost*(fakeBase+len(made.raw)), r)
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

// fake makes one kind of invented data.
type fake struct {
	info   *gofakeit.Info
	params *gofakeit.MapParams
	fakers sync.Pool // of *faker: a generator is not safe for concurrent use, and sharing one would need a lock
}

// faker is a generator that uses the random numbers of the current request.
type faker struct {
	gofakeit.Faker
	own    rand.PCG        // without a seed: a generator needs many numbers
	seeded *matcher.Random // nil without one
}

func newFaker() any {
	f := &faker{own: *rand.NewPCG(rand.Uint64(), rand.Uint64())}
	f.Rand = numbers{f}
	return f
}

// numbers are the random numbers of a faker.
type numbers struct{ of *faker }

// Uint64 returns the next number.
func (n numbers) Uint64() uint64 {
	if n.of.seeded != nil {
		return n.of.seeded.Uint64()
	}
	return n.of.own.Uint64()
}

// fake compiles fake("name") and calls it once: data that cannot be made without parameters are an
// error at load, not at a request.
func (s *scanner) fake(t token, name string) (expr, bool) {
	f := &fake{info: gofakeit.GetFuncLookup(name), params: gofakeit.NewMapParams()}
	key := strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
	if f.info == nil {
		f.info = gofakeit.GetFuncLookup(key)
	}
	f.fakers.New = newFaker
	if f.info == nil {
		s.fail(t.offset, "unknown kind of data %q%s; expected one of gofakeit's names, such as name, email, phone, city, uuid, sentence",
			name, wording.DidYouMean(key, fakeNames()))
		return expr{}, false
	}
	if _, err := f.generate(&matcher.Random{}); err != nil {
		s.fail(t.offset, "fake(%q) cannot be made here: %v", name, err)
		return expr{}, false
	}
	return expr{op: opFake, fake: f}, true
}

func fakeNames() []string { return slices.Sorted(maps.Keys(gofakeit.FuncLookups)) }

// generate returns invented data. The library panics if some parameters are missing, which becomes
// an ordinary error.
func (f *fake) generate(random *matcher.Random) (made any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it needs parameters: %v", p)
		}
	}()
	faker := f.fakers.Get().(*faker)
	defer f.fakers.Put(faker)
	if faker.seeded = nil; random.Seeded() {
		faker.seeded = random
	}
	return f.info.Generate(&faker.Faker, f.params, f.info)
}

// value returns invented data as a value of the language.
func (f *fake) value(random *matcher.Random) value {
	made, err := f.generate(random)
	if err != nil {
		return value{}
	}
	switch made := made.(type) {
	case string:
		return textValue([]byte(made))
	case bool:
		return boolValue(made)
	}
	b, err := json.Marshal(made)
	if err != nil {
		return value{}
	}
	switch {
	case syntax.IsJSONNumber(b):
		return value{kind: number, raw: b}
	case b[0] == '[':
		return value{kind: array, raw: b}
	case b[0] == '"':
		v := view.Value{Kind: view.String, Raw: b}
		return textValue(v.AppendText(nil))
	}
	return value{kind: object, raw: b}
}
