package fetcher

import (
	"time"

	"mockserver/renderer"
)

// Body is the body to send: Template if it is not nil, otherwise Bytes, which must not be modified
// and never change.
type Body struct {
	Template    *renderer.Template
	Bytes       []byte
	ContentType string // of a remote body; "" otherwise, and if the remote server sent none
	// Waited is how long the request waited for a remote server, even if the fetch failed.
	Waited time.Duration
}
