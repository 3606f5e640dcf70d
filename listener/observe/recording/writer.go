package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"mockserver/internal/recording"
)

// writer writes the files of a recording. Each write is a frame of its own, so that a file is
// readable up to the last complete frame.
type writer struct {
	dir, name, url string
	write          func(f *os.File, b []byte) (int, error) // nil for (*os.File).Write

	file   *os.File // nil after a file could not be begun
	path   string
	paths  []string // all files with a head, the current one last
	number int
	size   int64 // size of the current file
	text   []byte
	lines  uint64 // number of lines in text
	packed []byte
	zstd   *zstd.Encoder
}

const (
	// flushSize is how much text is compressed at once, in bytes.
	flushSize = 256 << 10
	// fileSize is the size, in bytes, at which another file is begun.
	fileSize = 64 << 20
)

// open begins the first file.
func (w *writer) open() error {
	var err error
	w.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<18), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return err
	}
	names, err := fileNames(w.dir, w.name)
	if err != nil {
		return err
	}
	for _, name := range names {
		w.number = max(w.number, numberOf(name, w.name))
	}
	return w.next()
}

const suffix = ".ndjson.zst"

// fileNames returns the files of an upstream in a directory, in order.
func fileNames(dir, upstream string) ([]string, error) {
	all, err := filepath.Glob(filepath.Join(escaped(dir), upstream+"-*"+suffix))
	all = slices.DeleteFunc(all, func(path string) bool { return numberOf(path, upstream) == 0 })
	slices.SortFunc(all, func(a, b string) int { return numberOf(a, upstream) - numberOf(b, upstream) })
	return all, err
}

// escaped escapes a directory for Glob.
func escaped(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

// numberOf returns the number of a file, or 0 if it is not a file of a recording of the upstream.
func numberOf(path, upstream string) int {
	digits := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), upstream+"-"), suffix)
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

// next begins another file, whose first line is its head.
func (w *writer) next() error {
	w.close()
	if err := w.create(); err != nil {
		return err
	}
	head, err := json.Marshal(recording.Head{Mockserver: "recording", Version: recording.Version, Upstream: w.name, URL: w.url, Time: time.Now().UTC(), Number: w.number})
	if err == nil {
		err = w.put(append(head, '\n'))
	}
	if err != nil { // without its head the file would not be readable
		w.close()
		w.number--
		return errors.Join(err, os.Remove(w.path))
	}
	w.paths = append(w.paths, w.path)
	return nil
}

// create creates the next file. Files that exist belong to the recording that this one replaces.
func (w *writer) create() (err error) {
	for number := w.number + 1; ; number++ {
		w.path = filepath.Join(w.dir, fmt.Sprintf("%s-%04d%s", w.name, number, suffix))
		w.file, err = os.OpenFile(w.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			if err == nil {
				w.number, w.size = number, 0
			}
			return err
		}
	}
}

// put compresses and writes a text. A partial write is undone.
func (w *writer) put(text []byte) error {
	w.packed = w.zstd.EncodeAll(text, w.packed[:0])
	write := w.write
	if write == nil {
		write = (*os.File).Write
	}
	n, err := write(w.file, w.packed)
	if err != nil {
		if n > 0 {
			_, seek := w.file.Seek(w.size, 0)
			err = errors.Join(err, w.file.Truncate(w.size), seek)
		}
		return err
	}
	w.size += int64(n)
	return nil
}

// flush writes the collected text, and returns its size in the file, in bytes.
func (w *writer) flush() (n int64, err error) {
	defer func() {
		if w.text, w.lines = w.text[:0], 0; cap(w.text) > 8*flushSize {
			w.text = nil
		}
	}()
	if w.file == nil || w.size >= fileSize {
		if err := w.next(); err != nil {
			return 0, err
		}
	}
	before := w.size
	err = w.put(w.text)
	return w.size - before, err
}

func (w *writer) close() {
	if w.file != nil {
		_ = w.file.Close() // the system already has what was written
		w.file = nil
	}
}
