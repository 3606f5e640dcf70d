package examples_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mockserver/internal/harness"
)

// These tests walk through examples/blog.yml as a client does; the single calls are
// in examples_blog_calls_test.go.

func startBlog(t *testing.T) *harness.Process {
	t.Helper()
	return harness.Start(t, "-c", harness.File("examples", "blog.yml"))
}

// readBlogObject gets a path, which has to answer 200 and a JSON object.
func readBlogObject(p *harness.Process, path string) (blogObject, harness.Answer) {
	p.T.Helper()
	a := p.Get(path)
	o, ok := exampleDecode(p.T, a.Body).(blogObject)
	if a.Status != 200 || !ok {
		p.T.Fatalf("GET %s: got %d %s, want 200 and an object", path, a.Status, a.Body)
	}
	return o, a
}

// readBlogList gets a path, which has to answer with items and a pagination.
func readBlogList(p *harness.Process, path string) (items []blogObject, pagination blogObject, a harness.Answer) {
	p.T.Helper()
	o, a := readBlogObject(p, path)
	pagination, isObject := o["pagination"].(blogObject)
	all, isList := o["items"].([]any)
	if !isObject || !isList {
		p.T.Fatalf("GET %s: got %s, want items and a pagination", path, a.Body)
	}
	for _, item := range all {
		one, ok := item.(blogObject)
		if !ok {
			p.T.Fatalf("GET %s: got item %v, want an object", path, item)
		}
		items = append(items, one)
	}
	return items, pagination, a
}

// blogIDs are the ids of what was listed.
func blogIDs(items []blogObject) []string {
	ids := []string{}
	for _, item := range items {
		ids = append(ids, fmt.Sprint(item["id"]))
	}
	return ids
}

// blogNumber is a field that has to be an integer.
func blogNumber(t *testing.T, o blogObject, key string) int {
	t.Helper()
	n, err := strconv.Atoi(fmt.Sprint(o[key]))
	if err != nil {
		t.Fatalf("got %s %v, want an integer", key, o[key])
	}
	return n
}

func TestBlog_PageAndLimitShowEveryPostOnce(t *testing.T) {
	t.Parallel()
	p := startBlog(t)
	for _, l := range blogLists() {
		for limit := 1; limit <= 20; limit++ {
			var seen []blogObject
			for page, pages := 1, 1; page <= pages; page++ {
				address := l.address(fmt.Sprintf("page=%d&limit=%d", page, limit))
				items, at, _ := readBlogList(p, address)
				pages = blogNumber(t, at, "total_pages")
				if len(items) == 0 || len(items) > limit || page < pages && len(items) != limit {
					t.Fatalf("%s: got %d items on page %d of %d", address, len(items), page, pages)
				}
				if blogNumber(t, at, "page") != page || blogNumber(t, at, "limit") != limit || blogNumber(t, at, "total") != len(l.items) {
					t.Fatalf("%s: got pagination %v, want page %d, limit %d and total %d", address, at, page, limit, len(l.items))
				}
				seen = append(seen, items...)
			}
			if got, want := blogIDs(seen), blogIDs(l.items); !slices.Equal(got, want) {
				t.Errorf("%s, limit %d: got %v, want %v", l.address(""), limit, got, want)
			}
		}
	}
}

func TestBlog_OffsetAndLimitShowEveryAuthorOnce(t *testing.T) {
	t.Parallel()
	p := startBlog(t)
	for limit := 1; limit <= 20; limit++ {
		var ids []string
		for next := any("0"); next != nil; {
			address := fmt.Sprintf("/api/v1/authors?offset=%v&limit=%d", next, limit)
			items, at, _ := readBlogList(p, address)
			if len(items) == 0 || len(ids) > len(blogAuthors) {
				t.Fatalf("%s: got %d authors after %v", address, len(items), ids)
			}
			ids, next = append(ids, blogIDs(items)...), at["next_offset"]
		}
		if want := []string{"1", "2", "3", "4", "5"}; !slices.Equal(ids, want) {
			t.Errorf("limit %d: got authors %v, want %v", limit, ids, want)
		}
	}
}

