package text

import (
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// shapes are patterns for the strings of formats, the likeliest first. They are used for strings
// that must also match a pattern. The results are then checked against the format.
var shapes = map[string][]string{
	"uuid":      {`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, `^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`},
	"date":      {`^20[0-9]{2}-` + monthAndDay + `$`, `^[0-9]{4}-` + monthAndDay + `$`},
	"date-time": {`^20[0-9]{2}-` + monthAndDay + `T` + clockTime + `$`, `^[0-9]{4}-` + monthAndDay + `T` + clockTime + `$`},
	"time":      {`^` + clockTime + `$`},
	"email":     {`^[a-z0-9]{1,20}([.+_-][a-z0-9]{1,20}){0,3}@([a-z0-9]{1,20}[.-]){1,4}[a-z]{2,10}$`, `^[A-Za-z0-9._+-]{1,60}@[A-Za-z0-9.-]{1,60}$`},
	"hostname":  {`^([a-z0-9]{1,20}[.-]){1,5}[a-z]{2,10}$`, `^[A-Za-z0-9.-]{1,200}$`},
	"ipv4":      {`^(` + octet + `\.){3}` + octet + `$`},
	"uri":       {`^[a-z]{2,9}://[a-z0-9.-]{1,60}(:[0-9]{2,4})?(/[A-Za-z0-9._~-]{0,40}){0,8}(\?[a-z0-9=&]{1,60})?$`, `^[A-Za-z]+:[!-~]*$`},
}

const (
	monthAndDay = `(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])`
	clockTime   = `([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9])`
	octet       = `(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])`
)

// ShapesOf returns the shapes of a format; none when the format has no pattern.
func ShapesOf(name string) []string {
	name = strings.ToLower(name)
	switch name {
	case "guid":
		name = "uuid"
	case "url", "iri":
		name = "uri"
	case "idn-email":
		name = "email"
	}
	return shapes[name]
}

// mostSteps limits how many prefixes are extended in the search for a string that matches several
// patterns.
const mostSteps = 5000

// walk searches for a string that matches several expressions, character by character, by running a
// machine for each of them.
type walk struct {
	machines []*machine
	random   *rand.Rand
	low      int
	high     int
	steps    int
	dead     map[string]bool // states from which no string was found
	text     []rune
}

// Together generates a string that matches all patterns. It returns false when it finds none.
func Together(r *rand.Rand, patterns []*Pattern, low, high int) (string, bool) {
	w := walk{random: r, low: low, high: high, steps: mostSteps, dead: map[string]bool{}}
	var states [][]uint32
	for _, p := range patterns {
		for _, machine := range p.machines() {
			if machine == nil {
				return "", false
			}
			w.machines = append(w.machines, machine)
			states = append(states, []uint32{machine.start})
		}
	}
	if !w.from(states) {
		return "", false
	}
	return string(w.text), true
}

// largestMachine limits the size of the machines that are run together.
const largestMachine = 5000

// machineOf returns the machine that reads, character by character, strings with a match of the
// expression anywhere. It returns nil when the machine would be too large.
func machineOf(expression string) *machine {
	tree, err := syntax.Parse("(?s:.*)(?:"+expression+")(?s:.*)", syntax.Perl)
	if err != nil {
		return nil
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil || len(program.Inst) > largestMachine {
		return nil
	}
	m := &machine{Inst: program.Inst, start: uint32(program.Start), live: make([]bool, len(program.Inst))}
	for more := true; more; {
		more = false
		for pc := range m.Inst {
			if !m.live[pc] && m.leadsOn(&m.Inst[pc]) {
				m.live[pc], more = true, true
			}
		}
	}
	return m
}

// machine is the program of a regular expression.
type machine struct {
	Inst  []syntax.Inst
	start uint32
	live  []bool // states that can reach a match after the beginning of a string
}

func (m *machine) leadsOn(inst *syntax.Inst) bool {
	switch inst.Op {
	case syntax.InstMatch:
		return true
	case syntax.InstFail:
		return false
	case syntax.InstAlt, syntax.InstAltMatch:
		return m.live[inst.Out] || m.live[inst.Arg]
	case syntax.InstEmptyWidth:
		return syntax.EmptyOp(inst.Arg)&syntax.EmptyBeginText == 0 && m.live[inst.Out]
	}
	return m.live[inst.Out]
}

// from continues the search from the given states of the machines, and reports whether it found a
// string.
func (w *walk) from(states [][]uint32) bool {
	if len(w.text) >= w.low && w.ends(states) {
		return true
	}
	key := strconv.Itoa(len(w.text))
	for _, s := range states {
		for _, pc := range s {
			key += " " + strconv.Itoa(int(pc))
		}
		key += ","
	}
	if w.steps--; w.steps < 0 || len(w.text) >= w.high || w.dead[key] {
		return false
	}
	for _, c := range w.candidates(states) {
		if next := w.step(states, c); next != nil {
			w.text = append(w.text, c)
			if w.from(next) {
				return true
			}
			w.text = w.text[:len(w.text)-1]
		}
	}
	w.dead[key] = true
	return false
}

// before returns the previous character; -1 at the beginning.
func (w *walk) before() rune {
	if len(w.text) == 0 {
		return -1
	}
	return w.text[len(w.text)-1]
}

// ends reports whether all machines accept the string as is.
func (w *walk) ends(states [][]uint32) bool {
	for i, machine := range w.machines {
		matched := func(pc uint32) bool { return machine.Inst[pc].Op == syntax.InstMatch }
		if !slices.ContainsFunc(reached(machine, states[i], syntax.EmptyOpContext(w.before(), -1)), matched) {
			return false
		}
	}
	return true
}

// step returns the states after a character; nil when a machine does not accept it.
func (w *walk) step(states [][]uint32, c rune) [][]uint32 {
	next := make([][]uint32, len(states))
	for i, machine := range w.machines {
		for _, pc := range reached(machine, states[i], syntax.EmptyOpContext(w.before(), c)) {
			if inst := &machine.Inst[pc]; takesRune(inst, c) && machine.live[inst.Out] && !slices.Contains(next[i], inst.Out) {
				next[i] = append(next[i], inst.Out)
			}
		}
		if len(next[i]) == 0 {
			return nil
		}
		slices.Sort(next[i])
	}
	return next
}

// anyEmpty treats every position as a beginning, an end and a word boundary.
const anyEmpty = syntax.EmptyOp(0xFF)

// candidates returns a character from each class that the machines distinguish. Lower-case letters
// and digits come first, then capitals, then other characters, each group in random order.
func (w *walk) candidates(states [][]uint32) []rune {
	cuts := []rune{'0', '9' + 1, 'A', 'Z' + 1, 'a', 'z' + 1, ' ', '~' + 1, unicode.MaxRune + 1}
	for i, machine := range w.machines {
		for _, pc := range reached(machine, states[i], anyEmpty) {
			runes := machine.Inst[pc].Rune
			for j, c := range runes {
				if len(runes) == 1 {
					cuts = append(cuts, c, c+1)
				} else {
					cuts = append(cuts, c+rune(j%2))
				}
			}
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	all := make([]rune, 0, len(cuts))
	for i, low := range cuts[:len(cuts)-1] {
		all = append(all, low+rune(w.random.IntN(int(cuts[i+1]-low))))
	}
	w.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	slices.SortStableFunc(all, func(a, b rune) int { return oddness(a) - oddness(b) })
	return all
}

// oddness returns the rank of a character by readability: 0 for lower-case letters and digits.
func oddness(c rune) int {
	switch {
	case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
		return 0
	case c >= 'A' && c <= 'Z':
		return 1
	case c > ' ' && c <= '~':
		return 2
	case c >= 0xA1 && c < 0xD800 || c == ' ':
		return 3
	}
	return 4
}

func takesRune(inst *syntax.Inst, c rune) bool {
	switch inst.Op {
	case syntax.InstRune, syntax.InstRune1:
		return inst.MatchRune(c)
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return c != '\n'
	}
	return false
}

// reached returns the states that read a character or match and that can be reached from the given
// states without reading a character. place is the kind of the current position.
func reached(m *machine, from []uint32, place syntax.EmptyOp) []uint32 {
	var found []uint32
	seen := make(map[uint32]bool, len(from))
	todo := slices.Clone(from)
	for len(todo) > 0 {
		pc := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		switch inst := &m.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			todo = append(todo, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			todo = append(todo, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^place == 0 {
				todo = append(todo, inst.Out)
			}
		case syntax.InstFail:
		default:
			found = append(found, pc)
		}
	}
	return found
}
