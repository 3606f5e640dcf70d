// Package rows reads files of rows: CSV, TSV, JSON and NDJSON, optionally packed. Each row becomes
// the text of one JSON object while the file is being read. The buffer is as large as the largest
// row requires, and at least 256 KiB.
//
// Digits and the order of members are kept as written. Repeated members are also kept; the last
// value counts, as in the rest of the program.
package rows

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"mockserver/internal/files"
	"mockserver/internal/wording"
)

// extensions contains, for each extension, the function that reads the format, and the separator of
// its cells.
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

// Read calls yield for each row of a file, in order.
func Read(r io.Reader, o Options, yield Yield) error {
	name, packing := strings.ToLower(o.Name), path.Ext(strings.ToLower(o.Name))
	unpack := files.Unpacker(packing)
	if unpack != nil {
		name = strings.TrimSuffix(name, packing)
	}
	format, ok := extensions[path.Ext(name)]
	if !ok {
		return problem(Place{}, "unknown extension %q; expected .csv, .tsv, .json, .ndjson or .jsonl, also with .gz or .zst after it",
			wording.Clip(path.Ext(o.Name)))
	}
	o.Separator = cmp.Or(o.Separator, format.separator)
	taker, err := newTaker(o, yield)
	if err != nil {
		return err
	}
	if unpack != nil {
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
