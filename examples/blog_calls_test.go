package examples_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// ---- What is in the blog, written down once more ----------------------------

type blogPost struct {
	id                   int
	title, slug, excerpt string
	author, category     int
	tags                 []string
	published            bool
}

var blogPosts = []blogPost{
	{1, "How to read a latency histogram", "how-to-read-a-latency-histogram", "Where the tail begins, and why the mean hides it", 1, 1, []string{"latency"}, true},
	{2, "Open and closed workload models", "open-and-closed-workload-models", "Who decides when the next request is sent", 2, 1, []string{"workload"}, true},
	{3, "Keep-alive, pipelining and what they hide", "keep-alive-pipelining-and-what-they-hide", "One connection is not one user", 3, 2, []string{"http"}, true},
	{4, "Coordinated omission, explained with a queue", "coordinated-omission-explained-with-a-queue", "The requests that were never sent were the slow ones", 1, 2, []string{"latency", "workload"}, true},
	{5, "A mock server in the load test", "a-mock-server-in-the-load-test", "A stand-in that you control", 2, 1, []string{"http", "tooling"}, true},
	{6, "The day the cache was too warm", "the-day-the-cache-was-too-warm", "Ninety-nine percent hits, none of them real", 3, 3, []string{"latency"}, true},
	{7, "Writing scenarios that look like users", "writing-scenarios-that-look-like-users", "Think time, abandoned baskets and the back button", 1, 1, []string{"workload"}, true},
	{8, "Why our p99 lied", "why-our-p99-lied", "Percentiles of percentiles are nothing", 2, 3, []string{"latency", "tooling"}, true},
	{9, "Connection pools under pressure", "connection-pools-under-pressure", "Where requests wait before they are requests", 3, 2, []string{"http", "tooling"}, true},
	{10, "Ramp, plateau, spike", "ramp-plateau-spike", "Three shapes of load and what each one asks", 1, 3, []string{"workload"}, true},
	{11, "Time-outs are part of the answer", "time-outs-are-part-of-the-answer", "A request without an end is an answer too", 2, 2, []string{"http"}, true},
	{12, "A week with a noisy neighbour", "a-week-with-a-noisy-neighbour", "Whose processor was it anyway", 3, 3, []string{"tooling"}, true},
	{13, "Choosing the length of a test", "choosing-the-length-of-a-test", "Long enough for the leak, short enough for the day", 1, 1, []string{"workload"}, false},
	{14, "Backpressure in three diagrams", "backpressure-in-three-diagrams", "What a full queue should say", 2, 2, []string{"latency"}, false},
	{15, "The incident that was a dashboard", "the-incident-that-was-a-dashboard", "Nothing was down but the graph", 3, 3, []string{"tooling"}, false},
	{16, "HTTP/1.1 is not done yet", "http-1-1-is-not-done-yet", "What the new versions did not replace", 1, 2, []string{"http"}, false},
}

type blogComment struct {
	id, post, parent, author int // parent is 0 for none
	content                  string
}

var blogComments = []blogComment{
	{1, 1, 0, 2, "The part about the mean should be on a poster."},
	{2, 1, 1, 1, "Feel free to print it."},
	{3, 1, 2, 2, "Printed. It hangs beside the dashboard."},
	{4, 1, 1, 3, "Which bucket widths do you use?"},
	{5, 1, 0, 4, "What about histograms of several hosts?"},
	{6, 1, 5, 1, "Add the buckets, never the percentiles."},
	{7, 1, 0, 5, "A link to the raw data would be nice."},
	{8, 1, 7, 1, "It is coming with the next post."},
	{9, 2, 0, 3, "So most tools are closed by default?"},
	{10, 2, 9, 2, "Most of them, yes. Look for a rate in the settings."},
	{11, 2, 10, 3, "Found it, thank you."},
}

var (
	blogAuthors    = []string{"Ines Carvalho", "Tom Okafor", "Mira Lindqvist", "Jonas Weber", "Priya Nair"} // by id - 1
	blogCategories = []string{"guides", "engineering", "stories"}                                           // by id - 1
	blogTags       = []string{"http", "latency", "tooling", "workload"}
)

const (
	blogBase      = "/api/v1"
	blogCreatedID = "1738400000000" // an id as created posts and comments have
)

type blogObject = map[string]any

// blogText is v as JSON.
func blogText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // values of this file always encode
	}
	return string(b)
}

// summary is the post as lists show it.
func (p *blogPost) summary() blogObject {
	o := blogObject{"id": p.id, "title": p.title, "slug": p.slug, "excerpt": p.excerpt, "author_id": p.author,
		"category_id": p.category, "tags": p.tags, "status": "draft", "published_at": nil}
	if p.published {
		o["status"], o["published_at"] = "published", fmt.Sprintf("2024-%02d-05T09:00:00.000Z", p.id)
	}
	return o
}

