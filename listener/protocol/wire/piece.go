package wire

import (
	"io"

	"mockserver/internal/http1"
)

// SendPieces writes a body as read returns it until io.EOF; coded makes each piece a chunk. failed is
// an error of writing, and broken any other error of read.
func (c *Connection) SendPieces(coded bool, read func([]byte) (int, error)) (failed, broken error) {
	piece := http1.NewPiece()
	defer piece.Free()
	for {
		n, err := read(piece.Room())
		if n > 0 {
			if _, failed := c.Write(piece.Framed(n, coded)); failed != nil {
				return failed, nil
			}
		}
		switch {
		case err == io.EOF && coded:
			_, failed = c.Write(http1.LastChunk)
			return failed, nil
		case err == io.EOF:
			return nil, nil
		case err != nil:
			return nil, err
		}
	}
}
