// Package stream stores pending deliveries in a stream of NATS JetStream, so that they outlive a
// process and its disk: other processes adopt them.
//
//	store, err := stream.Open(location, logger)
//	store.Recover(take) // passes entries left by other processes to take, now and later
//	err = store.Store(&entry) // returns when the stream has stored it
//	store.Done(entry.ID)      // it is no longer pending
//
// Each process appends to its own log, and holds it with a lease in a key-value bucket. A process
// that notices that a lease is not renewed takes over the log. The stream is only the log: the
// process that holds deliveries knows when they are due.
//
// The only packages of the module that this package imports are dispatcher/outbox and
// internal/natsclient.
package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"mockserver/dispatcher/outbox"
)

// Stream is an open store. Its methods may be called from any goroutine.
type Stream struct {
	at     Location
	log    *slog.Logger
	nc     *nats.Conn
	js     jetstream.JetStream
	stream jetstream.Stream
	leases jetstream.KeyValue
	began  time.Time // start of the clock of until
	token  []byte    // identifies this process in leases
	take   func([]outbox.Entry)

	until atomic.Int64 // attempts may begin before this time, on the clock
	lost  atomic.Int64 // number of messages that could not be read

	mu      sync.Mutex // guards the fields below, and those of the logs and batches
	more    *sync.Cond // signals that there is something to append, or that the store is closed
	waiting []*request
	closed  bool
	key     uint64            // key of the next batch
	batches map[uint64]*batch // by their keys, until they are deleted
	held    map[string]*ownedLog
	own     *ownedLog         // the log to append to; nil while there is none
	parted  map[uint64]uint64 // entries of abandoned logs that the caller still has, by keys of batches
	seen    map[string]sighting
	created time.Time // creation time of the stream: a different time means a different stream

	publishing sync.WaitGroup
	loops      sync.WaitGroup
	stop       context.CancelFunc
	ctx        context.Context
}

// ownedLog is a log that this process holds.
type ownedLog struct {
	name     string
	revision uint64    // of its lease
	bucket   time.Time // when the bucket of its lease was created
	until    time.Time // attempts may begin before this time
	live     int       // number of batches that are not deleted
	finished []*batch  // to be deleted
	deleting int       // how many are being deleted
	changed  map[*batch]struct{}
	partial  map[*batch]struct{} // batches with notes
	notes    int                 // messages of notes since the last one that replaced all others

	acked    uint64 // the largest sequence of a batch that was acknowledged
	doubtful bool   // the stream may contain a message that was not acknowledged
	doubted  bool   // there was such a message, which may still arrive
	doubt    uint64 // the message would have a higher sequence than this
	surplus  int    // number of successive looks at which the stream had more messages than expected

	read uint64            // sequence up to which an adopted log was read
	open map[uint64]uint64 // notes of the former owner; nil before they are read
}

// request is an entry to be stored.
type request struct {
	entry  *outbox.Entry
	since  time.Time
	stored chan error // buffers one result, so that sending it does not block
}

// batch is one message of up to 64 entries, whose IDs consist of the key of the batch and the
// number of the entry.
type batch struct {
	log  *ownedLog
	key  uint64
	seq  uint64 // 0 if unknown
	open uint64 // entries that are not done, one bit for each
	kept bool   // it was acknowledged or adopted
	// passed means that the finished batch was left out of one message of notes; see note.
	passed bool
}

// sighting is the revision of another process's lease, and when it was first and last seen.
type sighting struct {
	revision    uint64
	since, last time.Time
}

// ErrAway is returned by Store if the server is not connected or does not answer in time, or if no
// lease allows storing.
var ErrAway = errors.New("the webhook store does not answer")

const (
	// reopenWithin is how long it may take to create the stream again.
	reopenWithin = 10 * time.Second
	// forgetLeases is how long the server keeps leases that are not renewed.
	forgetLeases = time.Hour
	// headroom is an upper bound on the size of a message without its entries or notes, in bytes:
	// its headers and counts.
	headroom = 1 << 10
)

// prepare opens the stream and the bucket of leases, and creates those that do not exist.
func (s *Stream) prepare(ctx context.Context) (stream jetstream.Stream, leases jetstream.KeyValue, err error) {
	replicas := s.at.ReplicasOf(s.nc)
	if stream, err = s.js.Stream(ctx, s.at.Stream); errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = s.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: s.at.Stream, Subjects: []string{s.at.Stream + ".*.log", s.at.Stream + ".*.done"},
			Description: "pending webhooks of mockserver", Storage: jetstream.FileStorage, Replicas: replicas,
			Discard: jetstream.DiscardNew, AllowRollup: true,
		})
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the stream %s: %w", s.at.Stream, err)
	}
	bucket := s.at.Stream + "_leases"
	if leases, err = s.js.KeyValue(ctx, bucket); errors.Is(err, jetstream.ErrBucketNotFound) {
		leases, err = s.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: bucket, Description: "who holds which log of " + s.at.Stream, Replicas: replicas, TTL: forgetLeases,
		})
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the bucket %s: %w", bucket, err)
	}
	return stream, leases, nil
}

// reopen creates the stream or the bucket of leases if the server has lost them.
func (s *Stream) reopen(ctx context.Context) error {
	stream, _, err := s.prepare(ctx)
	if err == nil {
		s.compare(stream.CachedInfo().Created)
	}
	return err
}

// compare forgets sequences if the stream was created again: in the new stream they are the numbers
// of other messages, perhaps of another process. The new stream is then read again.
func (s *Stream) compare(created time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if created.Equal(s.created) {
		return
	}
	s.created = created
	for _, b := range s.batches {
		b.seq = 0
	}
	for _, l := range s.held {
		l.acked, l.read, l.open = 0, 0, nil
		l.doubtful, l.doubt = true, 0 // so that sweep finds the sequences in the new stream
	}
	s.log.Error("the webhook store has lost its stream and has a new one: the webhooks of this process are only in its memory",
		"store", s.at.String(), "messages", len(s.batches))
}

func newLog(name string) *ownedLog {
	return &ownedLog{name: name, changed: map[*batch]struct{}{}, partial: map[*batch]struct{}{}}
}

func (s *Stream) subject(log, kind string) string { return s.at.Stream + "." + log + "." + kind }

// atMost returns the given size, or the size of the largest message that the server accepts if that
// is smaller.
func (s *Stream) atMost(size int) int {
	if most := int(s.nc.MaxPayload()); most > 0 {
		return min(size, max(most-headroom, headroom))
	}
	return size
}

// MayBegin reports whether attempts may begin now, that is, whether no lease is about to expire.
func (s *Stream) MayBegin() bool { return int64(time.Since(s.began)) < s.until.Load() }

// Holds reports whether an entry is in a log that this process holds, and is not done. If not, the
// caller must forget the entry: if this process gets the log back, Recover passes the entry again.
func (s *Stream) Holds(id uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.batches[id>>batchBits]; b != nil && b.open&bit(id) != 0 {
		return true
	}
	s.part(id)
	return false
}

// part records that the caller has forgotten an entry of a log that was given up. The lock must be
// held.
func (s *Stream) part(id uint64) {
	key := id >> batchBits
	if open, ok := s.parted[key]; ok {
		if s.parted[key] = open &^ bit(id); s.parted[key] == 0 {
			delete(s.parted, key)
		}
	}
}

// bit returns the bit of an entry in its batch.
func bit(id uint64) uint64 { return 1 << (id % batchSize) }

// Lost returns how many messages could not be read.
func (s *Stream) Lost() int64 { return s.lost.Load() }