// blogBirth is when the post was created.
func blogBirth(id int) string {
	if id > 12 {
		return fmt.Sprintf("2025-01-%02dT14:30:00.000Z", id-3)
	}
	return fmt.Sprintf("2024-%02d-02T14:30:00.000Z", id)
}

// blogCategory is the category as posts show it.
func blogCategory(id int) blogObject {
	slug := blogCategories[id-1]
	return blogObject{"id": id, "slug": slug, "name": strings.ToUpper(slug[:1]) + slug[1:]}
}

// blogFull is the JSON of a post as GET answers it, with the changes given.
func blogFull(id int, changes blogObject) string {
	p := &blogPosts[id-1]
	o := p.summary()
	count := 0
	for _, c := range blogComments {
		if c.post == id {
			count++
		}
	}
	maps.Copy(o, blogObject{"content": "<text>", "author": blogObject{"id": p.author, "name": blogAuthors[p.author-1]},
		"category": blogCategory(p.category), "comments_count": count, "created_at": blogBirth(id), "updated_at": blogBirth(id)})
	maps.Copy(o, changes)
	return blogText(o)
}

// blogSample is the JSON of a post with the id of a created one.
func blogSample(changes blogObject) string {
	o := blogObject{"id": json.Number(blogCreatedID), "title": "A created post", "slug": "post-" + blogCreatedID, "content": "<text>", "excerpt": "",
		"author_id": 1, "author": blogObject{"id": 1, "name": blogAuthors[0]}, "category_id": nil, "category": nil, "tags": []string{},
		"status": "draft", "comments_count": 0, "published_at": nil,
		"created_at": "2025-02-01T09:00:00.000Z", "updated_at": "2025-02-01T09:00:00.000Z"}
	maps.Copy(o, changes)
	return blogText(o)
}

// blogNew is the JSON of a post as POST answers it.
func blogNew(changes blogObject) string {
	o := blogObject{"id": "<integer>", "title": "Hello", "slug": "<text>", "content": "World", "excerpt": "", "author_id": 1,
		"author": blogObject{"id": 1, "name": blogAuthors[0]}, "category_id": nil, "category": nil, "tags": []string{}, "status": "draft",
		"comments_count": 0, "published_at": nil, "created_at": "<now>", "updated_at": "<now>"}
	maps.Copy(o, changes)
	return blogText(o)
}

// blogSelect are the summaries of the posts that wanted says yes to.
func blogSelect(wanted func(p *blogPost) bool) []blogObject {
	list := []blogObject{}
	for i := range blogPosts {
		if wanted(&blogPosts[i]) {
			list = append(list, blogPosts[i].summary())
		}
	}
	return list
}

// blogList is one list of posts: its address, the filter that its Link headers
// have to keep, and what is in it.
type blogList struct {
	path, filter string
	items        []blogObject
}

// address is the address of the list with a query.
func (l *blogList) address(query string) string {
	return blogBase + l.path + "?" + strings.Trim(l.filter+"&"+query, "&")
}

// blogLists are all lists of posts that have pages.
func blogLists() []blogList {
	published := func(p *blogPost) bool { return p.published }
	lists := []blogList{
		{"/posts", "", blogSelect(published)},
		{"/posts", "status=published", blogSelect(published)},
		{"/posts", "status=draft", blogSelect(func(p *blogPost) bool { return !p.published })},
	}
	for id := 1; id <= 3; id++ {
		byAuthor := blogSelect(func(p *blogPost) bool { return p.published && p.author == id })
		inCategory := blogSelect(func(p *blogPost) bool { return p.published && p.category == id })
		lists = append(lists,
			blogList{"/posts", "author_id=" + strconv.Itoa(id), byAuthor},
			blogList{"/authors/" + strconv.Itoa(id) + "/posts", "", byAuthor},
			blogList{"/posts", "category=" + blogCategories[id-1], inCategory},
			blogList{"/categories/" + blogCategories[id-1] + "/posts", "", inCategory})
	}
	for _, tag := range blogTags {
		lists = append(lists, blogList{"/posts", "tag=" + tag,
			blogSelect(func(p *blogPost) bool { return p.published && slices.Contains(p.tags, tag) })})
	}
	return lists
}

// blogSlice are the items from from on, limit at most; never nil, which JSON would
// write as null.
func blogSlice(items []blogObject, from, limit int) []blogObject {
	from = min(from, len(items))
	return append([]blogObject{}, items[from:min(from+limit, len(items))]...)
}

// blogPage is the JSON of one page of a list.
func blogPage(items []blogObject, page, limit int) string {
	return blogText(blogObject{"items": blogSlice(items, (page-1)*limit, limit), "pagination": blogObject{"page": page, "limit": limit,
		"total": len(items), "total_pages": (len(items) + limit - 1) / limit}})
}