func TestBlog_CursorsShowEveryCommentOnce(t *testing.T) {
	t.Parallel()
	p := startBlog(t)
	for post := 1; post <= len(blogPosts); post++ {
		for limit := 1; limit <= 20; limit++ {
			address := fmt.Sprintf("/api/v1/posts/%d/comments?limit=%d", post, limit)
			seen, used := []blogObject{}, []string{}
			for cursor, more := "", true; more; {
				items, at, _ := readBlogList(p, strings.TrimSuffix(address+"&cursor="+cursor, "&cursor="))
				seen = append(seen, items...)
				if cursor, more = at["next_cursor"].(string); !more && at["next_cursor"] != nil {
					t.Fatalf("%s: got next_cursor %v, want a text or null", address, at["next_cursor"])
				}
				if more && (len(items) != limit || slices.Contains(used, cursor)) {
					t.Fatalf("%s: got %d items and the cursor %q after %v", address, len(items), cursor, used)
				}
				used = append(used, cursor)
			}
			if got, want := blogIDs(seen), blogIDs(blogThread(post)); !slices.Equal(got, want) {
				t.Errorf("%s: got comments %v, want %v", address, got, want)
			}
		}
	}
}

// errLink is what parseLinks returns for a header that is none.
var errLink = errors.New("not a Link header")

// parseLinks reads the value of a Link header (RFC 8288, section 3) into its
// targets by relation type. A relation that stands twice is an error here.
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
			return nil, fmt.Errorf("%w: relation %q is missing, or stands twice", errLink, rel)
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

// readBlogLinks gets an address and returns what it lists and its Link header, which has
// to be one, each target resolved to a path with a query.
func readBlogLinks(p *harness.Process, address string) ([]blogObject, map[string]string) {
	p.T.Helper()
	items, _, a := readBlogList(p, address)
	header := a.Header.Values("Link")
	if len(header) != 1 {
		p.T.Fatalf("%s: got Link headers %q, want one", address, header)
	}
	links, err := parseLinks(header[0])
	if err != nil {
		p.T.Fatalf("%s: %v", address, err)
	}
	base, err := url.Parse(address)
	if err != nil {
		p.T.Fatal(err)
	}
	for rel, target := range links {
		u, err := base.Parse(target)
		if err != nil {
			p.T.Fatal(err)
		}
		links[rel] = u.RequestURI()
	}
	return items, links
}

// sameAddress reports whether two addresses have one path and one set of
// parameters.
func sameAddress(t *testing.T, a, b string) bool {
	t.Helper()
	one, err := url.Parse(a)
	other, err2 := url.Parse(b)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	return one.Path == other.Path && reflect.DeepEqual(one.Query(), other.Query())
}

func TestBlog_LinkHeadersLeadThroughEveryPage(t *testing.T) {
	t.Parallel()
	p := startBlog(t)
	for _, l := range blogLists() {
		for limit := 1; limit <= 20; limit++ {
			pages := (len(l.items) + limit - 1) / limit
			nth := func(page int) string { return l.address(fmt.Sprintf("page=%d&limit=%d", page, limit)) }
			var seen []blogObject
			for page, address := 1, l.address("limit="+strconv.Itoa(limit)); page <= pages; page++ {
				items, links := readBlogLinks(p, address)
				want := map[string]string{"first": nth(1), "last": nth(pages)}
				if page > 1 {
					want["prev"] = nth(page - 1)
				}
				if page < pages {
					want["next"] = nth(page + 1)
				}
				if len(links) != len(want) {
					t.Fatalf("%s: got links %v, want %v", address, links, want)
				}
				for rel := range want {
					if !sameAddress(t, links[rel], want[rel]) {
						t.Fatalf("%s: got %s %q, want %q", address, rel, links[rel], want[rel])
					}
				}
				seen, address = append(seen, items...), links["next"]
			}
			if got, want := blogIDs(seen), blogIDs(l.items); !slices.Equal(got, want) {
				t.Errorf("%s by %d: following next shows %v, want %v", l.address(""), limit, got, want)
			}
		}
		items, links := readBlogLinks(p, l.address(""))
		if !slices.Equal(blogIDs(items), blogIDs(l.items)) || len(links) != 2 || !sameAddress(t, links["first"], l.address("page=1&limit=20")) ||
			!sameAddress(t, links["last"], links["first"]) {
			t.Errorf("%s: got %v and links %v, want all on one page, with first and last", l.address(""), blogIDs(items), links)
		}
		if _, _, a := readBlogList(p, l.address("page=99&limit=2")); a.Header.Values("Link") != nil {
			t.Errorf("%s: a page after the last has Link %q, want none", l.address(""), a.Header.Values("Link"))
		}
	}
}

func TestBlog_FiltersFilterAndDraftsAreOnlyAmongDrafts(t *testing.T) {
	t.Parallel()
	p := startBlog(t)
	for _, l := range blogLists() {
		items, _, _ := readBlogList(p, l.address(""))
		for _, item := range items {
			status, published := "published", true
			if l.filter == "status=draft" {
				status, published = "draft", false
			}
			if _, isText := item["published_at"].(string); item["status"] != status || isText != published {
				t.Errorf("%s: got a post %v, want status %s and published_at to say so", l.address(""), item, status)
			}
			full, _ := readBlogObject(p, "/api/v1/posts/"+fmt.Sprint(item["id"]))
			for key := range item {
				if !reflect.DeepEqual(item[key], full[key]) {
					t.Errorf("%s, post %v: got %s %v in the list and %v alone", l.address(""), item["id"], key, item[key], full[key])
				}
			}
		}
	}
}

