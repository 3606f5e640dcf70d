package samples

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Problem is an error in a file. Line and column start at 1; 0 means unknown.
type Problem struct {
	Line, Column int
	What         string // what is wrong, and what is expected
}

// Error returns "line:column: what is wrong". The caller adds the name of the file.
func (p *Problem) Error() string {
	switch {
	case p.Line == 0:
		return p.What
	case p.Column == 0:
		return fmt.Sprintf("%d: %s", p.Line, p.What)
	}
	return fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.What)
}

// lines reads a file line by line.
type lines struct {
	r    *bufio.Reader
	line int
	buf  []byte
}

// maxLine is the longest line that is read, in bytes. A line may be an exchange with both bodies.
const maxLine = 64 << 20

// next returns the next line without its line break. The line is valid until the next call. whole
// reports whether it ended with a line break. A line that is cut off by the end of the file is also
// returned.
func (l *lines) next() (text []byte, whole bool, err error) {
	l.line++
	l.buf = l.buf[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		l.buf = append(l.buf, part...)
		switch {
		case err == nil:
			return l.buf[:len(l.buf)-1], true, nil
		case len(l.buf) > maxLine:
			return nil, false, l.problem("the line is longer than 64 MiB")
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(l.buf) > 0:
			return l.buf, false, nil
		default:
			return nil, false, err
		}
	}
}

// each calls f for each line, without blanks and \r at its end, until f says what is wrong.
func (l *lines) each(f func(line string) (wrong string)) error {
	for {
		text, _, err := l.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if wrong := f(strings.TrimRight(string(text), "\r ")); wrong != "" {
			return l.problem("%s", wrong)
		}
	}
}

func (l *lines) problem(what string, args ...any) error {
	if len(args) > 0 {
		what = fmt.Sprintf(what, args...)
	}
	return &Problem{Line: l.line, Column: 1, What: what}
}

// Options supply the information that a file does not contain.
type Options struct {
	Unit   time.Duration // of numbers; 0 if it is unknown
	Column string        // of a table: the name of the column; "" for the first
}