func blogAuthor(id int) blogObject {
	bios := []string{"Writes the guides, measures before she guesses", "Breaks systems on weekdays, mends them on weekends",
		"Reads packet captures for breakfast", "New here, his first post is under way", "New here, reviews what the others write"}
	at := fmt.Sprintf("2023-11-%02dT08:00:00.000Z", id)
	written := blogSelect(func(p *blogPost) bool { return p.published && p.author == id })
	return blogObject{"id": id, "name": blogAuthors[id-1], "bio": bios[id-1], "posts_count": len(written), "created_at": at, "updated_at": at}
}

// blogAuthorPage is the JSON of the authors from offset on.
func blogAuthorPage(offset, limit int) string {
	all := []blogObject{blogAuthor(1), blogAuthor(2), blogAuthor(3), blogAuthor(4), blogAuthor(5)}
	var next any
	if offset+limit < len(all) {
		next = offset + limit
	}
	return blogText(blogObject{"items": blogSlice(all, offset, limit),
		"pagination": blogObject{"offset": offset, "limit": limit, "total": len(all), "next_offset": next}})
}

func (c *blogComment) object() blogObject {
	at := fmt.Sprintf("2024-02-%02dT10:%02d:00.000Z", c.id, c.id)
	o := blogObject{"id": c.id, "post_id": c.post, "parent_id": nil, "author_id": c.author, "content": c.content, "created_at": at, "updated_at": at}
	if c.parent > 0 {
		o["parent_id"] = c.parent
	}
	return o
}

// blogThread are the comments of a post.
func blogThread(post int) []blogObject {
	list := []blogObject{}
	for i := range blogComments {
		if blogComments[i].post == post {
			list = append(list, blogComments[i].object())
		}
	}
	return list
}

func blogError(code, message string) string {
	return blogText(blogObject{"code": code, "message": message})
}

// ---- The calls ---------------------------------------------------------------

func blogCalls() []exampleCall {
	calls := slices.Concat(blogMissingCalls(), blogListCalls(), blogReadCalls(), blogCreateCalls(), blogUpdateCalls(), blogCommentCalls(), blogOtherCalls())
	for i := range calls {
		calls[i].path = blogBase + calls[i].path
	}
	return calls
}

func blogMissingCalls() []exampleCall {
	var calls []exampleCall
	for _, id := range []string{"0", "17", "99", "-1", "007", "999999999999", "1.5", "seven", "1%2F2", "1%20", "12345678901234567"} {
		name, err := url.PathUnescape(id)
		if err != nil {
			panic(err)
		}
		missing := blogError("post_not_found", "Post "+name+" does not exist")
		calls = append(calls,
			exampleCall{"Get a missing post", "GET", "/posts/" + id, "", 404, missing},
			exampleCall{"Update a missing post", "PUT", "/posts/" + id, `{"status": "draft"}`, 404, missing},
			exampleCall{"Delete a missing post", "DELETE", "/posts/" + id, "", 404, missing},
			exampleCall{"List the comments of a missing post", "GET", "/posts/" + id + "/comments", "", 404, missing},
			exampleCall{"Comment on a missing post", "POST", "/posts/" + id + "/comments", `{"content": "a", "author_id": 1}`, 404, missing},
			exampleCall{"Get a missing comment", "GET", "/comments/" + id, "", 404, blogError("comment_not_found", "Comment "+name+" does not exist")},
			exampleCall{"Delete a missing comment", "DELETE", "/comments/" + id, "", 404, blogError("comment_not_found", "Comment "+name+" does not exist")},
			exampleCall{"Get a missing author", "GET", "/authors/" + id, "", 404, blogError("author_not_found", "Author "+name+" does not exist")},
			exampleCall{"List the posts of a missing author", "GET", "/authors/" + id + "/posts", "", 404, blogError("author_not_found", "Author "+name+" does not exist")})
	}
	return append(calls,
		exampleCall{"Get a missing comment", "GET", "/comments/12", "", 404, blogError("comment_not_found", "Comment 12 does not exist")},
		exampleCall{"Get a missing author", "GET", "/authors/6", "", 404, blogError("author_not_found", "Author 6 does not exist")},
		exampleCall{"List the posts of a missing category", "GET", "/categories/gossip/posts", "", 404, blogError("category_not_found", "There is no category gossip")},
		exampleCall{"List the posts of a missing category", "GET", "/categories/Guides/posts", "", 404, blogError("category_not_found", "There is no category Guides")})
}

