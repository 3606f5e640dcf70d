package traffic

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/listener/reply"
	"mockserver/matcher"
)

// Evictions are logged once for a limit.
func TestLimiter_LogsEvictions(t *testing.T) {
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
			t.Fatalf("request %d is refused", n)
		}
	}
	const line = `level=WARN msg="a rate limit has more keys than it can keep: the oldest start again" endpoint="GET /x"`
	if got := logged.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, line) {
		t.Errorf("logged %s, want one line with %s", got, line)
	}
}
