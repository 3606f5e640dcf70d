//go:build unix

package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
)

// arrivals collects the webhooks that a target receives: the keys for each text.
type arrivals struct {
	url  string
	mu   sync.Mutex
	keys map[string][]string
}

func newArrivals(t *testing.T) *arrivals {
	t.Helper()
	a := &arrivals{keys: map[string][]string{}}
	a.url = NewHookTarget(t, func(_ int, _ http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		defer a.mu.Unlock()
		text := r.URL.Query().Get("n")
		a.keys[text] = append(a.keys[text], r.Header.Get("Idempotency-Key"))
	}).URL
	return a
}

func (a *arrivals) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.keys)
}

// check expects each webhook to have arrived with only one key, and returns how many arrived more
// than once.
func (a *arrivals) check(t *testing.T) (again int) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for text, keys := range a.keys {
		for _, key := range keys {
			if key == "" || key != keys[0] {
				t.Errorf("webhook %s came with the keys %q", text, keys)
			}
		}
		if len(keys) > 1 {
			again++
		}
	}
	return again
}

// shortLease is the parameter of a short lease, for tests in which a lease expires. On a busy machine
// a shorter one would expire by accident.
const shortLease = "&lease=5s"

// sharedStore starts three NATS servers, and returns the location of a stream in them, whose leases
// are short.
func sharedStore(t *testing.T) string {
	t.Helper()
	return "nats://" + startNATS(t, "3") + "?stream=TEST" + shortLease
}

// replica starts a program with webhooks that are due at once, soon, and in an hour.
func replica(t *testing.T, target, store string) (p, admin *Process) {
	t.Helper()
	var configuration strings.Builder
	for path, delay := range map[string]string{"/now": "0", "/soon": "1500ms", "/late": "1h"} {
		fmt.Fprintf(&configuration, "- endpoint: {method: POST, path: %s, response: {status: 201}, webhook: {url: '%s/?n={{query-params.n}}', sleep-time: %s}}\n", path, target, delay)
	}
	p, admin = Administered(t, configuration.String(), "--webhook-store", store, "--grace", "100ms")
	t.Cleanup(func() { _ = p.Cmd.Process.Signal(syscall.SIGCONT) })
	return p, admin
}

// ask sends n requests to a path, from several clients, each with its own number.
func ask(p *Process, path string, from, n int) {
	var asking sync.WaitGroup
	for i := range 8 {
		asking.Go(func() {
			for j := i; j < n; j += 8 {
				if a, err := p.Try("POST", fmt.Sprintf("%s?n=%d", path, from+j), ""); err != nil || a.Status != 201 {
					p.T.Errorf("%s answers %d, %v", path, a.Status, err)
				}
			}
		})
	}
	asking.Wait()
}

// counters contains the counts that a replica reports for its webhooks.
type counters struct{ Pending, Delivered, Refused, Restored, Unstored, Dead int }

func countersOf(t *testing.T, admin *Process) (c counters) {
	t.Helper()
	admin.Get("/__admin/webhooks").Into(t, 200, &c)
	return c
}

// The webhooks of a killed replica are sent by another one, with their keys; webhooks that it sent
// in its last moments may arrive again. A replica that shuts down normally hands over the webhooks
// that are not due.
func TestReplicas_OneIsKilledAndOneEnds(t *testing.T) {
	volume.Only(t)
	NeedsProcess(t)
	t.Parallel()
	target, store := newArrivals(t), sharedStore(t)
	first, _ := replica(t, target.url, store)
	second, secondAdmin := replica(t, target.url, store)
	ask(first, "/soon", 0, 150)
	ask(first, "/now", 150, 150)
	ask(second, "/late", 300, 20)
	first.Signal(syscall.SIGKILL)
	first.Exit()
	harness.Until(t, "each webhook has arrived", func() bool { return target.count() == 300 })
	t.Logf("%d of 300 webhooks came twice: they were sent just before the kill", target.check(t))
	c := countersOf(t, secondAdmin)
	if c.Restored < 1 || c.Delivered < 1 {
		t.Errorf("the other one reports %+v", c)
	}
	third, thirdAdmin := replica(t, target.url, store)
	second.Signal(syscall.SIGTERM)
	second.WaitLine(0, "webhooks", "kept=20")
	harness.Until(t, "the remaining webhooks are handed over", func() bool { return countersOf(t, thirdAdmin).Restored >= 20 })
	third.WaitLine(0, "webhooks of another process are adopted", "webhooks=20")
	if target.count() != 300 {
		t.Error("a webhook was sent before it was due")
	}
}

