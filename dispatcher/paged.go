package dispatcher

// paged is an array that grows without moving its elements: a million entries are never copied at
// once, and pointers into it remain valid.
type paged[T any] struct{ pages []*[pageSize]T }

const pageSize = 1 << 10

// has reports whether the array has grown to i.
func (p *paged[T]) has(i uint32) bool { return int(i/pageSize) < len(p.pages) }

// at returns element i. The array must have grown to i.
func (p *paged[T]) at(i uint32) *T { return &p.pages[i/pageSize][i%pageSize] }

// grow makes the array grow to i if necessary, and returns element i. A new element is zero.
func (p *paged[T]) grow(i uint32) *T {
	for !p.has(i) {
		p.pages = append(p.pages, new([pageSize]T))
	}
	return p.at(i)
}
