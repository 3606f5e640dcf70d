package samples

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// MaxSize is the maximum size of a file, unpacked, in bytes.
const MaxSize = 1 << 30

// Read reads a file of measured lengths:
//
//   - a recording of this program; the time to the first byte of each answer is a sample
//   - a log of HdrHistogram (V2 and before); numbers are nanoseconds unless Options say otherwise
//   - percentiles as wrk2, wrk, vegeta and HdrHistogram print them; a table without a unit has milliseconds
//   - a report of vegeta in JSON
//   - a table, .csv, .tsv or .jtl: a column of durations, or of numbers with a unit
//
// An error in the content of the file is a *Problem.
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
		return Curve{}, &Problem{What: fmt.Sprintf("has a length of %v; expected at most 24h", c.Max)}
	}
	return c, nil
}

// read recognizes a file by its content, and a table by the name of its file.
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
	return Curve{}, &Problem{Line: 1, Column: 1, What: "has an unknown format; expected a recording, a log of HdrHistogram, percentiles of wrk2 or vegeta, or a table named .csv, .tsv or .jtl"}
}
