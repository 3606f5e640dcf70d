package fetcher

import (
	"net/http"
	"testing"

	"mockserver/internal/clienttls"
)

// verified returns the client for URLs without TLS settings.
func verified(t *testing.T, l *Loader) *http.Client {
	t.Helper()
	client, err := l.clients.of(clienttls.Files{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}
