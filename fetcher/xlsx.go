package fetcher

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"

	"mockserver/config/syntax"
	"mockserver/fetcher/rows"
	"mockserver/internal/json"
	"mockserver/internal/list"
	"mockserver/internal/wording"
)

// convertSheet converts one sheet of a workbook to JSON.
func (s *Source) convertSheet(ctx context.Context, content []byte, file, sheet string) *kept {
	var t *table
	err := guard(func() (err error) {
		t, err = readSheet(ctx, content, sheet, s.loader.maxFile)
		return err
	})
	if err != nil {
		e := s.sheetError(file, err)
		return &kept{err: e, size: int64(len(e.Message))}
	}
	k := &kept{body: Body{Bytes: t.out}, size: int64(len(t.out))}
	for _, note := range t.notes {
		what := fmt.Sprintf("sheet %q of %q: %s", sheet, file, note)
		k.problems = append(k.problems, syntax.Problem{What: what, Warning: true})
	}
	return k
}

// sheetError returns why a sheet cannot be served.
func (s *Source) sheetError(file string, err error) *Error {
	e := s.broken(file, err.Error(), err)
	if s.fixedSheet == "" && errors.Is(err, errNoSheet) {
		e.Kind = NotFound
	}
	return e
}

// refused returns the failure to read another sheet of a workbook if it applies to this sheet too
// and the file is unchanged, so that names invented by clients do not unpack the workbook each time.
func (s *Source) refused(now time.Time, path, sheet string) *kept {
	e := s.loader.books.find([]byte(s.space + path))
	if e == nil {
		return nil
	}
	k := e.kept.Load()
	if k == nil || e.fresh(now) == nil && !k.settled || !s.look(path).same(k.look) {
		e.drop()
		return nil
	}
	var book *bookError
	if !errors.As(k.err, &book) || slices.Contains(book.sheets, sheet) {
		return nil
	}
	again := *k
	again.err = s.sheetError(path, &bookError{book.cause, sheet, book.sheets})
	return &again
}

// bookError is the reason why a workbook has no such sheet: it cannot be read, or has other sheets.
type bookError struct {
	cause  error // errNoSheet if the workbook can be read
	sheet  string
	sheets []string
}

func (e *bookError) Error() string {
	if e.cause != errNoSheet {
		return e.cause.Error()
	}
	return fmt.Sprintf("%v: %q; its sheets are %s", e.cause, e.sheet, strings.Join(list.Map(e.sheets, strconv.Quote), ", "))
}

func (e *bookError) Unwrap() error { return e.cause }

// workbook is an open workbook. The library opens it and provides its sheets and styles. The cells
// are streamed from their part of the archive without the library: its functions that return the
// type and style of a cell first fill every gap in a sheet, which can take gigabytes for a few
// bytes of input, and its streaming Rows returns the stored text without type and style.
type workbook struct {
	file    *excelize.File
	strings []string // the shared strings
	shows   map[int]shows
	epoch   epoch
}

// readSheet converts one sheet. It stops before the next row when ctx ends.
func readSheet(ctx context.Context, content []byte, sheet string, limit int64) (*table, error) {
	t := &table{limit: limit, out: []byte{'['}}
	if err := eachRow(ctx, content, &sheet, limit, t.add); err != nil {
		return nil, err
	}
	t.finish()
	return t, nil
}

// maxSheet is the maximum size of a workbook whose rows are read one by one, unpacked, in bytes.
const maxSheet = 1 << 30

// EachSheetRow calls f for each row of a sheet of a workbook, with its number from 1; "" is the
// first sheet. It stops at the first error of f, which the returned error wraps.
func EachSheetRow(content []byte, sheet string, f func(number int, cells []rows.Cell) error) error {
	named := &sheet
	if sheet == "" {
		named = nil
	}
	return guard(func() error { return eachRow(context.Background(), content, named, maxSheet, f) })
}

// eachRow calls each for the rows of the named sheet, one at a time; nil means the first sheet.
func eachRow(ctx context.Context, content []byte, named *string, limit int64, each func(number int, cells []rows.Cell) error) error {
	var f *excelize.File
	err := guard(func() (err error) {
		if err = checkArchive(content, limit); err != nil {
			return err
		}
		if f, err = excelize.OpenReader(bytes.NewReader(content), excelize.Options{UnzipSizeLimit: limit, UnzipXMLSizeLimit: limit}); err != nil {
			return fmt.Errorf("not a workbook that can be read: %w", err)
		}
		return nil
	})
	if err != nil {
		return &bookError{cause: err}
	}
	defer f.Close()
	sheet := ""
	if names := f.GetSheetList(); named != nil {
		sheet = *named
	} else if len(names) > 0 {
		sheet = names[0]
	}
	w := &workbook{file: f, shows: map[int]shows{}}
	part, err := w.sheetPart(sheet)
	if err != nil {
		return err
	}
	if f.WorkBook.WorkbookPr != nil && f.WorkBook.WorkbookPr.Date1904 {
		w.epoch = since1904
	}
	if err := w.readStrings(); err != nil {
		return fmt.Errorf("its shared texts: %w", err)
	}
	if err := w.readRows(ctx, part, each); err != nil {
		return fmt.Errorf("sheet %q: %w", sheet, err)
	}
	return nil
}

