// Package text checks strings against formats and patterns, and generates strings that match a
// pattern.
package text

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Pattern is a compiled regular expression of a document: the expression for matching, and the
// syntax tree for generating strings.
type Pattern struct {
	Source string // as it was declared
	takes  *regexp.Regexp
	tree   *syntax.Regexp
	// Go's regular expressions have no look-aheads. Those at the beginning of the pattern are
	// compiled separately.
	must, never []*regexp.Regexp
	lengths     map[*syntax.Regexp]span
}

// span is the minimum and maximum number of characters that an expression can match.
type span struct{ min, max int }

const (
	// A match takes time in proportion to the size of the expression and to the length of the string.
	// The largest of 3,500 expressions in published documents has 54,000 parts.
	largestSize   = 60_000
	largestSource = 30_000 // bytes
	// longestRepeat is the largest repetition count that regexp/syntax accepts.
	longestRepeat = 1000
	// LongestText limits the length of a string that a pattern or a length constraint requires.
	LongestText = 1 << 20
	// longText is the length above which only a few attempts are made.
	longText = 1 << 14
	// ReadableLength is how many characters a generated string may exceed its minimum length by.
	ReadableLength = 10
)

// CompilePattern compiles a pattern in the ECMAScript syntax.
func CompilePattern(source string) (*Pattern, error) {
	p := &Pattern{Source: source, lengths: map[*syntax.Regexp]span{}}
	rest, err := p.lookAheads(source)
	if err != nil {
		return nil, err
	}
	return p.compile(rest, exactly)
}

// CompileLoosely compiles a pattern without its look-arounds and back-references. The result
// matches more strings than the pattern does.
func CompileLoosely(source string) (*Pattern, error) {
	p := &Pattern{Source: source, lengths: map[*syntax.Regexp]span{}}
	return p.compile(source, loosely)
}

func (p *Pattern) compile(source string, as reading) (*Pattern, error) {
	expression, err := goPattern(source, as)
	if err != nil {
		return nil, err
	}
	if p.tree, err = syntax.Parse(expression, syntax.Perl); err != nil {
		return nil, plainPatternError(err)
	}
	if len(source) > largestSource || sizeOf(p.tree) > largestSize {
		return nil, errors.New("it is too large")
	}
	if p.takes, err = regexp.Compile(expression); err != nil {
		return nil, plainPatternError(err)
	}
	p.measure(p.tree)
	return p, nil
}

// sizeOf returns the number of parts of an expression, each counted as often as it is repeated.
func sizeOf(re *syntax.Regexp) int {
	n := 1
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += sizeOf(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return n
}

func plainPatternError(err error) error {
	var bad *syntax.Error
	if errors.As(err, &bad) {
		return errors.New(string(bad.Code) + ": " + bad.Expr)
	}
	return err
}

// lookAheads compiles the look-aheads at the beginning of a pattern and returns the rest of it.
func (p *Pattern) lookAheads(source string) (rest string, err error) {
	rest, anchored := strings.CutPrefix(source, "^")
	for strings.HasPrefix(rest, "(?=") || strings.HasPrefix(rest, "(?!") {
		end := groupEnd(rest)
		if end < 0 {
			return "", errors.New("missing closing ): " + source)
		}
		if !anchored {
			return "", errLookAround
		}
		ahead, err := goPattern(rest[3:end], exactly)
		if err != nil {
			return "", err
		}
		e, err := regexp.Compile("^(?:" + ahead + ")")
		if err != nil {
			return "", plainPatternError(err)
		}
		if rest[2] == '=' {
			p.must = append(p.must, e)
		} else {
			p.never = append(p.never, e)
		}
		rest = rest[end+1:]
	}
	branch := func(c byte, depth int) bool { return c == '|' && depth == 0 }
	if len(p.must)+len(p.never) > 0 && (find(rest, branch) >= 0 || strings.IndexAny(rest, "*+?{") == 0) {
		return "", errLookAround // they would be those of one branch, or optional
	}
	if anchored {
		rest = "^" + rest
	}
	return rest, nil
}

// groupEnd returns where the group that s begins with is closed, or -1 if it is not closed.
func groupEnd(s string) int {
	return find(s, func(c byte, depth int) bool { return c == ')' && depth == 0 })
}

// find returns the index of a character of the syntax, outside classes, or -1. depth is the number
// of groups that are open after the character.
func find(s string, wanted func(c byte, depth int) bool) int {
	depth, class := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
			continue
		case class:
			class = c != ']'
			continue
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
		if wanted(s[i], depth) {
			return i
		}
	}
	return -1
}

