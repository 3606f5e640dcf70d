// Package lazy compiles regular expressions when they are first used, which keeps the start of the
// program short.
package lazy

import (
	"regexp"
	"sync"
)

// Match returns a function that reports whether a text matches a pattern. Its first call panics if
// the pattern is invalid.
func Match(pattern string) func(s string) bool {
	compiled := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
	return func(s string) bool { return compiled().MatchString(s) }
}
