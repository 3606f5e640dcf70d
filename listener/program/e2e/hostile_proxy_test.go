//go:build unix

package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// passedOn holds the statuses of the cases that are answered differently through a proxy.
var passedOn = map[string][]int{
	"Upgrade: websocket is ignored":      {501},
	"Upgrade: h2c, websocket is ignored": {501},
}

// Hostile clients get the same answers through a proxy as without one.
func TestHostile_ThroughAProxy(t *testing.T) {
	t.Parallel()
	upstream := Serving(t, attacked)
	front := fmt.Sprintf("- upstream: {name: real, url: %q, host: pass}\n- endpoint: {method: any, path: \"/*rest\", response: {proxy: real}}\n", upstream.URL)
	for _, group := range hostileGroups() {
		t.Run(group.name, func(t *testing.T) {
			p := Serving(t, front, append([]string{"--no-cors"}, group.flags...)...)
			for _, c := range group.cases {
				if c.half && slices.Contains(c.want, 200) {
					// A client that sends no more counts as gone once the upstream takes 50 ms, which it may,
					// unless the request was announced as the last one.
					if len(c.want) > 1 {
						continue
					}
					c.send = strings.Replace(c.send, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)
				}
				if statuses := passedOn[c.name]; statuses != nil {
					c.want, c.holds = statuses, ""
				}
				t.Run(c.name, func(t *testing.T) {
					c.check(t, suffer(p, t, c))
					p.Get("/a").Want(t, 200, "a")
				})
			}
			if output := strings.Join(p.Output(), "\n"); strings.Contains(output, "panic") {
				t.Error(output)
			}
		})
	}
	quiet(upstream)
}
