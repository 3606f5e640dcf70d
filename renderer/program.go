package renderer

import (
	"encoding/binary"
	"math"

	"mockserver/matcher"
	"mockserver/renderer/value"
)

// Most templates consist of text and a few placeholders. Their nodes, expressions and texts are
// spread over a dozen places in memory, which are not in any CPU cache when thousands of endpoints
// are requested in turn. The program of such a template contains the same data in one block of
// memory.

// An instruction begins with its kind and a two-byte number.
const (
	sayText  = iota // a text with that number of bytes, which follows
	sayParam        // the path parameter with that number, written by the writer that follows
	sayNode         // the output of the node with that number
)

const (
	instructionHead = 3
	// maxProgram limits the memory for a program in addition to the nodes, in bytes. Copying larger
	// texts costs more than finding them.
	maxProgram = 1 << 10
)

// programOf returns the program of a template; nil for a template with loops, and for one whose
// program would be too large.
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

// Ready is a template together with its program. The zero Ready means no template.
type Ready struct {
	program  []byte
	template *Template
}

// Ready returns t together with its program.
func (t *Template) Ready() Ready { return Ready{t.program, t} }

// In returns t with its program copied to room, if the program fits.
func (t Ready) In(room []byte) Ready {
	if n := len(t.program); n > 0 && n <= len(room) {
		t.program = room[:copy(room, t.program):n]
	}
	return t
}

// IsNone reports whether there is no template.
func (t *Ready) IsNone() bool { return t.template == nil }

// Append does the same as Append of the template.
func (t *Ready) Append(dst []byte, r *matcher.Request) []byte {
	if t.program == nil || r.Stopped != nil {
		return t.template.Append(dst, r)
	}
	return t.template.run(t.program, dst, len(dst)+r.Most(), r, nil)
}

// IsBrief reports whether rendering takes no longer than copying texts and values: there are no
// loops and there is not much text.
func (t *Ready) IsBrief() bool { return t.template == nil || t.program != nil }

func instruct(program []byte, kind byte, n int) []byte {
	return binary.LittleEndian.AppendUint16(append(program, kind), uint16(n))
}

// isParam reports whether the value is a path parameter without filters.
func (e *expr) isParam() bool {
	return e.op == opPathParam && e.index >= 0 && e.index <= math.MaxUint16 && !e.length && e.memo == 0 && len(e.filters) == 0
}

// run executes the program of t, until dst is longer than most or r is Stopped for another reason.
func (t *Template) run(program, dst []byte, most int, r *matcher.Request, around *frame) []byte {
	for left := program; len(left) > 0; {
		kind, n := left[0], int(binary.LittleEndian.Uint16(left[1:]))
		left = left[instructionHead:]
		switch kind {
		case sayText:
			dst = append(dst, left[:n]...)
			left = left[n:]
		case sayParam:
			dst = writer(left[0]).append(dst, value.OfText(r.Param(n)))
			left = left[1:]
		default:
			dst = appendNodes(dst, t.nodes[n:n+1], most, r, around)
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
