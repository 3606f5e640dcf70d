package data_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mockserver/config"
	"mockserver/listener"
	"mockserver/listener/listenertest"
)

// once has a row for each request that may get one, and reasons why a request gets none.
const once = `
- data: {name: p, index: [a, b], new-key: int, rows: [{id: 1, a: x, b: 1}, {id: 2, a: y, b: 1}, {id: 3, a: x, b: 2}, {id: 4, a: x, b: 1}]}
- data: {name: n, rows: [{id: 1, n: 0}]}
- resource: {path: /p, data: p}
- endpoint: {path: /if, find: {r: {in: p, pick: once}}, if: r = null, response: {body: none}}
- endpoint: {path: /if, find: {r: {in: p, pick: once}}, if: query-params.ok = true, response: {body: "{{r.id}}"}}
- endpoint: {path: /if, response: {status: 401}}
- endpoint: {path: /limit, rate-limit: {max-requests: 1, window: 24h}, find: {r: {in: p, pick: once}}, response: {body: "{{r.id}}"}}
- endpoint: {path: /failed, latency: {min: 0, max: 1ms, failure-rate: 1}, find: {r: {in: p, pick: once}}, response: {body: "{{r.id}}"}}
- endpoint: {path: /do, find: {r: {in: p, pick: once}}, do: [{add: {in: n, key: 1, field: n, by: query-params.by, at-most: 1, else: {status: 402}}}], response: {body: "{{r.id}}"}}
- endpoint: {path: /changed, find: {r: {in: p, pick: once}}, do: [{merge: {in: p, key: r.id, with: {a: z}, as: m}}], response: {body: "{{m.id}} {{m.a}}"}}
- endpoint: {path: /gone, find: {r: {in: p, pick: once}}, do: [{delete: {in: p, key: r.id}}], response: {body: "{{r.id}}"}}
- endpoint: {path: /two, find: {r: {in: p, pick: once}, s: {in: p, where: {a: x}, pick: once}, n: {in: n, pick: once}}, response: {body: "{{r.id}} {{s.id}} {{n.id}}"}}
- endpoint: {path: /where/:a, find: {r: {in: p, where: {a: path-params.a}, pick: once}}, response: {body: "{{r.id|default:\"none\"}}"}}
- endpoint: {path: /both, find: {r: {in: p, where: {a: x, b: 1}, pick: once}}, response: {body: "{{r.id|default:\"none\"}}"}}
- endpoint: {path: /some, select: sequence, responses: [{body: "{{r.id}}"}, {body: "{{r.id}}", do: []}], find: {r: {in: p, pick: once}}}
`

// TestOnce: each row is picked at most once, whichever endpoint asks, and only by a request that is
// answered with it.
func TestOnce(t *testing.T) {
	for name, steps := range map[string][][2]string{
		"a condition":           {{"GET /if", "401 "}, {"GET /if", "401 "}, {"GET /if", "401 "}, {"GET /if?ok=true", "200 1"}, {"GET /if?ok=true", "200 2"}, {"GET /if?ok=true", "200 3"}, {"GET /if?ok=true", "200 4"}, {"GET /if", "200 none"}},
		"a limit":               {{"GET /limit", "200 1"}, {"GET /limit", "429 …"}, {"GET /limit", "429 …"}, {"GET /both", "200 4"}},
		"an injected failure":   {{"GET /failed", "500 …"}, {"GET /failed", "500 …"}, {"GET /where/x", "200 1"}},
		"a change refused":      {{"GET /do?by=2", "402 "}, {"GET /do?by=x", "422 …"}, {"GET /do?by=1", "200 1"}, {"GET /do?by=1", "402 "}, {"GET /do?by=0", "200 2"}},
		"HEAD":                  {{"HEAD /some", "200 "}, {"HEAD /do?by=1", "200 "}, {"GET /do?by=1", "200 1"}},
		"a change of the row":   {{"GET /changed", "200 1 z"}, {"GET /changed", "200 2 z"}, {"GET /where/z", "200 none"}, {"GET /where/x", "200 3"}},
		"a row that is deleted": {{"GET /gone", "200 1"}, {"DELETE /p/2", "204 "}, {"GET /gone", "200 3"}, {"POST /p {\"a\": \"x\"}", "201 …"}, {"GET /where/x", "200 4"}, {"GET /where/x", "200 5"}, {"GET /where/x", "200 none"}},
		"several finds":         {{"GET /two", "200 1 3 1"}, {"GET /two", "200 2 4 "}, {"GET /two", "200   "}},
		"several members":       {{"GET /where/x", "200 1"}, {"GET /both", "200 4"}, {"GET /both", "200 none"}, {"PATCH /p/3 {\"b\": 1}", "200 …"}, {"GET /both", "200 3"}, {"GET /where/y", "200 2"}, {"GET /where/x", "200 none"}},
		"a row that comes back": {{"GET /where/x", "200 1"}, {"DELETE /p/1", "204 "}, {"POST /p {\"id\": 1, \"a\": \"x\"}", "201 …"}, {"GET /where/x", "200 3"}, {"GET /where/x", "200 4"}, {"GET /where/x", "200 1"}},
		"outcomes":              {{"GET /some", "200 1"}, {"GET /some", "200 2"}, {"GET /some", "200 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := serve(t, once)
			client{t, c.url}.talk(steps)
		})
	}
}

