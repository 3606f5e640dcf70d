package nearest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/matcher"
)

// declared is an endpoint as written in a configuration.
type declared struct{ method, host, path, cond string }

// compile compiles endpoints without errors to routes. All of their conditions are false.
func compile(tb testing.TB, all []declared) []matcher.Route {
	tb.Helper()
	routes := make([]matcher.Route, len(all))
	for i, e := range all {
		text := syntax.Text{Value: e.path}
		pattern, problems := matcher.ParsePattern(text)
		if err := problems.Err(); err != nil {
			tb.Fatal(err)
		}
		routes[i] = matcher.Route{Pattern: pattern, Endpoint: &item.Endpoint{Method: e.method, Host: e.host, Path: text, If: syntax.Text{Value: e.cond}}}
		if e.cond != "" {
			routes[i].If = func(*matcher.Request) bool { return false }
		}
	}
	return routes
}

func layoutTable(layout func(int) string, n int) []declared {
	all := make([]declared, n)
	for i := range all {
		all[i] = declared{method: "GET", path: layout(i)}
	}
	return all
}

func resource(i int) string { return fmt.Sprintf("/api/v1/res%d/:id", i) }

func request(method, host, target string) *matcher.Request {
	return matcher.Acquire(matcher.Input{Method: []byte(method), Host: []byte(host), Target: []byte(target)})
}

// worstNear contains tables and requests that make the search for the nearest routes expensive:
// many long, similar segments.
var worstNear = []struct {
	name     string
	declared func(i int) string
	routes   int
	asked    string
}{
	{"a common beginning", func(i int) string { return longPath(i, "a-resource-of-the-name-%03d%02d") }, 300, longPath(999, "a-resource-of-the-name-%03d%02d")},
	{"a common end", func(i int) string { return longPath(i, "%03d%02d-a-resource-of-the-name") }, 300, longPath(999, "%03d%02d-a-resource-of-the-name")},
	{"letters in another order", func(i int) string { return longPath(i, "abcdefghijk%03dlmnopqrstuv%02d") }, 300, longPath(999, "kjihgfedcba%03dvutsrqponml%02d")},
	{"a segment too many", func(i int) string { return longPath(i, "a-resource-of-the-name-%03d%02d") }, 300, "/x" + longPath(999, "a-resource-of-the-name-%03d%02d")},
	{"slips everywhere", func(i int) string { return longPath(i, "a-resource-of-the-name-%03d%02d") }, 300, longPath(0, "b-resource-of-the-name-%03d%02d")},
	{"a large table", func(i int) string { return longPath(i, "a-resource-of-name-%05d%02d") }, 5000, longPath(2500, "a-resource-of-nam-%05d%02d")},
}

// longPath returns a path of 16 segments, formatted with i and the number of the segment.
func longPath(i int, layout string) string {
	path := ""
	for k := range alignedMost {
		path += "/" + fmt.Sprintf(layout, i, k)
	}
	return path
}

