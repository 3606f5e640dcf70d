// Package recording defines the format of recordings: files of lines, packed with zstd. Each line
// is a JSON text: the first one is a Head, and each further one a Line. docs/record.md describes
// the members.
package recording

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"github.com/klauspost/compress/zstd"

	view "mockserver/internal/json"
)

// Version is the version of the format.
const Version = 1

// Head is the first line of a file.
type Head struct {
	Mockserver string    `json:"mockserver"` // "recording"
	Version    int       `json:"version"`
	Upstream   string    `json:"upstream"` // its name
	URL        string    `json:"url"`
	Time       time.Time `json:"time"`
	Number     int       `json:"number"` // of the file
}

// Line is a request and its answer. Times are in microseconds.
type Line struct {
	Time       time.Time `json:"time"` // arrival
	Method     string    `json:"method"`
	URL        string    `json:"url"` // as the client requested it
	Status     int       `json:"status"`
	Error      string    `json:"error,omitempty"` // one of the errors below; "" if the answer is complete
	First      int64     `json:"first_us"`        // from sending the request to the first byte of the answer
	Last       int64     `json:"last_us"`         // from sending the request to the last byte of the answer
	Wait       int64     `json:"wait_us"`         // before it was sent: waiting for a free connection, and connecting
	UnderWay   int64     `json:"under_way"`       // requests at the upstream when this one began, including this one
	Connection uint64    `json:"connection"`      // of the client
	Request    Message   `json:"request"`
	Response   Message   `json:"response"`
	Pieces     []Piece   `json:"pieces,omitempty"` // of a streamed answer
}

// Piece is a piece of a streamed answer: the size of the body up to its end, and the time from sending the request to
// its last byte, in microseconds. The body is that of the line; if it is omitted, it is the one that was received.
type Piece [2]int64

// The reasons why an answer is incomplete.
const (
	Failed  = "upstream_failed"
	TimeOut = "upstream_timeout"
	Left    = "left" // the client left
	Cut     = "cut"  // the answer broke off after its head
)

// Message is the headers and the body of a request or an answer.
type Message struct {
	Headers [][2]string `json:"headers,omitempty"`
	Size    int64       `json:"size"`             // bytes of the body, before Coding was undone
	Body    string      `json:"body,omitempty"`   // if it is UTF-8
	Base64  []byte      `json:"base64,omitempty"` // otherwise
	Coding  string      `json:"coding,omitempty"` // the Content-Encoding that was undone
	Omitted string      `json:"omitted,omitempty"`
	SHA256  string      `json:"sha256,omitempty"`
}

// The reasons why a body is missing.
const (
	OmittedSize   = "size"
	OmittedSample = "sample"
	OmittedLimit  = "limit"
	OmittedRedact = "redact"
)

// Content returns the body.
func (m *Message) Content() []byte {
	if m.Base64 != nil {
		return m.Base64
	}
	return []byte(m.Body)
}

// SetContent sets the body.
func (m *Message) SetContent(b []byte) {
	if utf8.Valid(b) {
		m.Body, m.Base64 = string(b), nil
	} else {
		m.Body, m.Base64 = "", b
	}
}

// ErrVersion is returned by Read for a file with another version.
var ErrVersion = errors.New("unknown version of the recording")

// maxLine is the longest line that is read, in bytes.
const maxLine = 512 << 20

var errLong = errors.New("is longer than 512 MiB")

// BadLine is the error for a line that is complete but not valid at its position in a recording.
type BadLine struct {
	Number int // of the line, from 1
	What   string
}

// Error returns "line N: what is wrong".
func (b *BadLine) Error() string { return fmt.Sprintf("line %d: %s", b.Number, b.What) }

