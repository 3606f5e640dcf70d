package rows

import (
	"bytes"
	"errors"
	"io"
)

const (
	// maxRow is the maximum size of a row in bytes, both in the file and as JSON.
	maxRow = 16 << 20
	// smallest is the size at which the buffer of a window begins, in bytes.
	smallest = 256 << 10
	// maxIdle is how many times in succession a reader may return no bytes and no error.
	maxIdle = 100
)

// errTooLarge is the error for a window that has the maximum size of a row and ends within a row.
var errTooLarge = errors.New("larger than 16 MiB")

// window is the part of a file that has been read but not used.
type window struct {
	r          io.Reader
	buf        []byte
	begin, end int // of the part in buf
	at         Place
	err        error // why nothing more can be read; nil while there may be more
}

// text returns the window. It is valid until more is called.
func (w *window) text() []byte { return w.buf[w.begin:w.end] }

// ended reports whether the window extends to the end of the file.
func (w *window) ended() bool { return errors.Is(w.err, io.EOF) }

// more extends the window. It returns io.EOF at the end of the file, errTooLarge if the window has
// the size of the largest row, or the error from the reader.
//
// It reads until the buffer is full: callers that look for the end of a row start over after each
// call, so each call must double the size of the window.
func (w *window) more() error {
	if w.err != nil {
		return w.err
	}
	held := w.end - w.begin
	if held == len(w.buf) {
		if held > maxRow {
			return errTooLarge
		}
		// The buffer has two bytes more than the largest row, because the end of a row is
		// recognized by the bytes after it.
		grown := make([]byte, min(max(smallest, 2*held), maxRow+2))
		copy(grown, w.text())
		w.buf = grown
	} else {
		copy(w.buf, w.text())
	}
	w.begin, w.end = 0, held
	for idle := 0; w.end < len(w.buf) && w.err == nil; {
		n, err := w.r.Read(w.buf[w.end:])
		w.end += n
		w.err = err
		if idle++; n > 0 {
			idle = 0
		}
		if idle == maxIdle {
			w.err = io.ErrNoProgress
		}
	}
	if w.end == held {
		return w.err
	}
	return nil
}

// skip moves the beginning of the window by n bytes.
func (w *window) skip(n int) {
	w.at = w.place(n)
	w.begin += n
}

// place returns the place of the n-th byte of the window, from 0.
func (w *window) place(n int) Place {
	before := w.text()[:n]
	last := bytes.LastIndexByte(before, '\n')
	if last < 0 {
		return Place{w.at.Line, w.at.Column + n}
	}
	return Place{w.at.Line + bytes.Count(before, []byte{'\n'}), n - last}
}

// skipMark skips a byte order mark, which has no column.
func (w *window) skipMark() error {
	if err := w.more(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if bytes.HasPrefix(w.text(), []byte("\ufeff")) {
		w.begin += len("\ufeff")
	}
	return nil
}

// peek skips blanks and returns the byte after them; io.EOF at the end of the file.
func (w *window) peek() (byte, error) {
	for {
		text := w.text()
		n := blanks(text)
		w.skip(n)
		if n < len(text) {
			return text[n], nil
		}
		if err := w.more(); err != nil {
			return 0, err
		}
	}
}

// blanks returns how many of the first bytes of a JSON text are blanks.
func blanks(b []byte) int {
	n := 0
	for n < len(b) && isBlank(b[n]) {
		n++
	}
	return n
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
