//go:build measure

package e2e_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	generator "mockserver/bench/load"
	"mockserver/internal/harness"
)

// generatorReport contains the fields of a report that TestGenerators examines.
type generatorReport struct {
	Arrivals struct {
		Pattern       string
		ArrivalRate   float64 `json:"arrival_rate"`
		Stops         int
		LongestStop   float64                 `json:"longest_stop"`
		OverlapShare  struct{ Value float64 } `json:"overlapping_share"`
		Dispersion    struct{ Value float64 }
		PerConnection float64 `json:"per_connection"`
		Busy          float64
		Schedule      struct {
			ErrorP50 struct{ Value float64 } `json:"error_p50"`
			ErrorP99 struct{ Value float64 } `json:"error_p99"`
		}
	}
	Verdict struct {
		Trusted      bool
		Decisive     []string
		Explanations []struct{ Code, Text string }
	}
}

const generated = 8 * time.Second

// generate runs a load generator to its end; disturb, if set, is called while it runs.
func generate(t *testing.T, disturb func(*exec.Cmd), words ...string) {
	t.Helper()
	if _, err := exec.LookPath(words[0]); err != nil {
		t.Skipf("%s is not installed", words[0])
	}
	cmd := exec.Command(words[0], words[1:]...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if disturb != nil {
		disturb(cmd)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

// pauses stops a generator for 60 ms, once a second.
func pauses(cmd *exec.Cmd) {
	ticks := time.NewTicker(60 * time.Millisecond)
	defer ticks.Stop()
	for tick := range 80 {
		<-ticks.C
		switch tick % 16 {
		case 14:
			_ = cmd.Process.Signal(syscall.SIGSTOP) // it has not ended
		case 15:
			_ = cmd.Process.Signal(syscall.SIGCONT)
		}
	}
}

// atRandom sends requests at the times of a Poisson process.
func atRandom(url string, rate float64) {
	client := http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	var all sync.WaitGroup
	defer all.Wait()
	for begun, due := time.Now(), time.Duration(0); due < generated; due += time.Duration(rand.ExpFloat64() / rate * float64(time.Second)) {
		if early := due - time.Since(begun); early > 0 {
			timer := time.NewTimer(early)
			<-timer.C
		}
		all.Go(func() {
			if response, err := client.Get(url); err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		})
	}
}

// Load generators that people use are named rightly: by make generators, on a quiet machine.
func TestGenerators(t *testing.T) {
	NeedsProcess(t)
	p, a := Administered(t, `
- endpoint: {path: /fixed, response: {body: x}}
- endpoint: {path: /wait, latency: {min: 20ms, max: 20ms}, response: {body: x}}
`)
	fixed, wait, length := p.URL+"/fixed", p.URL+"/wait", generated.String()
	targets := harness.WriteFile(t, t.TempDir(), "targets", "GET "+fixed+"\n")
	vegeta := func(disturb func(*exec.Cmd)) func(*testing.T) {
		return func(t *testing.T) {
			generate(t, disturb, "vegeta", "attack", "-rate", "1000", "-duration", length, "-output", "/dev/null", "-targets", targets)
		}
	}
	for _, c := range []struct {
		name, schedule, pattern, explanation string
		run                                  func(t *testing.T)
	}{
		{"bench, constant", `{"rate": 2000}`, "constant", "", func(t *testing.T) {
			plan := generator.Plan{
				Address: strings.TrimPrefix(p.URL, "http://"), Requests: [][]byte{[]byte("GET /fixed HTTP/1.1\r\nHost: x\r\n\r\n")},
				Wants: []generator.Want{{Length: -1}}, Connections: 32, Duration: generated, Rate: 2000,
			}
			if _, err := plan.Run(context.Background()); err != nil {
				t.Fatal(err)
			}
		}},
		{"poisson", `{"rate": 1000, "process": "poisson"}`, "poisson", "", func(*testing.T) { atRandom(fixed, 1000) }},
		{"wrk", "", "closed", "", func(t *testing.T) { generate(t, nil, "wrk", "-t1", "-c16", "-d8s", fixed) }},
		{"wrk, 20 ms declared", "", "closed", "", func(t *testing.T) { generate(t, nil, "wrk", "-t1", "-c16", "-d8s", wait) }},
		{"wrk, a connection for each request", "", "", "connections", func(t *testing.T) {
			generate(t, nil, "wrk", "-t1", "-c16", "-d8s", "-H", "Connection: close", fixed)
		}},
		{"h2load", "", "closed", "", func(t *testing.T) { generate(t, nil, "h2load", "-c4", "-m10", "-D8", fixed) }},
		{"h2load, 20 ms declared", "", "closed", "", func(t *testing.T) { generate(t, nil, "h2load", "-c4", "-m10", "-D8", wait) }},
		{"vegeta", `{"rate": 1000}`, "constant", "", vegeta(nil)},
		{"vegeta, stopped", `{"rate": 1000}`, "", "generator", vegeta(pauses)},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := `{"schedule": ` + c.schedule + `}`
			if c.schedule == "" {
				body = ""
			}
			var entry struct{ ID string }
			a.Do("POST", "/__admin/runs", body).Into(t, 201, &entry)
			t.Cleanup(func() { a.Do("POST", "/__admin/runs/"+entry.ID+"/stop", "") }) // if the generator is not installed
			c.run(t)
			var r generatorReport
			a.Do("POST", "/__admin/runs/"+entry.ID+"/stop", "").Into(t, 200, &r)
			got := r.Arrivals
			t.Logf("%s: %.0f/s, dispersion %.2f, busy %.2f, overlapping %.2f, %.1f a connection, %d stops up to %.0f ms, off by %.2f and %.2f ms, trusted %v %v",
				got.Pattern, got.ArrivalRate, got.Dispersion.Value, got.Busy, got.OverlapShare.Value, got.PerConnection, got.Stops, got.LongestStop,
				got.Schedule.ErrorP50.Value, got.Schedule.ErrorP99.Value, r.Verdict.Trusted, r.Verdict.Explanations)
			if c.pattern != "" && got.Pattern != c.pattern {
				t.Errorf("pattern %s, want %s", got.Pattern, c.pattern)
			}
			explained := func(code string) bool {
				return slices.ContainsFunc(r.Verdict.Explanations, func(e struct{ Code, Text string }) bool { return e.Code == code })
			}
			for _, code := range []string{"generator", "connections"} {
				stray := explained(code) && code != c.explanation && !explained("machine") // which stops generators
				if stray || code == c.explanation && !explained(code) || slices.Contains(r.Verdict.Decisive, code) {
					t.Errorf("explanation %s: %v in %+v", code, explained(code), r.Verdict)
				}
			}
		})
	}
}
