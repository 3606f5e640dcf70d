package syntax

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mockserver/internal/lazy"
	"mockserver/internal/wording"
)

// token reads up to the next blank, bracket, quote, backslash or comment.
func (r *ednReader) token() string {
	begin := r.at
	for r.at < len(r.s) && strings.IndexByte("\"\\;()[]{}", r.s[r.at]) < 0 && blank(r.s[r.at:]) == 0 {
		_, size := utf8.DecodeRuneInString(r.s[r.at:])
		r.at += size
	}
	return r.s[begin:r.at]
}

// The grammar of the words of EDN. Letters are those of Unicode.
const (
	ednLetter  = `[\pL0-9.*+!_?$%&=<>:#'-]`
	ednSymbol  = `(/|[\pL*!_?$%&=<>]` + ednLetter + `*(/` + ednLetter + `+)?|[-+.]([\pL.*+!_?$%&=<>:#'-]` + ednLetter + `*)?(/` + ednLetter + `+)?)`
	ednKeyword = `:[\pL0-9.*+!_?$%&=<>#'-]` + ednLetter + `*(/` + ednLetter + `+)?`
	ednNumber  = `[-+]?(0|[1-9][0-9]*)(N|(\.[0-9]+)?([eE][-+]?[0-9]+)?M?)`
)

var (
	symbol  = lazy.Match(`^` + ednSymbol + `$`)
	keyword = lazy.Match(`^` + ednKeyword + `$`)
	number  = lazy.Match(`^` + ednNumber + `$`)
)

// isNumeric reports whether a word begins like a number.
func isNumeric(word string) bool {
	if len(word) > 1 && (word[0] == '+' || word[0] == '-') {
		word = word[1:]
	}
	return word != "" && '0' <= word[0] && word[0] <= '9'
}

// word reads a keyword, a number, true, false or nil. A symbol is read as a text, so that the
// decoder finds a text where one was meant.
func (r *ednReader) word() (*Node, error) {
	begin := r.at
	word := r.token()
	n := r.newNode(TextNode, Text{Value: word, Pos: r.src.pos(begin)})
	switch {
	case word == "nil":
		n.Kind, n.Text = NullNode, Text{Pos: n.Text.Pos, Folded: true}
	case word == "true" || word == "false":
		n.Kind = BoolNode
	case keyword(word):
		n.Keyword = true
		n.Text.Value = word[1:]
		n.Text.Pos.Column++
	case number(word):
		n.Kind = NumberNode
		n.Number = strings.TrimPrefix(strings.TrimRight(word, "NM"), "+")
		n.Text.Value = n.Number
		n.Text.Folded = word[0] == '+'
	case symbol(word):
		if n.Faulty = r.depth > 1; n.Faulty { // at the top level the decoder reports the expected form of a document
			r.refuse(n.Pos(), "the symbol %s means nothing here; a text is written in quotes, %q, or as a keyword, :%s",
				wording.Label(word), wording.Clip(word), wording.Label(word))
		}
	case word == ":" && begin > 0 && r.s[begin-1] == '"':
		return nil, r.bad(begin, `a : after a key, which is not EDN; this seems to be JSON, whose files end in .json`)
	default:
		if word != "" && isPrefix(word[0]) && r.at < len(r.s) && (opens(r.s[r.at]) || r.s[r.at] == '"') {
			word += r.s[r.at:r.at+1] + "…"
		}
		return nil, r.bad(begin, wordFault(word))
	}
	return n, nil
}

// isPrefix reports whether a word that begins with c may belong to the form after it.
func isPrefix(c byte) bool { return strings.IndexByte("#'`~@^", c) >= 0 }

// wordFault returns what is wrong with a word that is not EDN.
func wordFault(word string) string {
	shown := wording.Label(word)
	switch {
	case word == ":":
		return `a : without a name; a key is written :name or "name", and its value after a blank`
	case word[0] == ':':
		return shown + " is not a keyword: its letters are letters, digits and . * + ! - _ ? $ % & = < > : # ', " +
			"with one / between a namespace and a name; any other text is written in quotes"
	case isNumeric(word):
		return shown + " is not an EDN number; expected one such as 7, -1.5 or 6.02e23, which may end with N or M; a text is written in quotes"
	case isPrefix(word[0]):
		return shown + " is Clojure code, which is not run; expected a value; a text is written in quotes"
	}
	return fmt.Sprintf("%s is not EDN; a text is written in quotes, %q", shown, wording.Clip(word))
}

// refused reports a form of EDN that is not accepted here, and marks the node in its place.
func (r *ednReader) refused(begin int, n *Node, what string) *Node {
	r.refuse(r.src.pos(begin), "%s", what)
	n.Faulty = true
	return n
}

// character reads a character, such as \a or \newline.
func (r *ednReader) character() *Node {
	begin := r.at
	_, size := utf8.DecodeRuneInString(r.s[begin+1:])
	r.at += 1 + size
	r.token()
	return r.refused(begin, r.newNode(TextNode, Text{Value: r.s[begin:r.at], Pos: r.src.pos(begin)}), "characters are not accepted; a text is written in quotes")
}

// dispatch reads a form that begins with #: a set, or a value with a tag.
func (r *ednReader) dispatch() (*Node, error) {
	begin := r.at
	next, _ := utf8.DecodeRuneInString(r.s[begin+1:])
	switch {
	case next == '{':
		r.at++
		n, err := r.list('}')
		return r.refused(begin, n, "a set has no order; expected a vector, [ ] instead of #{ }"), err
	case !unicode.IsLetter(next):
		return r.word()
	}
	tag := wording.Label(r.token())
	n, err := r.after(begin, "the tag "+tag+" has no value after it")
	if err != nil {
		return nil, err
	}
	return r.refused(begin, n, "tags such as "+tag+" are not accepted; expected the value alone"), nil
}
