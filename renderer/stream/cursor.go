package stream

import (
	"time"

	"mockserver/config/item"
	"mockserver/matcher"
	"mockserver/renderer"
)

// Cursor goes through the items of a stream for one request. Goroutines may use it one after another. Until the stream
// has ended, it uses the arena of the request, which nothing else may truncate. If the request is Stopped after a call,
// the stream cannot go on.
type Cursor struct {
	items  *Items
	turns  renderer.Turns
	levels []level // the lists that are open, the innermost last
	node   *node   // the present item
	piece  []byte  // of a file
	id     []byte
	index  int
	rounds int // of loops without an end, that have begun

	limited bool
}

// level is a place in a list of items.
type level struct {
	nodes []node
	at    int
	begun bool   // an iteration of the node has begun
	left  []byte // the rest of a file
}

// Begin sets a cursor before the first item. It reuses the memory of the cursor.
func (s *Items) Begin(c *Cursor) {
	levels := c.levels
	if cap(levels) < s.levels {
		levels = make([]level, 0, s.levels)
	}
	*c = Cursor{items: s, turns: c.turns, levels: append(levels[:0], level{nodes: s.nodes}), id: c.id[:0], index: -1}
	c.turns.Begin(s.loops)
}

// Next moves to the next item to be sent, and evaluates for this what decides about it: for, times, if. It returns
// false after the last one.
func (c *Cursor) Next(r *matcher.Request) (next *Item, ok bool) {
	r.SetNow(time.Now())
	if c.index+1 >= item.MaxStreamItems {
		c.limited = true
		return nil, false
	}
	c.turns.Item(c.index + 1)
	for r.Stopped == nil {
		l := &c.levels[len(c.levels)-1]
		switch {
		case l.at < len(l.nodes):
		case len(c.levels) == 1:
			return nil, false
		default:
			c.levels = c.levels[:len(c.levels)-1]
			continue
		}
		n := &l.nodes[l.at]
		c.turns.Spend(r)
		switch {
		case !c.turn(l, n, r):
			l.at, l.begun = l.at+1, false
		case !c.holds(n, r):
		case n.group != nil:
			c.levels = append(c.levels, level{nodes: n.group})
		default:
			c.node = n
			c.index++
			return n.item, true
		}
	}
	return nil, false
}

// Replace replaces the present item and all after it by the first item of another stream.
func (c *Cursor) Replace(by *Items, r *matcher.Request) { c.BeginAt(by, c.index, r) }

// BeginAt sets a cursor to the first item of a stream, which is sent after so many others.
func (c *Cursor) BeginAt(items *Items, index int, r *matcher.Request) {
	items.Begin(c)
	c.index = index - 1
	c.Next(r)
}

// holds evaluates the condition of a node.
func (c *Cursor) holds(n *node, r *matcher.Request) bool {
	if n.cond == nil {
		return true
	}
	mark := len(r.Arena)
	holds := n.cond.HoldsIn(r, &c.turns)
	r.Arena = r.Arena[:mark]
	return holds
}

// turn begins the next iteration of a node, if there is one. A node without a loop has one.
func (c *Cursor) turn(l *level, n *node, r *matcher.Request) bool {
	first := !l.begun
	l.begun = true
	switch {
	case n.file != nil:
		if first {
			l.left = n.file.content
		}
		if len(l.left) == 0 {
			return false
		}
		c.piece, l.left = n.file.next(l.left)
		return true
	case n.loop == nil:
		return first
	case first && n.loop.Begin(&c.turns, r, item.MaxStreamItems):
		c.limited = true
	}
	next := n.loop.Next(&c.turns, r)
	if next && n.endless {
		c.rounds++
	}
	return next
}

// Rounds returns how many iterations of loops without an end have begun.
func (c *Cursor) Rounds() int { return c.rounds }

// Append appends what the present item sends.
func (c *Cursor) Append(dst []byte, r *matcher.Request) []byte {
	r.SetNow(time.Now())
	mark, begin := len(r.Arena), len(dst)
	for i := range c.node.item.parts {
		dst = c.node.item.parts[i].append(dst, r, &c.turns, c.piece)
		r.Arena = r.Arena[:mark]
	}
	if len(dst)-begin > r.Most() && r.Stopped == nil {
		r.Stopped = renderer.ErrTooLarge
	}
	return dst
}

// ID returns the id of the present item, and whether it has one. It is valid until the next call.
func (c *Cursor) ID(r *matcher.Request) (id []byte, ok bool) {
	p := c.node.item.id
	if p == nil {
		return nil, false
	}
	mark := len(r.Arena)
	c.id = p.append(c.id[:0], r, &c.turns, nil)
	r.Arena = r.Arena[:mark]
	return c.id, true
}

// Limited reports whether the stream has fewer items than declared, because there would be more than
// item.MaxStreamItems.
func (c *Cursor) Limited() bool { return c.limited }
