package data

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"mockserver/internal/list"
	"mockserver/listener/memory/state"
)

// snapshot holds the changes as they were at one time, under a name.
type snapshot struct {
	Snapshot
	taken *state.Snapshot
}

// Snapshot describes a snapshot.
type Snapshot struct {
	Name string    `json:"name" doc:"name, as given"`
	Time time.Time `json:"time" doc:"when it was taken"`
}

// The reasons why a snapshot cannot be taken or found.
var (
	ErrNoSnapshot = errors.New("there is no such snapshot")
	ErrSnapshots  = fmt.Errorf("there are %d snapshots already; expected at most %[1]d", maxSnapshots)
)

const maxSnapshots = 16

// Take stores the current changes under a name, in place of any snapshot with that name. The error
// is ErrSnapshots.
func (s *Sets) Take(name string) (Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := slices.DeleteFunc(s.snapshots, func(one snapshot) bool { return one.Name == name })
	if len(before) == maxSnapshots {
		return Snapshot{}, ErrSnapshots
	}
	taken := snapshot{Snapshot{name, time.Now().UTC()}, s.store.Snapshot()}
	s.snapshots = append(before, taken)
	return taken.Snapshot, nil
}

// Snapshots returns all snapshots, the oldest first.
func (s *Sets) Snapshots() []Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return list.Map(s.snapshots, func(one snapshot) Snapshot { return one.Snapshot })
}

// Restore brings back the changes as they were when a snapshot was taken. The error is
// ErrNoSnapshot.
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
	n := len(s.snapshots)
	s.snapshots = slices.DeleteFunc(s.snapshots, func(one snapshot) bool { return one.Name == name })
	if len(s.snapshots) == n {
		return ErrNoSnapshot
	}
	return nil
}
