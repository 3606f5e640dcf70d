package renderer

import (
	"slices"
	"strings"

	"mockserver/internal/tags"
	"mockserver/internal/wording"
)

// parser converts a text to nodes. It descends into blocks and follows, literal by literal, the
// place in the text.
type parser struct {
	source
	pos         int
	cut         bool // the text was not read to its end
	deepest     int  // the maximum nesting of loops
	place       place
	lastComment int    // the offset of the last #}, -1 for none
	mixed       bool   // branches have different inferred forms
	whole       writer // how a placeholder that is a whole JSON string is written
	unquote     bool   // the quote that the next literal begins with is omitted
}

// tag is one {{ … }} or {% … %}.
type tag struct {
	offset     int    // of its first brace
	start, end int    // of its content
	after      int    // the offset after its last brace
	word       string // the block word: "if", "elif", "else", "endif", "for", "endfor", "raw"; "" for an output, unknownBlock after an error
	args       int    // where the text after the word begins
}

// unknownBlock is the word of a tag whose error has been reported.
const unknownBlock = "?"

func (p *parser) parse() []node {
	nodes, closing := p.nodes(0)
	for closing.word != "" {
		p.fail(closing.offset, "%s without a block that it closes", p.spelling(closing))
		var more []node
		more, closing = p.nodes(0)
		nodes = append(nodes, more...)
	}
	return joined(nodes)
}

// joined joins adjacent literals.
func joined(nodes []node) []node {
	out := make([]node, 0, len(nodes))
	for i := 0; i < len(nodes); {
		run := i
		var text strings.Builder
		for ; run < len(nodes) && nodes[run].kind == literalNode; run++ {
			text.WriteString(nodes[run].text)
		}
		if run == i {
			out = append(out, nodes[i])
			i++
			continue
		}
		out = append(out, node{kind: literalNode, text: text.String()})
		i = run
	}
	return slices.Clone(out) // of exactly that size: there may be thousands of templates
}

// spelling returns the tag as the user wrote it.
func (p *parser) spelling(t tag) string {
	return p.text.Value[t.offset:t.after]
}

// nodes parses up to the end of the text, or up to a tag of the surrounding block (elif, else,
// endif, endfor), which it returns.
func (p *parser) nodes(depth int) ([]node, tag) {
	var nodes []node
	for {
		if p.full() {
			p.pos = len(p.text.Value)
			return nodes, tag{}
		}
		rest := p.text.Value[p.pos:]
		at := tags.Start(rest)
		p.warnOfComments(rest[:at])
		if at == len(rest) {
			nodes = p.literal(nodes, rest)
			p.pos = len(p.text.Value)
			return nodes, tag{}
		}
		nodes = p.literal(nodes, rest[:at])
		t, ok := p.tag(p.pos + at)
		if !ok {
			p.pos = len(p.text.Value)
			return nodes, tag{}
		}
		p.pos = t.after
		switch t.word {
		case unknownBlock:
		case "":
			nodes = p.output(nodes, t)
		case "raw":
			nodes = p.raw(nodes, t)
		case "if", "for":
			nodes = p.block(nodes, t, depth)
		default:
			return nodes, t
		}
	}
}

// literal appends a literal and updates the place in the text.
func (p *parser) literal(nodes []node, s string) []node {
	if s == "" {
		return nodes
	}
	if p.place.form == Inferred {
		p.place.form = inferred(s)
	}
	switch p.place.form {
	case JSON:
		p.place.json = p.place.json.advance(s)
	case URL:
		p.place.url = p.place.url.Advance(s)
	}
	if p.unquote {
		p.unquote, s = false, s[1:]
	}
	return append(nodes, node{kind: literalNode, text: s})
}

// warnOfComments warns about comments in the syntax of other template languages in the literal s,
// which begins at the current position.
func (p *parser) warnOfComments(s string) {
	for at := 0; ; at += len("{#") {
		next := strings.Index(s[at:], "{#")
		if next < 0 || p.pos+at+next > p.lastComment {
			return
		}
		at += next
		p.warn(p.pos+at, "{# … #} is not a comment: it is sent as it is; leave it out, or write {%% raw %%}{# … #}{%% endraw %%} if that is meant")
	}
}

// inferred returns the form of a text that begins with s; for blanks it is not known yet.
func inferred(s string) Form {
	switch s = strings.TrimLeft(s, " \t\r\n"); {
	case s == "":
		return Inferred
	case s[0] == '{' || s[0] == '[' || s[0] == '"':
		return JSON
	case s[0] == '<':
		return XML
	}
	return Plain
}

// tag reads the tag that begins at offset: its end and its word.
func (p *parser) tag(offset int) (tag, bool) {
	value := p.text.Value
	opening, closing := value[offset:offset+2], "}}"
	if opening == "{%" {
		closing = "%}"
	}
	t := tag{offset: offset, start: offset + 2}
	if strings.HasPrefix(value[offset:], "{{%") {
		p.fail(offset, "{{%% is not a tag; write a blank between { and {%%")
		t.word, t.after = unknownBlock, offset+1
		return t, true
	}
	begin, end := tags.Next(value[offset:])
	if begin != 0 {
		p.fail(offset, "%s is not closed: %s is missing (for a literal %s write {%% raw %%} … {%% endraw %%}, or template: false)",
			opening, closing, opening)
		return t, false
	}
	t.after = offset + end
	inside, left := trimmed(value[t.start:t.after-len(closing)], closing == "%}")
	t.start += left
	t.end = t.start + len(inside)
	if left > 0 || t.end < t.after-len(closing) {
		p.fail(offset, "%s: signs that trim blanks are not supported; write %s … %s, which keep the blanks around them", value[offset:t.after], opening, closing)
	}
	if closing == "%}" {
		return p.blockWord(t, inside), true
	}
	return braceWord(t, inside), true
}

