package recording

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/fetcher/upstream"
	"mockserver/matcher"
)

// newSet returns a set whose upstreams are used by endpoints, and the tap of each.
func newSet(t *testing.T, upstreams ...string) (*Set, []*Tap) {
	t.Helper()
	s := NewSet(slog.New(slog.DiscardHandler), func(string) (string, bool) { return "", false })
	t.Cleanup(s.Close)
	return s, use(s, upstreams...)
}

// use does what compiling endpoints that use the upstreams does, and returns the tap of each
// upstream.
func use(s *Set, upstreams ...string) (taps []*Tap) {
	s.Begin()
	for _, name := range upstreams {
		taps = append(taps, s.Tap(name))
	}
	return taps
}

// declared returns the upstreams with the given names and directories of their recordings; "" for
// no recording.
func declared(to ...string) (all []item.Upstream) {
	for pair := range len(to) / 2 {
		u := item.Upstream{Name: to[2*pair], URL: syntax.Text{Value: "http://a"}}
		if dir := to[2*pair+1]; dir != "" {
			u.Record = &item.Record{To: dir}
		}
		all = append(all, u)
	}
	return all
}

// mustFollow calls Follow and fails the test if Follow returns an error.
func mustFollow(t *testing.T, s *Set, upstreams []item.Upstream) {
	t.Helper()
	if err := s.Follow(upstreams); err != nil {
		t.Fatal(err)
	}
}

// filesIn returns the names of the files of recordings in a directory.
func filesIn(t *testing.T, dir string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil {
		t.Fatal(err)
	}
	for i := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(paths[i]), suffix)
	}
	return strings.Join(paths, " ")
}

// If one recording cannot begin, the others stay as they were, even those that are declared
// differently in the same directory, and nothing is left of those that could have begun.
func TestSet_ARefusedChangeChangesNothing(t *testing.T) {
	dir := t.TempDir()
	s, taps := newSet(t, "one", "two", "three", "four")
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(in("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mustFollow(t, s, declared("one", in("a"), "two", "", "three", "", "four", in("d")))
	before := []*Recorder{taps[0].Recorder(), nil, nil, taps[3].Recorder()}
	changed := declared("one", in("a"), "two", in("file"), "three", in("c"), "four", in("file"))
	changed[0].Record.Bodies = 1
	err := s.Follow(changed)
	var problems syntax.Problems
	if !errors.As(err, &problems) || len(problems) != 2 {
		t.Errorf("got %v, want the problems of two and four", err)
	}
	for i, tap := range taps {
		if tap.Recorder() != before[i] {
			t.Errorf("the recording of upstream %d has changed", i+1)
		}
	}
	record(before[0], "/", "")
	s.Close()
	if n, _ := linesIn(t, filepath.Join(in("a"), "one-0001"+suffix)); n != 1 {
		t.Errorf("%d exchanges were recorded, want 1", n)
	}
	if got := filesIn(t, in("a")) + ", " + filesIn(t, in("c")) + ", " + filesIn(t, in("d")); got != "one-0001, , four-0001" {
		t.Errorf("the files are %s", got)
	}
}

// While recordings change, every exchange is recorded or counted as dropped, including one that
// began before a change, and recorded answers are served.
func TestSet_AChangeLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, taps := newSet(t, "one")
	one := declared("one", filepath.Join(dir, "a"))
	one[0].Record.Mode = item.RecordMissing
	mustFollow(t, s, one)
	tap := taps[0]
	record(tap.Recorder(), "/first", "answer")
	settled(tap.Recorder(), 1)
	exchanges := 1
	const changes, clients = 8, 2
	over := make(chan struct{})
	var counts sync.Map
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			n := 0
			for ; ; n++ {
				select {
				case <-over:
					counts.Store(client, n)
					return
				default:
				}
				served(t, tap, "/first")
				record(tap.Recorder(), fmt.Sprintf("/%d/%d", client, n), "x")
				runtime.Gosched() // so that the queue does not get full
			}
		})
	}
	for i := range changes {
		old := tap.Recorder()
		q := matcher.Acquire(matcher.Input{Method: []byte("GET"), Target: fmt.Appendf(nil, "/during/%d", i), Header: matcher.Header("\r\n")})
		e := old.Begin(q, 1)
		same := filepath.Join(dir, "a")
		if i%2 == 1 {
			same += "/../a"
		}
		one = declared("one", same)
		one[0].Record.Mode, one[0].Record.Bodies = item.RecordMissing, 1000+i
		mustFollow(t, s, one)
		if tap.Recorder() == old {
			t.Fatal("the recording has not changed")
		}
		if e != nil { // otherwise it is counted as dropped
			e.Response(200, []upstream.Field{})
			old.End(e)
		}
		matcher.Release(q)
		exchanges++
	}
	close(over)
	wg.Wait()
	counts.Range(func(_, n any) bool {
		exchanges += n.(int)
		return true
	})
	s.Close()
	all, lines := s.List(), 0
	for i := range all {
		if len(all[i].Paths) != 1 {
			t.Errorf("the files are %q", all[i].Paths)
		}
	}
	for i := range changes + 1 {
		n, broken := linesIn(t, filepath.Join(dir, "a", fmt.Sprintf("one-%04d%s", i+1, suffix)))
		if lines += n; broken != nil {
			t.Error(broken)
		}
	}
	if lines+int(s.Dropped()) != exchanges {
		t.Errorf("%d of %d exchanges are in the files, and %d were dropped", lines, exchanges, s.Dropped())
	}
}

