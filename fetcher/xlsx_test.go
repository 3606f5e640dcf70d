package fetcher

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"mockserver/fetcher/rows"
	"mockserver/renderer"
)

// newBook returns a workbook with one sheet named S.
func newBook(t testing.TB) *excelize.File {
	t.Helper()
	f := excelize.NewFile()
	check(t, f.SetSheetName("Sheet1", "S"))
	return f
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// setRows fills a sheet from its first row on.
func setRows(t testing.TB, f *excelize.File, sheet string, rows ...[]any) {
	t.Helper()
	for i, row := range rows {
		check(t, f.SetSheetRow(sheet, fmt.Sprintf("A%d", i+1), &row))
	}
}

func bookBytes(t testing.TB, f *excelize.File) []byte {
	t.Helper()
	var b bytes.Buffer
	check(t, f.Write(&b))
	return b.Bytes()
}

// patched returns a workbook in which one part is changed, for content that excelize does not
// write.
func patched(t testing.TB, book []byte, part string, change func(string) string) []byte {
	t.Helper()
	in, err := zip.NewReader(bytes.NewReader(book), int64(len(book)))
	check(t, err)
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	found := false
	for _, file := range in.File {
		r, err := file.Open()
		check(t, err)
		content, err := io.ReadAll(r)
		check(t, err)
		if file.Name == part {
			found = true
			content = []byte(change(string(content)))
		}
		fw, err := w.Create(file.Name)
		check(t, err)
		fw.Write(content)
	}
	check(t, w.Close())
	if !found {
		t.Fatalf("the workbook has no part %s", part)
	}
	return out.Bytes()
}

// withRows returns a workbook whose sheet S contains the given XML.
func withRows(t testing.TB, rows string) []byte {
	t.Helper()
	return patched(t, bookBytes(t, newBook(t)), "xl/worksheets/sheet1.xml", func(string) string {
		return `<?xml version="1.0" encoding="UTF-8"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>` + rows + `</sheetData></worksheet>`
	})
}

const wide = 256 << 20

func sheetText(t testing.TB, book []byte) (string, []string) {
	t.Helper()
	table, err := readSheet(t.Context(), book, "S", wide)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(table.out) {
		t.Fatalf("not JSON: %s", table.out)
	}
	return string(table.out), table.notes
}

func TestSheetBecomesObjects(t *testing.T) {
	tests := []struct {
		name  string
		rows  [][]any
		want  string
		notes []string
	}{
		{"rows become objects, keys in the order of the columns",
			[][]any{{"name", "langs"}, {"Ann", "go"}, {"Bob", "edn"}},
			`[{"name":"Ann","langs":"go"},{"name":"Bob","langs":"edn"}]`, nil},
		{"keys are trimmed, and a column without one is left out",
			[][]any{{" id\t", "  ", nil, "name"}, {1, "x", "y", "Ann"}},
			`[{"id":1,"name":"Ann"}]`, nil},
		{"a repeated key gets a number, and a warning",
			[][]any{{"a", "a", " a "}, {1, 2, 3}},
			`[{"a":1,"a_2":2,"a_3":3}]`,
			[]string{`key "a" is repeated from column B on; repeated keys are named "a_2" and so on`}},
		{"a numbered key never meets a declared one",
			[][]any{{"a", "a_2", "a"}, {1, 2, 3}},
			`[{"a":1,"a_2":2,"a_3":3}]`, []string{`key "a" is repeated from column C on; repeated keys are named "a_3" and so on`}},
		{"an empty row is left out, an empty cell is null",
			[][]any{{"a", "b"}, {nil, nil}, {1, nil}, {}, {nil, 2}},
			`[{"a":1,"b":null},{"a":null,"b":2}]`, nil},
		{"a row with values only where no key is, is empty",
			[][]any{{"a"}, {nil, "note"}, {1, "note"}},
			`[{"a":1}]`, nil},
		{"blanks in a cell are a value",
			[][]any{{"a"}, {"  "}}, `[{"a":"  "}]`, nil},
		{"keys that are numbers and booleans",
			[][]any{{2024, true}, {1, 2}}, `[{"2024":1,"true":2}]`, nil},
		{"booleans and numbers",
			[][]any{{"a", "b", "c", "d"}, {true, false, -1.5, 12345678901}},
			`[{"a":true,"b":false,"c":-1.5,"d":12345678901}]`, nil},
		{"a text that looks like a number stays a text",
			[][]any{{"a"}, {"007"}}, `[{"a":"007"}]`, nil},
		{"what JSON must escape",
			[][]any{{"a\"b"}, {"line\nbreak \\ <tag> & \u2028 é \t"}},
			`[{"a\"b":"line\nbreak \\ <tag> & ` + "\u2028" + ` é \t"}]`, nil},
		{"only keys", [][]any{{"a"}}, `[]`, nil},
		{"nothing", nil, `[]`, []string{"its first row contains no keys, so it has no columns"}},
		{"no keys", [][]any{{nil}, {1}}, `[]`, []string{"its first row contains no keys, so it has no columns"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newBook(t)
			setRows(t, f, "S", tt.rows...)
			got, notes := sheetText(t, bookBytes(t, f))
			if got != tt.want {
				t.Errorf("sheet = %s\n   want %s", got, tt.want)
			}
			if strings.Join(notes, "\n") != strings.Join(tt.notes, "\n") {
				t.Errorf("notes = %q, want %q", notes, tt.notes)
			}
		})
	}
}

// Cells are read as programs other than excelize store them.
func TestStoredCells(t *testing.T) {
	tests := []struct{ name, cell, want string }{
		{"a number digit for digit", `<c r="A2"><v>0.1000000000000000055511151231257827</v></c>`, `0.1000000000000000055511151231257827`},
		{"a number with an exponent", `<c r="A2" t="n"><v>1.5E+300</v></c>`, `1.5E+300`},
		{"a number beyond what floats hold", `<c r="A2"><v>1E+999</v></c>`, `1E+999`},
		{"a long integer", `<c r="A2"><v>123456789012345678901234567890</v></c>`, `123456789012345678901234567890`},
		{"a number JSON spells otherwise", `<c r="A2"><v>.5</v></c>`, `0.5`},
		{"a number with blanks about it", `<c r="A2"><v> 7 </v></c>`, `7`},
		{"a number that is none", `<c r="A2"><v>NaN</v></c>`, `"NaN"`},
		{"a number that is a word of JSON", `<c r="A2"><v>true</v></c>`, `"true"`},
		{"a boolean", `<c r="A2" t="b"><v>1</v></c>`, `true`},
		{"a formula with a number", `<c r="A2"><f>1+1</f><v>2</v></c>`, `2`},
		{"a formula with a text", `<c r="A2" t="str"><f>"a"&amp;"b"</f><v>ab</v></c>`, `"ab"`},
		{"a formula with a boolean", `<c r="A2" t="b"><f>1=2</f><v>0</v></c>`, `false`},
		{"a formula with an error", `<c r="A2" t="e"><f>1/0</f><v>#DIV/0!</v></c>`, `"#DIV/0!"`},
		{"a formula that was never computed", `<c r="A2"><f>1+1</f></c>`, `null`},
		{"an empty number", `<c r="A2"><v></v></c>`, `null`},
		{"an inline text", `<c r="A2" t="inlineStr"><is><t xml:space="preserve"> in </t></is></c>`, `" in "`},
		{"an inline text in runs", `<c r="A2" t="inlineStr"><is><r><t>a</t></r><r><rPr><b/></rPr><t>b</t></r><rPh><t>no</t></rPh></is></c>`, `"ab"`},
		{"a text with an escaped character", `<c r="A2" t="str"><v>a_x000D_b_x005F_x0041_ _x12</v></c>`, `"a\rb_x0041_ _x12"`},
		{"a character that UTF-16 escapes as two", `<c r="A2" t="str"><v>_xD83D__xDE00_!</v></c>`, `"😀!"`},
		{"the halves of such a character alone or swapped", `<c r="A2" t="str"><v>_xD83D_a_xDE00__xD83D_</v></c>`, "\"\ufffda\ufffd\ufffd\""},
		{"a date as text", `<c r="A2" t="d"><v>2024-01-15T10:30:00</v></c>`, `"2024-01-15T10:30:00"`},
		{"a shared text out of range", `<c r="A2" t="s"><v>99</v></c>`, `null`},
		{"a cell without a reference", `<c><v>5</v></c>`, `5`},
		{"a style that does not exist", `<c r="A2" s="4711"><v>5</v></c>`, `5`},
		{"a type that does not exist", `<c r="A2" t="zzz"><v>5</v></c>`, `5`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			book := withRows(t, `<row r="1"><c r="A1" t="str"><v>k</v></c><c r="B1" t="str"><v>x</v></c></row><row r="2">`+tt.cell+`<c r="B2"><v>1</v></c></row>`)
			got, _ := sheetText(t, book)
			if want := `[{"k":` + tt.want + `,"x":1}]`; got != want {
				t.Errorf("sheet = %s, want %s", got, want)
			}
		})
	}
	t.Run("rows and cells without references, and what is no cell", func(t *testing.T) {
		got, _ := sheetText(t, withRows(t, `<row><c t="str"><v>a</v></c><extLst/><c t="str"><v>b</v></c></row><row><c><v>1</v></c><c><v>2</v></c></row>`))
		if got != `[{"a":1,"b":2}]` {
			t.Errorf("sheet = %s", got)
		}
	})
	t.Run("the first row is row 1, even when it is not stored", func(t *testing.T) {
		got, notes := sheetText(t, withRows(t, `<row r="2"><c r="A2" t="str"><v>a</v></c></row>`))
		if got != `[]` || len(notes) != 1 {
			t.Errorf("sheet = %s, %q", got, notes)
		}
	})
	t.Run("an empty text does not make a row", func(t *testing.T) {
		got, _ := sheetText(t, withRows(t, `<row r="1"><c r="A1" t="str"><v>a</v></c><c r="B1" t="str"><v>b</v></c></row><row r="2"><c r="A2" t="str"><f>x</f><v></v></c></row><row r="3"><c r="A3" t="str"><v></v></c><c r="B3"><v>1</v></c></row>`))
		if got != `[{"a":"","b":1}]` {
			t.Errorf("sheet = %s", got)
		}
	})
	t.Run("a sheet whose XML is broken", func(t *testing.T) {
		_, err := readSheet(t.Context(), withRows(t, `<row r="1"><c r="A1"`), "S", wide)
		if err == nil || !strings.Contains(err.Error(), `sheet "S"`) {
			t.Errorf("error = %v", err)
		}
	})
}

