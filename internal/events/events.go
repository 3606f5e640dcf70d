// Package events finds the pieces of a streamed body: server-sent events, or lines of JSON.
package events

import (
	"bytes"

	"mockserver/internal/ascii"
)

// Framing is what the pieces of a body are.
type Framing uint8

// The framings of bodies.
const (
	None   Framing = iota // any other body: what arrived together is a piece
	Events                // server-sent events, and comments
	Lines                 // JSON texts, one per line
)

// FramingOf returns the framing of a body with a Content-Type.
func FramingOf(contentType []byte) Framing {
	media, _, _ := bytes.Cut(contentType, []byte(";"))
	media = ascii.TrimBlanks(media)
	if ascii.EqualFold(media, "text/event-stream") {
		return Events
	}
	for _, end := range [...]string{"ndjson", "jsonl", "jsonlines", "stream+json"} {
		if from := len(media) - len(end); from > 0 && ascii.EqualFold(media[from:], end) {
			return Lines
		}
	}
	return None
}

// Splitter finds the ends of pieces in a body that arrives in parts. A new Splitter is at the beginning of a body.
type Splitter struct {
	Framing Framing
	within  bool // a field line of the event has ended
	line    bool // a line has begun
	comment bool // it is a comment
	cr      bool // the last byte was a CR
}

// Next returns the size of the shortest beginning of b with which a piece ends; 0 if none ends in b, all of which has
// then been taken. Without a framing, b is a piece. An event ends with its empty line. A comment between events is a
// piece that ends with its line, and with an empty line that arrived with it.
func (s *Splitter) Next(b []byte) int {
	switch s.Framing {
	case None:
		return len(b)
	case Lines:
		return bytes.IndexByte(b, '\n') + 1
	}
	for i, c := range b {
		after := s.cr
		switch s.cr = c == '\r'; {
		case c != '\r' && c != '\n':
			if !s.line {
				s.line, s.comment = true, c == ':' && !s.within
			}
		case c == '\n' && after: // the line ended with the CR
		case s.endLine():
			return s.rest(b, i+1)
		}
	}
	return 0
}

// endLine ends a line, and reports whether a piece ends with it.
func (s *Splitter) endLine() bool {
	ended := s.within && !s.line || s.line && s.comment
	s.within = (s.within || s.line) && !ended
	s.line = false
	return ended
}

// rest returns the offset after the line ends that still belong to a piece.
func (s *Splitter) rest(b []byte, i int) int {
	if i = s.skip(b, i); s.comment && i < len(b) && (b[i] == '\r' || b[i] == '\n') {
		s.cr = b[i] == '\r'
		i = s.skip(b, i+1)
	}
	return i
}

// skip returns the offset after the LF of a CRLF.
func (s *Splitter) skip(b []byte, i int) int {
	if s.cr && i < len(b) && b[i] == '\n' {
		s.cr = false
		return i + 1
	}
	return i
}
