package listener

import (
	"errors"
	"fmt"

	"mockserver/listener/memory/data"
)

// defaultStateMemory is the default of Options.StateMemory.
const defaultStateMemory = 1 << 30

// loadState applies the changes to rows that are in the file Options.State.
func (s *Server) loadState() error {
	if s.opts.State == "" {
		return nil
	}
	if err := data.Writable(s.opts.State); err != nil {
		return fmt.Errorf("the state could not be written at the end: %w", err)
	}
	changes, leftOut, err := s.compiler.Data.Load(s.opts.State)
	if err != nil {
		return fmt.Errorf("read the state: %s: %w", s.opts.State, err)
	}
	if leftOut > 0 {
		s.log.Warn("changes of sets that are not declared are left out of the state", "file", s.opts.State, "changes", leftOut)
	}
	s.log.Info("state read", "file", s.opts.State, "changes", changes)
	return nil
}

// saveState closes the sets of rows, and writes their changes to the file Options.State.
func (s *Server) saveState() error {
	s.compiler.Data.Close()
	if s.opts.State == "" {
		return nil
	}
	changes, err := s.compiler.Data.Save(s.opts.State)
	if err != nil {
		err = fmt.Errorf("write the state: %w", err)
		s.log.Error("state not written", "file", s.opts.State, "error", errors.Unwrap(err).Error())
		return err
	}
	s.log.Info("state written", "file", s.opts.State, "changes", changes)
	return nil
}
