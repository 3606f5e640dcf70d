package bench

import (
	"context"

	"mockserver/bench/load"
)

// side is a server under load: the baseline, the candidate or a rival.
type side struct {
	name    string
	address string
	pid     int
	server  *server
	wants   []load.Want // the expected answers; nil selects those of the subject
}

// side returns a started server under a name.
func (s *server) side(name string) side {
	return side{name: name, address: s.address, pid: s.pid, server: s}
}

// subject is a row of the table: requests, and how to measure them.
type subject struct {
	name, shows string
	asked       []preparedRequest
	wants       []load.Want
	sample      reply // an answer, which the baseline also gives
}

// whileRunning returns a context that is canceled when one of the servers exits, with the error of
// that server as its cause, and a function that releases its resources.
func whileRunning(ctx context.Context, sides []side) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	for i := range sides {
		s := sides[i].server
		go func() {
			select {
			case <-s.exited:
				cancel(s.died())
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { cancel(nil) }
}