func isWordByte(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

func hexDigits(s string, n int) string {
	if len(s) < n {
		return ""
	}
	if _, err := strconv.ParseUint(s[:n], 16, 32); err != nil {
		return ""
	}
	return s[:n]
}

// Matches reports whether the pattern matches a string.
func (p *Pattern) Matches(s string) bool {
	if !p.takes.MatchString(s) {
		return false
	}
	for _, e := range p.must {
		if !e.MatchString(s) {
			return false
		}
	}
	for _, e := range p.never {
		if e.MatchString(s) {
			return false
		}
	}
	return true
}

// measure computes the possible lengths of the strings that an expression matches.
func (p *Pattern) measure(re *syntax.Regexp) span {
	var s span
	switch re.Op {
	case syntax.OpLiteral:
		s = span{len(re.Rune), len(re.Rune)}
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		s = span{1, 1}
	case syntax.OpCapture, syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		low, high := repeats(re)
		one := p.measure(re.Sub[0])
		s = span{clampLength(low * one.min), clampLength(high * one.max)}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			one := p.measure(sub)
			s = span{clampLength(s.min + one.min), clampLength(s.max + one.max)}
		}
	case syntax.OpAlternate:
		s.min = LongestText
		for _, sub := range re.Sub {
			one := p.measure(sub)
			s = span{min(s.min, one.min), max(s.max, one.max)}
		}
	}
	p.lengths[re] = s
	return s
}

func clampLength(n int) int { return min(n, LongestText) }

// repeats returns how often the operand of an expression may be repeated.
func repeats(re *syntax.Regexp) (low, high int) {
	switch re.Op {
	case syntax.OpStar:
		return 0, LongestText
	case syntax.OpPlus:
		return 1, LongestText
	case syntax.OpQuest:
		return 0, 1
	case syntax.OpRepeat:
		if re.Max < 0 {
			return re.Min, LongestText
		}
		return re.Min, re.Max
	}
	return 1, 1
}

// Text generates a string that matches the pattern, with at least low and at most high characters.
// It returns false when it finds none.
func (p *Pattern) Text(r *rand.Rand, low, high int) (string, bool) {
	all := p.lengths[p.tree]
	least := max(all.min, min(low, all.max))
	most := max(least, min(all.max, high, max(least, 1)+ReadableLength))
	tries := 60
	if least > longText {
		tries = 4
	}
	for try := range tries {
		var b strings.Builder
		p.write(&b, r, p.tree, least+r.IntN(most-least+1))
		s := b.String()
		if n := utf8.RuneCountInString(s); n < low { // an open-ended expression may continue
			s += Letters(r, low-n)
		}
		if n := utf8.RuneCountInString(s); n >= low && n <= high && p.Matches(s) {
			return s, true
		}
		if try == tries/2 { // look-aheads may require more than the minimum
			most = max(most, min(all.max, high, 4*ReadableLength))
		}
	}
	return "", false
}

