package importing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mockserver/config"
	"mockserver/config/imports"
	"mockserver/config/imports/draft"
	"mockserver/internal/json"
	"mockserver/internal/semantics"
	"mockserver/internal/wording"
	"mockserver/listener"
	"mockserver/listener/observe/logging"
)

const (
	// askTimeout limits one request of a check.
	askTimeout = 30 * time.Second
	// shownDifferences is the maximum number of listed requests whose answers differ.
	shownDifferences = 20
	// maxResponse is how much of an answer is compared, in bytes.
	maxResponse = 64 << 20
)

// compare serves the configuration and sends it the requests of the source. It compares the
// answers with those of the source or, if against is the URL of the original server, with that
// server's answers. It lists the differences, and returns an error if there are any, or if the source
// has no requests.
func compare(w io.Writer, d *draft.Draft, against string) error {
	if len(d.Asks) == 0 {
		return errors.New("nothing was checked: no requests can be sent; recordings, HAR, Postman collections, db.json and curl commands have requests")
	}
	dir, err := os.MkdirTemp("", "mockserver-check-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := imports.Write(d, dir, false); err != nil {
		return err
	}
	server, err := listener.Start(config.Load(filepath.Join(dir, imports.Name)), listener.Options{
		Host: "127.0.0.1", Logger: logging.New("println", io.Discard, io.Discard),
		NoLatency: true, NoFaults: true, NoWebhooks: true, NoCORS: true,
	})
	if err != nil {
		return err
	}
	defer server.Close()
	client := &http.Client{
		Timeout:       askTimeout,
		Transport:     &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	different := 0
	for i := range d.Asks {
		what := check(client, &d.Asks[i], server.URL(), against)
		if what == "" {
			continue
		}
		if different++; different <= shownDifferences {
			fmt.Fprintf(w, "differs: %s: %s %s: %s\n", d.Asks[i].Pos, d.Asks[i].Method, wording.Clip(d.Asks[i].Target), what)
		}
	}
	fmt.Fprintf(w, "%s sent: %d as expected, %d different\n", wording.Count(len(d.Asks), "request"), len(d.Asks)-different, different)
	if different > 0 {
		return errors.New("answers differ")
	}
	return nil
}

// check sends a request, and returns what is wrong with the answer; "" if nothing is.
func check(client *http.Client, a *draft.Ask, url, against string) string {
	got, err := send(client, a, url, a.Host)
	if err != nil {
		return err.Error()
	}
	if against != "" {
		want, err := send(client, a, against, "")
		if err != nil {
			return err.Error()
		}
		expected := draft.Response{Status: want.status, Body: want.body, JSON: true}
		if media := want.media(); media != "" && !strings.EqualFold(media, got.media()) {
			expected.Header = []draft.Field{{Name: "Content-Type", Value: want.header.Get("Content-Type")}}
		}
		return difference(got, &expected)
	}
	if len(a.Want) == 0 && (got.status == http.StatusNotFound || got.status == http.StatusMethodNotAllowed) && bytes.Contains(got.body, []byte(`"code":"`)) {
		return "no endpoint answers: " + wording.Clip(string(got.body))
	}
	first := ""
	for i := range a.Want {
		what := difference(got, &a.Want[i])
		if what == "" {
			return ""
		}
		first = cmp.Or(first, what)
	}
	if n := len(a.Want); n > 1 {
		first += fmt.Sprintf(" (or one of %s)", wording.Count(n-1, "further answer"))
	}
	return first
}

// received is an answer as it was received.
type received struct {
	status int
	header http.Header
	body   []byte
}

func send(client *http.Client, a *draft.Ask, url, host string) (*received, error) {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, a.Method, url+a.Target, bytes.NewReader(a.Body))
	if err != nil {
		return nil, err
	}
	for _, f := range a.Header {
		switch strings.ToLower(f.Name) {
		case "host", "connection", "content-length", "accept-encoding", "transfer-encoding", "te", "upgrade", "if-none-match", "if-modified-since", "expect":
		default:
			if !strings.HasPrefix(f.Name, ":") {
				r.Header.Add(f.Name, f.Value)
			}
		}
	}
	if host != "" {
		r.Host = host
	}
	response, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	return &received{response.StatusCode, response.Header, body}, err
}

// media returns the media type without its parameters; "" for none.
func (g *received) media() string {
	media, _, _ := strings.Cut(g.header.Get("Content-Type"), ";")
	return strings.TrimSpace(media)
}

// difference describes how an answer differs from the expected one; "" if it does not.
func difference(got *received, want *draft.Response) string {
	if got.status != want.Status {
		return fmt.Sprintf("status %d, expected %d", got.status, want.Status)
	}
	if want.Any {
		return ""
	}
	for _, f := range want.Header {
		if value := got.header.Get(f.Name); !strings.EqualFold(strings.ReplaceAll(value, " ", ""), strings.ReplaceAll(f.Value, " ", "")) {
			return fmt.Sprintf("%s %q, expected %q", f.Name, wording.Clip(value), wording.Clip(f.Value))
		}
	}
	if semantics.HasNoContent(got.status) || bytes.Equal(got.body, want.Body) || want.JSON && json.Same(got.body, want.Body) {
		return ""
	}
	at := 0
	for at < len(got.body) && at < len(want.Body) && got.body[at] == want.Body[at] {
		at++
	}
	return fmt.Sprintf("the body differs from byte %d: %q, expected %q", at+1, wording.Clip(string(got.body[at:])), wording.Clip(string(want.Body[at:])))
}
