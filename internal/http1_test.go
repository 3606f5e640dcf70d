package internal_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"testing"

	"mockserver/internal/http1"
)

// readHead reads a whole head.
func readHead(text []byte) (h http1.Head, err error) {
	size, err := http1.HeadSize(text, 0)
	if err == nil {
		err = h.Read(text[:size], func(_, _ []byte) {})
	}
	return h, err
}

// The tests of the readers of whole responses, such as fetcher/upstream, have the heads and chunks
// that are refused.
func TestHead_SaysWhereTheBodyEndsAndWhetherTheConnectionCloses(t *testing.T) {
	for text, want := range map[string]http1.Head{
		"HTTP/1.1 200 OK\r\n":                                                {Status: 200, Minor: '1', Length: -1},
		"HTTP/1.1 204\r\nA: b\r\n":                                           {Status: 204, Minor: '1', Length: -1},
		"HTTP/1.1 200 OK\r\ncontent-LENGTH: \t12 \r\n":                       {Status: 200, Minor: '1', Length: 12},
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n":                  {Status: 200, Minor: '1', Length: -1, Chunked: true},
		"HTTP/1.1 200 OK\r\nConnection: x,\t Close ,\r\n":                    {Status: 200, Minor: '1', Length: -1, Closes: true},
		"HTTP/1.0 200 OK\r\n":                                                {Status: 200, Minor: '0', Length: -1, Closes: true},
		"HTTP/1.0 200 OK\r\nConnection: x\r\nConnection: Keep-Alive\r\n":     {Status: 200, Minor: '0', Length: -1},
		"HTTP/1.0 200 OK\r\nConnection: close\r\nConnection: keep-alive\r\n": {Status: 200, Minor: '0', Length: -1, Closes: true},
	} {
		h, err := readHead([]byte(text + "\r\n"))
		h.Reason = nil
		if err != nil || !equal(h, want) {
			t.Errorf("%q: got %+v, %v", text, h, err)
		}
	}
}

func equal(a, b http1.Head) bool {
	return a.Status == b.Status && a.Minor == b.Minor && a.Length == b.Length && a.Chunked == b.Chunked && a.Closes == b.Closes
}

// FuzzHead expects net/http to read each head that is accepted, and to find the same end of the body.
func FuzzHead(f *testing.F) {
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n", "HTTP/1.1 204 \r\nTransfer-Encoding: chunked\r\nA: b\r\n", "HTTP/1.0 200\r\nConnection: a, close\r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		text, _, _ = bytes.Cut(text, []byte("\r\n\r\n"))
		text = append(text, "\r\n\r\n"...)
		h, err := readHead(text)
		if err != nil || h.Minor > '1' {
			return
		}
		r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(text)), &http.Request{Method: "HEAD"})
		if err != nil {
			t.Fatalf("%q is accepted, but %v", text, err)
		}
		if r.StatusCode != h.Status || h.Length >= 0 && r.ContentLength != h.Length || (len(r.TransferEncoding) > 0) != h.Chunked {
			t.Errorf("%q: got %+v, but net/http %+v", text, h, r)
		}
	})
}

func FuzzChunkSize(f *testing.F) {
	for _, line := range []string{"0", "fF", "12 ; a=b", ";a", " 1", "1 ", "+1", "0x1", "1000000000000000", "1;\x00"} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		line, _, _ = bytes.Cut(line, []byte("\n"))
		size, _, extended := bytes.Cut(line, []byte(";"))
		if extended {
			size = bytes.Trim(size, " \t")
		}
		valid := len(size) > 0 && len(size) <= 15 && len(bytes.Trim(size, "0123456789abcdefABCDEF")) == 0 && !http1.HasControl(line) && len(line) < 4000
		var b http1.Body
		b.Begin(&http1.Head{Status: 200, Length: -1, Chunked: true}, false)
		if _, _, err := b.Next(append(line, "\r\n"...)); (err == nil) != valid {
			t.Errorf("%q: %v", line, err)
		}
	})
}

// readBody reads the body of a response to GET, and reports how much of the text follows it. whole is
// false if the body does not end within the text.
func readBody(text []byte, pieces func([]byte) [][]byte) (body string, rest int, whole bool, err error) {
	size, err := http1.HeadSize(text, 0)
	var h http1.Head
	if err == nil && size > 0 {
		err = h.Read(text[:size], func(_, _ []byte) {})
	}
	if err != nil || size == 0 {
		return "", 0, false, err
	}
	var b http1.Body
	b.Begin(&h, false)
	left := len(text) - size
	for _, piece := range pieces(text[size:]) {
		if b.Over() {
			break
		}
		piece = bytes.Clone(piece)
		n, excess, err := b.Strip(piece)
		body += string(piece[:n])
		if left -= len(piece) - excess; err != nil {
			return body, 0, false, err
		}
	}
	return body, left, b.End(), nil
}

// FuzzBody expects a body to be read the same way however its bytes are split, and as net/http reads
// it.
func FuzzBody(f *testing.F) {
	const ok, chunked = "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, text := range []string{
		ok + "Content-Length: 3\r\n\r\nabcREST", ok + "Content-Length: 0\r\n\r\nREST", ok + "\r\nto the end", ok + "Content-Length: 5\r\n\r\nabc",
		chunked + "3;a=b\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\nA: b\r\n\r\nREST", chunked + "3\r\nabcd", chunked + "3\nabc", chunked + "0\r\nA\r\n\r\n",
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nREST",
	} {
		f.Add([]byte(text), uint8(1))
		f.Add([]byte(text), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		body, rest, whole, err := readBody(text, func(b []byte) [][]byte { return [][]byte{b} })
		body2, rest2, whole2, err2 := readBody(text, func(b []byte) [][]byte { return slices.Collect(slices.Chunk(b, max(int(size), 1))) })
		if body != body2 || whole != whole2 || err != err2 || err == nil && rest != rest2 {
			t.Fatalf("at once: %q, %d, %v, %v; in pieces of %d: %q, %d, %v, %v", body, rest, whole, err, size, body2, rest2, whole2, err2)
		}
		if !whole {
			return
		}
		in := bufio.NewReader(bytes.NewReader(text))
		r, err := http.ReadResponse(in, &http.Request{Method: "GET"})
		if err != nil {
			return // FuzzHead
		}
		if want, err := io.ReadAll(r.Body); r.StatusCode >= 200 && (err != nil || string(want) != body) {
			t.Errorf("got %q, net/http has %q, %v", body, want, err)
		}
	})
}
