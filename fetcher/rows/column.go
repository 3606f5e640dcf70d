package rows

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"mockserver/internal/json"
	"mockserver/internal/list"
	"mockserver/internal/wording"
)

// column determines how the cells of a column become members.
type column struct {
	name  string
	lead  []byte // the name as JSON, with the punctuation around it
	kind  Type
	infer bool
}

// table is the head of a table.
type table struct {
	columns []column
	taken   map[string]bool
}

// row passes on a row. cell returns the content of a column's cell, whether it is JSON that is not
// to be changed, and where it is.
func (t *taker) row(columns []column, at Place, cell func(i int) (content []byte, json bool, at Place)) error {
	row := t.out[:0]
	for i := range columns {
		c := &columns[i]
		row = append(row, c.lead...)
		content, isJSON, place := cell(i)
		ok := true
		if isJSON {
			row = append(row, content...)
		} else if row, ok = c.append(row, content); !ok {
			return problem(place, "%s", c.mismatch(content))
		}
		if len(row) > maxRow {
			return problem(Place{at.Line, 1}, "row is %v as JSON", errTooLarge)
		}
	}
	t.out = append(row, '}')
	return t.yield(t.out, at)
}

// add adds a column, or returns what is wrong with its name.
func (t *table) add(o Options, name string) (wrong string) {
	switch {
	case name == "":
		return fmt.Sprintf("column %d has no name; expected a name for each column in the first row", len(t.columns)+1)
	case t.taken[name]:
		return fmt.Sprintf("column %q occurs twice", wording.Clip(name))
	}
	if t.taken == nil {
		t.taken = map[string]bool{}
	}
	t.taken[name] = true
	kind, typed := o.Types[name]
	lead := append(json.AppendString([]byte{"{,"[min(len(t.columns), 1)]}, []byte(name)), ':')
	t.columns = append(t.columns, column{name, lead, kind, o.Infer && !typed})
	return ""
}

// finish checks that the columns named in the options exist. at is the position of the head.
func (t *table) finish(o Options, path []string, at Place) error {
	if !t.taken[path[0]] {
		return problem(at, "no column %q for the key%s", wording.Clip(path[0]), wording.DidYouMean(path[0], t.names()))
	}
	var absent []string
	for name := range o.Types {
		if !t.taken[name] {
			absent = append(absent, name)
		}
	}
	if len(absent) > 0 {
		name := slices.Min(absent)
		return problem(at, "no column %q, whose type is declared%s", wording.Clip(name), wording.DidYouMean(name, t.names()))
	}
	return nil
}

func (t *table) names() []string {
	return list.Map(t.columns, func(c column) string { return c.name })
}

// append appends a cell as JSON. It reports whether the cell has the type of the column.
func (c *column) append(dst, cell []byte) ([]byte, bool) {
	switch {
	case c.kind == Text && !c.infer:
		return json.AppendString(dst, cell), true
	case len(cell) == 0:
		return append(dst, "null"...), true
	case c.kind == Text:
		if !json.IsNumber(cell) && !isBoolean(cell) {
			return json.AppendString(dst, cell), true
		}
	case c.kind == Integer && (!json.IsNumber(cell) || bytes.ContainsAny(cell, ".eE")),
		c.kind == Number && !json.IsNumber(cell),
		c.kind == Boolean && !isBoolean(cell):
		return dst, false
	case c.kind == JSON:
		v := json.Parse(cell)
		return json.AppendCompact(dst, v.Raw), v.Kind != json.Missing
	}
	return append(dst, cell...), true
}

// mismatch returns what is wrong with a cell that does not have the type of its column.
func (c *column) mismatch(cell []byte) string {
	what := fmt.Sprintf("cell %s of column %q is not %s", quoted(cell), wording.Clip(c.name), c.kind)
	if c.kind == Boolean && isBoolean(bytes.ToLower(cell)) {
		what += fmt.Sprintf(" (did you mean %q?)", strings.ToLower(string(cell)))
	}
	return what
}

func isBoolean(cell []byte) bool { return string(cell) == "true" || string(cell) == "false" }