func TestNearest(t *testing.T) {
	small := []declared{
		{method: "GET", path: "/api/users/:id|int"},
		{method: "POST", path: "/api/users"},
		{method: "GET", path: "/orders/:id", host: "*.shop.test"},
		{method: "GET", path: "/pay", cond: "query"},
		{method: "GET", path: "/a/:b/c/*rest"},
		{method: "GET", path: "/"},
	}
	tests := []struct {
		name, method, host, target string
		index                      int
		why                        string
	}{
		{"nothing is alike", "GET", "h", "/zzzzzzzz/qqqqqqq/wwwwwwww", -1, ""},
		{"the target is no path", "OPTIONS", "h", "*", -1, ""},
		{"a slip in a segment", "GET", "h", "/api/user/7", 0, `segment 2 is "user", not "users"`},
		{"two letters swapped", "POST", "h", "/api/uesrs", 1, `segment 2 is "uesrs", not "users"`},
		{"another case", "GET", "h", "/API/users/7", 0, `segment 1 is "API", not "api" (case matters)`},
		{"a type", "GET", "h", "/api/users/anna", 0, `"anna" is not an integer (path parameter id)`},
		{"an empty parameter", "GET", "h", "/api/users//", 0, `segment 3 is empty`},
		{"a missing prefix", "GET", "h", "/users/7", 0, `the request lacks "/api"`},
		{"an extra prefix", "GET", "h", "/v1/x/api/users/7", 0, `the request also has "/v1/x"`},
		{"an extra segment", "POST", "h", "/api/users/x", 0, `"x" is not an integer (path parameter id), and it answers GET, not POST`},
		{"a missing parameter", "GET", "h", "/a/b/c?x", 4, ``},
		{"another method", "PATCH", "h", "/api/users", 1, `it answers POST, not PATCH`},
		{"another host", "GET", "shop.test", "/orders/1", 2, `it answers for the host *.shop.test, not "shop.test"`},
		{"a condition", "GET", "h", "/pay", 3, `its condition does not hold: query`},
		{"a literal missing inside", "GET", "h", "/a/x/d/e", 4, `the request lacks "/c"`},
		{"what the client sent is shown short and quoted", "POST", "h", "/api/users/" + strings.Repeat("x", 100) + "%0a", 0,
			`"` + strings.Repeat("x", 64) + `..." is not an integer (path parameter id), and it answers GET, not POST`},
	}
	for _, tt := range tests {
		for _, size := range []string{"small", "large"} {
			t.Run(tt.name+" in a "+size+" table", func(t *testing.T) {
				rs := small
				if size == "large" {
					rs = append(small[:len(small):len(small)], layoutTable(func(i int) string { return fmt.Sprintf("/g%d/other%d/:id", i, i) }, 2000)...)
				}
				r := request(tt.method, tt.host, tt.target)
				defer matcher.Release(r)
				table := compile(t, rs)
				if tt.why == "" && tt.index >= 0 {
					matching, _ := matcher.Compile(table)
					if got := matching.Match(r, tt.method); got != tt.index {
						t.Errorf("got route %d, want %d", got, tt.index)
					}
					return
				}
				near := New(table).Find(r, 3)
				if tt.index < 0 {
					if len(near) > 0 {
						t.Errorf("got %+v, want nothing", near)
					}
					return
				}
				if len(near) == 0 || len(near) > 3 || near[0].Index != tt.index || near[0].Why != tt.why {
					t.Errorf("got %+v, want first route %d: %s", near, tt.index, tt.why)
				}
			})
		}
	}
}

// In a large table routes are found by their literals. A route must be found in spite of one slip
// in one of them.
func TestNearestFindsSlipsInALargeTable(t *testing.T) {
	table := compile(t, layoutTable(resource, 5000))
	w := rand.New(rand.NewPCG(1, 5))
	for range 300 {
		i := w.IntN(5000)
		name := []byte(fmt.Sprintf("res%d", i))
		at := w.IntN(3) // among the letters, since a different digit means a different route
		switch w.IntN(4) {
		case 0:
			name = append(name[:at], name[at+1:]...)
		case 1:
			name = append(name[:at], append([]byte("x"), name[at:]...)...)
		case 2:
			name[at] = 'x'
		case 3:
			name[at] -= 'a' - 'A'
		}
		r := request("GET", "h", "/api/v1/"+string(name)+"/42")
		near := New(table).Find(r, 3)
		// The route is not always the first one: res6 is as near to re46 as res46.
		if !slices.ContainsFunc(near, func(n Near) bool { return n.Index == i }) {
			t.Errorf("%s: got %+v, want route %d among them", name, near, i)
		}
		matcher.Release(r)
	}
}

// In these tables all segments are the same except for a few letters, and none of the many possible
// ways leads to a route.
func TestNearestDoesABoundedAmountOfWork(t *testing.T) {
	for _, worst := range worstNear {
		t.Run(worst.name, func(t *testing.T) {
			table := compile(t, layoutTable(worst.declared, worst.routes))
			r := request("GET", "h", worst.asked)
			defer matcher.Release(r)
			c := newComparer(r)
			for _, l := range c.likest(New(table)) {
				c.why(&table[l.index])
			}
			// The comparison with a route may begin when the limit is almost reached.
			if most := alignWork + 2*alignedRoutes*alignedMost*alignedMost; c.work == 0 || c.work > most {
				t.Errorf("got %d comparisons, want some, at most %d", c.work, most)
			}
		})
	}
}

