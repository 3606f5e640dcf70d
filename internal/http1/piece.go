package http1

import (
	"strconv"
	"sync"
)

// Piece is a buffer for a part of a body of any length, with room for the size of a chunk before it
// and the line end after it.
type Piece [chunkRoom + pieceSize + 2]byte

const (
	chunkRoom = 10 // hexadecimal digits of pieceSize, and CRLF
	pieceSize = 32 << 10
)

// LastChunk ends a chunked body.
var LastChunk = []byte("0\r\n\r\n")

var pieces = sync.Pool{New: func() any { return new(Piece) }}

// NewPiece returns a piece; Free gives it back.
func NewPiece() *Piece { return pieces.Get().(*Piece) }

// Free gives the piece back.
func (p *Piece) Free() { pieces.Put(p) }

// Room returns the space for the bytes of the body.
func (p *Piece) Room() []byte { return p[chunkRoom : chunkRoom+pieceSize] }

// Framed returns the first n bytes of Room as they are sent: as a chunk if the body is chunked.
func (p *Piece) Framed(n int, coded bool) []byte {
	if !coded {
		return p[chunkRoom : chunkRoom+n]
	}
	var digits [chunkRoom]byte
	size := append(strconv.AppendInt(digits[:0], int64(n), 16), "\r\n"...)
	begin := chunkRoom - len(size)
	copy(p[begin:], size)
	copy(p[chunkRoom+n:], "\r\n")
	return p[begin : chunkRoom+n+2]
}
