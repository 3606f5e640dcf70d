package recording

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"sync"
	"time"
	"unicode/utf8"
	"unsafe"

	"mockserver/fetcher/upstream"
	"mockserver/internal/events"
	"mockserver/internal/http1"
	"mockserver/internal/recording"
	"mockserver/matcher"
)

// Entry is a copy of one exchange. All its bytes are in one buffer. The answer's body is last,
// because the body may grow.
type Entry struct {
	buf      []byte
	method   span
	url      span
	request  part
	response part

	time       time.Time
	connection uint64
	status     int
	err        string        // why the answer is incomplete; "" if it is complete
	first      time.Duration // from sending the request to the first byte of the answer
	last       time.Duration // from sending it to the last byte
	wait       time.Duration // until the request was sent
	underWay   int64         // the number of requests that were at the upstream
	omitted    string        // why bodies are not kept; "" if they are
	kept       int           // the size of the largest body that is kept, in bytes
	key        [sha256.Size]byte
	sum        hash.Hash // hash of an answer's body that is too large
	streamed   bool
	framing    events.Framing  // of the answer's body
	split      events.Splitter // of what is received, which may be coded
	pieces     []recording.Piece
}

// span is a part of the buffer.
type span struct{ from, to int }

// part is a message: header lines and a body.
type part struct {
	header  span
	body    span
	size    int64
	omitted string
	hash    string
}

var entries = sync.Pool{New: func() any { return new(Entry) }}

const (
	// keptEntry is the size of the largest buffers that are kept, in bytes.
	keptEntry = 64 << 10
	// pieceSize is the size of a piece, in bytes.
	pieceSize = 16
)

// size returns how much memory the entry takes.
func (e *Entry) size() int64 { return int64(cap(e.buf) + cap(e.pieces)*pieceSize) }

func (e *Entry) free() {
	buf, pieces := e.buf[:0], e.pieces[:0]
	if cap(buf)+cap(pieces)*pieceSize > keptEntry {
		buf, pieces = nil, nil
	}
	*e = Entry{buf: buf, pieces: pieces}
	entries.Put(e)
}

func (e *Entry) add(b []byte) span {
	from := len(e.buf)
	e.buf = append(e.buf, b...)
	return span{from, len(e.buf)}
}

func (e *Entry) at(s span) []byte { return e.buf[s.from:s.to] }

// begin copies the request, apart from its body.
func (e *Entry) begin(q *matcher.Request, connection uint64) {
	e.time, e.connection = q.Now(), connection
	e.method = e.add(q.In.Method)
	from := len(e.buf)
	e.buf = append(append(append(e.buf, "http://"...), q.Host()...), q.Path()...)
	if query := q.QueryString(); len(query) > 0 {
		e.buf = append(append(e.buf, '?'), query...)
	}
	e.url = span{from, len(e.buf)}
	e.request.header = e.add(q.In.Header)
}

func (e *Entry) requestBody(body []byte) {
	e.request.size = int64(len(body))
	switch {
	case len(body) == 0:
	case e.omitted != "":
		e.request.omitted = e.omitted
	case len(body) > e.kept:
		sum := sha256.Sum256(body)
		e.request.omitted, e.request.hash = recording.OmittedSize, hex.EncodeToString(sum[:])
	default:
		e.request.body = e.add(body)
	}
}

// Response copies the head of an answer.
func (e *Entry) Response(status int, fields []upstream.Field) {
	e.status = status
	from := len(e.buf)
	for _, f := range fields {
		e.buf = append(append(append(append(e.buf, f.Name...), ": "...), f.Value...), "\r\n"...)
	}
	e.response.header = span{from, len(e.buf)}
	e.response.body = span{len(e.buf), len(e.buf)}
}

// stream begins to note when the pieces of the answer arrive. Those of a coded one are found when it is decoded.
func (e *Entry) stream(x *upstream.Exchange) {
	e.streamed, e.framing, e.split = true, x.Framing, x.Splitter()
}

// mark notes the pieces that end in a part of the answer's body. They take no more memory than a body may.
func (e *Entry) mark(b []byte, at time.Duration) {
	for end := e.response.size; len(e.pieces)*pieceSize < e.kept; {
		n := e.split.Next(b)
		if n == 0 {
			return
		}
		end, b = end+int64(n), b[n:]
		e.pieces = append(e.pieces, recording.Piece{end, at.Microseconds()})
	}
}

// More copies a part of the answer's body that arrived at a time after the request was sent.
func (e *Entry) More(b []byte, at time.Duration) {
	if len(b) == 0 {
		return
	}
	if e.streamed {
		e.mark(b, at)
	}
	a := &e.response
	a.size += int64(len(b))
	switch {
	case e.omitted != "":
		a.omitted = e.omitted
		return
	case a.omitted == "" && a.size > int64(e.kept):
		a.omitted = recording.OmittedSize
		e.sum = sha256.New()
		e.sum.Write(e.at(a.body)) // a hash never returns an error
		e.buf = e.buf[:a.body.from]
		a.body.to = a.body.from
	}
	if e.sum != nil {
		e.sum.Write(b)
		return
	}
	e.buf = append(e.buf, b...)
	a.body.to = len(e.buf)
}

// fill sets the fields of a line, which then shares the entry's buffer.
func (e *Entry) fill(l *recording.Line) {
	if e.sum != nil {
		e.response.hash = hex.EncodeToString(e.sum.Sum(nil))
	}
	l.Time, l.Method, l.URL, l.Status, l.Error = e.time, text(e.at(e.method)), text(e.at(e.url)), e.status, e.err
	l.First, l.Last, l.Wait = e.first.Microseconds(), e.last.Microseconds(), e.wait.Microseconds()
	l.UnderWay, l.Connection, l.Pieces = e.underWay, e.connection, e.pieces
	if n := len(e.pieces); n > 0 && e.pieces[n-1][0] < e.response.size && n*pieceSize < e.kept { // the last event has no end
		l.Pieces = append(e.pieces, recording.Piece{e.response.size, l.Last})
	}
	e.message(&l.Request, &e.request)
	e.message(&l.Response, &e.response)
}

func (e *Entry) message(m *recording.Message, p *part) {
	m.Size, m.Omitted, m.SHA256 = p.size, p.omitted, p.hash
	var named [][]byte
	header := matcher.Header(e.at(p.header))
	for value := range header.Values("Connection") {
		named = http1.AppendNames(named, value)
	}
	for name, value := range header.All() {
		if !upstream.IsHopByHop(name, named) {
			m.Headers = append(m.Headers, [2]string{text(name), text(value)})
		}
	}
	switch body := e.at(p.body); {
	case len(body) == 0:
	case utf8.Valid(body):
		m.Body = text(body)
	default:
		m.Base64 = body
	}
}

// text returns a string that shares the bytes of b.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
