package stream

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"mockserver/dispatcher/outbox"
	"mockserver/internal/natsclient"
)

// publishers is how many messages are published at a time. Entries that are stored in the meantime
// are collected in the next messages.
const publishers = 4

// Open connects to the servers, and creates the stream if it does not exist.
func Open(at Location, log *slog.Logger) (*Stream, error) {
	s := &Stream{
		at: at, log: log, began: time.Now(), token: fmt.Appendf(nil, "%016x", rand.Uint64()),
		key: rand.Uint64() >> (batchBits + 1), batches: map[uint64]*batch{}, held: map[string]*ownedLog{}, parted: map[uint64]uint64{}, seen: map[string]sighting{},
	}
	s.more = sync.NewCond(&s.mu)
	s.ctx, s.stop = context.WithCancel(context.Background())
	if err := s.open(); err != nil {
		if s.nc != nil {
			s.nc.Close()
		}
		return nil, fmt.Errorf("open the webhook store %s: %w", &at, err)
	}
	for range publishers {
		s.publishing.Go(s.publish)
	}
	s.loops.Go(func() { s.every(s.at.Lease/leaseParts, s.renewAll) })
	s.loops.Go(func() { s.every(flushEvery, s.flush) })
	s.loops.Go(func() { s.every(flushEvery, s.deleteDone) })
	return s, nil
}

func (s *Stream) open() error {
	var err error
	if s.nc, s.js, err = s.at.Connect(s.at.String(), max(s.at.Lease/leaseParts, time.Second), s.log); err != nil {
		return err
	}
	if err := natsclient.Start(s.ctx, func(ctx context.Context) error {
		if s.stream, s.leases, err = s.prepare(ctx); err != nil {
			return err
		}
		s.created = s.stream.CachedInfo().Created
		return s.begin(ctx)
	}); err != nil {
		return err
	}
	if s.stream.CachedInfo().Config.Replicas < 3 {
		s.log.Warn("the webhook store has fewer than three replicas: unless its server has sync_interval: always, the crash of its machine loses webhooks",
			"store", s.at.String())
	}
	return nil
}

// every calls do once in each interval until the store is closed.
func (s *Stream) every(interval time.Duration, do func(context.Context)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
			do(s.ctx)
		}
	}
}

// Recover calls take with the deliveries that other processes no longer hold, whenever some are
// found.
func (s *Stream) Recover(take func([]outbox.Entry)) {
	s.take = take
	s.loops.Go(func() { s.every(s.at.Lease/(2*leaseParts), s.look) })
}

// closeWithin is how long Close waits for the server.
const closeWithin = 3 * time.Second

// Close records which entries are done, and releases the logs, so that other processes adopt the
// rest. If the servers are not connected, the logs are released when their leases expire.
func (s *Stream) Close() error {
	s.mu.Lock()
	s.closed = true
	s.more.Broadcast()
	s.mu.Unlock()
	s.publishing.Wait()
	s.stop()
	s.loops.Wait()
	defer s.nc.Close()
	if !s.nc.IsConnected() {
		s.log.Warn("the webhook store is unavailable: others adopt the webhooks once it is back and the lease has expired", "store", s.at.String())
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	s.eachHeld(func(l *ownedLog) { s.note(ctx, l, true) })
	deleting, end := context.WithTimeout(ctx, closeWithin/2) // the rest is for releasing the leases
	defer end()
	s.deleteDone(deleting)
	for _, l := range s.holding() {
		s.release(ctx, l)
	}
	return nil
}
