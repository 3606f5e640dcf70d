package rows

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// packed returns content in the packed form that belongs to a file extension.
func packed(t testing.TB, extension, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&out)
	if extension == ".zst" {
		var err error
		if w, err = zstd.NewWriter(&out); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestRead_Packed(t *testing.T) {
	for _, tt := range []struct{ name, content, want string }{
		{"f.csv", "id,a\n1,x\n", `2:1 1 {"id":"1","a":"x"}` + "\n"},
		{"f.tsv", "id\ta\n1\tx\n", `2:1 1 {"id":"1","a":"x"}` + "\n"},
		{"f.json", `[{"id":1}]`, `1:2 1 {"id":1}` + "\n"},
		{"f.ndjson", `{"id":1}`, `1:1 1 {"id":1}` + "\n"},
		{"f.JSONL", `{"id":1}`, `1:1 1 {"id":1}` + "\n"},
	} {
		for _, extension := range []string{".gz", ".zst"} {
			content := packed(t, extension, tt.content)
			for _, name := range []string{tt.name + extension, tt.name + strings.ToUpper(extension)} {
				if got, err := collect(bytes.NewReader(content), options(name)); err != nil || got != tt.want {
					t.Errorf("%s: %q, %v, want %q", name, got, err, tt.want)
				}
			}
			twice := append(packed(t, extension, tt.content[:3]), packed(t, extension, tt.content[3:])...)
			if got, err := collect(bytes.NewReader(twice), options(tt.name+extension)); err != nil || got != tt.want {
				t.Errorf("%s in two parts: %q, %v, want %q", tt.name+extension, got, err, tt.want)
			}
		}
	}
}

func TestRead_PackedBadly(t *testing.T) {
	lines := strings.Repeat("{\"id\":1}\n", 10)
	for _, extension := range []string{".gz", ".zst"} {
		whole := packed(t, extension, lines)
		for n := range whole {
			// An empty .zst file unpacks to an empty file.
			_, err := collect(bytes.NewReader(whole[:n]), options("f.ndjson"+extension))
			if err == nil || n > 0 && !strings.HasPrefix(err.Error(), "unpack: ") {
				t.Errorf("%s cut after %d bytes: %v", extension, n, err)
			}
		}
		for _, content := range []string{lines, "\x1f\x8b", "PK\x03\x04 and more"} {
			if _, err := collect(strings.NewReader(content), options("f.ndjson"+extension)); err == nil || !strings.HasPrefix(err.Error(), "unpack: ") {
				t.Errorf("%s that is %q: %v", extension, content, err)
			}
		}
	}
	if _, err := collect(bytes.NewReader(packed(t, ".gz", "")), options("f.ndjson.gz")); err == nil || err.Error() != "1:1: file is empty" {
		t.Errorf("nothing, packed: %v", err)
	}
}

// TestRead_ZstdWindow reads frames with windows of 128 MiB, and refuses larger ones.
func TestRead_ZstdWindow(t *testing.T) {
	for window, want := range map[int]bool{128 << 20: true, 256 << 20: false} {
		var out bytes.Buffer
		w, err := zstd.NewWriter(&out, zstd.WithWindowSize(window), zstd.WithSingleSegment(false))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"{\"id\":1}\n", "{\"id\":2}\n"} { // else the frame has no window
			if _, err := io.WriteString(w, part); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := collect(&out, options("f.ndjson.zst")); (err == nil) != want {
			t.Errorf("a window of %d bytes: %v", window, err)
		}
	}
}

func TestBounded(t *testing.T) {
	for left, want := range map[int64]string{9: "unpacks to more than 4 GiB", 10: ""} {
		got, err := io.ReadAll(&bounded{r: strings.NewReader("0123456789"), left: left})
		if p := (*Problem)(nil); want != "" && (!errors.As(err, &p) || p.What != want) || want == "" && (err != nil || len(got) != 10) {
			t.Errorf("%d bytes left: %q, %v, want %q", left, got, err, want)
		}
	}
}
