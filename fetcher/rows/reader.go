package rows

import (
	"errors"
	"io"

	"mockserver/matcher/json"
)

// reader is one reading of a file.
type reader struct {
	window
	taker
	name []byte // buffer of the name of a row
}

// errEmpty says that there is nothing in a file but blanks.
var errEmpty = errors.New("empty")

// value returns the JSON value at the beginning of the window, as far as brackets and quotes show
// where it ends. It is not checked, and it may be cut short by the end of the file.
func (r *reader) value() ([]byte, error) {
	for {
		if n, ok := valueEnd(r.text()); ok {
			return r.text()[:n], nil
		}
		switch err := r.more(); {
		case errors.Is(err, io.EOF):
			return r.text(), nil
		case errors.Is(err, errTooLarge):
			return nil, r.tooLarge()
		case err != nil:
			return nil, err
		}
	}
}

// tooLarge returns the error of a window that ends within a row: an earlier error in the row, such
// as a missing bracket, may be why the row seems to be too large.
func (r *reader) tooLarge() error {
	if at, what := fault(r.text()); what != "" && what != short {
		return problem(r.place(at), "%s", what)
	}
	return problem(r.at, "row is %v", errTooLarge)
}

// check checks a text at the beginning of the window, which has no blanks around it.
func (r *reader) check(text []byte) (json.Value, error) {
	v := json.Parse(text)
	if len(v.Raw) == len(text) { // it is shorter after a byte order mark
		return v, nil
	}
	at, what := fault(text)
	if what == "" {
		what = "not valid JSON"
	}
	return v, problem(r.place(at), "%s", what)
}
