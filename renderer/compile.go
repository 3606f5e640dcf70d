package renderer

import (
	"strings"

	"mockserver/config/syntax"
	"mockserver/renderer/escape"
)

// Compile parses text. The problems have positions in the text. The template is nil if any of them
// is an error rather than a warning. In the JSON text of a map or list, a string that consists of one
// placeholder is replaced with the value of the placeholder, whatever its kind, unless it is missing.
func Compile(text syntax.Text, form Form, scope *Scope) (*Template, syntax.Problems) {
	if text.Typed {
		return compile(text, form, scope, writeJSONTyped)
	}
	return compile(text, form, scope, writeJSONString)
}

// compile implements Compile. whole is how a placeholder that is a whole JSON string is written.
func compile(text syntax.Text, form Form, scope *Scope, whole writer) (*Template, syntax.Problems) {
	p := parser{
		whole:       whole,
		source:      *newSource(text, scope),
		lastComment: strings.LastIndex(text.Value, "#}"),
		place:       place{form: form, url: escape.AtStart},
	}
	nodes := p.parse()
	if p.problems.Err() != nil {
		return nil, p.problems
	}
	t := &Template{nodes: nodes, depth: p.deepest, memos: p.memos}
	if p.place.form == JSON && !p.mixed && !scope.Piece {
		p.problems = append(p.problems, t.checkJSON(text, scope.Loops)...)
	}
	t.program = t.programOf()
	return t, p.problems
}

// CompileText compiles a text. It returns the text itself if it is the same for every request, and
// a template otherwise.
func CompileText(text syntax.Text, form Form, scope *Scope) (string, *Template, syntax.Problems) {
	t, problems := Compile(text, form, scope)
	if t == nil {
		return "", nil, problems
	}
	if same, ok := t.Static(); ok {
		return same, nil, problems
	}
	return "", t, problems
}
