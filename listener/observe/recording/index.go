package recording

import (
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mockserver/fetcher/upstream"
	"mockserver/internal/recording"
	"mockserver/matcher"
)

// Served is a recorded answer. It must not be changed.
type Served struct {
	Status  int
	Headers [][2]string // without Content-Length; without Content-Encoding if the body was decoded
	Body    []byte
	Pieces  []recording.Piece // of a streamed answer
	// Stream is what the server makes of the pieces when it first needs it.
	Stream atomic.Value
}

// index finds recorded answers by the method, target and body of their requests.
type index struct {
	mu     sync.RWMutex // guards the fields below, and those of each asking
	all    map[[sha256.Size]byte]*Served
	size   int64
	full   bool // an answer had no room
	asking map[[sha256.Size]byte]*asking
}

// asking is a request that is being passed on, and whose answer may be served afterwards.
type asking struct {
	index        *index
	key          [sha256.Size]byte
	waiting      map[upstream.Waiter]bool // equal requests
	over, failed bool
}

// find returns the answer to a request. If there is none, it waits for that of an equal request that
// is being passed on. If there is none to wait for, it returns an asking, whose end must be called.
// Without either, the request is passed on regardless of others. The error is upstream.ErrLeft.
func (x *index) find(key [sha256.Size]byte, w upstream.Waiter, until time.Time) (s *Served, begun *asking, waited time.Duration, err error) {
	x.mu.RLock()
	s = x.all[key]
	x.mu.RUnlock()
	if s != nil {
		return s, nil, 0, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for began := time.Now(); ; waited = time.Since(began) {
		a := x.asking[key]
		switch s = x.all[key]; {
		case s != nil || x.full:
			return s, nil, waited, nil
		case a == nil:
			a = &asking{index: x, key: key, waiting: map[upstream.Waiter]bool{}}
			x.asking[key] = a
			return nil, a, waited, nil
		case w == nil || !time.Now().Before(until):
			return nil, nil, waited, nil
		case a.wait(w, until):
			return nil, nil, time.Since(began), upstream.ErrLeft
		case a.over && !a.failed:
			return x.all[key], nil, time.Since(began), nil
		}
	}
}

// wait waits for the end of a request, or until a time, and reports whether the client left. The
// caller must hold index.mu.
func (a *asking) wait(w upstream.Waiter, until time.Time) (left bool) {
	mu := &a.index.mu
	a.waiting[w] = true
	timer := time.AfterFunc(time.Until(until), func() {
		mu.Lock()
		defer mu.Unlock()
		if a.waiting[w] {
			w.Wake()
		}
	})
	defer timer.Stop()
	mu.Unlock()
	left = w.Wait()
	mu.Lock()
	delete(a.waiting, w)
	return left
}

// end lets the requests that wait go on. If the request failed, one of them is passed on, and the
// others wait for it; otherwise those that find no answer are all passed on. Further calls have no
// effect, nor have calls for nil.
func (a *asking) end(failed bool) {
	if a == nil {
		return
	}
	a.index.mu.Lock()
	defer a.index.mu.Unlock()
	if a.over {
		return
	}
	a.over, a.failed = true, failed
	delete(a.index.asking, a.key)
	for w := range a.waiting {
		w.Wake()
	}
}

// streamedSize is about how many bytes a piece takes as an item of a stream.
const streamedSize = 200

// add adds an answer, unless the key already has one, or the answers would exceed most bytes in
// total.
func (x *index) add(key [sha256.Size]byte, s *Served, most int64) {
	if s == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	size := int64(len(s.Body) + 256 + len(s.Pieces)*streamedSize)
	for _, h := range s.Headers {
		size += int64(len(h[0]) + len(h[1]) + 64)
	}
	switch {
	case x.all[key] != nil:
	case x.size+size > most:
		x.full = true
	default:
		x.all[key] = s
		x.size += size
	}
}

// keyOf returns the key of a request.
func keyOf(method, target, body []byte) (key [sha256.Size]byte) {
	h := sha256.New()
	h.Write(method) // a hash never returns an error
	h.Write([]byte{0})
	h.Write(target)
	h.Write([]byte{0})
	h.Write(body)
	h.Sum(key[:0])
	return key
}

// keyOfLine returns the key of the request in a line.
func keyOfLine(l *recording.Line) [sha256.Size]byte {
	_, path, _ := strings.Cut(l.URL, "://")
	path = path[max(strings.IndexByte(path, '/'), 0):] // not parsed: a path may have characters that a URL may not
	return keyOf([]byte(l.Method), []byte(path), l.Request.Content())
}

// responseOf copies the answer in a line. It returns nil if a body was left out of the line.
func responseOf(l *recording.Line) *Served {
	if l.Response.Omitted != "" || l.Request.Omitted != "" {
		return nil
	}
	s := &Served{Status: l.Status, Body: append([]byte(l.Response.Body), l.Response.Base64...), Pieces: slices.Clone(l.Pieces)}
	for _, h := range l.Response.Headers {
		switch strings.ToLower(h[0]) {
		case "content-encoding":
			if l.Response.Coding != "" {
				continue
			}
		case "content-length":
			continue
		}
		s.Headers = append(s.Headers, [2]string{strings.Clone(h[0]), strings.Clone(h[1])})
	}
	return s
}

func target(q *matcher.Request) []byte {
	if query := q.QueryString(); len(query) > 0 {
		return append(append(append([]byte(nil), q.Path()...), '?'), query...)
	}
	return q.Path()
}
