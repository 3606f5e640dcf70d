package listener

import "time"

// These bounds limit what a client may use, as docs/reference.md gives them, and state how exactly
// they are kept.
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
