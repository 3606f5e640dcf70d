package renderer

import (
	"encoding/binary"
	"math"

	"mockserver/matcher"
)

// Most templates are texts and a few placeholders. Their nodes, expressions and texts lie in
// a dozen places in memory, which are in no cache when thousands of endpoints are asked in
// turn. The program of such a template says the same in one place.

// An instruction begins with its kind, and a number of two bytes.
const (
	sayText  = iota // so many bytes, which follow
	sayParam        // the path parameter of that number, by the writer that follows
	sayNode         // what the node of that number makes
)

const (
	instructionHead = 3
	// maxProgram bounds the memory that a program takes beside the nodes, in bytes. To copy
	// larger texts costs more than to find them.
	maxProgram = 1 << 10
)

// programOf returns the program of a template; nil for one that has loops, or is larger
// than it is worth.
func (t *Template) programOf() []byte {
	if t.depth > 0 {
		return nil
	}
	var made []byte
	for i := range t.nodes {
		n := &t.nodes[i]
		switch {
		case len(made)+len(n.text) > maxProgram:
			return nil
		case n.kind == literalNode:
			made = append(instruct(made, sayText, len(n.text)), n.text...)
		case n.kind == outputNode && n.expr.isParam():
			made = append(instruct(made, sayParam, n.expr.index), byte(n.write))
		default:
			made = instruct(made, sayNode, i)
		}
	}
	return append(make([]byte, 0, len(made)), made...)
}

func instruct(program []byte, kind byte, n int) []byte {
	return binary.LittleEndian.AppendUint16(append(program, kind), uint16(n))
}

// isParam reports whether the value is a path parameter and nothing is done to it.
func (e *expr) isParam() bool {
	return e.op == opPathParam && e.index >= 0 && e.index <= math.MaxUint16 && !e.length && e.memo == 0 && len(e.filters) == 0
}

// run renders by the program, until dst is longer than most.
func (t *Template) run(dst []byte, most int, r *matcher.Request) []byte {
	for left := t.program; len(left) > 0; {
		kind, n := left[0], int(binary.LittleEndian.Uint16(left[1:]))
		left = left[instructionHead:]
		switch kind {
		case sayText:
			dst = append(dst, left[:n]...)
			left = left[n:]
		case sayParam:
			dst = writer(left[0]).append(dst, textValue(r.Param(n)))
			left = left[1:]
		default:
			dst = appendNodes(dst, t.nodes[n:n+1], most, r, nil)
		}
		if len(dst) > most && r.Stopped == nil {
			r.Stopped = ErrTooLarge
		}
		if r.Stopped != nil {
			return dst
		}
	}
	return dst
}
