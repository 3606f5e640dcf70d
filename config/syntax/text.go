package syntax

import (
	"sort"
	"strings"
)

// Text is a text of the configuration that is compiled later (a template, a
// condition, a path), with where it stood, so that its errors can say so.
type Text struct {
	Value string
	Pos   Pos    // of its first character
	Key   string // "[3].endpoint.response.body"

	// lines holds the position of each line of a block scalar, whose text stands in
	// the file letter by letter; nil for a text on one line.
	lines []Pos
	// Folded reports that the text does not stand in the file letter by letter
	// (escapes, folding), so that no offset into it has a position of its own.
	Folded bool
	// margin reports that the lines after the first begin at the first column of a
	// line of the file each, as those of a text in quotes do.
	margin bool
	// marks tell, of the JSON text of a map or list, where the texts with tags stand
	// that it is made of, in order; and of a text with escapes of EDN how it is written.
	marks []mark
	built *built // of a text made in Go, what New has to know; nil for nothing
}

// FileText is the content of a whole file as a Text, whose offsets have the
// line and column of that file. Name is what positions call the file.
func FileText(name, content string) Text {
	t := Text{Value: content, Pos: Pos{File: name, Line: 1, Column: 1}}
	t.lines = append(t.lines, t.Pos)
	for i := range len(content) {
		if content[i] == '\n' {
			t.lines = append(t.lines, Pos{File: name, Line: len(t.lines) + 1, Column: 1})
		}
	}
	return t
}

// At returns the position of the byte at offset. Where a text was folded or
// escaped in its file, so that offsets no longer tell, it is the text's beginning;
// escapes of EDN are looked up instead.
// Of a map or list in its JSON text, it is where the text inside stands.
func (t Text) At(offset int) Pos {
	i := sort.Search(len(t.marks), func(i int) bool { return t.marks[i].at > offset })
	if i > 0 && t.marks[i-1].text != nil {
		m := t.marks[i-1]
		behind := offset - m.at
		if m.escaped {
			behind = escapedOffset(m.text.Value[m.from:], behind)
		}
		return m.text.At(m.from + behind)
	}
	if t.Folded || t.Pos.Line == 0 || offset < 0 || offset > len(t.Value) {
		return t.Pos
	}
	if t.margin {
		return t.atMargin(offset)
	}
	before := t.Value[:offset]
	line, start := strings.Count(before, "\n"), strings.LastIndexByte(before, '\n')+1
	if t.lines == nil {
		if line > 0 {
			return t.Pos
		}
		p := t.Pos
		p.Column += offset
		return p
	}
	if line >= len(t.lines) {
		return t.Pos
	}
	p := t.lines[line]
	p.Column += offset - start
	return p
}

// atMargin is At for a text whose lines are those of the file, however they end.
func (t Text) atMargin(offset int) Pos {
	before := t.Value[:offset]
	if strings.HasPrefix(t.Value[offset:], "\n") {
		before = strings.TrimSuffix(before, "\r") // the line ends after the offset
	}
	line := strings.Count(before, "\n") + strings.Count(before, "\r") - strings.Count(before, "\r\n")
	p := t.Pos
	if line == 0 {
		p.Column += offset
		return p
	}
	p.Line += line
	p.Column = offset - max(strings.LastIndexByte(before, '\n'), strings.LastIndexByte(before, '\r'))
	return p
}

// mark is where a made text goes on letter by letter as another stands in its
// file, until the next mark.
type mark struct {
	at   int   // offset in the made text
	text *Text // nil where nothing of a file stands
	from int   // offset in text

	escaped bool // text is written with escapes, which are made after the mark
}

// built is what a text made in Go has beside its value.
type built struct {
	fault string // what is wrong with it; "" for nothing
	json  bool   // it is the JSON text of a value
	raw   string // that text where placeholders are none: what stands in them is escaped too
}

// Unplaced is the text without its place and key.
func (t Text) Unplaced() Text { return Text{Value: t.Value, Folded: t.Folded, built: t.built} }

// Faulty is a text made in Go that has a fault.
func Faulty(what string) Text { return Text{built: &built{fault: what}} }

// Fault is what is wrong with a text made in Go; "" for nothing.
func (t Text) Fault() string {
	if t.built == nil {
		return ""
	}
	return t.built.fault
}

// IsJSON reports whether the text was made of a Go value, as JSON.
func (t Text) IsJSON() bool { return t.built != nil && t.built.json }

// Raw is the text where placeholders are none, if it was made of a Go value.
func (t Text) Raw() Text {
	if t.IsJSON() {
		t.Value = t.built.raw
	}
	return t
}
