package wire

import "time"

// thread is the time of the thread that a goroutine runs on.
type thread struct {
	cpu  time.Duration // that it has used, where the system says so
	wall time.Time
}

// start begins to measure what a handshake computes until the next read or write.
func (s *socket) start() { s.computing = thread{threadTime(), time.Now()} }

// stop adds what has been computed since start. A goroutine rarely changes its thread in between; if
// it does, no more than the time that went by is added.
func (s *socket) stop() {
	wall := time.Since(s.computing.wall)
	cpu := wall
	if at := threadTime(); at > 0 {
		cpu = min(max(at-s.computing.cpu, 0), wall)
	}
	s.c.from.handshaking.Add(int64(cpu))
}

// HandshakeTime returns how much CPU time handshakes have taken; where the system does not tell the
// time of a thread, how long they have computed.
func (c *Connections) HandshakeTime() time.Duration { return time.Duration(c.handshaking.Load()) }
