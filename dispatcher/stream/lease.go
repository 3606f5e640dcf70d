package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A lease is a key with the token of the process that holds the log. It is renewed by revision, so
// that only one process can renew it. A process that has seen the same revision for the whole
// length of a lease takes over the log, also by revision. Both processes measure with their own
// monotonic clocks: the holder from before it sent the renewal, the other process from when it
// first saw the revision. Therefore the clocks of the machines need not agree, and it does not
// matter when a server deletes keys.
const (
	// leaseParts is the number of parts that a lease is divided into. The lease is renewed once in
	// each part. No attempt begins in the last part, so that requests that are being written are
	// complete before the lease ends.
	leaseParts = 5
)

// hold registers a log whose lease was taken or renewed by a request sent at the given time. The lock
// must be held.
func (s *Stream) hold(l *ownedLog, revision uint64, sent time.Time) {
	s.held[l.name] = l
	l.revision = revision
	l.until = sent.Add(s.at.Lease - s.at.Lease/leaseParts)
	s.measure()
}

// measure computes until when attempts may begin. The lock must be held.
func (s *Stream) measure() {
	until := int64(math.MaxInt64)
	for _, l := range s.held {
		until = min(until, int64(l.until.Sub(s.began)))
	}
	if len(s.held) == 0 {
		until = 0
	}
	s.until.Store(until)
}

func (s *Stream) holding() []*ownedLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.held))
}

// renewAll renews all leases, and begins a log if there is none to append to. If a lease cannot be
// renewed, the server may have lost the bucket, which is then created again.
func (s *Stream) renewAll(ctx context.Context) {
	if !s.nc.IsConnected() {
		return
	}
	within, cancel := context.WithTimeout(ctx, s.at.Lease/leaseParts)
	defer cancel()
	var renewing sync.WaitGroup
	var failed atomic.Bool
	for _, l := range s.holding() {
		renewing.Go(func() {
			if !s.renew(within, l) {
				failed.Store(true)
			}
		})
	}
	renewing.Wait()
	s.mu.Lock()
	none := s.own == nil
	s.mu.Unlock()
	if !none && !failed.Load() {
		return
	}
	ctx, cancel = context.WithTimeout(ctx, s.at.Lease/leaseParts) // renewals may have used up the time
	defer cancel()
	err := s.reopen(ctx)
	if err == nil && none {
		err = s.begin(ctx)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Error("the webhook store does not accept webhooks", "store", s.at.String(), "error", err.Error())
	}
}

// renew renews the lease of a log, or gives up the log if another process has taken the lease. If
// the server has lost the bucket, renew takes the lease in the new one. If the server confirms none
// of these, ok is false, and the lease may end.
func (s *Stream) renew(ctx context.Context, l *ownedLog) (ok bool) {
	s.mu.Lock()
	revision, bucket := l.revision, l.bucket
	s.mu.Unlock()
	for range 3 {
		sent := time.Now()
		renewed, err := s.leases.Update(ctx, l.name, s.token, revision)
		if err == nil {
			s.mu.Lock()
			if s.held[l.name] == l {
				l.bucket = bucket
				s.hold(l, renewed, sent)
			}
			s.mu.Unlock()
			return true
		}
		if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			return false
		}
		e, err := s.leases.Get(ctx, l.name)
		absent := errors.Is(err, jetstream.ErrKeyNotFound)
		switch {
		case err == nil && bytes.Equal(e.Value(), s.token):
			revision = e.Revision() // of a renewal that was not acknowledged
			continue
		case absent && revision != 0:
			created, err := s.bucketCreated(ctx)
			if err != nil {
				return false
			}
			if !created.Equal(bucket) {
				revision, bucket = 0, created // Update fails if another process has had the lease in this bucket
				continue
			}
		case err != nil && !absent:
			return false
		}
		s.giveUp(l)
		return true
	}
	return false
}

func (s *Stream) bucket(ctx context.Context) (jetstream.Stream, error) {
	return s.js.Stream(ctx, "KV_"+s.leases.Bucket())
}

