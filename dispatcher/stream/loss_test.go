package stream

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"mockserver/dispatcher/outbox"
)

// batchOf stores n entries in one message, and returns their IDs.
func batchOf(t *testing.T, s *Stream, n int) (ids []uint64) {
	t.Helper()
	var requests []*request
	for range n {
		requests = append(requests, &request{entry: &outbox.Entry{Due: time.Now(), Webhook: []byte("w")}})
	}
	if err := s.append(requests); err != nil {
		t.Fatal(err)
	}
	for i, r := range requests {
		r.entry.Parts = fmt.Append(nil, i)
		ids = append(ids, r.entry.ID)
	}
	return ids
}

// ids returns the IDs of the collected entries, in ascending order.
func (c *taken) ids() (all []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ids := range c.entries {
		all = append(all, ids...)
	}
	slices.Sort(all)
	return all
}

func (s *Stream) ownLog() *ownedLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.own
}

// messages returns the number of messages in the stream; -1 if it is unknown.
func (s *Stream) messages(t *testing.T) int {
	t.Helper()
	info, err := s.stream.Info(t.Context())
	if err != nil {
		return -1
	}
	return int(info.State.Msgs)
}

// A log whose lease another process has taken is given up, and a new one is begun. If the log
// returns to the first process, entries that it still knows are not passed again, so that each is
// sent once.
func TestStream_GivesUpWhatAnotherHas(t *testing.T) {
	t.Parallel()
	s := opened(t, location(t, ""))
	var got taken
	s.Recover(got.take)
	ids := batchOf(t, s, 2)
	lost := s.ownLog()
	if _, err := s.leases.Put(t.Context(), lost.name, []byte("another")); err != nil {
		t.Fatal(err)
	}
	until(t, "it has a new log", func() bool { own := s.ownLog(); return own != nil && own != lost })
	if s.Holds(ids[0]) || !s.Holds(batchOf(t, s, 1)[0]) { // the first call makes it forget the entry
		t.Error("it holds the log of another process, or does not hold its own")
	}
	if err := s.leases.Delete(t.Context(), lost.name); err != nil {
		t.Fatal(err)
	}
	until(t, "the log is back", func() bool { return len(got.ids()) > 0 })
	if all := got.ids(); !slices.Equal(all, ids[:1]) || !s.Holds(ids[0]) || !s.Holds(ids[1]) {
		t.Errorf("%x were passed, want only %x, which was forgotten; both must be held", all, ids[0])
	}
}

// A lost stream and a lost bucket are created again, and an entry of the old stream that finishes
// afterwards does not delete a message with the same number in the new stream.
func TestStream_OutlivesItsStreamAndItsBucket(t *testing.T) {
	t.Parallel()
	s := opened(t, location(t, ""))
	s.Recover(func([]outbox.Entry) { t.Error("there is nothing to recover") })
	before := batchOf(t, s, 1)[0]
	if err := s.js.DeleteStream(t.Context(), s.at.Stream); err != nil {
		t.Fatal(err)
	}
	store := func() bool { return s.Store(&outbox.Entry{Due: time.Now(), Webhook: []byte("w")}) == nil }
	until(t, "it stores again", store)
	if !s.Holds(before) {
		t.Error("it has forgotten the entries in its memory")
	}
	s.Done(before)
	until(t, "the finished entry is deleted", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.batches) == 1
	})
	if n := s.messages(t); n != 1 {
		t.Errorf("the new stream has %d messages, want 1", n)
	}
	own, kept := s.ownLog(), batchOf(t, s, 1)[0]
	for _, both := range []bool{false, true} {
		if both {
			if err := s.js.DeleteStream(t.Context(), s.at.Stream); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.js.DeleteKeyValue(t.Context(), s.leases.Bucket()); err != nil {
			t.Fatal(err)
		}
		until(t, "it takes its lease in a new bucket", func() bool {
			e, err := s.leases.Get(t.Context(), own.name)
			return err == nil && bytes.Equal(e.Value(), s.token)
		})
		until(t, "it may begin attempts", s.MayBegin)
		until(t, "it stores again", store)
		if s.ownLog() != own || !s.Holds(kept) {
			t.Errorf("both lost %v: it has given up its log", both)
		}
	}
}

// A process that still runs is not taken over because the bucket was lost.
func TestStream_IsNotTakenOverAfterTheLossOfTheBucket(t *testing.T) {
	t.Parallel()
	at := location(t, "")
	s, other := opened(t, at), opened(t, at)
	kept := batchOf(t, s, 1)[0]
	other.Recover(func(all []outbox.Entry) { t.Errorf("%d entries of a process that runs were adopted", len(all)) })
	if err := s.js.DeleteKeyValue(t.Context(), s.leases.Bucket()); err != nil {
		t.Fatal(err)
	}
	until(t, "both take their leases in a new bucket", func() bool {
		for _, one := range []*Stream{s, other} {
			if e, err := s.leases.Get(t.Context(), one.ownLog().name); err != nil || !bytes.Equal(e.Value(), one.token) {
				return false
			}
		}
		return true
	})
	if !s.Holds(kept) {
		t.Error("it has given up its log")
	}
}

