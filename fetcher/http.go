package fetcher

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"

	"mockserver/config"
	"mockserver/matcher"
)

const (
	maxRedirects = 10
	// maxCodings is the maximum number of content encodings on top of each other. Nobody needs two,
	// and each takes a pass.
	maxCodings = 4
	// maxWindow limits the memory that a zstd frame may make its reader allocate. RFC 9659 allows
	// at most 8 MiB for content encodings.
	maxWindow = 8 << 20
	// maxPerHost is the maximum number of connections to one host.
	maxPerHost = 256
	// maxStack is how many calls of a panic's stack are stored.
	maxStack = 64
)

// newClient returns a client that follows redirects and stores no cookies. It uses net/http: a
// fetch needs a context of its own, a limit on the body while it is read, and redirects, and is too
// rare to need fasthttp's speed.
func newClient(over *tls.Config) *http.Client {
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		TLSClientConfig:     over,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        256,
		MaxIdleConnsPerHost: 64,
		MaxConnsPerHost:     maxPerHost,
		IdleConnTimeout:     90 * time.Second,
		DisableCompression:  true, // decode handles more than gzip, and limits the size
	}
	return &http.Client{
		Transport: transport,
		CheckRedirect: func(_ *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return nil
		},
	}
}

// fetched returns the body of a URL: the copy while it is fresh, otherwise the current response of
// the remote server, otherwise, if that is declared, the last good copy. It also returns how long
// it waited for the remote server.
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

// flight fetches a URL, shared by all who want it at the moment. The fetch belongs to the loader:
// it does not end with the request that started it.
func (s *Source) flight(target string) *kept {
	timeout := s.ext.Timeout
	if timeout <= 0 {
		timeout = config.DefaultFetchTimeout
	}
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
	err = l.inTurn(ctx, func(ctx context.Context) error {
		return guard(func() error {
			var err error
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

// inTurn calls f once fewer than maxFetches fetches are running. The error is a busyError if ctx
// ends before f is started, or before f gets the connection that it needs.
func (l *Loader) inTurn(ctx context.Context, f func(context.Context) error) error {
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return ctx.Err()
		}
		return &busyError{fmt.Sprintf("%d fetches are running already", cap(l.slots))}
	}
	defer func() { <-l.slots }()
	var queued atomic.Bool // waiting for a connection, while none is free or being opened
	advance := func() { queued.Store(false) }
	err := f(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:      func(string) { queued.Store(true) },
		DNSStart:     func(httptrace.DNSStartInfo) { advance() },
		ConnectStart: func(string, string) { advance() },
		GotConn:      func(httptrace.GotConnInfo) { advance() },
	}))
	if err != nil && queued.Load() && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &busyError{fmt.Sprintf("all %d connections to its host are in use", maxPerHost)}
	}
	return err
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
	content, err := readAll(resp.Body, max(resp.ContentLength, 0), l.maxRemote)
	if err != nil {
		return Body{}, err
	}
	content, err = decode(content, resp.Header.Values("Content-Encoding"), l.maxRemote)
	if err != nil {
		return Body{}, err
	}
	return Body{Bytes: content, ContentType: resp.Header.Get("Content-Type")}, ctx.Err()
}

// fetchError returns why a URL is not available.
func fetchError(u *url.URL, err error, timeout time.Duration) *Error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err // its text contains the URL with credentials
	}
	kind, cause := Upstream, err.Error()
	var ne net.Error
	var busy *busyError
	switch {
	case errors.Is(err, context.Canceled):
		cause = "the server is stopping"
	case errors.As(err, &busy):
		kind, cause = Timeout, fmt.Sprintf("no turn within %v: %s", timeout, busy.what)
	case errors.Is(err, context.DeadlineExceeded):
		kind, cause = Timeout, fmt.Sprintf("no complete answer within %v", timeout)
	case errors.As(err, &ne) && ne.Timeout():
		kind = Timeout
	}
	return &Error{Kind: kind, Message: fmt.Sprintf("fetch %s: %s", redacted(u), cause), Err: err}
}

// Decode removes the content encodings of a header's values. The result of each step has at most
// limit bytes.
func Decode(content []byte, encodings []string, limit int64) (decoded []byte, err error) {
	err = guard(func() error {
		var err error
		decoded, err = decode(content, encodings, limit)
		return err
	})
	return decoded, err
}

// decode removes content encodings, the last applied first. The result of each step has at most
// limit bytes.
func decode(content []byte, encodings []string, limit int64) ([]byte, error) {
	var codings []string
	for c := range strings.SplitSeq(strings.Join(encodings, ","), ",") {
		if c = strings.ToLower(strings.TrimSpace(c)); c != "" && c != "identity" {
			codings = append(codings, c)
		}
	}
	if len(content) == 0 {
		return content, nil // a response without a body may still name an encoding
	}
	if len(codings) > maxCodings {
		return nil, fmt.Errorf("content encoding: more than %d of them", maxCodings)
	}
	for i := len(codings) - 1; i >= 0; i-- {
		var err error
		if content, err = decodeOne(content, codings[i], limit); err != nil {
			return nil, fmt.Errorf("content encoding %q: %w", codings[i], err)
		}
	}
	return content, nil
}

func decodeOne(content []byte, coding string, limit int64) ([]byte, error) {
	src := bytes.NewReader(content)
	switch coding {
	case "gzip", "x-gzip":
		r, err := gzip.NewReader(src)
		if err != nil {
			return nil, err
		}
		return readAll(r, 0, limit)
	case "deflate":
		r, err := zlib.NewReader(src)
		if errors.Is(err, zlib.ErrHeader) {
			// Some servers omit the zlib header; every browser accepts that.
			r, err = flate.NewReader(bytes.NewReader(content)), nil
		}
		if err != nil {
			return nil, err
		}
		return readAll(r, 0, limit)
	case "br":
		return unbrotli(content, limit)
	case "zstd":
		r, err := zstd.NewReader(src, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return readAll(r, 0, limit)
	default:
		return nil, errors.New("unknown; gzip, deflate, br and zstd are understood")
	}
}

// unbrotli uses fasthttp's decoder, which the program contains anyway.
func unbrotli(content []byte, limit int64) ([]byte, error) {
	var resp fasthttp.Response
	resp.SetBodyRaw(content)
	out, err := resp.BodyUnbrotliWithLimit(int(limit))
	if errors.Is(err, fasthttp.ErrBodyTooLarge) {
		err = tooLarge(limit)
	}
	return out, err
}

// guard turns a panic of a decoder into an error, so that it does not end the program: decoders
// process input from outside, partly in goroutines of their own.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := make([]uintptr, maxStack)
			err = &Panic{Value: p, Stack: stack[:runtime.Callers(1, stack)]}
		}
	}()
	return f()
}
