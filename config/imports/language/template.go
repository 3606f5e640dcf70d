package language

import (
	"strings"

	"mockserver/config/imports/draft"
)

// Template is a template of the language that is being built.
type Template struct {
	parts []part
	tags  bool
}

// part is a literal text or a tag.
type part struct {
	text string
	tag  bool
}

// Text appends a text that renders as itself.
func (t *Template) Text(text string) {
	if n := len(t.parts); n > 0 && !t.parts[n-1].tag {
		t.parts[n-1].text += text
		return
	}
	t.parts = append(t.parts, part{text: text})
}

// Value appends a placeholder.
func (t *Template) Value(expression string) { t.Tag("{{" + expression + "}}") }

// Tag appends a tag unchanged.
func (t *Template) Tag(tag string) {
	t.parts = append(t.parts, part{tag, true})
	t.tags = true
}

// Use marks the text as part of a response whose other texts have tags.
func (t *Template) Use() { t.tags = true }

// Tags reports whether the template has tags.
func (t *Template) Tags() bool { return t.tags }

// String returns the template. Without tags this is the bare text, which needs template: false if
// draft.HasTags reports true for it.
func (t *Template) String() string {
	var b strings.Builder
	for _, p := range t.parts {
		switch {
		case p.tag:
			if strings.HasSuffix(b.String(), "{") { // {{{ is an error
				b.WriteByte(' ')
			}
			b.WriteString(p.text)
		case t.tags:
			b.WriteString(draft.Literal(p.text))
		default:
			b.WriteString(p.text)
		}
	}
	return b.String()
}
