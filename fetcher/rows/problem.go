package rows

import "fmt"

// Place is a position in a file. Line and column start at 1; the column counts bytes, without a
// byte order mark. The zero Place is the whole file.
type Place struct{ Line, Column int }

// Problem is an error in the content of a file, or in the declaration of its rows. Other errors
// come from reading and unpacking the file, and from Yield.
type Problem struct {
	Place
	What string // what is wrong, and what is expected
}

// Error returns "line:column: what is wrong". It does not name the file, which the caller knows.
func (p *Problem) Error() string {
	if p.Line == 0 {
		return p.What
	}
	return fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.What)
}

func problem(at Place, format string, args ...any) error {
	return &Problem{at, fmt.Sprintf(format, args...)}
}
