// Package text checks strings against formats and patterns, and generates strings that match a
// pattern.
package text

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Pattern is a compiled regular expression of a document.
type Pattern struct {
	Source string // as it was declared
	// Go's regular expressions have no look-aheads. Those at the beginning of the pattern are
	// compiled separately.
	rules []rule
	walk  func() *walk // through the expression without look-aheads
}

// rule is an expression that a string must match, or must not.
type rule struct {
	*regexp.Regexp
	isNegated bool
}

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
	p := &Pattern{Source: source}
	rest, err := p.lookAheads(source)
	if err != nil {
		return nil, err
	}
	return p.compile(rest, exactly)
}

// CompileLoosely compiles a pattern without its look-arounds and back-references. The result
// matches more strings than the pattern does.
func CompileLoosely(source string) (*Pattern, error) {
	return (&Pattern{Source: source}).compile(source, loosely)
}

func (p *Pattern) compile(source string, as reading) (*Pattern, error) {
	expression, err := goPattern(source, as)
	if err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, plainPatternError(err)
	}
	if len(source) > largestSource || sizeOf(tree) > largestSize {
		return nil, errors.New("it is too large")
	}
	p.walk = sync.OnceValue(func() *walk { return walkOf(tree) })
	return p, p.add(expression, false)
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

func (p *Pattern) add(expression string, isNegated bool) error {
	e, err := regexp.Compile(expression)
	p.rules = append(p.rules, rule{e, isNegated})
	return plainPatternError(err)
}

func plainPatternError(err error) error {
	if bad, ok := errors.AsType[*syntax.Error](err); ok {
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
		if err := p.add("^(?:"+ahead+")", rest[2] == '!'); err != nil {
			return "", err
		}
		rest = rest[end+1:]
	}
	branch := func(c byte, depth int) bool { return c == '|' && depth == 0 }
	if len(p.rules) > 0 && (find(rest, branch) >= 0 || strings.IndexAny(rest, "*+?{") == 0) {
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

// Matches reports whether the pattern matches a string.
func (p *Pattern) Matches(s string) bool {
	return !slices.ContainsFunc(p.rules, func(r rule) bool { return r.MatchString(s) == r.isNegated })
}

// Text generates a string that matches the pattern, with at least low and at most high characters.
// It returns false when it finds none.
func (p *Pattern) Text(r *rand.Rand, low, high int) (string, bool) {
	w := p.walk()
	first, last := w.least[w.Start], w.most[w.Start]
	least := max(first, min(low, last))
	most := max(least, min(last, high, max(least, 1)+ReadableLength))
	tries := 60
	if least > longText {
		tries = 4
	}
	for try := range tries {
		s := w.write(r, least+r.IntN(most-least+1))
		if n := utf8.RuneCountInString(s); n < low { // an open-ended expression may continue
			s += Letters(r, low-n)
		}
		if n := utf8.RuneCountInString(s); n >= low && n <= high && p.Matches(s) {
			return s, true
		}
		if try == tries/2 { // look-aheads may require more than the minimum
			most = max(most, min(last, high, 4*ReadableLength))
		}
	}
	return "", false
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
