package stream

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// look searches for logs that nobody holds, and for further messages of logs that were adopted.
func (s *Stream) look(ctx context.Context) {
	if !s.nc.IsConnected() {
		return
	}
	info, err := s.stream.Info(ctx, jetstream.WithSubjectFilter(s.subject("*", "log")))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		ctx, cancel := context.WithTimeout(ctx, openWithin)
		defer cancel()
		if err := s.reopen(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("the webhook store takes no webhooks", "store", s.at.String(), "error", err.Error())
		}
		return
	}
	if err != nil {
		return // the next look is soon
	}
	s.compare(info.Created)
	for subject, messages := range info.State.Subjects {
		name := strings.TrimSuffix(strings.TrimPrefix(subject, s.at.Stream+"."), ".log")
		s.mu.Lock()
		l, own := s.held[name], s.own != nil && s.own.name == name
		behind := l != nil && (messages > uint64(l.live) || l.open == nil)
		s.mu.Unlock()
		if l == nil {
			l = s.claim(ctx, name)
			behind = l != nil
		}
		switch {
		case own:
			s.sweep(ctx, l)
		case behind:
			s.adopt(ctx, l)
		}
	}
	for _, l := range s.holding() {
		s.mu.Lock()
		_, left := info.State.Subjects[s.subject(l.name, "log")]
		finished := l != s.own && !left && l.live == 0 && l.open != nil
		s.mu.Unlock()
		if finished {
			s.release(ctx, l)
		}
	}
}

// adopt reads a log that was taken over, from where it was read before.
func (s *Stream) adopt(ctx context.Context, l *ownedLog) {
	began, entries := time.Now(), 0
	if l.open == nil {
		open := map[uint64]uint64{}
		if _, err := s.each(ctx, s.subject(l.name, "done"), 1, func(_ uint64, data []byte) {
			if err := readNotes(data, open); err != nil {
				s.log.Warn("notes of the webhook store cannot be read: webhooks may be sent again", "log", l.name, "error", err.Error())
			}
		}); err != nil {
			return
		}
		s.mu.Lock()
		l.open = open
		s.mu.Unlock()
	}
	_, err := s.each(ctx, s.subject(l.name, "log"), l.read+1, func(seq uint64, data []byte) {
		entries += s.adoptBatch(l, seq, data)
		l.read = seq
	})
	if entries > 0 {
		s.log.Info("webhooks of another process are adopted", "log", l.name, "webhooks", entries, "took", time.Since(began).Round(time.Millisecond))
	}
	if err != nil && ctx.Err() == nil {
		s.log.Warn("webhooks of another process are not adopted completely yet", "log", l.name, "error", err.Error())
	}
}

// adoptBatch takes the open entries of a message, and returns how many there are.
func (s *Stream) adoptBatch(l *ownedLog, seq uint64, data []byte) int {
	key, entries, err := readRecords(data)
	if err != nil {
		s.log.Error("a message of the webhook store cannot be read; it stays there", "log", l.name, "sequence", seq, "error", err.Error())
		s.lost.Add(1)
		return 0
	}
	b := &batch{log: l, key: key, seq: seq, open: everything(len(entries))}
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
	if b.open == 0 {
		l.finished = append(l.finished, b)
	}
	open := b.open
	s.mu.Unlock()
	left := pick(entries, open)
	if len(left) > 0 {
		s.take(left)
	}
	return len(left)
}

const (
	// readWithin is how long the next message may take.
	readWithin = 3 * time.Second
	// readAhead is how much of a log is on its way at a time, in bytes.
	readAhead = 16 << 20
)

// each calls do for the messages of a subject from a sequence on, up to the last one that there is
// when it begins. It returns how many there were.
func (s *Stream) each(ctx context.Context, subject string, from uint64, do func(seq uint64, data []byte)) (n int, err error) {
	last, err := s.stream.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return 0, nil
	}
	if err != nil || last.Sequence < from {
		return 0, err
	}
	consumer, err := s.stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{subject}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from,
	})
	if err != nil {
		return 0, err
	}
	messages, err := consumer.Messages(jetstream.PullMaxBytes(readAhead))
	if err != nil {
		return 0, err
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextMaxWait(readWithin))
		if err != nil {
			return n, err
		}
		meta, err := m.Metadata()
		if err != nil {
			return n, err
		}
		do(meta.Sequence.Stream, m.Data())
		n++
		if meta.Sequence.Stream >= last.Sequence || ctx.Err() != nil {
			return n, ctx.Err()
		}
	}
}
