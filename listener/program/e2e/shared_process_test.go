package e2e_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"mockserver/internal/harness"
)

// limits is a specification with rate limits whose windows do not end during a test.
const limits = `
- endpoint: {path: /window, response: {body: ok}, rate-limit: {max-requests: 100, window: 1h, key-fn: query-params.k, algorithm: fixed-window, scope: shared}}
- endpoint: {path: /bucket, response: {body: ok}, rate-limit: {max-requests: 100, window: 24h, key-fn: query-params.k, algorithm: token-bucket, scope: shared}}
- endpoint: {path: /number, response: {body: '{{shared-counter("orders")}}'}}
- endpoint: {path: /next, response: {body: '{{shared-sequence("orders")}}'}}
- endpoint: {path: /round, select: sequence, scope: shared, responses: [{body: a}, {body: b}]}
- endpoint: {path: /status/:id, select: sequence-hold, per: path-params.id, scope: shared, responses: [{body: pending}, {body: paid}, {body: shipped}]}
`

// replicas are programs that share limits.
type replicas []struct{ mocks, admin *Process }

// startReplicas starts three programs and waits until they know of each other. They wait longer for
// the server than by default, since the machine may be busy.
func startReplicas(t *testing.T, address string) (all replicas) {
	t.Helper()
	Program(t) // called here because a test can only be skipped in its own goroutine
	all = make(replicas, 3)
	var starting sync.WaitGroup
	for i := range all {
		starting.Go(func() {
			all[i].mocks, all[i].admin = Administered(t, limits, "--shared-state", "nats://"+address+"?stream=TEST&timeout=3s", "--grace", "100ms")
		})
	}
	starting.Wait()
	for i := range all {
		harness.Until(t, "the replica sees three", func() bool { return all.metric(t, i, "shared_state_replicas") == 3 })
	}
	return all
}

func (all replicas) metric(t *testing.T, i int, name string) float64 {
	t.Helper()
	return Value(t, Scrape(t, all[i].admin), "mockserver_"+name)
}

// ask sends n requests to each replica, from several clients, and returns how many requests each
// replica admitted.
func (all replicas) ask(path string, n int) (admitted [3]int64) {
	var asking sync.WaitGroup
	for i := range all {
		for c := range 4 {
			asking.Go(func() {
				for j := c; j < n; j += 4 {
					a, err := all[i].mocks.Try("GET", path, "")
					switch {
					case err == nil && a.Status == 200:
						atomic.AddInt64(&admitted[i], 1)
					case err != nil || a.Status != 429:
						all[i].mocks.T.Errorf("%s is answered with %d, %v", path, a.Status, err)
					}
				}
			})
		}
	}
	asking.Wait()
	return admitted
}

// useUp sends requests until the wanted number has been admitted, and then some more, which must
// not be admitted.
func (all replicas) useUp(t *testing.T, path string, want int64) {
	t.Helper()
	admitted := sum(all.ask(path, 60))
	harness.Until(t, "the whole limit is used", func() bool {
		if admitted < want {
			admitted += sum(all.ask(path, 1))
		}
		return admitted >= want
	})
	if admitted += sum(all.ask(path, 10)); admitted != want {
		t.Errorf("%s: admitted %d, want %d", path, admitted, want)
	}
}

func sum(n [3]int64) int64 { return n[0] + n[1] + n[2] }

// Three replicas together admit exactly as many requests as the limit says: a replica gives back
// the part of a lease that it does not use.
func TestReplicas_ShareALimit(t *testing.T) {
	t.Parallel()
	all := startReplicas(t, startNATS(t))
	if a := all[0].mocks.Get("/window?k=idle"); a.Status != 200 || a.Header.Get("X-RateLimit-Remaining") != "99" {
		t.Errorf("the first request is answered with %d and %v", a.Status, a.Header)
	}
	all.useUp(t, "/window?k=a", 100)
	all[1:].useUp(t, "/window?k=idle", 99) // the first replica has a slice that it does not use
	if admitted := sum(all.ask("/window?k=idle", 10)); admitted != 0 {
		t.Errorf("admitted %d after the whole limit was used", admitted)
	}
	// A bucket with a window of a day gets no token during the test. At the end, each replica may
	// still have a slice.
	if admitted := sum(all.ask("/bucket?k=a", 60)); admitted > 100 || admitted < 100-3*8 {
		t.Errorf("the bucket admitted %d, want up to 100, less slices", admitted)
	}
	for i := range all {
		if n := all.metric(t, i, "shared_state_local_total"); n != 0 {
			t.Errorf("replica %d decided on %v requests on its own", i, n)
		}
	}
}

