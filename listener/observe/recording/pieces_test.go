package recording

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"io"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
	brrr "github.com/molecule-man/go-brrr"
	"github.com/valyala/fasthttp"

	"mockserver/config/item"
	"mockserver/internal/events"
	form "mockserver/internal/recording"
)

// The pieces of a coded stream are its events, each with the time at which the part arrived that ends it; an event in
// two parts has the time of the second one.
func TestPieces_OfCodedStreams(t *testing.T) {
	type flusher interface {
		io.WriteCloser
		Flush() error
	}
	for coding, open := range map[string]func(io.Writer) flusher{
		"gzip":    func(w io.Writer) flusher { return gzip.NewWriter(w) },
		"deflate": func(w io.Writer) flusher { return zlib.NewWriter(w) },
		"zstd": func(w io.Writer) flusher {
			z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
			if err != nil {
				t.Fatal(err)
			}
			return z
		},
		"br": func(w io.Writer) flusher {
			b, err := brrr.NewWriter(w, 4)
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
	} {
		var coded bytes.Buffer
		var reads []form.Piece
		w := open(&coded)
		for i, part := range []string{"data: a\n\n", "data: ", "b\n\ndata: c\n\n", ": ping\n\n", "data: d"} {
			_, _ = w.Write([]byte(part)) // a buffer never fails
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			reads = append(reads, form.Piece{int64(coded.Len()), int64(1000 * (i + 1))})
		}
		unfinished := coded.Len()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{unfinished, coded.Len()} { // the client may have left before the end
			all := slices.Clone(reads)
			p := pieces{events.Events, &all}
			decoded, err := p.decode(coded.Bytes()[:size], []string{coding}, 1000)
			want := []form.Piece{{9, 1000}, {18, 3000}, {27, 3000}, {35, 4000}}
			if string(decoded) != "data: a\n\ndata: b\n\ndata: c\n\n: ping\n\ndata: d" || err != nil || !slices.Equal(all, want) {
				t.Errorf("%s, %d bytes: %q %v %v, want the pieces %v", coding, size, decoded, all, err, want)
			}
		}
	}
}

// A stream that can only be decoded as a whole has no pieces.
func TestPieces_OfOtherCodings(t *testing.T) {
	const text = "data: a\n\ndata: b\n\n"
	coded := fasthttp.AppendBrotliBytes(nil, fasthttp.AppendGzipBytes(nil, []byte(text)))
	all := []form.Piece{{5, 1000}, {int64(len(coded)), 2000}}
	p := pieces{events.Events, &all}
	if got, err := p.decode(coded, []string{"gzip, br"}, 1000); string(got) != text || err != nil || len(all) > 0 {
		t.Errorf("%q, %v, with the pieces %v; want %q without", got, err, all, text)
	}
}

// Secrets in the JSON of events and lines are replaced, and the pieces end where they then end. A stream with JSON that
// cannot be read is left out.
func TestPieces_Redacted(t *testing.T) {
	r := &Recorder{}
	rules := &item.Redact{JSON: []string{"token"}}
	hidden := r.redacted("secret")
	for _, c := range []struct {
		framing    events.Framing
		body, want string
		ends       []int64
	}{
		{events.Events, "event: x\r\ndata: {\"token\":\r\ndata: \"secret\"}\r\n\r\ndata: [DONE]\n\n",
			"event: x\ndata: {\"token\":\"" + hidden + "\"}\n\ndata: [DONE]\n\n", []int64{46, 60}},
		{events.Lines, "{\"token\":\"secret\"}\r\n[]\n", "{\"token\":\"" + hidden + "\"}\r\n[]\n", []int64{20, 23}},
		{events.Events, "data: {\"token\": \"sec\n\n", "", []int64{22}},
	} {
		all := make([]form.Piece, len(c.ends))
		for i := range all {
			all[i][0] = c.ends[i]
		}
		got, ok := r.redactPieces([]byte(c.body), rules, &pieces{c.framing, &all})
		if string(got) != c.want || ok != (c.want != "") {
			t.Errorf("%q: %q, want %q", c.body, got, c.want)
		}
		for i, grown := 0, int64(0); ok && i < len(all); i++ {
			if i == 0 {
				grown = int64(len(c.want) - len(c.body))
			}
			if all[i][0] != c.ends[i]+grown {
				t.Errorf("%q: piece %d ends at %d, want %d", c.body, i, all[i][0], c.ends[i]+grown)
			}
		}
	}
}
