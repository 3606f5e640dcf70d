package mockoon

import (
	"maps"
	"slices"
)

// Fakes returns the kinds of data of faker.js that have an equivalent.
func Fakes() []string { return slices.Sorted(maps.Keys(fakes)) }

// Simple returns the helpers without arguments.
func Simple() []string { return slices.Sorted(maps.Keys(simple)) }
