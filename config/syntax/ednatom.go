package syntax

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"olympos.io/encoding/edn"

	"mockserver/internal/wording"
)

// text reads a text in double quotes. Its escapes are those of JSON, and read as
// there: the library turns the two halves of a surrogate pair into nothing.
func (r *ednReader) text() (*Node, error) {
	opening := r.at
	end := opening + 1
	escaped := false
	for end < len(r.s) && r.s[end] != '"' {
		size := 1
		if r.s[end] == '\\' {
			escaped = true
			if _, size = unescape(r.s[end:]); size == 0 {
				return nil, r.bad(end, `an unknown escape; accepted are \" \\ \/ \b \f \n \r \t and \uHHHH, two of them for a surrogate pair`)
			}
		}
		end += size
	}
	if end >= len(r.s) {
		return nil, r.fail(opening, "a quote that is never closed: the text that begins here goes on to the end of the file")
	}
	r.at = end + 1
	t := r.src.letters(opening+1, end)
	if escaped {
		t = t.unescaped()
	}
	return r.newNode(TextNode, t), nil
}

// letters returns what stands between two offsets, letter by letter.
func (s *source) letters(begin, end int) Text {
	return Text{Value: s.text[begin:end], Pos: s.pos(begin), margin: true}
}

// markEvery is how far the marks of a text with escapes are apart, in bytes: what a
// place in it takes to look up, against the room that they take.
const markEvery = 4 << 10

// unescaped returns the text that the escapes of t make. It remembers t, so that
// its letters have their places.
func (t Text) unescaped() Text {
	var out strings.Builder
	var marks []mark
	for rest := t.Value; rest != ""; {
		if out.Len() >= len(marks)*markEvery {
			marks = append(marks, mark{at: out.Len(), text: &t, from: len(t.Value) - len(rest), escaped: true})
		}
		i := strings.IndexByte(rest, '\\')
		if i < 0 {
			i = len(rest)
		}
		out.WriteString(rest[:i])
		if rest = rest[i:]; rest == "" {
			break
		}
		letter, size := unescape(rest)
		out.WriteRune(letter)
		rest = rest[size:]
	}
	return Text{Value: out.String(), Pos: t.Pos, Folded: true, marks: marks}
}

// escapedOffset returns where in a text with escapes the letter is written that
// stands at an offset of what they make.
func escapedOffset(written string, offset int) int {
	i := 0
	for i < len(written) && offset > 0 {
		size, made := 1, 1
		if written[i] == '\\' {
			if letter, n := unescape(written[i:]); n > 0 {
				size, made = n, utf8.RuneLen(letter)
			}
		} else if plain := strings.IndexByte(written[i:min(i+offset, len(written))], '\\'); plain > 0 {
			size, made = plain, plain
		} else {
			return i + offset
		}
		if made > offset {
			return i
		}
		i, offset = i+size, offset-made
	}
	return i + offset
}

// token reads on to the next blank, bracket, quote, backslash or comment.
func (r *ednReader) token() string {
	begin := r.at
	for r.at < len(r.s) && strings.IndexByte("\"\\;()[]{}", r.s[r.at]) < 0 && blank(r.s[r.at:]) == 0 {
		_, size := utf8.DecodeRuneInString(r.s[r.at:])
		r.at += size
	}
	return r.s[begin:r.at]
}

// value asks the library what an atom is: a bool, edn.Keyword, edn.Symbol, rune or
// nil, and of a number only that it is one, letter by letter.
func (r *ednReader) value(atom string) (any, error) {
	r.atom.Reset(atom)
	r.buffer.Reset(&r.atom)
	if r.library == nil {
		r.library = edn.NewDecoder(r.buffer)
	}
	var v any
	var err error
	if isNumeric(atom) {
		var number edn.RawMessage
		err = r.library.Decode(&number)
		v = number
	} else {
		err = r.library.Decode(&v)
	}
	return v, err
}

// isNumeric reports whether a word begins as a number does.
func isNumeric(word string) bool {
	if len(word) > 1 && (word[0] == '+' || word[0] == '-') {
		word = word[1:]
	}
	return word != "" && '0' <= word[0] && word[0] <= '9'
}

// word reads a keyword, a number, true, false or nil. The letters of a symbol stand for
// it, so that the decoder has a text where one was meant.
func (r *ednReader) word() (*Node, error) {
	begin := r.at
	word := r.token()
	n := r.newNode(TextNode, Text{Value: word, Pos: r.src.pos(begin)})
	v, err := r.value(word)
	if err != nil {
		if isPrefix(word[0]) && r.at < len(r.s) && (opens(r.s[r.at]) || r.s[r.at] == '"') {
			word += r.s[r.at:r.at+1] + "…"
		}
		if word == ":" && begin > 0 && r.s[begin-1] == '"' {
			return nil, r.bad(begin, `a : behind a key, which EDN has not; this seems to be JSON, whose files are named .json`)
		}
		return nil, r.bad(begin, wordFault(word))
	}
	switch v := v.(type) {
	case nil:
		n.Kind, n.Text = NullNode, Text{Pos: n.Text.Pos, Folded: true}
	case bool:
		n.Kind = BoolNode
	case edn.Keyword:
		n.Keyword = true
		n.Text.Value = string(v)
		n.Text.Pos.Column++
	case edn.RawMessage:
		n.Kind = NumberNode
		n.Number = strings.TrimPrefix(strings.TrimRight(word, "NM"), "+")
		n.Text.Value = n.Number
		n.Text.Folded = word[0] == '+'
	default:
		if n.Faulty = r.depth > 1; n.Faulty { // at the top it is for the decoder to say what a document is
			r.refuse(n.Pos(), "the symbol %s means nothing here; a text is written in quotes, %q, or as a keyword, :%s",
				wording.Label(word), wording.Clip(word), wording.Label(word))
		}
	}
	return n, nil
}