// A request that is similar to all routes of a large table must not be compared with all of them.
func TestNearestComparesABoundedNumber(t *testing.T) {
	x := New(compile(t, layoutTable(func(i int) string { return fmt.Sprintf("/api/x/:id/r%d", i) }, 50_000)))
	if len(x.marks) != markedRoutes {
		t.Errorf("got %d routes marked of 50,000, want %d", len(x.marks), markedRoutes)
	}
	r := request("GET", "h", "/api/x/1/r")
	defer matcher.Release(r)
	if near := x.Find(r, 3); len(near) != 3 {
		t.Errorf("got %+v, want three", near)
	}
}

func TestNearestSurvivesAnyTarget(t *testing.T) {
	table := compile(t, []declared{{method: "GET", host: "a.test", path: "/x"}, {method: "GET", path: "/:a/*b"}, {method: "GET", path: "/"}})
	for _, target := range []string{"", "*", "http://?", "://x", "?", "///", "/%2", "/" + strings.Repeat("/", 70000), "/" + strings.Repeat("%41/", 20000)} {
		r := request("GET", "["+strings.Repeat("a.", 40000), target)
		New(table).Find(r, 3)
		matcher.Release(r)
	}
}

func TestNearestAsksNoCondition(t *testing.T) {
	table := compile(t, []declared{{method: "GET", path: "/a/:x", cond: "query"}, {method: "GET", path: "/a/*rest", cond: "query"}})
	for i := range table {
		table[i].If = func(*matcher.Request) bool { t.Error("it was asked"); return false }
	}
	r := request("GET", "h", "/a/b")
	defer matcher.Release(r)
	if near := New(table).Find(r, 3); len(near) != 2 {
		t.Errorf("got %+v, want both", near)
	}
}

// A long path with one slip must be found in a table of similar paths in spite of the limit.
func TestNearestFindsASlipAmongLongPaths(t *testing.T) {
	worst := worstNear[0]
	table := compile(t, layoutTable(worst.declared, worst.routes))
	declared := worst.declared(150)
	slip := strings.Replace(declared, "resource", "resuorce", 1)
	r := request("GET", "h", slip)
	defer matcher.Release(r)
	if near := New(table).Find(r, 3); len(near) == 0 || near[0].Index != 150 {
		t.Errorf("%s: got %+v, want first route 150", slip, near)
	}
}

// Only 16 segments are compared, and a difference in later segments must not be mistaken for a
// condition that did not hold.
func TestNearestOfPathsTooLongToCompare(t *testing.T) {
	long := strings.Repeat("/a", alignedMost)
	table := compile(t, []declared{{method: "GET", path: long + "/b/:c|int", cond: "query"}, {method: "GET", path: long + "/x/*rest"}})
	for target, want := range map[string]string{
		long + "/b/1":   "its condition does not hold: query",
		long + "/b/x":   "the paths differ after segment 16",
		long + "/b/1/2": "the paths differ after segment 16",
		long + "/b":     "the paths differ after segment 16",
		long:            "the paths differ after segment 16",
	} {
		r := request("GET", "h", target)
		if near := New(table).Find(r, 1); len(near) != 1 || near[0].Why != want || near[0].Index != 0 {
			t.Errorf("%s: got %+v, want route 0: %s", target, near, want)
		}
		matcher.Release(r)
	}
}

func BenchmarkNearest(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			table := New(compile(b, layoutTable(resource, n)))
			r := request("GET", "h", "/api/v1/rse5/42")
			for b.Loop() {
				table.Find(r, 3)
			}
		})
	}
	b.Run("ordinary/300", func(b *testing.B) {
		table := New(compile(b, layoutTable(func(i int) string { return fmt.Sprintf("/api/v1/resource-%d/:id/details", i) }, 300)))
		r := request("GET", "h", "/api/v1/resuorce-150/42/details")
		for b.Loop() {
			table.Find(r, 12)
		}
	})
	for _, worst := range worstNear {
		b.Run(fmt.Sprintf("worst/%s/%d", worst.name, worst.routes), func(b *testing.B) {
			table := New(compile(b, layoutTable(worst.declared, worst.routes)))
			r := request("GET", "h", worst.asked)
			for b.Loop() {
				table.Find(r, 12)
			}
		})
	}
}
