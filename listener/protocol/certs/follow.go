package certs

import (
	"context"
	"sync"
	"time"

	"mockserver/config/watch"
)

const (
	// pollEvery is how often files are checked: a change must take effect within a second, and
	// counts once two checks agree.
	pollEvery = 500 * time.Millisecond
	// expiryEvery is how often the log warns of a certificate that expires.
	expiryEvery = 24 * time.Hour
)

// Follow reloads files that change on disk, and warns of certificates that expire, until ctx is
// done.
func (s *Store) Follow(ctx context.Context) {
	days := time.NewTicker(expiryEvery)
	defer days.Stop()
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		reload := func() { s.Reload("a file changed") }
		w := watch.New(s.Files)
		reload() // a file may have changed between the store's reading and the watch
		w.Run(ctx, pollEvery, reload)
	})
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-days.C:
			s.WarnOfExpiry(now)
		}
	}
}
