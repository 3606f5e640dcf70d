package matcher

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mockserver/config/syntax"
	"mockserver/internal/harness/volume"
)

// newRequest returns a request as the server would pass it.
func newRequest(method, host, target string) *Request {
	return Acquire(Input{Method: []byte(method), Host: []byte(host), Target: []byte(target)})
}

// mustCompile compiles endpoints that have no errors.
func mustCompile(tb testing.TB, rs reference) *Table {
	tb.Helper()
	routes, problems := rs.routes()
	if err := problems.Err(); err != nil {
		tb.Fatalf("the test's own paths have errors: %v", err)
	}
	t, _ := Compile(routes)
	return t
}

// declare returns unconditional endpoints for lines "METHOD path" or "METHOD host path".
func declare(lines ...string) reference {
	var rs reference
	for _, line := range lines {
		method, path, _ := strings.Cut(line, " ")
		host, path, _ := strings.Cut(path, "/")
		rs = append(rs, refRoute{method: method, host: strings.TrimSpace(host), path: "/" + path})
	}
	return rs
}

func params(r *Request) []string {
	var out []string
	for _, p := range r.params {
		out = append(out, string(p))
	}
	return out
}

func TestMatch(t *testing.T) {
	users := declare("GET /users/:id", "GET /users/:id|int", "GET /users/me/settings", "GET /files/*path", "POST /users")
	hosts := declare("GET a.test /x", "GET *.test /x", "GET *.b.test /x", "GET /x", "GET /only-here", "GET a.test /:any/*rest")
	tests := []struct {
		name                 string
		table                reference
		method, host, target string
		want                 int
		params               []string
	}{
		{"nothing is declared", nil, "GET", "h", "/", -1, nil},
		{"the path is not declared", users, "GET", "h", "/user/1", -1, nil},
		{"the path lacks its parameter", users, "GET", "h", "/users", -1, nil},
		{"the path's parameter is empty", users, "GET", "h", "/users//", -1, nil},
		{"the path has one segment too many", users, "GET", "h", "/users/1/2", -1, nil},
		{"the case of a literal is another", users, "GET", "h", "/Users/1", -1, nil},
		{"the method is another", users, "DELETE", "h", "/users/1", -1, nil},
		{"the method's case is another", users, "get", "h", "/users/1", -1, nil},
		{"the target is no path", users, "OPTIONS", "h", "*", -1, nil},
		{"a parameter takes a text", users, "GET", "h", "/users/anna", 0, []string{"anna"}},
		{"a typed parameter beats a plain one declared before", users, "GET", "h", "/users/-7", 1, []string{"-7"}},
		{"a literal that does not resolve is taken back", users, "GET", "h", "/users/me", 0, []string{"me"}},
		{"a literal is reached", users, "GET", "h", "/users/me/settings", 2, nil},
		{"one trailing slash is ignored", users, "GET", "h", "/users/7/", 1, []string{"7"}},
		{"a second trailing slash is not", users, "GET", "h", "/users/7//", -1, nil},
		{"the query is not part of the path", users, "GET", "h", "/users/7?a=/b", 1, []string{"7"}},
		{"an absolute-form target is the same path", users, "GET", "h", "http://x.test/users/7?a", 1, []string{"7"}},
		{"a catch-all takes all segments left", users, "GET", "h", "/files/a/b", 3, []string{"a/b"}},
		{"a catch-all takes no segment at all", users, "GET", "h", "/files", 3, []string{""}},
		{"a parameter is decoded", users, "GET", "h", "/users/a%20b", 0, []string{"a b"}},
		{"an encoded slash stays in its segment", users, "GET", "h", "/users/a%2Fb", 0, []string{"a/b"}},
		{"a typed parameter is decoded before it is checked", users, "GET", "h", "/users/%37", 1, []string{"7"}},
		{"a literal is compared decoded", users, "GET", "h", "/%75sers/me/settings", 2, nil},
		{"dots are not resolved", users, "GET", "h", "/x/../users/1", -1, nil},
		{"a plus is not a space", users, "GET", "h", "/users/a+b", 0, []string{"a+b"}},
		{"a percent sign that encodes nothing is itself", users, "GET", "h", "/users/100%", 0, []string{"100%"}},
		{"the exact host comes first", hosts, "GET", "a.test", "/x", 0, nil},
		{"port, case and trailing dot are ignored", hosts, "GET", "A.Test.:8080", "/x", 0, nil},
		{"a wildcard comes before no host", hosts, "GET", "c.test", "/x", 1, nil},
		{"a wildcard takes any depth", hosts, "GET", "d.c.test", "/x", 1, nil},
		{"the longest wildcard comes first", hosts, "GET", "a.b.test", "/x", 2, nil},
		{"a wildcard does not take its apex", hosts, "GET", "test", "/x", 3, nil},
		{"any other host takes those without one", hosts, "GET", "else", "/x", 3, nil},
		{"no host takes those without one", hosts, "GET", "", "/x", 3, nil},
		{"what a wildcard's site lacks the next one answers", hosts, "GET", "c.test", "/only-here", 4, nil},
		{"the host is chosen before the path", hosts, "GET", "a.test", "/only-here", 5, []string{"only-here", ""}},
		{"an absolute-form target's host wins", hosts, "GET", "else", "http://u@a.test:1/x", 0, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRequest(tt.method, tt.host, tt.target)
			defer Release(r)
			got := mustCompile(t, tt.table).Match(r, tt.method)
			if got != tt.want || !slices.Equal(params(r), tt.params) {
				t.Errorf("got route %d with %q, want %d with %q", got, params(r), tt.want, tt.params)
			}
		})
	}
}

