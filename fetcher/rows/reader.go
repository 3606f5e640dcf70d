package rows

import (
	"cmp"
	"errors"
	"io"

	"mockserver/internal/json"
)

// reader reads one file.
type reader struct {
	window
	taker
	name []byte // buffer of the name of a row
}

// errEmpty is the error for a file that contains nothing but blanks.
var errEmpty = errors.New("empty")

// value returns the JSON value at the beginning of the window. Brackets and quotes determine where
// the value ends. The value is not checked, and the end of the file may cut it short.
func (r *reader) value() ([]byte, error) {
	for {
		if n, ok := valueEnd(r.text()); ok {
			return r.text()[:n], nil
		}
		switch err := r.more(); {
		case errors.Is(err, io.EOF):
			return r.text(), nil
		case errors.Is(err, errTooLarge):
			return nil, problem(r.at, "row is %v, or a bracket or a quote is not closed", errTooLarge)
		case err != nil:
			return nil, err
		}
	}
}

// check checks a text at the beginning of the window, without blanks around it.
func (r *reader) check(text []byte) (json.Value, error) {
	v := json.Parse(text)
	if len(v.Raw) == len(text) { // Raw is shorter if a byte order mark precedes the value
		return v, nil
	}
	at, what := fault(text)
	return v, problem(r.place(at), "%s", cmp.Or(what, "not valid JSON"))
}
