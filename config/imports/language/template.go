package language

import (
	"regexp"
	"strings"

	"mockserver/config/imports/draft"
)

// Template is a template of the language that is being built.
type Template struct {
	parts []part
	tags  bool
}

// part is a literal text, a placeholder or another tag.
type part struct {
	text       string // the expression of a placeholder
	tag, value bool
}

// Fixed returns a template that consists of a literal text.
func Fixed(text string) *Template {
	t := &Template{}
	t.Text(text)
	return t
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
func (t *Template) Value(expression string) {
	t.parts = append(t.parts, part{text: expression, tag: true, value: true})
	t.tags = true
}

// Tag appends a tag unchanged.
func (t *Template) Tag(tag string) {
	t.parts = append(t.parts, part{text: tag, tag: true})
	t.tags = true
}

func (t *Template) endsInTag() bool { return len(t.parts) > 0 && t.parts[len(t.parts)-1].tag }

// trimEnd removes white space at the end, and a comma before it.
func (t *Template) trimEnd() {
	if n := len(t.parts); n > 0 && !t.endsInTag() {
		t.parts[n-1].text = strings.TrimRight(t.parts[n-1].text, " \t\r\n")
		t.parts[n-1].text = strings.TrimSuffix(t.parts[n-1].text, ",")
	}
}

// Use marks the text as part of a response whose other texts have tags.
func (t *Template) Use() { t.tags = true }

// Tags reports whether the template has tags.
func (t *Template) Tags() bool { return t.tags }

// String returns the template. Without tags this is the bare text, which needs template: false if
// draft.HasTags reports true for it.
func (t *Template) String() string { return t.render(false) }

// render returns the template. In JSON, outside strings, a value that is missing or an empty text
// writes nothing, as in the imported tools, where the server would write null or "".
func (t *Template) render(json bool) string {
	var b strings.Builder
	quoted := false
	for i, p := range t.parts {
		switch {
		case p.value && json && !quoted && mayBeEmpty.MatchString(p.text):
			b.WriteString("{% if " + p.text + ` != "" %}{{` + strings.TrimSuffix(p.text, NullIsEmpty) + "}}{% endif %}")
		case p.value:
			b.WriteString("{{" + p.text + "}}")
		case p.tag:
			b.WriteString(p.text)
		case t.tags:
			text := p.text
			if brace := strings.TrimRight(text, "{"); i+1 < len(t.parts) && brace != text { // {{{ is an error
				b.WriteString(draft.Literal(brace) + "{% raw %}" + text[len(brace):] + "{% endraw %}")
			} else {
				b.WriteString(draft.Literal(text))
			}
			quoted = quoted != oddQuotes(text)
		default:
			b.WriteString(p.text)
		}
	}
	return b.String()
}

// NullIsEmpty is the filter of expressions whose null is written as nothing.
const NullIsEmpty = `|default:""`

// mayBeEmpty matches the expressions of values that a request need not have.
var mayBeEmpty = regexp.MustCompile(`^(?:(?:json|query|header|cookie|form)-params|item[0-9]+)(?:[^|]|\|(?:upper|lower|trim|base64|urlencode|add|sub|mul)|\|default:(?:json-params|""))*$`)

// oddQuotes reports whether a text begins or ends a JSON string.
func oddQuotes(text string) (odd bool) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			odd = !odd
		}
	}
	return odd
}
