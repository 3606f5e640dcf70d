package rows

// Options determine how a file is read.
type Options struct {
	Name      string          // of the file; its extension, without .gz or .zst, determines the format
	Key       string          // the member that is the key; a.b is the member b of the member a
	Separator byte            // between the cells of CSV and TSV; 0: a comma in .csv, a tab in .tsv
	Types     map[string]Type // of columns; Text for all others
	Infer     bool            // infer the types of cells in columns without a type; see Type
}

// Type is the type of a column, which determines the JSON values of its cells.
//
// An empty cell of a type other than Text is null. In a column without a type, with Options.Infer,
// an empty cell is null, a cell that JSON would read as a number, true or false is that value, and
// any other cell is text.
type Type uint8

// The types of columns.
const (
	Text    Type = iota
	Integer      // a JSON number without fraction and exponent
	Number       // a JSON number
	Boolean      // true or false
	JSON         // any JSON value
)

// String describes a cell of the type for messages.
func (t Type) String() string {
	return [...]string{"text", "an integer", "a number", "true or false", "a JSON value"}[min(t, JSON)]
}

// Yield receives a row as a compact JSON object, and where it begins. The text is valid only during
// the call. An error stops reading, and is returned unchanged. The row may lack its key, and two rows
// may have the same one.
type Yield func(row []byte, at Place) error