// blockWords are the words of {% … %}.
var blockWords = []string{"if", "elif", "else", "endif", "for", "endfor", "raw", "endraw"}

// blockWord reads the word of a {% … %} tag.
func (p *parser) blockWord(t tag, inside string) tag {
	trimmed := strings.TrimLeft(inside, " \t\r\n")
	t.args = t.start + len(inside) - len(trimmed)
	word := trimmed
	if i := strings.IndexAny(trimmed, " \t\r\n("); i >= 0 {
		word = trimmed[:i]
	}
	t.args += len(word)
	t.word = word
	rest := strings.TrimSpace(trimmed[len(word):])
	switch {
	case !slices.Contains(blockWords, word):
		p.fail(t.offset, "unknown block %q%s; expected one of %s", word, wording.DidYouMean(word, blockWords), strings.Join(blockWords, ", "))
		t.word = unknownBlock
	case word == "if" || word == "elif" || word == "for" || rest == "":
	case word == "else" && strings.HasPrefix(rest, "if") && strings.IndexAny(rest, " \t\r\n(") == len("if"):
		t.word = "elif"
		t.args += strings.Index(p.text.Value[t.args:], "if") + len("if")
	default:
		p.fail(t.args+strings.Index(trimmed[len(word):], rest), "unexpected %[2]q after %[1]s", word, rest)
	}
	return t
}

// braceWord recognizes a conditional in the spelling {{#if}}.
func braceWord(t tag, inside string) tag {
	trimmed := strings.TrimSpace(inside)
	t.args = t.start + strings.Index(inside, trimmed)
	fields := strings.Fields(trimmed)
	if len(fields) == 0 {
		return t
	}
	switch first := fields[0]; {
	case first == "#if":
		t.word, t.args = "if", t.args+len("#if")
	case first == "else" && len(fields) > 1 && fields[1] == "if":
		t.word = "elif"
		t.args += strings.Index(trimmed, "if") + len("if")
	case first == "else" && len(fields) == 1:
		t.word, t.args = "else", t.end
	case first == "/if" && len(fields) == 1:
		t.word, t.args = "endif", t.end
	}
	return t
}

// raw reads everything up to {% endraw %} unchanged.
func (p *parser) raw(nodes []node, t tag) []node {
	inside := p.text.Value[p.pos:]
	end := tags.RawEnd(inside)
	if end == len(inside) {
		p.fail(t.offset, "{%% raw %%} is not closed: {%% endraw %%} is missing")
		p.pos = len(p.text.Value)
		return nodes
	}
	nodes = p.literal(nodes, inside[:end])
	p.pos += end + strings.Index(inside[end:], "%}") + 2
	return nodes
}

// output appends the placeholder t.
func (p *parser) output(nodes []node, t tag) []node {
	if what := foreign(p.text.Value[t.start:t.end]); what != "" {
		p.fail(t.offset, "%s", what)
		return nodes
	}
	sc := newScanner(&p.source, t.start, t.end)
	if sc.tok.kind == endToken {
		p.fail(t.offset, "empty placeholder; expected a variable, a literal or a function")
		return nodes
	}
	e, ok := sc.expression()
	if !ok {
		return nodes
	}
	if sc.tok.kind != endToken {
		sc.fail(sc.tok.offset, "unexpected %s after the expression; expected | and a filter%s%s", sc.tok.describe(), sc.helperHint(&e), colonHint(sc.tok))
		return nodes
	}
	if p.place.form == Inferred {
		p.mixed = true // the rest decides, but after a value the text may have any form
	}
	n := node{kind: outputNode, expr: &e, write: p.writer(t, &e)}
	if n.write == writeJSONString && p.whole != writeJSONString && len(nodes) > 0 && p.isWhole(t) {
		last := &nodes[len(nodes)-1]
		last.text = last.text[:len(last.text)-1]
		p.unquote, n.write = true, p.whole
		return append(nodes, n)
	}
	if n.write == writeJSONValue {
		e.asJSON()
	}
	p.place.url = p.place.url.PastValue()
	if !e.constant() {
		return append(nodes, n)
	}
	return p.literal(nodes, string(n.write.append(nil, e.eval(nil, nil))))
}

// isWhole reports whether the placeholder t is a whole JSON string, and not the name of a member.
func (p *parser) isWhole(t tag) bool {
	s := p.text.Value
	begins := t.offset > 0 && s[t.offset-1] == '"' && (t.offset == 1 || s[t.offset-2] != '\\')
	return begins && t.after < len(s) && s[t.after] == '"' && !strings.HasPrefix(strings.TrimLeft(s[t.after+1:], " \t\r\n"), ":")
}

// writer determines how the placeholder t is written in its place of the text.
func (p *parser) writer(t tag, e *expr) writer {
	switch p.place.form {
	case JSON:
		if p.place.json.pending > 0 {
			p.fail(t.offset, "a placeholder cannot follow a backslash inside a JSON string")
		}
		if p.place.json.inString {
			return writeJSONString
		}
		return writeJSONValue
	case XML:
		return writeXML
	case Header:
		return writeHeader
	case URL:
		if n := len(e.filters); n > 0 && e.filters[n-1].name == "urlencode" {
			return writePlain // already encoded, for any part
		}
		return writerIn(p.place.url)
	}
	return writePlain
}