func blogListCalls() []exampleCall {
	badPage := blogError("invalid_page", "page is a number from 1, limit one from 1 to 20")
	badFilter := blogError("invalid_filter", "status is published or draft, author_id a number from 1")
	combined := blogError("filters_not_combined", "Use one of status, author_id, category, tag and q at a time")
	var calls []exampleCall
	for _, query := range []string{"page=0", "page=-1", "page=x", "page=", "page=1.5", "page=01", "page=%2B1", "page=1e1", "page=1%0A",
		"limit=0", "limit=21", "limit=100", "limit=x", "limit=", "limit=-5", "limit=05", "page=2&limit=0", "page=0&limit=5"} {
		calls = append(calls,
			exampleCall{"List posts with a bad page or limit", "GET", "/posts?" + query, "", 400, badPage},
			exampleCall{"List posts with a bad page or limit", "GET", "/posts?tag=http&" + query, "", 400, badPage},
			exampleCall{"List the posts of an author with a bad page or limit", "GET", "/authors/1/posts?" + query, "", 400, badPage},
			exampleCall{"List the posts of a category with a bad page or limit", "GET", "/categories/guides/posts?" + query, "", 400, badPage})
	}
	for _, query := range []string{"status=gone", "status=Draft", "status=", "author_id=0", "author_id=x", "author_id=", "author_id=1.0", "author_id=01"} {
		calls = append(calls, exampleCall{"List posts with a bad filter", "GET", "/posts?" + query, "", 400, badFilter})
	}
	filters := []string{"status=draft", "author_id=1", "category=guides", "tag=http", "q=a"}
	for i, one := range filters {
		for _, other := range filters[i+1:] {
			calls = append(calls, exampleCall{"List posts with two filters", "GET", "/posts?" + one + "&" + other, "", 400, combined})
		}
	}
	for _, query := range []string{"author_id=4", "author_id=99", "category=gossip", "category=0", "tag=gossip", "tag=false", "tag=%22", "tag=..%2F1"} {
		calls = append(calls,
			exampleCall{"List posts by a value that no post has", "GET", "/posts?" + query, "", 200, blogPage(nil, 1, 20)},
			exampleCall{"List posts by a value that no post has", "GET", "/posts?page=2&limit=3&" + query, "", 200, blogPage(nil, 2, 3)})
	}
	calls = append(calls,
		exampleCall{"List the posts of an author who has none", "GET", "/authors/4/posts", "", 200, blogPage(nil, 1, 20)},
		exampleCall{"List the posts of an author who has none", "GET", "/authors/5/posts?page=2&limit=3", "", 200, blogPage(nil, 2, 3)},
		exampleCall{"Search beyond the only page", "GET", "/posts?q=cache&page=2", "", 400, blogError("invalid_page", "A search has one page")})
	for _, l := range blogLists() {
		calls = append(calls, l.calls()...)
	}
	return append(calls, blogSearchCalls()...)
}

// calls are a page or two of a list and what lies after the last.
func (l *blogList) calls() []exampleCall {
	plain, after := "List posts", "List posts, a page after the last"
	switch name, _, _ := strings.Cut(l.filter, "="); {
	case l.filter == "status=published" || l.path == "/posts" && l.filter == "":
	case l.filter == "status=draft":
		plain, after = "List drafts", "List posts by a filter, a page after the last"
	case l.filter != "":
		plain, after = "List posts by "+strings.TrimSuffix(name, "_id"), "List posts by a filter, a page after the last"
	case strings.HasPrefix(l.path, "/authors"):
		plain, after = "List the posts of an author", "List the posts of an author, a page after the last"
	default:
		plain, after = "List the posts of a category", "List the posts of a category, a page after the last"
	}
	calls := []exampleCall{{plain, "GET", "", "", 200, blogPage(l.items, 1, 20)}}
	for _, at := range []struct{ page, limit int }{{1, 1}, {1, 3}, {2, 3}, {2, 2}, {1, 20}, {3, 2}, {4, 4}, {2, 20}, {13, 1}, {999999999, 1}} {
		name := plain
		if (at.page-1)*at.limit >= len(l.items) {
			name = after
		}
		calls = append(calls, exampleCall{name, "GET", fmt.Sprintf("page=%d&limit=%d", at.page, at.limit), "", 200, blogPage(l.items, at.page, at.limit)})
	}
	calls = append(calls,
		exampleCall{plain, "GET", "limit=2", "", 200, blogPage(l.items, 1, 2)},
		exampleCall{plain, "GET", "page=1", "", 200, blogPage(l.items, 1, 20)},
		exampleCall{after, "GET", "page=2", "", 200, blogPage(l.items, 2, 20)})
	for i := range calls {
		calls[i].path = strings.TrimPrefix(l.address(calls[i].path), blogBase)
	}
	return calls
}

