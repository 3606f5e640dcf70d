package watch

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mockserver/config"
	"mockserver/internal/files"
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
	p.w = unlooked(func() []string { return p.names })
	p.want("the first poll", false)
	return p
}

func (p *polls) want(what string, changed ...bool) {
	p.t.Helper()
	for i, want := range changed {
		p.now = p.now.Add(200 * time.Millisecond)
		if got := p.w.step(p.now); got != want {
			p.t.Errorf("%s: poll %d reports changed %v, want %v", what, i+1, got, want)
		}
	}
}

// rewrite changes a file in place and gives it a unique modification time.
func (p *polls) rewrite(path, text string) {
	p.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, p.now); err != nil {
		p.t.Fatal(err)
	}
}

// write puts a file into a directory and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must(t, os.WriteFile(path, []byte(text), 0o600))
	return path
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
	p := &polls{t: t, now: written, w: unlooked(func() []string { return []string{path} })}
	p.want("read as soon as it is written", false)
	must(t, os.WriteFile(path, []byte("201"), 0o600))
	must(t, os.Chtimes(path, time.Time{}, written))
	reports := 0 // the second poll, or the first where only the content tells
	for range 4 {
		p.now = p.now.Add(200 * time.Millisecond)
		if p.w.step(p.now) {
			reports++
		}
	}
	if reports != 1 {
		t.Errorf("a change that leaves the time and size is reported %d times, want once", reports)
	}
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

func TestRefreshForgetsUnreportedChanges(t *testing.T) {
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

// A file that was being written at the refresh is reported once it is complete.
func TestAChangeThatEndsAfterTheRefreshIsReported(t *testing.T) {
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
		w := New(func() []string {
			asking++ // a data race unless there is one call at a time
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
			t.Errorf("%d polls, %d changes reported although they had been refreshed", asking, changes)
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
			New(func() []string { return []string{path} }).Run(ctx, 500*time.Millisecond, func() { changes <- time.Now() })
		}()
		synctest.Wait()
		must(t, os.WriteFile(path, []byte("two"), 0o600))
		begin := time.Now()
		if seen := (<-changes).Sub(begin); seen > 700*time.Millisecond {
			t.Errorf("noticed after %v", seen)
		}
		cancel()
		<-stopped
		if len(changes) > 0 {
			t.Error("one change was reported twice")
		}
	})
}

func TestFilesThatComeAndGoInADirectoryAreSeen(t *testing.T) {
	dir := t.TempDir()
	a := write(t, dir, "a.yml", "a")
	p := newPolls(t, dir)
	p.want("nothing happened", false, false)
	b := filepath.Join(dir, "b.yml")
	p.rewrite(b, "b")
	p.want("a file comes", false, true, false)
	p.rewrite(b, "b, changed")
	p.want("it changes", false, true, false)
	must(t, os.Rename(b, filepath.Join(dir, "0.yml")))
	p.want("it is renamed", false, true, false)
	must(t, os.Rename(a, filepath.Join(dir, ".a.yml")))
	p.want("a file is hidden", false, true, false)
	must(t, os.Rename(filepath.Join(dir, ".a.yml"), a))
	p.want("and shown", false, true, false)
	must(t, os.Remove(a))
	p.want("a file goes", false, true, false)
	must(t, os.Remove(filepath.Join(dir, "0.yml")))
	p.want("the last file goes", false, true, false)
	must(t, os.Remove(dir))
	p.want("the directory goes", false, true, false)
	must(t, os.Mkdir(dir, 0o700))
	p.want("it is back, empty", false, true, false)
	p.rewrite(a, "a")
	p.want("and has a file", false, true, false)
	must(t, os.RemoveAll(dir))
	p.want("all of it goes at once", false, true, false)
	must(t, os.Mkdir(dir, 0o700))
	p.rewrite(a, "a")
	p.want("and is back at once", false, true, false)
	if len(p.w.files) != 2 || p.w.files[dir] == nil || p.w.files[a] == nil {
		t.Errorf("%d files are watched, want the directory and the remaining file", len(p.w.files))
	}
}

