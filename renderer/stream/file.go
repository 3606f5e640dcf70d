package stream

import (
	"bytes"
	"unicode/utf8"

	"mockserver/config/item"
	"mockserver/renderer/value"
)

// file is a file that is sent in pieces.
type file struct {
	content []byte
	split   string // one of item.SplitLines, SplitWords and SplitBytes
	size    int    // the bytes of a piece of SplitBytes
	exact   bool   // the pieces are sent as they are; otherwise no character is cut, and lines have no line breaks
}

func newFile(d *item.StreamItem) *file {
	return &file{content: []byte(d.File.Text.Value), split: d.Split, size: d.SplitAt, exact: d.As == "" || d.As == item.AsBody}
}

// next cuts the first piece from what is left of the file.
func (f *file) next(left []byte) (piece, rest []byte) {
	switch f.split {
	case item.SplitWords:
		piece, rest, _ = value.NextWord(left)
		return piece, rest
	case item.SplitLines:
		if piece, rest, _ = value.NextLine(left); !f.exact {
			piece = bytes.TrimRight(piece, "\r\n")
		}
		return piece, rest
	}
	end := min(f.size, len(left))
	for whole := end; !f.exact && end < len(left) && !utf8.RuneStart(left[end]); end++ {
		if end-whole == utf8.UTFMax {
			break
		}
	}
	return left[:end], left[end:]
}

// count returns the number of pieces.
func (f *file) count() (n int) {
	for left := f.content; len(left) > 0 && n < item.MaxStreamItems; n++ {
		_, left = f.next(left)
	}
	return n
}
