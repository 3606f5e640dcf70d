package draft

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"mockserver/config/syntax"
)

// Write writes the configuration as YAML.
func (d *Draft) Write(w io.Writer) error {
	head := syntax.YAMLComment(d.Title...)
	if head != "" {
		head += "\n"
	}
	root := &yaml.Node{Kind: yaml.SequenceNode}
	above := "" // comments before the next declaration
	for i := range d.Declarations {
		one := &d.Declarations[i]
		above += syntax.YAMLComment(one.Above...)
		n := nodeOf(NewMap(one.Key, one.Value))
		if !one.Off {
			n.HeadComment, above = above, ""
			root.Content = append(root.Content, n)
			continue
		}
		var text strings.Builder
		if err := syntax.WriteYAML(&text, &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{n}}); err != nil {
			return err
		}
		above += syntax.YAMLComment(strings.TrimSuffix(text.String(), "\n"))
	}
	if len(root.Content) == 0 {
		_, err := io.WriteString(w, head+above+"[]\n")
		return err
	}
	_, err := io.WriteString(w, head)
	if err == nil {
		err = syntax.WriteYAML(w, root)
	}
	if err == nil {
		_, err = io.WriteString(w, above)
	}
	return err
}

// nodeOf returns a value as a node of the YAML library.
func nodeOf(value any) *yaml.Node {
	plain := func(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }
	switch v := value.(type) {
	case nil:
		return plain("null")
	case float64:
		return plain(strconv.FormatFloat(v, 'f', -1, 64))
	case bool, int, Number:
		return plain(fmt.Sprint(v))
	case Flow:
		n := nodeOf(v.Value)
		n.Style |= yaml.FlowStyle
		return n
	case List:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range v {
			n.Content = append(n.Content, nodeOf(item))
		}
		return n
	case *Map:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, e := range v.entries {
			key, inner := syntax.YAMLText(e.key), nodeOf(e.value)
			if e.comment != "" {
				on := key
				if inner.Kind == yaml.ScalarNode || inner.Style&yaml.FlowStyle != 0 {
					on = inner
				}
				on.LineComment = strings.TrimSpace(syntax.YAMLComment(strings.ReplaceAll(e.comment, "\n", " ")))
			}
			n.Content = append(n.Content, key, inner)
		}
		return n
	}
	return syntax.YAMLText(fmt.Sprint(value))
}
