package imports_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/jsonserver"
)

const blog = `{
  "$schema": "x",
  "posts": [{"id": 1, "title": "one", "author": {"name": "ann"}}, {"id": 3, "title": "{{x}}", "views": 7}],
  "comments": [{"id": "a", "body": "hi", "postId": 1}],
  "tags": ["a", "b"],
  "profile": {"name": "{{x}}", "n": {"a": 1}},
  "a b": []
}`

func TestCollectionsAreServed(t *testing.T) {
	m := importRead(t, jsonserver.Read, "db.json", blog, draft.Options{})
	json := map[string]string{"Content-Type": "application/json"}
	hi := `{"id":"a","body":"hi","postId":1}`
	first, third := `{"id":1,"title":"one","author":{"name":"ann"}}`, `{"id":3,"title":"{{x}}","views":7}`
	Ask(t, m.Serve(t), []Case{
		{Method: "GET", Target: "/posts", Status: 200, Want: "[" + first + "," + third + "]", Has: json},
		{Method: "GET", Target: "/posts/3", Status: 200, Want: third},
		{Method: "GET", Target: "/posts/2", Status: 404, Want: "…"},
		{Method: "GET", Target: "/posts?author.name=ann", Status: 200, Want: "[" + first + "]"},
		{Method: "GET", Target: "/posts?_sort=id&_order=desc", Status: 200, Want: "[" + third + "," + first + "]"},
		{Method: "GET", Target: "/posts?_sort=views,id&_order=asc,desc", Status: 200, Want: "[" + first + "," + third + "]"},
		{Method: "GET", Target: "/posts?_sort=-id", Status: 200, Want: "[" + third + "," + first + "]"},
		{Method: "GET", Target: "/posts?views_gte=7", Status: 200, Want: "[" + third + "]"},
		{Method: "GET", Target: "/posts?id_lte=1", Status: 200, Want: "[" + first + "]"},
		{Method: "GET", Target: "/posts?id_ne=1", Status: 200, Want: "[" + third + "]"},
		{Method: "GET", Target: "/posts?id:gt=1", Status: 200, Want: "[" + third + "]"},
		{Method: "GET", Target: "/posts?_start=1&_end=2", Status: 200, Want: "[" + third + "]", Has: map[string]string{"X-Total-Count": "2"}},
		{Method: "GET", Target: "/posts?_start=1&_limit=9", Status: 200, Want: "[" + third + "]"},
		{Method: "GET", Target: "/posts?_end=1", Status: 200, Want: "[" + first + "]"},
		{Method: "GET", Target: "/posts?_start=2&_end=1", Status: 200, Want: "[]"},
		{Method: "GET", Target: "/posts?_page=2&_limit=1&_start=0&_end=1", Status: 200, Want: "[" + third + "]"},
		{Method: "GET", Target: "/posts?_page=1", Status: 200, Want: "[" + first + "," + third + "]"},
		{Method: "GET", Target: "/posts?unknown=1&a_b=1", Status: 200, Want: "[" + first + "," + third + "]"},
		{Method: "GET", Target: "/posts?q=ONE", Status: 200, Want: "[" + first + "]"},
		{Method: "GET", Target: "/posts?q=ann&_limit=1", Status: 200, Want: "[" + first + "]"},
		{Method: "GET", Target: "/posts?q=title", Status: 200, Want: "[]"},
		{Method: "GET", Target: "/posts?q=", Status: 200, Want: "[" + first + "," + third + "]"},
		{Method: "GET", Target: "/posts?title_like=O", Status: 200, Want: "[" + first + "]"},
		{Method: "GET", Target: "/posts?title_like=%5Ex&title_like=x", Status: 200, Want: "[" + third + "]"},
		{Method: "GET", Target: "/posts?title_like=(", Status: 400, Want: "…"},
		{Method: "GET", Target: "/posts?title_like=" + strings.Repeat("a", 300), Status: 400, Want: "…"},
		{Method: "GET", Target: "/posts?title:contains=NE", Status: 200, Want: "[" + first + "]"},
		{Method: "GET", Target: "/posts?title:startsWith=n", Status: 200, Want: "[]"},
		{Method: "GET", Target: "/posts?title:startsWith=O", Status: 200, Want: "[" + first + "]"},
		{Method: "GET", Target: "/posts?title:endsWith=NE", Status: 200, Want: "[" + first + "]"},
		{Method: "GET", Target: "/posts?views_ne=8", Status: 200, Want: "[" + third + "]"},
		{Method: "GET", Target: "/posts?unknown_gte=1", Status: 200, Want: "[]"},
		{Method: "GET", Target: "/posts/1?_embed=comments", Status: 200, Want: strings.TrimSuffix(first, "}") + `,"comments":[` + hi + "]}"},
		{Method: "GET", Target: "/posts?id=3&_embed=comments", Status: 200, Want: "[" + strings.TrimSuffix(third, "}") + `,"comments":[]}]`},
		{Method: "GET", Target: "/comments?_expand=post", Status: 200, Want: "[" + strings.TrimSuffix(hi, "}") + `,"post":` + first + "}]"},
		{Method: "GET", Target: "/posts/1/comments?_embed=post", Status: 200, Want: "[" + strings.TrimSuffix(hi, "}") + `,"post":` + first + "}]"},
		{Method: "GET", Target: "/posts?_embed=nothing", Status: 400, Want: "…"},
		{Method: "GET", Target: "/posts?id=9&_expand=nothing", Status: 400, Want: "…"},
		{Method: "GET", Target: "/posts?_where=%7B%7D", Status: 400, Want: "…"},
		{Method: "GET", Target: "/posts?_page=9&_per_page=1", Status: 200, Want: `{"first":1,"prev":1,"next":null,"last":2,"pages":2,"items":2,"data":[` + third + "]}"},
		{Method: "GET", Target: "/posts?_page=1&_per_page=1&_sort=-id", Status: 200, Want: `{"first":1,"prev":null,"next":2,"last":2,"pages":2,"items":2,"data":[` + third + "]}"},
		{Method: "GET", Target: "/posts?_page=1&_per_page=5&id=9", Status: 200, Want: `{"first":1,"prev":null,"next":null,"last":1,"pages":1,"items":0,"data":[]}`},
		{Method: "GET", Target: "/db", Status: 200, Has: json, Want: `{"$schema":"x","posts":[` + first + "," + third + `],"comments":[` + hi + `],"tags":["a","b"],"profile":{"name":"{{x}}","n":{"a":1}},"a b":[]}`},
		{Method: "GET", Target: "/posts?sort=-id&_limit=1", Status: 200, Want: "[" + third + "]", Has: map[string]string{"X-Total-Count": "2"}},
		{Method: "GET", Target: "/posts?_page=2&_limit=1", Status: 200, Want: "[" + third + "]"},
		{Method: "POST", Target: "/posts", Body: `{"title":"new"}`, Header: json, Status: 201, Want: `{"title":"new","id":4}`},
		{Method: "PATCH", Target: "/posts/4", Body: `{"title":null,"n":{"a":1},"id":9}`, Header: json, Status: 200, Want: `{"title":null,"id":4,"n":{"a":1}}`},
		{Method: "PATCH", Target: "/posts/4", Body: `{"n":{"b":2}}`, Header: json, Status: 200, Want: `{"title":null,"id":4,"n":{"b":2}}`},
		{Method: "PUT", Target: "/posts/4", Body: `{"id":9,"n":1}`, Header: json, Status: 200, Want: `{"id":4,"n":1}`},
		{Method: "DELETE", Target: "/posts/4", Status: 200, Want: "{}", Has: json},
		{Method: "GET", Target: "/posts/1/comments", Status: 200, Want: `[{"id":"a","body":"hi","postId":1}]`},
		{Method: "GET", Target: "/posts/3/comments", Status: 200, Want: `[]`},
		{Method: "POST", Target: "/posts/3/comments", Body: `{"id":"b"}`, Header: json, Status: 201, Want: `{"id":"b","postId":"3"}`},
		{Method: "DELETE", Target: "/posts/3", Status: 200, Want: "{}"},
		{Method: "GET", Target: "/comments", Status: 200, Want: `[{"id":"a","body":"hi","postId":1}]`},
		{Method: "GET", Target: "/tags", Status: 200, Want: `["a","b"]`, Has: json},
		{Method: "GET", Target: "/profile", Status: 200, Want: `{"name":"{{x}}","n":{"a":1}}`, Has: json},
		{Method: "PUT", Target: "/profile", Body: `{"a": 1}`, Header: json, Status: 200, Want: `{"a":1}`},
		{Method: "PATCH", Target: "/profile", Body: `{"b":2}`, Header: json, Status: 200, Want: `{"a":1,"b":2}`},
		{Method: "GET", Target: "/profile", Status: 200, Want: `{"a":1,"b":2}`},
		{Method: "GET", Target: "/a%20b", Status: 200, Want: `[]`},
	})
	var got []string
	for _, i := range m.Items {
		got = append(got, fmt.Sprintf("%v %v %s", i.Kind, i.Pos, i.Name))
	}
	want := "exact db.json:3:4 /posts, exact db.json:4:4 /comments, approximate db.json:5:4 /tags, approximate db.json:6:4 /profile, exact db.json:7:4 /a%20b, exact db.json /db"
	if difference := "PATCH removes members that are null"; !slices.ContainsFunc(m.Items, func(i draft.Item) bool { return strings.Contains(i.Why, difference) }) {
		t.Errorf("the report does not name that %s", difference)
	}
	if all := strings.Join(got, ", "); all != want {
		t.Errorf("got  %s\nwant %s", all, want)
	}
}