func blogSearchCalls() []exampleCall {
	found := func(wanted func(p *blogPost) bool) string {
		items := blogSelect(func(p *blogPost) bool { return p.published && wanted(p) })
		return blogPage(items[:min(1, len(items))], 1, 20)
	}
	calls := []exampleCall{ // empty values are no filters
		{"List posts", "GET", "/posts?q=&tag=&category=", "", 200, blogPage(blogLists()[0].items, 1, 20)},
		{"Search in the titles", "GET", "/posts?q=cache&page=1&limit=3", "", 200, blogPage(blogSelect(func(p *blogPost) bool { return p.id == 6 }), 1, 3)},
	}
	for _, q := range []string{"cache", "CACHE", "load", "p99", "a", "9", "0", "false", "zzz", "keep-alive, pipelining", "dashboard", "%", `"`, "\n", " under "} {
		calls = append(calls, exampleCall{"Search in the titles", "GET", "/posts?q=" + url.QueryEscape(q), "", 200, found(func(p *blogPost) bool {
			return strings.Contains(strings.ToLower(p.title), strings.ToLower(q))
		})})
	}
	for i := range blogPosts {
		title := blogPosts[i].title
		calls = append(calls, exampleCall{"Search in the titles", "GET", "/posts?q=" + url.QueryEscape(title), "", 200,
			found(func(p *blogPost) bool { return p.title == title })})
	}
	return calls
}

func blogReadCalls() []exampleCall {
	var calls []exampleCall
	for i := range blogPosts {
		calls = append(calls, exampleCall{"Get a post", "GET", "/posts/" + strconv.Itoa(i+1), "", 200, blogFull(i+1, nil)})
	}
	for i := range blogComments {
		calls = append(calls, exampleCall{"Get a comment", "GET", "/comments/" + strconv.Itoa(i+1), "", 200, blogText(blogComments[i].object())})
	}
	for id := 1; id <= len(blogAuthors); id++ {
		calls = append(calls, exampleCall{"Get an author", "GET", "/authors/" + strconv.Itoa(id), "", 200, blogText(blogAuthor(id))})
	}
	return append(calls,
		exampleCall{"Get a created post", "GET", "/posts/" + blogCreatedID, "", 200, blogSample(nil)},
		exampleCall{"Get a created comment", "GET", "/comments/" + blogCreatedID, "", 200, blogText(blogObject{"id": json.Number(blogCreatedID), "post_id": 1,
			"parent_id": nil, "author_id": 1, "content": "<text>", "created_at": "2025-02-01T09:00:00.000Z", "updated_at": "2025-02-01T09:00:00.000Z"})},
		exampleCall{"Delete a post", "DELETE", "/posts/1", "", 204, ""},
		exampleCall{"Delete a post", "DELETE", "/posts/16", "", 204, ""},
		exampleCall{"Delete a post", "DELETE", "/posts/" + blogCreatedID, "", 204, ""},
		exampleCall{"Delete a comment", "DELETE", "/comments/11", "", 204, ""},
		exampleCall{"Delete a comment", "DELETE", "/comments/" + blogCreatedID, "", 204, ""})
}

const (
	textRefused   = `{"code": "not_a_text", "message": "title and content are texts"}`
	statusRefused = `{"code": "invalid_status", "message": "status is draft or published"}`
)

