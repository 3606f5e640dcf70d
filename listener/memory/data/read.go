package data

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/fetcher"
	"mockserver/fetcher/rows"
	"mockserver/internal/files"
	"mockserver/internal/json"
	"mockserver/internal/wording"
	"mockserver/listener/memory/data/edit"
	"mockserver/listener/memory/state"
)

// lookInterval is how often files are checked.
const lookInterval = 300 * time.Millisecond

// look reads the metadata of the set's file. For a set without a file, the result is always the
// same.
func (s *set) look() files.Look {
	if s.declared.From == nil {
		return files.Look{}
	}
	return files.LookAt(s.file())
}

// still reports whether a file has not been written to for a while: it is then probably complete,
// and a later write would alter its modification time.
func still(l files.Look) bool {
	return l.Info == nil || time.Since(l.Info.ModTime()).Abs() > lookInterval
}

// file returns the path of the file.
func (s *set) file() string { return files.Beside(s.declared.Dir, s.declared.From.Path.Value) }

// read returns the rows of the file, or those declared in place, as a base. It creates the
// state.Set if there is none. Errors contain their position in the file of the rows.
func (s *set) read() (*state.Base, syntax.Problems) {
	s.seen = s.look()
	s.settled = still(s.seen)
	b := &building{set: s}
	var problems syntax.Problems
	if s.declared.From != nil {
		problems = b.readFile()
	} else {
		problems = b.readRows()
	}
	if problems.Err() != nil {
		return nil, problems
	}
	base := b.builder.Base(s.members)
	s.made.atLeast(b.largest)
	if s.Set == nil {
		s.Set = state.NewSet(s.declared.Name, s.options, base)
	}
	return base, problems
}

// building is a base whose rows are being read.
type building struct {
	set     *set
	builder state.Builder
	places  []uint32 // the line of each row
	largest int64    // the largest key that is an integer
}

// add appends a row.
func (b *building) add(row []byte, line int) error {
	key, what := appendKey(nil, edit.Member(row, b.set.key), b.set.key)
	if what != "" {
		return errors.New(what)
	}
	err := b.builder.Add(key, row)
	if twice, ok := errors.AsType[*state.DuplicateKeyError](err); ok {
		return fmt.Errorf("the row on line %[2]d has the key %[1]q too; expected a unique key", wording.Clip(string(key)), b.places[twice.Row])
	}
	if err != nil {
		return err
	}
	b.places = append(b.places, uint32(line))
	b.largest = max(b.largest, wholeNumber(key))
	return nil
}

// readRows reads rows that are declared in place.
func (b *building) readRows() (problems syntax.Problems) {
	for i := range b.set.declared.Rows {
		text := &b.set.declared.Rows[i]
		v := json.Parse([]byte(text.Value))
		if err := b.add(v.Raw, text.Pos.Line); err != nil {
			problems = append(problems, syntax.Problem{Pos: text.Pos, Key: text.Key, What: err.Error()})
		}
	}
	return problems
}

// readFile reads the rows of the file.
func (b *building) readFile() syntax.Problems {
	d := &b.set.declared
	path := b.set.file()
	wrong := func(pos syntax.Pos, what string) syntax.Problems {
		return syntax.Problems{{Pos: pos, Key: d.From.Key + ".path", What: what}}
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return wrong(d.From.Path.Pos, fmt.Sprintf("file %q does not exist next to the configuration file or in the working directory", d.From.Path.Value))
	}
	if err != nil {
		return wrong(d.From.Path.Pos, err.Error())
	}
	defer f.Close()
	var last rows.Place
	sum := maphash.Hash{}
	sum.SetSeed(sumSeed)
	yield := func(row []byte, at rows.Place) error {
		last = at
		return b.add(row, at.Line)
	}
	if strings.EqualFold(filepath.Ext(path), ".xlsx") {
		err = readSheet(io.TeeReader(f, &sum), d, yield)
	} else {
		err = rows.Read(io.TeeReader(f, &sum), options(d), yield)
	}
	b.set.sum = sum.Sum64()
	var p *rows.Problem
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p):
		return wrong(syntax.Pos{File: path, Line: p.Line, Column: p.Column}, p.What)
	}
	return wrong(syntax.Pos{File: path, Line: last.Line, Column: last.Column}, err.Error())
}

// readSheet reads the rows of a sheet.
func readSheet(r io.Reader, d *item.Data, yield rows.Yield) error {
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	to, err := rows.NewSheet(options(d), yield)
	if err != nil {
		return err
	}
	if err := fetcher.EachSheetRow(content, d.From.Sheet.Value, to.Row); err != nil {
		return err
	}
	return to.End()
}

// sumSeed is the seed of the hashes that show whether a file has changed.
var sumSeed = maphash.MakeSeed()

// options returns the options for reading the file of a set.
func options(d *item.Data) rows.Options {
	o := rows.Options{Name: d.From.Path.Value, Key: d.EffectiveMember(), Infer: d.Infer, Types: map[string]rows.Type{}}
	if d.From.Separator != "" {
		o.Separator = d.From.Separator[0]
	}
	types := map[string]rows.Type{"text": rows.Text, "integer": rows.Integer, "number": rows.Number, "boolean": rows.Boolean, "json": rows.JSON}
	for _, t := range d.Types {
		o.Types[t.Name] = types[t.Type]
	}
	return o
}