// Rows that a set cannot contain are served unchanged.
func TestListsWithoutKeysAreFixed(t *testing.T) {
	for _, list := range []string{`[1]`, `[{"id":1},{"id":"1"}]`, `[{"id":null}]`, `[{"name":"x"}]`, `[{"id":{}}]`, `[[]]`} {
		m := importRead(t, jsonserver.Read, "db.json", `{"x": `+list+`}`, draft.Options{})
		Ask(t, m.Serve(t), []Case{{Method: "GET", Target: "/x", Status: 200, Want: list}, {Method: "POST", Target: "/x", Status: 405, Want: "…"}})
	}
}

func TestManyRowsAreAFile(t *testing.T) {
	rows := make([]string, 1000)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"id":%d,"name":"%s"}`, i+1, strings.Repeat("x", 20))
	}
	m := importRead(t, jsonserver.Read, "db.json", `{"x": [`+strings.Join(rows, ",")+`]}`, draft.Options{})
	if len(m.Files) != 1 || m.Files[0].Name != "data/x.json" {
		t.Errorf("files: %v", m.Files)
	}
	Ask(t, m.Serve(t), []Case{{Method: "GET", Target: "/x/1000", Status: 200, Want: rows[999]}, {Method: "GET", Target: "/x", Status: 200, Want: "[" + strings.Join(rows, ",") + "]"}})
}

// Members and lists that no row has at first are known as soon as one has; the answers are those of json-server 0.17.
func TestMembersThatComeLater(t *testing.T) {
	m := importRead(t, jsonserver.Read, "db.json", `{"posts": [{"id": 1}], "comments": [], "buses": []}`, draft.Options{})
	json := map[string]string{"Content-Type": "application/json"}
	one, two := `{"n":1,"m":{"k":"x"},"t":["p","q"],"id":1}`, `{"n":2,"postId":1,"id":2}`
	both := "[" + one + "," + two + "]"
	cases := []Case{
		{Method: "GET", Target: "/posts/1/comments", Status: 200, Want: "[]"},
		{Method: "GET", Target: "/comments?n=1", Status: 200, Want: "[]"},
		{Method: "POST", Target: "/comments", Header: json, Body: `{"n":1,"m":{"k":"x"},"t":["p","q"]}`, Status: 201, Want: one},
		{Method: "POST", Target: "/comments", Header: json, Body: `{"n":2,"postId":1}`, Status: 201, Want: two},
	}
	for target, want := range map[string]string{
		"?n=2": "[" + two + "]", "?n=1&n=2": both, "?n=1&id=2": "[]", "?m.k=x": "[" + one + "]", "?none=1": both, "?none=1&n=2": "[" + two + "]", "?_=5&callback=6": both,
		"?n_gte=2": "[" + two + "]", "?n_ne=1": "[" + two + "]", "?n_like=1": "[" + one + "]", "?t_like=q": "[" + one + "]", "?t=p": "[]", "?none_ne=1": "[]", "?none_gte=1&none=2": "[]",
		"?_sort=n&_order=desc": "[" + two + "," + one + "]", "?_sort=none,n&_order=asc,desc": "[" + two + "," + one + "]", "?_sort=-n": "[" + two + "," + one + "]", "?q=X": "[" + one + "]", "?n_x=1": both,
	} {
		cases = append(cases, Case{Method: "GET", Target: "/comments" + target, Status: 200, Want: want})
	}
	Ask(t, m.Serve(t), append(cases,
		Case{Method: "GET", Target: "/posts/1/comments", Status: 200, Want: "[" + two + "]"},
		Case{Method: "GET", Target: "/posts?_embed=comments", Status: 200, Want: `[{"id":1,"comments":[` + two + "]}]"},
		Case{Method: "GET", Target: "/comments/2?_expand=post", Status: 200, Want: strings.TrimSuffix(two, "}") + `,"post":{"id":1}}`},
		Case{Method: "POST", Target: "/buses", Header: json, Body: "{}", Status: 201, Want: `{"id":1}`},
		Case{Method: "POST", Target: "/buses/1/comments", Header: json, Body: "{}", Status: 201, Want: `{"id":3,"busId":"1"}`},
		Case{Method: "DELETE", Target: "/posts/1", Status: 200, Want: "{}"},
		Case{Method: "GET", Target: "/comments?id_ne=3", Status: 200, Want: "[" + one + "]"},
	))
}

// Longer lists than others are sent whole; the report says that those above 100,000 rows are not.
func TestLongLists(t *testing.T) {
	for n, status := range map[int]int{10_001: 200, 100_001: 400} {
		m := importRead(t, jsonserver.Read, "db.json", `{"a": `+numbered(n)+`}`, draft.Options{})
		url := m.Serve(t)
		if got := m.Count(draft.Approximate); got != status/200-1 {
			t.Errorf("%d rows: %v", n, m.Items)
		}
		for target, want := range map[string]string{"/a": numbered(min(n, 100_000)), "/db": `{"a":` + numbered(n) + "}"} {
			got, _, body := Send(t, url, Case{Method: "GET", Target: target})
			if target == "/db" && (got != status || status == 200 && body != want) || target == "/a" && (got != 200 || body != want) {
				t.Errorf("%d rows: %s: %d and %d bytes, want %d and %d bytes", n, target, got, len(body), status, len(want))
			}
		}
		Ask(t, url, []Case{{Method: "GET", Target: fmt.Sprintf("/a?_start=%d&_limit=5", n-1), Status: 200, Want: fmt.Sprintf(`[{"id":%d}]`, n)}})
	}
}

func TestErrorsHavePlaces(t *testing.T) {
	refused(t, jsonserver.Read, "db.json", map[string]string{
		"[1]":               "db.json:1:1: is a list; expected a map of collections",
		"{\"posts\": [1,\n": "db.json:2:1: the JSON ends here; expected a value",
	})
	m := importRead(t, jsonserver.Read, "db.json", "{\n \"a/b\": [],\n \"n\": 5}", draft.Options{})
	if got := fmt.Sprint(m.Items[0].Pos, " ", m.Items[1].Pos, m.Counts()); got != "db.json:2:3 db.json:3:3 [1 0 2]" {
		t.Error(got)
	}
}

func TestRecognizes(t *testing.T) {
	for text, want := range map[string]bool{blog: true, `{"a": {}}`: true, `{"a": 1}`: false, `[]`: false, `{}`: false} {
		if got := jsonserver.Recognizes(source(t, "x", text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{blog, `{"x":[{"id":1,"a.b":1,"":2,"c":{"d":{"e":{"f":1}}}}]}`, `{"x":[{"id":1e3},{"id":1000}],"X":[{"id":"\u0000"}],"x ":{}}`, `{"ys":[{"id":1}],"z":[{"id":1,"yId":"1"},{"id":2,"yId":null}]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fuzzed(t, jsonserver.Read, "db.json", text)
	})
}