// found returns the recorded answer to a request; nil if there is none.
func found(r *Recorder, q *matcher.Request) *Served {
	var capture Capture
	defer capture.End(new(upstream.Exchange), CodeLeft, 0)
	s, _, _ := capture.Begin(r, q, 1, nil, time.Time{})
	return s
}

// served fails the test unless a recorded answer is served.
func served(t *testing.T, tap *Tap, path string) {
	q := matcher.Acquire(matcher.Input{Method: []byte("GET"), Target: []byte(path), Header: matcher.Header("\r\n")})
	defer matcher.Release(q)
	if r := tap.Recorder(); r == nil || found(r, q) == nil {
		t.Errorf("the recorded answer is not served")
	}
}

// Only a change of what is recorded, or of where it comes from, begins another recording. A
// recording that was stopped stays stopped until then.
func TestSet_WhatADeclarationBegins(t *testing.T) {
	dir := t.TempDir()
	s, taps := newSet(t, "one")
	tap, one := taps[0], declared("one", dir)
	mustFollow(t, s, one)
	first := tap.Recorder()
	one[0].Timeout, one[0].Connections = 1, 1
	mustFollow(t, s, one)
	if tap.Recorder() != first {
		t.Error("another timeout has begun another recording")
	}
	one[0].URL = syntax.Text{Value: "http://b"}
	mustFollow(t, s, one)
	if tap.Recorder() == first {
		t.Error("the recording of another URL has not begun")
	}
	if _, err := s.Stop(tap.Recorder().opts.ID); err != nil {
		t.Fatal(err)
	}
	mustFollow(t, s, one)
	if tap.Recorder() != nil {
		t.Error("a reload has begun the recording that was stopped")
	}
	one[0].Record.Sample = 2
	mustFollow(t, s, one)
	if tap.Recorder() == nil {
		t.Error("the changed declaration was not followed")
	}
	s.Begin() // no endpoint uses the upstream
	mustFollow(t, s, one)
	if _, err := s.Start("one", item.Record{To: dir}); tap.Recorder() != nil || !errors.Is(err, ErrNoUpstream) {
		t.Errorf("an upstream that nothing uses is recorded, %v", err)
	}
	use(s, "one")
	mustFollow(t, s, declared("one", ""))
	started, err := s.Start("one", item.Record{To: dir})
	if err != nil {
		t.Fatal(err)
	}
	mustFollow(t, s, one)
	if r := tap.Recorder(); r == nil || r.opts.ID != started.ID {
		t.Error("a reload has ended the recording that a request started")
	}
	mustFollow(t, s, nil)
	if tap.Recorder() != nil {
		t.Error("an upstream that is not declared is recorded")
	}
}

// Files of an upstream whose name begins with that of another are not its files.
func TestSet_NamesThatBeginAlike(t *testing.T) {
	dir := t.TempDir()
	s, taps := newSet(t, "api", "api-v2")
	all := declared("api-v2", dir)
	mustFollow(t, s, all)
	record(taps[1].Recorder(), "/first", "of v2")
	all = declared("api-v2", dir, "api", dir)
	all[1].Record.Mode = item.RecordMissing
	mustFollow(t, s, all)
	q := matcher.Acquire(matcher.Input{Method: []byte("GET"), Target: []byte("/first"), Header: matcher.Header("\r\n")})
	defer matcher.Release(q)
	if found(taps[0].Recorder(), q) != nil {
		t.Error("the answer of another upstream is served")
	}
	if got := filesIn(t, dir); got != "api-0001 api-v2-0001" {
		t.Error(got)
	}
}

// If the disk is full when the next file should begin, that file is begun later, with its head.
func TestRecorder_FullDiskBetweenFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	full := true
	r := opened(t, dir, item.Record{}, new(bytes.Buffer))
	r.out.size = fileSize // nothing is in the queue yet
	r.out.write = func(f *os.File, b []byte) (int, error) {
		if full {
			full = false
			n, _ := f.Write(b[:1])
			return n, errors.New("full")
		}
		return f.Write(b)
	}
	record(r, "/lost", "")
	if s := settled(r, 1); s.Dropped != 1 || len(s.Paths) != 1 {
		t.Errorf("%+v", s)
	}
	record(r, "/written", "")
	s := settled(r, 2)
	if got := filesIn(t, dir); got != "real-0001 real-0002" || len(s.Paths) != 2 {
		t.Fatalf("the files are %s; %+v", got, s)
	}
	if n, broken := linesIn(t, s.Paths[1]); n != 1 || broken != nil {
		t.Errorf("%d lines, %v", n, broken)
	}
}