func blogCreateCalls() []exampleCall {
	var calls []exampleCall
	refuse := func(endpoint, code, message string, status int, bodies ...string) {
		for _, body := range bodies {
			calls = append(calls, exampleCall{endpoint, "POST", "/posts", body, status, blogError(code, message)})
		}
	}
	with := func(fields string) string {
		return `{"title": "Hello", "content": "World", "author_id": 1, ` + fields + `}`
	}
	refuse("Create a post with fields missing", "fields_missing", "title, content and author_id are required, as a JSON object", 400,
		"", "{}", "[]", "null", "not JSON", `{"title": "Hello", "content": "World", "author_id": 1`, `["title", "content", "author_id"]`,
		`{"content": "World", "author_id": 1}`, `{"title": "", "content": "World", "author_id": 1}`, `{"title": " \t", "content": "World", "author_id": 1}`,
		`{"title": null, "content": "World", "author_id": 1}`, `{"title": "Hello", "author_id": 1}`, `{"title": "Hello", "content": "", "author_id": 1}`,
		`{"title": "Hello", "content": "World"}`, `{"title": "Hello", "content": "World", "author_id": null, "status": "gone"}`)
	refuse("Create a post with a title or content that is no text", "not_a_text", "title and content are texts", 422,
		`{"title": 1, "content": "World", "author_id": 1}`, `{"title": "Hello", "content": ["World"], "author_id": 1}`, `{"title": true, "content": "World", "author_id": 9}`)
	refuse("Create a post with a bad status", "invalid_status", "status is draft or published", 422,
		with(`"status": "gone"`), with(`"status": ""`), with(`"status": "Draft"`), with(`"status": ["draft"]`), with(`"status": 1`))
	refuse("Create a post of an unknown author", "author_unknown", "There is no author 6", 422, `{"title": "Hello", "content": "World", "author_id": 6}`)
	refuse("Create a post of an unknown author", "author_unknown", "There is no author 1", 422, `{"title": "Hello", "content": "World", "author_id": "1"}`)
	refuse("Create a post of an unknown author", "author_unknown", `There is no author "1"]`, 422, `{"title": "Hello", "content": "World", "author_id": "\"1\"]"}`)
	refuse("Create a post in an unknown category", "category_unknown", "There is no category 4", 422, with(`"category_id": 4`))
	refuse("Create a post in an unknown category", "category_unknown", "There is no category guides", 422, with(`"category_id": "guides"`))
	refuse("Create a post with a bad slug", "invalid_slug", "slug is made of a-z and 0-9, with single - between", 422,
		with(`"slug": "A slug"`), with(`"slug": ""`), with(`"slug": "a--b"`), with(`"slug": "-a"`), with(`"slug": 1`))
	refuse("Create a post with a bad excerpt", "not_a_text", "excerpt is a text", 422, with(`"excerpt": 1`), with(`"excerpt": {}`))
	refuse("Create a post with bad tags", "invalid_tags", "tags is a list of texts, without quotes in them", 422,
		with(`"tags": "http"`), with(`"tags": [1]`), with(`"tags": ["http", 1]`), with(`"tags": {"http": 1}`), with(`"tags": [["http"]]`), with(`"tags": [""]`), with(`"tags": ["a\"b"]`))
	create := func(body string, changes blogObject) {
		calls = append(calls, exampleCall{"Create a post", "POST", "/posts", body, 201, blogNew(changes)})
	}
	create(`{"title": "Hello", "content": "World", "author_id": 1}`, nil)
	create(with(`"status": "draft", "slug": null, "tags": null, "category_id": null, "excerpt": null`), nil)
	create(with(`"status": "published"`), blogObject{"status": "published", "published_at": "<now>"})
	create(`{"title": "A \"b\"\n<é>", "slug": "a-b-2", "content": "c\\d", "excerpt": "e\"f", "author_id": 3, "category_id": 2,
		"tags": [ "http" , "a, b" ], "status": "published", "id": 5}`,
		blogObject{"title": "A \"b\"\n<é>", "slug": "a-b-2", "content": `c\d`, "excerpt": `e"f`, "author_id": 3, "author": blogObject{"id": 3, "name": blogAuthors[2]},
			"category_id": 2, "category": blogCategory(2), "tags": []string{"http", "a, b"}, "status": "published", "published_at": "<now>"})
	for id := 1; id <= 3; id++ {
		create(with(fmt.Sprintf(`"category_id": %d, "tags": []`, id)), blogObject{"category_id": id, "category": blogCategory(id)})
	}
	for id, name := range blogAuthors {
		create(fmt.Sprintf(`{"title": "Hello", "content": "World", "author_id": %d}`, id+1),
			blogObject{"author_id": id + 1, "author": blogObject{"id": id + 1, "name": name}})
	}
	return calls
}

func blogUpdateCalls() []exampleCall {
	var calls []exampleCall
	update := func(endpoint, id, body string, status int, want string) {
		calls = append(calls, exampleCall{endpoint, "PUT", "/posts/" + id, body, status, want})
	}
	for _, body := range []string{"", "{}", "[]", "not JSON", `{"slug": "a"}`, `{"title": null}`} {
		update("Update a post with nothing", "1", body, 400, blogError("nothing_to_update", "One of title, content and status is required, in a JSON object"))
	}
	for _, body := range []string{`{"title": ""}`, `{"content": " "}`, `{"title": "a", "content": ""}`, `{"title": "", "status": "gone"}`} {
		update("Update a post with an empty title or content", "1", body, 400, blogError("fields_missing", "title and content cannot be empty"))
	}
	for _, body := range []string{`{"title": 1}`, `{"content": ["a"]}`, `{"title": "a", "content": false}`} {
		update("Update a post with a title or content that is no text", "1", body, 422, textRefused)
	}
	for _, body := range []string{`{"status": "gone"}`, `{"status": ""}`, `{"title": "a", "status": "Published"}`, `{"status": {}}`} {
		update("Update a post with a bad status", "1", body, 422, statusRefused)
		update("Update a post with a bad status", blogCreatedID, body, 422, statusRefused)
	}
	for i := range blogPosts { // both ways, and staying
		id := strconv.Itoa(i + 1)
		publishing := blogObject{"status": "published", "updated_at": "<now>"}
		if !blogPosts[i].published {
			publishing["published_at"] = "<now>"
		}
		update("Update a post", id, `{"status": "published"}`, 200, blogFull(i+1, publishing))
		update("Update a post", id, `{"status": "draft"}`, 200, blogFull(i+1, blogObject{"status": "draft", "published_at": nil, "updated_at": "<now>"}))
		update("Update a post", id, `{"title": "A \"b\"", "content": "c\\d\n", "slug": "no", "id": 99}`, 200,
			blogFull(i+1, blogObject{"title": `A "b"`, "content": "c\\d\n", "updated_at": "<now>"}))
	}
	update("Update a created post", blogCreatedID, `{"title": "a", "status": "published"}`, 200,
		blogSample(blogObject{"title": "a", "status": "published", "published_at": "<now>", "updated_at": "<now>"}))
	update("Update a created post", blogCreatedID, `{"content": "b", "status": "draft"}`, 200, blogSample(blogObject{"content": "b", "updated_at": "<now>"}))
	return calls
}

