package data_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// exchange sends a request and returns the response and its body.
func (c client) exchange(request string, headers ...string) (*http.Response, string) {
	c.Helper()
	method, rest, _ := strings.Cut(request, " ")
	path, body, _ := strings.Cut(rest, " ")
	req, err := http.NewRequest(method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.Fatal(err)
	}
	return resp, string(text)
}

const fruit = `
- data:
    name: fruit
    index: [colour, price]
    sort: [name]
    rows:
      - {id: 1, name: pear, colour: green, price: 3}
      - {id: 2, name: apple, colour: red, price: 2.50}
      - {id: 3, name: cherry, colour: red, price: 10}
      - {id: 4, name: lime, colour: green, price: 1}
      - {id: 5, name: berry, colour: blue, price: 2.5}
- resource:
    path: /fruit
    data: fruit
    new-key: int
    filter: [colour, price]
    sort: [name, price]
    page: {size: 2, max: 3, STYLE}
    strict: true
`

func ids(t *testing.T, text string) string {
	t.Helper()
	var all []struct{ ID any }
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Errorf("%q is not a list of rows: %v", text, err)
	}
	var list []string
	for _, one := range all {
		list = append(list, fmt.Sprint(one.ID))
	}
	return strings.Join(list, " ")
}

// TestResource_Lists: pages, filters and orders work in the page style "link", in which bodies are
// lists.
func TestResource_Lists(t *testing.T) {
	c, _ := serve(t, strings.Replace(fruit, "STYLE", "names: {page: p}", 1))
	for _, l := range []struct{ query, ids, total, links string }{
		{"", "1 2", "5", "first=1 next=2 last=3"},
		{"?p=2", "3 4", "5", "first=1 prev=1 next=3 last=3"},
		{"?p=3", "5", "5", "first=1 prev=2 last=3"},
		{"?p=4", "", "5", "first=1 prev=3 last=3"},
		{"?p=999999999", "", "5", "first=1 prev=3 last=3"},
		{"?limit=3", "1 2 3", "5", "first=1 next=2 last=2"},
		{"?limit=100", "1 2 3", "5", "first=1 next=2 last=2"}, // the maximum is 3
		{"?colour=red", "2 3", "2", "first=1 last=1"},
		{"?colour=red&colour=blue&limit=3", "2 3 5", "3", "first=1 last=1"},
		{"?colour[in]=red,blue&limit=3", "2 3 5", "3", "first=1 last=1"},
		{"?colour[ne]=red&limit=3", "1 4 5", "3", "first=1 last=1"},
		{"?price=2.5", "2 5", "2", "first=1 last=1"}, // 2.50 and 2.5 are equal
		{"?price[gte]=3&limit=3", "1 3", "2", "first=1 last=1"},
		{"?price[gt]=3", "3", "1", "first=1 last=1"},
		{"?price[lt]=2.5", "4", "1", "first=1 last=1"},
		{"?price[lte]=3&price[gt]=1&limit=3", "1 2 5", "3", "first=1 last=1"},
		{"?price[lte]=3&sort=price", "4 2", "4", "first=1 next=2 last=2"},
		{"?price[lte]=3&sort=price&p=2", "5 1", "4", "first=1 prev=1 last=2"},
		{"?sort=name", "2 5", "5", "first=1 next=2 last=3"},
		{"?sort=-name", "1 4", "5", "first=1 next=2 last=3"},
		{"?sort=-price,name&limit=3", "3 1 2", "5", "first=1 next=2 last=2"},
		{"?sort=price,-name&limit=3", "4 5 2", "5", "first=1 next=2 last=2"},
		{"?colour=green&sort=-price", "1 4", "2", "first=1 last=1"},
		{"?colour=purple", "", "0", "first=1 last=1"},
	} {
		resp, body := c.exchange("GET /fruit" + l.query)
		if got := ids(t, body); resp.StatusCode != 200 || got != l.ids || resp.Header.Get("X-Total-Count") != l.total {
			t.Errorf("%s: %d, rows %s of %s; want %s of %s", l.query, resp.StatusCode, got, resp.Header.Get("X-Total-Count"), l.ids, l.total)
		}
		var links []string
		for _, m := range regexp.MustCompile(`<(/fruit\?[^>]*)>; rel="(\w+)"`).FindAllStringSubmatch(resp.Header.Get("Link"), -1) {
			_, page, _ := strings.Cut(m[1]+"&", "p=")
			page, _, _ = strings.Cut(page, "&")
			links = append(links, m[2]+"="+page)
			linked, _ := c.exchange("GET " + m[1])
			if linked.Header.Get("X-Total-Count") != l.total {
				t.Errorf("%s: the link %s has %s rows", l.query, m[1], linked.Header.Get("X-Total-Count"))
			}
		}
		if got := strings.Join(links, " "); got != l.links {
			t.Errorf("%s: links %s, want %s", l.query, got, l.links)
		}
	}
	c.talk([][2]string{
		{"GET /fruit?p=0", `400 {"error":"Bad page","code":"bad_page"…`},
		{"GET /fruit?p=x", `400 {"error":"Bad page","code":"bad_page"…`},
		{"GET /fruit?limit=-1", `400 {"error":"Bad page","code":"bad_page"…`},
		{"GET /fruit?page=1", `400 {"error":"Unknown parameter","code":"unknown_parameter"…`},
		{"GET /fruit?name=pear", `400 {"error":"Unknown parameter"…`},
		{"GET /fruit?colour[like]=red", `400 {"error":"Unknown parameter"…`},
		{"GET /fruit?sort=colour", `400 {"error":"Unknown parameter"…`},
	})
	c, _ = serve(t, strings.NewReplacer(", STYLE", "", "strict: true", "strict: true\n    dialect: json-server").Replace(fruit))
	c.talk([][2]string{
		{"GET /fruit?name=pear", `400 {"error":"Unknown parameter"…`},
		{"GET /fruit?name_gte=pear", `400 {"error":"Unknown parameter"…`},
		{"GET /fruit?colour_ne=red&_limit=1", `200 [{"id":1…`},
	})
}

