package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const blogBase = "/api/v1"

type blogObject = map[string]any

// blogRows returns the rows of a file of examples/data/blog, each as its JSON text.
func blogRows(name string) []string {
	data, err := os.ReadFile(File("examples", "data/blog", name+".json"))
	if err != nil {
		panic(err)
	}
	var rows []json.RawMessage
	if err := json.Unmarshal(data, &rows); err != nil {
		panic(err)
	}
	texts := make([]string, len(rows))
	for i := range rows {
		texts[i] = string(rows[i])
	}
	return texts
}

// blogSelect returns the rows in which a member has a value.
func blogSelect(rows []string, member string, value any) []string {
	return slices.DeleteFunc(slices.Clone(rows), func(row string) bool {
		var o blogObject
		return json.Unmarshal([]byte(row), &o) != nil || !reflect.DeepEqual(o[member], value)
	})
}

func blogError(code, message string) string {
	return fmt.Sprintf(`{"code": %q, "message": %q}`, code, message)
}

// blogPage returns a list of posts: all rows of a page, and its position.
func blogPage(all []string, page, limit int) string {
	from := min((page-1)*limit, len(all))
	return fmt.Sprintf(`{"items": [%s], "pagination": {"page": %d, "limit": %d, "total": %d, "total_pages": %d}}`,
		strings.Join(all[from:min(from+limit, len(all))], ", "), page, limit, len(all), (len(all)+limit-1)/limit)
}

// blogCalls returns calls that are made one after another; each sees what the calls before it
// created, changed and deleted.
func blogCalls() []exampleCall {
	calls := slices.Concat(blogReadCalls(), blogPostCalls(), blogCommentCalls(), blogUserCalls())
	for i := range calls {
		calls[i].path = blogBase + calls[i].path
	}
	return calls
}

