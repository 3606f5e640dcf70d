package renderer

import (
	"slices"
	"strings"

	"mockserver/config"
)

// parser turns a text into nodes. It descends into blocks and follows, literal
// by literal, where the text stands.
type parser struct {
	source
	form    Form
	pos     int
	deepest int // how many loops stand inside each other

	json jsonPlace // where a JSON text stands at pos
	url  urlPlace  // where a URL stands at pos
}

// maxDepth bounds the nesting of blocks, and of parentheses in conditions.
const maxDepth = 100

// tag is one {{ … }} or {% … %}.
type tag struct {
	offset     int    // of its first brace
	start, end int    // of what stands inside
	word       string // the block word: "if", "elif", "else", "endif", "for", "endfor", "raw"; "" for an output
	args       int    // where what follows the word begins
}

func (p *parser) parse() []node {
	nodes, closing := p.nodes(0)
	for closing.word != "" {
		p.fail(closing.offset, "%s without a block that it closes", p.spelling(closing))
		var more []node
		more, closing = p.nodes(0)
		nodes = append(nodes, more...)
	}
	return nodes
}

// spelling is the tag as the user wrote it.
func (p *parser) spelling(t tag) string {
	return p.text.Value[t.offset : t.end+2]
}

// nodes parses up to the end of the text or a tag that belongs to the block
// around (elif, else, endif, endfor), which is returned.
func (p *parser) nodes(depth int) ([]node, tag) {
	var nodes []node
	for {
		rest := p.text.Value[p.pos:]
		at := nextTag(rest)
		if at < 0 {
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
		p.pos = t.end + 2
		switch t.word {
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

// nextTag is where the next {{ or {% begins, or -1.
func nextTag(s string) int {
	for i := 0; ; i++ {
		at := strings.IndexByte(s[i:], '{')
		if at < 0 || i+at+1 >= len(s) {
			return -1
		}
		i += at
		if s[i+1] == '{' || s[i+1] == '%' {
			return i
		}
	}
}

// literal appends a literal and moves on in the text that it is part of.
func (p *parser) literal(nodes []node, s string) []node {
	if s == "" {
		return nodes
	}
	p.json = p.json.advance(s)
	p.url = p.url.advance(s)
	if n := len(nodes); n > 0 && nodes[n-1].kind == literalNode {
		nodes[n-1].text += s
		return nodes
	}
	return append(nodes, node{kind: literalNode, text: s})
}

// tag reads the tag that begins at offset: where it ends and which word it has.
func (p *parser) tag(offset int) (tag, bool) {
	value := p.text.Value
	closing := "}}"
	if value[offset+1] == '%' {
		closing = "%}"
	}
	t := tag{offset: offset, start: offset + 2}
	t.end = closingOf(value, t.start, closing)
	if t.end < 0 {
		p.fail(offset, "%s is not closed: %s is missing (for a literal %s write {%% raw %%} … {%% endraw %%}, or template: false)",
			value[offset:offset+2], closing, value[offset:offset+2])
		return t, false
	}
	inside := value[t.start:t.end]
	if closing == "%}" {
		return p.blockWord(t, inside)
	}
	return braceWord(t, inside), true
}

// closingOf finds the end of a tag, past quoted texts; -1 when there is none.
func closingOf(s string, from int, closing string) int {
	var quote byte
	for i := from; i+1 < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case s[i:i+2] == closing:
			return i
		case c == '"' || c == '\'':
			quote = c
		}
	}
	return -1
}

// blockWords are the words of {% … %}.
var blockWords = []string{"if", "elif", "else", "endif", "for", "endfor", "raw", "endraw"}

// blockWord reads the word of a {% … %} tag.
func (p *parser) blockWord(t tag, inside string) (tag, bool) {
	trimmed := strings.TrimLeft(inside, " \t\r\n")
	t.args = t.start + len(inside) - len(trimmed)
	word := trimmed
	if i := strings.IndexAny(trimmed, " \t\r\n("); i >= 0 {
		word = trimmed[:i]
	}
	t.args += len(word)
	t.word = word
	if !slices.Contains(blockWords, word) {
		p.fail(t.offset, "unknown block %q%s; accepted are if, elif, else, endif, for, endfor, raw, endraw",
			word, config.DidYouMean(word, blockWords))
		t.word, t.start = "", -1
	}
	return t, true
}

// braceWord recognises the {{#if}} spelling of a conditional.
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

// raw takes everything up to {% endraw %} as it is.
func (p *parser) raw(nodes []node, t tag) []node {
	for from := t.end + 2; ; {
		at := strings.Index(p.text.Value[from:], "{%")
		if at < 0 {
			p.fail(t.offset, "{%% raw %%} is not closed: {%% endraw %%} is missing")
			p.pos = len(p.text.Value)
			return nodes
		}
		at += from
		end := strings.Index(p.text.Value[at:], "%}")
		if end >= 0 && strings.TrimSpace(p.text.Value[at+2:at+end]) == "endraw" {
			nodes = p.literal(nodes, p.text.Value[t.end+2:at])
			p.pos = at + end + 2
			return nodes
		}
		from = at + 2
	}
}

// output appends the placeholder t.
func (p *parser) output(nodes []node, t tag) []node {
	if t.start < 0 {
		return nodes // an unknown block, reported already
	}
	sc := newScanner(&p.source, t.start, t.end)
	if sc.tok.kind == endToken {
		p.fail(t.offset, "an empty placeholder; a variable, a literal or a function is accepted")
		return nodes
	}
	e, ok := sc.expression()
	if !ok {
		return nodes
	}
	if sc.tok.kind != endToken {
		sc.fail(sc.tok.offset, "unexpected %s after the expression; a filter begins with |", sc.tok.describe())
		return nodes
	}
	n := node{kind: outputNode, expr: e, write: p.writer(t, &e)}
	p.url = p.url.pastValue()
	if !e.constant() {
		return append(nodes, n)
	}
	return p.literal(nodes, string(n.write.append(nil, e.eval(nil, nil))))
}

// writer decides how the placeholder t is written where the text stands.
func (p *parser) writer(t tag, e *expr) writer {
	switch p.form {
	case JSON:
		if p.json.pending > 0 {
			p.fail(t.offset, "a placeholder cannot follow a backslash inside a JSON string")
		}
		if p.json.inString {
			return writeJSONString
		}
		return writeJSONValue
	case XML:
		return writeXML
	case Header:
		return writeHeader
	case URL:
		if n := len(e.filters); n > 0 && e.filters[n-1].name == "urlencode" {
			return writePlain // encoded already, for any part
		}
		return p.url.writer()
	}
	return writePlain
}