func TestResource_PageStyles(t *testing.T) {
	row := map[string]string{
		"1": `{"id":1,"name":"pear","colour":"green","price":3}`, "2": `{"id":2,"name":"apple","colour":"red","price":2.50}`,
		"5": `{"id":5,"name":"berry","colour":"blue","price":2.5}`, "4": `{"id":4,"name":"lime","colour":"green","price":1}`,
	}
	for style, steps := range map[string][][2]string{
		"style: page": {
			{"GET /fruit", `200 {"items":[` + row["1"] + "," + row["2"] + `],"pagination":{"page":1,"limit":2,"total":5,"totalPages":3}}`},
			{"GET /fruit?page=3", `200 {"items":[` + row["5"] + `],"pagination":{"page":3,"limit":2,"total":5,"totalPages":3}}`},
			{"GET /fruit?colour=purple", `200 {"items":[],"pagination":{"page":1,"limit":2,"total":0,"totalPages":0}}`},
		},
		"style: offset": {
			{"GET /fruit?offset=4", `200 {"items":[` + row["5"] + `],"offset":4,"limit":2,"total":5}`},
			{"GET /fruit?offset=9", `200 {"items":[],"offset":9,"limit":2,"total":5}`},
			{"GET /fruit?offset=-1", `400 {"error":"Bad page"…`},
		},
		"style: after": {
			{"GET /fruit?limit=1", `200 {"data":[` + row["1"] + `],"has_more":true}`},
			{"GET /fruit?starting_after=4", `200 {"data":[` + row["5"] + `],"has_more":false}`},
			{"GET /fruit?ending_before=3", `200 {"data":[` + row["1"] + "," + row["2"] + `],"has_more":false}`},
			{"GET /fruit?ending_before=2", `200 {"data":[` + row["1"] + `],"has_more":false}`},
			{"GET /fruit?sort=name&starting_after=2&limit=1", `200 {"data":[` + row["5"] + `],"has_more":true}`},
			{"GET /fruit?sort=-name&starting_after=1&limit=1", `200 {"data":[` + row["4"] + `],"has_more":true}`},
			{"GET /fruit?colour=red&starting_after=2", `200 {"data":[{"id":3,…`},
			{"GET /fruit?colour=red&starting_after=4", `200 {"data":[],"has_more":false}`}, // the row has another colour, maybe since the last page
			{"GET /fruit?colour=blue&ending_before=1", `200 {"data":[],"has_more":false}`},
			{"GET /fruit?price=2.5&sort=-price&starting_after=1", `200 {"data":[` + row["2"] + "," + row["5"] + `],"has_more":false}`},
			{"GET /fruit?price=2.5&sort=-price&starting_after=4", `200 {"data":[` + row["5"] + `],"has_more":false}`}, // as if it had this price, see above
			{"GET /fruit?starting_after=77", `400 {"error":"Bad cursor","code":"bad_cursor"…`},
		},
	} {
		c, _ := serve(t, strings.Replace(fruit, "STYLE", style, 1))
		c.talk(steps)
	}
}

// TestResource_CursorsAreStable: rows that are inserted and deleted before and after a cursor do
// not shift its page, and a cursor of another list is refused.
func TestResource_CursorsAreStable(t *testing.T) {
	c, _ := serve(t, strings.Replace(fruit, "STYLE", "style: cursor", 1))
	next := func(query string) (rows, cursor string) {
		_, body := c.exchange("GET /fruit" + query)
		var page struct {
			Items   json.RawMessage
			Next    *string
			HasMore bool `json:"has_more"`
		}
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			t.Fatalf("%s: %v in %s", query, err, body)
		}
		if page.HasMore != (page.Next != nil) {
			t.Errorf("%s: has_more %t, next %v", query, page.HasMore, page.Next)
		}
		if page.Next != nil {
			cursor = *page.Next
		}
		return ids(t, string(page.Items)), cursor
	}
	for query, want := range map[string][3]string{
		"?limit=2": {"1 2", "3 4", "5"}, "?limit=2&sort=name": {"2 5", "3 4", "1"}, "?limit=2&sort=-name": {"1 4", "3 5", "2"},
		"?limit=2&sort=price,-name": {"4 5", "2 1", "3"}, "?limit=2&price[gte]=2&sort=price": {"2 5", "1 3", ""}, "?limit=2&colour=green": {"1 4", "", ""},
	} {
		cursor := ""
		for i, rows := range want {
			if rows == "" {
				break
			}
			var got string
			if got, cursor = next(query + "&cursor=" + cursor); cursor == "" && i == 0 && want[1] != "" {
				t.Fatalf("%s: no cursor", query)
			}
			if got != rows {
				t.Errorf("%s, page %d: %s, want %s", query, i+1, got, rows)
			}
		}
	}
	_, cursor := next("?limit=2&sort=name")
	if resp, _ := c.exchange("DELETE /fruit/5"); resp.StatusCode != 204 { // deletes the row of the cursor
		t.Fatal(resp.Status)
	}
	for _, body := range []string{`{"name": "a", "price": 1}`, `{"name": "bz", "price": 1}`} {
		if resp, text := c.exchange("POST /fruit "+body, "Content-Type: application/json"); resp.StatusCode != 201 {
			t.Fatal(text)
		}
	}
	if rows, _ := next("?limit=2&sort=name&cursor=" + cursor); rows != "7 3" {
		t.Errorf("after changes: rows %s, want 7 3", rows)
	}
	c.talk([][2]string{
		{"GET /fruit?sort=-name&cursor=" + cursor, `400 {"error":"Bad cursor","code":"bad_cursor"…`},
		{"GET /fruit?cursor=x", `400 {"error":"Bad cursor"…`}, {"GET /fruit?cursor=AAAAAAAA", `400 {"error":"Bad cursor"…`},
	})
}

