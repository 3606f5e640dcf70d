package rows

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"mockserver/internal/wording"
)

// readCells reads CSV and TSV according to RFC 4180. It skips empty lines.
func readCells(r *reader, o Options) error {
	if o.Separator == '"' || o.Separator == '\n' || o.Separator == '\r' || o.Separator >= utf8.RuneSelf {
		return problem(Place{}, "invalid separator %q; expected an ASCII character other than a quote or a line break", rune(o.Separator))
	}
	c := &csv{reader: r, separator: o.Separator}
	for _, stop := range []byte{c.separator, '"', '\n', '\r'} {
		c.stops[stop] = true
	}
	n, err := c.record()
	if errors.Is(err, io.EOF) {
		return problem(Place{1, 1}, "file is empty; expected the names of the members in its first row")
	}
	if err != nil {
		return err
	}
	if err := c.head(o); err != nil {
		return err
	}
	for {
		c.skip(n)
		n, err = c.record()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := c.row(); err != nil {
			return err
		}
	}
}

// csv reads one file of cells.
type csv struct {
	*reader
	table
	separator byte
	stops     [256]bool // the bytes that end a cell without quotes, or must not be in it
	cells     []span    // of the current record
	scratch   []byte    // content of a cell with doubled quotes
}

// span is the position of a cell in its record, including its quotes.
type span struct {
	begin, end int
	quoted     bool
	doubled    bool // it contains quotes, each of them written twice
}

// record finds the cells of the next record, which is at the beginning of the window, and returns
// its size including its line break; io.EOF if there is no further record.
func (c *csv) record() (int, error) {
	for {
		n, whole, err := c.scan(c.text())
		switch {
		case err != nil:
			return 0, err
		case whole && n == 0:
			return 0, io.EOF
		case whole && len(c.cells) == 1 && c.cells[0].begin == c.cells[0].end:
			c.skip(n)
		case whole:
			return n, c.checkUTF8(n)
		default:
			if err := c.more(); errors.Is(err, errTooLarge) {
				return 0, problem(c.at, "row is %v, or a quote is not closed", errTooLarge)
			} else if err != nil && !errors.Is(err, io.EOF) {
				return 0, err
			}
		}
	}
}

// scan finds the cells of the record at the beginning of b. It returns the size of the record and
// whether b contains all of it.
func (c *csv) scan(b []byte) (n int, whole bool, err error) {
	c.cells = c.cells[:0]
	for i := 0; ; i++ {
		next := span{begin: i}
		if i < len(b) && b[i] == '"' {
			next.quoted = true
			i, next.doubled = quotedEnd(b, i)
		} else {
			for i < len(b) && !c.stops[b[i]] {
				i++
			}
		}
		next.end = i
		c.cells = append(c.cells, next)
		switch rest := b[i:]; {
		case next.quoted && i == 0:
			if c.ended() {
				err = problem(c.place(next.begin), "quote is not closed; expected a quote at the end of the cell")
			}
			return 0, false, err
		case len(rest) == 0: // if more may follow, a quote may be the first of two
			return i, c.ended(), nil
		case rest[0] == c.separator:
		case rest[0] == '\n':
			return i + 1, true, nil
		case len(rest) == 1 && rest[0] == '\r' && !c.ended():
			return 0, false, nil
		case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
			return i + 2, true, nil
		default:
			return 0, false, c.misplaced(rest[0], i)
		}
	}
}

// quotedEnd returns the offset after the closing quote of the cell that begins with the quote at i,
// and whether there are doubled quotes in it; 0 if the cell is not closed within b.
func quotedEnd(b []byte, i int) (end int, doubled bool) {
	for i++; ; i += 2 {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return 0, doubled
		}
		i += n
		if i+1 == len(b) || b[i+1] != '"' {
			return i + 1, doubled
		}
		doubled = true
	}
}

// misplaced returns the error for a byte that is not allowed at its position.
func (c *csv) misplaced(b byte, at int) error {
	switch last := c.cells[len(c.cells)-1]; {
	case last.quoted:
		return problem(c.place(at), "text after the closing quote; expected %q or the end of the line", c.separator)
	case b == '\r':
		return problem(c.place(at), "carriage return without a line feed; expected line breaks as LF or CRLF, or quotes around the cell")
	default:
		return problem(c.place(at), "quote in a cell without quotes; expected quotes around the cell, and each quote in it twice")
	}
}

// checkUTF8 checks the first n bytes of the window.
func (c *csv) checkUTF8(n int) error {
	text := c.text()[:n]
	if utf8.Valid(text) {
		return nil
	}
	return problem(c.place(validPrefix(text)), "invalid UTF-8")
}

// content returns the content of a cell of the current record. The content is valid until the next
// call.
func (c *csv) content(of span) []byte {
	text := c.text()[of.begin:of.end]
	if of.quoted {
		text = text[1 : len(text)-1]
	}
	if !of.doubled {
		return text
	}
	c.scratch = c.scratch[:0]
	for {
		n := bytes.IndexByte(text, '"')
		if n < 0 {
			c.scratch = append(c.scratch, text...)
			return c.scratch
		}
		c.scratch = append(c.scratch, text[:n+1]...)
		text = text[n+2:]
	}
}

// head reads the names of the columns from the current record.
func (c *csv) head(o Options) error {
	for _, of := range c.cells {
		if wrong := c.add(o, string(c.content(of))); wrong != "" {
			return problem(c.place(of.begin), "%s", wrong)
		}
	}
	return c.finish(o, c.path, c.at)
}

// row passes on the current record.
func (c *csv) row() error {
	if n := len(c.cells); n != len(c.columns) {
		at := c.cells[n-1].end
		if n > len(c.columns) {
			at = c.cells[len(c.columns)].begin
		}
		return problem(c.place(at), "row has %s; expected %d as in the first row", wording.Count(n, "cell"), len(c.columns))
	}
	return c.taker.row(c.columns, c.at, func(i int) ([]byte, bool, Place) {
		return c.content(c.cells[i]), false, c.place(c.cells[i].begin)
	})
}
