package wire

import (
	"errors"
	"time"
)

// Spoil applies a fault to the response when it is written. Earlier responses are written first.
func (c *Connection) Spoil(fault string) {
	_ = c.Flush() // if this fails, so does writing the response
	c.spoils = fault
}

// Reset ends the connection so that the client notices that its response is incomplete.
func (c *Connection) Reset() {
	c.struck = true
	c.answered.Store(true) // there will be no other response
	c.cut()
}

// Break makes the connection end after what is being sent so that the client notices that its response is incomplete:
// with RST, or without the closing notice of TLS.
func (c *Connection) Break(resets bool) { c.struck, c.abrupt, c.resets = true, true, resets }

// WriteHalf writes half of a body, rounded down, after its head, and ends the connection with an
// error.
func (c *Connection) WriteHalf(body []byte) error {
	c.struck, c.abrupt = true, true
	c.answered.Store(true)
	_, _ = c.Write(body[:len(body)/2]) // the connection ends here anyway
	return errStruck
}

// slowBeat is the minimum time that a slow body waits between two pieces.
const slowBeat = 50 * time.Millisecond

// errLeft ends a slow body whose client has left.
var errLeft = errors.New("the client left before the body was sent")

// WriteSlowly writes a body in pieces, each when its last byte is due. The last byte of the body is
// due after the length of the body divided by the pace, in bytes a second. An error ends the
// connection.
func (c *Connection) WriteSlowly(body []byte, bytesPerSecond int) error {
	begun, pace := time.Now(), float64(bytesPerSecond)
	piece := max(int(pace*slowBeat.Seconds()), 1)
	for sent := 0; sent < len(body); {
		next := min(sent+piece, len(body))
		due := begun.Add(time.Duration(float64(next) / pace * float64(time.Second)))
		if c.WaitUntil(due) {
			return errLeft
		}
		n, err := c.Write(body[sent:next])
		if sent += n; err != nil {
			return err
		}
	}
	return nil
}