func blogCommentCalls() []exampleCall {
	list := func(items []blogObject, limit int, next any) string {
		return blogText(blogObject{"items": items, "pagination": blogObject{"limit": limit, "next_cursor": next}})
	}
	one, two := blogThread(1), blogThread(2)
	calls := []exampleCall{
		{"List the comments of a post", "GET", "/posts/1/comments", "", 200, list(one, 20, nil)},
		{"List the comments of a post", "GET", "/posts/1/comments?limit=3", "", 200, list(one[:3], 3, "7341003")},
		{"List the comments of a post", "GET", "/posts/1/comments?limit=8", "", 200, list(one, 8, nil)},
		{"List the comments of a post", "GET", "/posts/1/comments?cursor=7341003", "", 200, list(one[3:], 20, nil)},
		{"List the comments of a post", "GET", "/posts/2/comments", "", 200, list(two, 20, nil)},
		{"List the comments of a post", "GET", "/posts/2/comments?cursor=7342002&limit=1", "", 200, list(two[2:], 1, nil)},
		{"List the comments of a post that has none", "GET", "/posts/3/comments", "", 200, list([]blogObject{}, 20, nil)},
		{"List the comments of a post that has none", "GET", "/posts/16/comments?limit=5", "", 200, list([]blogObject{}, 5, nil)},
		{"List the comments of a post that has none", "GET", "/posts/" + blogCreatedID + "/comments", "", 200, list([]blogObject{}, 20, nil)},
	}
	for _, query := range []string{"limit=0", "limit=21", "limit=x", "limit=", "limit=-1", "limit=0&cursor=x"} {
		calls = append(calls, exampleCall{"List comments with a bad limit", "GET", "/posts/1/comments?" + query, "", 400,
			blogError("invalid_limit", "limit is a number from 1 to 20")})
	}
	for _, query := range []string{"1/comments?cursor=x", "1/comments?cursor=", "1/comments?cursor=3", "1/comments?cursor=7341000", "1/comments?cursor=7341008",
		"1/comments?cursor=7342001", "2/comments?cursor=7341001", "2/comments?cursor=7342003", "3/comments?cursor=7341001", "1/comments?cursor=-1&limit=5"} {
		calls = append(calls, exampleCall{"List comments with a bad cursor", "GET", "/posts/" + query, "", 400,
			blogError("invalid_cursor", "cursor is the next_cursor of an answer for this post")})
	}
	return append(calls, blogReplyCalls()...)
}

func blogReplyCalls() []exampleCall {
	var calls []exampleCall
	post := func(endpoint, id, body string, status int, want string) {
		calls = append(calls, exampleCall{endpoint, "POST", "/posts/" + id + "/comments", body, status, want})
	}
	for _, body := range []string{"", "{}", "not JSON", `{"author_id": 1}`, `{"content": " ", "author_id": 1}`, `{"content": "a"}`, `{"content": null, "author_id": 1}`} {
		post("Comment with fields missing", "1", body, 400, blogError("fields_missing", "content and author_id are required, as a JSON object"))
	}
	post("Comment with a content that is no text", "1", `{"content": 7, "author_id": 1}`, 422, blogError("not_a_text", "content is a text"))
	for _, author := range []string{"6", "0", `"1"`} {
		post("Comment as an unknown author", "1", `{"content": "a", "author_id": `+author+`}`, 422,
			blogError("author_unknown", "There is no author "+strings.Trim(author, `"`)))
	}
	for _, r := range []struct{ post, parent string }{{"1", "9"}, {"1", "99"}, {"1", "0"}, {"1", `"1"`}, {"2", "1"}, {"3", "1"}, {"16", "1"}, {"1", "-1"}, {"2", "12"}} {
		post("Reply to an unknown comment", r.post, `{"content": "a", "author_id": 1, "parent_id": `+r.parent+`}`, 422,
			blogError("parent_not_found", "Post "+r.post+" has no comment "+strings.Trim(r.parent, `"`)))
	}
	answered := func(id, parent any) string {
		return blogText(blogObject{"id": "<integer>", "post_id": id, "parent_id": parent, "author_id": 2, "content": "A \"b\"\n", "created_at": "<now>", "updated_at": "<now>"})
	}
	const body = `{"content": "A \"b\"\n", "author_id": 2, "parent_id": %v}`
	post("Comment or reply", "3", `{"content": "A \"b\"\n", "author_id": 2}`, 201, answered(3, nil))
	post("Comment or reply", "1", fmt.Sprintf(body, "null"), 201, answered(1, nil))
	post("Comment or reply", "3", fmt.Sprintf(body, blogCreatedID), 201, answered(3, json.Number(blogCreatedID)))
	post("Comment or reply", blogCreatedID, fmt.Sprintf(body, blogCreatedID), 201, answered(json.Number(blogCreatedID), json.Number(blogCreatedID)))
	for _, c := range blogComments {
		post("Comment or reply", strconv.Itoa(c.post), fmt.Sprintf(body, c.id), 201, answered(c.post, c.id))
	}
	return calls
}

