package imports_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"mockserver/config/imports"
	"mockserver/config/imports/draft"
	"mockserver/listener"
	"mockserver/listener/listenertest"
)

// har returns a HAR of entries.
func har(entries ...string) string { return `{"log":{"entries":[` + strings.Join(entries, ",") + `]}}` }

// entry returns an exchange of a HAR, with JSON for the headers and the content of the answer. A
// body of the request follows a blank after the URL, and its type a blank after "POST".
func entry(request string, status int, headers, content string) string {
	method, url, _ := strings.Cut(request, " ")
	url, body, posts := strings.Cut(url, " ")
	post := ""
	if posts {
		kind := "application/json"
		if body[0] != '{' && body[0] != '[' {
			kind = "application/x-www-form-urlencoded"
		}
		text, _ := json.Marshal(body) // it is a text
		post = fmt.Sprintf(`,"postData":{"mimeType":%q,"text":%s}`, kind, text)
	}
	return fmt.Sprintf(`{"request":{"method":%q,"url":"http://a.example%s","headers":[]%s},"response":{"status":%d,"headers":[%s],"content":{%s}}}`, method, url, post, status, headers, content)
}

func replied(request, text string) string {
	quoted, _ := json.Marshal(text) // it is a text
	return entry(request, 200, "", `"mimeType":"text/plain","text":`+string(quoted))
}

// many returns n parameters and a last one.
func many(n int, last string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "p%d=1&", i)
	}
	return b.String() + "last=" + last
}