// bucketCreated returns when the server created the bucket of leases.
func (s *Stream) bucketCreated(ctx context.Context) (time.Time, error) {
	bucket, err := s.bucket(ctx)
	if err != nil {
		return time.Time{}, err
	}
	return bucket.CachedInfo().Created, nil
}

// released reports whether the last holder of a log has ended its lease: the bucket then has a
// delete marker for the log. A bucket that was created again has none.
func (s *Stream) released(ctx context.Context, name string) bool {
	bucket, err := s.bucket(ctx)
	if err != nil {
		return false
	}
	last, err := bucket.GetLastMsgForSubject(ctx, "$KV."+s.leases.Bucket()+"."+name)
	return err == nil && last.Header.Get("KV-Operation") != ""
}

// giveUp forgets a log that another process has taken over, and its entries.
func (s *Stream) giveUp(l *ownedLog) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[l.name] != l {
		return
	}
	messages := 0
	for key, b := range s.batches {
		if b.log == l {
			delete(s.batches, key)
			messages++
			if b.kept && b.open != 0 {
				s.parted[key] = b.open
			}
		}
	}
	delete(s.held, l.name)
	if s.own == l {
		s.own = nil
	}
	s.measure()
	s.log.Warn("another process has taken over webhooks, since this one did not renew its lease in time", "log", l.name, "messages", messages)
}

// claim takes over a log if no process holds it.
func (s *Stream) claim(ctx context.Context, name string) {
	var sent time.Time
	e, err := s.leases.Get(ctx, name)
	var revision uint64
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		if !s.released(ctx, name) && !s.expired(name, 0) {
			return // its holder may be about to take the lease in a new bucket
		}
		sent = time.Now()
		revision, err = s.leases.Create(ctx, name, s.token)
	case err == nil && s.expired(name, e.Revision()):
		sent = time.Now()
		revision, err = s.leases.Update(ctx, name, s.token, e.Revision())
	default:
		return
	}
	if err != nil { // another process was first, or the server does not answer
		return
	}
	bucket, err := s.bucketCreated(ctx)
	if err != nil {
		return // the lease expires
	}
	l := newLog(name)
	l.bucket = bucket
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.seen, name)
	s.hold(l, revision, sent)
}

// expired reports whether a lease has had the same revision for its whole length. Sightings must be
// at most half a lease apart: while this process cannot reach the server, the holder may be unable
// to renew.
func (s *Stream) expired(name string, revision uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	at, ok := s.seen[name]
	if !ok || at.revision != revision || now.Sub(at.last) > s.at.Lease/2 {
		at = sighting{revision: revision, since: now}
	}
	at.last = now
	s.seen[name] = at
	return now.Sub(at.since) >= s.at.Lease
}

// release ends the lease of a log, so that other processes can take over the rest of it at once.
func (s *Stream) release(ctx context.Context, l *ownedLog) {
	s.mu.Lock()
	delete(s.held, l.name)
	s.measure()
	live, revision := l.live, l.revision
	s.mu.Unlock()
	if live == 0 {
		s.stream.Purge(ctx, jetstream.WithPurgeSubject(s.subject(l.name, "done"))) // leftover notes do no harm
	}
	if err := s.leases.Delete(ctx, l.name, jetstream.LastRevision(revision)); err != nil && live > 0 {
		s.log.Warn("the lease of webhooks cannot be ended: others adopt them when it expires", "log", l.name, "error", err.Error())
	}
}

// begin begins a log of this process.
func (s *Stream) begin(ctx context.Context) error {
	host, _ := os.Hostname()
	l := newLog(fmt.Sprintf("%s-%08x", notInSubjects.ReplaceAllString(host, "-"), rand.Uint32()))
	began := time.Now()
	revision, err := s.leases.Create(ctx, l.name, s.token)
	if err == nil {
		l.bucket, err = s.bucketCreated(ctx)
	}
	if err != nil {
		return fmt.Errorf("begin a log: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold(l, revision, began)
	s.own = l
	return nil
}

var notInSubjects = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