func TestTheFirstWhoseConditionHoldsMatches(t *testing.T) {
	table := mustCompile(t, reference{
		{method: "GET", path: "/a/:x", cond: "query"},
		{method: "GET", path: "/a/:x", cond: "first"},
		{method: "GET", path: "/a/:x"},
		{method: "GET", path: "/*rest"},
		{method: "GET", path: "/b/:x", cond: "first"},
	})
	for target, want := range map[string]int{"/a/1?q": 0, "/a/1": 1, "/a/2": 2, "/b/1": 4, "/b/2": 3, "/b/%31": 4} {
		r := newRequest("GET", "h", target)
		if got := table.Match(r, "GET"); got != want {
			t.Errorf("%s: got route %d, want %d", target, got, want)
		}
		Release(r)
	}
}

// A condition is evaluated only once, because it may draw a random number or count.
func TestAConditionIsAskedOnce(t *testing.T) {
	tests := []struct {
		name, method, target string
		table                reference
	}{
		{"of a static path", "GET", "/a/b", declare("GET /a/b")},
		{"of a static path among many, that no router may overlook", "GET", "/a/b", declare("GET /a/b", "GET /a/:x", "GET /:y/b", "GET /*rest", "GET /a/*more")},
		{"of a parameter", "GET", "/a/7", declare("GET /a/:x", "GET /a/:x", "GET /:y/:x")},
		{"of a typed parameter", "GET", "/a/7", declare("GET /a/:x|int", "GET /a/:x")},
		{"of an encoded path", "GET", "/a/%37", declare("GET /a/:x|int", "GET /a/:x")},
		{"of a catch-all", "GET", "/a/b/c", declare("GET /a/*rest", "GET /*rest")},
		{"of every host", "GET", "/a", declare("GET h.test /a", "GET *.test /a", "GET /a")},
		{"of the root", "GET", "/", declare("GET /", "GET /*rest")},
		{"of another method", "POST", "/a/b", declare("GET /a/b")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			routes, _ := tt.table.routes()
			asked := make([]int, len(routes))
			for i := range routes {
				routes[i].If = func(*Request) bool { asked[i]++; return false }
			}
			table, _ := Compile(routes)
			r := newRequest(tt.method, "h.test", tt.target)
			defer Release(r)
			if got := table.Match(r, "GET"); got != -1 {
				t.Errorf("got route %d though no condition holds", got)
			}
			for i, n := range asked {
				_, _, fits := tt.table[i].shape(tt.target)
				if want := map[bool]int{true: 1}[fits]; n != want {
					t.Errorf("route %d was asked %d times, want %d", i, n, want)
				}
				asked[i] = 0
			}
		})
	}
}

