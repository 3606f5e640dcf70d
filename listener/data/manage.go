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
	"slices"
	"time"

	"mockserver/internal/files"
	"mockserver/internal/wording"
	"mockserver/listener/state"
	"mockserver/matcher/json"
)

// Why something cannot be done with a set from outside.
var (
	ErrNoSet      = errors.New("there is no such set")
	ErrNoRow      = errors.New("there is no such row")
	ErrNoSnapshot = errors.New("there is no such snapshot")
	ErrSnapshots  = fmt.Errorf("there are %d snapshots already, and no more are kept", maxSnapshots)
)

const maxSnapshots = 16

// snapshot is the changes as they were, under a name.
type snapshot struct {
	Snapshot
	taken *state.Snapshot
}

// Snapshot is what is known of a snapshot.
type Snapshot struct {
	Name string    `json:"name" doc:"as given"`
	Time time.Time `json:"time" doc:"when it was taken"`
}

// Set returns a set by its name; nil if there is none.
func (s *Sets) Set(name string) *state.Set { return s.store.Set(name) }

// Put writes a row from outside: in place of the one with its key or, with merge, into it, as RFC 7396
// says. It returns the row as it is then. The errors are ErrNoSet, ErrNoRow for merge, a
// *state.FullError, and others that say what is wrong with the row.
func (s *Sets) Put(name string, part, key, row []byte, merge bool) ([]byte, error) {
	s.mu.Lock()
	known := s.current[name]
	s.mu.Unlock()
	if known == nil {
		return nil, ErrNoSet
	}
	v := json.Parse(row)
	if v.Kind != json.Object {
		return nil, errors.New("the body is not a JSON object")
	}
	if given := member(v.Raw, known.key); given.Kind != json.Missing && string(given.AppendText(nil)) != string(key) {
		return nil, fmt.Errorf("the body has the key %s in %q, and the path has %q; expected the same", wording.Clip(string(given.Raw)), joined(known.key), wording.Clip(string(key)))
	}
	var made []byte
	err := s.try(func(tx *state.Tx) error {
		old := tx.Get(known.Set, part, key)
		if merge && !old.Found() {
			return ErrNoRow
		}
		before := json.Value{Kind: json.Object, Raw: old.JSON}
		made = appendCompact(nil, v.Raw)
		if merge {
			made = appendMerged(nil, before, v)
		}
		made = appendWith(nil, json.Value{Kind: json.Object, Raw: made}, known.key, known.keyJSON(before, key))
		made = known.put(tx, part, key, old, made, time.Now())
		return nil
	})
	known.made.atLeast(wholeNumber(key))
	return made, err
}

// Delete deletes a row from outside. The errors are ErrNoSet, ErrNoRow and a *state.FullError.
func (s *Sets) Delete(name string, part, key []byte) error {
	set := s.store.Set(name)
	if set == nil {
		return ErrNoSet
	}
	return s.try(func(tx *state.Tx) error {
		if !tx.Get(set, part, key).Found() {
			return ErrNoRow
		}
		tx.Delete(set, part, key)
		return nil
	})
}

// try makes a transaction until nothing comes between.
func (s *Sets) try(what func(*state.Tx) error) error {
	var tx state.Tx
	for {
		tx.Begin(s.store)
		if err := what(&tx); err != nil {
			return err
		}
		if err := tx.Commit(); !errors.Is(err, state.ErrConflict) {
			return err
		}
	}
}

// Reset drops the changes of the sets with the given names, or of all if there are none: those of one
// part, or of all if part is nil. Picks from them begin anew. The error is ErrNoSet, with
// the name; then nothing was reset.
func (s *Sets) Reset(names []string, part []byte) error {
	sets := s.store.Sets()
	if len(names) > 0 {
		sets = nil
		for _, name := range names {
			set := s.store.Set(name)
			if set == nil {
				return fmt.Errorf("%w: %q", ErrNoSet, wording.Clip(name))
			}
			sets = append(sets, set)
		}
	}
	for _, set := range sets {
		set.Reset(part)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.turns {
		if len(names) == 0 || slices.Contains(names, t.set) {
			t.reset(part)
		}
	}
	return nil
}

// Take keeps the changes as they are under a name, in place of a snapshot with that name. The error is
// ErrSnapshots.
func (s *Sets) Take(name string) (Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.snapshots, func(one snapshot) bool { return one.Name == name })
	if i < 0 && len(s.snapshots) == maxSnapshots {
		return Snapshot{}, ErrSnapshots
	}
	if i >= 0 {
		s.snapshots = slices.Delete(s.snapshots, i, i+1)
	}
	taken := snapshot{Snapshot{name, time.Now().UTC()}, s.store.Snapshot()}
	s.snapshots = append(s.snapshots, taken)
	return taken.Snapshot, nil
}

// Snapshots returns the snapshots that are kept, the oldest first.
func (s *Sets) Snapshots() []Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Snapshot, 0, len(s.snapshots))
	for _, one := range s.snapshots {
		list = append(list, one.Snapshot)
	}
	return list
}

// Restore makes the changes what they were. The error is ErrNoSnapshot.
func (s *Sets) Restore(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.snapshots, func(one snapshot) bool { return one.Name == name })
	if i < 0 {
		return ErrNoSnapshot
	}
	s.store.Restore(s.snapshots[i].taken)
	return nil
}

// Forget drops a snapshot. The error is ErrNoSnapshot.
func (s *Sets) Forget(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.snapshots, func(one snapshot) bool { return one.Name == name })
	if i < 0 {
		return ErrNoSnapshot
	}
	s.snapshots = slices.Delete(s.snapshots, i, i+1)
	return nil
}

// saved is a line of the file of changes.
type saved struct {
	Set     string             `json:"set"`
	Part    *string            `json:"part,omitempty"`
	Key     string             `json:"key"`
	Row     stdjson.RawMessage `json:"row,omitempty"`
	Deleted bool               `json:"deleted,omitempty"`
	Move    *savedMove         `json:"move,omitempty"`
}

// savedMove is what a row does by itself. The time of it goes on once the file is read.
type savedMove struct {
	Entry uint32             `json:"entry"`
	In    time.Duration      `json:"in,omitempty"` // nanoseconds
	To    stdjson.RawMessage `json:"to,omitempty"` // none for a row that stays as it is
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

// Save writes all changes to a file, which is replaced as a whole: it is the old one or the new one,
// whatever happens meanwhile.
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

// Writable returns why Save could not write to a file; nil if it could.
func Writable(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.new")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Load makes the changes of a file that Save has written. A file that does not exist has none. Changes
// of sets that are not declared are left out; their number is returned too.
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
	decoder.DisallowUnknownFields() // so that a file of something else is not replaced at the end
	var tx state.Tx
	for line := 1; ; line++ {
		var c saved
		if err := decoder.Decode(&c); errors.Is(err, io.EOF) {
			return changes, leftOut, nil
		} else if err != nil {
			return changes, leftOut, fmt.Errorf("change %d: %w", line, err)
		} else if c.Set == "" || c.Key == "" {
			return changes, leftOut, fmt.Errorf("change %d: it has no set, or no key; expected a file that the server has written", line)
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
