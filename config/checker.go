package config

import (
	"slices"
	"strings"

	"mockserver/config/syntax"
	"mockserver/config/table"
)

// checker applies the rules of one endpoint that involve more than a single field.
type checker struct {
	*Endpoint
	key      string
	node     *syntax.Node    // as written; nil for an endpoint made in Go
	reported map[string]bool // key paths that were already reported
	syntax.Collector
}

// inBounds checks the values of a declaration by the table rows of its keys, and reports whether
// all are valid. Values from a file were checked when they were decoded.
func inBounds[T any](c *checker, fields []table.Field[T], of *T, at []string) bool {
	sound := true
	for _, f := range fields {
		if f.Fault == nil {
			continue
		}
		if what := f.Fault(of); what != "" {
			c.wrong(what, below(at, f.Key)...)
			sound = false
		}
	}
	return sound
}

// wrong reports an error at the value that the keys lead to, starting from the endpoint.
func (c *checker) wrong(what string, keys ...string) {
	c.report(c.place(false, keys), what, keys, false)
}

func (c *checker) warn(what string, keys ...string) {
	c.report(c.place(false, keys), what, keys, true)
}

func (c *checker) report(pos syntax.Pos, what string, keys []string, warning bool) {
	if what == "" {
		return
	}
	if key := c.path(keys); !c.reported[key] {
		c.Add(syntax.Problem{Pos: pos, Key: key, What: what, Warning: warning})
	}
}

// path returns the key path for keys.
func (c *checker) path(keys []string) string {
	path := c.key
	for _, k := range keys {
		path = table.Under(path, k)
	}
	return path
}

// below appends keys.
func below(keys []string, further ...string) []string {
	return append(slices.Clip(keys), further...)
}

// faulty reports whether a problem was reported at the given keys, or below: rules across these
// values would only confuse.
func (c *checker) faulty(keys []string) bool {
	path := c.path(keys)
	for key := range c.reported {
		if inside, ok := strings.CutPrefix(key, path); ok && (inside == "" || inside[0] == '.' || inside[0] == '[') {
			return true
		}
	}
	return false
}

// place returns the position of the value at the given keys or, if name is set, of its key. If it
// is missing, the position is that of the map that lacks it.
func (c *checker) place(name bool, keys []string) syntax.Pos {
	if c.node == nil {
		return c.Pos
	}
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

// at returns the node at the given keys; nil if there is none, as for an endpoint made in Go.
func (c *checker) at(keys []string) *syntax.Node {
	n := c.node
	for _, key := range keys {
		if n == nil {
			return nil
		}
		_, n = n.Step(key)
	}
	return n
}

// spot returns the position of an offset in a text or, for a text made in Go, that of the endpoint.
func (c *checker) spot(t *syntax.Text, offset int) syntax.Pos {
	if pos := t.At(offset); pos.Line != 0 {
		return pos
	}
	return c.Pos
}
