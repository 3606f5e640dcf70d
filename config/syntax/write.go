package syntax

import (
	"errors"
	"io"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// WriteYAML writes a document, indented by two blanks. Of a list, comments are what precedes each
// item, in the form of YAMLComment.
func WriteYAML(w io.Writer, n *Node, comments ...string) error {
	document := inYAML(n)
	for i, text := range comments {
		document.Content[i].HeadComment = text
	}
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	return errors.Join(e.Encode(document), e.Close())
}

// inYAML returns a node as a node of the YAML library.
func inYAML(n *Node) *yaml.Node {
	y := &yaml.Node{Kind: yaml.ScalarNode}
	switch n.Kind {
	case TextNode:
		return yamlText(n.Text.Value)
	case NullNode:
		y.Value = "null"
	case ListNode:
		y.Kind = yaml.SequenceNode
		for _, item := range n.Items {
			y.Content = append(y.Content, inYAML(item))
		}
	case MapNode:
		y.Kind = yaml.MappingNode
		for _, e := range n.Entries {
			key, value := yamlText(e.Name()), inYAML(e.Value)
			on := key
			if e.Value.Flow {
				on = value
			}
			on.LineComment = e.Value.comment()
			y.Content = append(y.Content, key, value)
		}
	default:
		y.Value = n.Scalar()
	}
	if n.Flow {
		y.Style = yaml.FlowStyle
	}
	return y
}

// comment returns the comment on the line on which a map or list begins.
func (n *Node) comment() string {
	if n.Kind != ListNode && n.Kind != MapNode || n.Text.Value == "" || n.Pos().Line > 0 {
		return ""
	}
	return strings.TrimSpace(YAMLComment(strings.ReplaceAll(n.Text.Value, "\n", " ")))
}

// yamlText returns the node of a text in a form that every YAML parser reads as the same text. Bytes
// that are not UTF-8, which a file cannot contain, become U+FFFD.
func yamlText(text string) *yaml.Node {
	text = string([]rune(text))
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	switch {
	case strings.Contains(text, "\n") && plainLines(text):
		n.Style = yaml.LiteralStyle
	case strings.ContainsFunc(text, ends) || strings.Contains(text, "\n") || mistaken.MatchString(text) && !durations.MatchString(text):
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

var (
	// mistaken matches texts that some parser reads as something else: a boolean of YAML 1.1, a
	// number, a date, the key of a merge, nothing.
	mistaken = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|<<|=|[+-]?\.?[0-9].*|)$`)
	// durations matches texts that all parsers read as texts although they begin with a digit.
	durations = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(ms|s|m|h|µs)$`)
)

// plainLines reports whether a text of several lines can be written verbatim.
func plainLines(text string) bool {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if line != strings.TrimRight(line, " \t\r") || strings.HasPrefix(line, "\t") {
			return false
		}
	}
	return text[0] != '\n' && text[0] != ' ' && !strings.HasSuffix(text, "\n\n") && !strings.ContainsFunc(text, ends)
}

// ends reports whether a character other than a line feed cannot stand in a line of YAML: it ends the
// line, or files must not contain it.
func ends(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r >= 0x7F && r < 0xA0 || r == 0x2028 || r == 0x2029 || r == 0xFEFF || r == 0xFFFE || r == 0xFFFF
}

// YAMLComment returns lines as comments, each of which begins with #. Characters that a comment cannot
// contain become blanks.
func YAMLComment(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		line = strings.Map(func(r rune) rune {
			if ends(r) || r == '\t' {
				return ' '
			}
			return r
		}, string([]rune(line)))
		for one := range strings.SplitSeq(line, "\n") {
			b.WriteString(strings.TrimRight("# "+one, " ") + "\n")
		}
	}
	return b.String()
}
