//go:build unix

package e2e_test

import (
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
	"mockserver/internal/harness/volume"
)

// tally collects the webhooks that a target receives, by the numbers in their paths, without the
// cost of a net/http server.
type tally struct {
	url          string
	mu           sync.Mutex
	key          map[int]string
	again, wrong int // how many were repeated, and how many had no key or a different one
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
		first, ok := a.key[n]
		if ok {
			a.again++
		} else {
			a.key[n] = key
		}
		if key == "" || ok && key != first {
			a.wrong++
		}
	}}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Shutdown() })
	a.url = "http://" + l.Addr().String()
	return a
}

// lacks returns how many of the numbers have not been received.
func (a *tally) lacks(lists [][]int) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, numbers := range lists {
		for _, number := range numbers {
			if _, ok := a.key[number]; !ok {
				n++
			}
		}
	}
	return n
}

// Replicas are killed while they are loaded to their limit. Every webhook whose request was
// answered arrives, unless a replica reports that the webhook was refused because the store was too
// slow. Webhooks that a replica sent in its last moments may arrive again, with the same key.
// MOCKSERVER_KILLS_WEBHOOKS sets the number of webhooks, by default 30,000.
func TestReplicas_KillsUnderLoad(t *testing.T) {
	NeedsProcess(t)
	Program(t)
	kills, total := 4, 30_000
	if !volume.Full() {
		kills, total = 1, 3_000
	}
	const clients = 64
	if asked := os.Getenv("MOCKSERVER_KILLS_WEBHOOKS"); asked != "" {
		total, _ = strconv.Atoi(asked)
	}
	target, store := newTally(t), sharedStore(t)
	var urls [3]atomic.Pointer[string]
	var running, admins [3]*Process
	start := func(i int) {
		running[i], admins[i] = replica(t, target.url, store)
		urls[i].Store(&running[i].URL)
	}
	for i := range running {
		start(i)
	}

	var asked, killed, refused atomic.Int64
	numbers := make([][]int, clients) // numbers of the requests that were answered
	var asking sync.WaitGroup
	began := time.Now()
	client := &fasthttp.Client{MaxConnsPerHost: clients, MaxIdemponentCallAttempts: 1}
	for c := range clients {
		asking.Go(func() {
			for {
				n := int(asked.Add(1))
				if n > total && int(killed.Load()) == kills {
					return
				}
				req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
				req.SetRequestURI(fmt.Sprintf("%s/soon?n=%d", *urls[n%3].Load(), n))
				req.Header.SetMethod("POST")
				if err := client.DoTimeout(req, resp, harness.Patience); err == nil && resp.StatusCode() == 201 {
					numbers[c] = append(numbers[c], n)
				}
				fasthttp.ReleaseRequest(req)
				fasthttp.ReleaseResponse(resp)
			}
		})
	}
	for k := range kills {
		harness.Until(t, "enough requests were sent to kill the next replica", func() bool { return asked.Load() > int64(total*(k+1)/(kills+1)) })
		refused.Add(int64(countersOf(t, admins[k%3]).Refused))
		running[k%3].Signal(syscall.SIGKILL)
		running[k%3].Exit()
		killed.Add(1)
		start(k % 3)
	}
	asking.Wait()
	took := time.Since(began)
	for _, admin := range admins {
		refused.Add(int64(countersOf(t, admin).Refused))
	}
	replied := 0
	for _, list := range numbers {
		replied += len(list)
	}
	harness.Until(t, "each webhook that was not refused has arrived", func() bool { return target.lacks(numbers) <= int(refused.Load()) })
	target.mu.Lock()
	defer target.mu.Unlock()
	t.Logf("%d of %d were answered, %.0f/s; %d kills; %d refused, %d sent twice", replied, asked.Load(), float64(replied)/took.Seconds(), kills, refused.Load(), target.again)
	if target.wrong > 0 || replied < total/2 || int(refused.Load()) > replied/2 {
		t.Errorf("of %d requests %d were answered; %d webhooks were refused, and %d came without their key", asked.Load(), replied, refused.Load(), target.wrong)
	}
}
