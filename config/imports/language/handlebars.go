package language

import (
	"fmt"
	"regexp"
	"strings"
)

// Call is the content of a Handlebars tag: a helper with its arguments, or a single value.
type Call struct {
	Name string // of the helper, or the path of a value
	Args []Arg
	Hash map[string]Arg
}

// Arg is an argument of a helper: a literal, a path, or a call in parentheses.
type Arg struct {
	Text    string // of a literal, or a path
	Literal bool   // a text in quotes, a number, true or false
	Quoted  bool
	Call    *Call
}

// hbNode is a part of a template of Handlebars.
type hbNode struct {
	text   string // literal, if call is nil
	call   *Call
	block  bool
	param  string // its name in as |param|
	body   []hbNode
	other  []hbNode // after else
	source string   // of the tag
	whole  string   // the source of a block up to its end
}

// maxBlocks limits how deeply blocks and parentheses are nested.
const maxBlocks = 50

// hbParser reads a template. After a failure, it is at the end of the text.
type hbParser struct {
	text  string
	at    int
	end   int // of the last tag
	depth int
	java  bool
	err   error // the first one
}

// parseHandlebars returns the parts of a template, as Handlebars.js or Handlebars.java reads it.
func parseHandlebars(text string, java bool) ([]hbNode, error) {
	p := &hbParser{text: text, java: java}
	nodes, end := p.nodes()
	if end != "" {
		p.fail("{{%s}} has no beginning", end)
	}
	if p.err != nil {
		return nil, p.err
	}
	return nodes, nil
}

func (p *hbParser) fail(what string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf(what, args...)
	}
	p.at = len(p.text)
}

// nodes reads the parts up to {{else}}, {{/name}} or the end, and returns the tag that ended them.
func (p *hbParser) nodes() (all []hbNode, end string) {
	if p.depth++; p.depth > maxBlocks {
		p.fail("blocks are nested more than %d deep", maxBlocks)
	}
	defer func() { p.depth-- }()
	for p.at < len(p.text) {
		i := strings.Index(p.text[p.at:], "{{")
		if i < 0 {
			all = append(all, hbNode{text: p.text[p.at:]})
			p.at = len(p.text)
			break
		}
		before, escaped := p.before(i)
		if before != "" {
			all = append(all, hbNode{text: before})
		}
		if escaped || p.err != nil {
			continue
		}
		start := p.at
		inner, source := p.tag()
		switch {
		case p.err != nil, strings.HasPrefix(inner, "!"):
		case inner == "else" || inner == "^" || strings.HasPrefix(inner, "else ") || strings.HasPrefix(inner, "/"):
			return all, inner
		case strings.HasPrefix(inner, "#"):
			n := p.block(strings.TrimLeft(inner[1:], "> "), source)
			n.whole = p.text[start:p.end]
			all = append(all, n)
		default:
			all = append(all, hbNode{call: p.call(strings.TrimPrefix(inner, "&")), source: source})
		}
	}
	return all, ""
}

