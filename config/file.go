package config

import (
	"mockserver/config/syntax"
	"path/filepath"
)

// absolutePath is the path from the root; as it is when there is no working directory.
func absolutePath(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}

func fileProblem(name, what string) syntax.Problem {
	return syntax.Problem{Pos: syntax.Pos{File: name}, What: what}
}