// TestResource_Rules compares the responses to many requests with the expected ones.
func TestResource_Rules(t *testing.T) {
	c, _ := serve(t, `
- data: {name: notes, rows: [{id: a, text: first, tags: {x: 1}}]}
- resource: {path: /notes, data: notes, new-key: "n-{{random-text(4)}}", stamp: {created: at, updated: changed}, put-creates: false}
- resource: {path: /open/notes, data: notes, put-creates: true}
- resource: {path: /stamped, put-creates: true, stamp: {created: meta.at}}
- resource: {path: /few, allow: [list, create], data: {limit: {rows: 1}}}
`)
	asJSON := "Content-Type: application/json"
	resp, body := c.exchange(`POST /notes {"text": "second"}`, asJSON)
	var made struct{ ID, Text, At, Changed string }
	if err := json.Unmarshal([]byte(body), &made); err != nil || resp.StatusCode != 201 || !regexp.MustCompile(`^n-\w{4}$`).MatchString(made.ID) ||
		made.At == "" || made.At != made.Changed || resp.Header.Get("Location") != "/notes/"+made.ID {
		t.Errorf("created %d %v %s", resp.StatusCode, resp.Header, body)
	}
	resp, again := c.exchange("GET " + resp.Header.Get("Location"))
	tag := resp.Header.Get("ETag")
	if again != body || tag == "" {
		t.Errorf("read %v %s, want %s", resp.Header, again, body)
	}
	for _, field := range []string{tag, "W/" + tag, `"x", ` + tag, "*"} {
		if resp, text := c.exchange("GET /notes/"+made.ID, "If-None-Match: "+field); resp.StatusCode != 304 || text != "" || resp.Header.Get("ETag") != tag {
			t.Errorf("If-None-Match: %s: %d %s", field, resp.StatusCode, text)
		}
	}
	if resp, _ := c.exchange("GET /notes/"+made.ID, `If-None-Match: "other"`); resp.StatusCode != 200 {
		t.Errorf("another tag: %d", resp.StatusCode)
	}
	for _, step := range []struct{ request, header, want string }{
		{"GET /notes/none", "", `404 {"error":"No such row","code":"row_not_found"…`},
		{"PATCH /notes/" + made.ID + ` {"text": "third"}`, `If-Match: "old"`, `412 {"error":"Precondition failed","code":"precondition_failed"…`},
		{"DELETE /notes/" + made.ID, `If-Match: "old"`, "412 …"},
		{"DELETE /notes/none", `If-Match: *`, `404 {"error":"No such row"…`}, // RFC 9110, section 13.2.1
		{`PUT /notes/none {}`, `If-Match: "x"`, "404 …"},
		{`PUT /open/notes/none {}`, `If-Match: *`, "412 …"}, // without it, the row would be created
		{`PATCH /notes/none {}`, `If-None-Match: *`, "404 …"},
		{"GET /notes/a", `If-Match: "old"`, "412 …"},
		{"GET /notes/none", `If-Match: *`, "404 …"},
		{"DELETE /notes/" + made.ID, "If-Match: W/" + tag, "412 …"}, // a weak tag is not strong
		{"PUT /open/notes/a {}", "If-None-Match: *", "412 …"},       // it may create but not replace
		{"DELETE /notes/" + made.ID, "If-None-Match: " + tag, "412 …"},
		{`PUT /stamped/s {"n": 1}`, "If-None-Match: *", `201 {"n":1,"id":"s","meta":{"at":"…`},
		{"PATCH /notes/" + made.ID + ` {"text": "third"}`, "If-Match: " + tag, `200 {"text":"third","id":"` + made.ID + `","at":"` + made.At + `","changed":"…`},
		{"PATCH /notes/" + made.ID + ` {"text": "fourth"}`, "If-Match: " + tag, "412 …"},
		{`PATCH /notes/a {"tags": {"x": null, "y": [1]}, "text": null}`, "Content-Type: application/merge-patch+json", `200 {"id":"a","tags":{"y":[1]},"changed":"…`},
		{`PATCH /notes/a {"id": "b"}`, asJSON, `422 {"error":"Key mismatch","code":"key_mismatch"…`},
		{`PATCH /notes/a []`, asJSON, `400 {"error":"Bad JSON","code":"bad_json"…`},
		{`PATCH /notes/a {"a": 1}`, "Content-Type: application/json-patch+json", `415 {"error":"Unsupported media type","code":"unsupported_media_type"…`},
		{`PUT /notes/a {"id": "b"}`, asJSON, "422 …"},
		{`PUT /notes/new {"text": "x"}`, asJSON, "404 …"},
		{`PUT /open/notes/new {"text": "x"}`, asJSON, `201 {"text":"x","id":"new"}`},
		{`PUT /open/notes/new {"text": "y", "id": "new"}`, asJSON, `200 {"text":"y","id":"new"}`},
		{`PUT /open/notes/a {"text": "x"`, asJSON, `400 {"error":"Bad JSON","code":"bad_json"…`},
		{`POST /notes {"id": "a"}`, asJSON, `409 {"error":"Key exists","code":"key_exists"…`},
		{`POST /notes nothing`, asJSON, "400 …"},
		{`POST /notes [{"id": "l1"}, {"id": "a"}]`, asJSON, "409 …"},
		{`GET /notes/l1`, "", "404 …"}, // a list is created as a whole or not at all
		{`POST /notes [{"id": "l1"}, 7]`, asJSON, "400 …"},
		{`POST /open/notes [{"id": "l1", "n": 1.0}, {"id": "l2"}]`, asJSON, `201 [{"id":"l1","n":1.0},{"id":"l2"}]`},
		{`DELETE /notes/a`, "", "204 "},
		{`DELETE /notes/a`, "", "404 …"},
		{`POST /open/notes [` + strings.Repeat("{},", 10_000) + `{}]`, asJSON, `400 {"error":"Too many rows","code":"too_many_rows"…`},
		{`POST /few {"id": 1}`, asJSON, `201 {"id":1}`},
		{`POST /few {"id": 2}`, asJSON, `507 {"error":"No room for changes","code":"state_full"…`},
		{`GET /few`, "", `200 [{"id":1}]`},
		{`PUT /few {}`, asJSON, "405 …"},
		{`GET /few/1`, "", "404 …"},
	} {
		header := step.header
		if header == "" {
			header = "X-Nothing: 1"
		}
		c.talk([][2]string{{step.request, step.want}}, header)
	}
	_, body = c.exchange("GET /stamped/s")
	if _, replaced := c.exchange(`PUT /stamped/s {"n": 1}`, asJSON); replaced != body {
		t.Errorf("the row is %s after it was replaced, and was created as %s", replaced, body)
	}
	resp, _ = c.exchange("PATCH /open/notes/new x", "Content-Type: text/plain")
	if resp.Header.Get("Accept-Patch") != "application/merge-patch+json, application/json" {
		t.Errorf("Accept-Patch: %v", resp.Header)
	}
	resp, text := c.exchange("HEAD /open/notes")
	if resp.StatusCode != 200 || text != "" || resp.Header.Get("X-Total-Count") != "4" {
		t.Errorf("HEAD: %d %v %q", resp.StatusCode, resp.Header, text)
	}
	resp, _ = c.exchange(`POST /open/notes {"id": "a/b c"}`, asJSON)
	if place := resp.Header.Get("Location"); place != "/open/notes/a%2Fb%20c" || c.ask("GET "+place) != `200 {"id":"a/b c"}` {
		t.Errorf("the Location %s has %s", place, c.ask("GET "+place))
	}
}