// before reads the text before the tag that begins after n bytes. A backslash before a tag makes it
// text.
func (p *hbParser) before(n int) (before string, escaped bool) {
	before = p.text[p.at : p.at+n]
	p.at += n
	switch rest := strings.TrimLeft(p.text[p.at:], "{"); {
	case p.java && (strings.HasSuffix(before, `\`) || strings.HasPrefix(rest, "~")):
		p.fail(`a backslash before a tag, and ~ in it, have no equivalent`)
	case strings.HasSuffix(before, `\\`):
		before = before[:n-1]
	case strings.HasSuffix(before, `\`):
		p.at += 2
		return before[:n-1] + "{{", true
	case strings.HasPrefix(rest, "~"):
		before = strings.TrimRight(before, " \t\r\n")
	}
	return before, false
}

// tag reads a tag, and returns its content and its source text.
func (p *hbParser) tag() (inner, source string) {
	open, end := "{{", "}}"
	if strings.HasPrefix(p.text[p.at:], "{{{") {
		open, end = "{{{", "}}}"
	} else if strings.HasPrefix(p.text[p.at:], "{{!--") {
		open, end = "{{", "--}}"
	}
	n := tagEnd(p.text[p.at+len(open):], end)
	if n < 0 {
		p.fail("a tag is not closed")
		return "", ""
	}
	source = p.text[p.at : p.at+len(open)+n+len(end)]
	inner = strings.TrimSpace(strings.Trim(source[len(open):len(open)+n], "~"))
	p.at += len(source)
	p.end = p.at
	if end == "}}" && strings.HasPrefix(p.text[p.at:], "}") {
		p.fail("a tag that begins with {{ ends with }}}")
	}
	if p.java {
		if strings.HasSuffix(source, "~"+end) {
			p.fail("~ in a tag has no equivalent")
		}
		return inner, source
	}
	if strings.HasPrefix(inner, "!") || strings.HasPrefix(inner, "#") || strings.HasPrefix(inner, "/") || inner == "else" {
		p.alone(source)
	}
	if strings.HasSuffix(source, "~"+end) {
		p.at += len(p.text[p.at:]) - len(strings.TrimLeft(p.text[p.at:], " \t\r\n"))
	}
	return inner, source
}

// alone skips the line break after a tag that is alone on its line.
func (p *hbParser) alone(source string) {
	before := p.text[:p.at-len(source)]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	rest := strings.TrimLeft(p.text[p.at:], " \t")
	if strings.Trim(line, " \t") != "" {
		return
	}
	if after, ok := strings.CutPrefix(rest, "\r\n"); ok {
		p.at = len(p.text) - len(after)
	} else if after, ok := strings.CutPrefix(rest, "\n"); ok {
		p.at = len(p.text) - len(after)
	}
}

// tagEnd returns where a tag ends, outside texts in quotes; -1 if it does not end.
func tagEnd(s, end string) int {
	if end == "--}}" {
		return strings.Index(s, end)
	}
	quote := byte(0)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case strings.HasPrefix(s[i:], end):
			return i
		}
	}
	return -1
}

// block reads a block up to its end.
func (p *hbParser) block(head, source string) hbNode {
	head, params, _ := strings.Cut(head, " as |")
	n := hbNode{call: p.call(head), block: true, source: source}
	n.param, _, _ = strings.Cut(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(params), "|")), " ")
	body, end := p.nodes()
	n.body = body
	if nested, ok := strings.CutPrefix(end, "else "); ok {
		start := p.at
		inner := p.block(nested, source) // consumes the end of the whole block
		if p.err == nil {                // otherwise there is no end
			inner.whole = "{{#" + nested + "}}" + p.text[start:p.end]
		}
		n.other = []hbNode{inner}
		return n
	}
	if end == "else" || end == "^" {
		n.other, end = p.nodes()
	}
	if !strings.HasPrefix(end, "/") {
		p.fail("{{#%s}} is not closed", n.call.Name)
	}
	return n
}

var hbToken = regexp.MustCompile(`^\s*(?:("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|([()])|([A-Za-z_@][A-Za-z0-9_-]*)=|((?:[^\s()="'\[\]]|\[[^\]]*\])+))`)

// call reads the content of a tag.
func (p *hbParser) call(s string) *Call {
	c, rest := p.callFrom(s, 0)
	if strings.TrimSpace(rest) != "" {
		p.fail("%q is not understood", s)
	}
	return c
}

func (p *hbParser) callFrom(s string, depth int) (c *Call, rest string) {
	c = &Call{Hash: map[string]Arg{}}
	if depth > maxBlocks {
		p.fail("parentheses are nested too deep")
		return c, ""
	}
	for key := ""; ; {
		m := hbToken.FindStringSubmatch(s)
		if m == nil || m[2] == ")" {
			if c.Name == "" || key != "" {
				p.fail("%q is not understood", s)
			}
			return c, s
		}
		s = s[len(m[0]):]
		if m[3] != "" {
			key = m[3]
			continue
		}
		a := Arg{Text: m[4], Literal: literalArg.MatchString(m[4])}
		switch {
		case m[1] != "":
			quote := m[1][:1]
			a = Arg{Text: strings.ReplaceAll(m[1][1:len(m[1])-1], `\`+quote, quote), Literal: true, Quoted: true}
		case m[2] == "(":
			a.Call, s = p.callFrom(s, depth+1)
			var closed bool
			if s, closed = strings.CutPrefix(strings.TrimLeft(s, " \t\r\n"), ")"); !closed {
				p.fail("a parenthesis is not closed")
			}
		}
		switch {
		case key != "":
			c.Hash[key], key = a, ""
		case c.Name == "" && a.Call == nil:
			c.Name = a.Text
		case c.Name == "":
			c.Name = "("
			c.Args = append(c.Args, a)
		default:
			c.Args = append(c.Args, a)
		}
	}
}

var literalArg = regexp.MustCompile(`^(?:-?[0-9]+(?:\.[0-9]+)?|true|false)$`)
