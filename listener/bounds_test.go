package listener

import "time"

// Bounds of what a client may take, as docs/reference.md has them, and how exact they are.
const (
	headerTimeout = 10 * time.Second
	bodyTimeout   = 30 * time.Second
	writeTimeout  = 30 * time.Second
	idleTimeout   = 10 * time.Minute
	parkTime      = 5 * time.Second
	slowTime      = 10 * time.Minute
	slowRate      = 1 << 10 // bytes a second
	slowBeat      = 50 * time.Millisecond
	clockTick     = time.Second
	maxAhead      = 64 << 10 // bytes
	maxEmpty      = 8
	plainPath     = 4 << 10 // bytes
)