func blogReadCalls() []exampleCall {
	posts, comments, authors := blogRows("posts"), blogRows("comments"), blogRows("authors")
	calls := []exampleCall{
		{"", "GET", "/posts", "", 200, blogPage(posts, 1, 20)},
		{"", "GET", "/posts?page=2&limit=5", "", 200, blogPage(posts, 2, 5)},
		{"", "GET", "/posts?page=99", "", 200, blogPage(posts, 99, 20)},
		{"", "GET", "/posts?status=draft", "", 200, blogPage(blogSelect(posts, "status", "draft"), 1, 20)},
		{"", "GET", "/posts?status=draft&author_id=1", "", 200, blogPage(blogSelect(blogSelect(posts, "status", "draft"), "author_id", 1.0), 1, 20)},
		{"", "GET", "/posts?author_id=4", "", 200, blogPage(nil, 1, 20)},
		{"", "GET", "/posts?title[gte]=The&title[lt]=Thf", "", 200, blogPage([]string{posts[5], posts[14]}, 1, 20)},
		{"", "GET", "/posts?slug=why-our-p99-lied", "", 200, blogPage(posts[7:8], 1, 20)},
		{"", "GET", "/posts?status=published&sort=-published_at&limit=2", "", 200, fmt.Sprintf(
			`{"items": [%s, %s], "pagination": {"page": 1, "limit": 2, "total": 12, "total_pages": 6}}`, posts[11], posts[10])},
		{"", "GET", "/posts/1", "", 200, posts[0]},
		{"", "GET", "/authors/3/posts", "", 200, blogPage(blogSelect(posts, "author_id", 3.0), 1, 20)},
		{"", "GET", "/authors/5/posts?limit=3", "", 200, blogPage(nil, 1, 3)},
		{"", "GET", "/categories/guides/posts?page=2&limit=3", "", 200, blogPage(blogSelect(posts, "category", "guides"), 2, 3)},
		{"", "GET", "/categories", "", 200, `[{"id": 1, "slug": "guides", "name": "Guides", "description": "How to do it"},
			{"id": 2, "slug": "engineering", "name": "Engineering", "description": "How it works"}, {"id": 3, "slug": "stories", "name": "Stories", "description": "How it went"}]`},
		{"", "GET", "/authors?offset=3&limit=5", "", 200, `{"items": [` + authors[3] + `, ` + authors[4] + `], "offset": 3, "limit": 5, "total": 5}`},
		{"", "GET", "/authors/2", "", 200, authors[1]},
		{"", "GET", "/comments/4", "", 200, comments[3]},
		{"", "GET", "/posts/2/comments", "", 200, `{"items": [` + strings.Join(comments[8:], ", ") + `], "next": null, "has_more": false}`},
		{"List the posts of a missing category", "GET", "/categories/gossip/posts", "", 404, blogError("category_not_found", "There is no category gossip")},
	}
	for _, id := range []string{"0", "99", "-1", "007", "1.5", "seven"} {
		post, author, comment := blogError("post_not_found", "Post "+id+" does not exist"), blogError("author_not_found", "Author "+id+" does not exist"),
			blogError("comment_not_found", "Comment "+id+" does not exist")
		calls = append(calls,
			exampleCall{"Get a missing post", "GET", "/posts/" + id, "", 404, post},
			exampleCall{"Update a missing post", "PUT", "/posts/" + id, `{"status": "draft"}`, 404, post},
			exampleCall{"Delete a missing post", "DELETE", "/posts/" + id, "", 404, post},
			exampleCall{"List the comments of a missing post", "GET", "/posts/" + id + "/comments", "", 404, post},
			exampleCall{"Comment on a missing post", "POST", "/posts/" + id + "/comments", `{"content": "a", "author_id": 1}`, 404, post},
			exampleCall{"Get a missing comment", "GET", "/comments/" + id, "", 404, comment},
			exampleCall{"Delete a missing comment", "DELETE", "/comments/" + id, "", 404, comment},
			exampleCall{"Get a missing author", "GET", "/authors/" + id, "", 404, author},
			exampleCall{"List the posts of a missing author", "GET", "/authors/" + id + "/posts", "", 404, author})
	}
	return calls
}