func TestBlog_FilesAndListsAreOfOnePiece(t *testing.T) {
	t.Parallel()
	p := startBlog(t)
	categories, _ := readBlogObject(p, "/api/v1/categories")
	for _, item := range categories["items"].([]any) {
		category := item.(blogObject)
		posts, _, _ := readBlogList(p, fmt.Sprintf("/api/v1/categories/%s/posts", category["slug"]))
		if len(posts) != blogNumber(t, category, "posts_count") {
			t.Errorf("category %v: got %d posts, posts_count is %v", category["slug"], len(posts), category["posts_count"])
		}
		for _, post := range posts {
			full, _ := readBlogObject(p, "/api/v1/posts/"+fmt.Sprint(post["id"]))
			if in := full["category"].(blogObject); in["slug"] != category["slug"] || in["name"] != category["name"] || in["id"] != category["id"] {
				t.Errorf("post %v: got category %v, want %v", post["id"], in, category)
			}
		}
	}
	authors, _, _ := readBlogList(p, "/api/v1/authors")
	for _, author := range authors {
		alone, _ := readBlogObject(p, "/api/v1/authors/"+fmt.Sprint(author["id"]))
		if !reflect.DeepEqual(author, alone) {
			t.Errorf("author %v: got %v in the list and %v alone", author["id"], author, alone)
		}
		posts, _, _ := readBlogList(p, fmt.Sprintf("/api/v1/authors/%v/posts", author["id"]))
		if len(posts) != blogNumber(t, author, "posts_count") {
			t.Errorf("author %v: got %d posts, posts_count is %v", author["id"], len(posts), author["posts_count"])
		}
		for _, post := range posts {
			full, _ := readBlogObject(p, "/api/v1/posts/"+fmt.Sprint(post["id"]))
			if by := full["author"].(blogObject); by["id"] != author["id"] || by["name"] != author["name"] {
				t.Errorf("post %v: got author %v, want %v", post["id"], by, author)
			}
		}
	}
}

func TestBlog_EveryReplyAnswersACommentOfItsThread(t *testing.T) {
	t.Parallel()
	p := startBlog(t)
	depths := 0
	for post := 1; post <= len(blogPosts); post++ {
		items, _, _ := readBlogList(p, fmt.Sprintf("/api/v1/posts/%d/comments", post))
		depth := map[string]int{}
		for _, c := range items {
			id := fmt.Sprint(c["id"])
			if blogNumber(t, c, "post_id") != post {
				t.Errorf("comment %s of post %d: got post_id %v", id, post, c["post_id"])
			}
			if alone, _ := readBlogObject(p, "/api/v1/comments/"+id); !reflect.DeepEqual(c, alone) {
				t.Errorf("comment %s: got %v in the list and %v alone", id, c, alone)
			}
			if status := p.Get("/api/v1/authors/" + fmt.Sprint(c["author_id"])).Status; status != 200 {
				t.Errorf("comment %s: its author %v answers %d", id, c["author_id"], status)
			}
			depth[id] = 1
			if c["parent_id"] != nil {
				above, ok := depth[fmt.Sprint(c["parent_id"])]
				if !ok {
					t.Errorf("comment %s of post %d: no comment before it has the id %v", id, post, c["parent_id"])
				}
				depth[id] = above + 1
			}
			depths = max(depths, depth[id])
		}
		if full, _ := readBlogObject(p, "/api/v1/posts/"+strconv.Itoa(post)); blogNumber(t, full, "comments_count") != len(items) {
			t.Errorf("post %d: got %d comments, comments_count is %v", post, len(items), full["comments_count"])
		}
	}
	if depths < 3 {
		t.Errorf("the deepest reply stands at depth %d, want a reply to a reply", depths)
	}
}

