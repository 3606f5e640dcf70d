package syntax

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"mockserver/internal/wording"
)

// readEDN reads all forms of a file. A vector or a list is a document. Maps outside of lists
// together form the items of another document, except for an OpenAPI document, which is one by
// itself. Text that is not EDN ends reading, and is then the only error of the file.
// docs/adr/0006-edn-positions.md explains why no EDN library is used.
func readEDN(src *source) ([]*Node, Problems) {
	if at, what := src.encodingFault(false); what != "" {
		return nil, Problems{{Pos: src.pos(at), What: what}}
	}
	r := newEDNReader(src)
	docs, err := r.file()
	if fault, ok := errors.AsType[*syntaxError](err); ok {
		if begin, end := src.unclosedQuote(ednQuote, len(src.text)); begin >= 0 && end < len(src.text) {
			at := src.pos(end)
			return nil, Problems{{Pos: src.pos(begin), What: fmt.Sprintf("a quote that is never closed: the text that begins here ends at line %d, column %d", at.Line, at.Column)}}
		}
		return nil, Problems{fault.Problem}
	}
	return docs, r.Problems
}

// ednQuote matches the quote with which a text begins, a comment, or a character.
var ednQuote = regexp.MustCompile(`;[^\r\n]*|\\.|(")`)

// ednReader reads EDN by recursive descent.
type ednReader struct {
	scanner
	base  int // number of items in earlier documents
	depth int // number of forms around the current one, including prefixes
	left  int // above 0: the current form is skipped, or its errors are not reported
}

func newEDNReader(src *source) *ednReader { return &ednReader{scanner: newScanner(src)} }

// bad returns the error for a word that is not EDN. Inside a skipped form it has no key.
func (r *ednReader) bad(offset int, what string) error {
	p := Problem{Pos: r.src.pos(offset), What: what}
	if r.left == 0 {
		p.Key = r.keyPath()
	}
	return &syntaxError{Problem: p}
}

// refuse reports a form that is EDN but not accepted here.
func (r *ednReader) refuse(pos Pos, format string, args ...any) {
	if r.left == 0 {
		r.wrong(pos, format, args...)
	}
}

// file reads the documents. It stops after an OpenAPI document, and after a form at the top level
// that is not a vector, a list, a map or nil: such a file is not a configuration.
func (r *ednReader) file() ([]*Node, error) {
	var docs []*Node
	var loose *Node // the list of the maps outside lists
	for {
		err := r.blanks()
		if err != nil || r.at == len(r.s) {
			return docs, err
		}
		n, err := r.document()
		switch {
		case err != nil:
			return nil, err
		case n.Kind == MapNode && n.Get("openapi") == nil && n.Get("swagger") == nil:
			if loose == nil {
				loose = r.newNode(ListNode, n.Text)
				docs = append(docs, loose)
			}
			loose.Items = append(loose.Items, n)
			r.base++
		case n.Kind == ListNode:
			docs, loose = append(docs, n), nil
			r.base += len(n.Items)
		default:
			docs = append(docs, n)
			if n.Kind != NullNode {
				return docs, nil
			}
		}
	}
}

// document reads one form at the top level.
func (r *ednReader) document() (*Node, error) {
	switch c := r.s[r.at]; c {
	case ')', ']', '}':
		return nil, r.fail(r.at, "a %c that closes nothing: the bracket that it belongs to is already closed, or missing", c)
	case '{':
		r.push(step{index: r.base})
		defer r.pop()
	}
	return r.form()
}

