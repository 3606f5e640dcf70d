package draft

import (
	"fmt"
	"strconv"

	"mockserver/config/syntax"
)

// NewMap returns a map from alternating keys and values, in the order in which it is written:
// NewMap("status", 200, "body", text).
func NewMap(pairs ...any) *syntax.Node {
	m := syntax.NewMap()
	for i := 0; i+1 < len(pairs); i += 2 {
		m.Set(fmt.Sprint(pairs[i]), Of(pairs[i+1]))
	}
	return m
}

// Of returns a value as a node: nil, a string, a boolean, a number, a list of strings or of nodes, or
// a node, which is returned as it is.
func Of(value any) *syntax.Node {
	switch v := value.(type) {
	case nil:
		return &syntax.Node{}
	case *syntax.Node:
		return v
	case string:
		return syntax.NewText(v)
	case bool:
		return syntax.NewBool(v)
	case float64:
		return syntax.NewNumber(strconv.FormatFloat(v, 'f', -1, 64))
	case []*syntax.Node:
		return syntax.NewList(v...)
	case []string:
		list := syntax.NewList()
		for _, text := range v {
			list.Append(syntax.NewText(text))
		}
		return list
	}
	return syntax.NewNumber(fmt.Sprint(value))
}

// Flow returns a map or list as a node that is written on one line, such as {a: 1}.
func Flow(value any) *syntax.Node {
	n := Of(value)
	n.Flow = true
	return n
}

// SetFlow sets a member of a map to a map that is written on one line. It does nothing for nil.
func SetFlow(m *syntax.Node, key string, value *syntax.Node) {
	if value != nil {
		m.Set(key, Flow(value))
	}
}

// Comment sets the comment on the line on which a map or list begins, and returns the map or list.
func Comment(n *syntax.Node, text string) *syntax.Node {
	n.Text.Value = text
	return n
}
