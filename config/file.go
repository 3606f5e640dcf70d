package config

import (
	"mockserver/config/syntax"
	"path/filepath"
)

// absolutePath returns the absolute path, or the path itself if there is no working directory.
func absolutePath(path string) string {
	if absolute, err := filepath.Abs(path); err == nil {
		return absolute
	}
	return path
}

func fileProblem(name, what string) syntax.Problem {
	return syntax.Problem{Pos: syntax.Pos{File: name}, What: what}
}
