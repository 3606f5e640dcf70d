package serve

import (
	"time"

	"mockserver/internal/places"
	"mockserver/listener/protocol/wire"
	"mockserver/matcher"
)

// peer is the source of a request, as far as its answer needs it: an HTTP/1.1 connection or an
// HTTP/2 stream. Only the goroutine that serves the request may call its methods, except for Wake.
type peer interface {
	matcher.Peer
	places.Waiter
	// WaitUntil waits until t or until the client leaves, and reports whether the client left.
	WaitUntil(t time.Time) (left bool)
	// HasLeft reports whether the client is known to be gone, so that no response is needed.
	HasLeft() bool
	// Shard returns the shard in which the requests of the peer are counted.
	Shard() uint32
	// Arrived returns when the request arrived, if serving it began later; zero otherwise.
	Arrived() time.Time
	// Chooses reports whether the request may have a header that selects a response of an
	// operation: Prefer, or a selective Accept.
	Chooses() (prefers, accepts bool)
	// Spoil applies a fault to the response when it is written.
	Spoil(fault string)
	// AfterWrite sets f to be called once the response has been written or has failed.
	AfterWrite(f func(written time.Time))
}

// nobody is the peer of a request without a connection, in a test. Such a request never waits.
// Callers check for nobody before they call a method that needs a connection.
var nobody peer = (*wire.Connection)(nil)
