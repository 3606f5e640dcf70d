package traffic

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"mockserver/config"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// Evictions are logged at most once a second, and each is counted once: in the next line, which
// comes after a second or when the server stops.
func TestLimiter_TellsEvictions(t *testing.T) {
	for _, c := range []struct {
		name string
		then func(l *Limiter)
	}{
		{"nothing comes", func(*Limiter) { <-time.After(time.Second) }},
		{"the server ends", (*Limiter).Flush},
	} {
		synctest.Test(t, func(t *testing.T) {
			var logged bytes.Buffer
			var k Carried
			k.Begin()
			e := config.Parse("m.yml", []byte("- endpoint: {path: /x, response: {body: ok}, rate-limit: {max-requests: 3, key-fn: query-params.q}}")).Endpoints[0]
			l := NewLimiter(&e, nil, Options{Carried: &k, Log: slog.New(slog.NewTextHandler(&logged, nil))})
			l.quotas.mostQuotas = 1
			for n := range 300 {
				var r matcher.Request
				r.In.Method, r.In.Target = []byte("GET"), []byte(fmt.Sprint("/x?q=", n))
				if _, ok := l.Admit(&r, new(reply.Reply)); !ok {
					t.Fatalf("%s: request %d is refused", c.name, n)
				}
			}
			c.then(l)
			synctest.Wait()
			lines := evictions.FindAllStringSubmatch(logged.String(), -1)
			sum := 0
			for _, line := range lines {
				n, err := strconv.Atoi(line[1])
				if err != nil {
					t.Fatal(err)
				}
				sum += n
			}
			if left := l.evicted.Load(); len(lines) != 2 || sum < 200 || left > 0 {
				t.Errorf("%s: %d lines report %d keys, want %d:\n%s", c.name, len(lines), sum, left, logged.String())
			}
		})
	}
}

var evictions = regexp.MustCompile(`level=WARN msg="a rate limit has more keys than it can keep: [^"]+" endpoint="GET /x" evicted=(\d+)`)
