package h2

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// conn is one connection.
type conn struct {
	srv   *Server
	nc    net.Conn
	shard uint32

	// Only the goroutine that reads the connection uses the fields below.
	framer  *http2.Framer // nil before the first frame, and while the connection is parked
	decoder *hpack.Decoder
	source  source
	begun   time.Time
	settled bool      // the first frame was one of settings
	last    uint32    // the highest stream that the client opened
	block   block     // the header block that is being received
	cheap   int       // cheap frames since cheapAt
	cheapAt time.Time // to the second
	inside  int       // bytes that may still be received
	expires time.Time // when the connection is too old; zero for never
	told    time.Time // when the first GOAWAY frame was sent; zero before

	mu       sync.Mutex // guards the fields below, and those of streams
	free     sync.Cond  // the write buffer has become smaller
	streams  map[uint32]*Stream
	old      closed // streams that are over
	bodies   int    // bytes of the request bodies that are held
	waiting  int    // bytes of the responses that wait in buffers of streams
	starved  int    // streams that got no larger window
	serving  int    // streams that are with the Handler in goroutines of their own
	out      []byte // what is to be written
	spare    []byte // the other buffer
	writing  bool   // a goroutine writes
	ready    []*Stream
	written  []*Stream // whose responses are in out, and have something to do afterwards
	doing    []*Stream // those of spare
	window   int       // bytes of bodies that the client accepts
	initial  int       // of a new stream
	maxFrame int       // bytes of a body in a frame that the client accepts
	shrink   bool      // the next header block has to say that the dynamic table is not used
	failed   error     // of writing
	final    bool      // the last GOAWAY frame was sent
	over     bool      // nothing more is written once the buffer is empty: a fault ended the connection
	cut      bool      // and it is to be reset
}

// block is a header block that is being received, maybe in several frames.
type block struct {
	stream *Stream // nil for none
	known  bool    // it is one of the streams already, and these are its trailers
	end    bool    // the request ends with it
	refuse bool    // the stream is not served
	size   int     // of the frames so far
	values values
	begun  time.Time
}

const (
	dataFrame = http2.FrameData
	endStream = http2.FlagDataEndStream
	resetCode = http2.ErrCodeInternal // of a declared fault
)

func newConn(srv *Server, nc net.Conn, shard uint32) *conn {
	c := &conn{
		srv: srv, nc: nc, shard: shard, begun: time.Now(), inside: connWindow,
		streams: map[uint32]*Stream{}, window: streamWindow, initial: streamWindow, maxFrame: maxFrame,
	}
	c.free.L = &c.mu
	c.source.c = c
	c.decoder = hpack.NewDecoder(4096, c.field)
	c.decoder.SetMaxStringLength(maxHeaderList)
	if srv.MaxAge > 0 {
		c.expires = c.begun.Add(time.Duration(float64(srv.MaxAge) * (0.9 + 0.2*rand.Float64())))
	}
	return c
}

// frame makes the framer, which park has given back: it keeps a buffer of the largest frame so far.
func (c *conn) frame() {
	c.framer = http2.NewFramer(nil, &c.source)
	c.framer.SetReuseFrames()
	c.framer.SetMaxReadFrameSize(maxFrame)
}

// Errors that end a connection.
var (
	errIdle    = errors.New("the client sent nothing for a long time")
	errSlow    = errors.New("a frame or a header block was not whole in time")
	errDrained = errors.New("the connection was to end, and its last stream has")
	errFault   = errors.New("a declared fault ended the connection")
	errPreface = errors.New("the client did not begin with the preface of HTTP/2")
)

// serve serves the connection until it ends. The error says why.
func (c *conn) serve(read []byte) error {
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
	for {
		if err := c.takeFrame(); err != nil {
			if err = c.forgive(err); err != nil {
				return err
			}
		}
	}
}

// takeFrame reads a frame, and takes it. A header block that cannot be decoded ends the connection,
// because those after it could not be either.
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

// forgive resets a stream that the client used wrongly, unless the connection has to end for it. A
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

// count counts a cheap frame.
func (c *conn) count() error {
	if now := c.source.now; now.Sub(c.cheapAt) >= time.Second {
		c.cheap, c.cheapAt = 0, now
	}
	if c.cheap++; c.cheap > maxCheap {
		return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	return nil
}

// end ends what is left of the connection: it tells the client why, and gives its streams up. It
// returns how many requests had no response.
func (c *conn) end(err error) (unanswered int) {
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
	for _, s := range c.streams {
		if s.received && !s.answered {
			unanswered++
		}
		c.abandon(s)
	}
	if code != 0 || err == errIdle || err == errSlow {
		c.out = appendGoAway(c.out, c.last, http2.ErrCode(code), "")
	}
	c.flush()
	return unanswered
}

// linger waits until nothing is written any more and no Handler is at work. Then it reads what the
// client still sends, for a while, if the connection has been written to its end: closed at once,
// its system would discard what it has not read yet.
func (c *conn) linger() {
	c.mu.Lock()
	if reset, ok := c.nc.(interface{ Reset() }); ok && c.cut {
		reset.Reset()
	}
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

// unanswered returns how many requests have no response.
func (c *conn) unanswered() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.streams {
		if s.received && !s.answered {
			n++
		}
	}
	return n
}

// closed are the streams that were closed last, and which of them the server reset, whose client
// may not know that yet.
type closed struct {
	ids  [32]uint32
	ours [32]bool
	next int
}

func (o *closed) add(id uint32, ours bool) {
	for i := range o.ids {
		if o.ids[i] == id {
			o.ours[i] = ours
			return
		}
	}
	o.ids[o.next], o.ours[o.next] = id, ours
	o.next = (o.next + 1) % len(o.ids)
}

func (o *closed) find(id uint32) (known, ours bool) {
	for i := range o.ids {
		if o.ids[i] == id {
			return true, o.ours[i]
		}
	}
	return false, false
}
