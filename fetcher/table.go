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
	numbers := map[string]int{} // of names tried for a repeated key: starting at 2 each time would be quadratic
	for _, c := range cells {
		key := strings.TrimSpace(c.Text)
		if key == "" {
			continue
		}
		if first := key; taken[key] {
			isFirst := numbers[first] == 0
			for taken[key] {
				numbers[first]++
				key = first + "_" + strconv.Itoa(numbers[first]+1)
			}
			if column, _ := excelize.ColumnNumberToName(c.Column); isFirst {
				t.notes = append(t.notes, fmt.Sprintf("key %q is repeated from column %s on; repeated keys are named %q and so on", first, column, key))
			}
		}
		taken[key] = true
		t.index[c.Column] = len(t.keys)
		t.keys = append(t.keys, string(append(json.AppendString(nil, []byte(key)), ':')))
	}
	t.cells = make([]*rows.Cell, len(t.keys))
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