// TestResource_Nested: path parameters set members of the rows, and lists contain only rows with
// the values in the path.
func TestResource_Nested(t *testing.T) {
	c, _ := serve(t, `
- resource: {path: "/users/:user/orders", new-key: int, parent: {user: user_id}, filter: [n, user_id], page: {style: page}, put-creates: true}
- endpoint: {path: /users/7/orders/special, response: {body: declared}}
- data: {name: settings, key: user_id}
- resource: {path: "/users/:user/settings", data: settings, parent: {user: user_id}}
`)
	asJSON := "Content-Type: application/json"
	c.talk([][2]string{
		{`POST /users/7/orders {"n": 1}`, `201 {"n":1,"id":1,"user_id":7}`},
		{`POST /users/8/orders {"n": 1, "user_id": 9}`, `201 {"n":1,"user_id":8,"id":2}`},
		{`POST /users/x/orders {"n": 2}`, `201 {"n":2,"id":3,"user_id":"x"}`},
		{"GET /users/7/orders", `200 {"items":[{"n":1,"id":1,"user_id":7}],"pagination":{"page":1,"limit":20,"total":1,"totalPages":1}}`},
		{"GET /users/7/orders?user_id=8", `200 {"items":[],"pagination":{"page":1,"limit":20,"total":0,"totalPages":0}}`},
		{"GET /users/7/orders?n=2", `200 {"items":[],"pagination":{"page":1,"limit":20,"total":0,"totalPages":0}}`},
		{"GET /users/7/orders/1", `200 {"n":1,"id":1,"user_id":7}`},
		{"GET /users/8/orders/1", "404 …"},
		{"DELETE /users/8/orders/1", "404 …"},
		{"GET /users/7.0/orders", `200 {"items":[{"n":1,"id":1,"user_id":7}],…`}, // as the row does
		{`PATCH /users/7e0/orders/1 {"n": 1}`, `200 {"n":1,"id":1,"user_id":7}`},
		{`PATCH /users/8/orders/2 {"user_id": 7}`, `200 {"n":1,"user_id":8,"id":2}`},
		{`PUT /users/8/orders/1 {}`, `409 {"error":"Key exists"…`}, // the row of another user stays
		{"GET /users/7/orders/1", `200 {"n":1,"id":1,"user_id":7}`},
		{`PUT /users/8/orders/5 {}`, `201 {"id":5,"user_id":8}`},
		{"GET /users/7/orders/special", "200 declared"},
		{"POST /users/7/settings {}", `201 {"user_id":7}`}, {"GET /users/7/settings/7", `200 {"user_id":7}`}, {"POST /users/7/settings {}", "409 …"}, // its key is from the path
	}, asJSON)
}

