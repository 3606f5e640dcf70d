package export

import (
	"bytes"
	"encoding/json"
	"errors"

	"gopkg.in/yaml.v3"

	"mockserver/config/syntax"
)

// Write returns a document as text. form is yaml or json.
func Write(n *syntax.Node, form string) ([]byte, error) {
	var out bytes.Buffer
	switch form {
	case "json":
		text := n.JSON(true, func(*syntax.Node, string) {}).Value
		err := json.Indent(&out, []byte(text+"\n"), "", "  ")
		return out.Bytes(), err
	case "yaml":
		err := syntax.WriteYAML(&out, inYAML(n))
		return out.Bytes(), err
	}
	return nil, errors.New("unknown format; expected yaml or json")
}

func inYAML(n *syntax.Node) *yaml.Node {
	switch n.Kind {
	case syntax.MapNode:
		y := &yaml.Node{Kind: yaml.MappingNode}
		for i := range n.Entries {
			y.Content = append(y.Content, syntax.YAMLText(n.Entries[i].Name()), inYAML(n.Entries[i].Value))
		}
		return y
	case syntax.ListNode:
		y := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range n.Items {
			y.Content = append(y.Content, inYAML(item))
		}
		return y
	case syntax.TextNode:
		return syntax.YAMLText(n.Text.Value)
	case syntax.NullNode:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: n.Scalar()}
}
