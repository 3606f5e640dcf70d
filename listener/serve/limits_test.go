package serve

import "time"

// These are the limits on clients, as docs/limits.md lists them, and the precision with which
// the server enforces them.
const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = 30 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 10 * time.Minute
	parkTime      = time.Second
	slowTime      = 10 * time.Minute
	slowRate      = 1 << 10 // bytes per second
	slowBeat      = 50 * time.Millisecond
	clockTick     = time.Second
	maxAhead      = 64 << 10 // bytes
	maxEmpty      = 8
	readBuffer    = 4 << 10 // bytes, of a connection that is not large
)
