package fetcher

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"mockserver/config/item"
	"mockserver/matcher"
)

// fetched returns the body of a URL: the copy while it is fresh, otherwise the current response of
// the remote server or, if the fetch fails and stale-if-error is declared, the last good copy. It
// also returns how long it waited for the remote server.
func (s *Source) fetched(r *matcher.Request) (k *kept, waited time.Duration) {
	buf := s.loader.borrow()
	defer s.loader.giveBack(buf)
	key := append(*buf, s.space...)
	if s.url != "" {
		key = append(key, s.url...)
	} else {
		key = s.path.Append(key, r)
	}
	*buf = key
	if k := stopped(r); k != nil {
		return k, 0
	}
	var last *kept
	if e := s.shelf.find(key); e != nil && s.keepsCopies() {
		e.touch()
		last = e.kept.Load()
	}
	if last != nil && s.loader.now().Sub(last.fetched) < s.ext.TTL {
		return last, 0
	}
	target := string(key[len(s.space):])
	if s.url == "" && climbs(target, s.path.Prefix()) {
		return &kept{err: climbError(target)}, 0
	}
	begun := time.Now()
	k = s.flight(target)
	waited = time.Since(begun)
	switch {
	case k.err == nil && s.keepsCopies():
		s.shelf.entry(key).keep(k)
	case k.err != nil && last != nil && s.ext.StaleIfError:
		return last, waited
	}
	return k, waited
}

func (s *Source) keepsCopies() bool { return s.ext.TTL > 0 || s.ext.StaleIfError }

// flight fetches a URL, once for all concurrent requests for it. The fetch belongs to the loader:
// it is not canceled when the request that started it ends.
func (s *Source) flight(target string) *kept {
	timeout := cmp.Or(max(s.ext.Timeout, 0), item.DefaultFetchTimeout)
	key := fmt.Sprint(s.space, timeout, " ", target)
	result := <-s.loader.flights.DoChan(key, func() (any, error) {
		return s.loader.fetch(s.client, target, timeout), nil
	})
	return result.Val.(*kept)
}

// fetch gets a URL, including its body, within timeout.
func (l *Loader) fetch(client *http.Client, target string, timeout time.Duration) *kept {
	u, err := parseURL(target)
	if err != nil {
		return &kept{err: badURL(target, err)}
	}
	ctx, cancel := context.WithTimeout(l.ctx, timeout)
	defer cancel()
	k := &kept{}
	err = l.inTurn(ctx, func() error {
		return guard(func() (err error) {
			k.body, err = l.get(ctx, client, u)
			return err
		})
	})
	if err != nil {
		return &kept{err: fetchError(u, err, timeout)}
	}
	k.size = int64(len(k.body.Bytes))
	k.fetched = l.now()
	return k
}

// inTurn calls f once fewer than maxFetches fetches are running. The error is errQueued if ctx times
// out before.
func (l *Loader) inTurn(ctx context.Context, f func() error) error {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
		return f()
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return errQueued
		}
		return ctx.Err()
	}
}

// get sends the request, and reads and decodes the response.
func (l *Loader) get(ctx context.Context, client *http.Client, u *url.URL) (Body, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Body{}, err
	}
	req.Header.Set("User-Agent", "mockserver")
	req.Header.Set("Accept-Encoding", "gzip, deflate, br, zstd")
	resp, err := client.Do(req)
	if err != nil {
		return Body{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		return Body{}, statusError(resp.StatusCode)
	}
	content, err := l.readAll(resp.Body, max(resp.ContentLength, 0), l.maxRemote)
	if err != nil {
		return Body{}, err
	}
	content, err = decode(content, resp.Header.Values("Content-Encoding"), l.maxRemote)
	if err != nil {
		return Body{}, err
	}
	if cap(content) > len(content)+len(content)/8 { // the cache counts the length
		content = bytes.Clone(content)
	}
	return Body{Bytes: content, ContentType: resp.Header.Get("Content-Type")}, ctx.Err()
}

// fetchError returns why a URL is not available.
func fetchError(u *url.URL, err error, timeout time.Duration) *Error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err // its text contains the URL with credentials
	}
	kind, cause := Upstream, err.Error()
	var ne net.Error
	switch {
	case errors.Is(err, context.Canceled):
		cause = "the server is stopping"
	case err == errQueued:
		kind, cause = Timeout, fmt.Sprintf("still queued after %v", timeout)
	case errors.Is(err, context.DeadlineExceeded):
		kind, cause = Timeout, fmt.Sprintf("no complete answer within %v", timeout)
	case errors.As(err, &ne) && ne.Timeout():
		kind = Timeout
	}
	return &Error{Kind: kind, Message: fmt.Sprintf("fetch %s: %s", redacted(u), cause), Err: err}
}
