package fetcher

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/xuri/excelize/v2"

	"mockserver/fetcher/rows"
	"mockserver/internal/json"
	"mockserver/internal/wording"
)

// table converts the rows of a sheet to a JSON array with one object per row.
type table struct {
	limit int64    // limit of out, in bytes
	notes []string // warnings
	out   []byte

	keys  []string     // as JSON with the colon, in the order of columns
	index map[int]int  // column → key
	cells []*rows.Cell // of the current row, by key; nil for an empty one
}

// add adds a row. The first row contains the keys.
func (t *table) add(number int, cells []rows.Cell) error {
	if number == 1 {
		t.header(cells)
		return nil
	}
	return t.row(cells)
}

// header reads the row with the keys.
func (t *table) header(cells []rows.Cell) {
	slices.SortStableFunc(cells, func(a, b rows.Cell) int { return a.Column - b.Column })
	t.keys, t.index = nil, map[int]int{}
	taken := map[string]bool{}
	repeats := map[string]*repeat{}
	var order []*repeat
	for _, c := range cells {
		key := strings.TrimSpace(c.Text)
		if key == "" {
			continue
		}
		if taken[key] {
			r := repeats[key]
			if r == nil {
				r = &repeat{key: key, column: c.Column, number: 1}
				repeats[key], order = r, append(order, r)
			}
			key = r.next(taken)
		}
		taken[key] = true
		t.index[c.Column] = len(t.keys)
		t.keys = append(t.keys, string(append(json.AppendString(nil, []byte(key)), ':')))
	}
	for _, r := range order {
		t.notes = append(t.notes, r.note())
	}
	t.cells = make([]*rows.Cell, len(t.keys))
}

// repeat is a key that occurs more than once.
type repeat struct {
	key         string
	column      int // of the first repetition
	number      int // the last number tried: starting at 2 each time would be quadratic
	count       int // of the renamed ones
	first, last string
}

// next returns an unused name for another repetition.
func (r *repeat) next(taken map[string]bool) string {
	name := r.key
	for taken[name] {
		r.number++
		name = r.key + "_" + strconv.Itoa(r.number)
	}
	r.count++
	if r.count == 1 {
		r.first = name
	}
	r.last = name
	return name
}

// note returns the warning.
func (r *repeat) note() string {
	column, _ := excelize.ColumnNumberToName(r.column)
	if r.count == 1 {
		return fmt.Sprintf("key %q occurs twice; the one in column %s is named %q", r.key, column, r.first)
	}
	return fmt.Sprintf("key %q occurs %d times; those from column %s on are named %q to %q", r.key, r.count+1, column, r.first, r.last)
}

// row adds a later row if it has a value in a column with a key.
func (t *table) row(cells []rows.Cell) error {
	clear(t.cells)
	filled := false
	for j := range cells {
		c := &cells[j]
		if i, ok := t.index[c.Column]; ok {
			t.cells[i] = c
			filled = filled || c.Text != ""
		}
	}
	if !filled {
		return nil
	}
	if len(t.out) > 1 {
		t.out = append(t.out, ',')
	}
	for i, key := range t.keys {
		t.out = append(t.out, "{,"[min(i, 1)])
		t.out = append(t.out, key...)
		switch c := t.cells[i]; {
		case c == nil:
			t.out = append(t.out, "null"...)
		case c.JSON:
			t.out = append(t.out, c.Text...)
		default:
			t.out = json.AppendString(t.out, []byte(c.Text))
		}
		if int64(len(t.out)) > t.limit {
			return fmt.Errorf("%w: as JSON, more than %s", ErrTooLarge, wording.Size(t.limit))
		}
	}
	t.out = append(t.out, '}')
	return nil
}

// finish completes the array.
func (t *table) finish() {
	t.out = append(t.out, ']')
	if len(t.keys) == 0 {
		t.notes = append(t.notes, "its first row contains no keys, so it has no columns")
	}
}