func blogPostCalls() []exampleCall {
	const draft = `{"id": 17, "title": "A \"b\"", "slug": "untitled", "content": "World", "excerpt": "", "author_id": 1, "category_id": null, "category": null, "tags": [],
		"status": "draft", "published_at": null, "created_at": "<text>", "updated_at": "<now>"}`
	missing := blogError("fields_missing", "title, content and author_id are required, as a JSON object")
	refused := blogError("value_refused", "title, content and excerpt are texts; slug is made of a-z, 0-9 and single -; tags is a list of texts; status is draft or published")
	calls := []exampleCall{
		{"Create a post", "POST", "/posts", `{"title": "A \"b\"", "content": "World", "author_id": 1}`, 201, with(draft, `{"created_at": "<now>"}`)},
		{"", "GET", "/posts/17", "", 200, with(draft, `{"updated_at": "<text>"}`)},
		{"Publish a post", "PUT", "/posts/17", `{"status": "published"}`, 200, with(draft, `{"status": "published", "published_at": "<now>"}`)},
		{"Update a post", "PUT", "/posts/17", `{"title": "New"}`, 200, with(draft, `{"title": "New", "status": "published", "published_at": "<text>"}`)},
		{"Update a post", "PUT", "/posts/17", `{"content": "C", "status": "published"}`, 200, with(draft, `{"title": "New", "content": "C", "status": "published", "published_at": "<text>"}`)},
		{"Take a post back", "PUT", "/posts/17", `{"status": "draft"}`, 200, with(draft, `{"title": "New", "content": "C"}`)},
		{"", "DELETE", "/posts/17", "", 204, ""},
		{"Get a missing post", "GET", "/posts/17", "", 404, blogError("post_not_found", "Post 17 does not exist")},
		{"Create a post", "POST", "/posts", `{"title": "Hello", "slug": "hello", "content": "World", "excerpt": "E", "author_id": 2, "category_id": 3, "tags": ["http"], "status": "published"}`, 201,
			with(draft, `{"id": "<integer>", "title": "Hello", "slug": "hello", "excerpt": "E", "author_id": 2, "category_id": 3, "category": "stories", "tags": ["http"],
				"status": "published", "published_at": "<now>", "created_at": "<now>"}`)},
		{"Create a post of an unknown author", "POST", "/posts", `{"title": "a", "content": "b", "author_id": 6}`, 422, blogError("author_unknown", "There is no author 6")},
		{"Create a post in an unknown category", "POST", "/posts", `{"title": "a", "content": "b", "author_id": 1, "category_id": 4}`, 422, blogError("category_unknown", "There is no category 4")},
		{"Update a post with nothing", "PUT", "/posts/1", "{}", 400, blogError("nothing_to_update", "One of title, content and status is required, in a JSON object")},
		{"Update a post with an empty title or content", "PUT", "/posts/1", `{"title": " "}`, 400, blogError("fields_missing", "title and content cannot be empty")},
		{"Update a post with a value that is not accepted", "PUT", "/posts/1", `{"status": "gone"}`, 422, refused},
		{"Update a post with a value that is not accepted", "PUT", "/posts/1", `{"title": 7}`, 422, refused},
	}
	for _, body := range []string{"", "{}", "not JSON", `["title"]`, `{"content": "a", "author_id": 1}`, `{"title": " ", "content": "a", "author_id": 1}`, `{"title": "a", "content": "b"}`} {
		calls = append(calls, exampleCall{"Create a post with fields missing", "POST", "/posts", body, 400, missing})
	}
	for _, field := range []string{`"title": 7`, `"content": [1]`, `"excerpt": {}`, `"slug": "A b"`, `"slug": 7`, `"tags": "http"`, `"tags": [1]`, `"status": "gone"`} {
		body := with(`{"title": "a", "content": "b", "author_id": 1}`, "{"+field+"}")
		calls = append(calls, exampleCall{"Create a post with a value that is not accepted", "POST", "/posts", body, 422, refused})
	}
	return calls
}

func blogCommentCalls() []exampleCall {
	const comment = `{"id": "<integer>", "post_id": 3, "parent_id": null, "author_id": 2, "content": "A \"b\"\n", "created_at": "<now>", "updated_at": "<now>"}`
	missing := blogError("fields_missing", "content and author_id are required, as a JSON object")
	calls := []exampleCall{
		{"Comment or reply", "POST", "/posts/3/comments", `{"content": "A \"b\"\n", "author_id": 2}`, 201, comment},
		{"Comment or reply", "POST", "/posts/3/comments", `{"content": "A \"b\"\n", "author_id": 2, "parent_id": 12}`, 201, with(comment, `{"parent_id": 12}`)},
		{"", "DELETE", "/comments/12", "", 204, ""},
		{"", "GET", "/posts/3/comments", "", 200, `{"items": [` + with(comment, `{"id": 13, "parent_id": 12, "created_at": "<text>", "updated_at": "<text>"}`) + `], "next": null, "has_more": false}`},
		{"Comment as an unknown author", "POST", "/posts/1/comments", `{"content": "a", "author_id": 6}`, 422, blogError("author_unknown", "There is no author 6")},
	}
	for _, body := range []string{"", "{}", "not JSON", `{"author_id": 1}`, `{"content": " ", "author_id": 1}`, `{"content": "a"}`} {
		calls = append(calls, exampleCall{"Comment with fields missing", "POST", "/posts/1/comments", body, 400, missing})
	}
	for _, r := range [][2]string{{"1", "9"}, {"1", "99"}, {"2", "1"}, {"3", "12"}, {"16", "1"}} {
		calls = append(calls, exampleCall{"Reply to an unknown comment", "POST", "/posts/" + r[0] + "/comments", `{"content": "a", "author_id": 1, "parent_id": ` + r[1] + `}`, 422,
			blogError("parent_not_found", "Post "+r[0]+" has no comment "+r[1])})
	}
	return calls
}

