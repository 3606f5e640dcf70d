package logging

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// maxQueued is the maximum number of bytes that wait for a stream. Further lines are dropped.
	maxQueued = 4 << 20
	// maxBatch is the number of bytes after which no more lines are added to a write.
	maxBatch = 32 << 10
)

// Output writes to standard output and standard error from goroutines of its own, so that nobody who logs
// waits for the readers of the streams. The lines of a stream are written in their order. If too many wait
// for a stream, further ones are dropped, and a line states their number once the stream is read again. The
// methods may be called from any goroutine. See NewOutput.
type Output struct {
	stdout, stderr *stream

	mu      sync.Mutex    // guards the fields below and those of the streams
	dropped uint64        // lines, since the start
	empty   chan struct{} // closed once nothing waits; nil if nobody waits for that
}

// stream is one of the two streams of an output.
type stream struct {
	out     *Output
	to      io.Writer
	notes   slog.Handler // formats, in note, the line that states how many were dropped
	level   slog.Level   // of that line
	note    bytes.Buffer
	queue   [][]byte // batches of whole lines
	queued  int      // bytes that wait or are being written
	dropped int      // lines that no line has stated yet
	writing bool     // a goroutine writes to it
	spare   []byte   // buffer of a batch that was written
}

// NewOutput returns an output to the two streams; format is that of New.
func NewOutput(format string, stdout, stderr io.Writer) *Output {
	o := &Output{}
	o.stdout, o.stderr = o.stream(format, slog.LevelWarn, stdout), o.stream(format, slog.LevelError, stderr)
	return o
}

func (o *Output) stream(format string, level slog.Level, to io.Writer) *stream {
	s := &stream{out: o, to: to, level: level}
	s.notes = handler(format, &s.note)
	return s
}

// Stdout returns a writer to standard output. Each write is a number of whole lines.
func (o *Output) Stdout() io.Writer { return o.stdout }

// Stderr returns a writer to standard error. Each write is a number of whole lines.
func (o *Output) Stderr() io.Writer { return o.stderr }

// Dropped returns the number of lines that were dropped.
func (o *Output) Dropped() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dropped
}

// Flush waits until all lines are written, but at most for the given duration.
func (o *Output) Flush(limit time.Duration) {
	o.mu.Lock()
	if o.stdout.queued+o.stderr.queued == 0 {
		o.mu.Unlock()
		return
	}
	if o.empty == nil {
		o.empty = make(chan struct{})
	}
	empty := o.empty
	o.mu.Unlock()
	select {
	case <-empty:
	case <-time.After(limit):
	}
}

// Write queues the lines or drops them. It never waits for a reader, and never fails.
func (s *stream) Write(lines []byte) (int, error) {
	o := s.out
	o.mu.Lock()
	defer o.mu.Unlock()
	if s.queued > 0 && s.queued+len(lines) > maxQueued {
		n := max(1, bytes.Count(lines, []byte{'\n'}))
		s.dropped += n
		o.dropped += uint64(n)
		return len(lines), nil
	}
	s.add(lines)
	if !s.writing {
		s.writing = true
		go s.write()
	}
	return len(lines), nil
}

// add appends lines to the queue. The caller holds mu.
func (s *stream) add(lines []byte) {
	s.queued += len(lines)
	if last := len(s.queue) - 1; last >= 0 && len(s.queue[last]) < maxBatch {
		s.queue[last] = append(s.queue[last], lines...)
		return
	}
	s.queue = append(s.queue, append(s.spare[:0], lines...))
	s.spare = nil
}

// write writes what is queued, until nothing is left.
func (s *stream) write() {
	runtime.Gosched() // under load, more lines are then written at once
	o := s.out
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(s.queue) > 0 {
		lines := s.queue[0]
		s.queue = slices.Delete(s.queue, 0, 1)
		o.mu.Unlock()
		_, err := s.to.Write(lines) // a log that cannot be written cannot be reported either
		o.mu.Lock()
		if err != nil {
			o.dropped += uint64(bytes.Count(lines, []byte{'\n'}))
		}
		s.written(lines)
	}
	s.writing = false
}

// written accounts for lines that were written, and adds the line about those that were dropped.
// The caller holds mu.
func (s *stream) written(lines []byte) {
	s.queued -= len(lines)
	if cap(lines) <= 2*maxBatch {
		s.spare = lines
	}
	if s.dropped > 0 {
		r := slog.NewRecord(time.Now(), s.level, "log lines dropped", 0)
		r.AddAttrs(slog.Int("lines", s.dropped))
		s.note.Reset()
		_ = s.notes.Handle(context.Background(), r) // writing to a buffer never fails
		s.dropped = 0
		s.add(s.note.Bytes())
	}
	if o := s.out; o.empty != nil && o.stdout.queued+o.stderr.queued == 0 {
		close(o.empty)
		o.empty = nil
	}
}
