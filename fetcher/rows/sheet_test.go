package rows

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"mockserver/internal/json"
)

// texts returns the cells of a row of texts.
func texts(values ...string) []Cell {
	var cells []Cell
	for i, value := range values {
		cells = append(cells, Cell{Column: i + 1, Text: value})
	}
	return cells
}

// readSheet passes rows to a Sheet, from number 1.
func readSheet(o Options, rows ...[]Cell) (string, error) {
	var got strings.Builder
	s, err := NewSheet(o, func(row []byte, at Place) error {
		key, _ := find(json.Parse(row), strings.Split(o.Key, "."))
		fmt.Fprintf(&got, "%d:%d %s %s\n", at.Line, at.Column, key.AppendText(nil), row)
		return nil
	})
	for i := 0; i < len(rows) && err == nil; i++ {
		if rows[i] != nil { // nil is a row that the sheet does not store
			err = s.Row(i+1, rows[i])
		}
	}
	if err == nil {
		err = s.End()
	}
	return got.String(), err
}

func TestSheet_Bad(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    Options
		rows [][]Cell
		want string
	}{
		{"no key declared", Options{}, nil, "key is empty"},
		{"nothing", options(""), nil, "1:1: first row is empty"},
		{"an empty head", options(""), [][]Cell{{}, texts("1")}, "1:1: first row is empty"},
		{"no head", options(""), [][]Cell{nil, texts("id")}, "1:1: first row is empty"},
		{"a blank head", options(""), [][]Cell{texts(" ", "")}, "1:1: first row is empty"},
		{"no key column", options(""), [][]Cell{texts("a", "ids")}, `1:1: no column "id" for the key (did you mean "ids"?)`},
		{"a column twice", options(""), [][]Cell{texts("id", "", "a", " id ")}, `1:4: column "id" occurs twice`},
		{"a type without a column", typed("", "n", Integer), [][]Cell{texts("id")}, `1:1: no column "n", whose type is declared`},
		{"no integer", typed("", "n", Integer), [][]Cell{texts("", "id", "n"), nil, texts("", "1", "x")}, `3:3: cell "x" of column "n" is not an integer`},
		{"a fraction", typed("", "n", Integer), [][]Cell{texts("id", "n"), {{1, "1", true}, {2, "1.5", true}}}, `2:2: cell "1.5" of column "n" is not an integer`},
	} {
		if _, err := readSheet(tt.o, tt.rows...); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestSheet_Good(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    Options
		rows [][]Cell
		want string
	}{
		{"head alone", options(""), [][]Cell{texts("id")}, ""},
		{"cells as they are", options(""), [][]Cell{texts(" id ", "", "a\"", "b"), {{1, "1.50", true}, {2, "left out", false}, {3, "x\ny", false}}, {{4, "true", true}, {1, "2", false}}},
			`2:1 1.50 {"id":1.50,"a\"":"x\ny","b":null}` + "\n" + `3:1 2 {"id":"2","a\"":null,"b":true}` + "\n"},
		{"empty rows", options(""), [][]Cell{texts("id"), {}, texts("", "x"), texts(""), texts("1")}, `5:1 1 {"id":"1"}` + "\n"},
		{"a head in any order", options(""), [][]Cell{{{3, "b", false}, {1, "id", false}}, texts("1", "", "x")}, `2:1 1 {"id":"1","b":"x"}` + "\n"},
		{"types", Options{Key: "id", Types: map[string]Type{"id": Text, "n": Integer, "j": JSON}},
			[][]Cell{texts("id", "n", "j"), {{1, "7", true}, {2, "8", false}, {3, "{ }", false}}}, `2:1 7 {"id":"7","n":8,"j":{}}` + "\n"},
		{"nothing is inferred", Options{Key: "id", Infer: true}, [][]Cell{texts("id"), texts("1")}, `2:1 1 {"id":"1"}` + "\n"},
	} {
		if got, err := readSheet(tt.o, tt.rows...); err != nil || got != tt.want {
			t.Errorf("%s:\n%s, error %v, want\n%s", tt.name, got, err, tt.want)
		}
	}
	stop := errors.New("stop")
	s, err := NewSheet(options(""), func([]byte, Place) error { return stop })
	if err == nil {
		err = s.Row(1, texts("id"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Row(2, texts("1")); !errors.Is(err, stop) {
		t.Errorf("yield's error: %v", err)
	}
}
