package h2

import "time"

// Limits for clients.
const (
	// Preface is what a client sends first.
	Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

	maxStreams    = 1000     // open at once, or closed but still being worked on
	maxHeaderList = 64 << 10 // bytes, as RFC 9113 counts them
	maxBlock      = 1 << 20  // bytes of a header block as it is sent; much more, so that a larger request gets a response
	maxFrame      = 16 << 10 // bytes of a frame that is received
	// maxCheap is how many frames that cost the client nothing are accepted per second: resets,
	// pings, settings, priorities, empty frames, and frames that are answered with a reset.
	maxCheap = 1000

	streamWindow = 64<<10 - 1
	connWindow   = 1 << 20
	// maxBodies is the size of all request bodies of a connection, in bytes, beyond which only the
	// oldest incomplete one gets a larger window.
	maxBodies = 64 << 20
	// maxWaiting is the size of the responses that wait in buffers of a connection's streams, in
	// bytes, beyond which the connection opens no more streams. Responses on streams that are open
	// by then are buffered up to mostWaiting.
	maxWaiting  = 64 << 20
	mostWaiting = 256 << 20
	allWaiting  = 1 << 30 // for all connections together

	headerTimeout = 10 * time.Second
	idleTimeout   = 10 * time.Minute
	stallTimeout  = 30 * time.Second // without progress of a body or a response, or of a frame
	slowTime      = 10 * time.Minute // until then, the average rate of a body does not matter
	slowRate      = 1 << 10          // minimum average rate from then on, in bytes per second
	ackTimeout    = time.Second      // for the ping between the two GOAWAY frames

	tick      = 2 * time.Second // how often the timeouts of a connection are checked
	parkTime  = time.Second     // after which an idle connection gives its buffers back, at the next tick
	outSize   = 64 << 10        // bytes in the write buffer beyond which bodies wait
	maxOut    = 256 << 10       // bytes in the write buffer beyond which nothing more is read
	firstSize = 1 << 10         // bytes that a connection reads at a time at first, and after it was parked
	readSize  = 16 << 10
	keptBody  = 256 << 10 // the largest buffer of a body that is kept for other streams
	keptLines = 64 << 10
)
