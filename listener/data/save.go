package data

import (
	"bufio"
	stdjson "encoding/json"
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
	"mockserver/listener/state"
)

// saved is a line in the file of changes.
type saved struct {
	Set     string             `json:"set"`
	Part    *string            `json:"part,omitempty"`
	Key     string             `json:"key"`
	Row     stdjson.RawMessage `json:"row,omitempty"`
	Deleted bool               `json:"deleted,omitempty"`
	Move    *savedMove         `json:"move,omitempty"`
}

// savedMove is the next move of a row. Its remaining time starts to run again when the file is
// loaded.
type savedMove struct {
	Entry uint32             `json:"entry"`
	In    time.Duration      `json:"in,omitempty"` // nanoseconds
	To    stdjson.RawMessage `json:"to,omitempty"` // empty if the row stays as it is
}

func saveMove(m *state.Move, now time.Time) *savedMove {
	switch {
	case m == nil:
		return nil
	case m.At == 0:
		return &savedMove{Entry: m.Entry}
	}
	return &savedMove{m.Entry, max(0, time.Unix(0, m.At).Sub(now)), m.To}
}

func (m *savedMove) from(now time.Time) *state.Move {
	switch {
	case m == nil:
		return nil
	case m.To == nil:
		return &state.Move{Entry: m.Entry}
	}
	return &state.Move{At: now.Add(m.In).UnixNano(), Entry: m.Entry, To: m.To}
}

// Save writes all changes to a file. The file is replaced as a whole: whatever happens, it contains
// either the old or the new content.
func (s *Sets) Save(path string) (changes int, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.new")
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	encoder := stdjson.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	now := time.Now()
	for _, set := range s.store.Sets() {
		set.Changes(func(c state.Change) bool {
			line := saved{Set: set.Name, Key: string(c.Key), Row: c.JSON, Deleted: c.JSON == nil, Move: saveMove(c.Move, now)}
			if c.Isolated {
				line.Part = &c.Part
			}
			err = encoder.Encode(line)
			changes++
			return err == nil
		})
		if err != nil {
			return 0, err
		}
	}
	if err = w.Flush(); err != nil {
		return 0, err
	}
	if err = f.Sync(); err != nil {
		return 0, err
	}
	if err = f.Close(); err != nil {
		return 0, err
	}
	return changes, os.Rename(f.Name(), path)
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
// may have exceeded the limits, or the limits were higher. A missing file counts as one without
// changes. Changes to undeclared sets are left out; Load also returns their number.
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
	decoder := stdjson.NewDecoder(bufio.NewReaderSize(f, 1<<20))
	decoder.DisallowUnknownFields() // so that a file of another kind is not overwritten at the end
	tx := state.Tx{Unlimited: true}
	for line := 1; ; line++ {
		var c saved
		if err := decoder.Decode(&c); errors.Is(err, io.EOF) {
			return changes, leftOut, nil
		} else if err != nil {
			return changes, leftOut, fmt.Errorf("change %d: %w", line, err)
		} else if c.Set == "" || c.Key == "" {
			return changes, leftOut, fmt.Errorf("change %d: missing set or key; expected a file that the server has written", line)
		}
		set := s.store.Set(c.Set)
		if set == nil {
			leftOut++
			continue
		}
		var part []byte
		if c.Part != nil {
			part = []byte(*c.Part)
		}
		tx.Begin(s.store)
		if c.Deleted {
			tx.Delete(set, part, []byte(c.Key))
		} else if v := json.Parse(c.Row); v.Kind == json.Object {
			tx.Put(set, part, []byte(c.Key), v.Raw, c.Move.from(time.Now()))
			s.current[c.Set].made.atLeast(wholeNumber([]byte(c.Key)))
		} else {
			return changes, leftOut, fmt.Errorf("change %d: the row of %q is not an object", line, wording.Clip(c.Key))
		}
		if err := tx.Commit(); err != nil {
			return changes, leftOut, fmt.Errorf("change %d: %w", line, err)
		}
		changes++
	}
}
