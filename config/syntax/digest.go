package syntax

// fewWarnings is how many warnings of a kind are told one by one.
const fewWarnings = 3

// Digested is a warning, or several of one kind: the first of them, whose What is about
// all.
type Digested struct {
	Problem
	Count int
}

// Digest is the warnings as they are told at the start: of a kind that OpenAPI documents
// have more than three of, one stands for all.
func (ps Problems) Digest() []Digested {
	count := map[string]int{}
	for _, p := range ps {
		count[p.Kind]++
	}
	var all []Digested
	for _, p := range ps {
		switch n := count[p.Kind]; {
		case p.Kind == "", 0 < n && n <= fewWarnings:
			all = append(all, Digested{p, 1})
		case n > fewWarnings:
			p.What = p.Kind + `; "mockserver validate" lists all of them`
			all = append(all, Digested{p, n})
			count[p.Kind] = 0
		}
	}
	return all
}
