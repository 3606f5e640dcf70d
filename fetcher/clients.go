package fetcher

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"sync"
	"time"

	"mockserver/internal/clienttls"
)

const (
	maxRedirects = 10
	// maxPerHost is the maximum number of connections to one host.
	maxPerHost = 256
)

// clients contains the HTTP clients of a loader, by their TLS files. They are kept across reloads,
// and so are their connections.
type clients struct {
	mu  sync.Mutex // guards all
	all map[clienttls.Files]*http.Client
}

// of returns the client for TLS files. It reads the files, so that a reload reports errors in them;
// the certificate is read again for each connection.
func (c *clients) of(over clienttls.Files) (*http.Client, error) {
	config, err := over.Config()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[clienttls.Files]*http.Client{}
	}
	old := c.all[over]
	if old != nil && (over.CA == "" || config.RootCAs.Equal(old.Transport.(*http.Transport).TLSClientConfig.RootCAs)) {
		return old, nil
	}
	if old != nil {
		old.CloseIdleConnections() // the CA has changed
	}
	if over.Cert != "" {
		config.Certificates, config.GetClientCertificate = nil, over.Certificate
	}
	made := newClient(config)
	c.all[over] = made
	return made, nil
}

func (c *clients) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, client := range c.all {
		client.CloseIdleConnections()
	}
}

// newClient returns a client that follows redirects and stores no cookies. It uses net/http: a
// fetch needs its own context, a limit on the body while it is read, and redirects, and is too rare
// to need fasthttp's speed.
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