// A message that was deleted by another client counts as deleted, wherever its sequence is.
func TestStream_DeletesWhatIsGone(t *testing.T) {
	t.Parallel()
	s := opened(t, location(t, ""))
	first, last := batchOf(t, s, 1)[0], batchOf(t, s, 1)[0]
	middle := batchOf(t, s, 1)[0]
	for seq := uint64(1); seq <= 2; seq++ {
		if err := s.stream.DeleteMsg(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	s.Done(first)
	s.Done(last)
	empty := func(n int) func() bool {
		return func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(s.batches) == n
		}
	}
	until(t, "the messages before the first are deleted", empty(1))
	if err := s.stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Done(middle)
	until(t, "a message of an empty stream is deleted", empty(0))
}

// handOver makes a store crash and another one take over its log with n open entries, which it
// returns.
func handOver(t *testing.T, from, to *Stream, log string, n int) *taken {
	t.Helper()
	from.crash()
	if err := to.leases.Delete(t.Context(), log); err != nil {
		t.Fatal(err)
	}
	got := new(taken)
	to.Recover(got.take)
	until(t, "the log is adopted", func() bool { return len(got.ids()) >= n })
	return got
}

// A message of notes that replaces all others includes the notes of former holders.
func TestStream_KeepsNotesOfFormerHolders(t *testing.T) {
	t.Parallel()
	at := location(t, "")
	first, second, third := opened(t, at), opened(t, at), opened(t, at)
	one, two := batchOf(t, first, 2), batchOf(t, first, 2)
	log := first.ownLog().name
	first.Done(one[0])
	first.flush(t.Context())
	handOver(t, first, second, log, 3)
	second.mu.Lock()
	second.held[log].notes = manyNotes
	second.mu.Unlock()
	second.Done(two[0])
	second.flush(t.Context())
	got := handOver(t, second, third, log, 2)
	if want := []uint64{one[1], two[1]}; !slices.Equal(got.ids(), want) {
		t.Errorf("adopted are %x, want %x", got.ids(), want)
	}
}

// Finished entries are noted even if their messages are not deleted yet: at once if there are many,
// otherwise by the second note. After all deletions nothing is left.
func TestStream_NotesWhatIsNotDeletedYet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ batches, notes int }{{deleters + 1, 1}, {1, 2}} {
		at := location(t, "")
		first, second := opened(t, at), opened(t, at)
		var done []uint64
		for range c.batches {
			done = append(done, batchOf(t, first, 1)...)
		}
		left := batchOf(t, first, 2) // the last message, since earlier ones are read first
		log := first.ownLog()
		note := func() {
			first.mu.Lock()
			log.until = time.Time{} // only this test notes or deletes anything
			first.mu.Unlock()
			first.note(t.Context(), log, false)
		}
		for _, id := range done {
			first.Done(id)
		}
		for range c.notes {
			note()
		}
		first.mu.Lock()
		log.notes = manyNotes
		first.mu.Unlock()
		first.Done(left[0])
		note() // this message replaces all others
		got := handOver(t, first, second, log.name, 1)
		if want := left[1:]; !slices.Equal(got.ids(), want) {
			t.Errorf("%d batches: %x are adopted, want %x", c.batches, got.ids(), want)
		}
	}
}

// Nothing is kept about a batch that was noted and then deleted.
func TestStream_ForgetsWhatIsDeleted(t *testing.T) {
	t.Parallel()
	s := opened(t, location(t, ""))
	ids := batchOf(t, s, 2)
	l := s.ownLog()
	kept := func() (live, noted int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return l.live, len(l.finished) + len(l.changed) + len(l.partial) + l.deleting
	}
	s.Done(ids[0])
	until(t, "one entry is recorded as done", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(l.partial) == 1 && len(l.changed) == 0 })
	s.Done(ids[1])
	until(t, "nothing is kept", func() bool { live, noted := kept(); return live+noted == 0 })
}

// If a process has left notes but no messages with entries, the notes are deleted.
func TestStream_DeletesNotesThatAreLeft(t *testing.T) {
	t.Parallel()
	s := opened(t, location(t, ""))
	if _, err := s.js.Publish(t.Context(), s.subject("crashed", "done"), appendNotes(nil, []note{{1, 2}})); err != nil {
		t.Fatal(err)
	}
	if _, err := s.leases.PutString(t.Context(), "crashed", "x"); err != nil {
		t.Fatal(err)
	}
	if err := s.leases.Delete(t.Context(), "crashed"); err != nil { // so that nobody waits for the end of the lease
		t.Fatal(err)
	}
	s.Recover(func([]outbox.Entry) { t.Error("there is nothing to recover") })
	until(t, "the stream is empty, and nothing is held", func() bool { return s.messages(t) == 0 && len(s.holding()) == 1 })
}

// A lease counts as expired only if it was observed without interruption: after an outage of the
// server, its holder may be about to renew it.
func TestStream_TrustsNoOldSighting(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := &Stream{at: Location{Lease: time.Hour}, seen: map[string]sighting{"away": {1, now.Add(-2 * time.Hour), now.Add(-time.Hour)}, "seen": {1, now.Add(-2 * time.Hour), now}}}
	if s.expired("away", 1) || !s.expired("seen", 1) || s.expired("seen", 2) {
		t.Error("a lease that was not seen for an hour or was renewed counts as expired, or no lease does")
	}
}
