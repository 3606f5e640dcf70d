package h2

import (
	"errors"
	"io"
	"time"

	"golang.org/x/net/http2"
)

// live serves the connection until it ends or is parked; then it is called again.
func (c *conn) live(read []byte) (err error) {
	defer func() {
		if err != ErrParked {
			c.srv.forget(c, 0) // also after a panic
		}
	}()
	if err = c.serve(read); err != ErrParked {
		c.end(err)
		c.srv.forget(c, c.unanswered())
		c.linger()
	}
	return err
}

// serve serves the connection until it ends or is parked. The error says why it ended.
func (c *conn) serve(read []byte) (err error) {
	if s := &c.source; s.now.IsZero() {
		err = c.begin(read)
	} else { // it was parked
		s.now, s.armed = time.Now(), time.Time{}
		err = c.look(s.now)
	}
	for err == nil {
		if err = c.takeFrame(); err != nil {
			err = c.forgive(err)
		}
	}
	return err
}

// begin sends the first frames, and reads the preface.
func (c *conn) begin(read []byte) error {
	c.source.begin(read)
	c.mu.Lock()
	c.out = appendSettings(c.out,
		http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: maxStreams},
		http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: maxHeaderList})
	c.out = appendWindowUpdate(c.out, 0, connWindow-streamWindow)
	c.mu.Unlock()
	var preface [len(Preface)]byte
	if _, err := io.ReadFull(&c.source, preface[:]); err != nil {
		return err
	}
	if string(preface[:]) != Preface {
		return errPreface
	}
	return nil
}

// takeFrame reads a frame and processes it. A header block that cannot be decoded ends the
// connection, because later blocks could not be decoded either.
func (c *conn) takeFrame() error {
	if err := c.source.await(); err != nil {
		return err
	}
	if c.framer == nil {
		c.frame()
	}
	header, err := c.framer.ReadFrameHeader()
	if err != nil {
		return err
	}
	frame, err := c.framer.ReadFrameForHeader(header)
	if err == nil {
		return c.take(frame)
	}
	if _, ok := err.(http2.StreamError); ok && header.Type == http2.FrameHeaders {
		return protocolError
	}
	return err
}

// forgive resets a stream that the client used wrongly, unless the error must end the connection. A
// reset costs the server more than the client, so it is counted.
func (c *conn) forgive(err error) error {
	e, ok := err.(http2.StreamError)
	if !ok {
		return err
	}
	if c.isUnopened(e.StreamID) {
		return http2.ConnectionError(e.Code)
	}
	c.mu.Lock()
	if s := c.streams[e.StreamID]; s != nil {
		c.reset(s, e.Code)
	} else {
		c.out = appendReset(c.out, e.StreamID, e.Code)
		c.old.add(e.StreamID, true)
	}
	c.mu.Unlock()
	return c.count()
}

// end ends the connection: it tells the client the reason, abandons the remaining
// streams, and waits until all writes have finished.
func (c *conn) end(err error) {
	var code http2.ConnectionError
	switch {
	case errors.As(err, &code):
	case errors.Is(err, http2.ErrFrameTooLarge):
		code = http2.ConnectionError(http2.ErrCodeFrameSize)
	case err == errPreface:
		code = http2.ConnectionError(http2.ErrCodeProtocol)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost = len(c.streams); c.block.stream != nil && c.block.known == nil {
		c.lost++
	}
	for _, s := range c.streams {
		c.abandon(s)
	}
	if code != 0 || err == errIdle || err == errSlow {
		c.out = appendGoAway(c.out, c.last, http2.ErrCode(code))
	}
	c.flush(byAnyone)
	if reset, ok := c.nc.(interface{ Reset() }); ok && c.cut {
		for c.writing { // closing during a write would not reset it
			_ = c.nc.SetWriteDeadline(past)
			c.free.Wait()
		}
		reset.Reset()
	}
	for c.writing {
		c.free.Wait()
	}
}

// linger waits until all calls of the Handler have finished. Then, unless writing has failed, it
// reads what the client still sends, for a while: if the connection were closed at once, the
// client's system would discard what the client has not read yet.
func (c *conn) linger() {
	c.mu.Lock()
	for c.writing || c.serving > 0 {
		c.free.Wait()
	}
	lost := c.failed != nil && c.failed != errFault
	c.mu.Unlock()
	if open, ok := c.nc.(interface{ Discard() }); ok && !lost {
		open.Discard()
	}
	c.source.release()
}