// checkArchive refuses a file that is not a zip archive, or that unpacks to more than limit bytes.
// It runs before the library, which trusts the sizes in the archive. Reading stops at those sizes,
// so they cannot be too small.
func checkArchive(content []byte, limit int64) error {
	if bytes.HasPrefix(content, []byte("\xd0\xcf\x11\xe0")) {
		return errors.New("not a workbook that can be read: it is encrypted or of the old .xls format; save it as .xlsx without a password")
	}
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return fmt.Errorf("not a workbook that can be read: %w", err)
	}
	left := uint64(limit)
	for _, part := range archive.File {
		if part.UncompressedSize64 > left {
			return fmt.Errorf("%w: it unpacks to more than %s", ErrTooLarge, wording.Size(limit))
		}
		left -= part.UncompressedSize64
	}
	return nil
}

// sheetPart returns the XML of a sheet.
func (w *workbook) sheetPart(sheet string) ([]byte, error) {
	names := w.file.GetSheetList()
	at := slices.Index(names, sheet)
	if at < 0 {
		return nil, &bookError{errNoSheet, sheet, names}
	}
	id := w.file.WorkBook.Sheets.Sheet[at].ID
	book, err := w.related("", "", func(r relation) bool { return strings.HasSuffix(r.Type, "/officeDocument") })
	if err != nil {
		return nil, err
	}
	dir, base := path.Split(book)
	target, err := w.related(dir, base, func(r relation) bool { return r.ID == id })
	if err != nil {
		return nil, err
	}
	part, ok := w.part(target)
	if !ok {
		return nil, fmt.Errorf("its sheet %q is missing inside the workbook", sheet)
	}
	return part, nil
}

// relation is one line of a part that says where other parts are.
type relation struct {
	ID     string `xml:"Id,attr"`
	Type   string `xml:",attr"`
	Target string `xml:",attr"`
}

// related returns the name of the first part for which fits is true, among those related to
// dir/base (the whole workbook if both are empty).
func (w *workbook) related(dir, base string, fits func(relation) bool) (string, error) {
	var rels struct {
		Relationship []relation
	}
	name := dir + "_rels/" + base + ".rels"
	content, _ := w.part(name)
	if err := w.decoder(content).Decode(&rels); err != nil {
		return "", fmt.Errorf("part %q: %w", name, err)
	}
	at := slices.IndexFunc(rels.Relationship, fits)
	if at < 0 {
		return "", fmt.Errorf("part %q does not say where the sheet is", name)
	}
	target := rels.Relationship[at].Target
	if !path.IsAbs(target) {
		target = path.Join(dir, target)
	}
	return strings.TrimPrefix(target, "/"), nil
}

func (w *workbook) part(name string) ([]byte, bool) {
	v, _ := w.file.Pkg.Load(name)
	content, ok := v.([]byte)
	return content, ok
}

func (w *workbook) decoder(content []byte) *xml.Decoder {
	d := xml.NewDecoder(bytes.NewReader(content))
	d.CharsetReader = w.file.CharsetReader
	return d
}

// richText is text in a single piece, or in runs with different formats.
type richText struct {
	Text string `xml:"t"`
	Runs []struct {
		Text string `xml:"t"`
	} `xml:"r"`
}

func (t richText) String() string {
	var b strings.Builder
	b.WriteString(t.Text)
	for _, run := range t.Runs {
		b.WriteString(run.Text)
	}
	return unescape(b.String())
}

// escapes matches the characters that XML cannot contain, as a workbook writes them. HHHH is a unit
// of UTF-16; some characters take two.
var escapes = regexp.MustCompile(`(_x[0-9A-Fa-f]{4}_)+`)

// unescape replaces escapes with the characters that they represent.
func unescape(s string) string {
	if !strings.Contains(s, "_x") {
		return s
	}
	return escapes.ReplaceAllStringFunc(s, func(run string) string {
		var units []uint16
		for ; run != ""; run = run[len("_xHHHH_"):] {
			n, _ := strconv.ParseUint(run[2:6], 16, 16)
			units = append(units, uint16(n))
		}
		return string(utf16.Decode(units))
	})
}

