package wire

import (
	"errors"
	"io"
	"time"
)

// Spoil applies a fault to the response when it is written.
func (c *Connection) Spoil(fault string) { c.spoils = fault }

// Answered notes that the response has been written to the connection, or that writing it failed.
// Everything that fasthttp writes until it reads again is dropped.
func (c *Connection) Answered(failed error) {
	if c.silent = true; failed != nil && !c.struck {
		c.failed, c.unwritten = failed, true
	}
}

// Reset ends the connection so that the client notices that its response is incomplete.
func (c *Connection) Reset() {
	c.struck = true
	c.answered.Store(true) // there will be no other response
	c.cut()
}

// SpoiltBody is a body that is not sent properly: only half of it, rounded down, is sent, or it is
// sent a piece at a time.
type SpoiltBody struct {
	Body []byte
	Pace int // bytes a second; 0 sends half of the body
	Conn *Connection
}

// Read exists because fasthttp requires a reader, but uses WriteTo.
func (s *SpoiltBody) Read([]byte) (int, error) { return 0, io.EOF }

// WriteTo writes the body after the head, which has been sent. An error ends the connection.
func (s *SpoiltBody) WriteTo(io.Writer) (n int64, err error) {
	sent := 0
	if s.Pace > 0 {
		sent, err = s.drip()
		return int64(sent), err
	}
	s.Conn.struck, s.Conn.abrupt = true, true
	s.Conn.answered.Store(true)
	sent, _ = s.Conn.Write(s.Body[:len(s.Body)/2]) // the connection ends here anyway
	return int64(sent), errStruck
}

// slowBeat is the minimum time that a slow body waits between two pieces.
const slowBeat = 50 * time.Millisecond

// errLeft ends a slow body whose client has left.
var errLeft = errors.New("the client left before the body was sent")

// drip sends the body in pieces, each when its last byte is due. The last byte of the body is due
// after the length of the body divided by the pace, in seconds.
func (s *SpoiltBody) drip() (sent int, err error) {
	begun, pace := time.Now(), float64(s.Pace)
	piece := max(int(pace*slowBeat.Seconds()), 1)
	for sent < len(s.Body) {
		next := min(sent+piece, len(s.Body))
		due := begun.Add(time.Duration(float64(next) / pace * float64(time.Second)))
		if s.Conn.WaitUntil(due) {
			return sent, errLeft
		}
		n, err := s.Conn.Write(s.Body[sent:next])
		if sent += n; err != nil {
			return sent, err
		}
	}
	return sent, nil
}