func blogOtherCalls() []exampleCall {
	me := blogObject{"id": 1, "name": "Ines Carvalho", "email": "ines@example.com"}
	var categories []blogObject
	for i, description := range []string{"How to do it", "How it works", "How it went"} {
		o := blogCategory(i + 1)
		o["description"] = description
		o["posts_count"] = len(blogSelect(func(p *blogPost) bool { return p.published && p.category == i+1 }))
		categories = append(categories, o)
	}
	calls := []exampleCall{
		{"List authors", "GET", "/authors", "", 200, blogAuthorPage(0, 20)},
		{"List authors", "GET", "/authors?offset=2&limit=2", "", 200, blogAuthorPage(2, 2)},
		{"List authors", "GET", "/authors?offset=3", "", 200, blogAuthorPage(3, 20)},
		{"List authors", "GET", "/authors?limit=2", "", 200, blogAuthorPage(0, 2)},
		{"List authors", "GET", "/authors?offset=5", "", 200, blogAuthorPage(5, 20)},
		{"List authors", "GET", "/authors?offset=999999999&limit=1", "", 200, blogAuthorPage(999999999, 1)},
		{"List categories", "GET", "/categories", "", 200, blogText(blogObject{"items": categories, "total": 3})},
		{"Register", "POST", "/auth/register", `{"name": "Ada \"A\"", "email": "ada@example.com", "password": "a long secret"}`, 201,
			`{"id": "<integer>", "name": "Ada \"A\"", "email": "ada@example.com", "created_at": "<now>"}`},
		{"Register with an address that is taken", "POST", "/auth/register", `{"name": "Ines", "email": "Ines@example.com", "password": "secret"}`, 409,
			blogError("email_taken", "There is a user with the address Ines@example.com")},
		{"Log in", "POST", "/auth/login", `{"email": "ines@example.com", "password": "secret"}`, 200,
			blogText(blogObject{"token": "<text>", "token_type": "Bearer", "expires_in": 3600, "user": me})},
		{"Ask who I am", "GET", "/me", "", 200, blogText(blogObject{"id": 1, "name": "Ines Carvalho", "email": "ines@example.com", "author_id": 1})},
		{"Ask who I am without a login", "GET", "/me", "", 401, blogError("login_required", "Log in and send Authorization: Bearer with the token")},
	}
	for _, query := range []string{"offset=-1", "offset=x", "offset=", "offset=01", "offset=1.5", "limit=0", "limit=21", "limit=", "offset=0&limit=x"} {
		calls = append(calls, exampleCall{"List authors with a bad offset or limit", "GET", "/authors?" + query, "", 400,
			blogError("invalid_offset", "offset is a number from 0, limit one from 1 to 20")})
	}
	for _, body := range []string{"", "{}", "not JSON", `{"name": "A", "email": "a@b", "password": "short"}`, `{"name": "A", "email": "no address", "password": "a long secret"}`, `{"name": " ", "email": "a@b", "password": "a long secret"}`} {
		calls = append(calls, exampleCall{"Register with fields missing", "POST", "/auth/register", body, 400,
			blogError("fields_missing", "name, email and a password of 6 characters or more are required")})
	}
	for _, body := range []string{"", "{}", `{"email": "ines@example.com"}`, `{"email": "", "password": "secret"}`} {
		calls = append(calls, exampleCall{"Log in with fields missing", "POST", "/auth/login", body, 400, blogError("fields_missing", "email and password are required")})
	}
	for _, body := range []string{`{"email": "ines@example.com", "password": "Secret"}`, `{"email": "ada@example.com", "password": "secret"}`} {
		calls = append(calls, exampleCall{"Log in with a wrong address or password", "POST", "/auth/login", body, 401,
			blogError("invalid_credentials", "Address or password is wrong")})
	}
	return calls
}