// Errors and omissions of the router library must not be visible.
func TestTheRouterIsNotTrustedTooFar(t *testing.T) {
	tests := []struct {
		name   string
		table  reference
		target string
		want   int
	}{
		{"it does not turn back from a common beginning", declare("GET /:p/me", "GET /a/mea", "GET /a/meb", "GET /a/:p"), "/a/me", 3},
		{"it takes bytes that are no characters for one", declare("GET /\xff/a", "GET /\xfe/b"), "/\xfe/b", 1},
		{"it takes such bytes for one and finds another's path", declare("GET /\xff/a", "GET /\xfe/b"), "/\xff/b", -1},
		{"it takes braces for a parameter", declare("GET /{x}/a"), "/b/a", -1},
		{"it takes an empty parameter", declare("GET /a/:b/c"), "/a//c", -1},
		{"it does not know a catch-all under a literal", declare("GET /:a/b", "GET /a/*rest"), "/a/b", 1},
		{"it does not tell kinds of parameters apart", declare("GET /:a/b", "GET /:a|int/*rest"), "/1/b", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRequest("GET", "h", tt.target)
			defer Release(r)
			if got := mustCompile(t, tt.table).Match(r, "GET"); got != tt.want {
				t.Errorf("got route %d, want %d", got, tt.want)
			}
		})
	}
}

func TestAnyRequestLineIsSurvived(t *testing.T) {
	table := mustCompile(t, declare("GET a.test /x", "GET /:a/*b", "GET /"))
	for _, target := range []string{"", "*", "http://", "http://?", "http://@", "://x", "x", "?", "//", "///", "/%", "/%2", "h:1",
		"http://a.test", "http:///x", "/" + strings.Repeat("/", 70000), "/" + strings.Repeat("%41/", 20000)} {
		for _, host := range []string{"", ".", ":", "[::1]:80", "[", strings.Repeat("a.", 40000)} {
			r := newRequest("GET", host, target)
			table.Match(r, "GET")
			table.Methods(r)
			Release(r)
		}
	}
}

// world generates random tables and requests from a few words, so that they match often.
type world struct {
	*rand.Rand
	literals, params, values, conds []string
	numbered                        int // number of additional literals of the form r7
}

// newWorld returns a world of all words if the seed is even, and of so few words that paths
// conflict at every segment if it is odd.
func newWorld(seed, stream uint64) *world {
	w := &world{rand.New(rand.NewPCG(seed, stream)), worldLiterals, worldParams, worldValues, worldConds, 40}
	if seed%2 == 0 {
		return w
	}
	w.literals = nil
	for range 1 + w.IntN(5) {
		w.literals = append(w.literals, w.pick(narrowLiterals))
	}
	w.params, w.conds, w.numbered = []string{":v"}, []string{""}, 2
	if w.IntN(3) == 0 {
		w.params = []string{":v", ":v", ":v|int", ":v|float"}
	}
	w.values = append([]string{"1", "m", "me"}, w.literals...)
	return w
}

var narrowLiterals = []string{"a", "b", "mea", "meb", "me", "é", "è", "\xff", "\xfe", "1", "", "{p}"}

func (w *world) pick(from []string) string { return from[w.IntN(len(from))] }

var (
	worldLiterals = []string{"a", "b", "ab", "me", "mea", "meb", "1", "true", "2024-02-29", "é", "è", "a b", "a%20b", "%C3%A9", "", "{x}", "{p}", "%zz", "a%2Fb", "x:y", "*", "*s", "r"}
	worldParams   = []string{":v", ":v", ":v|int", ":v|float", ":v|bool", ":v|date", ":v|string"}
	worldValues   = []string{"a", "b", "ab", "me", "mea", "m", "1", "-1.5", "true", "2024-02-29", "é", "%C3%A9", "%61", "a%20b", "a%2Fb", "", "{x}", "{p}", "%zz", "x:y", "*", "*s", "7", "%", "é%", "r"}
	worldHosts    = []string{"", "", "", "a.test", "*.test", "*.a.test", "b.test"}
	worldAsked    = []string{"a.test", "b.test:80", "x.a.test", "A.TEST.", "test", "other", ""}
	worldMethods  = []string{"GET", "GET", "GET", "POST", "PURGE", "*"}
	worldConds    = []string{"", "", "", "query", "first"}
)

