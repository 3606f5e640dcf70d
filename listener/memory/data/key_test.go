package data_test

import (
	"path/filepath"
	"testing"

	"mockserver/listener"
)

// TestKeys_InAnyNotation: a key that is a number is the same key in every notation, wherever it is
// written; texts that only look like one in other respects are keys of their own.
func TestKeys_InAnyNotation(t *testing.T) {
	const config = `
- data: {name: p, new-key: int, rows: [{id: 4, n: base}, {id: 2.50}, {id: "007"}, {id: "0e12"}, {id: "0e34"}, {id: 1e999999999}, {id: -0.0}]}
- resource: {path: /p, data: p, page: {style: after}}
- endpoint: {path: /f/:id, find: {r: {in: p, key: path-params.id}}, response: {body: "{{r}}"}}
- endpoint: {method: POST, path: /f, do: [{merge: {in: p, key: json-params.id, with: "{{json-params}}", as: r}}], response: {body: "{{r}}"}}
- endpoint: {method: POST, path: /i, do: [{insert: {in: p, row: "{{json-params}}", as: r}}], response: {body: "{{r}}"}}
- scenario: {name: o, per: path-params.id, first: a}
- endpoint: {path: "/o/:id", state: {o: a}, next: {o: b}, response: {body: first}}
- endpoint: {path: "/o/:id", state: {o: b}, response: {body: second}}
`
	file := filepath.Join(t.TempDir(), "state")
	server, c := begin(t, config, listener.Options{State: file})
	c.talk([][2]string{
		{"GET /p/4.0", `200 {"id":4,"n":"base"}`}, {"GET /p/4e0", `200 {"id":4,"n":"base"}`}, {"GET /f/0.4e1", `200 {"id":4,"n":"base"}`}, {"GET /f/40E-1", `200 {"id":4,"n":"base"}`},
		{"GET /f/2.5", `200 {"id":2.50}`}, {"GET /f/25e-1", `200 {"id":2.50}`}, {"GET /f/-0", `200 {"id":-0.0}`}, {"GET /f/0", `200 {"id":-0.0}`},
		{"GET /f/007", `200 {"id":"007"}`}, {"GET /f/7", "200 "}, {"GET /f/04", "200 "}, {`POST /p {"id": "04"}`, `201 {"id":"04"}`}, {"GET /f/04", `200 {"id":"04"}`}, {"GET /f/0e34", `200 {"id":"0e34"}`}, {"GET /f/0e56", `200 {"id":-0.0}`},
		{"GET /f/1e999999999", `200 {"id":1e999999999}`}, {"GET /f/10e999999998", `200 {"id":1e999999999}`}, {"GET /f/1e-999999999", "200 "}, {"GET /f/1e99999999999999999999", "200 "},
		{`POST /p {"id": 4.0}`, `409 …`}, {`POST /p {"id": "4.00"}`, `409 …`}, {`POST /p {"id": "4e0"}`, `409 …`}, {`POST /p [{"id": 90}, {"id": 9e1}]`, `409 …`}, {`POST /i {"id": 400e-2}`, `409 …`},
		{`PATCH /p/4.0 {"n": 1}`, `200 {"id":4,"n":1}`}, {`PUT /p/4 {"id": 4.0, "n": 2}`, `200 {"id":4,"n":2}`}, {`PATCH /p/4e0 {"id": 4.00}`, `200 {"id":4.00,"n":2}`}, {`PUT /p/4 {"id": 5}`, `422 …`},
		{`POST /f {"id": 0.04e2, "n": 3}`, `200 {"id":0.04e2,"n":3}`},
		{`POST /p {"id": 1e3}`, `201 {"id":1e3}`}, {`POST /p {}`, `201 {"id":1001}`}, {`GET /p/1000`, `200 {"id":1e3}`}, {`POST /p {"id": 1000}`, `409 …`},
		{"GET /p?starting_after=1e3&limit=1", `200 {"data":[{"id":1001}],"has_more":false}`},
		{`POST /p {"id": 1e18}`, `201 …`}, {`POST /i {}`, `200 {"id":1000000000000000001}`},
		{`DELETE /p/1001.0`, "204 "}, {`GET /p/1001`, "404 …"}, {`DELETE /p/2.500`, "204 "},
		{"GET /o/5", "200 first"}, {"GET /o/5.0", "200 second"},
	})
	if row := server.Control().Data().Row("p", nil, []byte("10e2")); string(row.JSON) != `{"id":1e3}` || string(row.Key) != "1000" {
		t.Errorf("the admin address sees %s as %s", row.JSON, row.Key)
	}
	if _, err := server.Control().Data().Put("p", nil, []byte("4.0"), []byte(`{"id": 4e0, "n": 5}`), false); err != nil {
		t.Error(err)
	}
	if err := server.Control().Data().Delete("p", nil, []byte("1e18")); err != nil {
		t.Error(err)
	}
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	again := [][2]string{{"GET /p/4", `200 {"id":0.04e2,"n":5}`}, {"GET /f/2.5", "200 "}, {"GET /p/1000", `200 {"id":1e3}`}, {"GET /o/5", "200 second"}}
	_, c = begin(t, config, listener.Options{State: file})
	c.talk(again)
}
