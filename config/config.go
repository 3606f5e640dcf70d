// Package config reads and checks configurations, which are written in the configuration language,
// in files or in Go. The settings of the process are in package settings.
//
// A configuration is a list, written in YAML, JSON or EDN; docs/configuration.md describes its keys.
// Reading never stops at the first error: a Spec contains every problem found, each with its
// position.
package config

import "mockserver/config/syntax"

// The positions and problems of a configuration. They are documented in package syntax.
type (
	// Pos is a position in a file.
	Pos = syntax.Pos
	// Problem is an error or a warning, with its position.
	Problem = syntax.Problem
	// Problems are all problems of a configuration. They are also an error: see Problems.Err.
	Problems = syntax.Problems
)