// blanks skips white space, commas, comments, and forms after #_.
func (r *ednReader) blanks() error {
	for r.at < len(r.s) {
		rest := r.s[r.at:]
		switch size := blank(rest); {
		case size > 0:
			r.at += size
		case rest[0] == ';':
			end := strings.IndexAny(rest, "\r\n")
			if end < 0 {
				end = len(rest)
			}
			r.at += end
		case strings.HasPrefix(rest, "#_"):
			begin := r.at
			r.at += len("#_")
			r.left++ // the form is skipped, but must be valid EDN nevertheless
			_, err := r.after(begin, "#_ skips the form after it, but there is none")
			if r.left--; err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// blank returns the size of the white space or comma at the beginning of a text, 0 for none.
func blank(text string) int {
	switch c := text[0]; {
	case c == ' ' || c == ',' || '\t' <= c && c <= '\r':
		return 1
	case c < utf8.RuneSelf:
		return 0
	}
	if letter, size := utf8.DecodeRuneInString(text); unicode.IsSpace(letter) {
		return size
	}
	return 0
}

// after reads the form to which the prefix at begin belongs.
func (r *ednReader) after(begin int, missing string) (*Node, error) {
	if err := r.enter(begin); err != nil {
		return nil, err
	}
	defer r.leave()
	if err := r.blanks(); err != nil {
		return nil, err
	}
	if r.at == len(r.s) || closes(r.s[r.at]) {
		return nil, r.fail(begin, "%s", missing)
	}
	return r.form()
}

// enter goes one level deeper, into the form at begin.
func (r *ednReader) enter(begin int) error {
	if r.depth++; r.depth > MaxDepth {
		return r.tooDeep(begin)
	}
	return nil
}

func (r *ednReader) leave() { r.depth-- }

// form reads the form at the current position.
func (r *ednReader) form() (*Node, error) {
	if err := r.enter(r.at); err != nil {
		return nil, err
	}
	defer r.leave()
	switch r.s[r.at] {
	case '{':
		return r.mapping()
	case '[':
		return r.list(']')
	case '(':
		return r.list(')')
	case '"':
		t, err := r.text(false)
		if fault, ok := errors.AsType[*syntaxError](err); ok && fault.escape && r.left == 0 {
			fault.Key = r.keyPath()
		}
		return r.newNode(TextNode, t), err
	case '\\':
		return r.character(), nil
	case '#':
		return r.dispatch()
	}
	return r.word()
}

// list reads a vector or a list.
func (r *ednReader) list(closing byte) (*Node, error) {
	n := r.newNode(ListNode, Text{Pos: r.src.pos(r.at), Folded: true})
	n.Items = []*Node{}
	first := 0
	if len(r.path) == 0 {
		first = r.base
	}
	return n, r.each(closing, func(i int) error {
		r.push(step{index: first + i})
		defer r.pop()
		item, err := r.form()
		n.Items = append(n.Items, item)
		return err
	})
}

func (r *ednReader) mapping() (*Node, error) {
	n := r.newNode(MapNode, Text{Pos: r.src.pos(r.at), Folded: true})
	var list entries
	var key *Node // has no value yet
	err := r.each('}', func(int) (err error) {
		if key == nil {
			key, err = r.key()
			return err
		}
		r.push(step{key: key.Text.Value, named: true})
		defer r.pop()
		value, err := r.form()
		if err == nil && key.Kind != MapNode && r.left == 0 {
			r.put(&list, key, value)
		}
		key = nil
		return err
	})
	if err == nil && key != nil && key.Kind != MapNode {
		r.refuse(key.Pos(), "the key %q has no value: a map is pairs of a key and a value", wording.Clip(key.Text.Value))
	}
	n.Entries = list.list
	return n, err
}

// key reads a key of a map. A form that cannot be a key is kept as a map, and errors inside it are
// not reported: it may be a {{placeholder}}.
func (r *ednReader) key() (*Node, error) {
	quiet := 0
	if opens(r.s[r.at]) {
		quiet = 1
	}
	r.left += quiet
	key, err := r.form()
	r.left -= quiet
	if err != nil || key.Kind == BoolNode || key.Kind == NumberNode || key.Kind == TextNode {
		return key, err
	}
	r.refuse(key.Pos(), "a key is %v; expected a text%s", key.Kind, placeholderHint(key.Kind))
	return r.newNode(MapNode, key.Text), nil
}

// each reads the forms between two brackets, starting at the opening one.
func (r *ednReader) each(closing byte, form func(i int) error) error {
	opening := r.at
	r.at++
	for i := 0; ; i++ {
		if err := r.blanks(); err != nil {
			return err
		}
		if r.at == len(r.s) {
			return r.fail(opening, "a %c that is never closed: the file ends before its %c", r.s[opening], closing)
		}
		switch c := r.s[r.at]; {
		case c == closing:
			r.at++
			return nil
		case closes(c):
			open := r.src.pos(opening)
			return r.fail(r.at, "a %c where the %c of line %d, column %d is still open; a %c closes that one",
				c, r.s[opening], open.Line, open.Column, closing)
		}
		if err := form(i); err != nil {
			return err
		}
	}
}

func opens(c byte) bool  { return c == '(' || c == '[' || c == '{' }
func closes(c byte) bool { return c == ')' || c == ']' || c == '}' }
