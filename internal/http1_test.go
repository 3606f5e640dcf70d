package internal_test

import (
	"bufio"
	"bytes"
	"net/http"
	"testing"

	"mockserver/internal/http1"
)

// readHead reads a whole head, each line of which ends in CRLF.
func readHead(text []byte) (h http1.Head, err error) {
	line, rest, _ := bytes.Cut(text, []byte("\r\n"))
	err = h.StatusLine(line)
	for err == nil {
		if line, rest, _ = bytes.Cut(rest, []byte("\r\n")); len(line) == 0 {
			return h, h.End()
		}
		_, _, err = h.Field(line)
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
		n, err := http1.ChunkSize(line)
		size, _, extended := bytes.Cut(line, []byte(";"))
		if extended {
			size = bytes.Trim(size, " \t")
		}
		digits := len(size) > 0 && len(bytes.Trim(size, "0123456789abcdefABCDEF")) == 0 && !bytes.ContainsAny(size, " \t")
		if err == nil && (n < 0 || !digits || len(size) > 15 || http1.HasControl(line)) {
			t.Errorf("%q is accepted as %d", line, n)
		}
		if err != nil && digits && len(size) <= 15 && !http1.HasControl(line) {
			t.Errorf("%q is refused: %v", line, err)
		}
	})
}
