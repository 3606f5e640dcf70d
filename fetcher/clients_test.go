package fetcher

import (
	"net/http"
	"testing"

	"mockserver/internal/clienttls"
)

// verified returns the client of URLs for which nothing is declared of TLS.
func verified(t *testing.T, l *Loader) *http.Client {
	t.Helper()
	client, err := l.clients.of(clienttls.Files{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}
