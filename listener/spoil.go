package listener

import (
	"bytes"
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
	truncate  = "truncate"
	slow      = "slow-body"
)

// errStruck ends serving a connection that a fault has struck.
var errStruck = errors.New("a declared fault ended the connection")

// noAnswer is a malformed answer: bytes that are not HTTP, and end as headers do, so that a
// client does not wait for more.
const noAnswer = "\x00\x01\xff\xfethis-is-no-answer-of-HTTP\r\n\r\n"

// spoil has a fault happen to the answer when it is written.
func (c *connection) spoil(fault string) { c.spoils = fault }

// strike does what a fault does instead of writing b, the beginning of an answer.
func (c *connection) strike(b []byte) error {
	fault := c.spoils
	c.spoils, c.struck = "", true
	c.answered.Store(true) // this is the answer it was to have
	switch fault {
	case reset:
		if tcp, ok := c.Conn.(interface{ SetLinger(seconds int) error }); ok {
			_ = tcp.SetLinger(0) // closing sends RST then; it is closed if this fails too
		}
		_ = c.closeNow() // it is gone either way
	case malformed:
		_, _ = c.Write([]byte(noAnswer)) // a client that does not get it gets no answer either
	case truncate: // the answer is a head alone: clients take headers that end early for all of them
		line, _, _ := bytes.Cut(b, []byte("\r\n"))
		_, _ = c.Write(line[:len(line)/2])
	}
	return errStruck
}

// spoiltBody is a body that is not sent as it should be: half of it, rounded down, or a
// piece at a time.
type spoiltBody struct {
	body []byte
	pace int // bytes a second; 0 sends half of it
	conn *connection
}

// Read is there for fasthttp, which wants a reader and has it write itself.
func (s *spoiltBody) Read([]byte) (int, error) { return 0, io.EOF }

// WriteTo writes the body after the head, which was sent. An error ends the connection.
func (s *spoiltBody) WriteTo(io.Writer) (n int64, err error) {
	sent := 0
	if s.pace > 0 {
		sent, err = s.drip()
		return int64(sent), err
	}
	s.conn.struck = true
	s.conn.answered.Store(true)
	sent, _ = s.conn.Write(s.body[:len(s.body)/2]) // the connection ends here anyway
	return int64(sent), errStruck
}

// slowBeat is how long at least a slow body waits between two pieces.
const slowBeat = 50 * time.Millisecond

// errLeft ends a slow body whose client left.
var errLeft = errors.New("the client left before the body was sent")

// drip sends the body so that each byte comes when its time has: the last one after as many
// seconds as the body is times as long as the pace.
func (s *spoiltBody) drip() (sent int, err error) {
	begun, pace := time.Now(), float64(s.pace)
	piece := max(int(pace*slowBeat.Seconds()), 1)
	for sent < len(s.body) {
		next := min(sent+piece, len(s.body))
		due := begun.Add(time.Duration(float64(next) / pace * float64(time.Second)))
		switch s.conn.pause(due) {
		case pauseLeft:
			return sent, errLeft
		case pauseWoken: // by something else
			continue
		}
		n, err := s.conn.Write(s.body[sent:next])
		if sent += n; err != nil {
			return sent, err
		}
	}
	return sent, nil
}
