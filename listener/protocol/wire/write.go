package wire

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"sync"
	"time"

	"mockserver/internal/tlsinput"
)

// buffers holds unused buffers for requests and responses.
var buffers = struct{ small, large, output sync.Pool }{
	small:  sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readBuffer) }},
	large:  sync.Pool{New: func() any { return bufio.NewReaderSize(nil, MaxHeader) }},
	output: sync.Pool{New: func() any { return bufio.NewWriterSize(nil, writeBuffer) }},
}

// writeBuffer is the size of the buffer for responses, in bytes.
const writeBuffer = 4 << 10

// input returns the buffer through which the connection is read.
func (c *Connection) input() *bufio.Reader {
	if c.in == nil {
		c.in = c.inputs().Get().(*bufio.Reader)
		c.in.Reset(c)
	}
	return c.in
}

func (c *Connection) inputs() *sync.Pool {
	if c.large {
		return &buffers.large
	}
	return &buffers.small
}

// Output returns a buffer for responses. What is in it is written before the connection is read or
// a request waits, and by Flush. It is valid until then.
func (c *Connection) Output() *bufio.Writer {
	if c.out == nil {
		c.out = buffers.output.Get().(*bufio.Writer)
		c.out.Reset(c)
	}
	return c.out
}

// Flush writes the responses that are in the buffer.
func (c *Connection) Flush() error {
	if c.out == nil || c.out.Buffered() == 0 {
		return nil
	}
	return c.out.Flush()
}

// freeBuffers gives the buffers back.
func (c *Connection) freeBuffers() {
	c.isPlain, c.plain, c.last = false, Plain{}, nil // they refer to the buffer
	if c.in != nil {
		c.in.Reset(nil)
		c.inputs().Put(c.in)
	}
	if c.out != nil {
		c.out.Reset(nil)
		buffers.output.Put(c.out)
	}
	c.in, c.out = nil, nil
	if c.secured != nil {
		tlsinput.Free(c.secured.Conn)
	}
}

// Write writes b as long as the client keeps reading, at a sufficient rate. After Spoil it applies
// the fault instead.
func (c *Connection) Write(b []byte) (int, error) {
	if c.spoils != "" {
		return 0, c.writeFault(b)
	}
	if c.secured != nil {
		return c.secured.Write(b)
	}
	now := c.from.clock.elapsed()
	c.writing = progress{begun: now}
	return c.transmit(b, now)
}

// transmit writes b to the socket, for the call of Write that c.writing describes. What the socket did not take of a
// delayed reply is written in short steps, which show when the client last took something. For any other response, the
// last wait may take up to twice writeTimeout.
func (c *Connection) transmit(b []byte, now time.Duration) (int, error) {
	step, patience, delayed := writeTimeout+10*renewal, time.Duration(0), c.delay.rest != nil
	if delayed {
		now, step, patience = c.from.clock.exactly(), renewal, writeTimeout
	}
	for written, progress := 0, now; ; {
		if delayed || c.writeExpires-now < writeTimeout+clockTick {
			c.writeExpires = now + step
			_ = c.Conn.SetWriteDeadline(c.TimeOf(c.writeExpires)) // if this fails, writing fails too
		}
		n, err := c.write(b[written:])
		written += n
		c.writing.bytes += n
		if c.after != nil {
			c.written = time.Now()
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return written, err
		}
		if now = c.from.clock.exactly(); n > 0 {
			progress = now
		}
		streamed := c.delay.reply != nil // which may be read as slowly as it likes
		if n == 0 && now-progress >= patience || !streamed && now-c.writing.begun > longest(c.writing.bytes)+clockTick {
			return written, err
		}
	}
}

// writeFault applies a fault instead of writing b, the beginning of a response.
func (c *Connection) writeFault(b []byte) error {
	fault := c.spoils
	c.spoils, c.struck = "", true
	c.answered.Store(true) // the fault is the response
	switch fault {
	case reset:
		c.cut()
	case malformed:
		_, _ = c.Write([]byte(noAnswer)) // if this fails, the client gets no response either way
	case Truncate: // there is no body: clients would take truncated headers for complete ones
		c.abrupt = true
		line, _, _ := bytes.Cut(b, []byte("\r\n"))
		_, _ = c.Write(line[:len(line)/2])
	}
	return errStruck
}

// cut closes the connection with RST.
func (c *Connection) cut() {
	if tcp, ok := c.Conn.(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0) // closing then sends RST; if this fails, it is still closed
	}
	_ = c.CloseNow() // the connection is gone either way
}

// The faults that can be applied to a response when it is written. Slow only delays the body. With
// any other fault, only the part of the response that the fault lets through is sent, and the
// connection is closed.
const (
	reset     = "reset"
	malformed = "malformed"
	Truncate  = "truncate"
	Slow      = "slow-body"
)

// errStruck ends serving a connection after a fault.
var errStruck = errors.New("a declared fault ended the connection")

// noAnswer is a malformed response: bytes that are not HTTP, but end as headers do, so that a
// client does not wait for more.
const noAnswer = "\x00\x01\xff\xfethis-is-no-answer-of-HTTP\r\n\r\n"
