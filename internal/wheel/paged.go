package wheel

// Paged is an array that grows without moving its elements: a million entries are never copied at
// once, and pointers into it remain valid.
type Paged[T any] struct{ pages []*[pageSize]T }

const pageSize = 1 << 10

// Has reports whether the array has grown to i.
func (p *Paged[T]) Has(i uint32) bool { return int(i/pageSize) < len(p.pages) }

// At returns element i. The array must have grown to i.
func (p *Paged[T]) At(i uint32) *T { return &p.pages[i/pageSize][i%pageSize] }

// Grow makes the array grow to i if necessary, and returns element i. A new element is zero.
func (p *Paged[T]) Grow(i uint32) *T {
	for !p.Has(i) {
		p.pages = append(p.pages, new([pageSize]T))
	}
	return p.At(i)
}
