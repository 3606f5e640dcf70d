package fetcher

import (
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
	"github.com/valyala/fasthttp"
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
	var open func(io.Reader) (io.Reader, error)
	switch coding {
	case "gzip", "x-gzip":
		open = func(src io.Reader) (io.Reader, error) { return gzip.NewReader(src) }
	case "deflate":
		open = func(src io.Reader) (io.Reader, error) {
			r, err := zlib.NewReader(src)
			if errors.Is(err, zlib.ErrHeader) {
				// Some servers omit the zlib header; every browser accepts that.
				return flate.NewReader(bytes.NewReader(content)), nil
			}
			return r, err
		}
	case "br": // by fasthttp's decoder, which the program contains anyway
		return unpack(func(w io.Writer) error {
			_, err := fasthttp.WriteUnbrotli(w, content)
			return err
		}, limit)
	case "zstd":
		r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		open = func(src io.Reader) (io.Reader, error) { return r, r.Reset(src) }
	default:
		return nil, errors.New("unknown; expected gzip, deflate, br or zstd")
	}
	return unpack(func(w io.Writer) error {
		r, err := open(bytes.NewReader(content))
		if err == nil {
			_, err = io.Copy(w, r)
		}
		return err
	}, limit)
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