// TestOnce_ManyClients: clients that compete for rows, and for other rows that they change, get
// each row once, and none of them gets none.
func TestOnce_ManyClients(t *testing.T) {
	const clients, each = 16, 25
	var rows strings.Builder
	for i := range clients * each {
		fmt.Fprintf(&rows, "{id: %d, a: x}, ", i)
	}
	server, c := begin(t, `
- data: {name: p, index: [a], rows: [`+rows.String()+`]}
- data: {name: n, rows: [{id: 1, n: 0}]}
- endpoint: {path: /0, find: {r: {in: p, pick: once}}, response: {body: "{{r.id}}"}}
- endpoint: {path: /1, find: {r: {in: p, where: {a: x}, pick: once}}, do: [{add: {in: n, key: 1, field: n, by: 1}}], response: {body: "{{r.id}}"}}
- endpoint: {path: /2, find: {r: {in: p, pick: once}}, do: [{merge: {in: p, key: r.id, with: {used: true}}}], response: {body: "{{r.id}}"}}
`, listener.Options{})
	var mu sync.Mutex
	var all sync.WaitGroup
	var got []string
	for i := range clients {
		all.Go(func() {
			for range each {
				response := c.ask(fmt.Sprint("GET /", i%3))
				mu.Lock()
				got = append(got, response)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(got)
	if n := len(slices.Compact(got)); n != clients*each || slices.Contains(got, "200 ") {
		t.Errorf("%d of %d rows were picked: %v", n, clients*each, got)
	}
	if bytes := server.Control().Data().Store().Set("p").Figures().Bytes; bytes < clients*each*64 {
		t.Errorf("the rows that were picked are counted as %d bytes", bytes)
	}
}

// TestOnce_OutlivesEverythingButAReset: what was picked is in snapshots and in the file of changes,
// and stays after a reload.
func TestOnce_OutlivesEverythingButAReset(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state")
	server, c := begin(t, once, listener.Options{State: file})
	c.talk([][2]string{{"POST /p {\"a\": \"x\"}", "201 …"}, {"GET /changed", "200 1 z"}, {"GET /where/x", "200 3"}})
	if _, err := server.Control().Data().Take("before"); err != nil {
		t.Fatal(err)
	}
	c.talk([][2]string{{"GET /where/x", "200 4"}, {"GET /where/x", "200 5"}, {"GET /where/x", "200 none"}})
	reload := func(configuration string) {
		t.Helper()
		if err := server.Apply(config.Parse("mock.yml", []byte(configuration))); err != nil {
			t.Fatal(err)
		}
	}
	reload(strings.Replace(once, "index: [a, b]", "index: [b, a], sort: [b]", 1))
	c.talk([][2]string{{"GET /where/x", "200 none"}, {"POST /p {\"a\": \"x\"}", "201 …"}, {"GET /where/x", "200 6"}})
	if err := server.Control().Data().Restore("before"); err != nil {
		t.Fatal(err)
	}
	c.talk([][2]string{{"GET /where/x", "200 4"}})
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	server, c = begin(t, once, listener.Options{State: file})
	c.talk([][2]string{{"GET /where/x", "200 5"}, {"GET /where/x", "200 none"}, {"GET /where/z", "200 none"}, {"GET /p/1", "200 {\"id\":1,\"a\":\"z\",\"b\":1}"}, {"GET /if?ok=true", "200 2"}})
	if err := server.Control().Data().Reset([]string{"p"}, nil); err != nil {
		t.Fatal(err)
	}
	c.talk([][2]string{{"GET /where/x", "200 1"}})
	if text, err := os.ReadFile(file); err != nil || strings.Count(string(text), `"taken":true`) != 3 {
		t.Errorf("%v, the file is %s", err, text)
	}
}

// TestHash: when a row comes or goes, wherever it is, only its own values move; each row has some,
// and another process picks the same ones.
func TestHash(t *testing.T) {
	const n, values = 60, 1200
	row := func(i int) string { return fmt.Sprintf("{id: %d, g: g%d}", i, i%3) }
	var rows []string
	for i := range n {
		rows = append(rows, row(i))
	}
	configuration := func() string {
		return `
- data: {name: p, index: [g], rows: [` + strings.Join(rows, ", ") + `]}
- endpoint: {path: /all/:u, find: {r: {in: p, pick: {hash: path-params.u}}}, response: {body: "{{r.id}}"}}
- endpoint: {path: /some/:u, find: {r: {in: p, where: {g: g1}, pick: {hash: path-params.u}}}, response: {body: "{{r.id}}"}}
- resource: {path: /p, data: p}
`
	}
	picks := func(c client, path string) map[int]string {
		all := map[int]string{}
		for u := range values {
			all[u] = c.ask(fmt.Sprint("GET ", path, u))
		}
		return all
	}
	server, c := begin(t, configuration(), listener.Options{})
	for _, path := range []string{"/all/", "/some/"} {
		before := picks(c, path)
		users := map[string]int{}
		for _, row := range before {
			users[row]++
		}
		want := n
		if path == "/some/" {
			want = n / 3
		}
		for row, n := range users {
			if n > 3*values/want {
				t.Errorf("%s: %d of %d values have the row %s", path, n, values, row)
			}
		}
		if len(users) != want {
			t.Errorf("%s: %d of %d rows have a value", path, len(users), want)
		}
		c.talk([][2]string{{"DELETE /p/31", "204 "}})
		for u, row := range picks(c, path) {
			if (row != before[u]) != (before[u] == "200 31") {
				t.Errorf("%s: without the row 31, %d moves from %s to %s", path, u, before[u], row)
			}
		}
		c.talk([][2]string{{`POST /p {"id": 31, "g": "g1"}`, "201 …"}}) // now it is the last one
		for u, row := range picks(c, path) {
			if row != before[u] {
				t.Errorf("%s: once the row is back, %d moves from %s to %s", path, u, before[u], row)
			}
		}
		c.talk([][2]string{{`PATCH /p/31 {"g": "g2"}`, "200 …"}, {`PATCH /p/32 {"g": "g1"}`, "200 …"}})
		moved := 0
		for u, row := range picks(c, path) {
			switch {
			case row == before[u]:
			case path == "/some/" && (before[u] == "200 31" || row == "200 32"):
				moved++
			default:
				t.Errorf("%s: %d moves from %s to %s", path, u, before[u], row)
			}
		}
		if path == "/some/" && moved == 0 {
			t.Error("no value moves although rows do")
		}
		if err := server.Control().Data().Reset(nil, nil); err != nil {
			t.Fatal(err)
		}
		rows = slices.Insert(rows, 0, "{id: first, g: g1}") // the others have other places
		other := client{t, listenertest.Start(t, config.Parse("mock.yml", []byte(configuration())), listener.Options{}).URL()}
		rows = rows[1:]
		for u, row := range picks(other, path) {
			if row != before[u] && row != "200 first" {
				t.Errorf("%s: with another row, %d moves from %s to %s", path, u, before[u], row)
			}
		}
	}
}
