package config

// kind is what a node holds.
type kind uint8

const (
	nullNode kind = iota
	boolNode
	numberNode
	textNode
	listNode
	mapNode
)

// String names the kind as a message does.
func (k kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a text", "a list", "a map"}[k]
}

// node is one value of a configuration file with its position: the one tree
// that every syntax becomes, and the only thing the decoder knows. Aliases and
// merge keys are resolved, and keys of a map are distinct.
type node struct {
	kind kind
	// text is a scalar's text: as written for texts, "true" or "false", a number
	// as written; "" for null.
	text Text
	// number is the number as JSON has it, digit for digit where JSON can; "" for
	// what JSON cannot say (infinity, not a number).
	number  string
	items   []*node // of a list
	entries []entry // of a map, in the order written
}

// entry is one key of a map and its value.
type entry struct {
	key   *node // a scalar
	value *node
}

// pos is where the node begins.
func (n *node) pos() Pos { return n.text.Pos }

// get returns the value of a map's key, or nil.
func (n *node) get(key string) *node {
	for _, e := range n.entries {
		if e.key.text.Value == key {
			return e.value
		}
	}
	return nil
}
