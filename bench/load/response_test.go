package load

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"mockserver/internal/http1"
)

// reading is the result of reading one answer.
type reading struct {
	status   int
	body     int64
	closing  bool
	consumed int
	whole    bool
	err      error
}

// readResponse reads an answer from its bytes in pieces, followed by the end of the connection.
func readResponse(pieces [][]byte, bodyless bool, seen *seenHead) reading {
	var a response
	a.reset(bodyless)
	consumed := 0
	for _, piece := range pieces {
		if a.whole() {
			break
		}
		if len(piece) == 0 {
			continue // a read from a connection returns at least one byte
		}
		rest, err := a.read(piece, seen)
		if err != nil {
			return reading{err: err}
		}
		consumed += len(piece) - len(rest)
	}
	if !a.whole() {
		if err := a.end(); err != nil {
			return reading{err: err}
		}
	}
	return reading{a.head.Status, a.size, a.head.Closes, consumed, a.whole(), nil}
}

func bytewise(data []byte) [][]byte {
	var pieces [][]byte
	for i := range data {
		pieces = append(pieces, data[i:i+1])
	}
	return pieces
}

func TestResponse(t *testing.T) {
	tests := []struct {
		name, text string
		head       bool
		status     int
		body       int64
		closing    bool
		rest       string
		err        error
	}{
		// Invalid answers.
		{name: "nothing", text: "", err: errClosed},
		{name: "another protocol", text: "SSH-2.0-OpenSSH\r\n", err: http1.ErrStatus},
		{name: "HTTP/2", text: "HTTP/2 200\r\n\r\n", err: http1.ErrStatus},
		{name: "HTTP/1.2", text: "HTTP/1.2 200 OK\r\n\r\n", err: http1.ErrStatus},
		{name: "half a head", text: "HTTP/1.1 200 OK\r\nContent-", err: errClosedWithin},
		{name: "status of two digits", text: "HTTP/1.1 20 OK\r\n\r\n", err: http1.ErrStatus},
		{name: "status of four digits", text: "HTTP/1.1 2000 OK\r\n\r\n", err: http1.ErrStatus},
		{name: "status of letters", text: "HTTP/1.1 2x0 OK\r\n\r\n", err: http1.ErrStatus},
		{name: "status below 100", text: "HTTP/1.1 099 OK\r\n\r\n", err: http1.ErrStatus},
		{name: "status above 599", text: "HTTP/1.1 600 OK\r\n\r\n", err: http1.ErrStatus},
		{name: "no status", text: "HTTP/1.1\r\n\r\n", err: http1.ErrStatus},
		{name: "control in the reason", text: "HTTP/1.1 200 O\x00K\r\n\r\n", err: http1.ErrStatus},
		{name: "line without CR", text: "HTTP/1.1 200 OK\nA: b\r\n\r\n", err: http1.ErrLineEnd},
		{name: "header without CR", text: "HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\r\n", err: http1.ErrLineEnd},
		{name: "header without colon", text: "HTTP/1.1 200 OK\r\nabc\r\n\r\n", err: http1.ErrName},
		{name: "header without name", text: "HTTP/1.1 200 OK\r\n: a\r\n\r\n", err: http1.ErrName},
		{name: "blank before the colon", text: "HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\na", err: http1.ErrName},
		{name: "folded header", text: "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", err: http1.ErrName},
		{name: "CR in a value", text: "HTTP/1.1 200 OK\r\nA: b\rc\r\n\r\n", err: http1.ErrValue},
		{name: "length empty", text: "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n", err: http1.ErrLength},
		{name: "length signed", text: "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\na", err: http1.ErrLength},
		{name: "length in hex", text: "HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\na", err: http1.ErrLength},
		{name: "length too long", text: "HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n", err: http1.ErrLength},
		{name: "the same length twice", text: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nCONTENT-LENGTH: 1\r\n\r\na", err: http1.ErrLengths},
		{name: "two lengths", text: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na", err: http1.ErrLengths},
		{name: "length and chunks", text: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", err: http1.ErrFrames},
		{name: "chunks in HTTP/1.0", text: "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", err: http1.ErrCoding},
		{name: "compressed transfer", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", err: http1.ErrCoding},
		{name: "body too short", text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcd", err: errClosedWithin},
		{name: "no chunk size", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", err: http1.ErrChunk},
		{name: "chunk size with a blank inside", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1 2\r\n", err: http1.ErrChunk},
		{name: "chunk size without CR", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n", err: http1.ErrChunk},
		{name: "chunk size too long", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1000000000000000\r\n", err: http1.ErrChunk},
		{name: "chunk longer than its size", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n", err: http1.ErrChunkEnd},
		{name: "chunks without end", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", err: errClosedWithin},
		{name: "trailer folded", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n a\r\n\r\n", err: http1.ErrTrailer},
		{name: "head too long", text: "HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", http1.MaxHead) + "\r\n\r\n", err: http1.ErrHead},
		{name: "head without end", text: "HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", http1.MaxHead/6), err: http1.ErrHead},
		{name: "chunk extension without end", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("a", http1.MaxHead), err: http1.ErrLongChunk},
		{name: "trailer too long", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("A: b\r\n", http1.MaxHead/5+1), err: http1.ErrTrailers},

		// Valid answers.
		{name: "length", text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcdeREST", status: 200, body: 5, rest: "REST"},
		{name: "no body", text: "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\nREST", status: 404, rest: "REST"},
		{name: "no reason", text: "HTTP/1.1 200\r\ncontent-length:1 \t\r\n\r\na", status: 200, body: 1},
		{name: "to the end", text: "HTTP/1.1 200 OK\r\n\r\nabc", status: 200, body: 3, closing: true},
		{name: "nothing to the end", text: "HTTP/1.1 200 OK\r\n\r\n", status: 200, closing: true},
		{name: "close", text: "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\na", status: 200, body: 1, closing: true},
		{name: "HTTP/1.0 closes", text: "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", status: 200, body: 1, closing: true},
		{name: "HTTP/1.0 kept alive", text: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na", status: 200, body: 1},
		{name: "chunks", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\nREST", status: 200, body: 13, rest: "REST"},
		{name: "chunks with extensions and trailers", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n03 \t;a=\"b\";c\r\nabc\r\n000;x\r\nA: b\r\nC:\r\n\r\nREST", status: 200, body: 3, rest: "REST"},
		{name: "many chunks", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("1\r\na\r\n", http1.MaxHead) + "0\r\n\r\n", status: 200, body: http1.MaxHead},
		{name: "no chunk", text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", status: 200},
		{name: "HEAD with length", head: true, text: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nREST", status: 200, rest: "REST"},
		{name: "HEAD chunked", head: true, text: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nREST", status: 200, rest: "REST"},
		{name: "204", text: "HTTP/1.1 204 No Content\r\n\r\nREST", status: 204, rest: "REST"},
		{name: "204 with a length", text: "HTTP/1.1 204 No Content\r\nContent-Length: 1\r\n\r\n", status: 204, closing: true},
		{name: "304 with length", text: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nREST", status: 304, rest: "REST"},
		{name: "interim answers", text: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\naREST", status: 201, body: 1, rest: "REST"},
		{name: "switching protocols", text: "HTTP/1.1 101 Switching Protocols\r\n\r\nREST", status: 101, rest: "REST"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := reading{tt.status, tt.body, tt.closing, len(tt.text) - len(tt.rest), true, nil}
			if tt.err != nil {
				want = reading{err: tt.err}
			}
			var seen seenHead
			for _, way := range []string{"at once", "with its head seen", "byte by byte"} {
				pieces := [][]byte{[]byte(tt.text)}
				if way == "byte by byte" {
					pieces = bytewise([]byte(tt.text))
				}
				if got := readResponse(pieces, tt.head, &seen); got != want {
					t.Errorf("%s: %+v, want %+v", way, got, want)
				}
			}
		})
	}
}

// A head is recognized as the one seen before only if both are equal byte for byte.
func TestResponseSeesHeadsThatDiffer(t *testing.T) {
	const first = "HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 20:57:25 GMT\r\nContent-Length: 10\r\n\r\n0123456789"
	var seen seenHead
	if got := readResponse([][]byte{[]byte(first)}, false, &seen); got.body != 10 {
		t.Fatalf("%+v", got)
	}
	for text, body := range map[string]int64{
		strings.Replace(first, "Length: 10", "Length: 09", 1):     9,
		strings.Replace(first, "25 GMT", "26 GMT", 1):             10,
		strings.Replace(first, "\r\n\r\n", "\r\nA: b\r\n\r\n", 1): 10,
		strings.Replace(first, "Length: 10", "Length: 0", 1):      0,
	} {
		before := seenHead{text: bytes.Clone(seen.text), head: seen.head}
		if got := readResponse([][]byte{[]byte(text)}, false, &before); got.err != nil || got.body != body {
			t.Errorf("%q: %+v, want a body of %d bytes", text, got, body)
		}
	}
}

func TestResponseAllocatesNothing(t *testing.T) {
	texts := [][]byte{
		[]byte("HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 20:57:25 GMT\r\nContent-Length: 10\r\n\r\n0123456789"),
		[]byte("HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 20:57:26 GMT\r\nTransfer-Encoding: chunked\r\n\r\n3;a\r\nabc\r\n0\r\nA: b\r\n\r\n"),
	}
	var a response
	var seen seenHead
	allocations := testing.AllocsPerRun(100, func() {
		for _, text := range texts { // each head differs from the one seen before
			a.reset(false)
			half := len(text) / 3
			if done, err := a.accept(text[:half], &seen); done || err != nil {
				t.Fatal(done, err)
			}
			if done, err := a.accept(text[half:], &seen); !done || err != nil {
				t.Fatal(done, err)
			}
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}

func TestResponseBytesAfterTheEnd(t *testing.T) {
	var a response
	a.reset(false)
	done, err := a.accept([]byte("HTTP/1.1 204 No Content\r\n\r\nH"), new(seenHead))
	if done || !errors.Is(err, errExcess) {
		t.Errorf("%v, %v; want %v", done, err, errExcess)
	}
}

// readByNetHTTP reads an answer with net/http, skipping interim ones.
func readByNetHTTP(data []byte, bodyless bool) (r reading, ok bool) {
	from := bytes.NewReader(data)
	buffered := bufio.NewReader(from)
	request := &http.Request{Method: http.MethodGet}
	if bodyless {
		request.Method = http.MethodHead
	}
	for {
		response, err := http.ReadResponse(buffered, request)
		if err != nil {
			return r, false
		}
		n, err := io.Copy(io.Discard, response.Body)
		if err != nil {
			return r, false
		}
		if response.StatusCode/100 != 1 || response.StatusCode == http.StatusSwitchingProtocols {
			consumed := len(data) - from.Len() - buffered.Buffered()
			return reading{response.StatusCode, n, response.Close, consumed, true, nil}, true
		}
	}
}

// FuzzResponse expects an answer to be read the same way however its bytes are split and whether or
// not its head was seen before. If net/http also accepts it, both must read the same.
func FuzzResponse(f *testing.F) {
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabcdeREST",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nA: b\r\n\r\nREST",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nConnection: close\r\nContent-Length: 1\r\n\r\na",
		"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nto the end",
		"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
		"HTTP/1.1 204 No Content\r\nContent-Length: 1\r\n\r\n",
		"HTTP/1.1 200 OK\nContent-Length: 1\n\na",
	} {
		f.Add([]byte(text), uint64(0x9249), false)
		f.Add([]byte(text), uint64(1), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, splits uint64, bodyless bool) {
		var seen seenHead
		once := readResponse([][]byte{data}, bodyless, &seen)
		if again := readResponse([][]byte{data}, bodyless, &seen); again != once {
			t.Fatalf("its head seen: %+v, before: %+v", again, once)
		}
		if bytes := readResponse(bytewise(data), bodyless, &seen); bytes != once {
			t.Fatalf("byte by byte: %+v, at once: %+v", bytes, once)
		}
		if split := readResponse(splitAt(data, splits), bodyless, new(seenHead)); split != once {
			t.Fatalf("split: %+v, at once: %+v", split, once)
		}
		if once.err != nil {
			return
		}
		other, ok := readByNetHTTP(data, bodyless)
		if announced := bytes.ToLower(data); (once.status < 200 || once.status == 204) &&
			(bytes.Contains(announced, []byte("content-length")) || bytes.Contains(announced, []byte("transfer-encoding"))) {
			other.closing = other.closing || once.closing // the server may send the body that it announces
		}
		if ok && other != once {
			t.Fatalf("%+v, net/http: %+v", once, other)
		}
	})
}

// splitAt cuts data after each byte whose bit is set, repeating the bits.
func splitAt(data []byte, bits uint64) [][]byte {
	var pieces [][]byte
	from := 0
	for i := range data {
		if bits>>(i%64)&1 == 1 {
			pieces = append(pieces, data[from:i+1])
			from = i + 1
		}
	}
	return append(pieces, data[from:])
}
