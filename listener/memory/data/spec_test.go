package data_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"mockserver/listener"
)

// TestFind_WithSeveralValues: all picks choose among the rows that have all values.
func TestFind_WithSeveralValues(t *testing.T) {
	c, _ := serve(t, `
- data: {name: p, index: [a, b], rows: [{id: 1, a: x, b: 1}, {id: 2, a: x, b: 2}, {id: 3, a: y, b: 2}, {id: 4, a: x, b: 2}, {id: 5, a: y, b: 1}, {id: 6, a: x, b: 1}]}
- endpoint: {path: /first, find: {r: {in: p, where: {a: x, b: 2}}}, response: {body: "{{r.id}}"}}
- endpoint: {path: /newest, find: {r: {in: p, where: {a: x, b: 2}, pick: newest}}, response: {body: "{{r.id}}"}}
- endpoint: {path: /next, find: {r: {in: p, where: {a: x, b: 2}, pick: next}}, response: {body: "{{r.id}}"}}
- endpoint: {path: /once, find: {r: {in: p, where: {a: x, b: 2}, pick: once}}, response: {body: "{{r.id|default:\"none\"}}"}}
- endpoint: {path: /hash, find: {r: {in: p, where: {a: x, b: 2}, pick: {hash: query-params.u}}}, response: {body: "{{r.id}}"}}
- endpoint: {path: /random, find: {r: {in: p, where: {a: x, b: 2}, pick: random}}, response: {body: "{{r.id}}"}}
- endpoint: {path: /all, find: {r: {in: p, where: {a: x, b: 2}, pick: all}, none: {in: p, where: {a: z}, pick: all}}, response: {body: "{{r}} {{r[1].id}} {{r.length}} {{none}}"}}
`)
	c.talk([][2]string{
		{"GET /all", `200 [{"id":2,"a":"x","b":2},{"id":4,"a":"x","b":2}] 4 2 []`},
		{"GET /first", "200 2"}, {"GET /newest", "200 4"}, {"GET /next", "200 2"}, {"GET /next", "200 4"}, {"GET /next", "200 2"},
		{"GET /once", "200 2"}, {"GET /once", "200 4"}, {"GET /once", "200 none"},
	})
	for _, path := range []string{"/hash?u=", "/random?u="} {
		drawn := map[string]int{}
		for i := range 60 { // the probability that all picks are the same is 2^-59
			drawn[c.ask(fmt.Sprint("GET ", path, i))]++
		}
		if len(drawn) != 2 || drawn["200 2"] == 0 || drawn["200 4"] == 0 {
			t.Errorf("%s: %v, want rows 2 and 4", path, drawn)
		}
	}
}

