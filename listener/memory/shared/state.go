// Package shared stores numbers that several replicas share in a NATS JetStream stream.
//
//	state, err := shared.Open(location, logger)
//	cell := shared.Cell{Key: "0f3a"}
//	err = state.Change(&cell, keep, func(v shared.Value) (shared.Value, bool) { … })
//	n := state.Numbers("orders", false).Number()
//
// Each subject of the stream has one value, which is replaced only if its revision is still the one
// that the replica knows. So if two replicas change a value at the same time, one change is made
// after the other. A call ends within Location.Timeout; the caller decides what to do without the
// servers.
package shared

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// State is an open state. Its methods may be called from any goroutine.
type State struct {
	at      Location
	log     *slog.Logger
	nc      *nats.Conn
	js      jetstream.JetStream
	stream  jetstream.Stream
	replica string    // the subject of this replica
	began   time.Time // the time that silent is relative to

	replicas atomic.Int64  // number of replicas, including this one, when last counted
	silent   atomic.Int64  // no call is made before this time
	away     atomic.Bool   // the last call failed
	local    atomic.Uint64 // see CountLocal

	numbers   sync.Map // counters, by kind and name
	localBase int64    // see localNumber
	localLast atomic.Int64

	ctx  context.Context
	stop context.CancelFunc
	loop sync.WaitGroup
}

const (
	// retryAfter is how long no call is made after a call has failed.
	retryAfter = 500 * time.Millisecond
	// presentEvery is how often a replica announces itself, and counts the other replicas. A
	// replica that has not done so for presentFor is not counted.
	presentEvery = 2 * time.Second
	presentFor   = 3 * presentEvery

	closeWithin = time.Second
)

var (
	// ErrAway is the error of calls that are not made because the servers did not answer a moment
	// ago.
	ErrAway = errors.New("the shared state does not answer")
	// ErrContended is the error of calls that, until their timeout, kept finding the value changed
	// by other replicas.
	ErrContended = errors.New("other replicas keep changing the value")
)

// Open connects to the servers, and creates the stream if it does not exist.
func Open(at Location, log *slog.Logger) (*State, error) {
	s := &State{at: at, log: log, began: time.Now(), localBase: newLocalBase(), replica: fmt.Sprintf("%s.replica.%016x", at.Stream, rand.Uint64())}
	s.ctx, s.stop = context.WithCancel(context.Background())
	var err error
	if s.nc, s.js, err = at.connect(log); err == nil {
		err = start(s.ctx, func(ctx context.Context) error {
			if s.stream, err = s.prepare(ctx); err != nil {
				return err
			}
			return s.present(ctx)
		})
		if err != nil {
			s.nc.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the shared state %s: %w", &at, err)
	}
	s.loop.Go(s.keepPresent)
	return s, nil
}

// prepare opens the stream, and creates it if it does not exist. It refuses a stream that is used
// for something else.
func (s *State) prepare(ctx context.Context) (jetstream.Stream, error) {
	stream, err := s.js.Stream(ctx, s.at.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = s.js.CreateStream(ctx, jetstream.StreamConfig{
			Name: s.at.Stream, Subjects: []string{s.at.Stream + ".value.*", s.at.Stream + ".replica.*"},
			Description: "shared state of mockserver", Storage: jetstream.FileStorage, Replicas: s.at.replicasOf(s.nc),
			MaxMsgsPerSubject: 1, AllowMsgTTL: true,
		})
	}
	if err != nil {
		return nil, fmt.Errorf("the stream %s: %w", s.at.Stream, err)
	}
	if c := stream.CachedInfo().Config; c.MaxMsgsPerSubject != 1 || !c.AllowMsgTTL || !slices.Contains(c.Subjects, s.at.Stream+".value.*") {
		return nil, fmt.Errorf("the stream %s is used for something else; expected a stream that mockserver created for its shared state", s.at.Stream)
	}
	return stream, nil
}

// present announces this replica, and counts all replicas.
func (s *State) present(ctx context.Context) error {
	if _, err := s.js.Publish(ctx, s.replica, nil, jetstream.WithMsgTTL(presentFor)); err != nil {
		return err
	}
	info, err := s.stream.Info(ctx, jetstream.WithSubjectFilter(s.at.Stream+".replica.*"))
	if err != nil {
		return err
	}
	s.replicas.Store(int64(max(len(info.State.Subjects), 1)))
	return nil
}

// keepPresent keeps announcing the replica until the state is closed, and creates the stream again if it
// is gone.
func (s *State) keepPresent() {
	ticker := time.NewTicker(presentEvery)
	defer ticker.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-ticker.C:
		}
		if !s.nc.IsConnected() {
			continue
		}
		ctx, cancel := context.WithTimeout(s.ctx, presentEvery)
		if err := s.present(ctx); err != nil { // callers notice the failure themselves
			_, _ = s.prepare(ctx)
		}
		cancel()
	}
}

// Replicas returns how many replicas there were when they were last counted, including this one. It
// returns 0 for a nil State.
func (s *State) Replicas() int64 {
	if s == nil {
		return 0
	}
	return s.replicas.Load()
}

