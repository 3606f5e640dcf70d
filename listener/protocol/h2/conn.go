package h2

import (
	"math/rand/v2"
	"net"
	"slices"
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
	reading
	begun      time.Time
	inside     int       // bytes that may still be received
	expires    time.Time // when the connection reaches its maximum age; zero for never
	goAwaySent time.Time // when the first GOAWAY frame was sent; zero before

	mu      sync.Mutex // guards the fields below, and those of streams
	free    sync.Cond  // the write buffer has become smaller, or a write or a call of the Handler has ended
	streams map[uint32]*Stream
	old     closed // streams that are over
	bodies  int    // bytes of the request bodies that are held
	waiting int    // bytes of the responses that wait in buffers of streams
	starved int    // streams that got no larger window
	serving int    // streams that the Handler is answering in goroutines of their own
	output
	lost     int  // streams that were open when the connection ended
	window   int  // bytes of bodies that the client accepts
	initial  int  // the window of a new stream
	maxFrame int  // bytes of a body in a frame that the client accepts
	shrink   bool // the next header block must say that the dynamic table is not used
	final    bool // the last GOAWAY frame was sent
	over     bool // nothing more is written once the buffer is empty: a fault ended the connection
	cut      bool // and the connection is to be reset
}

// reading is what was received of the current frame and header block.
type reading struct {
	framer  *http2.Framer // nil before the first frame, and while the connection is parked
	decoder *hpack.Decoder
	source  source
	settled bool      // the first frame, SETTINGS, has arrived
	last    uint32    // the highest stream that the client opened
	block   block     // the header block that is being received
	cheap   int       // cheap frames since cheapAt
	cheapAt time.Time // when the current second of counting began
}

// output is what is still to be written to a connection.
type output struct {
	out      []byte // bytes to write
	spare    []byte // the other buffer
	writing  bool   // a goroutine writes
	made     bool   // the pacer is about to flush out
	ready    []*Stream
	written  []*Stream // streams whose responses are in out, with something to do afterwards
	doing    []*Stream // the same for spare
	finished int       // responses whose end is in out, or in a write that has not succeeded
	failed   error     // of writing
}

// block is a header block that is being received, maybe in several frames.
type block struct {
	stream *Stream // nil for none
	known  *Stream // the open stream whose trailers these are; nil for none
	end    bool    // the request ends with it
	refuse bool    // the stream is not served
	size   int     // of the frames so far
	parts  []byte  // their content, if there are several
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
	if srv.MaxAge > 0 {
		c.expires = c.begun.Add(time.Duration(float64(srv.MaxAge) * (0.9 + 0.2*rand.Float64())))
	}
	return c
}

// frame creates the framer. park releases it, because a framer holds a buffer for the largest frame
// so far.
func (c *conn) frame() {
	c.framer = http2.NewFramer(nil, &c.source)
	c.framer.SetReuseFrames()
	c.framer.SetMaxReadFrameSize(maxFrame)
}

// count counts a cheap frame. It returns an error if the client sends too many per second.
func (c *conn) count() error {
	if now := c.source.now; now.Sub(c.cheapAt) >= time.Second {
		c.cheap, c.cheapAt = 0, now
	}
	if c.cheap++; c.cheap > maxCheap {
		return http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	return nil
}

// unanswered returns how many requests have no complete response yet.
func (c *conn) unanswered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost + len(c.streams) + c.finished
}

// closed records the streams that were closed most recently, and which of them the server reset:
// the client may not know about the reset yet.
type closed struct {
	ids  [32]uint32
	ours [32]bool
	next int
}

func (o *closed) add(id uint32, ours bool) {
	i := slices.Index(o.ids[:], id)
	if i < 0 {
		i, o.next = o.next, (o.next+1)%len(o.ids)
	}
	o.ids[i], o.ours[i] = id, ours
}

func (o *closed) find(id uint32) (known, ours bool) {
	i := slices.Index(o.ids[:], id)
	return i >= 0, i >= 0 && o.ours[i]
}
