package state_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"mockserver/listener/memory/statefile"
)

// written returns a file of two changes, as the package writes it.
func written(t testing.TB) []byte {
	path := filepath.Join(t.TempDir(), "f")
	changes, err := statefile.Replace(path, func(put func(statefile.Change) error) error {
		part := "a b"
		return errors.Join(put(statefile.Change{Set: "s", Key: "1", Row: json.RawMessage(`{"id":1}`), Move: &statefile.Move{Entry: 1, In: 5}}),
			put(statefile.Change{Set: "s", Part: &part, Key: "2", Taken: true}))
	})
	content, wrong := os.ReadFile(path)
	if err = errors.Join(err, wrong); err != nil || changes != 2 {
		t.Fatalf("%d changes, %v", changes, err)
	}
	return content
}

// read returns the number of changes in a file, or what is wrong with it.
func read(content []byte) (int, error) {
	l := statefile.NewLines(bytes.NewReader(content))
	for {
		if _, err := l.Next(); errors.Is(err, io.EOF) {
			return l.Changes, nil
		} else if err != nil {
			return l.Changes, err
		}
	}
}

// Every change of a bit, every cut except that of everything, and everything added is noticed.
func TestLines_Damage(t *testing.T) {
	whole := written(t)
	if n, err := read(whole); n != 2 || err != nil {
		t.Fatalf("%d changes, %v", n, err)
	}
	for i := range whole {
		if _, err := read(whole[:i]); err == nil && i > 0 {
			t.Errorf("cut off after %d bytes, it is read", i)
		}
		for bit := range 8 {
			changed := bytes.Clone(whole)
			changed[i] ^= 1 << bit
			if _, err := read(changed); err == nil {
				t.Errorf("it is read as\n%s", changed)
			}
		}
	}
	for _, more := range []string{"\n", " ", "x", string(whole), `{"set":"s","key":"3","deleted":true}` + "\n"} {
		if _, err := read(append(bytes.Clone(whole), more...)); err == nil {
			t.Errorf("with %q, it is read", more)
		}
	}
}

// FuzzLines expects each file that is read to be complete.
func FuzzLines(f *testing.F) {
	f.Add(written(f))
	f.Add([]byte(`{"set":"s","key":"3","deleted":true}` + "\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		l := statefile.NewLines(bytes.NewReader(content))
		for lines := 0; ; lines++ {
			switch _, err := l.Next(); {
			case err == nil && lines > len(content):
				t.Fatal("it does not end")
			case errors.Is(err, io.EOF) && len(content) > 0 && !bytes.Contains(content, []byte(`{"end":`)):
				t.Fatal("a file without its last line is read")
			case err != nil:
				return
			}
		}
	})
}
