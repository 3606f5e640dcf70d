package generate

import (
	"encoding/json"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode/utf8"

	"mockserver/config/openapi/invent"
	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/text"
)

// textTries limits how many strings are tried in each way.
const textTries = 12

// text generates a string.
func (d *draft) text(g *merged, a ask) (any, bool) {
	f := d.factsOf(a)
	hint := f.Hint(a.name)
	if !d.wide && !g.hard && g.minLength == 0 && g.maxLength < 0 && len(g.patterns) == 0 && len(g.formats) == 0 {
		if s, ok := f.Text(hint, 0); ok {
			return s, true
		}
		return invent.Word(d.random), true
	}
	t := texts{draft: d, merged: g, ask: a, facts: f, hint: hint, low: g.minLength, high: text.LongestText}
	if g.maxLength >= 0 {
		t.high = min(t.high, g.maxLength)
	}
	if t.low > t.high {
		d.blame("no text can have the required length")
		return "", false
	}
	t.compile()
	for _, way := range t.ways() {
		for try := range textTries {
			if t.hard && try > 0 { // each one is checked against the schemas
				d.effort--
			}
			if t.low/bytesAValue > d.effort || d.effort < 0 {
				d.blame(tooLarge)
				return "", false
			}
			s, ok := way(try)
			if !ok {
				d.effort -= t.low / bytesAValue
				break
			}
			d.effort -= len(s) / bytesAValue
			if t.last = s; t.fit(s) {
				return s, true
			}
		}
	}
	d.blame("no text was found for its pattern, format and lengths")
	return t.last, false
}

// texts generates strings in several ways.
type texts struct {
	*draft
	*merged
	ask       ask
	facts     *invent.Facts
	hint      string // the hint in the name of the property
	low, high int
	last      string
	known     []invent.Format
	patterns  []*text.Pattern
}

func (t *texts) compile() {
	for _, name := range t.formats {
		if f, ok := invent.FormatOf(name); ok {
			t.known = append(t.known, f)
		}
	}
	for _, source := range t.merged.patterns {
		p, err := t.m.pattern(source)
		if err != nil {
			if !t.quiet {
				t.m.warnPattern(t.at, source, err)
			}
			p, err = text.CompileLoosely(source)
		}
		if err == nil {
			t.patterns = append(t.patterns, p)
		}
	}
}

// way makes a text in one way. It returns false when that way yields no text.
type way func(try int) (string, bool)

// ways returns the ways to make a text, the best first.
func (t *texts) ways() []way {
	r := t.random
	all := []way{func(try int) (string, bool) {
		if t.wide || len(t.known) > 0 || try >= invent.Tries(t.hint) {
			return "", false
		}
		return t.facts.Text(t.hint, try)
	}}
	for _, f := range t.known {
		all = append(all, func(try int) (string, bool) {
			if try > 0 {
				return f.Make(t.facts.Alone(), t.low, t.high), true
			}
			return f.Make(t.facts, t.low, t.high), true
		})
	}
	for _, p := range t.patterns {
		all = append(all, func(int) (string, bool) { return p.Text(r, t.low, t.high) })
	}
	for _, name := range t.formats {
		all = append(all, func(try int) (string, bool) { return t.facts.Text(t.facts.Hint(name), try) })
	}
	some := func(most int) int { return max(t.low, min(t.high, 1+r.IntN(most))) }
	plain := []func() string{
		func() string { return invent.Word(r) },
		func() string { return longer(r, t.low, t.high) },
		func() string { return text.Letters(r, t.low) },
		func() string { return invent.Digits(r, some(text.ReadableLength)) }, // where words are rejected
		func() string { return strings.ToUpper(text.Letters(r, some(1))) },
	}
	if t.wide {
		plain = slices.Insert(plain, 0, func() string {
			return text.Letters(r, t.low+r.IntN(min(t.high-t.low, text.ReadableLength)+1))
		})
	} else {
		all = append(all, func(try int) (string, bool) { return t.facts.Text(t.hint, try) })
	}
	for _, make := range plain {
		all = append(all, func(int) (string, bool) { return make(), true })
	}
	return all
}

// longer returns words with a total length between low and high, or letters if low is 0.
func longer(r *rand.Rand, low, high int) string {
	if low == 0 {
		return text.Letters(r, min(high, 1+r.IntN(text.ReadableLength)))
	}
	b := []byte(invent.Word(r))
	for len(b) < low {
		b = append(append(b, ' '), invent.Word(r)...)
	}
	if len(b) > high {
		b = b[:high]
		b[high-1] = 'a' // no space at the end
	}
	return string(b)
}

// fit reports whether a string meets all requirements.
func (t *texts) fit(s string) bool {
	if n := utf8.RuneCountInString(s); n < t.low || n > t.high {
		return false
	}
	for _, p := range t.patterns {
		if !p.Matches(s) {
			return false
		}
	}
	for _, f := range t.known {
		if f.Valid != nil && !f.Valid(s) {
			return false
		}
	}
	return !t.ask.taken.has(s) && (!t.hard || t.fits(t.ask.schemas, s))
}

