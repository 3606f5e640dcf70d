package fetcher

import (
	"errors"
	"fmt"
	"net/http"
	"sync"

	"mockserver/config/syntax"
	"mockserver/internal/clienttls"
)

// clients are the HTTP clients of a loader, by what is declared of TLS. They are kept across
// reloads, so that connections are.
type clients struct {
	mu  sync.Mutex // guards all
	all map[clienttls.Files]*http.Client
}

// of returns the client for what is declared. The files are read when it is made, so that a reload
// finds what is wrong with them, and the certificate again for each connection.
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
		old.CloseIdleConnections() // the CA is another one
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

// connect prepares the connections of a URL. A body from one that was not verified, or that was had
// with another certificate, must not be used for another source.
func (s *Source) connect(dir string) syntax.Problems {
	ext := s.ext
	over := clienttls.Files{
		CA: clienttls.Find(dir, ext.CA.Value), Cert: clienttls.Find(dir, ext.Cert.Value), Key: clienttls.Find(dir, ext.ClientKey.Value), Insecure: ext.Insecure,
	}
	s.space = fmt.Sprintf("%+v ", over)
	var err error
	if s.client, err = s.loader.clients.of(over); err == nil {
		return nil
	}
	at := &ext.CA
	var of *clienttls.Error
	if errors.As(err, &of) {
		switch of.Key {
		case "cert":
			at = &ext.Cert
		case "key":
			at = &ext.ClientKey
		}
	}
	return problem(at.Pos, at.Key, err.Error())
}
