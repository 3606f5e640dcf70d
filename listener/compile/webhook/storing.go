package webhook

import "sync"

// Storing runs functions that store webhooks of rows, each in its own goroutine, since they wait
// for the store. At most as many goroutines wait as webhooks may be pending, since the dispatcher
// refuses further webhooks at once.
type Storing struct {
	mu     sync.Mutex // guards the field below
	closed bool
	all    sync.WaitGroup
}

// Do calls a function in a goroutine. After Close, it returns false without calling the function.
func (s *Storing) Do(store func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.all.Go(store)
	}
	return !s.closed
}

// Close waits for the goroutines. No goroutine is started afterwards.
func (s *Storing) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.all.Wait()
}
