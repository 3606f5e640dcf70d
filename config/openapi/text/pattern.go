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
	"sync"
	"unicode"
	"unicode/utf8"
)

// Pattern is a compiled regular expression of a document: the expression for matching, and the
// syntax tree for generating strings.
type Pattern struct {
	takes *regexp.Regexp
	tree  *syntax.Regexp
	// Go's regular expressions have no look-aheads. Those at the beginning of the pattern are
	// compiled separately.
	must, never []*regexp.Regexp
	lengths     map[*syntax.Regexp]span
	// machines read the strings that the pattern matches; see Together. There is one for the
	// expression, and one for each positive look-ahead.
	machines func() []*machine
}

// span is the minimum and maximum number of characters that an expression can match.
type span struct{ min, max int }

const (
	// longestRepeat is the largest repetition count that regexp/syntax accepts.
	longestRepeat = 1000
	// LongestText limits the length of a string that a pattern or a length constraint requires.
	LongestText = 1 << 20
	// longText is the length above which only a few attempts are made.
	longText = 1 << 14
	// ReadableLength is how many characters a generated string may exceed its minimum length by.
	ReadableLength = 10
)

var errLookAround = errors.New("the only supported look-arounds are look-aheads at the beginning")

// CompilePattern compiles a pattern in the ECMAScript syntax.
func CompilePattern(source string) (*Pattern, error) {
	p := &Pattern{lengths: map[*syntax.Regexp]span{}}
	rest, err := p.lookAheads(source)
	if err != nil {
		return nil, err
	}
	narrow, wide, err := goPattern(rest)
	if err != nil {
		return nil, err
	}
	if p.takes, err = regexp.Compile(wide); err != nil {
		return nil, plainPatternError(err)
	}
	if p.tree, err = syntax.Parse(narrow, syntax.Perl); err != nil {
		return nil, plainPatternError(err)
	}
	p.measure(p.tree)
	p.machines = sync.OnceValue(func() []*machine {
		all := []*machine{machineOf(narrow)}
		for _, e := range p.must {
			all = append(all, machineOf(e.String()))
		}
		return all
	})
	return p, nil
}

// WithoutLookAround compiles a pattern without its look-arounds. The result matches more strings
// than the pattern does.
func WithoutLookAround(source string) (*Pattern, error) {
	var b strings.Builder
	class := false
	for i := 0; i < len(source); i++ {
		rest := source[i:]
		switch c := source[i]; {
		case c == '\\' && i+1 < len(source):
			b.WriteByte(c)
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case strings.HasPrefix(rest, "(?=") || strings.HasPrefix(rest, "(?!") || strings.HasPrefix(rest, "(?<=") || strings.HasPrefix(rest, "(?<!"):
			end := groupEnd(rest)
			if end < 0 {
				return nil, errors.New("missing closing ): " + source)
			}
			i += end
			continue
		}
		b.WriteByte(source[i])
	}
	return CompilePattern(b.String())
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
		_, wide, err := goPattern(rest[3:end])
		if err != nil {
			return "", err
		}
		e, err := regexp.Compile("^(?:" + wide + ")")
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
	if anchored {
		rest = "^" + rest
	}
	return rest, nil
}

// groupEnd returns where the group that s begins with is closed, or -1 if it is not closed.
func groupEnd(s string) int {
	depth, class := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// goPattern translates an ECMAScript expression to Go syntax. The two forms differ where a
// repetition exceeds Go's limit: the narrow form, for generating strings, repeats less; the wide
// form, for matching, has no upper limit.
func goPattern(source string) (narrow, wide string, err error) {
	var n, w strings.Builder
	class := false
	for i := 0; i < len(source); {
		size, text := 1, source[i:i+1]
		low := text
		switch c := source[i]; {
		case c == '\\':
			size, text = goEscape(source[i:])
			low = text
		case class:
			class = c != ']'
			if c == '[' {
				text, low = `\[`, `\[`
			}
		case strings.HasPrefix(source[i:], "[^]"):
			size, text, low = 3, `[\x00-\x{10FFFF}]`, `[\x00-\x{10FFFF}]`
		case strings.HasPrefix(source[i:], "[]"):
			size, text, low = 2, `[^\x00-\x{10FFFF}]`, `[^\x00-\x{10FFFF}]`
		case c == '[':
			class = true
			if strings.HasPrefix(source[i:], "[^") {
				size, text, low = 2, "[^", "[^"
			}
		case c == '{':
			size, low, text, err = goRepeat(source[i:])
		case strings.HasPrefix(source[i:], "(?=") || strings.HasPrefix(source[i:], "(?!"),
			strings.HasPrefix(source[i:], "(?<=") || strings.HasPrefix(source[i:], "(?<!"):
			err = errLookAround
		}
		if err != nil {
			return "", "", err
		}
		n.WriteString(low)
		w.WriteString(text)
		i += size
	}
	return n.String(), w.String(), nil
}

// goEscape translates the escape at the beginning of s to Go syntax and returns its length in s.
func goEscape(s string) (size int, text string) {
	if len(s) < 2 {
		return len(s), s
	}
	switch s[1] {
	case 'u':
		if digits := hexDigits(s[2:], 4); digits != "" {
			return 6, `\x{` + digits + `}`
		}
		if end := strings.IndexByte(s, '}'); strings.HasPrefix(s, `\u{`) && end > 3 {
			return end + 1, `\x{` + s[3:end] + `}`
		}
	case 'c':
		if len(s) > 2 && unicode.IsLetter(rune(s[2])) {
			return 3, `\x` + string("01"[s[2]>>4&1]) + string("0123456789ABCDEF"[s[2]&15])
		}
	case '0':
		return 2, `\x00`
	case 'p', 'P':
		end := strings.IndexByte(s, '}')
		if i := strings.IndexByte(s, '='); i > 0 && end > i {
			return end + 1, s[:2] + "{" + s[i+1:end] + "}"
		}
	}
	_, size = utf8.DecodeRuneInString(s[1:])
	if s[1] < utf8.RuneSelf && !isWordByte(s[1]) || strings.IndexByte("dDwWsSbBtnvrfxpP123456789", s[1]) >= 0 {
		return 1 + size, s[:1+size]
	}
	return 1 + size, regexp.QuoteMeta(s[1 : 1+size]) // an escaped character without special meaning
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

// goRepeat translates the repetition at the beginning of s. A brace that is not a repetition is
// literal.
func goRepeat(s string) (size int, narrow, wide string, err error) {
	end := strings.IndexByte(s, '}')
	if end < 0 {
		return 1, `\{`, `\{`, nil
	}
	least, most, two := strings.Cut(s[1:end], ",")
	low, err1 := strconv.Atoi(least)
	high, err2 := strconv.Atoi(most)
	if err1 != nil || low < 0 || two && most != "" && (err2 != nil || high < 0) {
		return 1, `\{`, `\{`, nil
	}
	if low > longestRepeat {
		return 0, "", "", errors.New("a repetition of more than 1000: " + s[:end+1])
	}
	text := s[:end+1]
	if two && high > longestRepeat {
		return end + 1, "{" + least + ",1000}", "{" + least + ",}", nil
	}
	return end + 1, text, text, nil
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
