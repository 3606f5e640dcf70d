package recording

import (
	"crypto/sha256"
	"strings"
	"sync"

	"mockserver/internal/recording"
	"mockserver/matcher"
)

// Served is a recorded answer. It must not be changed.
type Served struct {
	Status  int
	Headers [][2]string // without Content-Length; without Content-Encoding if the body was decoded
	Body    []byte
}

// index finds recorded answers by the method, target and body of their requests.
type index struct {
	mu   sync.RWMutex // guards the fields below
	all  map[[sha256.Size]byte]*Served
	size int64
}

// add adds an answer, unless the key already has one, or the answers would exceed most bytes in
// total.
func (x *index) add(key [sha256.Size]byte, s *Served, most int64) {
	if s == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	size := int64(len(s.Body) + 256)
	for _, h := range s.Headers {
		size += int64(len(h[0]) + len(h[1]) + 64)
	}
	if x.all[key] == nil && x.size+size <= most {
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

// answerOf copies the answer in a line. It returns nil if a body was left out of the line.
func answerOf(l *recording.Line) *Served {
	if l.Response.Omitted != "" || l.Request.Omitted != "" {
		return nil
	}
	s := &Served{Status: l.Status, Body: append([]byte(l.Response.Body), l.Response.Base64...)}
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

// target returns the path and query of a request.
func target(q *matcher.Request) []byte {
	if query := q.QueryString(); len(query) > 0 {
		return append(append(append([]byte(nil), q.Path()...), '?'), query...)
	}
	return q.Path()
}