func blogUserCalls() []exampleCall {
	const ines = `{"id": "usr_ines", "name": "Ines Carvalho", "email": "ines@example.com"}`
	calls := []exampleCall{
		{"Register", "POST", "/auth/register", `{"name": "Ada \"A\"", "email": "Ada@example.com", "password": "a long secret"}`, 201, `{"id": "<text>", "name": "Ada \"A\"", "email": "ada@example.com"}`},
		{"", "POST", "/auth/register", `{"name": "A", "email": "ada@example.com", "password": "a long secret"}`, 409, blogError("email_taken", "There is a user with the address ada@example.com")},
		{"", "POST", "/auth/register", `{"name": "A", "email": "Ines@example.com", "password": "a long secret"}`, 409, blogError("email_taken", "There is a user with the address ines@example.com")},
		{"Log in", "POST", "/auth/login", `{"email": "ines@example.com", "password": "secret"}`, 200, `{"token": "<text>", "token_type": "Bearer", "expires_in": 3600, "user": ` + ines + `}`},
		{"Ask who I am", "GET", "/me", "", 200, ines},
		{"Ask who I am without a login", "GET", "/me", "", 401, blogError("login_required", "Log in and send Authorization: Bearer with the token")},
	}
	for _, body := range []string{"", "{}", "not JSON", `{"name": "A", "email": "a@b", "password": "short"}`, `{"name": "A", "email": "no address", "password": "a long secret"}`, `{"name": " ", "email": "a@b", "password": "a long secret"}`} {
		calls = append(calls, exampleCall{"Register with fields missing", "POST", "/auth/register", body, 400,
			blogError("fields_missing", "name, email and a password of 6 characters or more are required")})
	}
	for _, body := range []string{"", "{}", `{"email": "ines@example.com"}`, `{"email": "", "password": "secret"}`} {
		calls = append(calls, exampleCall{"Log in with fields missing", "POST", "/auth/login", body, 400, blogError("fields_missing", "email and password are required")})
	}
	for _, body := range []string{`{"email": "ines@example.com", "password": "Secret"}`, `{"email": "nobody@example.com", "password": "secret"}`} {
		calls = append(calls, exampleCall{"Log in with a wrong address or password", "POST", "/auth/login", body, 401, blogError("invalid_credentials", "Address or password is wrong")})
	}
	return calls
}

// The tests below walk through examples/blog.yml as a client does.

func startBlog(t *testing.T) *Process {
	t.Helper()
	return Start(t, "-c", File("examples", "blog.yml"))
}

// readBlog requests a path and expects status 200 and a JSON object.
func readBlog(p *Process, path string, headers ...string) (blogObject, Response) {
	p.T.Helper()
	a := p.Get(path, headers...)
	o, ok := exampleDecode(p.T, a.Body).(blogObject)
	if a.Status != 200 || !ok {
		p.T.Fatalf("GET %s: got %d %s, want 200 and an object", path, a.Status, a.Body)
	}
	return o, a
}

// blogIDs returns the ids of the listed objects.
func blogIDs(o blogObject) []string {
	var ids []string
	for _, item := range o["items"].([]any) {
		ids = append(ids, fmt.Sprint(item.(blogObject)["id"]))
	}
	return ids
}

// blogNumbers returns the numbers from 1 to n.
func blogNumbers(n int) []string {
	var all []string
	for i := range n {
		all = append(all, strconv.Itoa(i+1))
	}
	return all
}

// errLink is what parseLinks returns for a header that is not a valid Link header.
var errLink = errors.New("not a Link header")

