package h2

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// script is a connection on which a client sends some bytes, closes its sending side, and reads
// everything.
type script struct {
	input   *bytes.Reader
	written int
}

func (s *script) Read(b []byte) (int, error)     { return s.input.Read(b) }
func (s *script) Write(b []byte) (int, error)    { s.written += len(b); return len(b), nil }
func (*script) Close() error                     { return nil }
func (*script) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*script) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*script) SetDeadline(time.Time) error      { return nil }
func (*script) SetReadDeadline(time.Time) error  { return nil }
func (*script) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

// frames returns the bytes that a client sends, as a seed of the fuzz test: the preface, settings,
// and what write adds.
func frames(write func(f *http2.Framer, fields func(pairs ...string) []byte)) []byte {
	var b, block bytes.Buffer
	b.WriteString(Preface)
	f := http2.NewFramer(&b, nil)
	encoder := hpack.NewEncoder(&block)
	_ = f.WriteSettings()
	write(f, func(pairs ...string) []byte {
		block.Reset()
		for i := 0; i < len(pairs); i += 2 {
			_ = encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
		}
		return bytes.Clone(block.Bytes())
	})
	return b.Bytes()
}

func seeds() [][]byte {
	get := []string{":method", "GET", ":scheme", "http", ":path", "/large", ":authority", "a"}
	return [][]byte{
		frames(func(f *http2.Framer, fields func(...string) []byte) {
			for id := uint32(1); id < 20; id += 2 {
				_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: fields(get...), EndStream: true, EndHeaders: true})
			}
			_ = f.WriteWindowUpdate(0, 1<<20)
			_ = f.WriteWindowUpdate(1, 1<<20)
			_ = f.WriteRSTStream(3, 8)
		}),
		frames(func(f *http2.Framer, fields func(...string) []byte) {
			_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 3}, http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0})
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: fields(append(get, "content-length", "4", "cookie", "a=b", "expect", "100-continue")...)})
			_ = f.WriteContinuation(1, true, fields("cookie", "c=d"))
			_ = f.WriteDataPadded(1, false, []byte("ab"), make([]byte, 9))
			_ = f.WriteData(1, false, []byte("cd"))
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: fields("x", "y"), EndStream: true, EndHeaders: true})
			_ = f.WritePing(false, [8]byte{})
			_ = f.WritePriority(1, http2.PriorityParam{StreamDep: 3})
			_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
			_ = f.WriteGoAway(0, 0, nil)
		}),
	}
}

// Whatever a client sends, the connection ends without a panic, the server forgets it, and what the
// server sends is bounded by the size of the input.
func FuzzH2Frames(f *testing.F) {
	for _, seed := range seeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		if !bytes.HasPrefix(input, []byte(Preface)) {
			input = append([]byte(Preface), input...)
		}
		for _, inline := range []bool{true, false} {
			s := &Server{Handler: &answers{inline: inline, large: make([]byte, 1000), release: closedChannel()}, MaxBody: 1 << 16}
			nc := &script{input: bytes.NewReader(input)}
			_ = s.Serve(nc, nil, 0) // any error will do
			if n := len(s.conns); n > 0 {
				t.Errorf("%d connections are left", n)
			}
			if most := 1000 + 400*len(input); nc.written > most {
				t.Errorf("a body of %d bytes is answered with %d", len(input), nc.written)
			}
		}
	})
}

func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// verdict sends the fields of a request and returns the result: the status of the response,
// "refused", "nothing" if there is no response in time, or an error.
func verdict(address string, block []byte) string {
	nc, err := net.Dial("tcp", address)
	if err != nil {
		return err.Error()
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(10 * time.Second))
	var b bytes.Buffer
	framer := http2.NewFramer(&b, bufio.NewReader(nc))
	b.WriteString(Preface)
	_ = framer.WriteSettings()
	_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block, EndStream: true, EndHeaders: true})
	if _, err := nc.Write(b.Bytes()); err != nil {
		return err.Error()
	}
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		frame, err := framer.ReadFrame()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return "nothing"
		case err != nil:
			return "refused"
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			return frame.PseudoValue("status")
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return "refused"
		}
	}
}

// netHTTP starts a server of net/http once, and returns its address.
var netHTTP = sync.OnceValue(func() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return ""
	}
	server := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") })}
	server.Protocols.SetUnencryptedHTTP2(true)
	server.ErrorLog = log.New(io.Discard, "", 0)
	go func() { _ = server.Serve(l) }()
	return l.Addr().String()
})

// ours starts a server of this package once, and returns its address.
var ours = sync.OnceValue(func() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return ""
	}
	s := &Server{Handler: &answers{inline: true}, MaxBody: 1 << 20}
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				_ = s.Serve(nc, nil, 0)
				_ = nc.Close()
			}()
		}
	}()
	return l.Addr().String()
})

// Header fields that are accepted here are also accepted by net/http, unless net/http may refuse
// the path or the host.
func FuzzH2Fields(f *testing.F) {
	for _, seed := range []string{
		":method GET\n:scheme http\n:path /\n:authority a", ":method GET\n:scheme http\n:path /\n:authority a\nx y\ncookie a=b\nte trailers",
		":method GET\n:scheme http\n:path /\n:authority a\nconnection close", ":method GET\n:path /\n:authority a", ":method GET\n:scheme http\n:path \n:authority a",
		":method GET\n:scheme http\n:path /\n:authority a\nX y", ":scheme http\n:path *\n:method OPTIONS\n:authority a", ":method CONNECT\n:authority a:1",
		":method GET\n:scheme http\n:path /\nhost a\ncontent-length 0", ":method GET\n:scheme http\n:path /\n:authority a\nhost b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var block bytes.Buffer
		encoder := hpack.NewEncoder(&block)
		for line := range strings.SplitSeq(text, "\n") {
			name, value, _ := strings.Cut(line, " ")
			_ = encoder.WriteField(hpack.HeaderField{Name: name, Value: value})
		}
		if block.Len() > maxFrame || len(text) > 4<<10 {
			return
		}
		here, there := verdict(ours(), block.Bytes()), verdict(netHTTP(), block.Bytes())
		if here == "nothing" {
			t.Errorf("%q is not answered", text)
		}
		if here == "200" && there != "200" && !lenient(text) {
			t.Errorf("%q is accepted here, but %s there", text, there)
		}
	})
}

// lenient reports whether net/http may refuse a request because of its path or its host, which
// net/http parses as parts of a URL. Here Server.Check does that.
func lenient(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		name, value, _ := strings.Cut(line, " ")
		if name == ":path" || name == ":authority" || name == "host" {
			if strings.Trim(value, "/abcdefghijklmnopqrstuvwxyz") != "" {
				return true
			}
		}
	}
	return false
}
