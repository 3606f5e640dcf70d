package syntax

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
)

// readJSON reads a .json file. What JSON's grammar refuses is tried as YAML,
// which allows comments, trailing commas and more; when that fails too, JSON's
// error is the one reported, for it knows its place better.
func readJSON(src *source) ([]*Node, Problems) {
	if at, what := src.encodingFault(false); what != "" {
		return nil, Problems{{Pos: src.pos(at), What: what}}
	}
	r := &jsonReader{tree: tree{src: src}, s: src.text}
	r.blanks()
	if r.at == len(r.s) {
		return nil, nil
	}
	root, err := r.value(1)
	if err == nil {
		if r.blanks(); r.at < len(r.s) {
			err = r.expected("the end of the file")
		}
	}
	if err == nil {
		return []*Node{root}, r.Problems
	}
	var syntax *jsonError
	docs, problems := readYAML(src)
	if errors.As(err, &syntax) && (syntax.final || len(docs) == 0 || problems.Err() != nil) {
		return nil, Problems{{Pos: src.pos(syntax.offset), What: syntax.what}}
	}
	return docs, problems
}

// jsonError is where and why a text is no JSON.
type jsonError struct {
	offset int
	what   string
	final  bool // no other syntax makes it good
}

func (e *jsonError) Error() string { return e.what }

// jsonReader reads JSON by recursive descent. at is the next byte of s.
type jsonReader struct {
	tree
	s  string
	at int
}

func (r *jsonReader) fail(offset int, what string) error {
	return &jsonError{offset: offset, what: what}
}

func (r *jsonReader) expected(what string) error {
	if r.at >= len(r.s) {
		return r.fail(len(r.s), "the JSON ends here, where "+what+" is expected")
	}
	return r.fail(r.at, "this is no JSON: "+what+" is expected here")
}

func (r *jsonReader) blanks() {
	for r.at < len(r.s) && strings.IndexByte(" \t\r\n", r.s[r.at]) >= 0 {
		r.at++
	}
}

// peek is the next byte, 0 at the end.
func (r *jsonReader) peek() byte {
	if r.at < len(r.s) {
		return r.s[r.at]
	}
	return 0
}

func (r *jsonReader) value(depth int) (*Node, error) {
	if depth > MaxDepth {
		return nil, &jsonError{offset: r.at, what: "values are nested more than " + strconv.Itoa(MaxDepth) + " deep", final: true}
	}
	n := r.newNode(NullNode, Text{Pos: r.src.pos(r.at), Folded: true})
	switch c := r.peek(); {
	case c == '{':
		n.Kind = MapNode
		return n, r.object(n, depth)
	case c == '[':
		n.Kind = ListNode
		return n, r.array(n, depth)
	case c == '"':
		text, err := r.text()
		n.Kind, n.Text = TextNode, text
		return n, err
	default:
		return n, r.word(n)
	}
}

// word reads a number, true, false or null.
func (r *jsonReader) word(n *Node) error {
	rest := r.s[r.at:]
	end := strings.IndexAny(rest, " \t\r\n,:]}[{\"")
	if end < 0 {
		end = len(rest)
	}
	word := rest[:end]
	switch {
	case word == "null":
		n.Kind = NullNode
	case word == "true" || word == "false":
		n.Kind = BoolNode
	case IsJSONNumber(word):
		n.Kind, n.Number = NumberNode, word
	default:
		return r.expected("a value")
	}
	if n.Kind != NullNode {
		n.Text.Value, n.Text.Folded = word, false
	}
	r.at += end
	return nil
}

func (r *jsonReader) array(n *Node, depth int) error {
	n.Items = []*Node{}
	return r.each(']', func(i int) error {
		r.push(step{index: i})
		defer r.pop()
		item, err := r.value(depth + 1)
		n.Items = append(n.Items, item)
		return err
	})
}

func (r *jsonReader) object(n *Node, depth int) error {
	var list entries
	err := r.each('}', func(int) error {
		if r.peek() != '"' {
			return r.expected("a key in double quotes")
		}
		key, err := r.text()
		if err != nil {
			return err
		}
		if r.blanks(); r.peek() != ':' {
			return r.expected("a : behind the key")
		}
		r.at++
		r.blanks()
		r.push(step{key: key.Value, named: true})
		defer r.pop()
		value, err := r.value(depth + 1)
		r.put(&list, r.newNode(TextNode, key), value)
		return err
	})
	n.Entries = list.list
	return err
}

// each reads what stands between two brackets, separated by commas.
func (r *jsonReader) each(closing byte, element func(i int) error) error {
	r.at++
	if r.blanks(); r.peek() == closing {
		r.at++
		return nil
	}
	for i := 0; ; i++ {
		r.blanks()
		if err := element(i); err != nil {
			return err
		}
		r.blanks()
		switch r.peek() {
		case ',':
			r.at++
		case closing:
			r.at++
			return nil
		default:
			return r.expected("a , or a " + string(rune(closing)))
		}
	}
}

// text reads a string. One without escapes stands in the file letter by letter.
func (r *jsonReader) text() (Text, error) {
	begin := r.at + 1
	end := begin
	for ; ; end++ {
		switch {
		case end >= len(r.s) || r.s[end] == '\n':
			return Text{}, r.fail(r.at, "a quote that is never closed on its line")
		case r.s[end] < ' ':
			return Text{}, r.fail(end, "a control character inside a text; it is written as an escape, \\t for a tab")
		}
		if r.s[end] == '"' || r.s[end] == '\\' {
			break
		}
	}
	if r.s[end] == '"' {
		r.at = end + 1
		return Text{Value: r.s[begin:end], Pos: r.src.pos(begin)}, nil
	}
	text := Text{Pos: r.src.pos(r.at), Folded: true}
	value, err := r.escaped(begin)
	text.Value = value
	return text, err
}

// escaped reads a string that holds escapes, from behind its first quote.
func (r *jsonReader) escaped(i int) (string, error) {
	opening := r.at
	var out strings.Builder
	for i < len(r.s) && r.s[i] >= ' ' {
		switch c := r.s[i]; c {
		case '"':
			r.at = i + 1
			return out.String(), nil
		case '\\':
			letter, size := unescape(r.s[i:])
			if size == 0 {
				return "", r.fail(i, `an unknown escape; accepted are \" \\ \/ \b \f \n \r \t and \uHHHH, two of them for a surrogate pair`)
			}
			out.WriteRune(letter)
			i += size
		default:
			out.WriteByte(c)
			i++
		}
	}
	if i < len(r.s) && r.s[i] != '\n' {
		return "", r.fail(i, "a control character inside a text; it is written as an escape, \\t for a tab")
	}
	return "", r.fail(opening, "a quote that is never closed on its line")
}

// unescape reads one escape and returns its length; 0 when it is none.
func unescape(s string) (rune, int) {
	const letters, meanings = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if len(s) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(letters, s[1]); i >= 0 {
		return rune(meanings[i]), 2
	}
	unit, ok := hexUnit(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(unit) {
		return unit, 6
	}
	low, ok := hexUnit(s[6:])
	if pair := utf16.DecodeRune(unit, low); ok && pair != '\uFFFD' {
		return pair, 12
	}
	return 0, 0
}

// hexUnit reads \uHHHH.
func hexUnit(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(v), err == nil
}
