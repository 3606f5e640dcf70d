package fetcher

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/klauspost/compress/zstd"
	brrr "github.com/molecule-man/go-brrr"
)

const (
	// maxCodings is the maximum number of nested content encodings. Two are never needed in
	// practice, and each takes another pass over the content.
	maxCodings = 4
	// maxWindow limits the memory that a zstd frame may make its reader allocate. RFC 9659 allows
	// at most 8 MiB for content encodings.
	maxWindow = 8 << 20
	// maxStack is the maximum number of stack frames stored for a panic.
	maxStack = 64
)

// Decode removes the content encodings named by the values of a Content-Encoding header. The result
// of each step has at most limit bytes.
func Decode(content []byte, encodings []string, limit int64) (decoded []byte, err error) {
	err = guard(func() (err error) {
		decoded, err = decode(content, encodings, limit)
		return err
	})
	return decoded, err
}

// decode removes content encodings, the last applied first. The result of each step has at most
// limit bytes.
func decode(content []byte, encodings []string, limit int64) ([]byte, error) {
	var codings []string
	for c := range strings.SplitSeq(strings.Join(encodings, ","), ",") {
		if c = strings.ToLower(strings.TrimSpace(c)); c != "" && c != "identity" {
			codings = append(codings, c)
		}
	}
	if len(content) == 0 {
		return content, nil // a response without a body may still name an encoding
	}
	if len(codings) > maxCodings {
		return nil, fmt.Errorf("more than %d content encodings", maxCodings)
	}
	for i := len(codings) - 1; i >= 0; i-- {
		var err error
		if content, err = decodeOne(content, codings[i], limit); err != nil {
			return nil, fmt.Errorf("content encoding %q: %w", codings[i], err)
		}
	}
	if int64(len(content)) > limit { // without an encoding
		return nil, tooLarge(limit)
	}
	return content, nil
}

func decodeOne(content []byte, coding string, limit int64) ([]byte, error) {
	return unpack(func(w io.Writer) error {
		r, err := open(bufio.NewReader(bytes.NewReader(content)), coding)
		if err == nil {
			defer r.Close()
			_, err = io.Copy(w, r)
		}
		return err
	}, limit)
}

// open returns a reader that removes a content encoding.
func open(src *bufio.Reader, coding string) (io.ReadCloser, error) {
	switch coding {
	case "gzip", "x-gzip":
		return gzip.NewReader(src)
	case "br": // by the decoder of fasthttp, which the program contains anyway
		return brrr.NewReader(src), nil
	case "deflate":
		head, _ := src.Peek(2)                                                                                 // if there are fewer bytes, reading them fails too
		if len(head) == 2 && (head[0]&0x0f != 8 || head[0]>>4 > 7 || (int(head[0])<<8|int(head[1]))%31 != 0) { // RFC 1950 section 2.2
			return flate.NewReader(src), nil // some servers omit the zlib header; every browser accepts that
		}
		return zlib.NewReader(src)
	case "zstd":
		r, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return r.IOReadCloser(), nil
	}
	return nil, errors.New("unknown; expected gzip, deflate, br or zstd")
}

// parts reads parts of a content one by one.
type parts struct {
	next func() []byte
	left []byte
}

func (p *parts) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		if p.left = p.next(); len(p.left) == 0 {
			return 0, io.ErrUnexpectedEOF // the reader of br passes on only this one
		}
	}
	n := copy(b, p.left)
	p.left = p.left[n:]
	return n, nil
}

// DecodeParts is like Decode for content that comes in parts, the last of which is followed by an empty one: it calls
// each with what is decoded before it asks for the next part. Content that breaks off is decoded as far as there is. It
// knows one encoding.
func DecodeParts(next func() []byte, encodings []string, limit int64, each func([]byte)) error {
	return guard(func() error {
		r, err := open(bufio.NewReader(&parts{next: next}), strings.ToLower(strings.Join(encodings, ",")))
		if err != nil {
			return err
		}
		defer r.Close()
		for b, size := make([]byte, 4<<10), int64(0); ; {
			n, err := r.Read(b)
			if size += int64(n); size > limit {
				return tooLarge(limit)
			}
			each(b[:n])
			switch err {
			case nil:
			case io.EOF, io.ErrUnexpectedEOF:
				return nil
			default:
				return err
			}
		}
	})
}

// guard turns a panic of a decoder into an error, so that it does not stop the program: decoders
// process input from outside, partly in goroutines that have no other recover.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := make([]uintptr, maxStack)
			err = &Panic{Value: p, Stack: stack[:runtime.Callers(1, stack)]}
		}
	}()
	return f()
}
