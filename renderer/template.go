// Package renderer renders texts for a request. It implements the template language of bodies,
// headers and URLs, and conditions; docs/templates.md and docs/conditions.md describe both.
//
// Compile determines for each placeholder in a JSON text whether it is inside a string, and for
// each placeholder in a URL in which part it is, so that no value from a request can change the
// structure of the declared text (see Form).
//
// Everything is compiled once; rendering appends to the caller's buffer and allocates nothing for
// ordinary variables. Rendering cannot fail, but it can stop early: see matcher.Request.Stopped.
package renderer

import (
	"slices"
	"strings"
	"sync"

	"mockserver/internal/semantics"
	"mockserver/matcher"
)

// BodyForm returns the form of a body whose Content-Type is rendered by t. It is Inferred if the
// media type is known only at request time, or is invalid.
func (t *Template) BodyForm() Form {
	text, static := t.Static()
	if !static {
		text = t.Prefix()
	}
	if static || strings.Contains(text, ";") { // only parameters of the media type are templates
		if kind, subtype, ok := strings.Cut(semantics.MediaType(text), "/"); ok && kind != "" && subtype != "" {
			return FormOf(text)
		}
		return Inferred
	}
	if last := &t.nodes[len(t.nodes)-1]; FormOf(last.text) != Plain { // application/{{…}}+json
		return FormOf(last.text)
	}
	return Inferred
}

// Template is a compiled text. It is immutable and safe for concurrent use.
type Template struct {
	program []byte // the nodes in one block of memory; nil for some templates, see programOf
	nodes   []node
	depth   int       // maximum nesting of loops
	memos   int       // number of values that loops compute once
	frames  sync.Pool // of *frame; unused without loops
}

// IsRow reports whether the text is a row that the endpoint has found, and nothing else.
func (t *Template) IsRow() bool {
	return len(t.nodes) == 1 && t.nodes[0].kind == outputNode && t.nodes[0].expr.op == opRow && len(t.nodes[0].expr.steps)+len(t.nodes[0].expr.filters) == 0
}

// IsOfHeaders reports whether a template consists of headers of the request and literal text.
func (t *Template) IsOfHeaders() bool {
	return !slices.ContainsFunc(t.nodes, func(n node) bool {
		return n.kind != literalNode && (n.kind != outputNode || n.expr.op != opHeader || len(n.expr.filters) > 0)
	})
}

// Literal returns a template with the given text and no placeholders.
func Literal(text string) *Template {
	if text == "" {
		return &Template{}
	}
	return &Template{nodes: []node{{kind: literalNode, text: text}}}
}

// Append appends the text for r to dst and returns the extended buffer. If r is Stopped afterwards,
// the text is incomplete: it would be larger than r.MaxText, its loops take too long, or the client
// has disconnected.
func (t *Template) Append(dst []byte, r *matcher.Request) []byte { return t.append(dst, r, nil) }

// append implements Append. around is the state of the loops around the text; nil for none.
func (t *Template) append(dst []byte, r *matcher.Request, around *frame) []byte {
	if r.Stopped != nil {
		return dst
	}
	most := len(dst) + r.Most()
	if t.program != nil {
		return t.run(t.program, dst, most, r, around)
	}
	if t.depth == 0 {
		return appendNodes(dst, t.nodes, most, r, around)
	}
	fr, ok := t.frames.Get().(*frame)
	if !ok {
		fr = &frame{turns: make([]loop, t.depth), memos: make([]memo, t.memos)}
	}
	if around != nil {
		copy(fr.turns, around.turns)
		fr.index = around.index
	}
	dst = appendNodes(dst, t.nodes, most, r, fr)
	fr.reset()
	t.frames.Put(fr)
	return dst
}

// Static returns the text of a template that is the same for every request.
func (t *Template) Static() (text string, ok bool) {
	switch {
	case len(t.nodes) == 0:
		return "", true
	case len(t.nodes) == 1 && t.nodes[0].kind == literalNode:
		return t.nodes[0].text, true
	}
	return "", false
}

// Prefix returns the literal text before the first placeholder or block.
func (t *Template) Prefix() string {
	if len(t.nodes) > 0 && t.nodes[0].kind == literalNode {
		return t.nodes[0].text
	}
	return ""
}
