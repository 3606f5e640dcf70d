package e2e_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
)

// audience is many clients of streams, over all protocols, in clear text and over TLS.
type audience struct {
	t    *testing.T
	ways []way
	all  sync.WaitGroup
	next atomic.Int64 // the number of the next client
	left atomic.Int64 // clients that left after they got an item
}

// way is how a client reaches the server.
type way struct {
	url    string
	client *http.Client
}

// follow opens a stream, checks that each of its items is the client's next one, and calls got for each. It returns how
// many there were, and the error that ended the stream before its end, if there was one.
func (c *audience) follow(ctx context.Context, path string, got func(items int)) (items int, err error) {
	id := int(c.next.Add(1))
	w := c.ways[id%len(c.ways)]
	req, err := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("%s%s?id=%d", w.url, path, id), nil)
	if err != nil {
		return 0, err
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		return 0, fmt.Errorf("status %d", resp.StatusCode)
	}
	lines := bufio.NewReaderSize(resp.Body, 256)
	for {
		text, err := lines.ReadString('\n')
		if err == io.EOF && text == "" {
			return items, nil
		}
		if err != nil {
			return items, err
		}
		items++
		if want := fmt.Sprintf("{\"n\":%d,\"of\":\"%d\"}\n", items, id); text != want {
			c.t.Errorf("%s, client %d got %q, want %q", path, id, text, want)
		}
		got(items)
	}
}

// come starts a number of clients within a time.
func (c *audience) come(number int, within time.Duration, client func()) {
	c.all.Add(number)
	for range number {
		time.AfterFunc(rand.N(within), func() { defer c.all.Done(); client() })
	}
}

// stay returns a client that follows a stream to its end, which adds what it got to items.
func (c *audience) stay(path string, items *atomic.Int64, want int) func() {
	return func() {
		n, err := c.follow(context.Background(), path, func(int) {})
		if items.Add(int64(n)); err != nil || n != want {
			c.t.Errorf("%s: %d items, %v, want %d", path, n, err, want)
		}
	}
}

// leave returns a client that leaves a stream at a random time.
func (c *audience) leave(path string, within time.Duration) func() {
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), rand.N(within))
		defer cancel()
		n, err := c.follow(ctx, path, func(int) {})
		if n > 0 {
			c.left.Add(1)
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			c.t.Errorf("%s: a client that left after %d items got %v", path, n, err)
		}
	}
}

// broken returns a client whose stream is reset.
func (c *audience) broken(path string, most int) func() {
	return func() {
		if n, err := c.follow(context.Background(), path, func(int) {}); err == nil || n > most {
			c.t.Errorf("%s: %d items, %v, want at most %d and a reset", path, n, err, most)
		}
	}
}

// crowded is the configuration for an audience, of which some leave or are reset, with as many places for those.
func crowded(leave, reset int) string {
	return fmt.Sprintf(`
- endpoint: {path: /kept, response: {stream: [{times: 8, line: &item {n: "{{loop.index}}", of: "{{query-params.id}}"}}], pace: {first: {min: 0s, max: 1s}, gap: {min: 100ms, max: 600ms}}}}
- endpoint: {path: /left, capacity: {concurrent: %d, queue: 0}, response: {stream: [{times: 1000, line: *item}], pace: {first: {min: 0s, max: 1s}, gap: {min: 100ms, max: 1s}}}}
- endpoint: {path: /reset, capacity: {concurrent: %d, queue: 0}, response: {stream: [{times: 8, line: *item}], pace: {first: 1s, gap: {max: 500ms}}}, fault: {type: reset, rate: 100%%, after: 5 items}}
- endpoint: {path: /forever, response: {stream: [{times: forever, line: *item}], pace: {gap: {min: 100ms, max: 300ms}}}}
`, leave, reset)
}

