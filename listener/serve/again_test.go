package serve

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// An endpoint that changes rows is answered directly whatever else is declared. If another request
// changes the row first, so that an endpoint with a latency matches now, the request waits outside of
// the read that it arrived in, and each change is made and counted once.
func TestDirect_AChangeThatLeadsToAnEndpointThatWaits(t *testing.T) {
	t.Parallel()
	s := configured(t, `
- upstream: {name: real, url: "http://127.0.0.1:9"}
- endpoint: {path: /passed, response: {proxy: real}}
- data: {name: rows, rows: [{id: 1, n: 0, odd: false}]}
- endpoint: {method: POST, path: /turn, find: {row: {in: rows, key: 1}}, if: row.odd = false, do: [{merge: {in: rows, key: 1, with: {odd: true}}}, {add: {in: rows, key: 1, field: n, by: 1}}], response: {body: even}}
- endpoint: {method: POST, path: /turn, find: {row: {in: rows, key: 1}}, latency: {min: 1ms, max: 1ms}, do: [{merge: {in: rows, key: 1, with: {odd: false}}}, {add: {in: rows, key: 1, field: n, by: 1}}], response: {body: odd}}
- endpoint: {path: /turns, find: {row: {in: rows, key: 1}}, response: {body: "{{row.n}}"}}
`)
	s.listen(t)
	if responses := s.snapshot.Load().Responses; !responses[1].Direct || responses[0].Direct || responses[2].Direct {
		t.Errorf("answered directly: %v, %v, %v; want only the second", responses[0].Direct, responses[1].Direct, responses[2].Direct)
	}
	const clients, each = 8, 100
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for range each {
				resp, err := http.Post("http://"+s.address+"/turn", "text/plain", strings.NewReader("x"))
				if err != nil {
					t.Error(err)
					return
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if got := string(body); err != nil || resp.StatusCode != 200 || got != "even" && got != "odd" {
					t.Errorf("got %d, %q, %v", resp.StatusCode, got, err)
				}
			}
		})
	}
	all.Wait()
	resp, err := http.Get("http://" + s.address + "/turns")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); string(body) != fmt.Sprint(clients*each) {
		t.Errorf("%s changes were made, want %d", body, clients*each)
	}
}
