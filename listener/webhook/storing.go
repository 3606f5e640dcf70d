package webhook

import "sync"

// Storing has the webhooks of rows that wait for the store, each in its own goroutine. There are at
// most as many as may be pending.
type Storing struct {
	mu     sync.Mutex // guards the field below
	closed bool
	all    sync.WaitGroup
}

// Do calls a function in a goroutine, and reports whether it does: not after Close.
func (s *Storing) Do(store func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.all.Go(store)
	}
	return !s.closed
}

// Close waits for the goroutines. There are no further ones.
func (s *Storing) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.all.Wait()
}
