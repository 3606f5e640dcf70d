package fetcher

import (
	"context"
	"hash/maphash"
	"io/fs"
	"os"
	"time"
)

const (
	// checkInterval is how long a file is served without looking at it again.
	checkInterval = 250 * time.Millisecond
	// settleTime is the coarsest step of file times in use: within it, a file may
	// change twice and show the same time.
	settleTime = 2 * time.Second
	// idleTime is how long a copy may go without a look until nothing vouches for
	// it any more: the request that looks then waits for what is new.
	idleTime = 2 * checkInterval
	// patience bounds that wait, in real time.
	patience = 250 * time.Millisecond
	// maxAttempts is how often a file is read that changes while it is read.
	maxAttempts = 3
)

// look is what a file looks like from outside: why it cannot be had, when err is
// not nil. The zero look is none.
type look struct {
	info fs.FileInfo
	err  error
}

// look opens the file of a path to see what it looks like.
func (s *Source) look(path string) look {
	f, info, err := s.open(path)
	if err != nil {
		return look{err: err}
	}
	f.Close()
	return look{info: info}
}

// same reports whether nothing can be seen to have changed between two looks.
func (l look) same(m look) bool {
	if l.info == nil || m.info == nil {
		return l.info == nil && m.info == nil && l.err != nil && m.err != nil && l.err.Error() == m.err.Error()
	}
	return os.SameFile(l.info, m.info) && l.info.Size() == m.info.Size() && l.info.ModTime().Equal(m.info.ModTime())
}

// still reports whether a file has not been written to for a while, or is not there.
func (l look) still(now time.Time) bool {
	return l.info == nil || now.Sub(l.info.ModTime()) >= idleTime
}

// fresh returns what an entry holds if that may be served without looking at the
// file. Of many requests that come when a look is due, one gets nil and with it
// the turn; so does every one while there is nothing yet.
func (e *entry) fresh(now time.Time) *kept {
	k := e.kept.Load()
	if k == nil {
		return nil
	}
	e.touch()
	due := e.next.Load()
	at := now.UnixNano()
	if at < due || !e.next.CompareAndSwap(due, at+int64(checkInterval)) {
		return k
	}
	return nil
}

// renewed looks at the file of an entry. While it looks as it did, or changes
// from look to look as a file does that is being written, the copy is served; once
// it stands still, it is read again in the background. Only the first request
// after a long while waits for that, and not for long.
func (s *Source) renewed(e *entry, now time.Time, path, sheet string) *kept {
	k := e.kept.Load()
	if k == nil {
		return s.load(e, now, path, sheet)
	}
	if !e.turn.TryLock() {
		return k
	}
	idle := now.Sub(e.looked) > idleTime
	e.looked = now
	done := s.renew(e, k, s.look(path), idle, now, path, sheet)
	if done == nil {
		e.turn.Unlock()
		return k
	}
	if !idle {
		return k
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	return e.kept.Load()
}

// renew begins to read a file again if a look at it calls for that. The channel is
// closed, and the turn over, when that is done; it is nil when nothing was begun.
// The caller has the turn.
func (s *Source) renew(e *entry, k *kept, now look, idle bool, at time.Time, path, sheet string) <-chan struct{} {
	last := e.seen
	e.seen = now
	unchanged := now.same(k.look)
	if unchanged && k.settled {
		return nil
	}
	if !unchanged && !now.same(last) && !(idle && now.still(at)) {
		return nil
	}
	done := make(chan struct{})
	began := s.loader.background(func(ctx context.Context) {
		defer close(done)
		defer e.turn.Unlock()
		again := s.reread(ctx, k, at, path, sheet)
		if again != k && ctx.Err() == nil {
			e.put(again)
		}
	})
	if !began {
		return nil // the next look tries again
	}
	return done
}

// reread is read, kept from ending the program: no request's recover is around it.
func (s *Source) reread(ctx context.Context, k *kept, now time.Time, path, sheet string) *kept {
	var again *kept
	err := guard(func() error {
		again = s.read(ctx, k, now, path, sheet)
		return nil
	})
	if err != nil {
		return &kept{err: s.broken(path, err.Error(), err)}
	}
	return again
}

// background runs f on a goroutine of its own, unless enough run already or the
// loader is closed. Close ends ctx and waits for f.
func (l *Loader) background(f func(ctx context.Context)) bool {
	l.starting.Lock()
	defer l.starting.Unlock()
	if l.ctx.Err() != nil {
		return false
	}
	select {
	case l.reloads <- struct{}{}:
	default:
		return false
	}
	l.running.Go(func() {
		defer func() { <-l.reloads }()
		f(l.ctx)
	})
	return true
}

// load reads a file into an entry that holds nothing. Whoever else wants it waits
// for it here.
func (s *Source) load(e *entry, now time.Time, path, sheet string) *kept {
	e.loading.Lock()
	defer e.loading.Unlock()
	if k := e.kept.Load(); k != nil {
		return k
	}
	k := s.read(context.Background(), nil, now, path, sheet)
	e.turn.Lock()
	e.looked = now
	e.turn.Unlock()
	e.next.Store(now.UnixNano() + int64(checkInterval))
	e.put(k)
	return k
}

// put puts what was read into an entry.
func (e *entry) put(k *kept) {
	e.keep(k)
	if k.err != nil && k.err.Kind == NotFound {
		e.drop() // names that clients make up take no room
	}
}

// read reads a file, again where it changes meanwhile. It returns seen, the copy
// there is, when the file does not stand still long enough to be read.
func (s *Source) read(ctx context.Context, seen *kept, now time.Time, path, sheet string) *kept {
	for attempt := 1; ; attempt++ {
		content, info, whole, err := s.content(path)
		switch {
		case err != nil && info == nil:
			return &kept{err: s.fileError(path, err), look: look{err: err}}
		case err != nil: // it may pass, so the next look reads again
			return &kept{err: s.broken(path, causeOf(err), err), look: look{info: info}}
		case err == nil && !whole && attempt < maxAttempts:
			continue
		case err == nil && !whole && seen != nil:
			return seen
		}
		k := &kept{}
		sum := maphash.Bytes(s.loader.seed, content)
		switch {
		case seen != nil && seen.look.info != nil && seen.sum == sum && seen.length == len(content):
			*k = *seen // written again, or looked at too soon to tell
		default:
			k = s.convert(ctx, content, path, sheet)
		}
		k.look, k.sum, k.length = look{info: info}, sum, len(content)
		k.settled = whole && now.Sub(info.ModTime()).Abs() > settleTime
		return k
	}
}

// content returns what a file holds, and whether it looked the same before and
// after it was read. Info is nil when the file could not be opened.
func (s *Source) content(path string) (content []byte, info fs.FileInfo, whole bool, err error) {
	f, info, err := s.open(path)
	if err != nil {
		return nil, nil, false, err
	}
	defer f.Close()
	content, err = s.loader.readAll(f, info.Size(), s.loader.maxFile)
	if err != nil {
		return nil, info, true, err
	}
	after, err := f.Stat()
	if err != nil {
		return nil, info, true, err
	}
	return content, info, look{info: info}.same(look{info: after}), nil
}