// CountLocal counts a decision that was made without the servers.
func (s *State) CountLocal() { s.local.Add(1) }

// Local returns how many decisions were made without the servers. It returns 0 for a nil State.
func (s *State) Local() uint64 {
	if s == nil {
		return 0
	}
	return s.local.Load()
}

// Value is the value of a subject. The caller defines the meaning of its numbers; all are 0 before
// the first change.
type Value [3]int64

// Cell is a value as this process knows it. Only one goroutine at a time may use it.
type Cell struct {
	Key      string // letters and digits
	Value    Value  // the value at the end of the last successful call of Change
	revision uint64 // revision of Value; 0 if none
	known    bool
}

// Change replaces a value with the result of change, which gets the current value and may be called
// several times. If change returns false, the value stays as it is. The value is forgotten if it is
// not changed for the duration keep, which must be at least a second; 0 means that it is never
// forgotten. After an error, the value may or may not have been changed.
func (s *State) Change(c *Cell, keep time.Duration, change func(Value) (next Value, ok bool)) error {
	if !s.nc.IsConnected() || int64(time.Since(s.began)) < s.silent.Load() {
		return ErrAway
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.at.Timeout)
	defer cancel()
	err := s.change(ctx, c, keep, change)
	switch {
	case errors.Is(err, ErrContended): // the servers do answer
		c.known = false
	case err != nil:
		c.known = false
		s.silent.Store(int64(time.Since(s.began) + retryAfter))
		if s.away.CompareAndSwap(false, true) && s.ctx.Err() == nil {
			s.log.Warn("the shared state does not answer in time", "store", s.at.String(), "error", err.Error())
		}
	case s.away.CompareAndSwap(true, false):
		s.log.Info("the shared state answers again", "store", s.at.String())
	}
	return err
}

// change does the work of Change. It begins with the known value, and reads the value again if it
// has changed.
func (s *State) change(ctx context.Context, c *Cell, keep time.Duration, change func(Value) (Value, bool)) error {
	read, conflicts := false, 0
	for {
		if conflicts > 1 { // so that replicas do not stay in step
			time.Sleep(rand.N(time.Millisecond))
		}
		if !c.known {
			if err := s.read(ctx, c); err != nil {
				return contended(err, conflicts)
			}
			read = true
		}
		next, ok := change(c.Value)
		switch {
		case ok:
			err := s.write(ctx, c, next, keep)
			if !isConflict(err) {
				return contended(err, conflicts)
			}
			conflicts++
		case read:
			return nil
		}
		c.known = false
	}
}

// contended returns the error of a call after conflicts.
func contended(err error, conflicts int) error {
	if conflicts > 0 && errors.Is(err, context.DeadlineExceeded) {
		return ErrContended
	}
	return err
}

func (s *State) subject(c *Cell) string { return s.at.Stream + ".value." + c.Key }

func (s *State) read(ctx context.Context, c *Cell) error {
	m, err := s.stream.GetLastMsgForSubject(ctx, s.subject(c))
	c.Value, c.revision = Value{}, 0
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
	case err != nil:
		return err
	case len(m.Data) != binary.Size(c.Value):
		return fmt.Errorf("the value of %s has %d bytes; expected %d", m.Subject, len(m.Data), binary.Size(c.Value))
	default:
		c.revision = m.Sequence
		for i := range c.Value {
			c.Value[i] = int64(binary.BigEndian.Uint64(m.Data[8*i:]))
		}
	}
	c.known = true
	return nil
}

func (s *State) write(ctx context.Context, c *Cell, next Value, keep time.Duration) error {
	var data []byte
	for _, number := range next {
		data = binary.BigEndian.AppendUint64(data, uint64(number))
	}
	opts := []jetstream.PublishOpt{jetstream.WithExpectLastSequencePerSubject(c.revision), jetstream.WithRetryAttempts(0)}
	if keep > 0 {
		opts = append(opts, jetstream.WithMsgTTL(keep.Round(time.Second)))
	}
	ack, err := s.js.Publish(ctx, s.subject(c), data, opts...)
	if err == nil {
		c.Value, c.revision = next, ack.Sequence
	}
	return err
}

// isConflict reports whether err means that the value differed from the one that the caller knew.
func isConflict(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) &&
		(api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// Close makes the other replicas stop counting this one, and closes the connection. It may be
// called on a nil State.
func (s *State) Close() {
	if s == nil {
		return
	}
	s.stop()
	s.loop.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	if s.nc.IsConnected() {
		_ = s.stream.Purge(ctx, jetstream.WithPurgeSubject(s.replica)) // if this fails, the subject expires
	}
	s.nc.Close()
}

// localNumbers is the first of the numbers that are returned without the servers. JSON readers
// represent integers of up to twice that value exactly.
const localNumbers = 1 << 52

// localNumber returns a number without asking the servers.
func (s *State) localNumber() int64 { return s.localBase + int64(uint32(s.localLast.Add(1))) }

func newLocalBase() int64 { return localNumbers + rand.Int64N(1<<20)<<32 }
