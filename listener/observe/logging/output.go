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

// Output writes to standard output and standard error from a goroutine of its own, so that nobody
// who logs waits for the readers of the streams. Lines are written in their order, also across the
// streams. While a stream is not read, only its own lines wait; if too many wait, further ones are
// dropped, and a line states their number once the stream is read again. The methods may be called
// from any goroutine. See NewOutput.
type Output struct {
	stdout, stderr *stream
	stallAfter     time.Duration // how long lines wait for the earlier ones of the other stream

	mu      sync.Mutex // guards the fields below and those of the streams
	queue   []batch
	writing bool          // a goroutine writes, and its write is not stalled
	dropped uint64        // lines, since the start
	empty   chan struct{} // closed once nothing waits; nil if nobody waits for that
}

// batch is a number of whole lines for one stream.
type batch struct {
	to    *stream
	lines []byte
}

// stream is one of the two streams of an output.
type stream struct {
	out *Output
	to  io.Writer

	notes   slog.Handler // formats, in note, the line that states how many were dropped
	level   slog.Level   // of that line
	note    bytes.Buffer
	queued  int         // bytes that wait or are being written
	dropped int         // lines that no line has stated yet
	busy    bool        // a goroutine is writing to it
	stalled bool        // that write takes long
	slow    *time.Timer // calls stall if lines of the other stream wait for this one
	timed   bool        // that timer runs
	spare   []byte      // buffer of a batch that was written
}

// NewOutput returns an output to the two streams; format is that of New.
func NewOutput(format string, stdout, stderr io.Writer) *Output {
	o := &Output{stallAfter: 100 * time.Millisecond}
	o.stdout, o.stderr = o.stream(format, slog.LevelWarn, stdout), o.stream(format, slog.LevelError, stderr)
	return o
}

func (o *Output) stream(format string, level slog.Level, to io.Writer) *stream {
	s := &stream{out: o, to: to, level: level}
	s.notes = handler(format, &s.note)
	s.slow = time.AfterFunc(time.Hour, s.stall)
	s.slow.Stop()
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
	if other := s.other(); other.queued > 0 && !other.stalled && !other.timed {
		other.timed = true
		other.slow.Reset(o.stallAfter)
	}
	if !o.writing && !s.stalled {
		o.writing = true
		go o.write()
	}
	return len(lines), nil
}

// add appends lines to the queue. The caller holds mu.
func (s *stream) add(lines []byte) {
	o := s.out
	s.queued += len(lines)
	if last := len(o.queue) - 1; last >= 0 && o.queue[last].to == s && len(o.queue[last].lines) < maxBatch {
		o.queue[last].lines = append(o.queue[last].lines, lines...)
		return
	}
	o.queue = append(o.queue, batch{s, append(s.spare[:0], lines...)})
	s.spare = nil
}

// write writes what is queued, until nothing is left or another goroutine writes.
func (o *Output) write() {
	runtime.Gosched() // under load, more lines are then written at once
	o.mu.Lock()
	defer o.mu.Unlock()
	for overtaken := false; !overtaken; {
		next := slices.IndexFunc(o.queue, func(b batch) bool { return !b.to.stalled })
		if next < 0 {
			o.writing = false
			return
		}
		b := o.queue[next]
		o.queue = slices.Delete(o.queue, next, next+1)
		s := b.to
		s.busy = true
		o.mu.Unlock()
		_, err := s.to.Write(b.lines) // a log that cannot be written cannot be reported either
		o.mu.Lock()
		if err != nil {
			o.dropped += uint64(bytes.Count(b.lines, []byte{'\n'}))
		}
		overtaken = s.stalled && o.writing
		s.busy, s.stalled, o.writing = false, false, true
		s.written(b.lines)
	}
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

func (s *stream) other() *stream {
	if s == s.out.stdout {
		return s.out.stderr
	}
	return s.out.stdout
}

// stall lets the lines of the other stream overtake those of this one.
func (s *stream) stall() {
	o := s.out
	o.mu.Lock()
	defer o.mu.Unlock()
	s.timed = false
	switch waits := s.queued > 0 && !s.stalled && s.other().queued > 0; {
	case waits && s.busy:
		s.stalled, o.writing = true, true
		go o.write()
	case waits:
		s.timed = true
		s.slow.Reset(o.stallAfter)
	}
}