func (w *world) path() string {
	var b strings.Builder
	n := w.IntN(5)
	for i := range n {
		b.WriteByte('/')
		switch k := w.IntN(20); {
		case k < 10:
			b.WriteString(w.pick(w.literals))
		case k < 12:
			fmt.Fprintf(&b, "r%d", w.IntN(w.numbered))
		case k < 19 || i < n-1:
			// A path must not contain the same name twice.
			b.WriteString(strings.Replace(w.pick(w.params), "v", fmt.Sprintf("v%d", i), 1))
		default:
			b.WriteString(w.pick([]string{"*", "*rest"}))
		}
	}
	if n == 0 || w.IntN(8) == 0 {
		b.WriteByte('/')
	}
	return b.String()
}

func (w *world) table(most int) reference {
	hosts := w.IntN(2) == 0
	rs := make(reference, 1+w.IntN(most))
	for i := range rs {
		rs[i] = refRoute{method: w.pick(worldMethods), path: w.path(), cond: w.pick(w.conds)}
		if hosts {
			rs[i].host = w.pick(worldHosts)
		}
	}
	return rs
}

func (w *world) target() string {
	var b strings.Builder
	for range w.IntN(5) {
		b.WriteByte('/')
		if w.IntN(8) == 0 {
			fmt.Fprintf(&b, "r%d", w.IntN(w.numbered))
		} else {
			b.WriteString(w.pick(w.values))
		}
	}
	if b.Len() == 0 || w.IntN(6) == 0 {
		b.WriteByte('/')
	}
	if w.IntN(3) == 0 {
		b.WriteString("?q")
	}
	return b.String()
}

// agree checks one request against the reference.
func agree(t *testing.T, rs reference, table *Table, method, host, target string) {
	t.Helper()
	r := newRequest(method, host, target)
	defer Release(r)
	want, captures := rs.match(method, host, target)
	got := table.Match(r, method)
	if got != want || !slices.Equal(params(r), captures) {
		t.Fatalf("%s %s (host %q): got route %d with %q, the reference %d with %q; table\n%s",
			method, target, host, got, params(r), want, captures, dump(rs))
	}
	if got, want := table.Methods(r), rs.methods(host, target); !slices.Equal(got, want) {
		t.Fatalf("%s (host %q): got methods %q, the reference %q; table\n%s", target, host, got, want, dump(rs))
	}
}

func dump(rs reference) string {
	var b strings.Builder
	for i, e := range rs {
		fmt.Fprintf(&b, "%d: %+v\n", i, e)
	}
	return b.String()
}

func TestMatchEqualsTheReference(t *testing.T) {
	tables, most := 1500, 40
	if !volume.Full() {
		tables = 500
	}
	byRouter := 0
	for seed := range uint64(tables) {
		w := newWorld(seed, 0)
		rs := w.table(most)
		table := mustCompile(t, rs)
		for range 60 {
			method, target := w.pick(worldMethods), w.target()
			agree(t, rs, table, method, w.pick(worldAsked), target)
			r := newRequest(method, "", target)
			if r.parts(); table.anyHost.shards.lookup(r, method) != nil {
				byRouter++
			}
			Release(r)
		}
	}
	if byRouter == 0 {
		t.Error("the routers found nothing in any table, so they were not tested")
	}
}

func FuzzMatch(f *testing.F) {
	for seed := range uint64(20) {
		w := newWorld(seed, 1)
		f.Add(seed, w.pick(worldMethods), w.pick(worldAsked), w.target())
	}
	f.Fuzz(func(t *testing.T, seed uint64, method, host, target string) {
		if strings.ContainsAny(target, " \r\n\x00") || strings.ContainsAny(host, "[]\r\n ") || strings.Count(host, ":") > 1 || len(host) > longestHost {
			return // not what a server would pass, or hosts that the reference does not support
		}
		if !strings.HasPrefix(target, "/") || method == "" {
			return
		}
		for i := range len(host) {
			if host[i] > '~' {
				return // hosts are ASCII
			}
		}
		w := newWorld(seed, 2)
		rs := w.table(80)
		agree(t, rs, mustCompile(t, rs), method, host, target)
	})
}