// write writes a string that matches an expression, of n characters if possible.
func (p *Pattern) write(b *strings.Builder, r *rand.Rand, re *syntax.Regexp, n int) {
	if b.Len() > LongestText {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		for _, c := range re.Rune {
			b.WriteRune(c)
		}
	case syntax.OpCharClass:
		b.WriteRune(pickRune(r, re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteRune(pickRune(r, []rune{'!', '~'}))
	case syntax.OpCapture, syntax.OpQuest, syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		p.writeRepeated(b, r, re, n)
	case syntax.OpConcat:
		p.writeParts(b, r, re.Sub, n)
	case syntax.OpAlternate:
		p.write(b, r, p.alternative(r, re.Sub, n), n)
	}
}

// alternative picks one of the alternatives that can have length n. If there are none, it picks any
// alternative.
func (p *Pattern) alternative(r *rand.Rand, subs []*syntax.Regexp, n int) *syntax.Regexp {
	var fit []*syntax.Regexp
	for _, sub := range subs {
		if s := p.lengths[sub]; s.min <= n && n <= s.max && sub.Op != syntax.OpNoMatch {
			fit = append(fit, sub)
		}
	}
	if len(fit) == 0 {
		fit = subs
	}
	return fit[r.IntN(len(fit))]
}

func (p *Pattern) writeRepeated(b *strings.Builder, r *rand.Rand, re *syntax.Regexp, n int) {
	low, high := repeats(re)
	one := p.lengths[re.Sub[0]]
	if one.max == 0 { // always empty, however often repeated
		n, high = 0, low
	} else {
		low = max(low, (n+one.max-1)/one.max)
		if one.min > 0 {
			high = min(high, n/one.min)
		}
		high = max(low, min(high, low+n))
	}
	times := low + r.IntN(high-low+1)
	if times > LongestText {
		return
	}
	rest := n
	for i := range times {
		left := times - i - 1
		share := clampTo(rest-left*one.min, one)
		if spread := rest - left*one.min; left > 0 && spread > one.min {
			share = clampTo(max(rest-left*one.max, one.min+r.IntN(spread-one.min+1)), one)
		}
		p.write(b, r, re.Sub[0], share)
		rest -= share
	}
}

func clampTo(n int, s span) int { return max(s.min, min(n, s.max)) }

// writeParts distributes the length among the parts at random.
func (p *Pattern) writeParts(b *strings.Builder, r *rand.Rand, subs []*syntax.Regexp, n int) {
	shares := make([]int, len(subs))
	room := 0
	for i, sub := range subs {
		shares[i] = p.lengths[sub].min
		n -= shares[i]
		room += p.lengths[sub].max - shares[i]
	}
	for n = min(n, room); n > 0; {
		i := r.IntN(len(subs))
		free := p.lengths[subs[i]].max - shares[i]
		if free <= 0 {
			continue
		}
		more := 1 + r.IntN(min(free, n))
		shares[i] += more
		n -= more
	}
	for i, sub := range subs {
		p.write(b, r, sub, shares[i])
	}
}

// pickRune picks a character from a class, which is given as ranges: a letter or a digit if the
// class contains any, else a readable character.
func pickRune(r *rand.Rand, ranges []rune) rune {
	for _, liked := range [][]rune{{'0', '9', 'A', 'Z', 'a', 'z'}, {'!', '~'}, {' ', '~'}, {0xA1, 0xD7FF}, {0, unicode.MaxRune}} {
		var common []rune
		total := 0
		for i := 0; i+1 < len(ranges); i += 2 {
			for j := 0; j+1 < len(liked); j += 2 {
				low, high := max(ranges[i], liked[j]), min(ranges[i+1], liked[j+1])
				if low <= high {
					common = append(common, low, high)
					total += int(high-low) + 1
				}
			}
		}
		if total == 0 {
			continue
		}
		n := r.IntN(total)
		for i := 0; i < len(common); i += 2 {
			if size := int(common[i+1]-common[i]) + 1; n >= size {
				n -= size
				continue
			}
			return common[i] + rune(n)
		}
	}
	return 'a' // an empty class: no string matches
}

// Letters returns n random lower-case letters, but at most LongestText.
func Letters(r *rand.Rand, n int) string {
	b := make([]byte, min(n, LongestText))
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}
