package data

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"mockserver/internal/files"
	"mockserver/internal/json"
	"mockserver/internal/wording"
	"mockserver/listener/memory/data/edit"
	"mockserver/listener/memory/state"
	"mockserver/listener/memory/statefile"
)

func saveMove(m *state.Move, now time.Time) *statefile.Move {
	switch {
	case m == nil:
		return nil
	case m.At == 0:
		return &statefile.Move{Entry: m.Entry}
	}
	return &statefile.Move{Entry: m.Entry, In: max(0, time.Unix(0, m.At).Sub(now)), To: m.To}
}

func moveOf(m *statefile.Move, now time.Time) *state.Move {
	switch {
	case m == nil:
		return nil
	case m.To == nil:
		return &state.Move{Entry: m.Entry}
	}
	return &state.Move{At: now.Add(m.In).UnixNano(), Entry: m.Entry, To: m.To}
}

// Save writes all changes to a file, as statefile.Replace does.
func (s *Sets) Save(path string) (changes int, err error) {
	now := time.Now()
	return statefile.Replace(path, func(put func(statefile.Change) error) (err error) {
		for _, set := range s.store.Sets() {
			set.Changes(func(c state.Change) bool {
				line := statefile.Change{Set: set.Name, Key: string(c.Key), Row: c.JSON, Taken: c.Taken, Deleted: c.JSON == nil && !c.Taken, Move: saveMove(c.Move, now)}
				if c.Isolated {
					line.Part = &c.Part
				}
				err = put(line)
				return err == nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Writable returns the reason why Save could not write to a file, or nil if it could.
func Writable(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.new")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Load makes the changes in a file that Save has written, even beyond the limits of the sets: moves
// may have exceeded the limits, or the limits were higher. A missing file has no changes. Changes to undeclared sets
// are left out; Load also returns their number. After an error, some of the changes may have been made.
func (s *Sets) Load(path string) (changes, leftOut int, err error) {
	f, _, err := files.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	l := statefile.NewLines(f)
	for {
		c, err := l.Next()
		switch {
		case errors.Is(err, io.EOF):
			return changes, leftOut, nil
		case err == nil && s.current[c.Set] == nil:
			leftOut++
			continue
		case err == nil:
			if err = s.load(&c); err != nil {
				err = fmt.Errorf("change %d: %w", l.Changes, err)
			}
		}
		if err != nil {
			return changes, leftOut, err
		}
		changes++
	}
}

// load makes one change.
func (s *Sets) load(c *statefile.Change) error {
	set := s.current[c.Set]
	var part []byte
	if c.Part != nil {
		part = []byte(*c.Part)
	}
	tx := state.Tx{Unlimited: true}
	tx.Begin(s.store)
	_, key := set.get(&tx, part, []byte(c.Key))
	v := json.Parse(c.Row)
	switch {
	case c.Deleted:
		tx.Delete(set.Set, part, key)
	case v.Kind == json.Object:
		given := edit.Member(v.Raw, set.key)
		has, what := appendKey(nil, given, set.key)
		if key = has; what != "" || !isKey(given, []byte(c.Key)) {
			return fmt.Errorf("the row of %q has another key, or none, in %q", wording.Clip(c.Key), edit.Joined(set.key))
		}
		tx.Put(set.Set, part, key, v.Raw, moveOf(c.Move, time.Now()))
		set.made.atLeast(wholeNumber(key))
	case v.Kind != json.Missing || !c.Taken:
		return fmt.Errorf("the row of %q is not an object", wording.Clip(c.Key))
	}
	if err := tx.Commit(); err != nil || !c.Taken {
		return err
	}
	tx.Begin(s.store)
	if row := tx.Get(set.Set, part, key); row.Found() {
		tx.Take(set.Set, part, row)
	}
	return tx.Commit()
}
