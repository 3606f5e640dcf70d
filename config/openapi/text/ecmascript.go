package text

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// reading is how an expression is translated.
type reading uint8

const (
	exactly reading = iota // what Go's expressions cannot express is an error
	loosely                // it is left out, so that the result matches more
	checked                // only whether the expression is valid matters
)

// translator translates an ECMAScript expression, as it is meant with the flag u, to Go's syntax.
// Escapes and braces that are allowed only without the flag are read as they are there.
type translator struct {
	reading
	rest              string
	out               strings.Builder
	dot               string // what a dot stands for
	lax               bool   // the expression is not valid with the flag u
	groups            int    // capturing groups so far
	names, referenced string // the groups that have names, and that back-references have: "<year><day>"
	highest           int    // of the numbers in back-references
}

var (
	errLookAround    = errors.New("the only supported look-arounds are look-aheads at the beginning")
	errBackReference = errors.New("back-references are not supported")
)

// goPattern translates an expression to Go's syntax. A repetition beyond Go's limit has no upper limit.
func goPattern(source string, as reading) (string, error) {
	t := translator{reading: as, rest: source, dot: notLineEnd}
	err := t.run()
	return t.out.String(), err
}

// validRegex reports whether a string is an ECMAScript expression with the flag u.
func validRegex(s string) bool {
	t := translator{reading: checked, rest: s, dot: "."}
	if t.run() != nil || t.lax || t.highest > t.groups {
		return false
	}
	for name := range strings.SplitAfterSeq(t.referenced, ">") {
		if !strings.Contains(t.names, name) {
			return false
		}
	}
	_, err := syntax.Parse(t.out.String(), syntax.Perl)
	var bad *syntax.Error
	return err == nil || errors.As(err, &bad) && (bad.Code == syntax.ErrLarge || bad.Code == syntax.ErrInvalidRepeatSize)
}

// put appends Go's form of the first bytes of the rest.
func (t *translator) put(size int, form string) {
	t.out.WriteString(form)
	t.rest = t.rest[size:]
}