// TestResource_ItsSet: a set that a resource declares in place may have a name, and the members that
// a resource filters and sorts by are indexed, wherever its set is declared.
func TestResource_ItsSet(t *testing.T) {
	c, _ := serve(t, `
- resource: {path: /carts, filter: [owner.name], data: {name: baskets, rows: [{id: cart-7, owner: {name: ann}}, {id: cart-8, owner: {name: bob}}]}}
- resource: {path: /shop/carts, data: baskets, sort: [total], filter: [id]}
- data: {name: plain, rows: [{id: 1, n: 5}, {id: 2, n: 3}]}
- resource: {path: "/p/:n", data: plain, allow: [list, read]}
- endpoint: {path: "/of/:who", find: {cart: {in: baskets, where: {owner.name: path-params.who}}}, response: {body: "{{cart.id}}"}}
- endpoint: {path: "/n/:n", find: {p: {in: plain, where: {n: path-params.n}}}, response: {body: "{{p.id}}"}}
- endpoint: {path: "/quoted/:id", find: {cart: {in: baskets, key: "'cart-{{path-params.id}}'"}}, response: {body: "{{cart.owner.name}}"}}
- endpoint: {path: "/key/:a/:b", find: {cart: {in: baskets, key: "{{path-params.a}}-{{path-params.b}}"}}, response: {body: "{{cart.owner.name}}"}}
- endpoint:
    method: POST
    path: "/pay/:id"
    do: [{add: {in: baskets, key: "cart-{{path-params.id|trim}}", field: total, by: 2, as: cart}}]
    response: {body: "{{cart.total}}"}
`)
	c.talk([][2]string{
		{"GET /carts?owner.name=bob", `200 [{"id":"cart-8","owner":{"name":"bob"}}]`},
		{"GET /carts?owner.name%5Bin%5D=bob,eve", `200 [{"id":"cart-8","owner":{"name":"bob"}}]`},
		{"GET /of/ann", "200 cart-7"},
		{"GET /n/3", "200 2"},
		{"GET /p/3", `200 [{"id":2,"n":3}]`},
		{"GET /quoted/8", "200 bob"},
		{"GET /key/cart/7", "200 ann"},
		{"POST /pay/8", "200 2"},
		{"GET /shop/carts?sort=total", `200 [{"id":"cart-7","owner":{"name":"ann"}},{"id":"cart-8","owner":{"name":"bob"},"total":2}]`},
		{"GET /shop/carts?id=cart-8", `200 [{"id":"cart-8","owner":{"name":"bob"},"total":2}]`},
	})
}

// TestResource_TemplatesAndOn: lists and rows are rendered as declared, and operations make their
// additional changes.
func TestResource_TemplatesAndOn(t *testing.T) {
	c, _ := serve(t, `
- resource:
    path: /things
    new-key: int
    page: {size: 1}
    item: '{"thing": {{row}}, "self": "/things/{{row.id}}"}'
    list: '{"data": {{items}}, "total": {{page.total}}, "pages": {{page.totalPages}}}'
    on:
      create: {status: 200, headers: {X-Id: "{{row.id}}", X-Name: "{{json-params.name}}"}, if: json-params.name != bad}
      read: {fault: {type: empty, rate: 0}}
- endpoint: {method: POST, path: /things, if: json-params.name = bad, response: {status: 400, body: refused}}
- resource: {path: /whole, page: false, new-key: int}
`)
	resp, body := c.exchange(`POST /things {"name": "a"}`)
	if want := `{"thing": {"name":"a","id":1}, "self": "/things/1"}`; resp.StatusCode != 200 || body != want || resp.Header.Get("X-Id") != "1" || resp.Header.Get("X-Name") != "a" {
		t.Errorf("created %d %v %s, want %s", resp.StatusCode, resp.Header, body, want)
	}
	c.talk([][2]string{
		{`POST /things {"name": "b"}`, `200 {"thing": {"name":"b","id":2}, "self": "/things/2"}`},
		{`POST /things {"name": "bad"}`, "400 refused"},
		{"GET /things?page=2", `200 {"data": [{"thing": {"name":"b","id":2}, "self": "/things/2"}], "total": 2, "pages": 2}`},
		{"GET /things/2", `200 {"thing": {"name":"b","id":2}, "self": "/things/2"}`},
		{`POST /whole [{}, {}, {}]`, `201 [{"id":1},{"id":2},{"id":3}]`},
		{"GET /whole?page=2", `200 [{"id":1},{"id":2},{"id":3}]`},
	})
}

