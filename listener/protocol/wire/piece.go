package wire

import (
	"io"
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

// SendPieces writes the beginning of a body, and the rest as read returns it until io.EOF; coded makes
// each piece a chunk. failed is an error of writing, and broken any other error of read.
func (c *Connection) SendPieces(begin []byte, coded bool, read func([]byte) (int, error)) (failed, broken error) {
	piece := NewPiece()
	defer piece.Free()
	for {
		var n int
		var err error
		if len(begin) > 0 {
			n = copy(piece.Room(), begin)
			begin = begin[n:]
		} else {
			n, err = read(piece.Room())
		}
		if n > 0 {
			if _, failed := c.Write(piece.Framed(n, coded)); failed != nil {
				return failed, nil
			}
		}
		switch {
		case err == io.EOF && coded:
			_, failed = c.Write(LastChunk)
			return failed, nil
		case err == io.EOF:
			return nil, nil
		case err != nil:
			return nil, err
		}
	}
}
