package openapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

const (
	// remoteTimeout is the time limit for fetching one document.
	remoteTimeout = 10 * time.Second
	// remoteSize is the size limit for one fetched document, in bytes.
	remoteSize = 64 << 20
)

// remote opens the document at the URL of a reference to another host.
func (b *bundle) remote(ref *syntax.Node, u *url.URL) *source {
	u.Fragment = ""
	location := u.String()
	if !b.opts.AllowRemoteRefs {
		expected := "such references are read only with --allow-remote-refs"
		if b.root.location == "" { // a schema of its own
			expected = "expected a local file"
		}
		b.unresolved(ref, fmt.Sprintf("the reference leads to another host, %s; %s", wording.Clip(u.Host), expected))
		return nil
	}
	return b.open(&source{name: location, location: location, remote: true}, ref, func() (*syntax.Node, syntax.Problems) {
		data, err := fetch(location)
		if err != nil {
			// This is an error, so that a reload keeps the previous configuration, which is better than
			// one with missing parts.
			b.wrong(ref, "%s cannot be fetched: %v", wording.Clip(location), err)
			return nil, nil
		}
		return b.opts.Parse(location, data)
	})
}

// fetch downloads the document at a URL.
func fetch(location string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), remoteTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, location, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, plainFetchError(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered with status %s", response.Status)
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, remoteSize+1))
	switch {
	case err != nil:
		return nil, plainFetchError(err)
	case len(data) > remoteSize:
		return nil, fmt.Errorf("it is larger than the limit of %d MiB", remoteSize>>20)
	}
	return data, nil
}

// plainFetchError removes the URL from an error, because the message already names it.
func plainFetchError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s", remoteTimeout)
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
