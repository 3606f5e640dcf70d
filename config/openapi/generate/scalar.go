package generate

import (
	"cmp"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/invent"
	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/text"
	"mockserver/internal/wording"
)

// textTries limits how many strings are tried in each way.
const textTries = 12

// way makes a string in one way. It returns false when that way yields no string.
type way func(try int) (string, bool)

// text generates a string.
func (d *draft) text(g *merged, a ask) (any, bool) {
	low := g.least(func(s *openapi3.Schema) uint64 { return s.MinLength })
	high := min(text.LongestText, g.most(func(s *openapi3.Schema) *uint64 { return s.MaxLength }))
	if low > high {
		d.blame("no text can have the required length")
		return "", false
	}
	patterns, nearest, last := d.patterns(g), "", ""
	if !g.hard && !d.wild && low == 0 && high == text.LongestText && len(patterns)+len(g.formats()) == 0 && a.taken == nil {
		f := d.factsOf(a)
		if s, ok := f.Text(f.Hint(a.name), 0); ok {
			return s, true
		}
		return invent.Word(d.random), true
	}
	for _, way := range d.ways(g, a, patterns, low, high) {
		for try := range textTries {
			if d.effort < low/bytesAValue {
				d.blame(tooLarge)
				return "", false
			}
			s, ok := way(try)
			if !ok {
				d.effort -= low / bytesAValue
				break
			}
			if d.effort -= len(s) / bytesAValue; try > 0 {
				d.effort--
			}
			isOther := func(p *text.Pattern) bool { return !p.Matches(s) }
			isMatch := !slices.ContainsFunc(patterns, isOther)
			if last = s; isMatch && d.fits(a, s) {
				return s, true
			}
			if n := utf8.RuneCountInString(s); isMatch && n >= low && n <= high && !a.taken.has(s) {
				nearest = cmp.Or(nearest, s)
			}
		}
	}
	d.blame("no text was found for its pattern, format and lengths")
	return cmp.Or(nearest, last), false // a wrong format is better than a wrong pattern or length
}

// patterns returns the patterns of a string, of which those that are not supported are compiled
// loosely.
func (d *draft) patterns(g *merged) (all []*text.Pattern) {
	for _, s := range g.schemas {
		if s.Pattern == "" {
			continue
		}
		p, err := d.m.pattern(s.Pattern)
		if err != nil {
			if d.warnsOnce(s.Pattern) {
				d.m.Warning(manyPatterns, d.at, "the pattern "+wording.Clip(s.Pattern)+" is not supported ("+wording.Clip(err.Error())+"); texts are generated without the unsupported parts")
			}
			p, err = text.CompileLoosely(s.Pattern)
		}
		if err == nil {
			all = append(all, p)
		}
	}
	return all
}

// ways returns the ways to make a string with low to high characters, the best first.
func (d *draft) ways(g *merged, a ask, patterns []*text.Pattern, low, high int) (all []way) {
	f, r, formats := d.factsOf(a), d.random, g.formats()
	hint := f.Hint(a.name)
	named := func(hint string, tries int) {
		all = append(all, func(try int) (string, bool) {
			if try >= tries {
				return "", false
			}
			return f.Text(hint, try)
		})
	}
	always := func(next func() string) {
		all = append(all, func(int) (string, bool) { return next(), true })
	}
	known := 0
	for _, name := range formats {
		if next, ok := invent.FormatOf(name); ok {
			known++
			all = append(all, func(try int) (string, bool) {
				if try > 0 {
					f = f.Alone()
				}
				return next(f, low, high), true
			})
		}
	}
	if known == 0 && !d.wild {
		named(hint, invent.Tries(hint))
	}
	for _, p := range patterns {
		all = append(all, func(int) (string, bool) { return p.Text(r, low, high) })
	}
	for _, name := range formats {
		named(f.Hint(name), textTries)
	}
	length := func(more int) int { return low + r.IntN(min(high-low, more)+1) }
	if d.wild {
		always(func() string { return text.Letters(r, length(text.ReadableLength)) })
		always(func() string { return text.Letters(r, length(64)) })
	} else {
		named(hint, textTries)
	}
	always(func() string { return invent.Word(r) })
	always(func() string { return invent.Words(r, low, high) })
	always(func() string { return text.Letters(r, low) })
	always(func() string { return invent.Digits(r, length(text.ReadableLength)) }) // where words are rejected
	always(func() string { return strings.ToUpper(text.Letters(r, length(1))) })
	return all
}

// bounds are the bounds of a number. A nil one stands for none.
type bounds struct {
	low, high, step *big.Rat
	isInteger       bool // has the format int32 or int64
	isSmall         bool // has the format int32
}

