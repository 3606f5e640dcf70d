package syntax

import (
	"fmt"
	"strconv"
	"strings"

	"mockserver/internal/wording"
)

// MaxDepth limits how deeply values are nested, so that processing them never exhausts the stack.
const MaxDepth = 1000

// tree is the common state of the readers of all syntaxes while they build nodes: the current
// position, and the problems.
type tree struct {
	Collector
	src  *source
	path []step
	slab []Node // memory for nodes, which are numerous and are released together
}

// newNode allocates a node.
func (t *tree) newNode(kind Kind, text Text) *Node {
	const first, most = 32, 256 // of a slab
	if len(t.slab) == cap(t.slab) {
		t.slab = make([]Node, 0, max(first, min(2*cap(t.slab), most)))
	}
	t.slab = append(t.slab, Node{Kind: kind, Text: text})
	return &t.slab[len(t.slab)-1]
}

// step is one part of a key path: an index or a key.
type step struct {
	index int
	key   string
	named bool // it is a key
}

// maxSteps limits a key path, because a path with a thousand keys is useless, and each error has a
// key path.
const maxSteps = 32

// keyPath returns "[2].endpoint.path" for the current node.
func (t *tree) keyPath() string {
	var b strings.Builder
	for i, s := range t.path {
		switch {
		case i == maxSteps:
			return b.String() + "…"
		case !s.named:
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
			continue
		case i > 0:
			b.WriteByte('.')
		}
		b.WriteString(wording.Label(s.key))
	}
	return b.String()
}

func (t *tree) push(s step) { t.path = append(t.path, s) }
func (t *tree) pop()        { t.path = t.path[:len(t.path)-1] }

func (t *tree) wrong(pos Pos, format string, args ...any) {
	if t.Full() {
		return // the message would be dropped
	}
	t.Add(Problem{Pos: pos, Key: t.keyPath(), What: fmt.Sprintf(format, args...)})
}

// entries collects the entries of one map, whose keys must differ.
type entries struct {
	list  []Entry
	index map[string]int // used if the map is large
}

// find returns the index of a key in the list, or -1.
func (e *entries) find(key string) int {
	const large = 16
	if e.index == nil {
		if len(e.list) < large {
			for i := range e.list {
				if e.list[i].Key.Text.Value == key {
					return i
				}
			}
			return -1
		}
		e.index = make(map[string]int, 2*large)
		for i := range e.list {
			e.index[e.list[i].Key.Text.Value] = i
		}
	}
	if i, ok := e.index[key]; ok {
		return i
	}
	return -1
}

// add appends an entry whose key is not in the list.
func (e *entries) add(key, value *Node) {
	if e.index != nil {
		e.index[key.Text.Value] = len(e.list)
	}
	e.list = append(e.list, Entry{Key: key, Value: value})
}

// put adds an entry, or reports that its key is a duplicate.
func (t *tree) put(e *entries, key, value *Node) {
	if i := e.find(key.Text.Value); i >= 0 {
		t.wrong(key.Pos(), "the key %q is already given on line %d; a key may occur only once in a map",
			wording.Clip(key.Text.Value), e.list[i].Key.Pos().Line)
		return
	}
	e.add(key, value)
}
