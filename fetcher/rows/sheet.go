package rows

import (
	"slices"
	"strings"
)

// Sheet passes on the rows of a sheet whose cells the caller reads, such as one of a workbook. The
// first row names the members. Rows without text are skipped.
//
// The text of a cell in a column with a type is read as that type; other cells are not changed.
type Sheet struct {
	taker
	table
	options Options
	index   map[int]int // number of a column → its index
	cells   []*Cell     // of the current row, by the index of the column
}

// Cell is a cell that is not empty.
type Cell struct {
	Column int    // from 1
	Text   string // text, or the JSON of anything else
	JSON   bool   // whether Text is JSON
}

// NewSheet returns a Sheet. The options Name, Separator and Infer have no effect.
func NewSheet(o Options, yield Yield) (*Sheet, error) {
	o.Infer = false
	t, err := newTaker(o, yield)
	return &Sheet{taker: t, options: o}, err
}

// Row takes the cells of a row. Rows are numbered from 1 and must come in order. The line of a
// Place is the number of the row, its column the number of the cell's column.
func (s *Sheet) Row(number int, cells []Cell) error {
	if number == 1 {
		return s.head(cells)
	}
	if err := s.End(); err != nil {
		return err
	}
	clear(s.cells)
	filled := false
	for i := range cells {
		if at, ok := s.index[cells[i].Column]; ok {
			s.cells[at] = &cells[i]
			filled = filled || cells[i].Text != ""
		}
	}
	if !filled {
		return nil
	}
	return s.row(number)
}

// End returns an error if there was no first row.
func (s *Sheet) End() error {
	if len(s.columns) == 0 {
		return problem(Place{1, 1}, "first row is empty; expected the names of the members")
	}
	return nil
}

// head reads the names of the columns. Columns without a name are omitted.
func (s *Sheet) head(cells []Cell) error {
	s.index = map[int]int{}
	cells = slices.SortedStableFunc(slices.Values(cells), func(a, b Cell) int { return a.Column - b.Column })
	for _, c := range cells {
		name := strings.TrimSpace(c.Text)
		if name == "" {
			continue
		}
		s.index[c.Column] = len(s.columns)
		if wrong := s.add(s.options, name); wrong != "" {
			return problem(Place{1, c.Column}, "%s", wrong)
		}
	}
	s.cells = make([]*Cell, len(s.columns))
	if err := s.End(); err != nil {
		return err
	}
	return s.finish(s.options, s.path, Place{1, 1})
}

// row passes on the current row.
func (s *Sheet) row(number int) error {
	return s.taker.row(s.columns, Place{number, 1}, func(i int) ([]byte, bool, Place) {
		c := s.cells[i]
		if c == nil {
			return []byte("null"), true, Place{}
		}
		_, typed := s.options.Types[s.columns[i].name]
		return []byte(c.Text), c.JSON && !typed, Place{number, c.Column}
	})
}
