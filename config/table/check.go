package table

import (
	"slices"
	"strings"

	"mockserver/config/syntax"
)

// Checker applies the rules of one declaration that involve more than a single field. It collects
// the problems, each at the position of a value.
type Checker struct {
	syntax.Collector
	pos      syntax.Pos
	key      string
	node     *syntax.Node
	reported map[string]bool
}

// Check returns the checker of a declaration, given its position, key path and map. The key paths
// in reported already have an error and do not get a second one.
func Check(pos syntax.Pos, key string, node *syntax.Node, reported map[string]bool) *Checker {
	return &Checker{pos: pos, key: key, node: node, reported: reported}
}

// Wrong reports an error at the value that the keys lead to, starting from the declaration. It
// reports nothing for an empty text.
func (c *Checker) Wrong(what string, keys ...string) {
	c.Report(c.Place(false, keys), what, keys, false)
}

// Warn reports a warning in the same way as Wrong reports an error.
func (c *Checker) Warn(what string, keys ...string) {
	c.Report(c.Place(false, keys), what, keys, true)
}

// Report reports an error or a warning at a position, unless what is "" or an error at the same
// keys has been reported before.
func (c *Checker) Report(pos syntax.Pos, what string, keys []string, warning bool) {
	if what == "" {
		return
	}
	if key := c.KeyPath(keys); !c.reported[key] {
		c.Add(syntax.Problem{Pos: pos, Key: key, What: what, Warning: warning})
	}
}

// KeyPath returns the key path of the value at the given keys.
func (c *Checker) KeyPath(keys []string) string {
	path := c.key
	for _, k := range keys {
		path = Under(path, k)
	}
	return path
}

// Below appends keys without changing the array of the first ones.
func Below(keys []string, further ...string) []string {
	return append(slices.Clip(keys), further...)
}

// Faulty reports whether an error was reported at the given keys or below them: further errors
// about these values would only be confusing.
func (c *Checker) Faulty(keys ...string) bool {
	path := c.KeyPath(keys)
	for key := range c.reported {
		if inside, ok := strings.CutPrefix(key, path); ok && (inside == "" || inside[0] == '.' || inside[0] == '[') {
			return true
		}
	}
	return false
}

// Place returns the position of the value at the given keys or, if name is set, of its key. If the
// value is missing, the position is that of the map that lacks it.
func (c *Checker) Place(name bool, keys []string) syntax.Pos {
	n := c.node
	for i, key := range keys {
		e, value := n.Step(key)
		switch {
		case e == nil:
			return n.Pos()
		case name && i == len(keys)-1:
			return e.Key.Pos()
		}
		n = value
	}
	return n.Pos()
}

// Node returns the node at the given keys; nil if there is none.
func (c *Checker) Node(keys ...string) *syntax.Node {
	n := c.node
	for _, key := range keys {
		if n == nil {
			return nil
		}
		_, n = n.Step(key)
	}
	return n
}

// Spot returns the position of an offset in a text or, for a text made in Go, the position of the
// declaration.
func (c *Checker) Spot(t *syntax.Text, offset int) syntax.Pos {
	if pos := t.At(offset); pos.Line != 0 {
		return pos
	}
	return c.pos
}
