package config

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// polls drives a watcher without a clock: each poll is an interval later.
type polls struct {
	t     *testing.T
	w     *Watcher
	now   time.Time
	names []string
}

func newPolls(t *testing.T, names ...string) *polls {
	p := &polls{t: t, now: time.Now().Add(time.Hour), names: names}
	p.w = &Watcher{names: func() []string { return p.names }}
	p.want("the first poll", false)
	return p
}

func (p *polls) want(what string, changed ...bool) {
	p.t.Helper()
	for i, want := range changed {
		p.now = p.now.Add(200 * time.Millisecond)
		if got := p.w.step(p.now); got != want {
			p.t.Errorf("%s: poll %d says changed %v, want %v", what, i+1, got, want)
		}
	}
}

// rewrite changes a file in place; its time is one that no other has.
func (p *polls) rewrite(path, text string) {
	p.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, p.now); err != nil {
		p.t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAChangeIsSeenOnceItIsStable(t *testing.T) {
	path := write(t, t.TempDir(), "a.yml", "one")
	p := newPolls(t, path)
	p.want("nothing happened", false, false)
	p.rewrite(path, "two")
	p.want("written once", false, true, false, false)
	p.rewrite(path, "")
	p.want("truncated", false)
	p.rewrite(path, "three")
	p.want("and written", false, true, false)
	p.rewrite(path, "three")
	p.want("touched", false, false, false)
}

func TestRenamesDeletionsAndSymlinkSwapsAreSeen(t *testing.T) {
	dir := t.TempDir()
	path, other := write(t, dir, "a.yml", "one"), write(t, dir, "b.yml", "two")
	link := filepath.Join(dir, "link.yml")
	must(t, os.Symlink(path, link))
	p := newPolls(t, link, path)
	fresh := filepath.Join(dir, "fresh")
	must(t, os.Symlink(other, fresh))
	must(t, os.Rename(fresh, link))
	p.want("a symlink is swapped", false, true, false)
	must(t, os.Rename(other, path))
	p.want("a file is renamed over another, and the link hangs", false, true, false)
	must(t, os.Remove(path))
	p.want("a file is deleted", false, true, false)
	p.rewrite(path, "two")
	p.want("and is back", false, true, false)
}

func TestAnUnreadableFileCountsOnce(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "a.yml", "one")
	p := newPolls(t, path)
	must(t, os.Remove(path))
	must(t, os.Mkdir(path, 0o700))
	p.want("a directory in its place", false, true, false, false)
	must(t, os.Remove(path))
	p.rewrite(path, "one")
	p.want("readable again", false, true, false)
}

func TestAChangeThatLeavesTimeAndSizeAsTheyWere(t *testing.T) {
	path := write(t, t.TempDir(), "a.yml", "200")
	written := time.Now()
	must(t, os.Chtimes(path, time.Time{}, written))
	p := &polls{t: t, now: written, w: &Watcher{names: func() []string { return []string{path} }}}
	p.want("read as soon as it is written", false)
	must(t, os.WriteFile(path, []byte("201"), 0o600))
	must(t, os.Chtimes(path, time.Time{}, written))
	p.want("written again within the file system's tick", true, false)
}

func TestFilesNotWatchedBeforeAreTakenAsTheyAre(t *testing.T) {
	dir := t.TempDir()
	a, b := write(t, dir, "a.yml", "a"), write(t, dir, "b.yml", "b")
	p := newPolls(t, a)
	p.names = []string{b, b}
	p.want("another file is named", false, false)
	p.rewrite(a, "changed")
	p.want("the first is no longer watched", false, false)
	p.rewrite(b, "changed")
	p.want("the second is", false, true)
}

func TestANameThatIsAddedLaterCountsFromThen(t *testing.T) {
	dir := t.TempDir()
	a, b := write(t, dir, "a.yml", "a"), filepath.Join(dir, "b.json")
	p := newPolls(t, a)
	p.rewrite(a, "broken: it names b")
	p.want("the first file changes", false, true)
	p.names = []string{a, b}
	p.want("a file that is missing is named", false, false)
	p.rewrite(b, "b")
	p.want("it comes", false, true, false)
	p.rewrite(b, "b, still broken")
	p.want("it changes", false, true, false)
	p.names = []string{a}
	p.want("it is named no longer", false)
	p.rewrite(b, "b, mended")
	p.want("it changes", false, false)
	p.names = []string{b, a}
	p.want("it is named again, and taken as it is", false, false)
	p.rewrite(a, "mended")
	p.want("the first changes", false, true)
}

func TestRefreshForgetsWhatHasNotBeenTold(t *testing.T) {
	dir := t.TempDir()
	path, missing := write(t, dir, "a.yml", "one"), filepath.Join(dir, "b.yml")
	p := newPolls(t, path, missing)
	p.rewrite(path, "two")
	p.w.Refresh()
	p.want("changed before the refresh", false, false, false)
	p.rewrite(path, "three")
	p.want("changed and seen once", false)
	p.rewrite(missing, "new")
	p.w.Refresh()
	p.want("and refreshed", false, false, false)
	p.rewrite(path, "four")
	p.want("changed after the refresh", false, true, false)
	must(t, os.Remove(missing))
	p.want("deleted after the refresh", false, true, false)
}

// A file that was being written at the refresh is told when it is complete.
func TestAChangeThatEndsAfterTheRefreshIsTold(t *testing.T) {
	path := write(t, t.TempDir(), "a.yml", "one")
	p := newPolls(t, path)
	p.rewrite(path, "")
	p.w.Refresh()
	p.rewrite(path, "two")
	p.want("truncated, refreshed, written", false, true, false)
}

func TestRefreshWhileTheWatcherRuns(t *testing.T) {
	path := write(t, t.TempDir(), "a.yml", "one")
	must(t, os.Chtimes(path, time.Time{}, time.Unix(1000, 0)))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		asking, changes := 0, 0
		w := NewWatcher(func() []string {
			asking++ // a race unless one asks at a time
			return []string{path}
		})
		var running sync.WaitGroup
		running.Go(func() { w.Run(ctx, time.Millisecond, func() { changes++ }) })
		for i := range 50 {
			must(t, os.WriteFile(path, []byte{byte(i)}, 0o600))
			w.Refresh()
			<-time.After(10 * time.Millisecond)
		}
		cancel()
		running.Wait()
		if asking < 100 || changes > 0 {
			t.Errorf("%d looks, %d changes told that were refreshed", asking, changes)
		}
	})
}

func TestWatchReportsWithinASecondAndStops(t *testing.T) {
	path := write(t, t.TempDir(), "a.yml", "one")
	must(t, os.Chtimes(path, time.Time{}, time.Unix(1000, 0)))
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		changes := make(chan time.Time, 10)
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			NewWatcher(func() []string { return []string{path} }).Run(ctx, 200*time.Millisecond, func() { changes <- time.Now() })
		}()
		synctest.Wait()
		must(t, os.WriteFile(path, []byte("two"), 0o600))
		begin := time.Now()
		if seen := (<-changes).Sub(begin); seen > time.Second {
			t.Errorf("seen after %v", seen)
		}
		cancel()
		<-stopped
		if len(changes) > 0 {
			t.Error("one change was reported twice")
		}
	})
}
