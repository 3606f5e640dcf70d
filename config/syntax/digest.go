package syntax

// fewWarnings is how many warnings of a kind are reported individually.
const fewWarnings = 3

// Digested is a single warning, or the first of several of one kind, with a What for all of them.
type Digested struct {
	Problem
	Count int
}

// Digest returns the warnings in the form that is logged at the start: if OpenAPI documents have
// more than three warnings of a kind, or several joined ones, one represents all.
func (ps Problems) Digest() []Digested {
	count := map[string]int{}
	for _, p := range ps {
		count[p.Kind]++
	}
	var all []Digested
	for _, p := range ps {
		switch n := count[p.Kind]; {
		case p.Kind == "", n == 1, 0 < n && n <= fewWarnings && !p.Joined:
			all = append(all, Digested{p, 1})
		case n > 0:
			p.What = p.Kind + `; "mockserver validate" lists all of them`
			all = append(all, Digested{p, n})
			count[p.Kind] = 0
		}
	}
	return all
}
