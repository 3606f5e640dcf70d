package policy

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"mockserver/config/samples"
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/files"
	"mockserver/internal/wording"
)

// measured names a file of measured latencies, from which a latency is made.
type measured struct {
	From   syntax.Text
	Unit   string
	Column string
}

// UnitsOfSamples are the units that the numbers in such a file may have. The slice must not be modified.
var UnitsOfSamples = []string{"ns", "us", "ms", "s"}

// read returns the distribution of the latencies in the file, and whether a valid file is given. v
// is the map that declares it.
func (m *measured) read(d *table.Decoder, v table.Value) (curve samples.Curve, given bool) {
	if m.From.Value == "" {
		for _, key := range []string{"unit", "column"} {
			if e := v.Entry(key); e != nil {
				d.Add(syntax.Problem{Pos: e.Key.Pos(), Key: v.Key + "." + key, What: "has no effect without from", Warning: true})
			}
		}
		return curve, false
	}
	at := table.Value{Node: v.Get("from"), Key: v.Key + ".from"}
	for _, e := range v.Entries {
		if !slices.Contains([]string{"from", "unit", "column", "failure-rate", "timeout-rate", "timeout", "timeout-ms"}, e.Key.Text.Value) {
			d.About(at, "%s and from belong to different forms of latency; expected one", wording.Label(e.Key.Text.Value))
			return curve, false
		}
	}
	return m.open(d, at)
}

// Measured returns the distribution in a column of a table, whose file a value names, with numbers in a unit; nil
// after an error, which has been reported.
func Measured(d *table.Decoder, v table.Value, unit, column string) *Latency {
	m := measured{From: v.AsText(), Unit: unit, Column: column}
	curve, ok := m.open(d, v)
	if !ok {
		return nil
	}
	l := &Latency{Min: curve.Min, Max: curve.Max, Curve: curve.Points}
	l.complete(true)
	return l
}

// open reads the file that a value names.
func (m *measured) open(d *table.Decoder, at table.Value) (curve samples.Curve, ok bool) {
	name := Resolve(d, m.From.Value)
	r, err := files.OpenUnpacked(name, samples.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("there is no such file")
	}
	if err != nil {
		d.About(at, "%s: %v", wording.Clip(m.From.Value), err)
		return curve, false
	}
	defer r.Close()
	curve, err = samples.Read(name, r, samples.Options{Unit: samples.Units[m.Unit], Column: m.Column})
	var wrong *samples.Problem
	switch {
	case errors.As(err, &wrong) && wrong.Line > 0:
		d.Known(at.Key)
		d.Add(syntax.Problem{Pos: syntax.Pos{File: name, Line: wrong.Line, Column: wrong.Column}, Key: at.Key, What: wrong.What})
		return curve, false
	case err != nil:
		d.About(at, "%s: %v", wording.Clip(m.From.Value), err)
		return curve, false
	}
	return curve, true
}

// Resolve returns the file that a name means. A relative name is looked up next to the
// configuration, then in the working directory. Both files are watched, because the first may
// appear later.
func Resolve(d *table.Decoder, name string) string {
	local := filepath.FromSlash(name)
	if filepath.IsAbs(local) {
		d.Files = append(d.Files, local)
		return local
	}
	d.Files = append(d.Files, filepath.Join(d.Dir, local), files.Absolute(local))
	return files.Beside(d.Dir, name)
}
