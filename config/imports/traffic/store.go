package traffic

import (
	"bufio"
	"hash/maphash"
	"os"
)

// inMemory is how many bytes of bodies and headers are kept in memory; the rest is kept in a
// temporary file.
const inMemory = 64 << 20

// store keeps texts, each distinct text once. Texts are numbered from 0 in the order in which they
// were added; number 0 is the empty text. A store must not be used concurrently.
type store struct {
	numbers map[[2]uint64]uint32 // by two hashes
	seeds   [2]maphash.Seed
	ends    []int64 // where each text ends
	memory  []byte  // the first texts
	file    *os.File
	out     *bufio.Writer
	err     error // of the temporary file
}

func newStore() *store {
	s := &store{numbers: map[[2]uint64]uint32{}, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	s.add(nil)
	return s
}

// add stores a text, unless it is already stored, and returns its number.
func (s *store) add(text []byte) uint32 {
	sum := [2]uint64{maphash.Bytes(s.seeds[0], text), maphash.Bytes(s.seeds[1], text)}
	if n, known := s.numbers[sum]; known {
		return n
	}
	n := uint32(len(s.ends))
	s.numbers[sum] = n
	end := int64(len(text))
	if n > 0 {
		end += s.ends[n-1]
	}
	s.ends = append(s.ends, end)
	if s.file == nil && len(s.memory)+len(text) > inMemory {
		s.spill()
	}
	if s.file == nil {
		s.memory = append(s.memory, text...)
	} else if _, err := s.out.Write(text); err != nil {
		s.keep(err)
	}
	return n
}

// spill begins a temporary file for all texts that are added from now on.
func (s *store) spill() {
	f, err := os.CreateTemp("", "mockserver-import-")
	if err != nil {
		s.err = err
		return
	}
	s.file, s.out = f, bufio.NewWriterSize(f, 1<<20)
}

// get returns a text, which is valid until the next call with the same buffer.
func (s *store) get(n uint32, buf *[]byte) []byte {
	size := s.size(n)
	from := s.ends[n] - size
	if s.ends[n] <= int64(len(s.memory)) {
		return s.memory[from:s.ends[n]]
	}
	if s.out != nil && s.out.Buffered() > 0 {
		s.keep(s.out.Flush())
	}
	if int64(cap(*buf)) < size {
		*buf = make([]byte, size)
	}
	text := (*buf)[:size]
	if s.file == nil { // it could not be created
		return nil
	}
	if _, err := s.file.ReadAt(text, from-int64(len(s.memory))); err != nil {
		s.keep(err)
		return nil
	}
	return text
}

// size returns the length of a text.
func (s *store) size(n uint32) int64 {
	if n == 0 {
		return 0
	}
	return s.ends[n] - s.ends[n-1]
}

func (s *store) keep(err error) {
	if s.err == nil {
		s.err = err
	}
}

// close removes the temporary file.
func (s *store) close() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
		s.file = nil
	}
}

// words keeps short texts in memory, each distinct text once. Number 0 is the empty text.
type words struct {
	numbers map[string]uint32
	texts   []string
}

func newWords() *words { return &words{map[string]uint32{"": 0}, []string{""}} }

func (w *words) add(text string) uint32 {
	n, known := w.numbers[text]
	if !known {
		n = uint32(len(w.texts))
		w.numbers[text] = n
		w.texts = append(w.texts, text)
	}
	return n
}