// elements calls do for each element with a given name.
func (w *workbook) elements(content []byte, name string, do func(*xml.Decoder, *xml.StartElement) error) error {
	if len(content) == 0 { // the library returns this for a part that cannot be unpacked
		return io.ErrUnexpectedEOF
	}
	d := w.decoder(content)
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == name {
			if err := do(d, &start); err != nil {
				return err
			}
		}
	}
}

func (w *workbook) readStrings() error {
	content, ok := w.part("xl/sharedStrings.xml")
	if !ok {
		return nil
	}
	return w.elements(content, "si", func(d *xml.Decoder, start *xml.StartElement) error {
		var text richText
		err := d.DecodeElement(&text, start)
		w.strings = append(w.strings, text.String())
		return err
	})
}

// storedCell is a cell as a sheet stores it.
type storedCell struct {
	Ref    string    `xml:"r,attr"`
	Type   string    `xml:"t,attr"`
	Style  string    `xml:"s,attr"`
	Value  *string   `xml:"v"`
	Inline *richText `xml:"is"`
}

// readRows calls each for the rows of a sheet, one at a time.
func (w *workbook) readRows(ctx context.Context, part []byte, each func(number int, cells []rows.Cell) error) error {
	number := 0
	return w.elements(part, "row", func(d *xml.Decoder, start *xml.StartElement) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		number++
		for _, a := range start.Attr {
			if n, err := strconv.Atoi(a.Value); a.Name.Local == "r" && err == nil && n > 0 {
				number = n
			}
		}
		cells, err := w.readCells(d)
		if err != nil {
			return err
		}
		return each(number, cells)
	})
}

// readCells reads the cells of a row up to its end.
func (w *workbook) readCells(d *xml.Decoder) ([]rows.Cell, error) {
	var cells []rows.Cell
	column := 0
	for {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		switch token := token.(type) {
		case xml.EndElement:
			return cells, nil
		case xml.StartElement:
			if token.Name.Local != "c" {
				if err := d.Skip(); err != nil {
					return nil, err
				}
				continue
			}
			var c storedCell
			if err := d.DecodeElement(&c, &token); err != nil {
				return nil, err
			}
			column++
			if n, _, err := excelize.CellNameToCoordinates(c.Ref); err == nil {
				column = n
			}
			if text, isJSON, ok := w.value(&c); ok {
				cells = append(cells, rows.Cell{Column: column, Text: text, JSON: isJSON})
			}
		}
	}
}

// value converts a stored cell to text, or to the JSON of anything else. ok is false for an empty cell.
func (w *workbook) value(c *storedCell) (text string, isJSON, ok bool) {
	if c.Inline != nil {
		return c.Inline.String(), false, true
	}
	if c.Value == nil {
		return "", false, false
	}
	stored := *c.Value
	switch c.Type {
	case "s":
		if i, err := strconv.Atoi(strings.TrimSpace(stored)); err == nil && i >= 0 && i < len(w.strings) {
			return w.strings[i], false, true
		}
		return "", false, false
	case "b":
		if b, err := strconv.ParseBool(strings.TrimSpace(stored)); err == nil {
			return strconv.FormatBool(b), true, true
		}
	case "str", "inlineStr":
		return unescape(stored), false, true
	case "e", "d": // d is already a date in ISO 8601
	default:
		text, isJSON = w.number(strings.TrimSpace(stored), c.Style)
		return text, isJSON, text != ""
	}
	return stored, false, true
}

// number converts a stored number, which may be displayed as a date.
func (w *workbook) number(stored, style string) (text string, isJSON bool) {
	f, err := strconv.ParseFloat(stored, 64)
	if err == nil {
		if text, ok := w.epoch.format(f, w.show(style)); ok {
			return text, false
		}
	}
	if json.IsNumber(stored) {
		return stored, true
	}
	if err == nil && f-f == 0 { // finite, in a form that JSON does not allow, such as .5
		return strconv.FormatFloat(f, 'g', -1, 64), true
	}
	return stored, false
}

// show returns which parts of a date the number format of a style shows.
func (w *workbook) show(style string) shows {
	id, err := strconv.Atoi(style)
	if err != nil {
		return 0
	}
	known, ok := w.shows[id]
	if !ok {
		known = w.formatOf(id)
		w.shows[id] = known
	}
	return known
}

func (w *workbook) formatOf(style int) shows {
	styles := w.file.Styles
	if styles == nil || styles.CellXfs == nil || style < 0 || style >= len(styles.CellXfs.Xf) {
		return 0
	}
	id := styles.CellXfs.Xf[style].NumFmtID
	if id == nil {
		return 0
	}
	if styles.NumFmts != nil {
		for _, f := range styles.NumFmts.NumFmt {
			if f.NumFmtID == *id {
				return customFormat(f.FormatCode)
			}
		}
	}
	return builtinFormat(*id)
}
