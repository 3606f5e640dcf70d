package text

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// reading is how an expression is translated.
type reading uint8

const (
	exactly reading = iota // what Go's expressions cannot express is an error
	loosely                // it is left out, so that the result matches more
)

// translator translates an ECMAScript expression, as it is meant with the flag u, to Go's syntax.
// Escapes and braces that are allowed only without the flag are read as they are there.
type translator struct {
	reading
	rest  string
	out   strings.Builder
	dot   string // what a dot stands for
	class bool   // the rest begins in a class
	set   bool   // the last member of the class is a set
}

var (
	errLookAround    = errors.New("the only supported look-arounds are look-aheads at the beginning")
	errBackReference = errors.New("back-references are not supported")
)

// goPattern translates an expression to Go's syntax. A repetition beyond Go's limit has no upper limit.
func goPattern(source string, as reading) (string, error) {
	t := translator{reading: as, rest: source, dot: `[^\n\r\x{2028}\x{2029}]`}
	err := t.run()
	return t.out.String(), err
}

// The parts of the syntax that begin with these characters.
var (
	escapes = regexp.MustCompile(`(?s)^\\(?:[pP](?:\{[^}]*\}|[CLMNPSZ])|k<[^>]*>|[1-9][0-9]*|c[A-Za-z]|x[[:xdigit:]]{2}|u\{[[:xdigit:]]+\}|` +
		`u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2}|u[[:xdigit:]]{4}|.)`)
	groups       = regexp.MustCompile(`^\((?:\?P?<([^>=!0-9][^>]*)>|\?[^:)]*[:)]|)`)
	setAfterDash = regexp.MustCompile(`^-\\[dDwWsSpP]`)
	repeats      = regexp.MustCompile(`^\{([0-9]+)(?:,([0-9]*))?\}`)
)

// put appends Go's form of the first bytes of the rest.
func (t *translator) put(size int, form string) {
	t.out.WriteString(form)
	t.rest = t.rest[size:]
}

