// Package draft contains the result of importing a file of another tool: declarations in the
// configuration language, written as YAML, the files that they refer to, a report on each item of
// the source, and the requests by which the result can be checked.
//
// An importer does not talk to the server. Its only product is text, which is read like any other
// configuration. So positions, validation, the schema and export work for it.
package draft

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"mockserver/config/syntax"
)

// Kind is how exactly an item of the source was imported.
type Kind uint8

// The kinds, from the best to the worst.
const (
	Exact       Kind = iota // the same requests get the same answers
	Approximate             // an answer differs in a way that Why describes
	Lost                    // the item is not served; it is commented out or only in the report

	Noted  // a remark about something that is neither imported nor lost
	Warned // a warning about such a thing
)

// String returns the word for a kind in reports.
func (k Kind) String() string {
	return [...]string{"exact", "approximate", "lost", "note", "warning"}[k]
}

// Item is one item of the source: a request with its answers, a mapping, a route, a variable.
type Item struct {
	Kind Kind
	Pos  syntax.Pos // in the source
	Name string     // as the user knows it: "GET /users/:id", or the name in the source
	Why  string     // what differs or is missing, and what to do about it; "" only for Exact
}

// Declaration is an item of a configuration: an endpoint, a resource, a set of rows.
type Declaration struct {
	Above []string // comments above it, one line each, without "#"
	Key   string   // "endpoint", "resource", "data", "scenario", "upstream" or "websocket"
	Value *syntax.Node
	Off   bool // it is commented out
}

// File is a file that belongs to the configuration.
type File struct {
	Name  string // relative to the directory of the configuration, with slashes
	Data  []byte // its content, unless Write is set
	Write func(w io.Writer) error
}

// Field is a header line.
type Field struct{ Name, Value string }

// Ask is a request by which the import is checked, and the correct answers.
type Ask struct {
	Pos    syntax.Pos
	Name   string
	Method string
	Target string // path and query, percent-encoded
	Host   string // "" for the server's own
	Header []Field
	Body   []byte
	Want   []Response // each of them is correct; without any, it suffices that an endpoint answers
}

// Response is an expected answer.
type Response struct {
	Status int
	Header []Field // lines that must be equal; other headers may have any value
	Body   []byte
	Any    bool // the body may be anything
	JSON   bool // the body is JSON: whitespace outside strings does not matter
}

// Draft is a configuration that is being made. The zero value is an empty one. Readers of several
// files may add to one draft, but not concurrently.
type Draft struct {
	Title        []string // comments at the top, one line each, without "#"
	Declarations []Declaration
	Files        []File
	Items        []Item
	Notes        []Item // remarks and warnings
	Asks         []Ask
	Done         func() // releases the data from which the files are written; may be nil
}

// Close releases the data from which the files are written. The files cannot be written afterwards.
func (d *Draft) Close() {
	if d.Done != nil {
		d.Done()
	}
}

// Add adds a declaration and returns it, so that comments can be added. The pointer is valid until
// the next declaration is added.
func (d *Draft) Add(key string, value *syntax.Node, above ...string) *Declaration {
	d.Declarations = append(d.Declarations, Declaration{Key: key, Value: value, Above: above})
	return &d.Declarations[len(d.Declarations)-1]
}

// AddLost adds a declaration that is commented out, and reports its item as lost.
func (d *Draft) AddLost(key string, value *syntax.Node, pos syntax.Pos, name, why string) {
	d.Add(key, value, "lost: "+name+": "+why).Off = true
	d.note(Lost, pos, name, why)
}

// Report reports an item that is served, by the last declaration: as exact, unless it differs.
func (d *Draft) Report(pos syntax.Pos, name string, differs ...string) {
	kind := Exact
	if len(differs) > 0 {
		kind = Approximate
	}
	why := strings.Join(differs, "; ")
	if n := len(d.Declarations); n > 0 && why != "" {
		last := &d.Declarations[n-1]
		last.Above = append(last.Above, "approximate: "+name+": "+why)
	}
	d.note(kind, pos, name, why)
}

// Lost records that an item is not served.
func (d *Draft) Lost(pos syntax.Pos, name, why string, args ...any) {
	d.note(Lost, pos, name, why, args...)
}

func (d *Draft) note(k Kind, pos syntax.Pos, name, why string, args ...any) {
	if len(args) > 0 {
		why = fmt.Sprintf(why, args...)
	}
	d.Items = append(d.Items, Item{k, pos, name, why})
}

// Note adds a remark to the report, such as what was inferred.
func (d *Draft) Note(pos syntax.Pos, name, text string, args ...any) {
	d.Notes = append(d.Notes, Item{Noted, pos, name, fmt.Sprintf(text, args...)})
}

// Warn adds a warning to the report.
func (d *Draft) Warn(pos syntax.Pos, name, text string, args ...any) {
	d.Notes = append(d.Notes, Item{Warned, pos, name, fmt.Sprintf(text, args...)})
}

// Count returns how many items are of a kind.
func (d *Draft) Count(k Kind) int {
	n := 0
	for i := range d.Items {
		if d.Items[i].Kind == k {
			n++
		}
	}
	return n
}

// AddFile adds a file under a name that no other file has, and returns that name: f.Name, or f.Name
// with a number before its extension.
func (d *Draft) AddFile(f File) string {
	base, ext := f.Name, ""
	if i := strings.LastIndexByte(f.Name, '.'); i > strings.LastIndexByte(f.Name, '/') {
		base, ext = f.Name[:i], f.Name[i:]
	}
	taken := func() bool {
		return slices.ContainsFunc(d.Files, func(o File) bool { return strings.EqualFold(o.Name, f.Name) })
	}
	for n := 2; taken(); n++ {
		f.Name = fmt.Sprintf("%s-%d%s", base, n, ext)
	}
	d.Files = append(d.Files, f)
	return f.Name
}

// Content writes the content of the file.
func (f File) Content(w io.Writer) error {
	if f.Write != nil {
		return f.Write(w)
	}
	_, err := w.Write(f.Data)
	return err
}

// Literal returns a template that renders as the text: what would be a tag is enclosed in raw tags.
// It is for texts that also have real placeholders; a response without any is better written with
// template: false.
func Literal(text string) string {
	return literal.ReplaceAllString(text, "{% raw %}$0{% endraw %}")
}

var literal = regexp.MustCompile(`\{\{+[^{}]*\}\}+|\{\{+|\{%`)

// HasTags reports whether a text, read as a template, would not render as itself.
func HasTags(text string) bool { return strings.Contains(text, "{{") || strings.Contains(text, "{%") }
