package main

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const limitedToThree = `
- endpoint: {path: /x, response: {body: ok}, rate-limit: {window-ms: 3600000, max-requests: 3}}
`

func TestRateLimit_SaysWhereTheClientStands(t *testing.T) {
	t.Parallel()
	p := serving(t, limitedToThree)
	for i, want := range []struct {
		status    int
		remaining string
	}{{200, "2"}, {200, "1"}, {200, "0"}, {429, "0"}, {429, "0"}} {
		before := time.Now()
		a := p.get("/x")
		reset, err := strconv.ParseInt(a.header.Get("X-RateLimit-Reset"), 10, 64)
		if a.status != want.status || a.header.Get("X-RateLimit-Limit") != "3" || a.header.Get("X-RateLimit-Remaining") != want.remaining || err != nil {
			t.Errorf("request %d: got %d %v", i, a.status, a.header)
		}
		if last := time.Now().Add(time.Hour + 2*time.Second).Unix(); reset < before.Add(time.Hour-patience).Unix() || reset > last {
			t.Errorf("request %d: the reset is %d, want about %d", i, reset, last)
		}
		wait, _ := strconv.Atoi(a.header.Get("Retry-After"))
		if a.status == 429 && (wait < 3600-int(patience.Seconds()) || wait > 3600) || a.status == 200 && wait != 0 {
			t.Errorf("request %d: got %d with Retry-After %d", i, a.status, wait)
		}
		if a.status == 429 && !strings.HasPrefix(a.body, `{"error":"Rate limit exceeded","code":"rate_limited","message":"`) {
			t.Errorf("got %s", a.body)
		}
	}
	if a := p.do("OPTIONS", "/x", ""); a.status != 200 || a.header.Get("X-RateLimit-Limit") != "" {
		t.Errorf("OPTIONS: got %d %v, want that it has no limit", a.status, a.header)
	}
	if a := p.do("HEAD", "/x", ""); a.status != 429 || a.header.Get("X-RateLimit-Remaining") != "0" {
		t.Errorf("HEAD: got %d %v, want that it counts as GET", a.status, a.header)
	}
}

// What a client claims to be counts only if it is trusted.
func TestRateLimit_ForwardedAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, flag, variable string
		others               bool // other addresses are other clients
	}{{"by default", "", "", false}, {"by a flag", "--trust-forwarded", "", true}, {"by a variable", "", "MOCKSERVER_TRUST_FORWARDED=true", true},
		{"the flag beats the variable", "--trust-forwarded=false", "MOCKSERVER_TRUST_FORWARDED=true", false}} {
		file := writeFile(t, t.TempDir(), "mock.yml", limitedToThree)
		args := []string{"-c", file}
		if c.flag != "" {
			args = append(args, c.flag)
		}
		p := launch(t, []string{c.variable}, args...).listening()
		served := 0
		for i := range 10 {
			if p.get("/x", "X-Forwarded-For: 203.0.113."+strconv.Itoa(i)+", 10.0.0.1").status == 200 {
				served++
			}
		}
		if want := map[bool]int{true: 10, false: 3}[c.others]; served != want {
			t.Errorf("%s: %d of 10 were served, want %d", c.name, served, want)
		}
		served = 0
		for range 10 {
			if p.get("/x", "X-Forwarded-For: not an address").status == 200 {
				served++
			}
		}
		if want := map[bool]int{true: 3, false: 0}[c.others]; served != want {
			t.Errorf("%s: %d of 10 that forge badly were served, want %d", c.name, served, want)
		}
	}
}

// A reload that changes something else goes on counting.
func TestRateLimit_SurvivesAReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := writeFile(t, dir, "mock.yml", limitedToThree)
	p := start(t, "-c", file)
	for range 3 {
		p.get("/x").want(t, 200, "ok")
	}
	from := len(p.output())
	writeFile(t, dir, "mock.yml", "- endpoint: {path: /new, response: {body: new}}"+limitedToThree)
	p.waitLine(from, "configuration reloaded")
	p.get("/new").want(t, 200, "new")
	if a := p.get("/x"); a.status != 429 {
		t.Errorf("got %d, want that it goes on counting", a.status)
	}
	from = len(p.output())
	writeFile(t, dir, "mock.yml", strings.Replace(limitedToThree, "max-requests: 3", "max-requests: 4", 1))
	p.waitLine(from, "configuration reloaded")
	for _, status := range []int{200, 200, 200, 200, 429} {
		if a := p.get("/x"); a.status != status {
			t.Errorf("of another limit: got %d, want %d", a.status, status)
		}
	}
}

// The window slides: a request that was refused is admitted when Retry-After says so.
func TestRateLimit_RetryAfterHolds(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"sliding-window", "fixed-window", "token-bucket"} {
		p := serving(t, `- endpoint: {path: /x, response: {body: ok}, rate-limit: {window-ms: 300, max-requests: 2, algorithm: `+algorithm+`}}`)
		refused := 0
		for served := 0; served < 6; {
			switch a := p.get("/x"); {
			case a.status == 200:
				served++
			case a.status == 429 && a.header.Get("Retry-After") == "1":
				refused++
			default:
				t.Fatalf("%s: got %d %v", algorithm, a.status, a.header)
			}
		}
		if refused == 0 {
			t.Errorf("%s: none was refused", algorithm)
		}
	}
}

// What the comments of the example say of each of its limits.
func TestLimits_OfTheExample(t *testing.T) {
	t.Parallel()
	p := start(t, "-c", exampleFile(t, "limits.yml"))
	for _, c := range []struct {
		path, header string
		served       int
	}{
		{"/search", "X: y", 3}, {"/keyed", "Api-Key: ann", 2}, {"/keyed", "Api-Key: ben", 2}, {"/keyed", "X: y", 2},
		{"/tenants/7/reports", "X: y", 5}, {"/tenants/8/reports", "X: y", 5},
	} {
		for i := range c.served + 2 {
			if a := p.get(c.path, c.header); (a.status == 200) != (i < c.served) || a.status != 200 && a.status != 429 {
				t.Errorf("%s, %s, request %d: got %d", c.path, c.header, i, a.status)
			}
		}
	}
	statuses := make(chan int, 40)
	var clients sync.WaitGroup
	for range cap(statuses) {
		clients.Go(func() {
			a, err := p.try("GET", "/reports", "")
			if err != nil {
				t.Error(err)
			}
			statuses <- a.status
		})
	}
	clients.Wait()
	close(statuses)
	got := map[int]int{}
	for status := range statuses {
		got[status]++
	}
	if got[200] < 10 || got[503] == 0 || got[200]+got[503] != 40 {
		t.Errorf("40 at once: got %v, want ten or more that are served, and others that are not", got)
	}
}