// bodies sends n requests to each replica, from several clients, and returns the answers, in order.
func (all replicas) bodies(path string, n int) (got []string) {
	var asking sync.WaitGroup
	var mu sync.Mutex
	for i := range all {
		for c := range 4 {
			asking.Go(func() {
				for j := c; j < n; j += 4 {
					a := all[i].mocks.Do("GET", path, "")
					mu.Lock()
					got = append(got, a.Body)
					mu.Unlock()
				}
			})
		}
	}
	asking.Wait()
	slices.Sort(got)
	return got
}

// numbers returns the numbers in the answers, sorted. The test fails if a number occurs twice.
func numbers(t *testing.T, responses []string) []int {
	t.Helper()
	all := make([]int, len(responses))
	for i, text := range responses {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = n
	}
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("some numbers occurred twice: %v", all)
	}
	return all
}

// Three replicas return no number twice, return a strict sequence without gaps, and take turns
// together.
func TestReplicas_ShareNumbersAndTurns(t *testing.T) {
	t.Parallel()
	all := startReplicas(t, startNATS(t))
	if got := numbers(t, all.bodies("/number", 1200)); got[len(got)-1] > 3*3000 { // each replica has begun two blocks and fetched a third
		t.Errorf("the numbers go up to %d", got[len(got)-1])
	}
	if got := numbers(t, all.bodies("/next", 40)); got[0] != 1 || got[len(got)-1] != 3*40 {
		t.Errorf("the sequence goes from %d to %d, want 1 to 120", got[0], got[len(got)-1])
	}
	if got := all.bodies("/round", 20); strings.Join(got, "") != strings.Repeat("a", 30)+strings.Repeat("b", 30) {
		t.Errorf("the turns were %v", got)
	}
	for _, id := range []string{"1", "2"} {
		for i, want := range []string{"pending", "paid", "shipped", "shipped"} {
			all[i%3].mocks.Get("/status/"+id).Want(t, 200, want)
		}
	}
	for i := range all {
		if n := all.metric(t, i, "shared_state_local_total"); n != 0 {
			t.Errorf("replica %d decided %v times on its own", i, n)
		}
	}
}

// While the server does not answer, each replica continues with its own numbers and turns.
func TestReplicas_NumbersAndTurnsOnTheirOwn(t *testing.T) {
	t.Parallel()
	between := NewLink(t, startNATS(t))
	all := startReplicas(t, between.Address())
	all[0].mocks.Get("/status/1").Want(t, 200, "pending")
	defer between.Freeze()()
	for _, path := range []string{"/number", "/next"} {
		if got := numbers(t, all.bodies(path, 8)); got[0] < 1<<52 || got[len(got)-1] >= 1<<53 {
			t.Errorf("%s gave %v without the server, want numbers from 2^52 to 2^53", path, got)
		}
	}
	all[0].mocks.Get("/status/1").Want(t, 200, "paid")
	all[1].mocks.Get("/status/1").Want(t, 200, "pending")
	for i, want := range []float64{17, 17, 16} {
		if n := all.metric(t, i, "shared_state_local_total"); n != want {
			t.Errorf("replica %d decided %v times on its own, want %v", i, n, want)
		}
	}
}