func TestBlog_WhatIsCreatedCanBeReadChangedAnsweredAndDeleted(t *testing.T) {
	t.Parallel()
	p := startBlog(t)
	const post = `{"title": "Hello", "content": "World", "author_id": 1, "status": "published"}`
	const comment = `{"content": "I agree", "author_id": 2}`
	for _, c := range []struct{ to, body, from string }{
		{"/api/v1/posts", post, "/api/v1/posts/"}, {"/api/v1/posts/1/comments", comment, "/api/v1/comments/"},
	} {
		for range 20 { // an id and a Location of two different moments would meet now and then
			created := p.Do("POST", c.to, c.body)
			id := fmt.Sprint(exampleDecode(t, created.Body).(blogObject)["id"])
			if location := created.Header.Values("Location"); created.Status != 201 || !slices.Equal(location, []string{c.from + id}) {
				t.Fatalf("POST %s: got %d, Location %q and %s, want 201 and the Location of the id", c.to, created.Status, location, created.Body)
			}
			if read, _ := readBlogObject(p, c.from+id); fmt.Sprint(read["id"]) != id {
				t.Errorf("GET %s%s: got %v", c.from, id, read)
			}
			p.Do("DELETE", c.from+id, "").Want(t, 204, "")
			if c.body == comment {
				reply := p.Do("POST", c.to, `{"content": "So do I", "author_id": 3, "parent_id": `+id+`}`)
				if got := exampleDecode(t, reply.Body).(blogObject)["parent_id"]; reply.Status != 201 || got != json.Number(id) {
					t.Errorf("a reply to %s: got %d and parent_id %v", id, reply.Status, got)
				}
			}
		}
	}
	for _, path := range []string{"/api/v1/posts", "/api/v1/posts/1/comments", "/api/v1/auth/register"} {
		if a := p.Do("POST", path, "{}"); a.Header.Values("Location") != nil {
			t.Errorf("POST %s: got %d with Location %q, want none", path, a.Status, a.Header.Values("Location"))
		}
	}
}

func TestBlog_TheTokenOfALoginOpensMe(t *testing.T) {
	t.Parallel()
	p := startBlog(t)
	login := p.Do("POST", "/api/v1/auth/login", `{"email": "ines@example.com", "password": "secret"}`)
	body, _ := exampleDecode(t, login.Body).(blogObject)
	token, ok := body["token"].(string)
	user, isObject := body["user"].(blogObject)
	if login.Status != 200 || !ok || !isObject {
		t.Fatalf("got %d %s, want a token and a user", login.Status, login.Body)
	}
	me := p.Get("/api/v1/me", "Authorization: Bearer "+token)
	if got, ok := exampleDecode(t, me.Body).(blogObject); me.Status != 200 || !ok || got["email"] != user["email"] || got["id"] != user["id"] {
		t.Errorf("got %d %s, want 200 and the user who logged in, %v", me.Status, me.Body, user)
	}
	for _, header := range []string{"", token, "Bearer", "Bearer ", "Bearer x", "Basic " + token, "Bearer " + token + " x", "bearer" + token} {
		a := p.Get("/api/v1/me", "Authorization: "+header)
		if a.Status != 401 || a.Header.Get("WWW-Authenticate") != "Bearer" || exampleDecode(t, a.Body).(blogObject)["code"] != "login_required" {
			t.Errorf("Authorization %q: got %d, WWW-Authenticate %q, %s, want 401", header, a.Status, a.Header.Get("WWW-Authenticate"), a.Body)
		}
	}
}

func TestBlog_EveryRowOfTheTableIsDeclared(t *testing.T) {
	t.Parallel()
	p := startBlog(t)
	for path, want := range map[string][]string{
		"/posts":                    {"GET", "HEAD", "OPTIONS", "POST"},
		"/posts/1":                  {"DELETE", "GET", "HEAD", "OPTIONS", "PUT"},
		"/posts/1/comments":         {"GET", "HEAD", "OPTIONS", "POST"},
		"/comments/1":               {"DELETE", "GET", "HEAD", "OPTIONS"},
		"/authors":                  {"GET", "HEAD", "OPTIONS"},
		"/authors/1":                {"GET", "HEAD", "OPTIONS"},
		"/authors/1/posts":          {"GET", "HEAD", "OPTIONS"},
		"/categories":               {"GET", "HEAD", "OPTIONS"},
		"/categories/stories/posts": {"GET", "HEAD", "OPTIONS"},
	} {
		allowed := strings.Split(p.Do("OPTIONS", blogBase+path, "").Header.Get("Allow"), ", ")
		slices.Sort(allowed)
		if !slices.Equal(allowed, want) {
			t.Errorf("%s: got Allow %v, want %v", path, allowed, want)
		}
		if get, head := p.Get(blogBase+path), p.Do("HEAD", blogBase+path, ""); head.Status != get.Status || head.Length != int64(len(get.Body)) ||
			head.Header.Get("Link") != get.Header.Get("Link") {
			t.Errorf("HEAD %s: got %+v, want what GET answers, without its body", path, head)
		}
	}
}
