//go:build !linux

package wire

// stay works on Linux only.
type stay struct{}

func newStay(*Connection) *stay { return nil }

func (c *Connection) read(b []byte, _ bool) (int, error) { return c.Stream().Read(b) }

func (c *Connection) write(b []byte) (int, error) { return c.Conn.Write(b) }

func (c *Connection) hasInput() bool { return false }

func (c *Connection) asksInside() (left, inside bool) { return false, false }
