package samples

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"mockserver/internal/wording"
)

// MaxLength is the longest length that is read.
const MaxLength = 24 * time.Hour

// MaxSize is the maximum size of a file, unpacked, in bytes.
const MaxSize = 1 << 30

// Options say what a file does not say itself.
type Options struct {
	Unit   time.Duration // of numbers; 0 if it is not given
	Column string        // of a table: the name of the column; "" for the first
}

// Problem is an error in a file. Line and column start at 1; 0 is not known.
type Problem struct {
	Line, Column int
	What         string // what is wrong, and what is expected
}

// Error returns "line:column: what is wrong", for which the caller knows the file.
func (p *Problem) Error() string {
	switch {
	case p.Line == 0:
		return p.What
	case p.Column == 0:
		return fmt.Sprintf("%d: %s", p.Line, p.What)
	}
	return fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.What)
}

// Units are the units of numbers, by name.
var Units = map[string]time.Duration{"ns": time.Nanosecond, "us": time.Microsecond, "ms": time.Millisecond, "s": time.Second}

// Read reads a file of measured lengths:
//
//   - a recording of this program, of which each answer is a sample to its first byte
//   - a log of HdrHistogram (V2 and before); numbers are nanoseconds unless Options say otherwise
//   - percentiles as wrk2, wrk, vegeta and HdrHistogram print them; a table without a unit has milliseconds
//   - a report of vegeta in JSON
//   - a table, .csv or .tsv: a column of durations, or of numbers with a unit
//
// An error of the file's content is a *Problem.
func Read(name string, r io.Reader, o Options) (Curve, error) {
	l := &lines{r: bufio.NewReaderSize(r, 64<<10)}
	head, err := l.r.Peek(4 << 10)
	if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		return Curve{}, err
	}
	c, err := l.read(strings.ToLower(name), strings.TrimPrefix(string(head), "\uFEFF"), o)
	switch {
	case err != nil:
		return Curve{}, err
	case c.Count == 0:
		return Curve{}, &Problem{What: "has no sample"}
	case c.Max > MaxLength:
		return Curve{}, &Problem{What: fmt.Sprintf("has a length of %v; expected 24h at most", c.Max)}
	}
	return c, nil
}

// read recognizes a file by its content, and tables by their name.
func (l *lines) read(name, head string, o Options) (Curve, error) {
	switch {
	case strings.HasPrefix(head, `{"mockserver":"recording"`):
		return l.recording()
	case strings.HasPrefix(head, "{"):
		return l.vegeta()
	case strings.HasPrefix(head, "#[") || strings.Contains(head, ",HIST"):
		return l.hdr(o)
	case filepath.Ext(name) == ".csv" || filepath.Ext(name) == ".tsv" || filepath.Ext(name) == ".jtl":
		return l.table(name, o)
	case percentiles(head):
		return l.spectrum(o)
	}
	return Curve{}, &Problem{Line: 1, Column: 1, What: "is not known; expected a recording, a log of HdrHistogram, percentiles of wrk2 or vegeta, or a table named .csv"}
}

// lines reads a file line by line.
type lines struct {
	r    *bufio.Reader
	line int
	buf  []byte
}

// maxLine is the longest line that is read, in bytes: an exchange with both bodies.
const maxLine = 64 << 20

// next returns the next line without its line break. It is valid until the next call. whole reports
// whether the line ended. A line that the end of the file cuts off is returned as well.
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

func (l *lines) problem(what string, args ...any) error {
	if len(args) > 0 {
		what = fmt.Sprintf(what, args...)
	}
	return &Problem{Line: l.line, Column: 1, What: what}
}

// length returns a duration that is written with a unit, or a number in one.
func length(text string, unit time.Duration) (time.Duration, string) {
	text = strings.TrimSpace(text)
	d, err := time.ParseDuration(text)
	if err != nil || d == 0 {
		f, wrong := number(text)
		switch {
		case wrong != nil:
			return 0, fmt.Sprintf("%q is not a duration; expected a number, or a duration such as 8.1ms", wording.Clip(text))
		case unit == 0:
			return 0, fmt.Sprintf("%q has no unit; expected a duration such as 8.1ms, or unit: ms beside from", wording.Clip(text))
		case f*float64(unit) > float64(MaxLength):
			return 0, fmt.Sprintf("%q is longer than 24h", wording.Clip(text))
		}
		d = time.Duration(f*float64(unit) + 0.5)
	}
	if d < 0 || d > MaxLength {
		return 0, fmt.Sprintf("%q is outside of 0 to 24h", wording.Clip(text))
	}
	return d, ""
}