// While the server does not answer, each replica admits its share of the limit, and the verdict
// says so.
func TestReplicas_TheServerIsAway(t *testing.T) {
	t.Parallel()
	between := NewLink(t, startNATS(t))
	all := startReplicas(t, between.Address())
	thaw := between.Freeze()
	defer thaw()
	for _, path := range []string{"/window?k=a", "/bucket?k=a"} {
		if got := all.ask(path, 50); got != [3]int64{33, 33, 33} {
			t.Errorf("%s: the replicas admitted %v, want 33 each", path, got)
		}
	}
	for i := range all {
		if n := all.metric(t, i, "shared_state_local_total"); n != 100 {
			t.Errorf("replica %d decided on %v requests on its own, want 100", i, n)
		}
		all[i].mocks.WaitLine(0, "the shared state does not answer in time")
		harness.Until(t, "the verdict reports it", func() bool { return strings.Contains(all[i].admin.Get("/__admin/verdict").Body, `"shared-state"`) })
	}
	thaw()
	for i := range all {
		harness.Until(t, "the replica asks again", func() bool {
			before := all.metric(t, i, "shared_state_local_total")
			all[i].mocks.Get("/window?k=probe")
			return all.metric(t, i, "shared_state_local_total") == before
		})
		all[i].mocks.WaitLine(0, "the shared state answers again")
	}
	if admitted := sum(all.ask("/window?k=b", 60)); admitted > 100 || admitted < 100-3*8 {
		t.Errorf("the replicas admitted %d, want up to 100, less slices", admitted)
	}
}

// In a cluster, three servers store the state. On a busy machine they may answer late, so nothing is
// counted here.
func TestReplicas_InACluster(t *testing.T) {
	t.Parallel()
	routed, dir := harness.UnusedAddresses(t, 3), t.TempDir()
	var files []string
	for i, route := range routed {
		files = append(files, harness.WriteFile(t, dir, fmt.Sprint(i, ".conf"), fmt.Sprintf(
			"server_name: n%d\nlisten: '127.0.0.1:-1'\njetstream {store_dir: '%s'}\ncluster {name: c, listen: '%s', no_advertise: true, routes: ['nats://%s']}\n",
			i, filepath.ToSlash(filepath.Join(dir, fmt.Sprint(i))), route, strings.Join(routed, "', 'nats://"))))
	}
	addresses := startNATS(t, files...)
	all := startReplicas(t, addresses)
	harness.Until(t, "a number comes from the servers, not from the replica itself", func() bool { return len(all[0].mocks.Get("/next").Body) < 10 })
	nc, err := nats.Connect(addresses)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if stream, err := js.Stream(t.Context(), "TEST"); err != nil || stream.CachedInfo().Config.Replicas != 3 {
		t.Errorf("the stream: %+v, %v; want three replicas", stream, err)
	}
}

// Errors in a shared limit or its server are reported at startup; validate needs no server.
func TestReplicas_AreRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", limits)
	for _, c := range []struct{ state, want string }{
		{"", "[0].endpoint.rate-limit.scope: shared needs a server that replicas count with; expected --shared-state nats://HOST:PORT, or scope: replica"},
		{"", "[2].endpoint.response.body: shared-counter accepts a name in quotes; only in responses, and with --shared-state: shared-counter(\"orders\")"},
		{"", "[4].endpoint.scope: shared needs a server that replicas count with"},
		{"nats://ann:hidden@127.0.0.1:1", "cannot start error=\"open the shared state nats://127.0.0.1:"},
		{"nats://127.0.0.1:1?timeout=1h", `\"1h\" is not valid for timeout of the shared state; expected a duration above 0 of at most 10s`},
		{"nats://127.0.0.1:1?lease=1h", `unknown parameter \"lease\" of the shared state; expected stream, replicas, timeout, creds`},
		{"a directory", `--shared-state: "a directory" is not valid; expected nats://HOST:PORT`},
	} {
		args := []string{"-c", file}
		if c.state != "" {
			args = append(args, "--shared-state", c.state)
		}
		code, stdout, stderr := Refused(t, nil, args...)
		if said := stdout + stderr; c.state == "" && !strings.Contains(said, "mock.yml:2:") || code == 0 || !strings.Contains(said, c.want) || strings.Contains(said, "hidden") {
			t.Errorf("%q: exit code %d, said %q, want %q", c.state, code, said, c.want)
		}
	}
	if code, stdout, stderr := Refused(t, nil, "validate", "-c", file, "--shared-state", "nats://127.0.0.1:1"); code != 0 {
		t.Errorf("validate: exit code %d, said %s%s", code, stdout, stderr)
	}
}