// parseLinks reads the value of a Link header (RFC 8288, section 3) into its targets by relation
// type. A repeated relation is an error.
func parseLinks(header string) (map[string]string, error) {
	links := map[string]string{}
	for rest := strings.Trim(header, " \t"); rest != ""; {
		target, after, ok := strings.Cut(strings.TrimPrefix(rest, "<"), ">")
		if rest[0] != '<' || !ok || strings.ContainsAny(target, " <\"") {
			return nil, fmt.Errorf("%w: no target at %q", errLink, rest)
		}
		rel := ""
		rest = strings.TrimLeft(after, " \t")
		for strings.HasPrefix(rest, ";") {
			name, after, ok := strings.Cut(strings.TrimLeft(rest[1:], " \t"), "=")
			value, rest2, closed := strings.Cut(strings.TrimPrefix(after, `"`), `"`)
			if !ok || !closed || !strings.HasPrefix(after, `"`) || name == "" {
				return nil, fmt.Errorf("%w: no parameter at %q", errLink, rest)
			}
			if name == "rel" && rel == "" {
				rel = value
			}
			rest = strings.TrimLeft(rest2, " \t")
		}
		if rel == "" || links[rel] != "" {
			return nil, fmt.Errorf("%w: relation %q is missing, or occurs twice", errLink, rel)
		}
		links[rel] = target
		if rest == "" {
			return links, nil
		}
		if rest[0] != ',' {
			return nil, fmt.Errorf("%w: no comma at %q", errLink, rest)
		}
		if rest = strings.TrimLeft(rest[1:], " \t"); rest == "" {
			return nil, fmt.Errorf("%w: a comma without a link", errLink)
		}
	}
	return links, nil
}

func TestParseLinks(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"a", "<a", "<a>", "<a>; rel", "<a>; rel=next", `<a>; rel="next`, `<a>; rel="next",`, `<a>; rel="next" <b>; rel="prev"`,
		`<a>; rel="next", , <b>; rel="prev"`, `<a>; rel="next", <b>; rel="next"`, `<a b>; rel="next"`, `; rel="next"`, `<a>; title="next"`} {
		if links, err := parseLinks(header); !errors.Is(err, errLink) {
			t.Errorf("%s: got %v and %v, want an error", header, links, err)
		}
	}
	for header, want := range map[string]map[string]string{
		"":               {},
		`<a>;rel="next"`: {"next": "a"},
		`</a?b=1,2;3&c=>; title="x, y"; rel="next" ,<>; rel="prev"`: {"next": "/a?b=1,2;3&c=", "prev": ""},
	} {
		if links, err := parseLinks(header); err != nil || !reflect.DeepEqual(links, want) {
			t.Errorf("%s: got %v (%v), want %v", header, links, err, want)
		}
	}
}

func TestBlog_LinksLeadThroughEveryPage(t *testing.T) {
	t.Parallel()
	p := startBlog(t)
	for limit := 1; limit <= 17; limit++ {
		var seen []string
		for address := fmt.Sprintf("%s/posts?limit=%d", blogBase, limit); address != ""; {
			o, a := readBlog(p, address)
			links, err := parseLinks(a.Header.Get("Link"))
			if err != nil || links["first"] == "" || links["last"] == "" {
				t.Fatalf("%s: got the links %v (%v), want first and last", address, links, err)
			}
			seen, address = append(seen, blogIDs(o)...), links["next"]
			if len(seen) > 16 {
				break
			}
		}
		if want := blogNumbers(16); !slices.Equal(seen, want) {
			t.Errorf("limit %d: got %v, want %v", limit, seen, want)
		}
	}
}

