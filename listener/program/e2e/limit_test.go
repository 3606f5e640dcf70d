package e2e_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mockserver/internal/harness"
)

const limitedToThree = `
- endpoint: {path: /x, response: {body: ok}, rate-limit: {window-ms: 3600000, max-requests: 3}}
`

func TestRateLimit_SaysWhereTheClientStands(t *testing.T) {
	t.Parallel()
	p := Serving(t, limitedToThree)
	for i, want := range []struct {
		status    int
		remaining string
	}{{200, "2"}, {200, "1"}, {200, "0"}, {429, "0"}, {429, "0"}} {
		before := time.Now()
		a := p.Get("/x")
		reset, err := strconv.ParseInt(a.Header.Get("X-RateLimit-Reset"), 10, 64)
		if a.Status != want.status || a.Header.Get("X-RateLimit-Limit") != "3" || a.Header.Get("X-RateLimit-Remaining") != want.remaining || err != nil {
			t.Errorf("request %d: got %d %v", i, a.Status, a.Header)
		}
		if last := time.Now().Add(time.Hour + 2*time.Second).Unix(); reset < before.Add(time.Hour-harness.Patience).Unix() || reset > last {
			t.Errorf("request %d: the reset is %d, want about %d", i, reset, last)
		}
		wait, _ := strconv.Atoi(a.Header.Get("Retry-After"))
		if a.Status == 429 && (wait < 3600-int(harness.Patience.Seconds()) || wait > 3600) || a.Status == 200 && wait != 0 {
			t.Errorf("request %d: got %d with Retry-After %d", i, a.Status, wait)
		}
		if a.Status == 429 && !strings.HasPrefix(a.Body, `{"error":"Rate limit exceeded","code":"rate_limited","message":"`) {
			t.Errorf("got %s", a.Body)
		}
	}
	if a := p.Do("OPTIONS", "/x", ""); a.Status != 200 || a.Header.Get("X-RateLimit-Limit") != "" {
		t.Errorf("OPTIONS: got %d %v, want no limit", a.Status, a.Header)
	}
	if a := p.Do("HEAD", "/x", ""); a.Status != 429 || a.Header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("HEAD: got %d %v, want HEAD to count as GET", a.Status, a.Header)
	}
}

// The client address in X-Forwarded-For is used only if the header is trusted.
func TestRateLimit_ForwardedAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, flag, variable string
		others               bool // other addresses count as other clients
	}{{"by default", "", "", false}, {"by a flag", "--trust-forwarded", "", true}, {"by a variable", "", "MOCKSERVER_TRUST_FORWARDED=true", true},
		{"the flag beats the variable", "--trust-forwarded=false", "MOCKSERVER_TRUST_FORWARDED=true", false}} {
		file := harness.WriteFile(t, t.TempDir(), "mock.yml", limitedToThree)
		args := []string{"-c", file}
		if c.flag != "" {
			args = append(args, c.flag)
		}
		p := Launch(t, []string{c.variable}, args...).Listening()
		served := 0
		for i := range 10 {
			if p.Get("/x", "X-Forwarded-For: 203.0.113."+strconv.Itoa(i)+", 10.0.0.1").Status == 200 {
				served++
			}
		}
		if want := map[bool]int{true: 10, false: 3}[c.others]; served != want {
			t.Errorf("%s: %d of 10 were served, want %d", c.name, served, want)
		}
		served = 0
		for range 10 {
			if p.Get("/x", "X-Forwarded-For: not an address").Status == 200 {
				served++
			}
		}
		if want := map[bool]int{true: 3, false: 0}[c.others]; served != want {
			t.Errorf("%s: %d of 10 badly forged requests were served, want %d", c.name, served, want)
		}
	}
}

// A reload that changes something else keeps counting.
func TestRateLimit_SurvivesAReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := harness.WriteFile(t, dir, "mock.yml", limitedToThree)
	p := Start(t, "-c", file)
	for range 3 {
		p.Get("/x").Want(t, 200, "ok")
	}
	from := len(p.Output())
	harness.WriteFile(t, dir, "mock.yml", "- endpoint: {path: /new, response: {body: new}}"+limitedToThree)
	p.WaitLine(from, "configuration reloaded")
	p.Get("/new").Want(t, 200, "new")
	if a := p.Get("/x"); a.Status != 429 {
		t.Errorf("got %d, want the limit to go on counting", a.Status)
	}
	from = len(p.Output())
	harness.WriteFile(t, dir, "mock.yml", strings.Replace(limitedToThree, "max-requests: 3", "max-requests: 4", 1))
	p.WaitLine(from, "configuration reloaded")
	for _, status := range []int{200, 200, 200, 200, 429} {
		if a := p.Get("/x"); a.Status != status {
			t.Errorf("with another limit: got %d, want %d", a.Status, status)
		}
	}
}

// With each algorithm, a refused request has a Retry-After, and requests are admitted again later.
func TestRateLimit_RetryAfterHolds(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"sliding-window", "fixed-window", "token-bucket"} {
		p := Serving(t, `- endpoint: {path: /x, response: {body: ok}, rate-limit: {window-ms: 300, max-requests: 2, algorithm: `+algorithm+`}}`)
		const get = "GET /x HTTP/1.1\r\nHost: a\r\n"
		burst := wire(p, strings.Repeat(get+"\r\n", 9)+get+"Connection: close\r\n\r\n")
		if !strings.Contains(burst, "HTTP/1.1 429 ") || !strings.Contains(burst, "Retry-After: 1\r\n") || !strings.Contains(burst, "HTTP/1.1 200 ") {
			t.Errorf("%s: got %s, want some served and some refused", algorithm, burst)
		}
		for served := 0; served < 4; {
			switch a := p.Get("/x"); {
			case a.Status == 200:
				served++
			case a.Status == 429 && a.Header.Get("Retry-After") == "1":
			default:
				t.Fatalf("%s: got %d %v", algorithm, a.Status, a.Header)
			}
		}
	}
}

// Each limit of the example behaves as the example's comments say.
func TestLimits_OfTheExample(t *testing.T) {
	t.Parallel()
	p := Start(t, "-c", File("examples", "limits.yml"))
	for _, c := range []struct {
		path, header string
		served       int
	}{
		{"/search", "X: y", 3}, {"/keyed", "Api-Key: ann", 2}, {"/keyed", "Api-Key: ben", 2}, {"/keyed", "X: y", 2},
		{"/tenants/7/reports", "X: y", 5}, {"/tenants/8/reports", "X: y", 5},
	} {
		for i := range c.served + 2 {
			if a := p.Get(c.path, c.header); (a.Status == 200) != (i < c.served) || a.Status != 200 && a.Status != 429 {
				t.Errorf("%s, %s, request %d: got %d", c.path, c.header, i, a.Status)
			}
		}
	}
	statuses := make(chan int, 40)
	var clients sync.WaitGroup
	for range cap(statuses) {
		clients.Go(func() {
			a, err := p.Try("GET", "/reports", "")
			if err != nil {
				t.Error(err)
			}
			statuses <- a.Status
		})
	}
	clients.Wait()
	close(statuses)
	got := map[int]int{}
	for status := range statuses {
		got[status]++
	}
	if got[200] < 10 || got[503] == 0 || got[200]+got[503] != 40 {
		t.Errorf("40 at once: got %v, want ten or more served, and others refused", got)
	}
}
