package h2

import (
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// The functions below process what a client sends, one frame at a time. An error ends the
// connection, unless it is an http2.StreamError.

// take processes one frame. It counts the frames that cost the client nothing.
func (c *conn) take(frame http2.Frame) error {
	if _, ok := frame.(*http2.SettingsFrame); !ok && !c.settled {
		return protocolError
	}
	switch f := frame.(type) {
	case *http2.DataFrame:
		return c.takeData(f)
	case *http2.HeadersFrame:
		return c.takeHeaders(f)
	case *http2.ContinuationFrame:
		if len(f.HeaderBlockFragment()) == 0 && c.count() != nil {
			return calm
		}
		return c.takeBlock(f.HeaderBlockFragment(), f.HeadersEnded())
	case *http2.WindowUpdateFrame:
		return c.takeWindowUpdate(f)
	case *http2.RSTStreamFrame:
		return c.takeReset(f)
	case *http2.SettingsFrame:
		return c.takeSettings(f)
	case *http2.PingFrame:
		return c.takePing(f)
	case *http2.PriorityFrame: // deprecated, RFC 9113 section 5.3.2
		if f.StreamDep == f.StreamID {
			return streamError(f.StreamID, http2.ErrCodeProtocol)
		}
		return c.count()
	case *http2.PushPromiseFrame:
		return protocolError
	case *http2.GoAwayFrame: // the client opens no more streams: there is nothing to reply
		return c.count()
	}
	return c.count() // a frame of an unknown kind is ignored
}

// takeHeaders processes the beginning of a header block, which opens a stream or contains the
// trailers of one.
func (c *conn) takeHeaders(f *http2.HeadersFrame) error {
	id := f.StreamID
	if id%2 == 0 || f.HasPriority() && f.Priority.StreamDep == id {
		return protocolError
	}
	c.mu.Lock()
	known := c.streams[id]
	received := known != nil && known.received            // read now: it may be answered and recycled at any time
	open := max(len(c.streams)+len(c.written), c.serving) // most streams that are being served are also in c.streams
	late := c.final || c.isCrowded()
	c.mu.Unlock()
	b := &c.block
	*b = block{begun: c.source.now, end: f.StreamEnded()}
	switch {
	case received:
		return closedError
	case known != nil && !b.end:
		return protocolError
	case known != nil:
		b.known = known
		b.stream = newStream(c, id, c.source.now) // for the trailers alone
		b.stream.request.begin(true)
	case id <= c.last:
		if wasOpen, ours := c.old.find(id); wasOpen && !ours {
			return closedError
		} else if !wasOpen {
			return protocolError
		}
		fallthrough // trailers that were in flight when the stream was reset
	default:
		b.stream = newStream(c, id, c.source.now)
		b.stream.request.begin(id <= c.last)
		b.stream.served = true
		b.refuse = id <= c.last || late || open >= maxStreams
		c.last = max(c.last, id)
	}
	return c.takeBlock(f.HeaderBlockFragment(), f.HeadersEnded())
}

// takeBlock processes a part of a header block. The block is decoded when it is complete: while a
// field is incomplete, the decoder would copy its beginning for each frame.
func (c *conn) takeBlock(part []byte, ended bool) error {
	b := &c.block
	if b.size += len(part); b.size > maxBlock {
		return calm
	}
	if !ended || b.parts != nil {
		b.parts = append(b.parts, part...)
		part = b.parts
	}
	if !ended {
		return nil
	}
	if _, err := c.decoder.Write(part); err != nil || c.decoder.Close() != nil {
		return decodingError
	}
	done := *b
	*b = block{}
	c.decoder.SetEmitEnabled(true)
	s := done.stream
	switch {
	case done.known != nil:
		id, wrong, large := s.id, s.request.wrong, s.request.tooLarge
		s.recycle()
		if wrong != "" {
			return streamError(id, http2.ErrCodeProtocol)
		}
		return c.received(id, large)
	case done.refuse:
		c.mu.Lock()
		known, _ := c.old.find(s.id)
		id := s.id
		s.recycle()
		if !known { // otherwise it was reset before
			c.out = appendReset(c.out, id, http2.ErrCodeRefusedStream)
			c.old.add(id, true)
		}
		c.mu.Unlock()
		return c.count()
	}
	s.request.end(&done.values, s)
	return c.open(s, done.end)
}

// field processes a decoded field. Once a header block is too large, the rest of it is decoded
// without being looked at.
func (c *conn) field(f hpack.HeaderField) {
	q := &c.block.stream.request
	q.field(f, &c.block.values)
	if q.tooLarge {
		c.decoder.SetEmitEnabled(false)
	}
}

// open opens a stream whose header fields are complete. It answers the request at once if there is
// no body or if the request is refused.
func (c *conn) open(s *Stream, ended bool) error {
	if wrong := s.request.wrong; wrong != "" {
		id := s.id
		s.recycle()
		return streamError(id, http2.ErrCodeProtocol)
	}
	c.mu.Lock()
	s.window, s.given = c.initial, streamWindow
	c.streams[s.id] = s
	c.mu.Unlock()
	status, why := s.request.refusal(s)
	if status == 0 && s.request.length > c.srv.MaxBody {
		status, why = tooLarge, c.largeBody()
	}
	switch {
	case status != 0 && ended:
		c.mu.Lock()
		s.received = true
		c.mu.Unlock()
		return c.refuse(s, status, why)
	case status != 0:
		return c.refuse(s, status, why)
	case ended:
		return c.complete(s)
	case s.request.expects:
		c.mu.Lock()
		if !c.over {
			c.headers(s.id, appendBytes([]byte{8}, []byte("100")), false)
		}
		c.mu.Unlock()
	}
	return nil
}

// takeData processes a part of a body.
func (c *conn) takeData(f *http2.DataFrame) error {
	id, data := f.StreamID, f.Data()
	switch {
	case c.isUnopened(id):
		return protocolError
	case len(data) == 0 && !f.StreamEnded():
		if err := c.count(); err != nil {
			return err
		}
	}
	s, refused, err := c.receiving(id, int(f.Length))
	switch {
	case s == nil:
		return err
	case refused && f.StreamEnded():
		return c.received(id, false)
	case refused:
		return nil
	case s.request.length >= 0 && len(s.Body)+len(data) > s.request.length:
		return streamError(id, http2.ErrCodeProtocol)
	case len(s.Body)+len(data) > c.srv.MaxBody:
		return c.refuse(s, tooLarge, c.largeBody())
	}
	s.Body = append(s.Body, data...)
	s.arrived = c.source.now
	c.mu.Lock()
	c.hold(s, len(data))
	c.mu.Unlock()
	if f.StreamEnded() {
		return c.complete(s)
	}
	return nil
}

// receiving returns the stream that bytes of a body are for, and whether it was refused already. It
// returns nil with an error if no stream may receive the bytes, and nil without an error if the
// stream was reset and the client did not know that yet.
func (c *conn) receiving(id uint32, length int) (s *Stream, refused bool, err error) {
	if c.inside -= length; c.inside < 0 {
		return nil, false, flowError
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inside < connWindow/2 {
		c.out = appendWindowUpdate(c.out, 0, connWindow-c.inside)
		c.inside = connWindow
	}
	s = c.streams[id]
	if s == nil {
		if known, ours := c.old.find(id); known && ours {
			return nil, false, nil // it was in flight when the stream was reset
		}
	}
	switch {
	case s == nil || s.received:
		return nil, false, streamError(id, http2.ErrCodeStreamClosed)
	case s.given < length:
		return nil, false, streamError(id, http2.ErrCodeFlowControl)
	}
	s.given -= length
	return s, s.answered, nil
}

// isUnopened reports whether the client has opened neither the stream nor a later one, or never can
// open it, because its number is even.
func (c *conn) isUnopened(id uint32) bool { return id > c.last || id%2 == 0 }

func (c *conn) takeWindowUpdate(f *http2.WindowUpdateFrame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := int(f.Increment)
	if f.StreamID == 0 {
		if c.window += n; c.window > maxWindow {
			return flowError
		}
		return nil
	}
	if c.isUnopened(f.StreamID) {
		return protocolError
	}
	s := c.streams[f.StreamID]
	if s == nil { // clients send it for streams that have just ended, RFC 9113 section 5.1
		return nil
	}
	if s.window += n; s.window > maxWindow {
		return streamError(s.id, http2.ErrCodeFlowControl)
	}
	c.enqueue(s)
	return nil
}

const maxWindow = 1<<31 - 1

func (c *conn) takeReset(f *http2.RSTStreamFrame) error {
	if c.isUnopened(f.StreamID) {
		return protocolError
	}
	c.mu.Lock()
	if s := c.streams[f.StreamID]; s != nil {
		s.answered = true // there is no client left to answer
		c.abandon(s)
		c.old.add(f.StreamID, false)
	}
	c.mu.Unlock()
	return c.count()
}

func (c *conn) takeSettings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		if !c.settled {
			return protocolError
		}
		return c.count()
	}
	if f.NumSettings() > maxSettings { // each may change the windows of all streams
		return calm
	}
	c.settled = true
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := f.ForeachSetting(c.set); err != nil {
		return err
	}
	c.out = appendFrame(c.out, 0, http2.FrameSettings, http2.FlagSettingsAck, 0)
	return c.count()
}

// maxSettings is how many settings a frame may have; few are defined.
const maxSettings = 100

// set applies one setting. The caller must hold c.mu.
func (c *conn) set(s http2.Setting) error {
	if err := s.Valid(); err != nil {
		return err
	}
	switch s.ID {
	case http2.SettingHeaderTableSize:
		c.shrink = c.shrink || s.Val < 4096
	case http2.SettingMaxFrameSize:
		c.maxFrame = min(int(s.Val), maxFrame)
	case http2.SettingInitialWindowSize:
		more := int(s.Val) - c.initial
		c.initial = int(s.Val)
		for _, stream := range c.streams {
			if stream.window += more; stream.window > maxWindow {
				return flowError
			}
			c.enqueue(stream)
		}
	}
	return nil
}

func (c *conn) takePing(f *http2.PingFrame) error {
	switch {
	case !f.IsAck():
		c.mu.Lock()
		c.out = appendPing(c.out, http2.FlagPingAck, f.Data)
		c.mu.Unlock()
	case f.Data == lastPing && !c.goAwaySent.IsZero():
		c.goAwayFinally()
	}
	return c.count()
}
