package rows

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"mockserver/internal/json"
)

// readJSON reads a list of objects, or an object of objects, one at a time.
func readJSON(r *reader, _ Options) error {
	c, err := r.peek()
	switch {
	case errors.Is(err, io.EOF):
		return errEmpty
	case err != nil:
		return err
	case c == '[':
		err = r.rows(']', "an object")
	case c == '{':
		err = r.rows('}', "a key")
	default:
		return problem(r.at, "file begins with %q; expected a list of objects, or an object whose member names are the keys", c)
	}
	if err != nil {
		return err
	}
	if c, err = r.peek(); err == nil {
		return problem(r.at, "unexpected %q after the end of the rows", c)
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// rows reads rows from the opening bracket to the closing one: of a list, or of an object whose
// member names are the keys.
func (r *reader) rows(closing byte, item string) error {
	r.skip(1)
	c, err := r.next(fmt.Sprintf("%s or %q", item, string(closing)))
	if err != nil {
		return err
	}
	if c == closing {
		r.skip(1)
		return nil
	}
	for more := true; more; {
		switch {
		case closing == ']':
			err = r.element(nil, Place{})
		case c == '"':
			err = r.member()
		default:
			err = problem(r.at, "unexpected %q; expected a key in quotes", c)
		}
		if err == nil {
			more, err = r.comma(closing)
		}
		if err == nil && more {
			c, err = r.next(item)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// member reads a row and the name before it.
func (r *reader) member() error {
	text, err := r.value()
	if err != nil {
		return err
	}
	if _, err := r.check(text); err != nil {
		return err
	}
	r.name = append(r.name[:0], text...) // the window may move before the row is complete
	at := r.at
	r.skip(len(text))
	if err := r.colon(); err != nil {
		return err
	}
	return r.element(r.name, at)
}

// next skips blanks and returns the byte after them. The end of the file is a Problem.
func (r *reader) next(expected string) (byte, error) {
	c, err := r.peek()
	if errors.Is(err, io.EOF) {
		err = problem(r.at, "unexpected end of the file; expected %s", expected)
	}
	return c, err
}

// comma skips the text between two rows. It reports whether that text is a comma; otherwise the
// text is the closing bracket, or there is an error.
func (r *reader) comma(closing byte) (bool, error) {
	expected := `"," or "]"`
	if closing == '}' {
		expected = `"," or "}"`
	}
	c, err := r.next(expected)
	switch {
	case err != nil:
		return false, err
	case c != ',' && c != closing:
		return false, problem(r.at, "unexpected %q after a row; expected %s", c, expected)
	}
	r.skip(1)
	return c == ',', nil
}

// colon skips the colon after a key and the blanks around it.
func (r *reader) colon() error {
	c, err := r.next(`":"`)
	if err != nil {
		return err
	}
	if c != ':' {
		return problem(r.at, `unexpected %q after a key; expected ":"`, c)
	}
	r.skip(1)
	_, err = r.next("an object")
	return err
}

// element reads the row at the beginning of the window. In an object of objects, name is the JSON
// text of the row's name, and at is its position.
func (r *reader) element(name []byte, at Place) error {
	text, err := r.value()
	if err != nil {
		return err
	}
	if name == nil {
		err = r.take(text)
	} else {
		err = r.takeNamed(text, name, at)
	}
	r.skip(len(text))
	return err
}

// readLines reads a row from each line that is not empty.
func readLines(r *reader, _ Options) error {
	found := false
	for {
		line, err := r.line()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		indent := blanks(line)
		r.skip(indent)
		text := bytes.TrimRight(line[indent:], " \t\r\n")
		if len(text) > 0 {
			found = true
			if err := r.take(text); err != nil {
				return err
			}
		}
		r.skip(len(line) - indent)
	}
	if !found {
		return errEmpty
	}
	return nil
}

// line returns the line at the beginning of the window, with its line break; io.EOF if there is
// none.
func (r *reader) line() ([]byte, error) {
	for {
		text := r.text()
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			return text[:i+1], nil
		}
		switch err := r.more(); {
		case errors.Is(err, io.EOF) && len(text) > 0:
			return text, nil
		case errors.Is(err, errTooLarge):
			return nil, problem(r.at, "row is %v", errTooLarge)
		case err != nil:
			return nil, err
		}
	}
}

// take passes on a row, whose text is at the beginning of the window.
func (r *reader) take(text []byte) error {
	if _, err := r.checkRow(text); err != nil {
		return err
	}
	r.out = json.AppendCompact(r.out[:0], text)
	return r.yield(r.out, r.at)
}

// takeNamed passes on a row of an object of objects. name is the JSON text of its name, and at is
// the position of the name. A key in the row must equal the name. A row without a key gets its name
// as its key, as the first member.
func (r *reader) takeNamed(text, name []byte, at Place) error {
	row, err := r.checkRow(text)
	if err != nil {
		return err
	}
	v, missing := find(row, r.path)
	inside := offset(text, v.Raw)
	switch {
	case len(missing) == 0:
		if key := json.Parse(name); !bytes.Equal(v.AppendText(nil), key.AppendText(nil)) {
			return problem(r.place(inside), "key %q is %s; expected %s, the name of the row", r.label, quoted(v.Raw), name)
		}
		r.out = json.AppendCompact(r.out[:0], text)
		return r.yield(r.out, at)
	case v.Kind != json.Object:
		return problem(r.place(inside), "row cannot have the key %q: expected an object instead of %s", r.label, kinds[v.Kind])
	}
	r.out = json.AppendCompact(r.out[:0], text[:inside+1])
	r.out = appendMember(r.out, missing, name)
	if v.Len() > 0 {
		r.out = append(r.out, ',')
	}
	r.out = json.AppendCompact(r.out, text[inside+1:])
	return r.yield(r.out, at)
}

// checkRow returns the object of a row, whose text is at the beginning of the window.
func (r *reader) checkRow(text []byte) (json.Value, error) {
	row, err := r.check(text)
	if err == nil && row.Kind != json.Object {
		err = problem(r.at, "row is %s; expected an object", kinds[row.Kind])
	}
	return row, err
}