// bounds returns the bounds of a number. A number at a bound may still be excluded, and other steps
// than the largest exclude some.
func (g *merged) bounds(exact jsonvalue.Numbers) (b bounds) {
	of := func(f *float64) *big.Rat {
		if f == nil {
			return nil
		}
		return exact.Of(f)
	}
	for _, s := range g.schemas {
		b.raise(of(s.Min))
		b.raise(of(s.ExclusiveMin.Value))
		b.lower(of(s.Max))
		b.lower(of(s.ExclusiveMax.Value))
		if step := of(s.MultipleOf); step != nil && step.Sign() > 0 && (b.step == nil || step.Cmp(b.step) > 0) {
			b.step = step
		}
		b.isSmall = b.isSmall || s.Format == "int32"
		b.isInteger = b.isSmall || b.isInteger || s.Format == "int64"
	}
	return b
}

func (b *bounds) raise(low *big.Rat) {
	if low != nil && (b.low == nil || low.Cmp(b.low) > 0) {
		b.low = low
	}
}

func (b *bounds) lower(high *big.Rat) {
	if high != nil && (b.high == nil || high.Cmp(b.high) < 0) {
		b.high = high
	}
}

// window returns the range that a number is picked from: from low to high, or a part of the bounds of
// the given width. If possible, it lies within the integers of 64 or 32 bits.
func (b *bounds) window(low, high, width *big.Rat) (from, to *big.Rat) {
	if b.low != nil && b.low.Cmp(low) > 0 || b.high != nil && b.high.Cmp(high) < 0 {
		if low = b.low; low == nil {
			low = new(big.Rat).Sub(b.high, width)
		}
		if high = new(big.Rat).Add(low, width); b.high != nil && b.high.Cmp(high) < 0 {
			high = b.high
		}
	}
	first, last := big.NewRat(math.MinInt64, 1), big.NewRat(math.MaxInt64, 1)
	if b.isSmall {
		first, last = big.NewRat(math.MinInt32, 1), big.NewRat(math.MaxInt32, 1)
	}
	if low.Cmp(last) <= 0 && high.Cmp(last) > 0 {
		high = last
	}
	if low.Cmp(first) < 0 && high.Cmp(first) >= 0 {
		low = first
	}
	return low, high
}

const (
	// nextNumbers limits how many numbers are tried in sequence from a random start, when some are
	// excluded or taken.
	nextNumbers = 100
	wildNumber  = 1 << 31
)

// number generates a number within the bounds, if possible of the usual size for its name.
func (d *draft) number(b bounds, a ask, whole bool) (any, bool) {
	usual, named := invent.SpanOf(a.name, d.m.Today)
	if b.low == nil && b.high == nil && b.step == nil && !d.wild {
		return usual.Number(d.random, whole), true
	}
	one, step, width, decimals := big.NewRat(1, 1), b.step, big.NewRat(invent.Width, 1), -1
	switch {
	case whole && (step == nil || step.Cmp(one) < 0):
		step = one
	case step == nil:
		if step = big.NewRat(1, usual.Unit()); named {
			decimals = usual.Decimals
		}
	case step.Cmp(one) > 0:
		usual = invent.Usual
	}
	if d.wild {
		usual.Low, usual.High, decimals = -wildNumber, wildNumber, -1
		width.SetInt64(wildNumber)
	}
	low, high := big.NewRat(usual.Low, 1), big.NewRat(usual.High, 1)
	if step.Cmp(one) > 0 {
		low.Mul(low, step)
		high.Mul(high, step)
		width.Mul(width, step)
	}
	low, high = b.window(low, high, width)
	v, ok := d.multiple(a, low, high, step, decimals)
	if !ok && b.step == nil && !whole { // none of so few decimals
		middle := low.Add(low, high)
		v = jsonvalue.DecimalText(middle.Quo(middle, big.NewRat(2, 1)))
		ok = d.fits(a, v)
	}
	if !ok {
		d.blame("no number lies within its bounds")
	}
	return v, ok
}

// multiple returns a multiple of a step between low and high, which is written with the given number
// of decimals; -1 stands for as many as it needs.
func (d *draft) multiple(a ask, low, high, step *big.Rat, decimals int) (n json.Number, ok bool) {
	first := new(big.Rat).Quo(low, step)
	from := new(big.Int).Neg(first.Num())
	from.Neg(from.Div(from, first.Denom())) // rounds up
	last := new(big.Rat).Quo(high, step)
	upTo := new(big.Int).Div(last.Num(), last.Denom()) // rounds down
	n = "0"
	count := int64(1 << 62)
	if more := upTo.Sub(upTo, from); more.Sign() < 0 {
		count = 0
	} else if more.Cmp(big.NewInt(count)) < 0 {
		count = more.Int64() + 1
	}
	for i, start := int64(0), d.random.Int64N(max(1, count)); i < min(count, nextNumbers); i++ {
		factor := new(big.Int).Add(from, big.NewInt((start+i)%count))
		x := new(big.Rat).SetInt(factor)
		if x.Mul(x, step); decimals < 0 {
			n = jsonvalue.DecimalText(x)
		} else {
			n = json.Number(x.FloatString(decimals))
		}
		if d.fits(a, n) {
			return n, true
		}
	}
	return n, false
}
