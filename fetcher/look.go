package fetcher

import (
	"context"
	"errors"
	"hash/maphash"
	"io/fs"
	"time"

	"mockserver/matcher"
)

// stored returns the body of a file, from the cache if possible.
func (s *Source) stored(r *matcher.Request) *kept {
	now := s.loader.now()
	if e := s.pinned.Load(); e != nil && !e.gone.Load() {
		if k := e.fresh(now); k != nil {
			return k
		}
		return s.renewed(e, now, s.fixedPath, s.fixedSheet)
	}
	buf := s.loader.borrow()
	defer s.loader.giveBack(buf)
	key, path, sheet := s.key(*buf, r)
	*buf = key
	if k := stopped(r); k != nil {
		return k
	}
	e := s.shelf.entry(key)
	if s.fixed {
		s.pinned.Store(e)
	}
	if k := e.fresh(now); k != nil {
		return k
	}
	return s.renewed(e, now, string(path), string(sheet))
}

// look opens the file of a path and returns its look.
func (s *Source) look(path string) look {
	f, info, err := s.open(path)
	if err != nil {
		return look{err: err}
	}
	f.Close()
	return look{info: info}
}

// fresh returns the content of an entry if it may be served without checking the file. When a check
// is due, one of the concurrent requests gets nil, and is to check the file. While there is no
// content yet, all of them get nil.
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

// renewed checks the file of an entry, or reads it if the entry is empty. While the file is
// unchanged, or keeps changing because it is being written, the copy is served. Once the file no
// longer changes, it is read again in the background. Only the first request after a long time
// waits for that, and only briefly.
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

// renew starts reading a file again if its look requires that. When the read is done, the returned
// channel is closed and the turn is over; the channel is nil if nothing was started. The caller has
// the turn.
func (s *Source) renew(e *entry, k *kept, now look, idle bool, at time.Time, path, sheet string) <-chan struct{} {
	last := e.seen
	e.seen = now
	unchanged := now.same(k.look)
	if unchanged && k.settled || !unchanged && !now.same(last) && !(idle && now.still(at)) {
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
		return nil // the next check tries again
	}
	return done
}

// reread calls read and recovers from panics, because no request's recover surrounds it.
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

// background runs f in a new goroutine and returns true, unless maxReloads of them are running or
// the loader is closed. Close cancels ctx and waits for f.
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

// load reads a file into an empty entry. Other requests for the file wait here.
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

// put stores the result of reading in an entry.
func (e *entry) put(k *kept) {
	e.keep(k)
	if k.err != nil && k.err.Kind == NotFound {
		e.drop() // names invented by clients take no space
	}
}

// read reads a file, again if it changes in the meantime. It returns seen, the existing copy, if
// the file keeps changing.
func (s *Source) read(ctx context.Context, seen *kept, now time.Time, path, sheet string) *kept {
	if !s.workbook() {
		return s.readFile(ctx, seen, now, path, sheet)
	}
	if k := s.refused(now, path, sheet); k != nil {
		return k
	}
	select {
	case s.loader.sheets <- struct{}{}:
		defer func() { <-s.loader.sheets }()
		now = s.loader.now() // the wait may have been long
	case <-ctx.Done(): // of a reread, whose result is not used
		return seen
	}
	if k := s.refused(now, path, sheet); k != nil {
		return k
	}
	k := s.readFile(ctx, seen, now, path, sheet)
	var book *bookError
	if k.err != nil && errors.As(k.err, &book) {
		e := s.loader.books.entry([]byte(s.space + path))
		e.next.Store(now.UnixNano() + int64(checkInterval))
		e.keep(k)
	}
	return k
}

// readFile is read without the turns of workbooks.
func (s *Source) readFile(ctx context.Context, seen *kept, now time.Time, path, sheet string) *kept {
	for attempt := 1; ; attempt++ {
		content, info, whole, err := s.content(path)
		switch {
		case err != nil && info == nil:
			return &kept{err: s.fileError(path, err), look: look{err: err}}
		case err != nil: // it may be temporary, so the next check reads again
			return &kept{err: s.broken(path, causeOf(err), err), look: look{info: info}}
		case !whole && attempt < maxAttempts:
			continue
		case !whole && seen != nil:
			return seen
		}
		var k *kept
		sum := maphash.Bytes(s.loader.seed, content)
		if seen != nil && seen.look.info != nil && seen.sum == sum && seen.length == len(content) {
			k = new(*seen) // written again, or checked too soon to tell
		} else {
			k = s.convert(ctx, content, path, sheet)
		}
		k.look, k.sum, k.length = look{info: info}, sum, len(content)
		k.settled = whole && now.Sub(info.ModTime()).Abs() > settleTime
		return k
	}
}

// content returns the content of a file, and whether its look was the same before and after
// reading. info is nil if the file could not be opened.
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