// A declared Content-Type replaces that of a resource's own answer, whether the declared one is
// fixed or a template.
func TestResource_ADeclaredContentTypeIsSent(t *testing.T) {
	c, _ := serve(t, `
- resource:
    path: /things
    new-key: int
    on:
      list: {headers: {Content-Type: application/vnd.list+json}}
      create: {headers: {Content-Type: "application/vnd.{{query-params.of}}+json"}}
`)
	for request, want := range map[string]string{"GET /things": "application/vnd.list+json", "POST /things?of=one {}": "application/vnd.one+json"} {
		resp, _ := c.exchange(request)
		if got := resp.Header.Values("Content-Type"); resp.StatusCode >= 300 || len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %d, %q, want %s", request, resp.StatusCode, got, want)
		}
	}
}

// TestResource_SeveralResponses: a response without a body has the rows as its body; a response with
// a body is sent as declared, and then the operation is not performed.
func TestResource_SeveralResponses(t *testing.T) {
	c, _ := serve(t, `
- resource:
    path: /things
    new-key: int
    schema: {properties: {n: {type: integer}}}
    on:
      create:
        select: sequence
        responses:
          - {headers: {X-Try: "1"}}
          - {status: 503, body: {error: busy}, latency: {min: 1ms}}
          - {status: 202, webhooks: []}
      read: {responses: [{weight: 0, status: 500, body: ""}, {weight: 1}]}
`)
	resp, body := c.exchange(`POST /things {}`)
	if resp.StatusCode != 201 || body != `{"id":1}` || resp.Header.Get("X-Try") != "1" || resp.Header.Get("Location") != "/things/1" {
		t.Errorf("created %d %v %s", resp.StatusCode, resp.Header, body)
	}
	c.talk([][2]string{
		{`POST /things {}`, `503 {"error":"busy"}`},
		{`GET /things`, `200 [{"id":1}]`},
		{`POST /things {}`, `202 {"id":2}`},
		{`GET /things/2`, `200 {"id":2}`},
		{`POST /things {"id": 1}`, `409 {"error":"Key exists","code":"key_exists","message":"POST /things: the set \"things\"…`},
		{`POST /things {}`, `503 …`},
		{`POST /things {"n": "x"}`, `422 {"error":"Invalid request body","code":"invalid_body","message":"POST /things: body/n: …`},
	})
}

// TestResource_NothingIsLost lets many clients change and create rows at once, each change with the
// tag that the client has read: nothing is lost.
func TestResource_NothingIsLost(t *testing.T) {
	c, _ := serve(t, `
- resource: {path: /n, new-key: int, data: {rows: [{id: 1, sum: 0}]}}
`)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for done := 0; done < 20; {
				resp, body := c.exchange("GET /n/1")
				var row struct{ Sum int }
				if err := json.Unmarshal([]byte(body), &row); err != nil {
					t.Error(err)
					return
				}
				resp, _ = c.exchange(fmt.Sprintf(`PATCH /n/1 {"sum": %d}`, row.Sum+1), "If-Match: "+resp.Header.Get("ETag"), "Content-Type: application/json")
				if resp.StatusCode == 200 {
					done++
				}
			}
			for range 20 {
				c.exchange("POST /n {}")
			}
		})
	}
	all.Wait()
	resp, _ := c.exchange("GET /n")
	c.talk([][2]string{{"GET /n/1", `200 {"id":1,"sum":160}`}, {"GET /n/161", `200 {"id":161}`}})
	if total := resp.Header.Get("X-Total-Count"); total != "161" {
		t.Errorf("%s rows, want 161", total)
	}
}

