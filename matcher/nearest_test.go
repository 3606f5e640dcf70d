package matcher

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mockserver/internal/wording"
)

func TestNearest(t *testing.T) {
	small := reference{
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
		{"an extra prefix", "GET", "h", "/v1/x/api/users/7", 0, `the request has in addition "/v1/x"`},
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
				r := newRequest(tt.method, tt.host, tt.target)
				defer Release(r)
				table := mustCompile(t, rs)
				if tt.why == "" && tt.index >= 0 {
					if got := table.Match(r, tt.method); got != tt.index {
						t.Errorf("got route %d, want %d", got, tt.index)
					}
					return
				}
				near := table.Nearest(r, 3)
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

// In a large table the routes are found by their literals; one slip in one of
// them must not lose the route.
func TestNearestFindsSlipsInALargeTable(t *testing.T) {
	table := mustCompile(t, layoutTable(layouts[2].declared, 5000))
	w := rand.New(rand.NewPCG(1, 5))
	for range 300 {
		i := w.IntN(5000)
		name := []byte(fmt.Sprintf("res%d", i))
		at := w.IntN(3) // among the letters, since another digit is another route
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
		r := newRequest("GET", "h", "/api/v1/"+string(name)+"/42")
		near := table.Nearest(r, 3)
		// not always the first: of re46 the route res6 is as near as res46
		if !slices.ContainsFunc(near, func(n Near) bool { return n.Index == i }) {
			t.Errorf("%s: got %+v, want route %d among them", name, near, i)
		}
		Release(r)
	}
}

func TestNearestComparesABoundedNumber(t *testing.T) {
	table := mustCompile(t, layoutTable(func(i int) string { return fmt.Sprintf("/api/x/:id/r%d", i) }, 5000))
	r := newRequest("GET", "h", "/api/x/1/r")
	defer Release(r)
	r.parts()
	if got := len(newComparer(table, r).candidates()); got == 0 || got > nearMany {
		t.Errorf("got %d candidates of 5000, want some, at most %d", got, nearMany)
	}
}

// The tables are such that every segment is like every other, but for a few
// letters, and the last of the many possible ways leads to no route.
func TestNearestDoesABoundedAmountOfWork(t *testing.T) {
	for _, worst := range worstNear {
		t.Run(worst.name, func(t *testing.T) {
			table := mustCompile(t, layoutTable(worst.declared, worst.routes))
			r := newRequest("GET", "h", worst.asked)
			defer Release(r)
			r.parts()
			c := newComparer(table, r)
			for _, l := range c.search(12) {
				c.why(l.index)
			}
			// one comparison may begin when almost all is done: every segment with those in reach
			one := alignedMost * (2*slipReach + 1) * nearLongest * 5
			if most := nearWork + one + nearMany*4*alignedMost; c.work == 0 || c.work > most {
				t.Errorf("got %d comparisons, want some, at most %d", c.work, most)
			}
		})
	}
}

func TestNearestVisitsABoundedNumberOfNodes(t *testing.T) {
	const depth = 12
	rs := layoutTable(func(i int) string { // every combination of a literal and a parameter
		path := ""
		for k := range depth {
			path += []string{"/a", fmt.Sprintf("/:p%d", k)}[i>>k&1]
		}
		return path + "/end"
	}, 1<<depth)
	table := mustCompile(t, rs)
	r := newRequest("GET", "h", strings.Repeat("/a", depth)+"/end")
	defer Release(r)
	visited := 0
	table.eachLeaf(r, nearNodes, func(*leaf) bool { visited++; return true })
	if visited == 0 || visited > nearNodes {
		t.Errorf("got %d leaves, want some, at most %d", visited, nearNodes)
	}
	visited = 0
	table.eachLeaf(r, nearNodes, func(*leaf) bool { visited++; return false })
	if visited != 1 {
		t.Errorf("got %d leaves after the first said enough", visited)
	}
}

// What one slip makes of a long path of a table where all paths are alike must be
// found in spite of the bound.
func TestNearestFindsASlipAmongLongPaths(t *testing.T) {
	worst := worstNear[0]
	table := mustCompile(t, layoutTable(worst.declared, worst.routes))
	declared := worst.declared(150)
	slip := strings.Replace(declared, "resource", "resuorce", 1)
	r := newRequest("GET", "h", slip)
	defer Release(r)
	if near := table.Nearest(r, 3); len(near) == 0 || near[0].Index != 150 {
		t.Errorf("%s: got %+v, want first route 150", slip, near)
	}
}

// Only 16 segments are compared, and what is beyond them must not be taken for a
// condition that did not hold.
func TestNearestOfPathsTooLongToCompare(t *testing.T) {
	long := strings.Repeat("/a", alignedMost)
	table := mustCompile(t, reference{{method: "GET", path: long + "/b/:c|int", cond: "query"}, {method: "GET", path: long + "/x/*rest"}})
	for target, want := range map[string]string{
		long + "/b/1":   "its condition does not hold: query",
		long + "/b/x":   "the paths differ after segment 16",
		long + "/b/1/2": "the paths differ after segment 16",
		long + "/b":     "the paths differ after segment 16",
		long:            "the paths differ after segment 16",
	} {
		r := newRequest("GET", "h", target)
		if near := table.Nearest(r, 1); len(near) != 1 || near[0].Why != want || near[0].Index != 0 {
			t.Errorf("%s: got %+v, want route 0: %s", target, near, want)
		}
		Release(r)
	}
}

func TestLettersApartNeverExceedTheDistance(t *testing.T) {
	w := rand.New(rand.NewPCG(1, 9))
	word := func() string {
		b := make([]byte, w.IntN(nearLongest+1))
		for i := range b {
			b[i] = byte(w.IntN(256))
			if w.IntN(2) == 0 {
				b[i] = "abcABC-1"[w.IntN(8)]
			}
		}
		return string(b)
	}
	for range 5000 {
		a := word()
		b := word()
		if w.IntN(2) == 0 { // often but a slip away
			i := w.IntN(len(a) + 1)
			b = (a[:i] + "z" + a[i:])[:min(len(a)+1, nearLongest)]
		}
		if d, got := wording.Distance(a, b, 64), apart(lettersOf([]byte(a)), lettersOf([]byte(b))); got > d {
			t.Fatalf("%q and %q: the letters are %d apart, the texts %d", a, b, got, d)
		}
	}
}
