package syntax

import (
	"strings"

	"gopkg.in/yaml.v3"

	"mockserver/internal/json"
	"mockserver/internal/wording"
)

// pos returns where a YAML node begins, including its anchor and tag.
func (r *yamlReader) pos(n *yaml.Node) Pos {
	return r.src.pos(r.src.at(n.Line, n.Column))
}

// scalar builds a scalar. Timestamps are texts.
func (r *yamlReader) scalar(n *yaml.Node) *Node {
	out := r.newNode(TextNode, r.src.place(n))
	plain := n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) == 0
	tagged := n.Style&yaml.TaggedStyle != 0
	if plain && !tagged && json.IsNumber(n.Value) {
		out.Kind, out.Number = NumberNode, n.Value
		return out
	}
	switch n.Tag {
	case "!!str", "!!timestamp", "!!merge":
	case "!!null":
		out.Kind = NullNode
		out.Text.Value = ""
	case "!!bool":
		out.Kind = BoolNode
		if lower := strings.ToLower(n.Value); lower != "true" && lower != "false" {
			out.Faulty = true
			r.wrong(out.Pos(), "%q is tagged !!bool; expected true or false", wording.Clip(n.Value))
		}
	case "!!int", "!!float":
		out.Kind = NumberNode
		out.Number = jsonNumber(n.Value)
		if tagged && out.Number == "" {
			out.Faulty = true
			r.wrong(out.Pos(), "%q is tagged %s; expected a number", wording.Clip(n.Value), n.Tag)
		}
	default:
		out.Faulty = true
		r.unknownTag(n, "one of !!str, !!int, !!float, !!bool, !!null")
	}
	return out
}

// place finds the position of a scalar's text in its file. Whether it appears there literally is
// not derived from the rules of YAML, but looked up: either the text is there, or it was folded.
func (s *source) place(n *yaml.Node) Text {
	offset := s.skipProperties(s.at(n.Line, n.Column))
	t := Text{Value: n.Value, Pos: s.pos(offset), Folded: true}
	rest := s.text[offset:]
	switch {
	case n.Style&yaml.LiteralStyle != 0:
		s.literal(&t)
	case n.Style&yaml.FoldedStyle != 0:
	case n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0:
		if rest == "" {
			break
		}
		quote, body := rest[:1], rest[1:]
		if strings.HasPrefix(body, n.Value) && strings.HasPrefix(body[len(n.Value):], quote) && !strings.Contains(n.Value, "\n") {
			t.Folded = false
			t.Pos.Column++
		}
	default:
		t.Folded = !strings.HasPrefix(rest, n.Value)
	}
	return t
}

// skipProperties skips an anchor and a tag before a value.
func (s *source) skipProperties(offset int) int {
	for offset < len(s.text) && (s.text[offset] == '&' || s.text[offset] == '!') {
		rest := s.text[offset:]
		ends := " \t\r\n,[]{}"
		if strings.HasPrefix(rest, "!<") {
			ends = ">"
		}
		end := strings.IndexAny(rest, ends)
		if end < 0 {
			break
		}
		if rest[end] == '>' {
			end++
		}
		blanks := len(rest[end:]) - len(strings.TrimLeft(rest[end:], " \t\r\n"))
		offset += end + blanks
	}
	return offset
}

// literal finds the positions of a block scalar that begins with its header (|, |-, |2+) at t.Pos:
// each line of the text is a line of the file after a common indent.
func (s *source) literal(t *Text) {
	values := strings.Split(t.Value, "\n")
	indent := -1
	for i, v := range values {
		if v != "" {
			indent = len(s.lineText(t.Pos.Line+1+i)) - len(v)
			break
		}
	}
	if indent < 0 {
		return
	}
	lines := make([]Pos, len(values))
	for i, v := range values {
		line := t.Pos.Line + 1 + i
		text := s.lineText(line)
		if i == len(values)-1 && v == "" && i > 0 {
			lines[i] = lines[i-1]
			lines[i].Column += len(values[i-1])
			break
		}
		if v != "" && (len(text) != indent+len(v) || text[indent:] != v) {
			return
		}
		lines[i] = Pos{File: s.file, Line: line, Column: min(indent, len(text)) + 1}
	}
	t.Pos, t.origin, t.Folded = lines[0], &origin{lines: lines}, false
}
