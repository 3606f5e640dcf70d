package item

import (
	"fmt"
	"slices"

	"mockserver/config/syntax"
)

// declared is implemented by the declarations that can be made in Go.
type declared[T any] interface {
	*T
	madeInGo() bool
	complete()
	faults(reported map[string]bool) syntax.Problems
	Claim(ps syntax.Problems) syntax.Problems
}

// Complete completes the declarations of one kind that were made in Go. It separates the valid ones
// from the broken ones, and returns the latter after were, those that were already broken.
func Complete[T any, P declared[T]](kind string, all, were []T, problems *syntax.Problems) (sound, broken []T) {
	sound, broken = make([]T, 0, len(all)), slices.Clone(were)
	number := 0
	for _, one := range all {
		if !P(&one).madeInGo() {
			sound = append(sound, one)
			continue
		}
		p := newPlacer(number)
		one = copied(p.copier, &one, fmt.Sprintf("[%d].%s", number, kind))
		number++
		P(&one).complete()
		found := P(&one).Claim(append(p.problems, P(&one).faults(p.faulty)...))
		*problems = append(*problems, found...)
		if found.Err() == nil {
			sound = append(sound, one)
		} else {
			broken = append(broken, one)
		}
	}
	return sound, broken
}

// claim names the declaration at pos in those problems that have no position in a file.
func claim(ps syntax.Problems, pos syntax.Pos, name string) syntax.Problems {
	for i := range ps {
		if ps[i].Pos.File == "" && pos.Line == 0 {
			ps[i].Endpoint = name
		}
	}
	return ps
}

// placer sets the positions of a declaration made in Go and of its texts.
type placer struct {
	copier
	problems syntax.Problems // found while the texts were copied
	faulty   map[string]bool // the keys of these problems
}

// newPlacer returns the placer of a declaration, given its number among those made in Go.
func newPlacer(number int) *placer {
	p := &placer{faulty: map[string]bool{}}
	p.copier = copier{pos: syntax.Pos{Column: number + 1}, keys: true, text: func(t syntax.Text, key string) syntax.Text {
		t.Pos, t.Key = p.pos, key
		if fault := t.Fault(); fault != "" {
			p.problems = append(p.problems, syntax.Problem{Pos: t.Pos, Key: key, What: fault})
			p.faulty[key] = true
		}
		return t
	}}
	return p
}