// Read reads a file, packed with zstd or not, and calls each for its lines in order. A line is
// valid only during the call. If the file ends inside a line, or the rest of the file is damaged,
// the lines before that place are read. broken then says what is wrong; it is a *BadLine if a line
// can be read but is invalid. err is ErrVersion, or the error that each returned.
func Read(from io.Reader, each func(*Line) error) (head Head, broken, err error) {
	in := bufio.NewReader(from)
	if magic, _ := in.Peek(4); bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return head, err, nil
		}
		defer z.Close()
		in = bufio.NewReaderSize(z, 64<<10)
	}
	var buf []byte
	for n := 1; ; n++ {
		text, err := readLine(in, buf[:0])
		buf = text
		if err == io.EOF {
			return head, nil, nil
		}
		if err != nil {
			return head, fmt.Errorf("line %d: %w", n, err), nil
		}
		if n == 1 {
			if err := json.Unmarshal(text, &head); err != nil || head.Mockserver != "recording" {
				return head, &BadLine{1, "is not the head of a recording"}, nil
			}
			if head.Version != Version {
				return head, nil, ErrVersion
			}
			continue
		}
		if len(text) == 0 {
			continue
		}
		var line Line
		if err := json.Unmarshal(text, &line); err != nil {
			return head, &BadLine{n, "is not an exchange: " + strings.TrimPrefix(err.Error(), "json: ")}, nil
		}
		if err := each(&line); err != nil {
			return head, nil, err
		}
	}
}

// ReadFile reads a file as Read does. err may also say why the file cannot be opened.
func ReadFile(name string, each func(*Line) error) (broken, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, broken, err = Read(f, each)
	return broken, err
}

// readLine appends the next line without its end. The error is io.EOF only if there is none.
func readLine(in *bufio.Reader, line []byte) ([]byte, error) {
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == bufio.ErrBufferFull && len(line) > maxLine:
			return line, errLong
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(line) > 0:
			return line, io.ErrUnexpectedEOF
		case err != nil:
			return line, err
		}
		return line[:len(line)-1], nil
	}
}

// Append appends the line, with its end.
func (l *Line) Append(b []byte) []byte {
	b = l.Time.UTC().AppendFormat(append(b, `{"time":"`...), "2006-01-02T15:04:05.000000Z")
	b = appendText(append(b, '"'), `,"method":`, l.Method)
	b = appendText(b, `,"url":`, l.URL)
	b = appendNumber(b, `,"status":`, int64(l.Status))
	b = appendKnown(b, `,"error":`, l.Error)
	b = appendNumber(b, `,"first_us":`, l.First)
	b = appendNumber(b, `,"last_us":`, l.Last)
	b = appendNumber(b, `,"wait_us":`, l.Wait)
	b = appendNumber(b, `,"under_way":`, l.UnderWay)
	b = strconv.AppendUint(append(b, `,"connection":`...), l.Connection, 10)
	b = l.Request.append(append(b, `,"request":`...))
	b = l.Response.append(append(b, `,"response":`...))
	before := `,"pieces":[[`
	for _, p := range l.Pieces {
		b = append(appendNumber(appendNumber(b, before, p[0]), ",", p[1]), ']')
		before = ",["
	}
	if len(l.Pieces) > 0 {
		b = append(b, ']')
	}
	return append(b, "}\n"...)
}

func (m *Message) append(b []byte) []byte {
	b = append(b, '{')
	before := `"headers":[[`
	for _, h := range m.Headers {
		b = append(appendText(appendText(b, before, h[0]), `,`, h[1]), ']')
		before = ",["
	}
	if len(m.Headers) > 0 {
		b = append(b, "],"...)
	}
	b = appendNumber(b, `"size":`, m.Size)
	b = appendKnown(b, `,"body":`, m.Body)
	if len(m.Base64) > 0 {
		b = append(base64.StdEncoding.AppendEncode(append(b, `,"base64":"`...), m.Base64), '"')
	}
	b = appendKnown(b, `,"coding":`, m.Coding)
	b = appendKnown(b, `,"omitted":`, m.Omitted)
	b = appendKnown(b, `,"sha256":`, m.SHA256)
	return append(b, '}')
}

func appendNumber(b []byte, key string, n int64) []byte {
	return strconv.AppendInt(append(b, key...), n, 10)
}

// appendText appends a key and a text as JSON, without copying the text first.
func appendText(b []byte, key, text string) []byte {
	return view.AppendString(append(b, key...), unsafe.Slice(unsafe.StringData(text), len(text)))
}

// appendKnown does the same as appendText, but appends nothing for an empty text.
func appendKnown(b []byte, key, text string) []byte {
	if text == "" {
		return b
	}
	return appendText(b, key, text)
}
