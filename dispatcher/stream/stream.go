// Package stream stores pending deliveries in a stream of NATS JetStream, so that they outlive a
// process and its disk: other processes adopt them.
//
//	store, err := stream.Open(location, logger)
//	store.Recover(take)       // what other processes leave comes to take, then and later
//	err = store.Store(&entry) // returns when the stream has it
//	store.Done(entry.ID)      // it is no longer pending
//
// Each process appends to a log of its own, and holds it by a lease in a key-value bucket. Whoever
// sees a lease that is not renewed takes over the log. The stream is the log only: when deliveries
// are due is known to the process that has them.
//
// Of the module it imports only dispatcher/outbox and internal/natsclient.
package stream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"mockserver/dispatcher/outbox"
	"mockserver/internal/natsclient"
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
	token  []byte    // names this process in leases
	take   func([]outbox.Entry)

	until atomic.Int64 // attempts may begin before, on the clock
	lost  atomic.Int64 // messages that cannot be read

	mu      sync.Mutex // guards the fields below, and those of the logs and batches
	more    *sync.Cond // there is something to append, or the store is closed
	waiting []*request
	closed  bool
	key     uint64            // key of the next batch
	batches map[uint64]*batch // by their keys, until they are deleted
	held    map[string]*ownedLog
	own     *ownedLog         // the one to append to; nil while there is none
	parted  map[uint64]uint64 // open entries of logs that were given up, which Recover's take still has, by keys of batches
	seen    map[string]sighting
	created time.Time // of the stream: when it is another, it is another stream

	publishing sync.WaitGroup
	loops      sync.WaitGroup
	stop       context.CancelFunc
	ctx        context.Context
}

// ownedLog is a log that this process holds.
type ownedLog struct {
	name     string
	revision uint64    // of its lease
	until    time.Time // attempts may begin before
	live     int       // number of batches that are not deleted
	finished []*batch  // to be deleted
	deleting int       // how many are being deleted
	changed  map[*batch]struct{}
	partial  map[*batch]struct{} // those with notes
	notes    int                 // messages of notes since the last that replaced all others

	acked    uint64 // the largest sequence of a batch that was acknowledged
	doubtful bool   // a message may be in the stream that was not acknowledged
	doubted  bool   // there was such a message, which may still arrive
	doubt    uint64 // it is after this sequence
	surplus  int    // for how many looks the stream had more messages than are known

	read uint64            // sequence up to which it was read, if it is adopted
	open map[uint64]uint64 // notes of its former owner; nil before they are read
}

// batch is one message of entries. Its lowest 64 IDs are those of its entries.
type batch struct {
	log  *ownedLog
	key  uint64
	seq  uint64 // 0 if it is not known
	open uint64 // entries that are not done
	kept bool   // it was acknowledged, or adopted
	// passed means that a note has left it out, although it is done.
	passed bool
}

// sighting is the revision of another process's lease, and when it was first and last seen.
type sighting struct {
	revision    uint64
	since, last time.Time
}

// publishers is how many messages are on their way at a time. What is stored meanwhile gathers to
// the next ones.
const publishers = 4

// ErrAway is the error of Store while the server does not answer, or did not in time.
var ErrAway = errors.New("the webhook store does not answer")

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
		s.log.Warn("the webhook store has less than three replicas: unless its server has sync_interval: always, the crash of its machine loses webhooks",
			"store", s.at.String())
	}
	return nil
}

// reopenWithin is how long it may take to create the stream anew.
const reopenWithin = 10 * time.Second

// prepare opens the stream and the bucket of leases, and creates those that do not exist.
func (s *Stream) prepare(ctx context.Context) (stream jetstream.Stream, leases jetstream.KeyValue, err error) {
	replicas := natsclient.ReplicasOf(s.nc, s.at.Replicas)
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

// compare forgets sequences when the stream is not the one that they are of: its numbers are those
// of other messages, which may be another process's. What is in the new stream is read again.
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
		l.doubtful, l.doubt = true, 0 // so that sweep finds the sequences of the new one
	}
	s.log.Error("the webhook store has lost its stream and has a new one: the webhooks that this process has are in its memory alone",
		"store", s.at.String(), "messages", len(s.batches))
}

var notInSubjects = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// begin begins a log of this process.
func (s *Stream) begin(ctx context.Context) error {
	host, _ := os.Hostname()
	l := &ownedLog{name: fmt.Sprintf("%s-%08x", notInSubjects.ReplaceAllString(host, "-"), rand.Uint32())}
	l.clear()
	began := time.Now()
	revision, err := s.leases.Create(ctx, l.name, s.token)
	if err != nil {
		return fmt.Errorf("begin a log: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold(l, revision, began)
	s.own = l
	return nil
}

// clear prepares the maps of a log.
func (l *ownedLog) clear() {
	l.changed, l.partial = map[*batch]struct{}{}, map[*batch]struct{}{}
}

func (s *Stream) subject(log, kind string) string { return s.at.Stream + "." + log + "." + kind }

// every calls do until the store is closed.
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

// Recover has the deliveries of processes that have ended come to take, each time some are found.
func (s *Stream) Recover(take func([]outbox.Entry)) {
	s.take = take
	s.loops.Go(func() { s.every(s.at.Lease/(2*leaseParts), s.look) })
}

// MayBegin reports whether attempts may begin now: no lease is about to end.
func (s *Stream) MayBegin() bool { return int64(time.Since(s.began)) < s.until.Load() }

// Holds reports whether an entry is in a log that this process holds, and is not done. If not, the
// caller has to forget the entry: should the log come back, Recover passes it again.
func (s *Stream) Holds(id uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.batches[id>>batchBits]; b != nil && b.open&bit(id) != 0 {
		return true
	}
	s.part(id)
	return false
}

// part notes that an entry of a log that was given up is forgotten. The caller holds the lock.
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

// closeWithin is how long Close waits for the server.
const closeWithin = 3 * time.Second

// Close records what is done, and releases the logs, so that other processes adopt what is left.
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
		s.log.Warn("the webhook store is away: others adopt the webhooks once it is back and the lease has ended", "store", s.at.String())
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	s.eachHeld(func(l *ownedLog) { s.note(ctx, l, true) })
	deleting, end := context.WithTimeout(ctx, closeWithin/2) // what is left is for the releases
	defer end()
	s.deleteDone(deleting)
	for _, l := range s.holding() {
		s.release(ctx, l)
	}
	return nil
}