// A replica that is frozen for longer than its lease loses its webhooks to another one. When it
// resumes, it sends none of them, and accepts new ones.
func TestReplicas_OneIsFrozen(t *testing.T) {
	NeedsProcess(t)
	t.Parallel()
	target, store := newArrivals(t), sharedStore(t)
	first, firstAdmin := replica(t, target.url, store)
	ask(first, "/soon", 0, 200)
	first.Signal(syscall.SIGSTOP)
	second, secondAdmin := replica(t, target.url, store)
	before := target.count() // the other replica first observes the lease for its whole length
	second.WaitLine(0, "webhooks of another process are adopted")
	harness.Until(t, "each webhook has arrived", func() bool { return target.count() == 200 })
	first.Signal(syscall.SIGCONT)
	first.WaitLine(0, "another process has taken over webhooks")
	harness.Until(t, "it has dropped the webhooks that it no longer holds", func() bool { return countersOf(t, firstAdmin).Pending == 0 })
	harness.Until(t, "it accepts webhooks again", func() bool {
		before := countersOf(t, firstAdmin).Refused
		ask(first, "/now", 200, 1)
		return countersOf(t, firstAdmin).Refused == before
	})
	harness.Until(t, "the new webhook has arrived and is counted", func() bool { return target.count() == 201 && countersOf(t, firstAdmin).Pending == 0 })
	again := target.check(t)
	a, b := countersOf(t, firstAdmin), countersOf(t, secondAdmin)
	t.Logf("%d of 201 webhooks came twice; the frozen one reports %+v, the other one %+v", again, a, b)
	if a.Delivered+b.Delivered != 201+again || a.Delivered > before+1 {
		t.Errorf("the replicas delivered %d and %d, and %d came twice; the first one may have delivered %d before it was frozen, and one after",
			a.Delivered, b.Delivered, again, before)
	}
}

// While the servers are unreachable, webhooks are refused, or kept in memory with fallback=memory.
// No accepted webhook is lost, and stored webhooks are not sent once the lease has expired.
func TestReplicas_TheServersAreAway(t *testing.T) {
	volume.Only(t)
	NeedsProcess(t)
	t.Parallel()
	addresses := strings.Split(startNATS(t, "3"), ",")
	between := NewLink(t, addresses[0])
	store := "nats://" + between.Address() + "?stream=AWAY" + shortLease
	target, other := newArrivals(t), newArrivals(t)
	p, admin := replica(t, target.url, store)
	fallback, fallbackAdmin := replica(t, other.url, store+"&fallback=memory")
	ask(p, "/soon", 0, 50)
	between.Cut()
	p.WaitLine(0, "the webhook store is unavailable")
	fallback.WaitLine(0, "the webhook store is unavailable")
	ask(p, "/now", 50, 20)
	p.WaitLine(0, "webhook refused", "the webhook store does not answer")
	ask(fallback, "/now", 0, 20)
	harness.Until(t, "the webhooks in memory have arrived", func() bool { return other.count() == 20 })
	if c := countersOf(t, admin); c.Refused != 20 {
		t.Errorf("refused %d webhooks, want 20", c.Refused)
	}
	if c := countersOf(t, fallbackAdmin); c.Unstored != 20 || c.Refused != 0 {
		t.Errorf("with fallback=memory %+v", c)
	}
	harness.Until(t, "the verdict reports the store", func() bool { return strings.Contains(fallbackAdmin.Get("/__admin/verdict").Body, "webhook-store") })
	between.Restore()
	p.WaitLine(0, "the webhook store is back")
	harness.Until(t, "the stored webhooks have arrived", func() bool { return target.count() == 50 })
	harness.Until(t, "webhooks are accepted again", func() bool {
		before := countersOf(t, admin).Refused
		ask(p, "/now", 1000, 1)
		return countersOf(t, admin).Refused == before
	})
	harness.Until(t, "the new webhook has arrived", func() bool { return target.count() == 51 })
	target.check(t)
}

// A problem with the store is reported at startup, in one line, without its password.
func TestReplicas_AWebhookStoreIsRefusedAtTheStart(t *testing.T) {
	NeedsProcess(t)
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", "- endpoint: {path: /, response: {}}\n")
	for store, want := range map[string]string{
		"nats://ann:hidden@" + Free(t): "cannot start error=\"open the webhook store nats://127.0.0.1:",
		"nats://127.0.0.1:1?lease=1h":  "lease of the webhook store; expected a duration from 2s to 10m0s",
		"http://127.0.0.1:1":           "--webhook-store: \"http://127.0.0.1:1\" is not valid; expected the name of a directory, or nats://HOST:PORT",
	} {
		code, stdout, stderr := Refused(t, nil, "-c", file, "--webhook-store", store)
		said := stdout + stderr
		if code == 0 || !strings.Contains(said, want) || strings.Count(said, "\n") != 1 || strings.Contains(said, "hidden") {
			t.Errorf("%s: exit code %d, output %q, want %q", store, code, said, want)
		}
	}
}
