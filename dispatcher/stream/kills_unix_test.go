//go:build unix

package stream

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"mockserver/internal/harness"
)

// tally collects the webhooks that come to a target, by the numbers in their addresses, without the
// cost of a server of net/http.
type tally struct {
	url          string
	mu           sync.Mutex
	key          map[int]string
	again, wrong int // how many came again, and with another key
}

func newTally(t *testing.T) *tally {
	t.Helper()
	a := &tally{key: map[int]string{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &fasthttp.Server{Handler: func(ctx *fasthttp.RequestCtx) {
		n, _ := strconv.Atoi(string(ctx.QueryArgs().Peek("n")))
		key := string(ctx.Request.Header.Peek("Idempotency-Key"))
		a.mu.Lock()
		defer a.mu.Unlock()
		if first, ok := a.key[n]; !ok {
			a.key[n] = key
		} else {
			a.again++
			if key == "" || key != first {
				a.wrong++
			}
		}
	}}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Shutdown() })
	a.url = "http://" + l.Addr().String()
	return a
}

// lacks returns how many of the numbers have not come.
func (a *tally) lacks(numbers []int) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, number := range numbers {
		if _, ok := a.key[number]; !ok {
			n++
		}
	}
	return n
}

// Replicas are killed while they are driven to their limit. Each webhook that a client was promised
// comes; what a replica sent within its last moments may come again, with its key. The volume is
// MOCKSERVER_KILLS_WEBHOOKS, 30,000 if it is not set.
func TestReplicas_KillsUnderLoad(t *testing.T) {
	harness.Program(t)
	const kills, clients = 4, 64
	total, _ := strconv.Atoi(cmp.Or(os.Getenv("MOCKSERVER_KILLS_WEBHOOKS"), "30000"))
	target, store := newTally(t), location(t, brief)
	var urls [3]atomic.Pointer[string]
	var running [3]*harness.Process
	start := func(i int) {
		running[i], _ = replica(t, target.url, store)
		urls[i].Store(&running[i].URL)
	}
	for i := range running {
		start(i)
	}

	var asked, promised atomic.Int64
	numbers := make([][]int, clients) // that were promised
	var asking sync.WaitGroup
	began := time.Now()
	client := &fasthttp.Client{MaxConnsPerHost: clients, MaxIdemponentCallAttempts: 1}
	for c := range clients {
		asking.Go(func() {
			for {
				n := int(asked.Add(1))
				if n > total {
					return
				}
				req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
				req.SetRequestURI(fmt.Sprintf("%s/soon?n=%d", *urls[n%3].Load(), n))
				req.Header.SetMethod("POST")
				// What was asked of a killed one is not promised.
				if err := client.DoTimeout(req, resp, harness.Patience); err == nil && resp.StatusCode() == 201 {
					numbers[c] = append(numbers[c], n)
					promised.Add(1)
				}
				fasthttp.ReleaseRequest(req)
				fasthttp.ReleaseResponse(resp)
			}
		})
	}
	for k := range kills {
		harness.Until(t, "it is time to kill one", func() bool { return asked.Load() > int64(total*(k+1)/(kills+1)) })
		running[k%3].Signal(syscall.SIGKILL)
		running[k%3].Exit()
		start(k % 3)
	}
	asking.Wait()
	rate := float64(promised.Load()) / time.Since(began).Seconds()
	for _, list := range numbers {
		harness.Until(t, "each webhook has come", func() bool { return target.lacks(list) == 0 })
	}
	target.mu.Lock()
	defer target.mu.Unlock()
	t.Logf("%d promised of %d asked, %.0f/s; %d kills; %d came again", promised.Load(), total, rate, kills, target.again)
	if target.wrong > 0 || promised.Load() < int64(total/2) {
		t.Errorf("promised %d of %d, %d came again with another key", promised.Load(), total, target.wrong)
	}
}