func (t *translator) run() (err error) {
	for t.rest != "" && err == nil {
		switch c := t.rest[0]; {
		case c == '\\':
			err = t.escape()
		case t.class:
			t.member()
		case c == '[':
			t.openClass()
		case c == '(':
			err = t.group()
		case c == '{':
			err = t.repeat()
		case c == '}' || c == ']':
			t.put(1, `\`+t.rest[:1])
		case c == '.':
			t.put(1, t.dot)
		default:
			t.put(1, t.rest[:1])
		}
	}
	return err
}

// openClass translates the beginning of a class, and a class without members as a whole.
func (t *translator) openClass() {
	open, all := "[", `[^\x00-\x{10FFFF}]`
	if strings.HasPrefix(t.rest, "[^") {
		open, all = "[^", `[\x00-\x{10FFFF}]`
	}
	if strings.HasPrefix(t.rest[len(open):], "]") {
		t.put(len(open)+1, all)
		return
	}
	t.put(len(open), open)
	t.class, t.set = true, false
}

// member translates a character of a class, or its end.
func (t *translator) member() {
	r, size := utf8.DecodeRuneInString(t.rest)
	form, besideSet := quoted(r), t.set || setAfterDash.MatchString(t.rest)
	switch {
	case r == ']':
		t.class, form = false, "]"
	case r == '-' && !besideSet: // of a range
		form = "-"
	}
	t.set = false
	t.put(size, form)
}

// group translates the beginning of a group. Names are left out: they are of use only to
// back-references.
func (t *translator) group() error {
	s := t.rest
	if ahead, ok := strings.CutPrefix(s, "(?"); ok && strings.IndexAny(strings.TrimPrefix(ahead, "<"), "=!") == 0 {
		return t.lookAround()
	}
	found := groups.FindStringSubmatch(s)
	whole, name := found[0], found[1]
	switch {
	case whole == "(" && strings.HasPrefix(s, "(?"):
		return errors.New("missing closing ): " + s)
	case whole != "(" && name == "": // flags, such as (?i:
		if on, _, _ := strings.Cut(whole, "-"); strings.Contains(on, "s") {
			t.dot = "."
		}
		t.put(len(whole), whole)
		return nil
	}
	t.put(len(whole), "(")
	return nil
}

func (t *translator) lookAround() error {
	end := groupEnd(t.rest)
	switch {
	case t.reading == exactly:
		return errLookAround
	case end < 0:
		return errors.New("missing closing ): " + t.rest)
	default:
		t.put(end+1, "(?:)")
	}
	return nil
}

// repeat translates a repetition. A brace that is not a repetition is literal.
func (t *translator) repeat() error {
	found := repeats.FindStringSubmatch(t.rest)
	if found == nil {
		t.put(1, `\{`)
		return nil
	}
	low, err1 := strconv.Atoi(found[1])
	high, err2 := strconv.Atoi(found[2])
	switch {
	case err1 != nil || low > longestRepeat && t.reading == exactly:
		return errors.New("a repetition of more than 1000: " + found[0])
	case found[2] != "" && err2 == nil && high < low:
		return errors.New("the numbers of a repetition are out of order: " + found[0])
	case max(low, high) > longestRepeat:
		t.put(len(found[0]), fmt.Sprintf("{%d,}", min(low, longestRepeat)))
	default:
		t.put(len(found[0]), found[0])
	}
	return nil
}

// escape translates an escape.
func (t *translator) escape() error {
	s := escapes.FindString(t.rest)
	if s == "" {
		return errors.New(`a \ at the end`)
	}
	c, members := s[1], sets[s[1]]
	if len(s) > 2 && (c == 'p' || c == 'P') {
		members = t.property(s)
	}
	t.set = members != ""
	switch {
	case t.set && t.class:
		t.put(len(s), members)
	case t.set:
		t.put(len(s), "["+members+"]")
	case !t.class && anchors[c] != "":
		t.put(2, anchors[c])
	case !t.class && (c >= '1' && c <= '9' || c == 'k' && len(s) > 2):
		if t.reading == exactly {
			return errBackReference
		}
		t.put(len(s), "(?:)")
	default:
		return t.character(s)
	}
	return nil
}

// anchors are the escapes that stand for no character.
var anchors = map[byte]string{'b': `\b`, 'B': `\B`, 'A': "^", 'z': "$", 'Z': "$"}

// sets are the members of the classes that an escape stands for: \s are WhiteSpace and LineTerminator.
var sets = map[byte]string{
	'd': `\d`, 'D': `\D`, 'w': `\w`, 'W': `\W`,
	's': `\t-\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}`,
	'S': `\x00-\x08\x0E-\x1F!-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027}\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{FEFE}\x{FF00}-\x{10FFFF}`,
}

var propertyKeys = []string{"General_Category", "gc", "Script", "sc", "Script_Extensions", "scx"}

// property returns the members of a class for \p{…} or \P{…}, or for \pL as other languages have it.
func (t *translator) property(s string) string {
	name := strings.Trim(s[2:], "{}")
	if key, value, both := strings.Cut(name, "="); both && slices.Contains(propertyKeys, key) {
		name = value
	}
	form := s[:2] + "{" + name + "}"
	if _, err := syntax.Parse(form, syntax.Perl); err != nil && t.reading == loosely {
		return `[:^ascii:][:ascii:]`
	}
	return form
}

// character translates an escape that stands for a character.
func (t *translator) character(s string) error {
	r, _ := utf8.DecodeRuneInString(s[1:])
	hex := strings.Trim(s[2:], "{}")
	control := strings.IndexByte("0tnvfr", s[1])
	switch {
	case s[1] == 'b' && t.class:
		r = '\b'
	case control >= 0:
		r = rune("\x00\t\n\v\f\r"[control])
	case s[1] == 'c' && len(s) == 3:
		r = rune(s[2] & 31)
	case len(s) == len(`\uD800\uDC00`) && s[6] == '\\':
		high, _ := strconv.ParseUint(s[2:6], 16, 16)
		low, _ := strconv.ParseUint(s[8:], 16, 16)
		r = utf16.DecodeRune(rune(high), rune(low))
	case (s[1] == 'u' || s[1] == 'x') && hex != "":
		t.put(len(s), `\x{`+hex+`}`)
		return nil
	case r < utf8.RuneSelf && r != '_' && isWordByte(byte(r)) && t.reading != loosely:
		return errors.New(`there is no escape ` + s)
	}
	t.put(len(s), quoted(r))
	return nil
}

// quoted returns Go's form of a character.
func quoted(r rune) string {
	if r < utf8.RuneSelf && !isWordByte(byte(r)) || !utf8.ValidRune(r) {
		return fmt.Sprintf(`\x{%X}`, r)
	}
	return string(r)
}