// Recorded requests get the recorded answers, whichever part of them differs; or the report says
// why they do not.
func TestRequestsOfAHARAreDistinguished(t *testing.T) {
	long := strings.Repeat("x", 600)
	for name, c := range map[string]struct {
		entries []string
		again   []string // requests as in entry, and the answers that are expected later
		want    draft.Kind
	}{
		"a parameter after 24 others":                 {[]string{replied("GET /a?"+many(40, "x"), "x"), replied("GET /a?"+many(40, "y"), "y")}, []string{"GET /a?last=y", "y", "GET /a?last=x", "x"}, draft.Exact},
		"a member after 24 others":                    {[]string{replied("POST /a "+many(30, "x"), "x"), replied("POST /a "+many(30, "y"), "y")}, []string{"POST /a last=y", "y"}, draft.Exact},
		"the second value of a parameter":             {[]string{replied("GET /a?q=a&q=c", "c"), replied("GET /a?q=a&q=d", "d")}, []string{"GET /a?q=a&q=d", "d", "GET /a?q=a&q=d", "d", "GET /a?q=a&q=c", "c"}, draft.Exact},
		"the order of values":                         {[]string{replied("GET /a?q=1&q=2&q=3", "c"), replied("GET /a?q=1&q=3&q=2", "d")}, []string{"GET /a?q=1&q=3&q=2", "d", "GET /a?q=1&q=3&q=2", "d"}, draft.Exact},
		"the second value of a field":                 {[]string{replied("POST /a q=a&q=c", "c"), replied("POST /a q=a&q=d", "d")}, []string{"POST /a q=a&q=d", "d", "POST /a q=a&q=d", "d"}, draft.Exact},
		"four parameters":                             {[]string{replied("GET /a?b=1&c=1&d=1&e=1", "1"), replied("GET /a?b=2&c=1&d=1&e=1", "2"), replied("GET /a?b=1&c=2&d=1&e=1", "3"), replied("GET /a?b=1&c=1&d=2&e=1", "4"), replied("GET /a?b=1&c=1&d=1&e=2", "5")}, []string{"GET /a?b=1&c=1&d=1&e=2", "5", "GET /a?b=1&c=1&d=2&e=1", "4"}, draft.Exact},
		"an item of a list":                           {[]string{replied(`POST /a {"l":[1,2]}`, "2"), replied(`POST /a {"l":[1,3]}`, "3")}, []string{`POST /a {"l":[1,3]}`, "3", `POST /a {"l":[1,3]}`, "3"}, draft.Exact},
		"a deep member":                               {[]string{replied(`POST /a {"a":{"b":{"c":{"d":1}}}}`, "1"), replied(`POST /a {"a":{"b":{"c":{"d":2}}}}`, "2")}, []string{`POST /a {"a":{"b":{"c":{"d":2}}}}`, "2"}, draft.Exact},
		"a long value":                                {[]string{replied("GET /a?q="+long+"1", "1"), replied("GET /a?q="+long+"2", "2")}, []string{"GET /a?q=" + long + "2", "2"}, draft.Exact},
		"a long member":                               {[]string{replied(`POST /a {"a":"`+long+`1"}`, "1"), replied(`POST /a {"a":"`+long+`2"}`, "2"), replied(`POST /a {"a":"3"}`, "3")}, []string{`POST /a {"a":"` + long + `2"}`, "2"}, draft.Exact},
		"a member that is a list or a text":           {[]string{replied(`POST /a {"a":[1]}`, "1"), replied(`POST /a {"a":"1"}`, "2"), replied(`POST /a {}`, "3")}, []string{`POST /a {"a":"1"}`, "2", `POST /a {}`, "3"}, draft.Exact},
		"a number and a text":                         {[]string{replied(`POST /a {"a":1}`, "1"), replied(`POST /a {"a":"1"}`, "2")}, []string{`POST /a {"a":"1"}`, "2", `POST /a {"a":1}`, "1", `POST /a {"a":1}`, "1"}, draft.Exact},
		"1 and 1.0":                                   {[]string{replied("GET /a?v=1", "1"), replied("GET /a?v=1.0", "2")}, []string{"GET /a?v=1.0", "2", "GET /a?v=1.0", "2", "GET /a?v=1", "1"}, draft.Exact},
		"missing and empty":                           {[]string{replied("GET /a", "1"), replied("GET /a?v=", "2"), replied("GET /a?v", "3")}, []string{"GET /a?v=", "2", "GET /a?v", "3", "GET /a", "1"}, draft.Exact},
		"a slash at the end":                          {[]string{entry("GET /a", 301, `{"name":"Location","value":"/a/"}`, ""), replied("GET /a/", "2")}, []string{"GET /a/", "2", "GET /a/", "2"}, draft.Exact},
		"an encoded path":                             {[]string{replied("GET /%7Ea", "1"), replied("GET /~a", "2")}, []string{"GET /~a", "2", "GET /%7Ea", "1"}, draft.Exact},
		"segments that are numbers":                   {[]string{replied("GET /a/7", "1"), replied("GET /a/007", "2"), replied("GET /a/8", "3")}, []string{"GET /a/007", "2", "GET /a/7", "1"}, draft.Exact},
		"one request with many answers":               {[]string{replied("GET /a", "1"), replied("GET /b", "b"), replied("GET /a", "2"), replied("GET /a", "1")}, []string{"GET /a", "1", "GET /a", "2"}, draft.Exact},
		"one answer beside a changing one":            {[]string{replied("GET /a?x=1", "1"), replied("GET /a?x=2", "1"), replied("GET /a?x=2", "2")}, []string{"GET /a?x=1", "1", "GET /a?x=1", "1", "GET /a?x=1", "1"}, draft.Exact},
		"a multipart form with a boundary of its own": {[]string{multi("x", "1"), multi("y", "2")}, nil, draft.Exact},
		"headers in one value":                        {[]string{entry("GET /a", 200, `{"name":"set-cookie","value":"a=1; Path=/\nb=2"},{"name":"Link","value":"<x>\r\n<y>"}`, `"text":"1"`)}, nil, draft.Exact},
		"a body that is cut off":                      {[]string{entry("GET /a", 200, "", `"size":5,"text":"1"`)}, nil, draft.Approximate},
		"a redirect without its body":                 {[]string{entry("GET /a", 301, `{"name":"Location","value":"/"},{"name":"Content-Length","value":"9"}`, "")}, nil, draft.Approximate},
		"a text in another encoding":                  {[]string{entry("GET /a", 200, `{"name":"Content-Type","value":"text/html; charset=iso-8859-1"}`, `"text":"é"`)}, nil, draft.Approximate},
		"two types":                                   {[]string{entry("GET /a", 200, `{"name":"ETag","value":"1"},{"name":"ETag","value":"2"}`, `"text":"1"`)}, nil, draft.Approximate},
		"several ports":                               {[]string{replied("GET /a", "1"), strings.ReplaceAll(replied("GET /a", "2"), "a.example", "a.example:81")}, nil, draft.Approximate},
	} {
		t.Run(name, func(t *testing.T) {
			d, spec, text := made(t, draft.Options{}, file(t, "x.har", har(c.entries...)))
			for _, i := range d.Items {
				if i.Kind != c.want {
					t.Errorf("%v is %v: %s\n%s", i.Name, i.Kind, i.Why, text)
				}
			}
			if c.want != draft.Exact {
				return
			}
			url := listenertest.Start(t, spec, listener.Options{NoLatency: true}).URL()
			for _, a := range d.Asks {
				one := Case{Method: a.Method, Target: a.Target, Body: string(a.Body), Header: map[string]string{}, Status: a.Want[0].Status, Want: string(a.Want[0].Body)}
				for _, f := range a.Header {
					one.Header[f.Name] = f.Value
				}
				if len(a.Want) == 1 {
					Ask(t, url, []Case{one})
				}
			}
			for pair := range slices.Chunk(c.again, 2) {
				method, target, _ := strings.Cut(pair[0], " ")
				target, body, _ := strings.Cut(target, " ")
				kind := "application/x-www-form-urlencoded"
				if strings.HasPrefix(body, "{") {
					kind = "application/json"
				}
				Ask(t, url, []Case{{Method: method, Target: target, Body: body, Header: map[string]string{"Content-Type": kind}, Status: 200, Want: pair[1]}})
			}
		})
	}
}

