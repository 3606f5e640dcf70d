// Package rows reads files of rows: CSV, TSV, JSON and NDJSON, also packed. Each row becomes the
// text of one JSON object, while the file is being read: what is held of a file is a buffer as
// large as its largest row, and 256 KiB at least.
//
// Digits and the order of members stay as written. A repeated member stays too; its last value
// counts, as in the rest of the program.
package rows

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"mockserver/internal/wording"
)

const (
	// maxRow is the maximum size of a row in bytes, as it is in the file and as JSON.
	maxRow = 16 << 20
	// maxKey is the maximum size of a key's text in bytes.
	maxKey = 512
)

// Options are how a file is to be read.
type Options struct {
	Name      string          // of the file; its extension says what it contains, before a .gz or .zst
	Key       string          // the member that is the key; a.b is a member of the member a
	Separator byte            // between the cells of CSV and TSV; 0: a comma in .csv, a tab in .tsv
	Types     map[string]Type // of columns; Text for all others
	Infer     bool            // columns without a type: see Type
}

// Type is the type of a column: what its cells are as JSON.
//
// An empty cell of a type other than Text is null. Without a type and with Options.Infer, an empty
// cell is null, what JSON would read as a number, true or false is that, and all else is text.
type Type uint8

// The types of columns.
const (
	Text    Type = iota
	Integer      // a JSON number without fraction and exponent
	Number       // a JSON number
	Boolean      // true or false
	JSON         // any JSON value
)

// String returns what messages call a cell of the type.
func (t Type) String() string {
	return [...]string{"text", "an integer", "a number", "true or false", "a JSON value"}[min(t, JSON)]
}

// Place is a place in a file. Line and column start at 1; the column counts bytes, without a byte
// order mark. The zero Place is the whole file.
type Place struct{ Line, Column int }

// Problem is an error in what a file contains, or in how its rows are declared. Other errors are
// those of reading and unpacking the file, and of Yield.
type Problem struct {
	Place
	What string // what is wrong, and what is expected
}

// Error returns "line:column: what is wrong", for which the caller knows the file.
func (p *Problem) Error() string {
	if p.Line == 0 {
		return p.What
	}
	return fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.What)
}

// problem returns a Problem as an error.
func problem(at Place, format string, args ...any) error {
	return &Problem{at, fmt.Sprintf(format, args...)}
}

// Yield receives a row: the text of its key, the row as a compact JSON object, and where it begins.
// Both texts are valid during the call only. An error ends the reading, and is returned as it is.
//
// The text of a key is that of a string, or the literal of a number or boolean as written. It is
// not empty. Two rows may have the same key.
type Yield func(key, row []byte, at Place) error

// extensions has a way to read each format, and the separator of its cells.
var extensions = map[string]struct {
	read      func(*reader, Options) error
	separator byte
}{
	".csv":    {readCells, ','},
	".tsv":    {readCells, '\t'},
	".json":   {readJSON, 0},
	".ndjson": {readLines, 0},
	".jsonl":  {readLines, 0},
}

// Read calls yield for each row of a file, in their order.
func Read(r io.Reader, o Options, yield Yield) error {
	name, packing := strings.ToLower(o.Name), path.Ext(strings.ToLower(o.Name))
	if unpackers[packing] != nil {
		name = strings.TrimSuffix(name, packing)
	}
	format, ok := extensions[path.Ext(name)]
	if !ok {
		return problem(Place{}, "unknown extension %q; expected .csv, .tsv, .json, .ndjson or .jsonl, also with .gz or .zst after it",
			wording.Clip(path.Ext(o.Name)))
	}
	if o.Separator == 0 {
		o.Separator = format.separator
	}
	taker, err := newTaker(o, yield)
	if err != nil {
		return err
	}
	if unpack := unpackers[packing]; unpack != nil {
		unpacked, err := unpack(r)
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		defer unpacked.Close()
		r = &bounded{r: unpacked, left: maxUnpacked}
	}
	in := &reader{window: window{r: r, at: Place{1, 1}}, taker: taker}
	if err := in.skipMark(); err != nil {
		return err
	}
	err = format.read(in, o)
	if errors.Is(err, errEmpty) {
		return problem(Place{1, 1}, "file is empty")
	}
	return err
}

// errEmpty says that there is nothing in a file but blanks.
var errEmpty = errors.New("empty")

// reader is one reading of a file.
type reader struct {
	window
	taker
	name []byte // buffer of the name of a row
}