func TestShadowedRoutesAreWarnedOf(t *testing.T) {
	tests := []struct {
		name  string
		table reference
		want  []string
	}{
		{"different methods", declare("GET /a", "POST /a"), nil},
		{"different hosts", declare("GET a.test /a", "GET /a", "GET *.test /a"), nil},
		{"a type is wider than the earlier one", declare("GET /:a|int", "GET /:a|float"), nil},
		{"types that exclude each other", declare("GET /:a|int", "GET /:a|uuid"), nil},
		{"a plain parameter is another shape than a typed one", declare("GET /:a", "GET /:a|int"), nil},
		{"an earlier condition leaves something", reference{{"GET", "", "/a", "query"}, {"GET", "", "/a", ""}, {"GET", "", "/b", "query"}, {"GET", "", "/b", "first"}}, nil},
		{"parameters differ in name only", declare("GET /users/:id", "GET /users/:uid/"),
			[]string{"f.yml:2: GET /users/:uid/ is never reached: shadowed by GET /users/:id at f.yml:1"}},
		{"literals differ in encoding only", declare("GET /a%20b", "GET /a b"),
			[]string{"f.yml:2: GET /a b is never reached: shadowed by GET /a%20b at f.yml:1"}},
		{"a type is narrower", declare("GET /:a|double", "GET /:a|int"),
			[]string{"f.yml:2: GET /:a|int is never reached: shadowed by GET /:a|double at f.yml:1"}},
		{"types have two names", declare("GET /:a|bool", "GET /:a|boolean"),
			[]string{"f.yml:2: GET /:a|boolean is never reached: shadowed by GET /:a|bool at f.yml:1"}},
		{"catch-alls", declare("GET /a/*x", "GET /a/*"),
			[]string{"f.yml:2: GET /a/* is never reached: shadowed by GET /a/*x at f.yml:1"}},
		{"the same condition twice, and one after the default",
			reference{{"GET", "", "/a", "query"}, {"GET", "", "/a", "query"}, {"GET", "", "/a", ""}, {"GET", "", "/a", "first"}, {"GET", "", "/a", ""}},
			[]string{
				"f.yml:2: GET /a is never reached: shadowed by GET /a at f.yml:1",
				"f.yml:4: GET /a is never reached: shadowed by GET /a at f.yml:3",
				"f.yml:5: GET /a is never reached: shadowed by GET /a at f.yml:3",
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			routes, _ := tt.table.routes()
			_, problems := Compile(routes)
			var got []string
			for _, p := range problems {
				got = append(got, p.String())
				if !p.Warning {
					t.Errorf("%s: got an error, want a warning", p)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// The reference never selects a route that a warning calls shadowed, for random tables and requests
// that could reveal a wrong warning.
func TestNoShadowedRouteEverMatches(t *testing.T) {
	warned := 0
	for seed := range uint64(200) {
		w := newWorld(seed, 3)
		rs := w.table(40)
		routes, _ := rs.routes()
		_, problems := Compile(routes)
		dead := map[int]bool{}
		for _, p := range problems {
			dead[p.Pos.Line-1] = true
			warned++
		}
		for range 100 {
			method, host, target := w.pick(worldMethods), w.pick(worldAsked), w.target()
			if i, _ := rs.match(method, host, target); dead[i] {
				t.Fatalf("%s %s: route %d answers, although a warning says that it is never reached; table\n%s", method, target, i, dump(rs))
			}
		}
	}
	if warned == 0 {
		t.Error("no table had a shadowed route: nothing was tested")
	}
}

func TestCompileOfTheSameShapeManyTimesIsLinear(t *testing.T) {
	rs := make(reference, 20000)
	for i := range rs {
		rs[i] = refRoute{method: "GET", path: "/a/:b", cond: "query"}
	}
	routes, _ := rs.routes()
	for i := range routes {
		routes[i].Endpoint.If = syntax.Text{Value: fmt.Sprintf("x = %d", i%10000)}
	}
	_, problems := Compile(routes)
	if len(problems) != 10000 {
		t.Errorf("got %d warnings, want one for each of the 10000 that repeat a condition", len(problems))
	}
}
