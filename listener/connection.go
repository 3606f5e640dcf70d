package listener

import (
	"net"
	"sync"
	"sync/atomic"
)

// connections is a listener that knows the connections it accepted, so that
// stopping can close those that fasthttp leaves: the ones that have not sent
// anything yet, which it takes for busy during their first five seconds, and
// those whose request outlasts the grace period.
type connections struct {
	net.Listener
	closing sync.Once
	closed  error

	mu   sync.Mutex // guards open
	open map[*connection]struct{}
}

func newConnections(l net.Listener) *connections {
	return &connections{Listener: l, open: map[*connection]struct{}{}}
}

// Accept waits for the next connection.
func (c *connections) Accept() (net.Conn, error) {
	inner, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	accepted := &connection{Conn: inner, from: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open[accepted] = struct{}{}
	return accepted, nil
}

// Close closes the listener, the first time: fasthttp closes it again, or not at
// all when its Serve has not begun.
func (c *connections) Close() error {
	c.closing.Do(func() { c.closed = c.Listener.Close() })
	return c.closed
}

// closeSilent closes the connections that never sent a byte.
func (c *connections) closeSilent() {
	c.closeWhere(func(conn *connection) bool { return !conn.spoke.Load() })
}

// closeAll closes every connection.
func (c *connections) closeAll() {
	c.closeWhere(func(*connection) bool { return true })
}

func (c *connections) closeWhere(which func(*connection) bool) {
	var chosen []*connection
	c.mu.Lock()
	for conn := range c.open {
		if which(conn) {
			chosen = append(chosen, conn)
		}
	}
	c.mu.Unlock()
	for _, conn := range chosen {
		_ = conn.Close() // it is gone either way
	}
}

// connection is one accepted connection.
type connection struct {
	net.Conn
	from  *connections
	spoke atomic.Bool // it sent something
}

// Read reads what the client sent.
func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && !c.spoke.Load() {
		c.spoke.Store(true)
	}
	return n, err
}

// Close closes the connection and forgets it.
func (c *connection) Close() error {
	c.from.mu.Lock()
	delete(c.from.open, c)
	c.from.mu.Unlock()
	return c.Conn.Close()
}
