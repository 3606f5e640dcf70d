package wire

import (
	"errors"
	"io"
	"time"
)

// The faults that can happen to an answer where it is written. A connection that is struck
// by one writes nothing of what fasthttp gives it but what the fault lets through, and is
// closed. By then every earlier answer has been sent: requests to a server with faults are
// read one at a time.
const (
	reset     = "reset"
	malformed = "malformed"
	Truncate  = "truncate"
	Slow      = "slow-body"
)

// errStruck ends serving a connection that a fault has struck.
var errStruck = errors.New("a declared fault ended the connection")

// noAnswer is a malformed answer: bytes that are not HTTP, and end as headers do, so that a
// client does not wait for more.
const noAnswer = "\x00\x01\xff\xfethis-is-no-answer-of-HTTP\r\n\r\n"

// Spoil has a fault happen to the answer when it is written.
func (c *Connection) Spoil(fault string) { c.spoils = fault }

// SpoiltBody is a body that is not sent as it should be: half of it, rounded down, or a
// piece at a time.
type SpoiltBody struct {
	Body []byte
	Pace int // bytes a second; 0 sends half of it
	Conn *Connection
}

// Read is there for fasthttp, which wants a reader and has it write itself.
func (s *SpoiltBody) Read([]byte) (int, error) { return 0, io.EOF }

// WriteTo writes the body after the head, which was sent. An error ends the connection.
func (s *SpoiltBody) WriteTo(io.Writer) (n int64, err error) {
	sent := 0
	if s.Pace > 0 {
		sent, err = s.drip()
		return int64(sent), err
	}
	s.Conn.struck = true
	s.Conn.answered.Store(true)
	sent, _ = s.Conn.Write(s.Body[:len(s.Body)/2]) // the connection ends here anyway
	return int64(sent), errStruck
}

// slowBeat is how long at least a slow body waits between two pieces.
const slowBeat = 50 * time.Millisecond

// errLeft ends a slow body whose client left.
var errLeft = errors.New("the client left before the body was sent")

// drip sends the body so that each byte comes when its time has: the last one after as many
// seconds as the body is times as long as the pace.
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
