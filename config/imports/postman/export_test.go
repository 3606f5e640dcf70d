package postman

import (
	"maps"
	"slices"
)

// Fakes returns the dynamic variables that have an equivalent.
func Fakes() []string {
	return append(slices.Sorted(maps.Keys(fakes)), slices.Sorted(maps.Keys(expressions))...)
}
