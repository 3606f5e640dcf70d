// Package statefile reads and writes files of changes to rows: see docs/state.md, --state.
//
// A file begins with firstLine, and has a line for each change. The last line has the number of
// changes and the checksum of all lines before it, so that a file that was cut off or damaged is
// noticed.
package statefile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc64"
	"io"
	"strings"
	"time"

	"mockserver/internal/files"
	"mockserver/internal/wording"
)

const (
	firstLine  = `{"mockserver-state":2}` + "\n"
	beginsLast = `{"end":`
)

// sumTable is the polynomial of the checksum.
var sumTable = crc64.MakeTable(crc64.ECMA)

// Change is a change to a row.
type Change struct {
	Set     string          `json:"set"`
	Part    *string         `json:"part,omitempty"`
	Key     string          `json:"key"`
	Row     json.RawMessage `json:"row,omitempty"`
	Deleted bool            `json:"deleted,omitempty"`
	Taken   bool            `json:"taken,omitempty"` // picked once; without Row, a row of the base
	Move    *Move           `json:"move,omitempty"`
}

// Move is the next move of a row. Its remaining time starts to run again when the file is loaded.
type Move struct {
	Entry uint32          `json:"entry"`
	In    time.Duration   `json:"in,omitempty"` // nanoseconds
	To    json.RawMessage `json:"to,omitempty"` // empty if the row stays as it is
}

// Replace writes a file of the changes that all passes on. The file is replaced as a whole:
// whatever happens, it contains either the old or the new content.
func Replace(path string, all func(put func(Change) error) error) (changes int, err error) {
	err = files.Replace(path, true, func(w io.Writer) error {
		sum := crc64.New(sumTable)
		summed := io.MultiWriter(w, sum)
		if _, err := io.WriteString(summed, firstLine); err != nil {
			return err
		}
		encoder := json.NewEncoder(summed)
		encoder.SetEscapeHTML(false)
		err := all(func(c Change) error {
			changes++
			return encoder.Encode(c)
		})
		if err == nil {
			_, err = w.Write(last(changes, sum))
		}
		return err
	})
	return changes, err
}

// last returns the last line of a file.
func last(changes int, sum hash.Hash64) []byte {
	return fmt.Appendf(nil, "%s%d,\"sum\":\"%016x\"}\n", beginsLast, changes, sum.Sum64())
}

// Lines reads a file.
type Lines struct {
	Changes int // number of changes that were read

	r     *bufio.Reader
	begun bool // the first line was read
	sum   hash.Hash64
}

// NewLines begins to read a file.
func NewLines(f io.Reader) *Lines {
	return &Lines{r: bufio.NewReaderSize(f, 1<<16), sum: crc64.New(sumTable)}
}

// Next returns the next change. It returns io.EOF at the end if the file is whole. An empty file has
// no changes.
func (l *Lines) Next() (c Change, err error) {
	line, err := l.r.ReadBytes('\n')
	if !l.begun && string(line) == firstLine {
		l.begun = true
		l.sum.Write(line) // never fails
		line, err = l.r.ReadBytes('\n')
	}
	switch {
	case err != nil && (!errors.Is(err, io.EOF) || !l.begun && len(line) == 0):
		return c, err
	case !l.begun:
		return c, fmt.Errorf("the first line is %q; expected %q, as this version of the server writes it", wording.Clip(string(bytes.TrimSpace(line))), strings.TrimSpace(firstLine))
	case bytes.HasPrefix(line, []byte(beginsLast)):
		return c, l.end(line)
	case err != nil:
		return c, fmt.Errorf("the file is cut off after change %d", l.Changes)
	}
	l.Changes++
	l.sum.Write(line)
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields() // so that a file of another kind is not overwritten at the end
	err = decoder.Decode(&c)
	if err == nil && (c.Set == "" || c.Key == "") {
		err = errors.New("missing set or key; expected a file that the server has written")
	} else if _, more := decoder.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("there is more text in its line")
	}
	if err != nil {
		err = fmt.Errorf("change %d: %w", l.Changes, err)
	}
	return c, err
}

// end checks the last line, and returns io.EOF if it is correct.
func (l *Lines) end(line []byte) error {
	if want := last(l.Changes, l.sum); !bytes.Equal(line, want) {
		return fmt.Errorf("the file is damaged: it ends with %s; expected %s after its %d changes", wording.Clip(string(bytes.TrimSpace(line))), bytes.TrimSpace(want), l.Changes)
	}
	if _, err := l.r.ReadByte(); err == nil {
		return errors.New("the file continues after its last line")
	}
	return io.EOF
}