// TestResource_Schema: invalid rows are refused with all violations, whichever operation writes
// them.
func TestResource_Schema(t *testing.T) {
	c, dir := serve(t, `
- resource:
    path: /inline
    new-key: int
    put-creates: true
    schema: {type: object, required: [id, name], properties: {id: {type: integer}, name: {type: string, minLength: 2}, at: {type: string, format: date}, file: {}, n: {type: number, minimum: 1}}}
- resource: {path: /file, new-key: int, schema: {file: s.json}}
- resource:
    path: /old
    new-key: int
    schema:
      $schema: http://json-schema.org/draft-07/schema#
      $id: https://example.com/rows/row
      properties:
        pair: {items: [{type: integer}, {$ref: text}], additionalItems: false}
        card: {$ref: "#/definitions/card", minimum: 100}
      dependencies: {card: [name], pair: {required: [id]}}
      definitions:
        card: {type: integer, maximum: 99}
        text: {$id: "/rows/text", type: string}
- resource: {path: /parts, new-key: int, schema: {$ref: "s.json#/properties/name", properties: {n: {$dynamicRef: "#n"}}, $defs: {n: {$dynamicAnchor: n, type: integer}}}}
`, "s.json", `{"required": ["name"], "properties": {"name": {"enum": ["a", "b"], "readOnly": true}}}`)
	if dir == "" {
		t.Fatal("no directory")
	}
	c.talk([][2]string{
		{`POST /inline {"name": "ab", "at": "2026-01-31"}`, `201 {"name":"ab","at":"2026-01-31","id":1}`},
		{`POST /inline {"name": "a", "at": "x"}`, `422 {"error":"Invalid request body","code":"invalid_body","message":"POST /inline: body/at: is not of the format date; body/name: has 1 character; expected at least 2"}…`},
		{`POST /inline [{"name": "ab"}, {}]`, `422 {"error":"Invalid request body","code":"invalid_body","message":"POST /inline: body/1/name: is required"}…`},
		{`POST /inline {"name": "ab", "n": 1e9999999}`, `422 {"error":"Invalid request body","code":"invalid_body","message":"POST /inline: body: has a number of more than 1000 digits, …`},
		{`PATCH /inline/1 {"name": null}`, `422 {"error":"Invalid request body"…`},
		{`PUT /inline/2 {"name": "b"}`, `422 {"error":"Invalid request body"…`},
		{`GET /inline`, `200 [{"name":"ab","at":"2026-01-31","id":1}]`},
		{`POST /file {"name": "c"}`, `422 {"error":"Invalid request body"…`},
		{`POST /file {"name": "b"}`, `201 {"name":"b","id":1}`},
		{`POST /old {"pair": [1, "a"], "card": 5, "name": ""}`, `201 …`},
		{`POST /old {"pair": ["a", 1, 1]}`, `422 {"error":"Invalid request body","code":"invalid_body","message":"POST /old: body/pair/0: is a string; expected an integer; body/pair/1: is a number; expected a string; body/pair/2: is not accepted"}…`},
		{`POST /old {"card": 100}`, `422 {"error":"Invalid request body","code":"invalid_body","message":"POST /old: body/card: is too large; expected at most 99; body/name: is required next to \"card\""}…`},
		{`POST /parts {"n": "x"}`, `422 {"error":"Invalid request body","code":"invalid_body","message":"POST /parts: body: is not one of \"a\", \"b\"; body/n: is a string; expected an integer"}…`},
	}, "Content-Type: application/json")
	got := c.ask(`POST /inline {"name": "a", "at": "x"}`, "Content-Type: application/json")
	for _, want := range []string{"body/at: ", "body/name: has 1 character; expected at least 2"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
}

// The next integer key is above all keys that were used, also by PUT and by the change put, and a
// key that a request uses in the meantime is skipped.
func TestResource_IntegerKeysNextToGivenOnes(t *testing.T) {
	c, _ := serve(t, `
- data: {name: notes}
- resource: {path: /notes, data: notes, new-key: int, put-creates: true, schema: {properties: {n: {type: integer}}}}
- endpoint: {method: PUT, path: "/put/:id", do: [{put: {in: notes, key: path-params.id, with: {}}}], response: {}}
`)
	c.talk([][2]string{
		{`PUT /notes/1 {}`, `201 {"id":1}`},
		{`POST /notes {}`, `201 {"id":2}`},
		{`PUT /put/3 {}`, `200 `},
		{`POST /notes {}`, `201 {"id":4}`},
		{`POST /notes {"n": "x"}`, `422 …`},
		{`POST /notes [{}, {"id": 6}, {"n": "x"}]`, `422 …`},
		{`POST /notes {}`, `201 …`},
	})
	// Requests that fail give numbers back that others use at the same time.
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				c.ask(fmt.Sprintf(`POST /notes {"id": %d}`, 7+i))
				c.ask(`POST /notes [{}, {"n": "x"}]`)
				if got := c.ask(`POST /notes {}`); !strings.HasPrefix(got, "201 ") {
					t.Errorf("got %s", got)
				}
			}
		})
	}
	wg.Wait()
}

// A member that is missing or null is neither less nor greater than a value.
func TestResource_FiltersByOrderLeaveOutWhatHasNone(t *testing.T) {
	c, _ := serve(t, `
- resource:
    path: /p
    filter: [price, name]
    data: {rows: [{id: 1, price: 5, name: b}, {id: 2}, {id: 3, price: null, name: null}, {id: 4, price: 20, name: a}, {id: 5, price: true, name: c}]}
`)
	for query, want := range map[string]string{
		"price[lt]=10": "1", "price[lte]=5": "1", "price[gt]=-1": "1 4", "price[lt]=100&price[gt]=5": "4", "name[lt]=z": "1 4 5", "price[ne]=5": "2 3 4 5", "price[lte]=-1": "",
		"price[lt]=10&name[lt]=z": "1", "price[lt]=100&sort=": "1 4",
	} {
		if got := c.ask("GET /p?" + query); ids(t, strings.TrimPrefix(got, "200 ")) != want {
			t.Errorf("%s: got %s, want rows %s", query, got, want)
		}
	}
}

