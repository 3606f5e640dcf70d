package http1

import "bytes"

const (
	// MaxHead is the size of the largest head that is read, in bytes, with its empty line.
	MaxHead = 256 << 10
	// maxLine limits the size line of a chunk, including its extensions, and maxTrailers the lines
	// after the last chunk, both in bytes.
	maxLine     = 4 << 10
	maxTrailers = 16 << 10
)

var crlf = []byte("\r\n")

// HeadSize returns the size of the head at the beginning of a text, with its empty line; 0 while the
// head is incomplete. from is how much of the text was searched before. A text that cannot become a
// head is refused at once.
func HeadSize(text []byte, from int) (int, error) {
	const version = "HTTP/1."
	if n := min(len(text), len(version)); string(text[:n]) != version[:n] {
		return 0, ErrStatus
	}
	for i := from; ; i++ {
		next := bytes.IndexByte(text[i:], '\n')
		if i += next; next < 0 {
			break
		}
		switch {
		case i >= MaxHead: // however the bytes arrived
			return 0, ErrHead
		case text[i-1] != '\r':
			return 0, ErrLineEnd
		case text[i-2] == '\n':
			return i + 1, nil
		}
	}
	if len(text) > MaxHead {
		return 0, ErrHead
	}
	return 0, nil
}

// Read reads a head whose size HeadSize has returned, and calls field for each header with parts of
// the text. After an error, Status is 0 unless the status line is valid.
func (h *Head) Read(text []byte, field func(name, value []byte)) error {
	line, text, _ := bytes.Cut(text, crlf)
	if err := h.StatusLine(line); err != nil {
		return err
	}
	for line, text, _ = bytes.Cut(text, crlf); len(line) > 0; line, text, _ = bytes.Cut(text, crlf) {
		name, value, err := h.field(line)
		if err != nil {
			return err
		}
		field(name, value)
	}
	return h.end()
}

// Body finds the body of a response in the bytes of a connection, however they are split.
type Body struct {
	// Err is why the body is malformed; nil as long as it is not.
	Err error

	stage stage
	left  int64  // bytes of the body, or of the current chunk, that are still to come
	lines int    // size of the trailers so far, in bytes
	kept  []byte // an incomplete line
}

// stage is the part of a response that the next byte belongs to.
type stage uint8

const (
	over stage = iota
	inBody
	inBodyToClose
	inChunkSize // a line
	inChunk
	inChunkEnd // the empty line after a chunk
	inTrailer  // lines, the last of them empty
)

// Begin prepares for what follows a head, according to RFC 9112, section 6.3. toHEAD means that the
// response answers HEAD.
func (b *Body) Begin(h *Head, toHEAD bool) {
	*b = Body{kept: b.kept[:0]}
	switch {
	case toHEAD || h.Status == 304:
	case h.Status < 200 || h.Status == 204:
		h.Closes = h.Closes || h.Length > 0 || h.Chunked // the server may send a body anyway
	case h.Chunked:
		b.stage = inChunkSize
	case h.Length > 0:
		b.stage, b.left = inBody, h.Length
	case h.Length < 0:
		b.stage, h.Closes = inBodyToClose, true
	}
}

// Over reports whether the body is complete.
func (b *Body) Over() bool { return b.stage == over }

// End takes the end of the connection, and reports whether the body is complete.
func (b *Body) End() bool {
	if b.stage == inBodyToClose {
		b.stage = over
	}
	return b.stage == over
}

// Next takes bytes that were received, at least one, and returns the first part of the body among
// them, which may be empty, and the bytes after it. Bytes after the end of the body are not taken.
func (b *Body) Next(in []byte) (part, rest []byte, err error) {
	switch b.stage {
	case over:
		return nil, in, nil
	case inBodyToClose:
		return in, nil, nil
	case inBody, inChunk:
		n := min(int64(len(in)), b.left)
		switch b.left -= n; {
		case b.left > 0:
		case b.stage == inBody:
			b.stage = over
		default:
			b.stage = inChunkEnd
		}
		return in[:n], in[n:], nil
	}
	rest, b.Err = b.line(in)
	return nil, rest, b.Err
}

// line takes a line that frames chunks or belongs to the trailers, or keeps an incomplete line. It
// returns the bytes after the line.
func (b *Body) line(in []byte) (rest []byte, err error) {
	end := bytes.IndexByte(in, '\n') + 1
	if end == 0 {
		end = len(in)
	}
	line, rest := in[:end], in[end:]
	if len(b.kept) > 0 || line[end-1] != '\n' {
		b.kept = append(b.kept, line...)
		line = b.kept
	}
	switch {
	case b.stage == inChunkEnd && !bytes.HasPrefix(crlf, line):
		return nil, ErrChunkEnd
	case b.stage == inChunkSize && len(line) > maxLine:
		return nil, ErrLongChunk
	case b.stage == inTrailer && b.lines+len(line) > maxTrailers:
		return nil, ErrTrailers
	case line[len(line)-1] != '\n':
		return nil, nil
	}
	b.kept = b.kept[:0]
	return rest, b.whole(line)
}

// whole takes a whole line with its end.
func (b *Body) whole(line []byte) (err error) {
	text, ended := bytes.CutSuffix(line, crlf)
	switch {
	case b.stage == inChunkEnd:
		b.stage = inChunkSize
	case b.stage == inChunkSize && !ended:
		return ErrChunk
	case b.stage == inChunkSize:
		if b.left, err = chunkSize(text); b.left > 0 {
			b.stage = inChunk
		} else {
			b.stage = inTrailer
		}
		return err
	case ended && len(text) == 0:
		b.stage = over
	default:
		b.lines += len(line)
		if _, _, wrong := cutField(text); wrong != nil || !ended {
			return ErrTrailer
		}
	}
	return nil
}

// Strip moves the parts of the body in p to its beginning, and returns their size and that of what
// comes after the body.
func (b *Body) Strip(p []byte) (n, excess int, err error) {
	for rest := p; len(rest) > 0 && err == nil; {
		if b.Over() {
			return n, len(rest), nil
		}
		var part []byte
		if part, rest, err = b.Next(rest); len(part) > 0 && &part[0] != &p[n] {
			copy(p[n:], part)
		}
		n += len(part)
	}
	return n, 0, err
}