func TestSubdirectoriesThatComeAndGoAreSeen(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yml", "a")
	p := newPolls(t, dir+"/...")
	p.want("nothing happened", false, false)
	sub := filepath.Join(dir, "sub", "deep")
	must(t, os.MkdirAll(sub, 0o700))
	p.want("an empty directory comes", false, false)
	p.rewrite(filepath.Join(sub, "b.yml"), "b")
	p.want("and a file in it", false, true, false)
	p.rewrite(filepath.Join(sub, "b.yml"), "b, changed")
	p.want("which changes", false, true, false)
	must(t, os.Rename(filepath.Join(dir, "sub"), filepath.Join(dir, "other")))
	p.want("the directory is renamed", false, true, false)
	must(t, os.Symlink("other", filepath.Join(dir, "link")))
	must(t, os.Symlink("..", filepath.Join(dir, "other", "up")))
	p.want("links go around", false, false, false)
	must(t, os.RemoveAll(filepath.Join(dir, "other")))
	p.want("it goes", false, true, false)
	must(t, os.RemoveAll(dir))
	p.want("all of it goes", false, true, false)
}

func TestAFileThatIsStillWrittenIntoADirectoryIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yml", "a")
	p := newPolls(t, dir)
	b := filepath.Join(dir, "b.yml")
	p.rewrite(b, "")
	p.want("a file comes", false)
	p.rewrite(b, "- end")
	p.want("it is written", false)
	p.rewrite(b, "- endpoint")
	p.want("and written, and complete", false, true, false)
	passing := filepath.Join(dir, "c.yml")
	p.rewrite(passing, "c")
	p.want("a file comes", false)
	must(t, os.Remove(passing))
	p.want("and goes before it was told", false, false)
}

func TestWhatIsNotReadInADirectoryIsNotWatched(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yml", "a")
	data := write(t, dir, "data.csv", "1")
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	p := newPolls(t, dir)
	p.rewrite(data, "2")
	p.rewrite(filepath.Join(dir, ".a.yml.swp"), "x")
	p.rewrite(filepath.Join(dir, "sub", "b.yml"), "b")
	must(t, os.Mkdir(filepath.Join(dir, "dir.yml"), 0o700))
	p.want("other files come and change", false, false, false)
}

func TestTheSwapOfALinkedDirectoryIsSeen(t *testing.T) {
	root := t.TempDir()
	version := func(name, text string) {
		must(t, os.Mkdir(filepath.Join(root, name), 0o700))
		write(t, filepath.Join(root, name), "a.yml", text)
	}
	swap := func(link, to string) {
		must(t, os.Symlink(to, filepath.Join(root, "next")))
		must(t, os.Rename(filepath.Join(root, "next"), filepath.Join(root, link)))
	}
	version("..1", "a")
	swap("..data", "..1")
	must(t, os.Symlink("..data/a.yml", filepath.Join(root, "a.yml")))
	swap(".whole", "..1")
	for _, dir := range []string{root, filepath.Join(root, ".whole")} {
		p := newPolls(t, dir)
		version("..2", "a, changed")
		swap("..data", "..2")
		swap(".whole", "..2")
		must(t, os.RemoveAll(filepath.Join(root, "..1")))
		p.want("swapped for another text", false, true, false)
		version("..1", "a, changed")
		swap("..data", "..1")
		swap(".whole", "..1")
		p.want("swapped for the same text", false, false, false)
		must(t, os.WriteFile(filepath.Join(root, "..1", "a.yml"), []byte("a"), 0o600))
		must(t, os.RemoveAll(filepath.Join(root, "..2")))
		p.want("and as it began", false, true, false)
	}
}