// TestFind_NoneOfSeveralValues: of a hundred clients that all see that a row does not exist, only
// one inserts it.
func TestFind_NoneOfSeveralValues(t *testing.T) {
	c, _ := serve(t, `
- data: {name: p, index: [a, b], new-key: int}
- endpoint: {method: POST, path: /, find: {r: {in: p, where: {a: x, b: y}}}, if: r = null, do: [{insert: {in: p, row: {a: x, b: y}}}], response: {body: made}}
- endpoint: {method: POST, path: /, response: {body: there}}
- endpoint: {method: POST, path: /next, find: {r: {in: p, pick: newest}}, do: [{insert: {in: p, row: {n: "{{r.id|add:1}}"}, as: i}}], response: {body: "{{i.n}}"}}
`)
	var mu sync.Mutex
	var all sync.WaitGroup
	got := map[string]int{}
	for range 100 {
		all.Go(func() {
			for _, path := range []string{"/", "/next"} {
				response := c.ask("POST " + path)
				mu.Lock()
				got[response]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if got["200 made"] != 1 || got["200 there"] != 99 {
		t.Errorf("%d clients have inserted it, %d have found it", got["200 made"], got["200 there"])
	}
	for response, n := range got { // each number follows the newest row, so it occurs once
		if n != 1 && response != "200 there" {
			t.Errorf("%s was answered %d times", response, n)
		}
	}
}

// TestLarge_NothingIsScanned: requests that would look at more than 100,000 rows one by one are
// refused, and all others are answered.
func TestLarge_NothingIsScanned(t *testing.T) {
	rows := []byte("id,a,b\n")
	for i := range 100_002 {
		rows = fmt.Appendf(rows, "%d,x,%d\n", i, i/100_001)
	}
	c, _ := serve(t, `
- data: {name: p, index: [a, b], from: {path: p.csv}}
- resource: {path: /p, data: p, filter: [a, b], page: {style: offset, size: 1}}
- resource: {path: /whole, data: p, page: false}
- endpoint: {path: /find/:b, find: {r: {in: p, where: {a: x, b: path-params.b}}}, if: r != null, response: {body: "{{r.id}}"}}
- endpoint: {path: /other, find: {r: {in: p, where: {a: x, b: 0}, pick: random}}, if: r = null, response: {body: none}}
- endpoint: {method: POST, path: /other, find: {r: {in: p, where: {a: x, b: 0}, pick: random}}, do: [{delete: {in: p, key: r.id}}], response: {}}
`, "p.csv", string(rows))
	c.talk([][2]string{
		{"GET /p?a=x&b=0", `400 {"error":"Too many rows","code":"too_many_rows"…`},
		{"GET /p?a=x&b=1", `200 {"items":[{"id":"100001","a":"x","b":"1"}],"offset":0,"limit":1,"total":1}`},
		{"GET /p?a=x&offset=100000", `200 {"items":[{"id":"100000","a":"x","b":"0"}],"offset":100000,"limit":1,"total":100002}`},
		{"GET /whole", `400 {"error":"Too many rows","code":"too_many_rows"…`},
		{"GET /find/0", "200 0"}, {"GET /find/1", "200 100001"}, {"GET /find/2", "404 …"},
		{"GET /other", `400 {"error":"Too many rows","code":"too_many_rows"…`},
		{"POST /other", `400 {"error":"Too many rows","code":"too_many_rows"…`},
		{"GET /p?a=x", `200 {"items":[{"id":"0",…`},
	})
}

// TestData_KeysAndFiles: nested keys, other separators and named sheets are read.
func TestData_KeysAndFiles(t *testing.T) {
	book := excelize.NewFile()
	if _, err := book.NewSheet("two"); err != nil {
		t.Fatal(err)
	}
	for i, row := range [][]any{{"id", "n"}, {"a", "second sheet"}} {
		if err := book.SetSheetRow("two", fmt.Sprint("A", i+1), &row); err != nil {
			t.Fatal(err)
		}
	}
	var sheet bytes.Buffer
	if err := book.Write(&sheet); err != nil {
		t.Fatal(err)
	}
	c, _ := serve(t, `
- data: {name: nested, key: meta.no, new-key: int, rows: [{meta: {no: 7}, n: 1}]}
- data: {name: semicolons, from: {path: s.csv, separator: ";"}, types: {n: json}}
- data: {name: sheet, from: {path: b.xlsx, sheet-name: two}}
- endpoint: {path: "/nested/:id", find: {r: {in: nested, key: path-params.id}}, response: {body: "{{r}}"}}
- endpoint: {method: POST, path: /nested, do: [{insert: {in: nested, row: "{{json-params}}", as: r}}], response: {body: "{{r}}"}}
- endpoint: {path: "/semicolons/:id", find: {r: {in: semicolons, key: path-params.id}}, response: {body: "{{r}}"}}
- endpoint: {path: "/sheet/:id", find: {r: {in: sheet, key: path-params.id}}, response: {body: "{{r.n}}"}}
`, "s.csv", "id;n\na;[1,2.50]\n", "b.xlsx", sheet.String())
	c.talk([][2]string{
		{"GET /nested/7", `200 {"meta":{"no":7},"n":1}`}, {`POST /nested {"meta": {"x": 1}}`, `200 {"meta":{"x":1,"no":8}}`}, {`POST /nested {"n": 2}`, `200 {"n":2,"meta":{"no":9}}`},
		{"GET /nested/9", `200 {"n":2,"meta":{"no":9}}`},
		{"GET /semicolons/a", `200 {"id":"a","n":[1,2.50]}`}, {"GET /sheet/a", "200 second sheet"},
	})
}

// TestDo_BoundsAndElse: sums are exact up to their bounds, and each change that cannot be made
// leads to its own response.
func TestDo_BoundsAndElse(t *testing.T) {
	c, _ := serve(t, `
- data: {name: n, rows: [{id: a, sum: 0.1, deep: {n: 90071992547409930}}]}
- endpoint: {method: POST, path: /add, do: [{add: {in: n, key: a, field: sum, by: query-params.by, at-most: 1, as: r}}], response: {body: "{{r.sum}}"}}
- endpoint: {method: POST, path: /deep, do: [{add: {in: n, key: a, field: deep.n, by: 0.10, as: r}}], response: {body: "{{r.deep}}"}}
- endpoint: {method: POST, path: /merge, do: [{merge: {in: n, key: b, with: {x: 1}, else: {status: 410, body: merge}}}], response: {}}
- endpoint: {method: POST, path: /delete, do: [{delete: {in: n, key: b, else: {status: 410, body: delete}}}], response: {}}
- endpoint: {method: POST, path: /missing, do: [{add: {in: n, key: b, field: sum, by: 1, else: {status: 410, body: add}}}], response: {}}
`)
	c.talk([][2]string{
		{"POST /add?by=0.2", "200 0.3"}, {"POST /add?by=0.7", "200 1.0"}, {"POST /add?by=0.00000000001", `409 {"error":"Out of bounds","code":"out_of_bounds"…`}, {"POST /add?by=0", "200 1.0"},
		{"POST /deep", `200 {"n":90071992547409930.10}`},
		{"POST /merge", "410 merge"}, {"POST /delete", "410 delete"}, {"POST /missing", "410 add"},
	})
}

// TestDo_AfterLimitsBeforeTheLatency: requests that are refused or time out change nothing, and a
// change is visible while its response is still waiting.
func TestDo_AfterLimitsBeforeTheLatency(t *testing.T) {
	c, _ := serve(t, `
- data: {name: n, rows: [{id: a, sum: 0}]}
- endpoint: {method: POST, path: /limited, rate-limit: {max-requests: 1, window: 1h}, do: [{add: {in: n, key: a, field: sum, by: 1}}], response: {}}
- endpoint: {method: POST, path: /timeout, latency: {min: 0, max: 1ms, timeout-rate: 1, timeout: 1ms}, do: [{add: {in: n, key: a, field: sum, by: 10}}], response: {}}
- endpoint: {method: POST, path: /late, latency: {min: 10m, max: 10m}, do: [{add: {in: n, key: a, field: sum, by: 100}}], response: {}}
- endpoint: {path: /, find: {a: {in: n, key: a}}, response: {body: "{{a.sum}}"}}
`)
	c.talk([][2]string{
		{"POST /limited", "200 "}, {"POST /limited", "429 …"}, {"GET /", "200 1"},
		{"POST /timeout", "504 …"}, {"GET /", "200 1"},
	})
	ctx, cancel := context.WithCancel(t.Context())
	var late sync.WaitGroup
	late.Go(func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/late", nil)
		if err != nil {
			t.Error(err)
			return
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			t.Errorf("got an answer: %s", resp.Status)
		}
	})
	c.eventually("GET /", "200 101")
	cancel()
	late.Wait()
}

// TestDo_NoSecondLimit: a request whose endpoint is chosen again counts only once.
func TestDo_NoSecondLimit(t *testing.T) {
	const clients = 200
	server, c := begin(t, fmt.Sprintf(`
- data: {name: n, rows: [{id: a, sum: 0}]}
- endpoint:
    method: POST
    path: /
    rate-limit: {max-requests: %d, window: 1h}
    find: {row: {in: n, key: a}}
    do: [{merge: {in: n, key: a, with: {sum: "{{row.sum|add:1}}"}, as: r}}]
    response: {body: "{{r.sum}}"}
`, clients), listener.Options{})
	var mu sync.Mutex
	var all sync.WaitGroup
	got := map[string]int{}
	for range clients {
		all.Go(func() {
			response := c.ask("POST /")
			mu.Lock()
			defer mu.Unlock()
			got[response]++
		})
	}
	all.Wait()
	if len(got) != clients {
		t.Errorf("%v", got)
	}
	for i := range clients {
		if got[fmt.Sprint("200 ", i+1)] != 1 {
			t.Errorf("%d was answered %d times, with %d conflicts", i+1, got[fmt.Sprint("200 ", i+1)], server.Control().Data().Figures()[0].Conflicts)
		}
	}
	c.talk([][2]string{{"POST /", "429 …"}})
}

// TestIsolation_OfResourcesAndPicks: each isolation value has its own rows and turns, an empty
// value isolates nothing, and a reset of a part or a set does not affect the turns of other parts
// or sets.
func TestIsolation_OfResourcesAndPicks(t *testing.T) {
	server, c := begin(t, `
- data: {name: n, isolate: header-params.X-VU, rows: [{id: 1}, {id: 2}, {id: 3}], new-key: int}
- data: {name: other, rows: [{id: 1}, {id: 2}, {id: 3}]}
- resource: {path: /n, data: n}
- endpoint: {path: /once, find: {r: {in: n, pick: once}, o: {in: other, pick: once}}, response: {body: "{{r.id}} {{o.id}}"}}
`, listener.Options{})
	one, two := "X-VU: 1", "X-VU: 2"
	c.talk([][2]string{{"POST /n {}", `201 {"id":4}`}, {"DELETE /n/1", "204 "}, {"GET /n", `200 [{"id":2},{"id":3},{"id":4}]`}, {"GET /once", "200 2 1"}}, one)
	c.talk([][2]string{{"GET /n", `200 [{"id":1},{"id":2},{"id":3}]`}, {"GET /n/4", "404 …"}, {"GET /once", "200 1 2"}}, two)
	c.talk([][2]string{{"DELETE /n/3", "204 "}}, "X-VU: ")
	c.talk([][2]string{{"GET /n", `200 [{"id":1},{"id":2}]`}})
	if err := server.Control().Data().Reset([]string{"n"}, []byte("1")); err != nil {
		t.Fatal(err)
	}
	c.talk([][2]string{{"GET /n", `200 [{"id":1},{"id":2},{"id":3}]`}, {"GET /once", "200 1 3"}}, one)
	c.talk([][2]string{{"GET /once", "200 2 "}}, two)
	if err := server.Control().Data().Reset(nil, nil); err != nil {
		t.Fatal(err)
	}
	c.talk([][2]string{{"GET /once", "200 1 1"}}, two)
}

// TestTTL: a change that is too old is dropped, together with its part.
func TestTTL(t *testing.T) {
	server, c := begin(t, `
- data: {name: n, ttl: 100ms, isolate: header-params.X-VU, rows: [{id: a, sum: 0}]}
- endpoint: {method: POST, path: /, do: [{add: {in: n, key: a, field: sum, by: 1, as: r}}], response: {body: "{{r.sum}}"}}
- endpoint: {path: /, find: {a: {in: n, key: a}}, response: {body: "{{a.sum}}"}}
`, listener.Options{})
	c.talk([][2]string{{"POST /", "200 1"}}, "X-VU: 1")
	c.talk([][2]string{{"POST /", "200 1"}})
	c.eventually("GET /", "200 0")
	for f := server.Control().Data().Figures()[0]; f.Changes > 0 || f.Parts > 0; f = server.Control().Data().Figures()[0] { // until the test times out
	}
}

// TestLimits_OfKeysAndOfHEAD: a key has at most 512 bytes, whichever way it is given, and HEAD changes
// nothing.
func TestLimits_OfKeysAndOfHEAD(t *testing.T) {
	c, _ := serve(t, `
- data: {name: n, rows: [{id: a, sum: 0}]}
- resource: {path: /n, data: n, put-creates: true}
- endpoint: {path: /add, do: [{add: {in: n, key: a, field: sum, by: 1}}], response: {body: done}}
- endpoint: {method: POST, path: /put, do: [{put: {in: n, key: json-params.k, with: {}}}], response: {body: done}}
- endpoint: {path: "/find/:k", find: {r: {in: n, key: path-params.k}}, response: {body: "{{r.id|default:\"none\"}}"}}
`)
	longest := strings.Repeat("k", 512)
	c.talk([][2]string{
		{"HEAD /add", "200 "}, {"GET /n/a", `200 {"id":"a","sum":0}`},
		{"GET /add", "200 done"}, {"HEAD /add", "200 "}, {"GET /n/a", `200 {"id":"a","sum":1}`},
		{`POST /n {"id": "` + longest + `"}`, "201 …"}, {"GET /find/" + longest, "200 " + longest}, {"GET /find/" + longest + "k", "200 none"},
		{`POST /n {"id": "` + longest + `k"}`, `400 {"error":"Bad JSON","code":"bad_json","message":"POST /n: the key \"id\" has 513 bytes; expected at most 512"}…`},
		{"PUT /n/" + longest + " {}", "200 …"}, {"PUT /n/" + longest + "k {}", `400 {"error":"Bad JSON"…`},
		{`POST /put {"k": "` + longest + `k"}`, "404 …"},
	}, "Content-Type: application/json")
}

// TestMemory_OfAllSets: --state-memory bounds all sets together.
func TestMemory_OfAllSets(t *testing.T) {
	_, c := begin(t, `
- data: {name: a, new-key: int}
- data: {name: b, new-key: int}
- endpoint: {method: POST, path: /a, do: [{insert: {in: a, row: "{{json-params}}"}}], response: {}}
- endpoint: {method: POST, path: /b, do: [{insert: {in: b, row: "{{json-params}}"}}], response: {}}
`, listener.Options{StateMemory: 4096})
	large := ` {"x": "` + strings.Repeat("x", 2500) + `"}`
	c.talk([][2]string{{"POST /a" + large, "200 "}, {"POST /b" + large, `507 {"error":"No room for changes","code":"state_full"…`}, {"POST /b {}", "200 "}})
}

// TestMemory_OfParts: each isolated part counts 400 bytes and its name, so small rows of ten virtual
// users do not fit into 4 KiB. Changes to rows that a user already has are made until then, and a
// reset gives the room back.
func TestMemory_OfParts(t *testing.T) {
	server, c := begin(t, `
- data: {name: a, isolate: header-params.X-VU}
- resource: {path: /a, data: a}
`, listener.Options{StateMemory: 4096})
	full := func() (users int) {
		for ; users < 20; users++ {
			if resp, _ := c.exchange(`POST /a {"id": 1}`, "Content-Type: application/json", fmt.Sprint("X-VU: ", users)); resp.StatusCode == http.StatusInsufficientStorage {
				break
			}
		}
		return users
	}
	if n := full(); n < 2 || n > 9 {
		t.Errorf("%d users have a part", n)
	}
	if err := server.Control().Data().Reset(nil, nil); err != nil {
		t.Fatal(err)
	}
	if n := full(); n < 2 || n > 9 {
		t.Errorf("%d users have a part after a reset", n)
	}
}

// TestResource_Defaults: a resource has its own set, pages of 20 rows (at most 100), and keys of
// each kind. Unknown parameters are ignored, and a declared endpoint takes precedence.
func TestResource_Defaults(t *testing.T) {
	c, _ := serve(t, `
- resource: {path: /uuid}
- resource: {path: /uuid7, new-key: uuid7}
- resource: {path: /ulid, new-key: ulid}
- endpoint: {path: /ulid, response: {body: declared}}
- resource: {path: /limited, host: limited.test, rate-limit: {max-requests: 1, window: 1h}}
`)
	for path, form := range map[string]string{
		"/uuid": `[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`, "/uuid7": `[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`,
		"/ulid": `[0-7][0-9A-HJKMNP-TV-Z]{25}`,
	} {
		if got := c.ask("POST " + path + " {}"); !regexp.MustCompile(`^201 \{"id":"` + form + `"\}$`).MatchString(got) {
			t.Errorf("%s: %s", path, got)
		}
	}
	c.ask("POST /uuid [" + strings.Repeat("{},", 100) + "{}]")
	for query, want := range map[string]int{"": 20, "?limit=7": 7, "?limit=100": 100, "?limit=101": 100, "?nothing=1&sort=x&id[gt]=1": 20} {
		resp, body := c.exchange("GET /uuid" + query)
		if n := strings.Count(body, `"id"`); resp.StatusCode != 200 || n != want || resp.Header.Get("X-Total-Count") != "102" {
			t.Errorf("%q: %d, %d rows of %s, want %d of 102", query, resp.StatusCode, n, resp.Header.Get("X-Total-Count"), want)
		}
	}
	c.talk([][2]string{{"GET /ulid", "200 declared"}, {"GET /limited", "404 …"}})
	for i, want := range []int{200, 429} {
		req, err := http.NewRequest(http.MethodGet, c.url+"/limited", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "limited.test"
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("request %d: %d, want %d", i+1, resp.StatusCode, want)
		}
	}
}

// TestResource_FormsHEADAndTheWholeList: forms also change rows, HEAD has the header fields of GET,
// and a list without pages is bounded.
func TestResource_FormsHEADAndTheWholeList(t *testing.T) {
	c, _ := serve(t, `
- resource: {path: /n, new-key: int}
- resource: {path: /whole, new-key: int, page: false}
`)
	form := "Content-Type: application/x-www-form-urlencoded"
	c.talk([][2]string{{"POST /n a=1", `201 {"a":"1","id":1}`}, {"PATCH /n/1 b[c]=2", `200 {"a":"1","id":1,"b":{"c":"2"}}`}, {"PUT /n/1 d=3", `200 {"d":"3","id":1}`}}, form)
	get, body := c.exchange("GET /n/1")
	head, none := c.exchange("HEAD /n/1")
	if head.StatusCode != 200 || none != "" || head.Header.Get("ETag") == "" || head.Header.Get("ETag") != get.Header.Get("ETag") || head.ContentLength != int64(len(body)) {
		t.Errorf("HEAD: %d %v; GET: %v", head.StatusCode, head.Header, get.Header)
	}
	if resp, _ := c.exchange("HEAD /n/1", "If-None-Match: "+get.Header.Get("ETag")); resp.StatusCode != 304 {
		t.Errorf("HEAD with the tag: %d", resp.StatusCode)
	}
	if got := c.ask("POST /whole [" + strings.Repeat("{},", 9999) + "{}]"); !strings.HasPrefix(got, "201 ") {
		t.Fatal(got)
	}
	if got := c.ask("GET /whole"); strings.Count(got, `"id"`) != 10_000 {
		t.Errorf("the whole list: %.200s", got)
	}
	c.talk([][2]string{{"POST /whole {}", `201 {"id":10001}`}, {"GET /whole", `400 {"error":"Too many rows","code":"too_many_rows"…`}})
}

// TestResource_ForeignCursors: a cursor is valid only for the list of its path, whatever unknown
// parameters are added. In a backward page, has_more says whether rows precede it.
func TestResource_ForeignCursors(t *testing.T) {
	c, _ := serve(t, `
- resource: {path: "/users/:user/orders", new-key: int, page: {style: cursor, size: 1}, filter: [a]}
- resource: {path: /after, page: {style: after, size: 2}, data: {rows: [{id: 1}, {id: 2}, {id: 3}, {id: 4}]}}
`)
	for _, path := range []string{"/users/7/orders", "/users/8/orders"} {
		c.talk([][2]string{{"POST " + path + ` [{"a": 1}, {"a": 1}]`, "201 …"}})
	}
	_, body := c.exchange("GET /users/7/orders?x=1")
	var page struct{ Next string }
	if err := json.Unmarshal([]byte(body), &page); err != nil || page.Next == "" {
		t.Fatalf("%v in %s", err, body)
	}
	c.talk([][2]string{
		{"GET /users/7/orders?x=2&cursor=" + page.Next, `200 {"items":[{"a":1,"id":2,"user":7}],"next":null,"has_more":false}`},
		{"GET /users/8/orders?cursor=" + page.Next, `400 {"error":"Bad cursor","code":"bad_cursor"…`},
		{"GET /users/7/orders?a=1&cursor=" + page.Next, `400 {"error":"Bad cursor"…`},
		{"GET /after?ending_before=4", `200 {"data":[{"id":2},{"id":3}],"has_more":true}`},
		{"GET /after?ending_before=3", `200 {"data":[{"id":1},{"id":2}],"has_more":false}`},
		{"GET /after?ending_before=1", `200 {"data":[],"has_more":false}`},
	})
}

// TestWebhooks_HaveRows: webhooks can use the rows that find names, and the rows of a resource's
// operations.
func TestWebhooks_HaveRows(t *testing.T) {
	url, got := sink(t)
	c, _ := serve(t, strings.ReplaceAll(`
- resource: {path: /p, on: {create: {webhook: {url: "SINK/{{row.id}}", body: {id: "{{row.id}}", status: created}, sleep-time: 0}}}}
- data: {name: q, rows: [{id: a, status: found}]}
- endpoint: {path: /find, find: {r: {in: q, key: a}}, response: {}, webhook: {url: "SINK/{{r.id}}", body: "{{r}}", sleep-time: 0}}
`, "SINK", url))
	c.talk([][2]string{{`POST /p {"id": "x"}`, "201 …"}})
	if row := <-got; row.ID != "x" || row.Status != "created" {
		t.Errorf("the webhook has %+v", row)
	}
	c.talk([][2]string{{"GET /find", "200 "}})
	if row := <-got; row.ID != "a" || row.Status != "found" {
		t.Errorf("the webhook has %+v", row)
	}
}

// TestState_BadFiles: a file that the server did not write, or that is damaged, is refused, so that
// it is not overwritten when the server stops.
func TestState_BadFiles(t *testing.T) {
	server, c := begin(t, "- data: {name: a}\n- resource: {path: /a, data: a}\n", listener.Options{})
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	write := func(content []byte) {
		t.Helper()
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const first, row = `{"mockserver-state":2}` + "\n", `{"set": "a", "key": "1", "row": {"id": 1}}`
	for content, want := range map[string]string{
		row:                                     `the first line is "{\"set\": `,
		`[]`:                                    `the first line is "[]"`,
		`- data: {}`:                            "the first line is ",
		"\x00\x00":                              "the first line is ",
		`{"mockserver-state":3}` + "\n":         `the first line is "{\"mockserver-state\":3}"; expected "{\"mockserver-state\":2}"`,
		first + `{"name": "package"}` + "\n":    `change 1: json: unknown field "name"`,
		first + "{}\n":                          "change 1: missing set or key",
		first + `{"set": "a"}` + "\n":           "change 1: missing set or key",
		first + row + "\n" + `{"set": "a", "ke`: "the file is cut off after change 1",
		first + row + row + "\n":                "change 1: there is more text in its line",
		first + `{"set": "a", "key": "1", "row": 7}` + "\n":                  `change 1: the row of "1" is not an object`,
		first + `{"set": "a", "key": "1"}` + "\n":                            `change 1: the row of "1" is not an object`,
		first + `{"set": "a", "key": "1", "row": {}}` + "\n":                 `change 1: the row of "1" has another key, or none, in "id"`,
		first + strings.Replace(row, "{\"id\": 1}", "{\"id\": 2}", 1) + "\n": `change 1: the row of "1" has another key, or none, in "id"`,
	} {
		write([]byte(content))
		if _, _, err := server.Control().Data().Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", content, err, want)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if changes, err := server.Control().Data().Save(path); changes != 1 || err != nil {
		t.Fatalf("%d changes, %v", changes, err)
	}
	for i := range 20 {
		c.talk([][2]string{{fmt.Sprintf("POST /a {\"id\": \"k%d\"}", i), "201 …"}})
	}
	if changes, err := server.Control().Data().Save(path); changes != 21 || err != nil {
		t.Fatalf("%d changes, %v", changes, err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, content := range map[string][]byte{"shorter": whole[:bytes.LastIndex(whole, []byte(`{"end"`))], "changed": bytes.Replace(whole, []byte("k7"), []byte("k8"), 2)} {
		write(content)
		if _, _, err := server.Control().Data().Load(path); err == nil || !strings.Contains(err.Error(), "the file is ") {
			t.Errorf("%s: %v", what, err)
		}
	}
	write(whole)
	if changes, _, err := server.Control().Data().Load(path); changes != 21 || err != nil {
		t.Errorf("the whole file: %d changes, %v", changes, err)
	}
	if _, _, err := server.Control().Data().Load(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
	path = filepath.Join(dir, "none")
	if changes, _, err := server.Control().Data().Load(path); changes != 0 || err != nil {
		t.Errorf("no file: %d changes, %v", changes, err)
	}
}

// TestState_BeyondTheLimits: what the server has saved is loaded, even if the limits are lower than
// before; then nothing more is inserted.
func TestState_BeyondTheLimits(t *testing.T) {
	const log = "- data: {name: log, new-key: int, limit: {rows: %d}}\n- resource: {path: /log, data: log}\n"
	path := filepath.Join(t.TempDir(), "state")
	server, c := begin(t, fmt.Sprintf(log, 3), listener.Options{})
	for range 3 {
		c.talk([][2]string{{"POST /log {}", "201 …"}})
	}
	if _, err := server.Control().Data().Save(path); err != nil {
		t.Fatal(err)
	}
	server, c = begin(t, fmt.Sprintf(log, 2), listener.Options{})
	if changes, _, err := server.Control().Data().Load(path); changes != 3 || err != nil {
		t.Errorf("%d changes, %v", changes, err)
	}
	c.talk([][2]string{{"GET /log/3", `200 {"id":3}`}, {"POST /log {}", "507 …"}, {"DELETE /log/3", "204 "}, {"DELETE /log/2", "204 "}, {"POST /log {}", "201 …"}})
}

// TestDo_NoSecondDraw: a request whose endpoint is chosen again keeps its outcome and its latency.
func TestDo_NoSecondDraw(t *testing.T) {
	server, c := begin(t, `
- data: {name: n, rows: [{id: a, sum: 0, text: "`+strings.Repeat("x", 50_000)+`"}]}
- endpoint:
    method: POST
    path: /
    find: {row: {in: n, key: a}}
    do: [{merge: {in: n, key: a, with: {sum: "{{row.sum|add:1}}"}}}]
    select: sequence
    responses:
      - {status: 200, latency: {min: 1ms, max: 1ms}}
      - {status: 201, latency: {min: 2ms, max: 2ms}}
`, listener.Options{})
	const clients = 50
	sent := uint64(0)
	for conflicts := int64(0); conflicts < 5; conflicts = server.Control().Data().Figures()[0].Conflicts { // until the test times out
		var all sync.WaitGroup
		for range clients {
			all.Go(func() { c.ask("POST /") })
		}
		all.Wait()
		sent += clients
	}
	counts := server.Counts().Endpoints[0]
	if counts.Statuses[200] != sent/2 || counts.Statuses[201] != sent/2 || counts.Injected.Count != sent {
		t.Errorf("%d requests: %v, %d with a latency", sent, counts.Statuses, counts.Injected.Count)
	}
	for _, x := range server.Journal() {
		if want := time.Duration(x.Status-199) * time.Millisecond; x.Injected != want {
			t.Errorf("an answer of status %d waited %v, want %v", x.Status, x.Injected, want)
		}
	}
}

// TestDo_AfterTheCapacity: requests that are refused for lack of a place, or wait for a place,
// change nothing.
func TestDo_AfterTheCapacity(t *testing.T) {
	c, _ := serve(t, `
- data: {name: n, rows: [{id: a, sum: 0}]}
- endpoint: {method: POST, path: /, capacity: {concurrent: 1, queue: 1}, latency: {min: 10m, max: 10m}, do: [{add: {in: n, key: a, field: sum, by: 1}}], response: {}}
- endpoint: {path: /, find: {a: {in: n, key: a}}, response: {body: "{{a.sum}}"}}
`)
	ctx, cancel := context.WithCancel(t.Context())
	statuses := make(chan int, 3)
	var all sync.WaitGroup
	ask := func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/", nil)
		if err != nil {
			t.Error(err)
			return
		}
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			statuses <- resp.StatusCode
		}
	}
	all.Go(ask)
	c.eventually("GET /", "200 1") // it has taken the place
	all.Go(ask)
	all.Go(ask)
	if status := <-statuses; status != 503 { // so the other request waits in the queue
		t.Errorf("got %d, want 503", status)
	}
	c.talk([][2]string{{"GET /", "200 1"}})
	cancel()
	all.Wait()
}

// TestResource_LatencyOfOperations: each operation has its own latency, or else the latency of the
// resource.
func TestResource_LatencyOfOperations(t *testing.T) {
	server, c := begin(t, `
- resource: {path: /p, latency: {min: 1ms, max: 1ms}, on: {create: {latency: {min: 2ms, max: 2ms}}, read: {latency: {min: 3ms, max: 3ms}}}}
`, listener.Options{})
	c.talk([][2]string{{`POST /p {"id": "a"}`, "201 …"}, {"GET /p/a", "200 …"}, {"GET /p", "200 …"}, {"DELETE /p/a", "204 "}})
	got := map[string]time.Duration{}
	for _, x := range server.Journal() {
		got[x.Method+" "+x.Target] = x.Injected
	}
	for request, want := range map[string]time.Duration{"POST /p": 2, "GET /p/a": 3, "GET /p": 1, "DELETE /p/a": 1} {
		if got[request] != want*time.Millisecond {
			t.Errorf("%s: %v, want %v", request, got[request], want*time.Millisecond)
		}
	}
}

// Of many requests with one key, one creates the row and the others get its answer: an endpoint is
// chosen by rows as they are at one time, even if an earlier endpoint takes long to decide.
func TestState_EndpointsAreChosenByRowsOfOneTime(t *testing.T) {
	c, _ := serve(t, `
- data: {name: keys}
- endpoint:
    method: POST
    path: /
    find: &seen {seen: {in: keys, key: query-params.key}}
    if: seen != null or json-params.none = 1
    response: {body: "{{seen.answer}}"}
- endpoint:
    method: POST
    path: /
    find: *seen
    let: {answer: "{{random-text(20)}}"}
    do: [{insert: {in: keys, row: {id: "{{query-params.key}}", answer: "{{answer}}"}}}]
    response: {body: "{{answer}}"}
- endpoint:
    method: POST
    path: /without-find
    find: *seen
    if: seen != null or json-params.none = 1
    response: {body: "{{seen.answer}}"}
- endpoint:
    method: POST
    path: /without-find
    let: {answer: "{{random-text(20)}}"}
    do: [{insert: {in: keys, row: {id: "{{query-params.key}}", answer: "{{answer}}"}}}]
    response: {body: "{{answer}}"}
`)
	large := `{"a": [` + strings.Repeat("1,", 100_000) + `1]}`
	for _, path := range []string{"/", "/without-find"} {
		for round := range 10 {
			responses := make([]string, 8)
			var all sync.WaitGroup
			for i := range responses {
				all.Go(func() { responses[i] = c.ask(fmt.Sprintf("POST %s?key=%d%s %s", path, round, path, large)) })
			}
			all.Wait()
			if slices.Sort(responses); responses[0] != responses[len(responses)-1] || !strings.HasPrefix(responses[0], "200 ") {
				t.Fatalf("POST %s: one key has the answers %q", path, responses)
			}
		}
	}
}

// A scenario begins while an endpoint is tried after another that has already looked for a row:
// the endpoint is then chosen again, and only one request makes the transition.
func TestState_AScenarioBeginsAfterAnotherEndpointLookedForARow(t *testing.T) {
	c, _ := serve(t, `
- data: {name: keys}
- scenario: {name: order, per: path-params.id, first: new}
- endpoint: {method: POST, path: "/orders/:id", find: {seen: {in: keys, key: path-params.id}}, if: seen != null, response: {body: seen}}
- endpoint: {method: POST, path: "/orders/:id", state: {order: new}, next: {order: paid}, response: {body: "paid from {{order.state}}"}}
- endpoint: {method: POST, path: "/orders/:id", state: {order: []}, response: {status: 409, body: "{{order.state}}"}}
`)
	for order := range 20 {
		responses := make([]string, 8)
		var all sync.WaitGroup
		for i := range responses {
			all.Go(func() { responses[i] = c.ask(fmt.Sprint("POST /orders/", order)) })
		}
		all.Wait()
		slices.Sort(responses)
		if responses[0] != "200 paid from paid" || responses[1] != "409 paid" || responses[7] != "409 paid" {
			t.Fatalf("order %d: %q", order, responses)
		}
	}
}
