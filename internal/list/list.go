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

// Merge returns one item for each key, in the order in which the keys appear; add adds a later item to it.
func Merge[E any, K comparable](of []E, key func(*E) K, add func(into, one *E)) []E {
	merged, at := []E{}, map[K]int{}
	for i := range of {
		k := key(&of[i])
		if first, known := at[k]; known {
			add(&merged[first], &of[i])
			continue
		}
		at[k] = len(merged)
		merged = append(merged, of[i])
	}
	return merged
}
