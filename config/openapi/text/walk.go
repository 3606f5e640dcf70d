package text

import (
	"math/rand/v2"
	"regexp/syntax"
	"strings"
)

// walk is an expression as a program that writes strings instead of reading them.
type walk struct {
	*syntax.Prog
	least, most []int // characters from an instruction to the end
	order       []int // of the instructions, from the end
}

func walkOf(tree *syntax.Regexp) *walk {
	program, err := syntax.Compile(tree.Simplify())
	if err != nil { // never, as regexp.Compile does the same
		program = &syntax.Prog{Inst: []syntax.Inst{{Op: syntax.InstFail}}}
	}
	w := &walk{Prog: program, least: make([]int, len(program.Inst)), most: make([]int, len(program.Inst))}
	w.visit(w.Start)
	for changed := true; changed; { // once more for each loop within a loop
		changed = false
		for _, pc := range w.order {
			least := LongestText
			if w.Inst[pc].Op == syntax.InstMatch {
				least = 0
			}
			next, ranges := w.next(pc)
			for _, to := range next {
				least = min(least, w.least[to]+min(len(ranges), 1))
			}
			changed = changed || least < w.least[pc]
			w.least[pc] = least
		}
	}
	return w
}

// next returns the instructions that may follow one, and the ranges of the character that it writes,
// if it writes one.
func (w *walk) next(pc int) (next []uint32, ranges []rune) {
	switch i := &w.Inst[pc]; i.Op {
	case syntax.InstMatch, syntax.InstFail:
		return nil, nil
	case syntax.InstAlt, syntax.InstAltMatch:
		return []uint32{i.Out, i.Arg}, nil
	case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return []uint32{i.Out}, []rune{'!', '~'}
	case syntax.InstRune, syntax.InstRune1:
		if len(i.Rune) == 1 {
			return []uint32{i.Out}, []rune{i.Rune[0], i.Rune[0]}
		}
		return []uint32{i.Out}, i.Rune
	default:
		return []uint32{i.Out}, nil
	}
}

// visit finds out how many characters can follow an instruction. Those that lead back to themselves
// can be followed by any number.
func (w *walk) visit(pc int) {
	w.least[pc], w.most[pc] = LongestText, LongestText
	most := 0
	next, ranges := w.next(pc)
	for _, to := range next {
		if w.least[to] == 0 {
			w.visit(int(to))
		}
		most = max(most, w.most[to]+min(len(ranges), 1))
	}
	w.most[pc] = min(most, LongestText)
	w.order = append(w.order, pc)
}

// write writes a string that the expression matches, of n characters if possible.
func (w *walk) write(r *rand.Rand, n int) string {
	var b strings.Builder
	pc := uint32(w.Start)
	for most := len(w.Inst) * (n + 1); most > 0; most-- { // a loop may be empty
		next, ranges := w.next(int(pc))
		if ranges != nil {
			b.WriteRune(pickRune(r, ranges))
			n--
		}
		switch len(next) {
		case 0:
			return b.String()
		case 1:
			pc = next[0]
		case 2:
			pc = w.choose(r, n, next[0], next[1])
		}
	}
	return b.String()
}

// choose picks one of two instructions that n characters can follow, or else the one that needs the
// fewest. Chance decides also between equals, so that no empty loop is endless.
func (w *walk) choose(r *rand.Rand, n int, a, b uint32) uint32 {
	can := func(pc uint32) bool { return w.least[pc] <= n && n <= w.most[pc] }
	switch {
	case can(a) && can(b), !can(a) && !can(b) && w.least[a] == w.least[b]:
		return [2]uint32{a, b}[r.IntN(2)]
	case can(a) || !can(b) && w.least[a] < w.least[b]:
		return a
	}
	return b
}
