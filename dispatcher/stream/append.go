package stream

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"mockserver/dispatcher/outbox"
)

const (
	// publishWithin is how long an entry waits for a publisher, and how long its message then waits
	// for its acknowledgement.
	publishWithin = 2 * time.Second
	// overhead is an upper bound on the size that an entry adds to a message in addition to its
	// texts, in bytes.
	overhead = 64
	// largestMessage is the size in bytes up to which entries are added to a message, if the server
	// allows that size.
	largestMessage = 256 << 10
)

func sizeOf(e *outbox.Entry) int { return overhead + len(e.Webhook) + len(e.Parts) }

// Store appends an entry to the log of this process, sets its ID, and returns when the stream has
// acknowledged it while the lease was valid.
func (s *Stream) Store(e *outbox.Entry) error {
	if size, most := sizeOf(e), int(s.nc.MaxPayload()); most > 0 && size > most-headroom {
		return fmt.Errorf("a webhook of %d bytes is too large for the webhook store, whose messages have up to %d bytes", size, most)
	}
	if !s.MayBegin() || !s.nc.IsConnected() {
		return ErrAway
	}
	r := &request{entry: e, since: time.Now(), stored: make(chan error, 1)}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return outbox.ErrClosed
	}
	s.waiting = append(s.waiting, r)
	s.more.Signal()
	s.mu.Unlock()
	return <-r.stored
}

// publish is the goroutine of a publisher.
func (s *Stream) publish() {
	for {
		requests := s.gather()
		if requests == nil {
			return
		}
		err := s.append(requests)
		for _, r := range requests {
			r.stored <- err
		}
	}
}

// gather waits for entries, and returns those of the next message; nil when the store is closed.
func (s *Stream) gather() []*request {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.refuse(); len(s.waiting) == 0; s.refuse() {
		if s.closed {
			return nil
		}
		s.more.Wait()
	}
	n, size, most := 0, 0, s.atMost(largestMessage)
	for n < min(len(s.waiting), batchSize) && (n == 0 || size+sizeOf(s.waiting[n].entry) <= most) {
		size += sizeOf(s.waiting[n].entry)
		n++
	}
	requests := s.waiting[:n:n]
	s.waiting = s.waiting[n:]
	return requests
}

// refuse refuses the requests that have waited too long, or all of them while no lease allows
// storing. Otherwise every response would have to wait for the whole queue while the stream has no
// leader and takes seconds to refuse each message. The lock must be held.
func (s *Stream) refuse() {
	n := 0
	for n < len(s.waiting) && (!s.MayBegin() || time.Since(s.waiting[n].since) > publishWithin) {
		s.waiting[n].stored <- ErrAway
		n++
	}
	s.waiting = s.waiting[n:]
}

// append publishes a batch, and sets the IDs of its entries. It returns an error unless the stream
// has acknowledged the batch while the lease was valid.
func (s *Stream) append(requests []*request) error {
	b, before := s.newBatch(len(requests))
	if b == nil {
		return ErrAway
	}
	entries := make([]*outbox.Entry, len(requests))
	for i, r := range requests {
		r.entry.ID = b.key<<batchBits | uint64(i)
		entries[i] = r.entry
	}
	ctx, cancel := context.WithTimeout(s.ctx, publishWithin)
	defer cancel()
	ack, err := s.js.Publish(ctx, s.subject(b.log.name, "log"), appendRecords(nil, b.key, entries), jetstream.WithExpectStream(s.at.Stream))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if s.batches[b.key] == b {
			delete(s.batches, b.key)
			b.log.live--
		}
		if !b.log.doubted {
			b.log.doubted, b.log.doubt = true, before
		}
		b.log.doubtful, b.log.doubt = true, min(b.log.doubt, before)
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	b.seq, b.kept = ack.Sequence, true
	b.log.acked = max(b.log.acked, b.seq)
	if s.batches[b.key] != b || !time.Now().Before(b.log.until) { // another process may have it
		b.open = 0
		b.log.finished = append(b.log.finished, b)
		return fmt.Errorf("%w: it acknowledged too late", ErrAway)
	}
	return nil
}

// newBatch registers a batch of n entries; it returns nil if there is no log to append to. It also
// returns the largest sequence that was acknowledged before.
func (s *Stream) newBatch(n int) (b *batch, acked uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.own == nil {
		return nil, 0
	}
	b = &batch{log: s.own, key: s.key, open: everything(n)}
	s.key++
	s.batches[b.key] = b
	b.log.live++
	return b, b.log.acked
}

// sweep schedules the deletion of the messages of a log that were not acknowledged, because their
// webhooks were refused. It records the sequences of the other messages. The log is read only if it
// may contain messages that were not acknowledged. messages is the number of messages in the log.
func (s *Stream) sweep(ctx context.Context, l *ownedLog, messages uint64) {
	s.mu.Lock()
	if l.surplus++; messages <= uint64(l.live) {
		l.surplus = 0
	}
	// A message may arrive long after it was given up. During deletions the numbers differ briefly.
	doubtful, after, last := l.doubtful || l.doubted && l.surplus > 1, l.doubt, l.doubt
	l.doubtful = false
	s.mu.Unlock()
	if !doubtful {
		return
	}
	err := s.each(ctx, s.subject(l.name, "log"), after+1, func(seq uint64, data []byte) {
		last = seq
		key, _, err := readRecords(data)
		if err != nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if b := s.batches[key]; b != nil {
			b.seq = seq // compare may have forgotten it
		} else if s.held[l.name] == l {
			b = &batch{log: l, key: key, seq: seq}
			s.batches[key] = b
			l.live++
			l.finished = append(l.finished, b)
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		l.doubtful = true
	case !l.doubtful: // later messages have higher sequences
		l.doubt = last
	}
}
