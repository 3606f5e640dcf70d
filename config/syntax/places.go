package syntax

import (
	"slices"
	"strings"
)

// Places are the places of problems: their keys, and everything that contains them.
type Places map[place]struct{}

type place struct{ file, key string }

// Places returns where the problems are.
func (ps Problems) Places() Places {
	known := Places{}
	for _, p := range ps {
		for key := p.Key; key != ""; {
			known[place{p.Pos.File, key}] = struct{}{}
			key = key[:max(strings.LastIndexByte(key, '.'), 0)]
		}
	}
	return known
}

// LeaveOut removes errors that follow from known ones: errors in a text that could not be decoded,
// and errors at a key that already has an error itself or inside its value. It removes all
// warnings, because they may be due to the errors.
func (known Places) LeaveOut(problems Problems) Problems {
	return slices.DeleteFunc(problems, func(p Problem) bool {
		_, ok := known[place{p.Pos.File, p.Key}]
		return ok || p.Key == "" || p.Warning
	})
}
