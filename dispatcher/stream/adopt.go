package stream

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// look takes over logs that no process holds, reads further messages of logs that were adopted, and
// releases adopted logs that are empty. It sweeps the log of this process, and creates the stream
// again if the server has lost it.
func (s *Stream) look(ctx context.Context) {
	if !s.nc.IsConnected() {
		return
	}
	info, err := s.stream.Info(ctx, jetstream.WithSubjectFilter(s.subject("*", "*")))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		ctx, cancel := context.WithTimeout(ctx, reopenWithin)
		defer cancel()
		if err := s.reopen(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("the webhook store does not accept webhooks", "store", s.at.String(), "error", err.Error())
		}
		return
	}
	if err != nil {
		return // look is called again soon
	}
	s.compare(info.Created)
	logs := map[string]uint64{} // the number of messages in each, without notes
	for subject, messages := range info.State.Subjects {
		name, isLog := strings.CutSuffix(strings.TrimPrefix(subject, s.at.Stream+"."), ".log")
		if !isLog { // a process that crashed may leave only notes
			name, messages = strings.TrimSuffix(name, ".done"), 0
		}
		logs[name] += messages
	}
	s.claimAll(ctx, logs) // before any log is read, which may take longer than a lease
	for name, messages := range logs {
		s.mu.Lock()
		l := s.held[name]
		own := l != nil && l == s.own
		unread := l != nil && messages > 0 && (messages > uint64(l.live) || l.open == nil)
		s.mu.Unlock()
		switch {
		case own:
			s.sweep(ctx, l, messages)
		case unread:
			s.adopt(ctx, l)
		}
	}
	for _, l := range s.holding() {
		s.mu.Lock()
		finished := l != s.own && logs[l.name] == 0 && l.live == 0
		s.mu.Unlock()
		if finished {
			s.release(ctx, l)
		}
	}
}

// claimAll takes over the logs that no process holds, and forgets sightings of logs that no longer
// exist.
func (s *Stream) claimAll(ctx context.Context, logs map[string]uint64) {
	s.mu.Lock()
	maps.DeleteFunc(s.seen, func(name string, _ sighting) bool {
		_, ok := logs[name]
		return !ok
	})
	s.mu.Unlock()
	for name := range logs {
		s.mu.Lock()
		held := s.held[name] != nil
		s.mu.Unlock()
		if !held {
			s.claim(ctx, name)
		}
	}
}

// adopt reads a log that was taken over, from where the previous call stopped reading.
func (s *Stream) adopt(ctx context.Context, l *ownedLog) {
	began, entries := time.Now(), 0
	s.mu.Lock()
	created, from, noted := s.created, l.read+1, l.open != nil
	s.mu.Unlock()
	same := func(do func()) { // calls do unless the stream has been replaced
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.created.Equal(created) {
			do()
		}
	}
	if !noted {
		open := map[uint64]uint64{}
		if err := s.each(ctx, s.subject(l.name, "done"), 1, func(_ uint64, data []byte) {
			if err := readNotes(data, open); err != nil {
				s.log.Warn("notes of the webhook store cannot be read: webhooks may be sent again", "log", l.name, "error", err.Error())
			}
		}); err != nil {
			return
		}
		same(func() { l.open = open })
	}
	err := s.each(ctx, s.subject(l.name, "log"), from, func(seq uint64, data []byte) {
		entries += s.adoptBatch(l, seq, data)
		same(func() { l.read = seq })
	})
	if entries > 0 {
		s.log.Info("webhooks of another process are adopted", "log", l.name, "webhooks", entries, "took", time.Since(began).Round(time.Millisecond))
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("webhooks of another process are not adopted completely yet", "log", l.name, "error", err.Error())
	}
}

// adoptBatch passes on the open entries of a message, except those that the caller of Recover still
// has, and returns how many it passed on. It skips a message that is malformed or already known, or
// whose log was given up.
func (s *Stream) adoptBatch(l *ownedLog, seq uint64, data []byte) int {
	key, entries, err := readRecords(data)
	if err != nil {
		s.log.Error("a message of the webhook store cannot be read; it stays there", "log", l.name, "sequence", seq, "error", err.Error())
		s.lost.Add(1)
		return 0
	}
	b := &batch{log: l, key: key, seq: seq, kept: true, open: everything(len(entries))}
	s.mu.Lock()
	if open, ok := l.open[key]; ok {
		b.open &= open
	}
	if before := s.batches[key]; s.held[l.name] != l || before != nil {
		if before != nil {
			before.seq = seq // it may have been forgotten
		}
		s.mu.Unlock()
		return 0
	}
	s.batches[key] = b
	l.live++
	if b.open != everything(len(entries)) { // recorded again, so that it is among the notes that replace all others
		l.changed[b] = struct{}{}
	}
	if b.open == 0 {
		l.finished = append(l.finished, b)
	}
	open := b.open &^ s.parted[key] // entries that were given up but are still in memory are not passed again
	delete(s.parted, key)
	s.mu.Unlock()
	left := pick(entries, open)
	if len(left) > 0 {
		s.take(left)
	}
	return len(left)
}