func TestALinkThatLeadsNowhereIsSeenToComeAndGo(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yml", "a")
	p := newPolls(t, dir)
	link, target := filepath.Join(dir, "b.yml"), filepath.Join(dir, "target")
	must(t, os.Symlink("target", link))
	p.want("it comes", false, true, false)
	p.rewrite(target, "b")
	p.want("it leads somewhere", false, true, false)
	must(t, os.Remove(target))
	p.want("and nowhere", false, true, false)
	must(t, os.Remove(link))
	p.want("it goes", false, true, false)
}

func TestAFileInThePlaceOfADirectoryAndBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "conf.yml")
	p := newPolls(t, path)
	must(t, os.Mkdir(path, 0o700))
	p.rewrite(filepath.Join(path, "a.yml"), "a")
	p.want("a directory comes", false, true, false)
	must(t, os.RemoveAll(path))
	p.rewrite(path, "a")
	p.want("a file is in its place", false, true, false)
	must(t, os.Remove(path))
	must(t, os.Mkdir(path, 0o700))
	p.rewrite(filepath.Join(path, "a.yml"), "a")
	p.want("and a directory again", false, true, false)
}

func TestADirectoryIsTakenAsItIsWhenItIsNamedOrRefreshed(t *testing.T) {
	dir := t.TempDir()
	a := write(t, dir, "a.yml", "a")
	p := newPolls(t, dir, a)
	p.rewrite(filepath.Join(dir, "b.yml"), "b")
	must(t, os.Remove(a))
	p.w.Refresh()
	p.want("changed before the refresh", false, false)
	p.names = nil
	p.want("it is named no longer", false)
	p.rewrite(filepath.Join(dir, "b.yml"), "b, changed")
	p.rewrite(a, "a")
	p.want("and changes", false, false)
	p.names = []string{dir}
	p.want("it is named again", false, false)
	p.rewrite(a, "a, changed")
	p.want("and changes", false, true, false)
}

func TestADirectoryThatCannotBeListedCountsOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yml", "a")
	p := newPolls(t, dir)
	list := p.w.disk.list
	p.w.disk.list = func(string) ([]string, error) { return nil, os.ErrPermission }
	p.want("it cannot be listed", false, false) // it looks the same as before, so this is not a change yet
	must(t, os.Chmod(dir, 0o500))
	p.want("and looks different", false, true, false)
	p.w.disk.list = list
	p.want("it can be listed", true, false)
}

// A poll of a directory with unchanged files makes one stat call for each file, lists the directory
// once, and reads no content.
func TestPollingManyFilesIsCheap(t *testing.T) {
	const many = 1000
	dir := t.TempDir()
	for i := range many {
		path := write(t, dir, fmt.Sprintf("%04d.yml", i), fmt.Sprintf("- endpoint: {path: /%d, response: {}}\n", i))
		must(t, os.Chtimes(path, time.Time{}, time.Unix(1000, 0)))
	}
	must(t, os.Chtimes(dir, time.Time{}, time.Unix(1000, 0)))
	w := unlooked(func() []string { return []string{dir} })
	var looks, lists, hashes int
	disk := w.disk
	w.disk.look = func(name string) files.Look { looks++; return disk.look(name) }
	w.disk.list = func(name string) ([]string, error) { lists++; return disk.list(name) }
	w.disk.hash = func(name string) ([sha256.Size]byte, bool) { hashes++; return disk.hash(name) }
	for i, want := range []int{many, 0, 0} {
		looks, lists, hashes = 0, 0, 0
		if w.step(time.Now()) || looks != many+1 || lists != 1 || hashes != want {
			t.Errorf("poll %d: %d looks, %d listings, %d files read; want %d, 1 and %d", i, looks, lists, hashes, many+1, want)
		}
	}
	if spec := config.Load(dir); len(spec.Endpoints) != many || len(spec.Problems) > 0 {
		t.Errorf("%d endpoints, %v", len(spec.Endpoints), spec.Problems)
	}
}