// isPrefix reports whether a word that begins with c may belong to the form behind it.
func isPrefix(c byte) bool { return strings.IndexByte("#'`~@^", c) >= 0 }

var ratio = regexp.MustCompile(`^[-+]?[0-9]+/[0-9]+$`)

// wordFault says what is wrong with a word that is no EDN.
func wordFault(word string) string {
	shown := wording.Label(word)
	switch {
	case word == ":":
		return `a : without a name; a key is written :name or "name", and its value behind a blank`
	case strings.HasPrefix(word, "::"):
		return shown + " is a keyword that only a Clojure program can resolve; :name or :namespace/name is accepted"
	case word[0] == ':':
		return shown + " is no keyword: its letters are letters, digits and . * + ! - _ ? $ % & = < > : # ', " +
			"with one / between a namespace and a name; any other text is written in quotes"
	case ratio.MatchString(word):
		return shown + " is a ratio, which JSON cannot say; a decimal number is accepted, or a text in quotes"
	case isNumeric(word):
		return shown + " is no number of EDN; accepted are such as 7, -1.5 and 6.02e23, with N or M behind; a text is written in quotes"
	case strings.HasPrefix(word, "##"):
		return shown + " cannot be said in JSON; a finite number is accepted, or a text in quotes"
	case strings.HasPrefix(word, "#:"):
		return "the namespaced map " + shown + " is not read; its keys are written out, {:namespace/name …}"
	case isPrefix(word[0]):
		return shown + " is Clojure code, which is not run; a value is accepted, and a text is written in quotes"
	}
	return fmt.Sprintf("%s is no EDN; a text is written in quotes, %q", shown, wording.Clip(word))
}

// character reads a character, which is a text of one letter.
func (r *ednReader) character() (*Node, error) {
	begin := r.at
	r.at++
	if r.at < len(r.s) && blank(r.s[r.at:]) == 0 {
		_, size := utf8.DecodeRuneInString(r.s[r.at:])
		r.at += size
		r.token()
	}
	name := r.s[begin:r.at]
	n := r.newNode(TextNode, Text{Value: name, Pos: r.src.pos(begin)})
	v, err := r.value(name)
	letter, ok := v.(rune)
	if err != nil || !ok || utf16.IsSurrogate(letter) {
		return nil, r.bad(begin, wording.Label(name)+" is no character of EDN; accepted are such as \\a, \\newline, \\return, \\space, \\tab, \\formfeed and \\u00E9")
	}
	n.Text.Value = string(letter)
	if n.Text.Folded = len(name) != 1+len(n.Text.Value); !n.Text.Folded {
		n.Text.Pos.Column++
	}
	return n, nil
}

// dispatch reads what begins with #: a set, or a value behind a tag.
func (r *ednReader) dispatch() (*Node, error) {
	begin := r.at
	next, _ := utf8.DecodeRuneInString(r.s[begin+1:])
	switch {
	case next == '{':
		r.refuse(r.src.pos(begin), "a set has no order; a vector is accepted, [ ] instead of #{ }")
		r.at++
		n, err := r.list('}')
		n.Text.Pos, n.Faulty = r.src.pos(begin), true
		return n, err
	case !unicode.IsLetter(next):
		return r.word()
	}
	tag := r.token()
	if _, err := r.value(tag[1:]); err != nil { // a tag is # and a symbol
		return nil, r.bad(begin, wording.Label(tag)+" is no tag of EDN; #inst and #uuid are accepted, or none")
	}
	n, err := r.behind(begin, "the tag "+wording.Label(tag)+" has no value behind it")
	if err == nil && r.left == 0 {
		r.tagged(tag, begin, n)
	}
	return n, err
}

var uuid = regexp.MustCompile(`^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// tagged checks the value behind a tag. An instant and a UUID are their texts.
func (r *ednReader) tagged(tag string, begin int, n *Node) {
	quoted := n.Kind == TextNode && !n.Keyword
	switch tag {
	case "#inst":
		if !quoted || !isInstant(n.Text.Value) {
			n.Faulty = true
			r.wrong(n.Pos(), `#inst stands before an instant in quotes, "2024-01-15T10:30:00Z" or "2024-01-15"; this is %s`, n.Shown())
		}
	case "#uuid":
		if !quoted || !uuid.MatchString(n.Text.Value) {
			n.Faulty = true
			r.wrong(n.Pos(), "#uuid stands before 8-4-4-4-12 hexadecimal digits in quotes; this is %s", n.Shown())
		}
	default:
		r.wrong(r.src.pos(begin), "the tag %s is not known here; #inst and #uuid are accepted, or none", wording.Label(tag))
	}
}

func isInstant(text string) bool {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if _, err := time.Parse(layout, text); err == nil {
			return true
		}
	}
	return false
}
