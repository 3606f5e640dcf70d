package syntax

import (
	"sort"
	"strings"
)

// Text is a text of the configuration that is compiled later (a template, a condition, a path),
// with the position that its errors refer to.
type Text struct {
	Value string
	Pos   Pos    // of its first character
	Key   string // "[3].endpoint.response.body"

	// Folded reports that the text does not appear literally in the file (escapes, folding), so
	// that offsets in it have no position of their own.
	Folded bool
	// Typed reports that the text is the JSON text of a map or list, in which a string that is one
	// placeholder is the value of the placeholder, whatever its kind; a missing one is an empty text.
	Typed  bool
	origin *origin // nil for most texts, so that a node is small
}

// origin is where the parts of a text are in its file.
type origin struct {
	// lines are the positions of the lines of a block scalar, whose text appears literally in the
	// file; nil for a text on one line.
	lines []Pos
	// marks are, for the JSON text of a map or list, the positions of the texts with tags that it
	// is made of, in order.
	marks []mark
}

func (t Text) origins() origin {
	if t.origin == nil {
		return origin{}
	}
	return *t.origin
}

// FileText returns the content of a whole file as a Text, whose offsets have the lines and columns
// of that file. name is the name of the file in positions.
func FileText(name, content string) Text {
	t := Text{Value: content, Pos: Pos{File: name, Line: 1, Column: 1}}
	lines := []Pos{t.Pos}
	for i := range len(content) {
		if content[i] == '\n' {
			lines = append(lines, Pos{File: name, Line: len(lines) + 1, Column: 1})
		}
	}
	t.origin = &origin{lines: lines}
	return t
}

// At returns the position of the byte at offset. If a text was folded or escaped in its file, this
// is the beginning of the text. In the JSON text of a map or list, it is the position of the text
// inside.
func (t Text) At(offset int) Pos {
	of := t.origins()
	i := sort.Search(len(of.marks), func(i int) bool { return of.marks[i].at > offset })
	if i > 0 && of.marks[i-1].text != nil {
		m := of.marks[i-1]
		return m.text.At(m.from + offset - m.at)
	}
	if t.Folded || t.Pos.Line == 0 || offset < 0 || offset > len(t.Value) {
		return t.Pos
	}
	before := t.Value[:offset]
	line, start := strings.Count(before, "\n"), strings.LastIndexByte(before, '\n')+1
	if of.lines == nil {
		if line > 0 {
			return t.Pos
		}
		p := t.Pos
		p.Column += offset
		return p
	}
	if line >= len(of.lines) {
		return t.Pos
	}
	p := of.lines[line]
	p.Column += offset - start
	return p
}

// mark says from where on a generated text is a literal copy of another text in its file, until the
// next mark.
type mark struct {
	at   int   // offset in the generated text
	text *Text // nil if the text is not from a file
	from int   // offset in text
}
