package listener

import (
	"mockserver/config"
	"mockserver/matcher"
)

// fault is a way for an answer to go wrong.
type fault struct{}

func newFault(f *config.Fault) *fault { return &fault{} }

// strike has the fault happen to the answer that the request has by now.
func (f *fault) strike(s *Server, r *matcher.Request) {}