func (t *translator) run() (err error) {
	for t.rest != "" && err == nil {
		switch c := t.rest[0]; c {
		case '\\':
			err = t.escape()
		case '[':
			err = t.class()
		case '(':
			err = t.group()
		case '{':
			err = t.repeat()
		case '}', ']':
			t.lax = true
			t.put(1, `\`+t.rest[:1])
		case '.':
			t.put(1, t.dot)
		default:
			t.put(1, t.rest[:1])
		}
	}
	return err
}

// group translates the beginning of a group. Names are left out: they are of use only to
// back-references.
func (t *translator) group() error {
	s := t.rest
	if !strings.HasPrefix(s, "(?") {
		t.groups++
		t.put(1, "(")
		return nil
	}
	switch end := strings.IndexAny(s, ":)>"); {
	case isLookAround(s):
		return t.lookAround()
	case end > 0 && s[end] == '>' && (strings.HasPrefix(s, "(?<") || strings.HasPrefix(s, "(?P<")):
		t.lax = t.lax || s[2] == 'P' || end == len("(?<") || s[3] >= '0' && s[3] <= '9'
		t.groups++
		t.names += s[2 : end+1]
		t.put(end+1, "(")
	case end > 0: // flags, such as (?i:
		t.lax = t.lax || s[end] == ')'
		if on, _, _ := strings.Cut(s[:end], "-"); strings.Contains(on, "s") {
			t.dot = "."
		}
		t.put(end+1, s[:end+1])
	default:
		return errors.New("missing closing ): " + s)
	}
	return nil
}

func isLookAround(s string) bool {
	s, ok := strings.CutPrefix(s, "(?")
	s = strings.TrimPrefix(s, "<")
	return ok && (strings.HasPrefix(s, "=") || strings.HasPrefix(s, "!"))
}

func (t *translator) lookAround() error {
	end := groupEnd(t.rest)
	switch {
	case t.reading == exactly:
		return errLookAround
	case end < 0:
		return errors.New("missing closing ): " + t.rest)
	case t.reading == checked:
		t.put(1+strings.IndexAny(t.rest, "=!"), "(?:")
	default:
		t.put(end+1, "(?:)")
	}
	return nil
}

// repeat translates a repetition. A brace that is not a repetition is literal.
func (t *translator) repeat() error {
	end := strings.IndexByte(t.rest, '}')
	least, most, two := strings.Cut(t.rest[1:max(end, 1)], ",")
	low, err1 := strconv.ParseUint(least, 10, 31)
	high, err2 := strconv.ParseUint(most, 10, 31)
	switch {
	case err1 != nil || two && most != "" && err2 != nil:
		t.lax = true
		t.put(1, `\{`)
	case two && most != "" && high < low:
		return errors.New("the numbers of a repetition are out of order: " + t.rest[:end+1])
	case low > longestRepeat && t.reading == exactly:
		return errors.New("a repetition of more than 1000: " + t.rest[:end+1])
	case high > longestRepeat || low > longestRepeat:
		t.put(end+1, fmt.Sprintf("{%d,}", min(low, longestRepeat)))
	default:
		t.put(end+1, t.rest[:end+1])
	}
	return nil
}

// escape translates an escape outside a class.
func (t *translator) escape() error {
	s := t.rest
	if len(s) < 2 {
		return errors.New(`a \ at the end`)
	}
	switch c := s[1]; {
	case c == 'b' || c == 'B':
		t.put(2, s[:2])
	case c == 'A':
		t.lax = true
		t.put(2, "^")
	case c == 'z' || c == 'Z':
		t.lax = true
		t.put(2, "$")
	case c >= '1' && c <= '9', strings.HasPrefix(s, `\k<`) && strings.Contains(s, ">"):
		size := len(s) - len(strings.TrimLeft(s[1:], "0123456789"))
		if c == 'k' {
			size = 1 + strings.IndexByte(s, '>')
			t.referenced += s[2:size]
		} else if n, err := strconv.Atoi(s[1:size]); err != nil || n > t.highest {
			t.highest = max(n, 1)
		}
		if t.reading == exactly {
			return errBackReference
		}
		t.put(size, "(?:)")
	default:
		size, set, r, err := t.escaped(false)
		if r >= 0 {
			t.put(size, quoted(r))
		} else if err == nil {
			t.put(size, "["+set+"]")
		}
		return err
	}
	return nil
}

// class translates a class.
func (t *translator) class() error {
	whole, open := t.rest, "["
	if strings.HasPrefix(t.rest, "[^") {
		open = "[^"
	}
	if t.put(len(open), ""); strings.HasPrefix(t.rest, "]") {
		t.put(1, map[string]string{"[": "[^" + anything + "]", "[^": "[" + anything + "]"}[open])
		return nil
	}
	for t.put(0, open); !strings.HasPrefix(t.rest, "]"); {
		if t.rest == "" {
			return errors.New("missing closing ]: " + whole)
		}
		set, low, err := t.member()
		if err != nil {
			return err
		}
		if len(t.rest) < 2 || t.rest[0] != '-' || t.rest[1] == ']' {
			t.put(0, set)
			continue
		}
		t.put(1, "")
		other, high, err := t.member()
		switch {
		case err != nil:
			return err
		case low < 0 || high < 0: // not a range
			t.lax = true
			t.put(0, set+`\-`+other)
		case low > high:
			return fmt.Errorf("the range %c-%c is out of order", low, high)
		default:
			t.put(0, set+"-"+other)
		}
	}
	t.put(1, "]")
	return nil
}

// member reads a member of a class: a character, or a set, for which it returns -1. set is Go's
// form of either.
func (t *translator) member() (set string, r rune, err error) {
	r, size := utf8.DecodeRuneInString(t.rest)
	switch {
	case strings.HasPrefix(t.rest, `\b`):
		r, size = '\b', 2
	case r == '\\' && len(t.rest) > 1:
		size, set, r, err = t.escaped(true)
	}
	if t.rest = t.rest[size:]; r >= 0 {
		set = quoted(r)
	}
	return set, r, err
}

// escaped reads an escape that stands for a character, or for a set, with which it returns -1 and
// the members of a class.
func (t *translator) escaped(class bool) (size int, set string, r rune, err error) {
	s := t.rest
	if set = sets[s[1]]; set != "" {
		return 2, set, -1, nil
	}
	if s[1] == 'p' || s[1] == 'P' {
		size, set, err = t.property()
		return size, set, -1, err
	}
	if size, r = characterEscape(s); size > 0 {
		t.lax = t.lax || s[1] == '0' && len(s) > 2 && s[2] >= '0' && s[2] <= '9'
		return size, "", r, nil
	}
	r, size = utf8.DecodeRuneInString(s[1:])
	t.lax = t.lax || !strings.ContainsRune(`^$\.*+?()[]{}|/`, r) && !(class && r == '-')
	if r < utf8.RuneSelf && r != '_' && isWordByte(byte(r)) && t.reading != loosely {
		return 0, "", -1, fmt.Errorf(`there is no escape \%c`, r)
	}
	return 1 + size, "", r, nil
}

// sets are the members of the classes that an escape stands for.
var sets = map[byte]string{'d': `\d`, 'D': `\D`, 'w': `\w`, 'W': `\W`, 's': spaces, 'S': notSpaces}

// characterEscape reads an escape of letters or digits. It returns 0 for anything else.
func characterEscape(s string) (size int, r rune) {
	if i := strings.IndexByte("0tnvfr", s[1]); i >= 0 {
		return 2, rune("\x00\t\n\v\f\r"[i])
	}
	switch s[1] {
	case 'c':
		if len(s) > 2 && s[2] != '_' && isWordByte(s[2]) && s[2] > '9' {
			return 3, rune(s[2] & 31)
		}
	case 'x':
		if r, ok := hexRune(s[2:], 2); ok {
			return 4, r
		}
	case 'u':
		return unicodeEscape(s)
	}
	return 0, 0
}

// unicodeEscape reads \u0041, a pair of surrogates, or \u{1F600}. It returns 0 for anything else.
func unicodeEscape(s string) (size int, r rune) {
	if end := strings.IndexByte(s, '}'); strings.HasPrefix(s, `\u{`) && end > 3 {
		if n, err := strconv.ParseUint(s[3:end], 16, 32); err == nil && n <= unicode.MaxRune {
			return end + 1, rune(n)
		}
	}
	r, ok := hexRune(s[2:], 4)
	if !ok {
		return 0, 0
	}
	if strings.HasPrefix(s[6:], `\u`) {
		low, _ := hexRune(s[8:], 4)
		if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
			return 12, both
		}
	}
	return 6, r
}

// hexRune reads n hexadecimal digits.
func hexRune(s string, n int) (rune, bool) {
	x, err := strconv.ParseUint(s[:min(n, len(s))], 16, 32)
	return rune(x), err == nil && len(s) >= n
}

// quoted returns Go's form of a character.
func quoted(r rune) string {
	if r < utf8.RuneSelf && !isWordByte(byte(r)) || !utf8.ValidRune(r) {
		return fmt.Sprintf(`\x{%X}`, r)
	}
	return string(r)
}

// notLineEnd is what a dot matches.
const notLineEnd = `[^\n\r\x{2028}\x{2029}]`

// anything has all characters as members.
const anything = `\x00-\x{10FFFF}`

// The members of \s, which are those of WhiteSpace and LineTerminator, and of \S.
const (
	spaces    = `\t-\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}`
	notSpaces = `\x00-\x08\x0E-\x1F!-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027}\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{FEFE}\x{FF00}-\x{10FFFF}`
)

// property reads \p{…} or \P{…} and returns the members of a class for it. Scripts may also stand
// alone, and Script_Extensions are read as Script.
func (t *translator) property() (size int, set string, err error) {
	s := t.rest
	end := strings.IndexByte(s, '}')
	if !strings.HasPrefix(s[2:], "{") || end < 0 {
		if t.lax = true; len(s) > 2 {
			return 3, s[:3], nil
		}
		return 0, "", errors.New(`there is no escape ` + s)
	}
	name, value, both := strings.Cut(s[3:end], "=")
	if !both {
		name, value = "", name
	}
	known := false
	switch name {
	case "General_Category", "gc":
		known = isCategory(value)
	case "Script", "sc", "Script_Extensions", "scx":
		value, known = scriptOf(value)
	case "":
		if tables := binaryOf(value); tables != nil && !both {
			return end + 1, membersOf(tables, s[1] == 'P'), nil
		}
		if known = isCategory(value) || value == "Any" || value == "ASCII" || value == "Assigned"; !known {
			t.lax = true
			value, known = scriptOf(value)
		}
	}
	switch {
	case !known && t.reading == loosely:
		return end + 1, anything, nil
	case !known:
		return 0, "", errors.New("the property " + s[:end+1] + " is not known")
	}
	return end + 1, s[:2] + "{" + value + "}", nil
}

func isCategory(name string) bool {
	return unicode.Categories[name] != nil || unicode.CategoryAliases[name] != ""
}

// scriptOf returns the long name of a script.
func scriptOf(name string) (string, bool) {
	if i := strings.Index(shortScripts, " "+name+"="); i >= 0 && len(name) == 4 {
		name, _, _ = strings.Cut(shortScripts[i+6:], " ")
	}
	return name, unicode.Scripts[name] != nil
}

const shortScripts = " Arab=Arabic Armn=Armenian Beng=Bengali Bopo=Bopomofo Cher=Cherokee Cyrl=Cyrillic Deva=Devanagari Ethi=Ethiopic Geor=Georgian" +
	" Grek=Greek Gujr=Gujarati Guru=Gurmukhi Hang=Hangul Hani=Han Hebr=Hebrew Hira=Hiragana Kana=Katakana Khmr=Khmer Knda=Kannada Laoo=Lao Latn=Latin" +
	" Mlym=Malayalam Mong=Mongolian Mymr=Myanmar Orya=Oriya Sinh=Sinhala Syrc=Syriac Taml=Tamil Telu=Telugu Thaa=Thaana Tibt=Tibetan Zinh=Inherited Zyyy=Common "

// binaryOf returns the tables of a binary property; nil when it is not known.
func binaryOf(name string) []*unicode.RangeTable {
	switch name {
	case "Alphabetic", "Alpha":
		return []*unicode.RangeTable{unicode.L, unicode.Nl, unicode.Other_Alphabetic}
	case "Lowercase", "Lower":
		return []*unicode.RangeTable{unicode.Ll, unicode.Other_Lowercase}
	case "Uppercase", "Upper":
		return []*unicode.RangeTable{unicode.Lu, unicode.Other_Uppercase}
	case "ID_Start", "IDS":
		return []*unicode.RangeTable{unicode.L, unicode.Nl, unicode.Other_ID_Start}
	case "ID_Continue", "IDC":
		return []*unicode.RangeTable{unicode.L, unicode.Nl, unicode.Other_ID_Start, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue}
	case "space":
		name = "White_Space"
	}
	if table := unicode.Properties[name]; table != nil && !strings.HasPrefix(name, "Other_") {
		return []*unicode.RangeTable{table}
	}
	return nil
}

// membersOf returns the members of a class for the characters in one of the tables, or in none.
func membersOf(tables []*unicode.RangeTable, none bool) string {
	var b strings.Builder
	first := rune(-1)
	for r := rune(0); r <= unicode.MaxRune+1; r++ {
		in := r <= unicode.MaxRune && unicode.In(r, tables...) != none
		switch {
		case in && first < 0:
			first = r
		case !in && first >= 0:
			fmt.Fprintf(&b, `\x{%X}-\x{%X}`, first, r-1)
			first = -1
		}
	}
	return b.String()
}
