package fetcher

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"

	"mockserver/internal/wording"
)

// table converts the rows of a sheet to a JSON array with one object per row.
type table struct {
	limit int64    // limit of out, in bytes
	notes []string // warnings
	out   []byte

	keys   []string    // as JSON with the colon, in the order of columns
	index  map[int]int // column → key
	values []value     // of the current row, by key
}

// add adds a row. The first row contains the keys.
func (t *table) add(number int, cells []cell) error {
	if number == 1 {
		t.header(cells)
		return nil
	}
	return t.row(cells)
}

// header reads the row with the keys.
func (t *table) header(cells []cell) {
	slices.SortStableFunc(cells, func(a, b cell) int { return a.column - b.column })
	t.keys, t.index = nil, map[int]int{}
	taken := map[string]bool{}
	repeats := map[string]*repeat{}
	var order []*repeat
	for _, c := range cells {
		key := strings.TrimSpace(c.value.text)
		if key == "" {
			continue
		}
		if taken[key] {
			r := repeats[key]
			if r == nil {
				r = &repeat{key: key, column: c.column, number: 1}
				repeats[key], order = r, append(order, r)
			}
			key = r.next(taken)
		}
		taken[key] = true
		t.index[c.column] = len(t.keys)
		t.keys = append(t.keys, string(append(appendQuoted(nil, key), ':')))
	}
	for _, r := range order {
		t.notes = append(t.notes, r.note())
	}
	t.values = make([]value, len(t.keys))
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
func (t *table) row(cells []cell) error {
	clear(t.values)
	filled := false
	for _, c := range cells {
		if i, ok := t.index[c.column]; ok {
			t.values[i] = c.value
			filled = filled || c.value.text != ""
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
		t.out = t.values[i].appendJSON(t.out)
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

func (v value) appendJSON(dst []byte) []byte {
	switch v.kind {
	case textValue:
		return appendQuoted(dst, v.text)
	case jsonValue:
		return append(dst, v.text...)
	default:
		return append(dst, "null"...)
	}
}

// appendQuoted appends s as a JSON string and escapes only what JSON requires.
func appendQuoted(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ':
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// cell is one cell of a row.
type cell struct {
	column int // from 1
	value  value
}

// value is the content of a cell: text, or the JSON of something else.
type value struct {
	text string
	kind valueKind
}

type valueKind uint8

const (
	noValue valueKind = iota
	textValue
	jsonValue
)
