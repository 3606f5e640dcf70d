// Package list makes slices of other slices.
package list

// Map returns what f returns for each item, in order.
func Map[E, T any](of []E, f func(E) T) []T {
	all := make([]T, len(of))
	for i := range of {
		all[i] = f(of[i])
	}
	return all
}