// TestResource_Forms: both kinds of forms become rows, whose values have the types that the schema
// asks for.
func TestResource_Forms(t *testing.T) {
	c, _ := serve(t, `
- resource: {path: /any, new-key: int}
- resource:
    path: /typed
    new-key: int
    schema:
      $defs: {price: {type: number, minimum: 0}}
      properties:
        n: {type: integer}
        ok: {type: boolean}
        maybe: {type: [integer, "null"]}
        either: {anyOf: [{type: integer}, {type: string}]}
        size: {enum: [1, 2, large]}
        tags: {type: array, items: {type: integer}}
        price: {$ref: "#/$defs/price"}
        items: {type: array, items: {properties: {qty: {type: integer}, sku: {type: string}}}}
        by: {type: object, additionalProperties: {type: number}}
        zip: {type: string}
`)
	urlencoded := "Content-Type: application/x-www-form-urlencoded"
	for form, want := range map[string]string{
		"any tags=x&tags=y&expand[]=a&expand[]=b&one[]=c": `201 {"tags":["x","y"],"expand":["a","b"],"one":["c"],"id":…`,
		"any a[b]=1&a[c][d]=x+y&e=%C3%A4":                 `201 {"a":{"b":"1","c":{"d":"x y"}},"e":"ä","id":…`,
		"any items[0][p]=1&items[1][p]=2&items[0][q]=3":   `201 {"items":[{"p":"1","q":"3"},{"p":"2"}],"id":…`,
		"any items[][p]=1&items[][q]=3&items[][p]=2":      `201 {"items":[{"p":"1","q":"3"},{"p":"2"}],"id":…`,
		"any a[10]=k&a[9]=j&a[999999999999999999999]=z":   `201 {"a":["j","k","z"],"id":…`,
		"any a%5B%5D=1&__proto__[x]=1&constructor=c&=n&&": `201 {"a":["1"],"__proto__":{"x":"1"},"constructor":"c","id":…`,
		"any a[b=1&[c]=2&]=3&d=&e":                        `201 {"a[b":"1","[c]":"2","]":"3","d":"","e":"","id":…`,
		"any 0=a&1=b":                                     `201 {"0":"a","1":"b","id":…`,
		"any id=f%22":                                     `201 {"id":"f\""}`,
		"any a=%ff&b=%zz":                                 "201 {\"a\":\"\uFFFD\",\"b\":\"%zz\",\"id\":…",
		"any a=1&a[b]=2":                                  `400 {"error":"Bad JSON","code":"bad_json"…`,
		"any a[b]=2&a=1":                                  `400 {"error":"Bad JSON","code":"bad_json"…`,
		"any a[]=1&a[b]=2":                                `400 {"error":"Bad JSON","code":"bad_json"…`,
		"any a[b]=1&a[b][c]=2":                            `400 {"error":"Bad JSON","code":"bad_json"…`,
		"any a" + strings.Repeat("[b]", 33) + "=1":        `400 {"error":"Bad JSON","code":"bad_json","message":"POST /any: the form has a field whose brackets are nested more than 32 deep"…`,
		"any a" + strings.Repeat("[]", 32) + "=1":         `201 {"a":` + strings.Repeat("[", 32) + `"1"` + strings.Repeat("]", 32) + `,"id":…`,
		"any " + strings.Repeat("a=1&", 1001):             `400 {"error":"Bad JSON","code":"bad_json"…`,
		"typed n=5&ok=false&maybe=&zip=01234&price=1.50":  `201 {"n":5,"ok":false,"maybe":null,"zip":"01234","price":1.50,"id":…`,
		"typed n=007&maybe=-08":                           `201 {"n":7,"maybe":-8,"id":…`,
		"typed either=5&size=2&maybe=null":                `201 {"either":"5","size":2,"maybe":null,"id":…`,
		"typed size=large&ok=true&by[a]=1e3&by[2]=2":      `201 {"size":"large","ok":true,"by":{"a":1e3,"2":2},"id":…`,
		"typed tags=1":                                    `201 {"tags":[1],"id":…`,
		"typed tags[]=1&tags[]=2":                         `201 {"tags":[1,2],"id":…`,
		"typed items[0][qty]=2&items[0][sku]=1":           `201 {"items":[{"qty":2,"sku":"1"}],"id":…`,
		"typed n=x":                                       `422 {"error":"Invalid request body"…`,
		"typed n=":                                        `422 {"error":"Invalid request body"…`,
		"typed n=1&n=2":                                   `422 {"error":"Invalid request body"…`,
		"typed tags[a]=1":                                 `422 {"error":"Invalid request body"…`,
		"typed price=-1":                                  `422 {"error":"Invalid request body"…`,
	} {
		path, body, _ := strings.Cut(form, " ")
		c.talk([][2]string{{"POST /" + path + " " + body, want}}, urlencoded)
	}
	c.talk([][2]string{
		{`POST /any {"a": 1, "id": "json"}`, `201 {"a":1,"id":"json"}`}, // curl -d sends JSON under this type
		{`PATCH /any/json a=2&b[]=x`, `200 {"a":"2","id":"json","b":["x"]}`},
		{`PUT /any/json n=1`, `200 {"n":"1","id":"json"}`},
	}, urlencoded)
	var parts strings.Builder
	for _, part := range []string{"n\"\r\n\r\n5", "tags[]\"\r\n\r\n1", "tags[]\"\r\n\r\n2", "photo\"; filename=\"cat.png\"\r\nContent-Type: image/png\r\n\r\n\x89PNG"} {
		parts.WriteString("--b\r\nContent-Disposition: form-data; name=\"" + part + "\r\n")
	}
	c.talk([][2]string{
		{"POST /typed " + parts.String() + "--b--\r\n", `201 {"n":5,"tags":[1,2],"photo":"cat.png","id":…`},
		{"PATCH /any/json " + parts.String() + "--b--\r\n", `200 {"n":"5","id":"json","tags":["1","2"],"photo":"cat.png"}`},
		{"POST /typed " + parts.String(), `400 {"error":"Bad JSON","code":"bad_json","message":"POST /typed: the body is not multipart/form-data: …`},
	}, "Content-Type: multipart/form-data; boundary=b")
	c.talk([][2]string{{"POST /typed " + parts.String(), "400 …"}}, "Content-Type: multipart/form-data")
}