// Of many streams over all protocols, a tenth of the clients leave at random times, and a hundredth is reset, while the
// configuration is reloaded. Each of the others gets each item once. Afterwards all is counted exactly, and nothing is
// left. When the server stops, streams end in time, and those without an end stop.
func TestStreams_Crowd(t *testing.T) {
	NeedsProcess(t)
	t.Parallel()
	number := 1000
	if volume.Full() {
		number = 10_000
	}
	const kept = 80 // goroutines that the server keeps for the next connections
	leave, reset := number/10, number/100
	keep := number - leave - reset
	dir := t.TempDir()
	file := harness.WriteFile(t, dir, "m.yml", crowded(leave, reset))
	c := &audience{t: t}
	p := Start(t, "-c", file, "--admin", "127.0.0.1:0", "--tls", "auto", "--tls-dir", dir, "--grace", "20s")
	a := AdminOf(p)
	c.ways = crowdWays(t, p, dir)
	c.come(leave, 1, c.leave("/left", time.Second))
	c.all.Wait()
	c.rest()
	harness.Until(t, "the first streams are left", func() bool { return Value(t, Scrape(t, a), "mockserver_requests_in_flight") == 0 })
	before, descriptors := Value(t, Scrape(t, a), "go_goroutines"), p.Usage().Descriptors

	var items atomic.Int64
	c.come(keep, 2*time.Second, c.stay("/kept", &items, 8))
	c.come(leave, time.Second, c.leave("/left", 3*time.Second))
	c.come(reset, time.Second, c.broken("/reset", 5))
	from := len(p.Output())
	harness.WriteFile(t, dir, "m.yml", crowded(leave, reset)+At("/new", "new"))
	p.WaitLine(from, "configuration reloaded")
	c.all.Wait()
	// All places are free again.
	c.come(leave, time.Millisecond, c.leave("/left", 3*time.Second))
	c.come(reset, time.Millisecond, c.broken("/reset", 5))
	c.all.Wait()
	c.rest()
	var metrics = Scrape(t, a)
	harness.Until(t, "nothing is left", func() bool {
		metrics = Scrape(t, a)
		return Value(t, metrics, "mockserver_requests_in_flight") == 0 && p.Usage().Descriptors <= descriptors && Value(t, metrics, "go_goroutines") < before+kept
	})
	count := func(name, path string, labels ...string) int {
		return int(Value(t, metrics, "mockserver_"+name, append(labels, "endpoint", "GET "+path)...))
	}
	// Some clients left before their requests were sent.
	left := count("stream_ends_total", "/left", "end", "client")
	if left > 3*leave || left < int(c.left.Load()) {
		t.Errorf("%d streams were left by %d clients, %d of which had got an item", left, 3*leave, c.left.Load())
	}
	for what, n := range map[string][2]int{
		"streams kept":       {count("stream_ends_total", "/kept", "end", "complete"), keep},
		"requests kept":      {count("requests_total", "/kept", "status", "200"), keep},
		"items kept":         {count("stream_items_total", "/kept"), int(items.Load())},
		"streams reset":      {count("stream_ends_total", "/reset", "end", "fault"), 2 * reset},
		"items before reset": {count("stream_items_total", "/reset"), 10 * reset},
		"requests left":      {count("requests_total", "/left", "status", "200") + count("requests_total", "/left", "status", "499"), left},
		"open":               {count("stream_open", "/kept") + count("stream_open", "/left") + count("stream_open", "/reset"), 0},
	} {
		if n[0] != n[1] {
			t.Errorf("%s: %d, want %d", what, n[0], n[1])
		}
	}

	var begun sync.WaitGroup
	begun.Add(leave + reset)
	c.come(leave, time.Second, func() {
		n, err := c.follow(context.Background(), "/forever", func(items int) {
			if items == 2 {
				begun.Done()
			}
		})
		if err != nil || n < 2 {
			t.Errorf("a stream without an end got %d items, %v, when the server stopped", n, err)
		}
	})
	c.come(reset, time.Second, func() {
		n, err := c.follow(context.Background(), "/kept", func(items int) {
			if items == 1 {
				begun.Done()
			}
		})
		if err != nil || n != 8 {
			t.Errorf("%d items, %v, when the server stopped", n, err)
		}
	})
	begun.Wait()
	p.Signal(syscall.SIGTERM)
	c.all.Wait()
	if code := p.Exit(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// rest closes the connections that no stream uses.
func (c *audience) rest() {
	for _, w := range c.ways {
		w.client.CloseIdleConnections()
	}
}

// crowdWays returns clients of all protocols. Every fifth uses TLS.
func crowdWays(t *testing.T, p *Process, dir string) (all []way) {
	text, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	_, address, _ := strings.Cut(p.URL, "://")
	clear := []way{crowdWay("http://"+address, nil, false), crowdWay("http://"+address, nil, true)}
	all = append(slices.Repeat(clear, 4), crowdWay("https://"+address, pool, false), crowdWay("https://"+address, pool, true))
	for _, w := range all {
		t.Cleanup(w.client.CloseIdleConnections)
	}
	return all
}

func crowdWay(url string, pool *x509.CertPool, http2 bool) way {
	w := way{url, newClient()}
	transport := w.client.Transport.(*http.Transport)
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(!http2)
	transport.Protocols.SetHTTP2(http2)
	transport.Protocols.SetUnencryptedHTTP2(http2 && pool == nil)
	transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	return w
}
