package bench

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// sampler writes a text that an expression matches; assertions are left to luck.
type sampler struct {
	b       strings.Builder
	variant int // which of several alternatives is taken
	room    int // how much may still be written
}

func (s *sampler) write(re *syntax.Regexp) {
	if s.room--; s.room < 0 {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		s.b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		s.b.WriteRune(ofClass(re.Rune, s.variant))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		s.b.WriteByte('x')
	case syntax.OpAlternate:
		s.write(re.Sub[s.variant%len(re.Sub)])
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			s.write(sub)
		}
	case syntax.OpPlus:
		s.write(re.Sub[0])
	case syntax.OpStar, syntax.OpQuest:
		if s.variant%2 == 1 {
			s.write(re.Sub[0])
		}
	case syntax.OpRepeat:
		for range re.Min {
			s.write(re.Sub[0])
		}
	}
}

// ofClass is a letter of a class, given as pairs of first and last: a plain one first,
// where there is one.
func ofClass(pairs []rune, variant int) rune {
	var letters []rune
	add := func(r rune) {
		if unicode.IsPrint(r) && !slices.Contains(letters, r) {
			letters = append(letters, r)
		}
	}
	const most = 20 // pairs that are looked at
	pairs = pairs[:min(len(pairs), 2*most)]
	for _, r := range "a1xZ0-_ .7" {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] <= r && r <= pairs[i+1] {
				add(r)
			}
		}
	}
	for _, r := range pairs {
		add(r)
	}
	if len(letters) == 0 {
		return 'x'
	}
	return letters[variant%len(letters)]
}
