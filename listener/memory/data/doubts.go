package data

import (
	"fmt"
	"slices"
	"strings"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/internal/wording"
	"mockserver/renderer"
)

// doubtWord returns a warning if an operand is a bare word, which is the same text for every
// request. A row of the set with that key shows that the word is meant; of may be nil.
func doubtWord(text syntax.Text, o *renderer.Operand, of *set) syntax.Problems {
	word, ok := o.Word()
	if !ok || of != nil && (of.base == nil || of.base.Has([]byte(word)) || of.Get(nil, []byte(word)).Found()) {
		return nil
	}
	return syntax.Problems{{Pos: text.Pos, Key: text.Key, Warning: true,
		What: fmt.Sprintf("%q is the same text for every request; expected a variable such as path-params.id, or the text in quotes", wording.Clip(word))}}
}

// doubtFixed does the same for an operand of a set or a scenario, whatever the endpoints.
func doubtFixed(text syntax.Text) syntax.Problems {
	o, _ := renderer.CompileOperand(text, &renderer.Scope{}) // its errors are reported for the endpoints
	if strings.Contains(text.Value, ".") {
		return nil // a member of a row that an endpoint finds
	}
	return doubtWord(text, o, nil)
}

// doubtStates returns warnings about states that nothing leads to: those in which endpoints answer,
// and those that a move leaves.
func (s *Sets) doubtStates(spec *config.Spec) (problems syntax.Problems) {
	reached := map[string][]string{}
	for name, c := range s.scenarios {
		reached[name] = append(entered(c.declared.Moves), c.declared.First)
	}
	each := func(f func(e *item.Endpoint, in *item.InState)) {
		for _, endpoints := range [][]item.Endpoint{spec.Endpoints, spec.Broken.Endpoints} {
			for i := range endpoints {
				for j := range endpoints[i].State {
					f(&endpoints[i], &endpoints[i].State[j])
				}
			}
		}
	}
	each(func(_ *item.Endpoint, in *item.InState) {
		if in.Next != "" {
			reached[in.Name.Value] = append(reached[in.Name.Value], in.Next)
		}
	})
	each(func(e *item.Endpoint, in *item.InState) {
		for _, state := range in.Is {
			if c := s.scenarios[in.Name.Value]; c != nil && c.declared.First != "" { // the missing state is an error
				problems = append(problems, e.Claim(doubtState(state, reached[in.Name.Value], in.Name.Pos, in.Name.Key))...)
			}
		}
	})
	for _, c := range s.scenarios {
		if c.declared.First == "" {
			continue
		}
		for i := range c.declared.Moves {
			m := &c.declared.Moves[i]
			problems = append(problems, doubtState(m.From, reached[c.declared.Name], m.Pos, m.Key+".from")...)
		}
	}
	return problems
}

// doubtState returns a warning unless a state is among those that are reached.
func doubtState(state string, reached []string, pos syntax.Pos, key string) syntax.Problems {
	if slices.Contains(reached, state) {
		return nil
	}
	slices.Sort(reached)
	return syntax.Problems{{Pos: pos, Key: key, Warning: true,
		What: fmt.Sprintf("nothing leads to %q%s; expected %s", wording.Clip(state), wording.DidYouMean(state, reached), wording.OneOf(slices.Compact(reached)))}}
}

// entered returns the values that moves lead to.
func entered(moves []item.Move) (all []string) {
	for i := range moves {
		for j := range moves[i].To {
			all = append(all, moves[i].To[j].Value)
		}
	}
	return all
}

// doubtSteps returns warnings about moves of a set from values that nothing leads to. Requests that
// write rows may enter any value, so if there are such requests, only a probable typo is reported.
func doubtSteps(d *item.Data, written bool) (problems syntax.Problems) {
	if d.Steps == nil || d.Steps.First == "" {
		return nil
	}
	reached := append(entered(d.Steps.Moves), d.Steps.First)
	for i := range d.Steps.Moves {
		m := &d.Steps.Moves[i]
		if !written || wording.Nearest(m.From, reached) != "" {
			problems = append(problems, doubtState(m.From, reached, m.Pos, m.Key+".from")...)
		}
	}
	return problems
}

// writtenSets returns the names of the sets to which requests can write any row.
func writtenSets(spec *config.Spec) map[string]bool {
	all := map[string]bool{}
	for i := range spec.Endpoints {
		e := &spec.Endpoints[i]
		if o := e.Resource; o != nil && (o.Name == "create" || o.Name == "replace" || o.Name == "change") {
			all[o.Set] = true
		}
		for _, changes := range doOf(e) {
			for j := range changes {
				all[changes[j].In.Value] = true
			}
		}
	}
	return all
}

// doOf returns the changes of an endpoint and of its responses.
func doOf(e *item.Endpoint) [][]item.Do {
	all := [][]item.Do{e.Do}
	for i := range e.Responses {
		all = append(all, e.Responses[i].Do)
	}
	return all
}
