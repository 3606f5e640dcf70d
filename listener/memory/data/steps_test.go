package data_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mockserver/config"
	"mockserver/listener"
	"mockserver/listener/listenertest"
)

// payments is a resource whose rows become paid or refused after a time; this move sends a webhook.
const payments = `
- resource:
    path: /payments
    stamp: {created: at, updated: changed}
    filter: [status]
    steps:
      field: status
      first: pending
      move:
        - from: pending
          after: {min: %s, max: %s}
          to: [{weight: 60, value: paid}, {weight: 40, value: refused}]
          set: {receipt: "{{random-hex(8)}}"}
          webhooks: [{url: "%s/{{row.id}}", body: "{{row}}"}]
        - {from: refused, after: %[2]s, to: closed}
`

// shown is a row of payments as responses show it.
type shown struct {
	ID, Status, Receipt string
	At, Changed         time.Time
}

func (c client) row(path string) (row shown) {
	c.Helper()
	status, body, _ := strings.Cut(c.ask("GET "+path), " ")
	if err := json.Unmarshal([]byte(body), &row); err != nil || status != "200" {
		c.Errorf("GET %s: %s %s: %v", path, status, body, err)
	}
	return row
}

// sink is a server that receives webhooks.
func sink(t *testing.T) (url string, got chan shown) {
	got = make(chan shown, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var row shown
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &row); err != nil || r.URL.Path != "/"+row.ID {
			t.Errorf("webhook to %s: %s: %v", r.URL.Path, body, err)
		}
		got <- row
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

// begin serves a configuration.
func begin(t *testing.T, configuration string, opts listener.Options) (*listener.Server, client) {
	t.Helper()
	spec := config.Parse("mock.yml", []byte(configuration))
	if err := spec.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	server := listenertest.Start(t, spec, opts)
	return server, client{t, server.URL()}
}

// TestSteps_PollAndWebhookSeeTheSameInstant polls a row until it has moved: the move is visible
// from its time on and not before, and the webhook contains the row that the poll sees.
func TestSteps_PollAndWebhookSeeTheSameInstant(t *testing.T) {
	url, got := sink(t)
	_, c := begin(t, fmt.Sprintf(payments, "100ms", "100ms", url), listener.Options{})
	if response := c.ask(`POST /payments {"id": "a"}`); !strings.HasPrefix(response, `201 {"id":"a","status":"pending","at":`) {
		t.Fatal(response)
	}
	var row shown
	for row.Status == "" || row.Status == "pending" {
		asked := time.Now()
		row = c.row("/payments/a")
		due := row.At.Add(100 * time.Millisecond)
		// Times in rows are truncated to milliseconds.
		if row.Status == "pending" && asked.After(due.Add(time.Millisecond)) {
			t.Errorf("at %v the row is still pending; it should have moved at %v", asked, due)
		}
		if row.Status != "pending" && !row.Changed.Equal(due) {
			t.Errorf("the row moved at %v; want %v", row.Changed, due)
		}
	}
	if sent := <-got; sent != row && row.Status != "closed" {
		t.Errorf("the webhook has %+v; the row was %+v", sent, row)
	}
	if row.Receipt == "" {
		t.Error("the move has not set the receipt")
	}
}

// TestSteps_RepeatBySeed creates the same rows in different orders on two servers with one seed:
// each row moves in the same way on both.
func TestSteps_RepeatBySeed(t *testing.T) {
	const n = 40
	seed := uint64(7)
	type how struct {
		what  string
		after time.Duration
	}
	run := func(order func(i int) int) map[string]how {
		url, got := sink(t)
		_, c := begin(t, fmt.Sprintf(payments, "20ms", "60ms", url), listener.Options{Seed: &seed})
		for i := range n {
			c.ask(fmt.Sprintf(`POST /payments {"id": "p%d"}`, order(i)))
		}
		moved := map[string]how{}
		for range n {
			row := <-got
			moved[row.ID] = how{row.Status + " " + row.Receipt, row.Changed.Sub(row.At)}
		}
		return moved
	}
	one, other := run(func(i int) int { return i }), run(func(i int) int { return n - 1 - i })
	status := map[string]int{}
	for id, how := range one {
		if o := other[id]; o.what != how.what || (o.after-how.after).Abs() > time.Millisecond { // the precision of times in rows
			t.Errorf("%s moves to %v, but on the other server to %v", id, how, o)
		}
		word, _, _ := strings.Cut(how.what, " ")
		status[word]++
	}
	if len(one) != n || status["paid"] == 0 || status["refused"] == 0 {
		t.Errorf("%d rows have moved: %v", len(one), status)
	}
}

// TestSteps_EachEntryIsDrawnAnew makes a row enter a value again and again: the next value is not
// the same each time.
func TestSteps_EachEntryIsDrawnAnew(t *testing.T) {
	url, got := sink(t)
	seed := uint64(3)
	_, c := begin(t, fmt.Sprintf(payments, "1ms", "1ms", url), listener.Options{Seed: &seed})
	c.ask(`POST /payments {"id": "a"}`)
	status := map[string]int{}
	for range 30 {
		status[(<-got).Status]++
		if response := c.ask(`PATCH /payments/a {"status": "pending"}`); !strings.HasPrefix(response, "200 ") {
			t.Fatal(response)
		}
	}
	if status["paid"] == 0 || status["refused"] == 0 {
		t.Errorf("of 30 entries: %v", status)
	}
}

// TestSteps_OtherChangesKeepTheMove changes another member: the move is made at its planned time. A
// row that is deleted or gets another value does not move.
func TestSteps_OtherChangesKeepTheMove(t *testing.T) {
	url, got := sink(t)
	_, c := begin(t, fmt.Sprintf(payments, "150ms", "150ms", url), listener.Options{})
	for _, id := range []string{"kept", "gone", "held"} {
		c.ask(`POST /payments {"id": "` + id + `"}`)
	}
	at := c.row("/payments/kept").At
	c.ask(`PATCH /payments/kept {"note": "x"}`)
	c.ask(`DELETE /payments/gone`)
	c.ask(`PATCH /payments/held {"status": "held"}`)
	row := <-got
	if row.ID != "kept" || row.Changed.Sub(at) != 150*time.Millisecond {
		t.Errorf("moved %v after it began: %+v", row.Changed.Sub(at), row)
	}
	c.talk([][2]string{
		{"GET /payments/gone", `404 …`},
		{"GET /payments?status=held", `200 [{"id":"held",…`},
		{"GET /payments?status=pending", `200 []`},
	})
}

// TestSteps_EachRowMovesOnce reads and changes rows while they move: each row moves once.
func TestSteps_EachRowMovesOnce(t *testing.T) {
	url, got := sink(t)
	_, c := begin(t, fmt.Sprintf(payments, "5ms", "20ms", url), listener.Options{})
	const n = 200
	var clients sync.WaitGroup
	for client := range 4 {
		clients.Go(func() {
			for i := client; i < n; i += 4 {
				c.ask(fmt.Sprintf(`POST /payments {"id": "p%d"}`, i))
				c.ask(fmt.Sprintf(`PATCH /payments/p%d {"note": %d}`, i/2, i))
				c.ask(fmt.Sprintf("GET /payments/p%d", i/3))
			}
		})
	}
	times := map[string]int{}
	for range n {
		row := <-got
		times[row.ID]++
	}
	clients.Wait()
	for id, k := range times {
		if k != 1 {
			t.Errorf("%s has moved %d times", id, k)
		}
	}
	listed := 0
	for status := range map[string]bool{"paid": true, "refused": true, "closed": true} {
		_, body, _ := strings.Cut(c.ask("GET /payments?limit=100&status="+status), " ")
		listed += strings.Count(body, `"id"`)
	}
	if listed < 100 { // up to 100 rows of each status are listed
		t.Errorf("%d rows are listed by their status", listed)
	}
}

// TestSteps_OfScenarios: a scenario that has no row yet moves too, each key separately.
func TestSteps_OfScenarios(t *testing.T) {
	url, got := sink(t)
	_, c := begin(t, `
- scenario:
    name: order
    per: path-params.id
    first: new
    move:
      - {from: new, after: 50ms, to: expired}
      - {from: paid, after: 1ms, to: sent, webhook: {url: "`+url+`/{{order.key}}", body: {id: "{{order.key}}", status: "{{order.state}}", changed: "{{order.since}}"}}}
- endpoint: {method: POST, path: "/orders/:id", state: {order: new}, next: {order: paid}, response: {body: "{{order.state}}"}}
- endpoint: {path: "/orders/:id", state: {order: []}, response: {body: "{{order.state}}"}}
`, listener.Options{})
	c.talk([][2]string{{"GET /orders/1", "200 new"}, {"POST /orders/2", "200 paid"}})
	if row := <-got; row.ID != "2" || row.Status != "sent" || row.Changed.IsZero() {
		t.Errorf("the webhook has %+v", row)
	}
	c.talk([][2]string{{"GET /orders/2", "200 sent"}})
	for c.ask("GET /orders/1") != "200 expired" { // until the test times out
	}
	c.talk([][2]string{{"POST /orders/1", "404 …"}})
}

// TestSteps_OutliveARestart stops a server while a row waits for its move, and starts it again: the
// row still moves.
func TestSteps_OutliveARestart(t *testing.T) {
	url, got := sink(t)
	spec := fmt.Sprintf(payments, "300ms", "300ms", url)
	file := filepath.Join(t.TempDir(), "state")
	server, c := begin(t, spec, listener.Options{State: file})
	c.ask(`POST /payments {"id": "a"}`)
	if err := server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, c = begin(t, spec, listener.Options{State: file})
	if row := c.row("/payments/a"); row.Status != "pending" {
		t.Errorf("the row is %+v", row)
	}
	if row := <-got; row.ID != "a" || row.Status == "pending" {
		t.Errorf("the webhook has %+v", row)
	}
}

// TestSteps_GoOnInASnapshot restores a snapshot: the row waits for as long as it still had to wait
// when the snapshot was taken.
func TestSteps_GoOnInASnapshot(t *testing.T) {
	url, got := sink(t)
	server, c := begin(t, fmt.Sprintf(payments, "100ms", "100ms", url), listener.Options{})
	c.ask(`POST /payments {"id": "a"}`)
	if _, err := server.Control().Data().Take("before"); err != nil {
		t.Fatal(err)
	}
	first := <-got
	restored := time.Now()
	if err := server.Control().Data().Restore("before"); err != nil {
		t.Fatal(err)
	}
	second := <-got
	if second.Status != first.Status || second.Receipt != first.Receipt || second.Changed.Before(restored) {
		t.Errorf("restored at %v, it moved to %+v; before to %+v", restored, second, first)
	}
	if err := server.Control().Data().Reset(nil, nil); err != nil {
		t.Fatal(err)
	}
	c.talk([][2]string{{"GET /payments/a", "404 …"}})
}

// TestSteps_Errors: invalid steps are refused at load.
func TestSteps_Errors(t *testing.T) {
	for _, m := range []struct{ item, want string }{
		{`data: {name: x, steps: {field: s, move: []}}`, `steps.move: is an empty list`},
		{`data: {name: x, steps: {move: [{from: a, after: 1s, to: b}]}}`, `steps: field is missing`},
		{`data: {name: x, steps: {field: s, move: [{from: a, to: b}]}}`, `after is missing`},
		{`data: {name: x, steps: {field: s, move: [{from: a, after: 1, to: b}]}}`, `after: is a number (1); expected a duration with a unit, such as 20ms or 1.5s, of at most 24h`},
		{`data: {name: x, steps: {field: s, move: [{from: a, after: {p50: 2s, p10: 3s}, to: b}]}}`, `after.p50`},
		{`data: {name: x, steps: {field: s, move: [{from: a, after: {failure-rate: 0.1}, to: b}]}}`, `after.failure-rate: unknown key`},
		{`data: {name: x, steps: {field: s, move: [{from: a, after: 1s, to: []}]}}`, `to: is an empty list`},
		{`data: {name: x, steps: {field: s, move: [{from: a, after: 1s, to: [{value: b, weight: 0}]}]}}`, `only weights of 0`},
		{`data: {name: x, steps: {field: s, move: [{from: a, after: 1s, to: b}, {from: a, after: 2s, to: c}]}}`, `move[1].from: "a" is left by an earlier move`},
		{`data: {name: x, steps: {field: s, move: [{from: a, after: 1s, to: b, set: {id: 1}}]}}`, `set.id: "id" is the key of the row`},
		{`data: {name: x, steps: {field: s, move: [{from: a, after: 1s, to: b, webhook: {url: "http://x/{{json-paramz.a}}"}}]}}`, `json-paramz`},
		{`data: {name: x, steps: {field: s, move: [{from: a, after: 1s, to: b, webhook: {url: "http://x", body: "{{response.status}}"}}]}}`, `response`},
		{`data: {name: x, steps: {field: s, move: [{from: a, after: 1s, to: b, webhooks: [{url: "http://x"}, {url: "http://x", on: any}]}]}}`, `move[0].webhooks[1].on: does not apply to a row that changes by itself`},
		{"data: {name: x}\n- resource: {path: /p, data: x, steps: {field: s, move: [{from: a, after: 1s, to: b}]}}", `resource.steps: the rows are in the set "x"`},
		{`data: {name: x, steps: {field: id, move: [{from: a, after: 1s, to: b}]}}`, `mock.yml:1:34: [0].data.steps.field: "id" is the key of the row; expected another member`},
		{`data: {name: x, key: meta.id, steps: {field: meta, move: [{from: a, after: 1s, to: b}]}}`, `steps.field: "meta" is the key of the row`},
		{`resource: {path: /x, data: {key: k}, steps: {field: k, move: [{from: a, after: 1s, to: b}]}}`, `resource.steps.field: "k" is the key of the row`},
		{`scenario: {name: x, first: a, move: [{from: a, after: 1s}]}`, `to is missing`},
	} {
		problems := listener.Check(config.Parse("mock.yml", []byte("- "+m.item)), listener.Options{})
		if err := problems.Err(); err == nil || !strings.Contains(err.Error(), m.want) {
			t.Errorf("%s:\n got %v\nwant %s", m.item, err, m.want)
		}
	}
}

// TestSteps_SleepTimeAdds: a webhook of a move is due once its sleep-time has passed since the
// move.
func TestSteps_SleepTimeAdds(t *testing.T) {
	server, c := begin(t, `
- resource:
    path: /p
    stamp: {updated: changed}
    steps:
      field: status
      first: new
      move:
        - from: new
          after: {min: 1ms, max: 1ms}
          to: old
          webhooks:
            - {url: "http://127.0.0.1:9/1", body: "{{row}}", sleep-time: 1h}
            - {url: "http://127.0.0.1:9/2", body: "{{row}}", sleep-time: 90m}
`, listener.Options{})
	c.talk([][2]string{{`POST /p {"id": "a"}`, "201 …"}})
	wanted := []time.Duration{time.Hour, 90 * time.Minute}
	for end := time.Now().Add(time.Minute); ; { // a webhook that is accepted and not started yet is due later
		var got []time.Duration
		due, _ := server.PendingWebhooks(10)
		for _, d := range due {
			// Times in rows are truncated to milliseconds.
			got = append(got, d.Due.Truncate(time.Millisecond).Sub(c.row("/p/a").Changed))
		}
		if slices.Equal(got, wanted) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the webhooks are due %v after the move, want %v", got, wanted)
		}
	}
}

// TestSteps_AtOnce: a row whose move takes no time moves like any other.
func TestSteps_AtOnce(t *testing.T) {
	c, _ := serve(t, `
- resource: {path: /p, new-key: int, steps: {field: s, first: a, move: [{from: a, after: 0s, to: b}, {from: b, after: {min: 0s, max: 0s}, to: c}]}}
`)
	c.talk([][2]string{{"POST /p {}", `201 {"id":1,"s":"a"}`}})
	for end := time.Now().Add(time.Minute); ; {
		got := c.ask("GET /p/1")
		if got == `200 {"id":1,"s":"c"}` {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the row is still %s", got)
		}
	}
}