func TestSharedAndRichTexts(t *testing.T) {
	f := newBook(t)
	setRows(t, f, "S", []any{"k"}, []any{"shared"})
	check(t, f.SetCellRichText("S", "A3", []excelize.RichTextRun{{Text: "bold ", Font: &excelize.Font{Bold: true}}, {Text: "plain"}}))
	check(t, f.SetCellFormula("S", "A4", "A2"))
	if got, _ := sheetText(t, bookBytes(t, f)); got != `[{"k":"shared"},{"k":"bold plain"}]` {
		t.Errorf("sheet = %s", got)
	}
}

func TestDatesOfAWorkbook(t *testing.T) {
	for _, date1904 := range []bool{false, true} {
		t.Run(fmt.Sprintf("date1904=%v", date1904), func(t *testing.T) {
			f := newBook(t)
			check(t, f.SetWorkbookProps(&excelize.WorkbookPropsOptions{Date1904: &date1904}))
			when := time.Date(2024, 1, 15, 10, 30, 0, 0, time.UTC)
			setRows(t, f, "S", []any{"day", "both", "clock", "own", "number"})
			for i, style := range []excelize.Style{{NumFmt: 14}, {NumFmt: 22}, {NumFmt: 20}, {CustomNumFmt: ptr(`dd"d"/mm/yyyy`)}, {NumFmt: 2}} {
				id, err := f.NewStyle(&style)
				check(t, err)
				name, _ := excelize.CoordinatesToCellName(i+1, 2)
				check(t, f.SetCellValue("S", name, when))
				check(t, f.SetCellStyle("S", name, name, id))
			}
			check(t, f.SetCellValue("S", "E2", 45306.4375))
			want := `[{"day":"2024-01-15","both":"2024-01-15T10:30:00","clock":"10:30:00","own":"2024-01-15","number":45306.4375}]`
			if got, _ := sheetText(t, bookBytes(t, f)); got != want {
				t.Errorf("sheet = %s\n   want %s", got, want)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

func TestMissingSheetListsTheSheetsThereAre(t *testing.T) {
	dir := t.TempDir()
	f := newBook(t)
	f.NewSheet("Other one")
	write(t, filepath.Join(dir, "b.xlsx"), string(bookBytes(t, f)))
	l := newTestLoader(t, Options{})
	s, problems := l.Source(sheetBody("b.xlsx", "None"), dir, renderer.JSON, false, &renderer.Scope{})
	if want := `file "b.xlsx": no such sheet: "None"; its sheets are "S", "Other one"`; s != nil || len(problems) != 1 || problems[0].What != want {
		t.Errorf("problems = %v, want %s", problems, want)
	}
}

func TestWorkbookSource(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "books", "a.xlsx")
	f := newBook(t)
	setRows(t, f, "S", []any{"{{nonsense}}", "b", "b"}, []any{"{{query-params.x}}", 1, 2})
	write(t, file, string(bookBytes(t, f)))
	old := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	os.Chtimes(file, old, old)
	c := newClock()
	l := newTestLoader(t, Options{Now: c.now})
	want := `[{"{{nonsense}}":"{{query-params.x}}","b":1,"b_2":2}]`

	for range 2 { // the second time it is cached, and the warnings are the same
		s, problems := l.Source(sheetBody("books/a.xlsx", "S"), dir, renderer.JSON, false, &renderer.Scope{})
		if s == nil || len(problems) != 1 || !problems[0].Warning || problems[0].Pos.Line != 5 || !strings.Contains(problems[0].What, `"b_2"`) {
			t.Fatalf("problems = %v, want one warning of the repeated key at line 5", problems)
		}
		if got := bodyOf(t, s, "x=1"); got != want {
			t.Errorf("body = %s, want %s, not a template", got, want)
		}
	}
	fixed := mustSource(t, l, sheetBody("books/a.xlsx", "S"), dir)
	byFile := mustSource(t, l, sheetBody("books/{{query-params.f}}.xlsx", "S"), dir)
	bySheet := mustSource(t, l, sheetBody("books/a.xlsx", "{{query-params.s}}"), dir)
	if a, b := bodyOf(t, byFile, "f=a"), bodyOf(t, bySheet, "s=S"); a != want || b != want {
		t.Errorf("rendered path = %s, rendered sheet = %s; want %s", a, b, want)
	}
	for query, s := range map[string]*Source{"f=none": byFile, "f=../a": byFile, "s=none": bySheet, "s=": bySheet} {
		if e := failure(t, s, query); e.Kind != NotFound {
			t.Errorf("%s: kind = %v, want NotFound: %v", query, e.Kind, e)
		}
	}

	setRows(t, f, "S", []any{"k"}, []any{"changed", nil, nil})
	check(t, f.RemoveCol("S", "C"))
	check(t, f.RemoveCol("S", "B"))
	write(t, file, string(bookBytes(t, f)))
	if got := bodyOf(t, fixed, ""); got != want {
		t.Errorf("before the interval = %s", got)
	}
	noticed(t, c, fixed, "")
	if got := bodyOf(t, fixed, ""); got != `[{"k":"changed"}]` {
		t.Errorf("after a change = %s", got)
	}
	write(t, file, "PK broken")
	noticed(t, c, fixed, "")
	noticed(t, c, byFile, "f=a")
	for _, s := range []*Source{fixed, byFile} {
		if e := failure(t, s, "f=a"); e.Kind != Unavailable || !strings.Contains(e.Message, `"books/a.xlsx": not a workbook`) {
			t.Errorf("broken = %v %q, want Unavailable", e.Kind, e.Message)
		}
	}
}

// A client may ask for any number of sheets that do not exist: the workbook is not unpacked for each.
func TestUnknownSheetsReadTheWorkbookOnce(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "b.xlsx")
	c := newClock()
	l := newTestLoader(t, Options{Now: c.now})
	read, reads := l.readAll, 0
	l.readAll = func(r io.Reader, size, limit int64) ([]byte, error) {
		reads++
		return read(r, size, limit)
	}
	s := mustSource(t, l, sheetBody("{{query-params.f}}.xlsx", "{{query-params.s}}"), dir)
	other := mustSource(t, l, sheetBody("{{query-params.f}}.xlsx", "Fixed"), dir)
	f := newBook(t)
	old := string(bookBytes(t, f))
	f.NewSheet("new0")
	f.NewSheet("Fixed")
	for _, tt := range []struct {
		name, content string
		age           time.Duration
		kind          Kind
		says          string // %q: the sheet
		reads         int
	}{
		{"a workbook", old, time.Hour, NotFound, `no such sheet: %q; its sheets are "S"`, 1},
		{"one that was just written", old, 0, NotFound, `no such sheet: %q; its sheets are "S"`, 2},
		{"one that cannot be read", "PK broken", time.Hour, Unavailable, "not a workbook that can be read: ", 1},
		{"one with other sheets", string(bookBytes(t, f)), time.Hour, NotFound, `no such sheet: %q; its sheets are "S", "new0", "Fixed"`, 1},
	} {
		write(t, file, tt.content)
		c.advance(time.Hour)
		stamp(t, file, c.now().Add(-tt.age))
		reads = 0
		for i := range 100 {
			if i == 50 {
				c.advance(checkInterval)
			}
			name := fmt.Sprint(tt.name, i)
			want := strings.ReplaceAll(tt.says, "%q", strconv.Quote(name))
			if e := failure(t, s, "f=b&s="+queryEscape(name)); e.Kind != tt.kind || !strings.HasPrefix(e.Message, `file "b.xlsx": `+want) {
				t.Fatalf("%s: %v %s, want %v %s", name, e.Kind, e.Message, tt.kind, want)
			}
		}
		if reads != tt.reads {
			t.Errorf("%s was read %d times for 100 unknown names, want %d", tt.name, reads, tt.reads)
		}
		if tt.name == "one that was just written" {
			if e := failure(t, other, "f=b"); e.Kind != Unavailable || !strings.Contains(e.Message, `"Fixed"`) {
				t.Errorf("a fixed name: %v %s, want Unavailable", e.Kind, e.Message)
			}
		}
	}
	for query, s := range map[string]*Source{"f=b&s=S": s, "f=b&s=new0": s, "f=b": other} {
		lookOnce(t, c, s, query)
		c.advance(time.Hour)
		lookOnce(t, c, s, query)
		if got := bodyOf(t, s, query); got != "[]" {
			t.Errorf("%s = %s, want a sheet without rows", query, got)
		}
	}
}

func TestWorkbookThatUnpacksTooFarIsRefused(t *testing.T) {
	f := newBook(t)
	setRows(t, f, "S", []any{"k"}, []any{strings.Repeat("0", 32000)})
	book := bookBytes(t, f)
	const limit = 20000
	if len(book) > limit {
		t.Fatalf("the workbook has %d bytes: it would be refused packed", len(book))
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b.xlsx"), string(book))
	s, problems := newTestLoader(t, Options{MaxFile: limit}).Source(sheetBody("b.xlsx", "S"), dir, renderer.JSON, false, &renderer.Scope{})
	if want := `file "b.xlsx": too large: it unpacks to more than 20000 bytes`; s != nil || len(problems) != 1 || problems[0].What != want {
		t.Errorf("problems = %v, want %s", problems, want)
	}
}

// An archive may claim any sizes, none of which can be trusted.
func TestWorkbookThatLiesAboutItsSizes(t *testing.T) {
	f := newBook(t)
	setRows(t, f, "S", []any{"k"}, []any{1})
	for _, claim := range []uint64{0, 10, 1 << 31, 1 << 62, 1 << 63, 1<<64 - 1} {
		in, err := zip.NewReader(bytes.NewReader(bookBytes(t, f)), int64(len(bookBytes(t, f))))
		check(t, err)
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for _, file := range in.File {
			h := file.FileHeader
			if h.Name == "xl/worksheets/sheet1.xml" {
				h.UncompressedSize64 = claim
			}
			r, err := file.OpenRaw()
			check(t, err)
			fw, err := w.CreateRaw(&h)
			check(t, err)
			io.Copy(fw, r)
		}
		check(t, w.Close())
		var got *table
		err = guard(func() (err error) { got, err = readSheet(t.Context(), out.Bytes(), "S", 1<<20); return err })
		if claim > 1<<20 && !errors.Is(err, ErrTooLarge) {
			t.Errorf("claim of %d bytes: %v, want ErrTooLarge", claim, err)
		}
		if err == nil {
			t.Errorf("claim of %d bytes: %s, want it refused", claim, got.out)
		}
	}
}

// Thousands of equal keys once took seconds, and caused a warning each.
func TestManyEqualKeysGiveOneWarning(t *testing.T) {
	const n = 16384 // the maximum number of columns of a sheet
	cells := make([]rows.Cell, n)
	for i := range cells {
		cells[i] = rows.Cell{Column: i + 1, Text: []string{"a", "b"}[i%2]}
	}
	var out table
	out.header(cells)
	want := []string{
		`key "a" is repeated from column C on; repeated keys are named "a_2" and so on`,
		`key "b" is repeated from column D on; repeated keys are named "b_2" and so on`,
	}
	if !slices.Equal(out.notes, want) {
		t.Errorf("%d notes, the first %.200q; want %q", len(out.notes), out.notes, want)
	}
	if last := out.keys[n-1]; last != `"b_8192":` {
		t.Errorf("the last key is %s", last)
	}
}

func TestConversionEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := newBook(t)
	setRows(t, f, "S", []any{"a"}, []any{1})
	if _, err := readSheet(ctx, bookBytes(t, f), "S", wide); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want it cancelled", err)
	}
}

func TestSheetThatGrowsAsJSONIsRefused(t *testing.T) {
	key := strings.Repeat("k", 10000)
	rows := `<row r="1"><c r="A1" t="str"><v>` + key + `</v></c></row>` + strings.Repeat(`<row><c><v>1</v></c></row>`, 100)
	if _, err := readSheet(t.Context(), withRows(t, rows), "S", 200_000); !errors.Is(err, ErrTooLarge) {
		t.Errorf("error = %v, want ErrTooLarge", err)
	}
}

// The cost of a sheet depends on the number of its cells, not on the gaps between them.
func TestSparseSheetIsCheap(t *testing.T) {
	rows := `<row r="1"><c r="XFD1" t="str"><v>k</v></c></row>`
	for i := range 1000 {
		rows += fmt.Sprintf(`<row r="%d"><c r="XFD%d" s="1"/></row>`, 1000*i+2, 1000*i+2)
	}
	book := withRows(t, rows+`<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, _ := sheetText(t, book)
	runtime.ReadMemStats(&after)
	if got != `[{"k":1}]` {
		t.Errorf("sheet = %s", got)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
		t.Errorf("%d bytes allocated for a sheet of a thousand cells", n)
	}
}

// FuzzReadSheet reads any bytes as a workbook. The seeds are not compressed, and
// the library overlooks wrong checksums, so that changes reach the XML.
func FuzzReadSheet(f *testing.F) {
	book := newBook(f)
	setRows(f, book, "S", []any{"a", "b"}, []any{1, "x"})
	f.Add(stored(f, bookBytes(f, book)))
	f.Add([]byte("PK\x03\x04"))
	f.Add([]byte("\xd0\xcf\x11\xe0"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, content []byte) {
		var got *table
		// readSheet is called through guard, as in convertSheet.
		err := guard(func() (err error) { got, err = readSheet(t.Context(), content, "S", 1<<20); return err })
		if err == nil && !json.Valid(got.out) {
			t.Errorf("not JSON: %s", got.out)
		}
	})
}

// stored returns a workbook without compression and without its large theme.
func stored(t testing.TB, book []byte) []byte {
	t.Helper()
	in, err := zip.NewReader(bytes.NewReader(book), int64(len(book)))
	check(t, err)
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, file := range in.File {
		if strings.Contains(file.Name, "theme") || strings.Contains(file.Name, "docProps") {
			continue
		}
		r, err := file.Open()
		check(t, err)
		fw, err := w.CreateHeader(&zip.FileHeader{Name: file.Name, Method: zip.Store})
		check(t, err)
		io.Copy(fw, r)
	}
	check(t, w.Close())
	return out.Bytes()
}

// FuzzRows reads any XML as the rows of a sheet: the reader must not panic, and its result must be
// valid JSON.
func FuzzRows(f *testing.F) {
	for _, rows := range []string{
		`<row><c t="s"><v>0</v></c></row>`,
		`<row r="1"><c r="ZZZZ9" t="inlineStr"><is><t>k</t></is></c></row><row r="0"><c/></row>`,
		`<row r="1"><c t="str"><v>_xD800_"\</v></c></row><row><c s="-1"><v>-0e1</v></c></row><row><c s="1"><v>1e9</v></c></row>`,
		`<row r="1"><c t="str"><v>k</v></c></row><row><c t="b"><v>T</v></c></row><row><c><v>0x1p-2</v></c></row><row><c><v>-.5e-3</v></c></row>`,
	} {
		f.Add(rows)
	}
	book := newBook(f)
	style, err := book.NewStyle(&excelize.Style{NumFmt: 22})
	check(f, err)
	if style != 1 {
		f.Fatalf("the date style is %d, the seeds say 1", style)
	}
	f.Fuzz(func(t *testing.T, rows string) {
		w := &workbook{file: book, shows: map[int]shows{}, strings: []string{"shared"}}
		out := &table{limit: 1 << 20, out: []byte{'['}}
		if err := w.readRows(t.Context(), []byte("<sheetData>"+rows+"</sheetData>"), out.add); err != nil {
			return
		}
		out.finish()
		if !json.Valid(out.out) {
			t.Errorf("not JSON: %s", out.out)
		}
	})
}
