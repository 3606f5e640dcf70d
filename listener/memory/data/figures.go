package data

import "mockserver/listener/observe/record"

// Figures returns the figures of all sets, in the order of their names.
func (s *Sets) Figures() []record.SetCounts {
	s.mu.Lock()
	current := s.current
	s.mu.Unlock()
	var all []record.SetCounts
	for _, set := range s.store.Sets() {
		f := set.Figures()
		c := record.SetCounts{
			Name: set.Name, Rows: f.Rows, Base: f.Base, Changes: f.Changes, Parts: f.Parts, Bytes: f.Bytes,
			Conflicts: f.Conflicts, GivenUp: f.GivenUp, Moves: set.Moves(), Operations: record.Operations{},
		}
		if known := current[set.Name]; known != nil {
			c.Operations = known.counters.list()
		}
		all = append(all, c)
	}
	return all
}