// multi returns an exchange whose request is a multipart form with two fields.
func multi(value, response string) string {
	return `{"request":{"method":"POST","url":"http://a.example/m","headers":[{"name":"Content-Type","value":"multipart/form-data; boundary=` + value + `---b"}],
		"postData":{"mimeType":"multipart/form-data","params":[{"name":"f","value":"` + value + `"},{"name":"up","fileName":"u.txt","value":"{}"}]}},
		"response":{"status":200,"headers":[],"content":{"mimeType":"text/plain","text":"` + response + `"}}}`
}

// Values that a program has joined with line feeds, or cookies with commas, are several lines; a
// byte order mark is ignored.
func TestHeadersOfAHARHaveTheirLines(t *testing.T) {
	response := func(path, cookies string) string {
		return entry("GET "+path, 200, `{"name":"set-cookie","value":"`+cookies+`"},{"name":"X-A","value":"1\n2"},{"name":"Link","value":"<a>, <b>"}`, `"mimeType":"text/plain","text":"`+path+`"`)
	}
	text := har(response("/a/1", `a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT\nb=2`), response("/a/2", "a=3, b=4"), response("/a/3", "a=5,b=6"))
	d, spec, _ := made(t, draft.Options{}, file(t, "x.har", "\uFEFF"+text))
	if len(d.Items) != 1 || d.Count(draft.Exact) != 1 {
		t.Errorf("%v", d.Items)
	}
	has := func(cookies string) map[string]string {
		return map[string]string{"Set-Cookie": cookies, "X-A": "1, 2", "Link": "<a>, <b>"}
	}
	Ask(t, listenertest.Start(t, spec, listener.Options{NoLatency: true}).URL(), []Case{
		{Method: "GET", Target: "/a/1", Status: 200, Want: "/a/1", Has: has("a=1; Expires=Wed, 21 Oct 2026 07:28:00 GMT, b=2")},
		{Method: "GET", Target: "/a/2", Status: 200, Want: "/a/2", Has: has("a=3, b=4")},
		{Method: "GET", Target: "/a/3", Status: 200, Want: "/a/3", Has: has("a=5, b=6")},
	})
}

// Every format may begin with a byte order mark. UTF-16 is named as such.
func TestByteOrderMarks(t *testing.T) {
	recorded := `{"mockserver":"recording","version":1,"upstream":"real"}` + "\n" + exchange(0, "/a", 200, time.Millisecond, "1") + "\n"
	for name, text := range map[string]string{
		"x.har": har(replied("GET /a", "1")), "r.ndjson": recorded, "c.sh": "curl http://a/b", "db.json": `{"a": []}`,
		"m.json": `{"mappings": [{"request": {"url": "/"}, "response": {}}]}`, "c.json": `{"info": {}, "item": []}`, "e.json": `{"uuid": "e", "routes": []}`,
	} {
		d, err := imports.Make([]string{file(t, name, "\uFEFF"+text)}, draft.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		d.Close()
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			var wide []byte
			for _, unit := range utf16.Encode([]rune("\uFEFF" + text)) {
				wide = order.AppendUint16(wide, unit)
			}
			for _, data := range [][]byte{wide, wide[2:]} {
				if _, err := imports.Make([]string{file(t, name, string(data))}, draft.Options{}); err == nil || !strings.HasSuffix(err.Error(), name+": is not UTF-8 but UTF-16 or binary; expected a text in UTF-8") {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
	}
}