// number generates a number within the bounds that is a multiple of all required steps.
func (d *draft) number(g *merged, a ask, whole bool) (any, bool) {
	if g.unbounded() && !d.wide {
		usual, _ := invent.SpanOf(a.name, d.m.Today)
		return usual.Number(d.random, whole), true
	}
	usual, named := d.span(a.name)
	step := stepOf(g, whole, usual)
	low, high := d.usual(g, usual, named, step)
	// Multiples of the step: from is the first, upTo the last.
	from, upTo := ceiling(low, step), floor(high, step)
	if g.low != nil && g.openLow && new(big.Rat).Mul(new(big.Rat).SetInt(from), step).Cmp(g.low) == 0 {
		from.Add(from, big.NewInt(1))
	}
	if g.high != nil && g.openHigh && new(big.Rat).Mul(new(big.Rat).SetInt(upTo), step).Cmp(g.high) == 0 {
		upTo.Sub(upTo, big.NewInt(1))
	}
	if from.Cmp(upTo) > 0 {
		if !whole && len(g.steps) == 0 && g.low != nil && g.high != nil {
			return between(g)
		}
		d.blame("no number lies within its bounds")
		return json.Number("0"), false
	}
	decimals := -1
	if named && !whole && len(g.steps) == 0 {
		decimals = usual.Decimals
	}
	return d.multiple(g, a, from, upTo, step, decimals), true
}

// nextNumbers limits how many numbers are tried in sequence from a random start, when only a few
// are allowed.
const nextNumbers = 100

// multiple returns a multiple of a step, with a factor between from and upTo: if possible, a number
// that is not taken yet and that the schemas accept. It is written with the given number of
// decimals; -1 stands for as many as it needs.
func (d *draft) multiple(g *merged, a ask, from, upTo *big.Int, step *big.Rat, decimals int) json.Number {
	times := func(n *big.Int) json.Number {
		x := new(big.Rat).Mul(new(big.Rat).SetInt(n), step)
		if decimals >= 0 {
			return json.Number(x.FloatString(decimals))
		}
		return jsonvalue.DecimalText(x)
	}
	span := new(big.Int).Sub(upTo, from)
	if !span.IsInt64() || span.Int64() >= 1<<62 {
		return times(from)
	}
	count := span.Int64() + 1
	first := d.random.Int64N(count)
	for i := range min(count, nextNumbers) {
		n := times(new(big.Int).Add(from, big.NewInt((first+i)%count)))
		if !a.taken.has(n) && (!g.hard || d.fits(a.schemas, n)) {
			return n
		}
	}
	return times(new(big.Int).Add(from, big.NewInt(first)))
}

// span returns the usual range for numbers with a name, unless many different numbers are needed.
func (d *draft) span(name string) (s invent.Span, named bool) {
	if d.wide {
		return invent.Usual, false
	}
	return invent.SpanOf(name, d.m.Today)
}

// stepOf returns the step that a number must be a multiple of. If there is none, it returns the
// value of the last decimal place that usual has.
func stepOf(g *merged, whole bool, usual invent.Span) *big.Rat {
	var step *big.Rat
	if whole {
		step = big.NewRat(1, 1)
	}
	for _, s := range g.steps {
		if step == nil {
			step = s
			continue
		}
		// The least common multiple of a/b and c/d is that of ad and cb, divided by bd.
		a, b := new(big.Int).Mul(step.Num(), s.Denom()), new(big.Int).Mul(s.Num(), step.Denom())
		gcd := new(big.Int).GCD(nil, nil, a, b)
		step = new(big.Rat).SetFrac(new(big.Int).Mul(a, b.Div(b, gcd)), new(big.Int).Mul(step.Denom(), s.Denom()))
	}
	if step == nil {
		return big.NewRat(1, usual.Unit())
	}
	return step
}

// usual returns the bounds that a number is picked from: the bounds of the schema, but close enough
// together to give readable numbers.
func (d *draft) usual(g *merged, usual invent.Span, named bool, step *big.Rat) (low, high *big.Rat) {
	width := big.NewRat(invent.Width, 1)
	if d.wide {
		width = big.NewRat(1<<31, 1)
	}
	if w := new(big.Rat).Mul(step, width); w.Cmp(width) > 0 {
		width = w
	}
	low, high = big.NewRat(1, 1), width
	if named {
		low, high = big.NewRat(usual.Low, 1), big.NewRat(usual.High, 1)
	}
	if (g.low == nil || g.low.Cmp(low) <= 0) && (g.high == nil || g.high.Cmp(high) >= 0) {
		return low, high
	}
	switch {
	case g.low == nil:
		return within(low64, new(big.Rat).Sub(g.high, width), g.high), g.high
	case g.high == nil:
		return g.low, within(g.low, new(big.Rat).Add(g.low, width), high64)
	case g.low.Sign() < 0 && g.high.Sign() > 0 && g.high.Cmp(width) > 0:
		return new(big.Rat), width
	}
	if far := new(big.Rat).Add(g.low, width); far.Cmp(g.high) < 0 {
		return g.low, far
	}
	return g.low, g.high
}

// within limits a number to a range, unless the range is empty. It keeps the range for numbers with
// a single bound within 64-bit integers if possible.
func within(low, x, high *big.Rat) *big.Rat {
	switch {
	case low.Cmp(high) > 0:
	case x.Cmp(low) < 0:
		return low
	case x.Cmp(high) > 0:
		return high
	}
	return x
}

// between returns the middle of two bounds that have no multiple of the step between them.
func between(g *merged) (any, bool) {
	if g.low.Cmp(g.high) > 0 || g.low.Cmp(g.high) == 0 && (g.openLow || g.openHigh) {
		return json.Number("0"), false
	}
	middle := new(big.Rat).Add(g.low, g.high)
	return jsonvalue.DecimalText(middle.Quo(middle, big.NewRat(2, 1))), true
}

// ceiling returns the least integer n with n·step ≥ x; floor returns the greatest with n·step ≤ x.
func ceiling(x, step *big.Rat) *big.Int {
	q := new(big.Rat).Quo(x, step)
	n := new(big.Int).Neg(q.Num())
	n.Div(n, q.Denom()) // rounds down
	return n.Neg(n)
}

func floor(x, step *big.Rat) *big.Int {
	q := new(big.Rat).Quo(x, step)
	return new(big.Int).Div(q.Num(), q.Denom())
}
