package wire

import (
	"io"

	"mockserver/internal/http1"
)

// SendPieces writes the beginning of a body, and the rest as read returns it until io.EOF; coded makes
// each piece a chunk. failed is an error of writing, and broken any other error of read.
func (c *Connection) SendPieces(begin []byte, coded bool, read func([]byte) (int, error)) (failed, broken error) {
	piece := http1.NewPiece()
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
			_, failed = c.Write(http1.LastChunk)
			return failed, nil
		case err == io.EOF:
			return nil, nil
		case err != nil:
			return nil, err
		}
	}
}
