package stream

import (
	"context"
	"errors"
	"regexp"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// flushEvery is the interval at which finished entries are recorded. After a crash, entries
	// that finished after the last flush are sent again.
	flushEvery = 200 * time.Millisecond
	// deleters is how many messages are deleted at a time.
	deleters = 32
	// manyNotes is how many messages of notes accumulate before one replaces them all.
	manyNotes = 64
)

// Done records that an entry is no longer pending. It does not wait for the server, so the entry
// may be sent again after a crash.
func (s *Stream) Done(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.batches[id>>batchBits]
	if b == nil || b.open&bit(id) == 0 {
		s.part(id)
		return
	}
	b.log.changed[b] = struct{}{}
	if b.open &^= bit(id); b.open == 0 {
		b.log.finished = append(b.log.finished, b)
	}
}

// flush records which entries are done. It does not wait for deletions, which take a long time on a
// busy server: entries that finish in the meantime would be sent again after a crash.
func (s *Stream) flush(ctx context.Context) { s.eachHeld(func(l *ownedLog) { s.note(ctx, l, false) }) }

// deleteDone deletes the messages whose entries are all done.
func (s *Stream) deleteDone(ctx context.Context) {
	s.eachHeld(func(l *ownedLog) {
		s.mu.Lock()
		finished := l.finished
		l.finished, l.deleting = nil, len(finished)
		s.mu.Unlock()
		s.deleteAll(ctx, finished)
	})
}

// eachHeld calls do for the logs that no other process can hold.
func (s *Stream) eachHeld(do func(*ownedLog)) {
	if !s.nc.IsConnected() {
		return
	}
	for _, l := range s.holding() {
		s.mu.Lock()
		held := time.Now().Before(l.until) // otherwise another process may hold it and write notes
		s.mu.Unlock()
		if held {
			do(l)
		}
	}
}

// deleteAll deletes messages.
func (s *Stream) deleteAll(ctx context.Context, finished []*batch) {
	next := make(chan *batch)
	var deleting sync.WaitGroup
	for range min(deleters, len(finished)) {
		deleting.Go(func() {
			for b := range next {
				s.delete(ctx, b)
			}
		})
	}
	for _, b := range finished {
		next <- b
	}
	close(next)
	deleting.Wait()
}

// absent matches the errors of servers for a message that does not exist. The texts depend on
// whether its sequence is between existing ones, before the first, or after the last of an empty
// stream. The error code is the same as for other errors.
var absent = regexp.MustCompile(`not found|no message found|deleted message|stream store EOF`)

// delete deletes the message of a batch. If that fails, the next call to deleteDone tries again.
func (s *Stream) delete(ctx context.Context, b *batch) {
	s.mu.Lock()
	seq := b.seq
	s.mu.Unlock()
	var err error
	if seq != 0 {
		err = s.stream.DeleteMsg(ctx, seq)
	}
	gone := errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) && absent.MatchString(err.Error())
	s.mu.Lock()
	defer s.mu.Unlock()
	b.log.deleting--
	if err != nil && !gone {
		b.log.finished = append(b.log.finished, b)
		return
	}
	delete(b.log.changed, b)
	delete(b.log.partial, b)
	if s.batches[b.key] == b {
		delete(s.batches, b.key)
		b.log.live--
	}
}

// note publishes which entries of batches are open. It leaves each finished batch out once, because
// most are deleted before the next call, unless there are many of them or end is set. From time to
// time, a message about all batches replaces the earlier ones.
func (s *Stream) note(ctx context.Context, l *ownedLog, end bool) {
	s.mu.Lock()
	all := end || len(l.finished)+l.deleting > deleters
	changed, later := map[*batch]struct{}{}, map[*batch]struct{}{}
	for b := range l.changed {
		if b.open == 0 && !all && !b.passed {
			later[b], b.passed = struct{}{}, true
		} else {
			changed[b], l.partial[b] = struct{}{}, struct{}{}
		}
	}
	replace := l.notes >= manyNotes
	if len(changed) == 0 {
		s.mu.Unlock()
		return
	}
	l.changed = later
	from := changed
	if replace {
		from = l.partial
		l.notes = 0
	}
	notes := make([]note, 0, len(from))
	for b := range from {
		notes = append(notes, note{b.key, b.open})
	}
	s.mu.Unlock()
	most := s.atMost(maxNotes*noteSize) / noteSize
	for ; len(notes) > 0; notes = notes[min(most, len(notes)):] {
		m := nats.NewMsg(s.subject(l.name, "done"))
		m.Data = appendNotes(nil, notes[:min(most, len(notes))])
		if replace {
			m.Header.Set("Nats-Rollup", "sub")
			replace = false
		}
		_, err := s.js.PublishMsg(ctx, m, jetstream.WithExpectStream(s.at.Stream))
		s.mu.Lock()
		l.notes++
		if err != nil { // they are published again with the next notes
			for b := range from { // a message that replaces all others may have removed theirs
				if s.batches[b.key] == b {
					l.changed[b] = struct{}{}
				}
			}
		}
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}
