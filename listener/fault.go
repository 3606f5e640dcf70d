package listener

import (
	"bytes"
	"errors"
	"io"
	"time"

	"mockserver/config"
	"mockserver/matcher"
)

// fault is a way for an answer to go wrong. It happens where the answer is written: a
// connection that is struck writes nothing of what fasthttp gives it but what the
// fault lets through, and is closed. By then everything before was sent: requests to a
// server with faults are read one at a time.
type fault struct {
	kind string  // one of config.FaultTypes
	rate float64 // of the requests
	pace int     // bytes a second of a slow body
}

func newFault(f *config.Fault) *fault {
	if f == nil {
		return nil
	}
	made := &fault{kind: f.Type, rate: f.EffectiveRate(), pace: f.BytesPerSecond}
	if made.pace == 0 {
		made.pace = config.DefaultBytesPerSecond
	}
	return made
}

// strikes draws whether a request has the fault; none never strikes.
func (f *fault) strikes(random *matcher.Random) bool {
	return f != nil && (f.rate >= 1 || random.Float64() < f.rate)
}

// strike has the fault happen to the answer that the request has by now. What is added
// to its headers afterwards is of the answer too. It tells whether the place that the
// request holds is left once the answer is sent; else the caller has to leave it.
func (f *fault) strike(c *call, held *capacity) (leaves bool) {
	if !c.peer.isAlone() {
		return false // in a test; or it came with others before a reload, whose answers would go wrong with it
	}
	c.fault, c.trace.Fault = f, f.kind
	switch {
	case c.isStreamed():
		c.held = held
		return true
	case f.kind != slow: // there may be nothing to be slow with
		c.peer.spoil(f)
	}
	return false
}

// The faults that are handled apart.
const (
	reset     = "reset"
	malformed = "malformed"
	truncate  = "truncate"
	slow      = "slow-body"
)

// errStruck ends serving a connection on which a fault happened.
var errStruck = errors.New("a declared fault ended the connection")

// noAnswer is what a malformed answer is: bytes that are no HTTP, and end as headers
// do, so that a client does not wait for more.
const noAnswer = "\x00\x01\xff\xfethis-is-no-answer-of-HTTP\r\n\r\n"

// spoil does what a fault does instead of writing b, the beginning of an answer.
func (c *connection) spoil(b []byte) (int, error) {
	f := c.spoils
	c.spoils, c.struck = nil, true
	c.answered.Store(true) // this is what it was to have
	switch f.kind {
	case reset:
		if tcp, ok := c.Conn.(interface{ SetLinger(seconds int) error }); ok {
			_ = tcp.SetLinger(0) // closing sends RST then; it is closed if this fails too
		}
		_ = c.closeNow() // it is gone either way
	case malformed:
		_, _ = c.Write([]byte(noAnswer)) // who does not get it gets no answer either
	case truncate: // an answer that is a head alone: clients take headers that end early for all of them
		line, _, _ := bytes.Cut(b, []byte("\r\n"))
		_, _ = c.Write(line[:len(line)/2])
	}
	return 0, errStruck
}

// spoiltBody is a body that is not sent as it should be: half of it, rounded down, or
// a piece at a time.
type spoiltBody struct {
	body  []byte
	fault *fault
	conn  *connection
	held  *capacity // left when it is closed; nil for none
}

// Read is there for fasthttp, which wants a reader and has it write itself.
func (s *spoiltBody) Read([]byte) (int, error) { return 0, io.EOF }

// Close is called when the answer is sent, or cannot be.
func (s *spoiltBody) Close() error {
	if s.held != nil {
		s.held.leave()
	}
	return nil
}

// WriteTo writes the body behind the head, which was sent. An error ends the connection.
func (s *spoiltBody) WriteTo(io.Writer) (n int64, err error) {
	sent := 0
	if s.fault.kind == slow {
		sent, err = s.drip()
		return int64(sent), err
	}
	s.conn.struck = true
	s.conn.answered.Store(true)
	sent, _ = s.conn.Write(s.body[:len(s.body)/2]) // it ends here anyway
	return int64(sent), errStruck
}

// slowBeat is how long at least a slow body waits between two pieces.
const slowBeat = 50 * time.Millisecond

// errLeft ends a slow body whose client left.
var errLeft = errors.New("the client left before the body was sent")

// drip sends the body so that each byte comes when its time has: the last one after as
// many seconds as the body is times as long as the pace.
func (s *spoiltBody) drip() (sent int, err error) {
	begun, pace := time.Now(), float64(s.fault.pace)
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