func TestBlog_CursorsShowEveryCommentOnce(t *testing.T) {
	t.Parallel()
	p := startBlog(t)
	for limit := 1; limit <= 9; limit++ {
		var seen []string
		for next, more := "", true; more && len(seen) < 9; {
			o, _ := readBlog(p, fmt.Sprintf("%s/posts/1/comments?limit=%d&cursor=%s", blogBase, limit, url.QueryEscape(next)))
			seen = append(seen, blogIDs(o)...)
			next, more = o["next"].(string)
		}
		if want := blogNumbers(8); !slices.Equal(seen, want) {
			t.Errorf("limit %d: got %v, want %v", limit, seen, want)
		}
	}
}

func TestBlog_WhatIsCreatedIsListedUntilItIsDeleted(t *testing.T) {
	t.Parallel()
	p := startBlog(t)
	for _, c := range []struct{ list, body string }{
		{"/posts", `{"title": "Hello", "content": "World", "author_id": 1, "category_id": 1}`},
		{"/posts/1/comments", `{"content": "I agree", "author_id": 2}`},
	} {
		a := p.Do("POST", blogBase+c.list, c.body)
		created := exampleDecode(t, a.Body).(blogObject)
		location, id := a.Header.Get("Location"), fmt.Sprint(created["id"])
		if read, _ := readBlog(p, location); !reflect.DeepEqual(read, created) {
			t.Errorf("%s: got %v, want the created one, %v", location, read, created)
		}
		if list, _ := readBlog(p, blogBase+c.list); !slices.Contains(blogIDs(list), id) {
			t.Errorf("%s does not list the created one: %v", c.list, list)
		}
		p.Do("DELETE", location, "").Want(t, 204, "")
		if list, _ := readBlog(p, blogBase+c.list); slices.Contains(blogIDs(list), id) {
			t.Errorf("%s lists the deleted one: %v", c.list, list)
		}
	}
}

func TestBlog_TheTokenOfALoginOpensMe(t *testing.T) {
	t.Parallel()
	p := startBlog(t)
	const ada = `{"name": "Ada", "email": "ada@example.com", "password": "a long secret"}`
	if a := p.Do("POST", blogBase+"/auth/register", ada); a.Status != 201 || a.Header.Get("Location") != "/api/v1/me" {
		t.Fatalf("register: got %d %s", a.Status, a.Body)
	}
	login := exampleDecode(t, p.Do("POST", blogBase+"/auth/login", ada).Body).(blogObject)
	token := fmt.Sprint(login["token"])
	if me, _ := readBlog(p, blogBase+"/me", "Authorization: Bearer "+token); !reflect.DeepEqual(me, login["user"]) {
		t.Errorf("got %v, want the user who logged in, %v", me, login["user"])
	}
	for _, header := range []string{"", token, "Bearer", "Bearer x", "Basic " + token, "Bearer " + token + " x"} {
		if a := p.Get(blogBase+"/me", "Authorization: "+header); a.Status != 401 || a.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("Authorization %q: got %d, WWW-Authenticate %q, want 401", header, a.Status, a.Header.Get("WWW-Authenticate"))
		}
	}
}

func TestBlog_EveryRowOfTheTableIsDeclared(t *testing.T) {
	t.Parallel()
	p := startBlog(t)
	for path, want := range map[string]string{
		"/posts": "GET, HEAD, OPTIONS, POST", "/posts/1": "DELETE, GET, HEAD, OPTIONS, PUT", "/posts/1/comments": "GET, HEAD, OPTIONS, POST",
		"/comments/1": "DELETE, GET, HEAD, OPTIONS", "/authors": "GET, HEAD, OPTIONS", "/authors/1": "GET, HEAD, OPTIONS",
		"/authors/1/posts": "GET, HEAD, OPTIONS", "/categories": "GET, HEAD, OPTIONS", "/categories/stories/posts": "GET, HEAD, OPTIONS",
	} {
		if allowed := p.Do("OPTIONS", blogBase+path, "").Header.Get("Allow"); allowed != want {
			t.Errorf("%s: got Allow %v, want %v", path, allowed, want)
		}
	}
}
