package matcher

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
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
	var segments [][]byte
	for i := range 4 {
		r.parts()
		segments = append(segments, r.segment(i))
	}
	if got, most := len(table.candidates(r, segments)), nearMany+nearAlike*(nearLongest+1); got == 0 || got > most {
		t.Errorf("got %d candidates of 5000, want some, at most %d", got, most)
	}
}

// FuzzEditDistance compares with the plain definition, by recursion.
func FuzzEditDistance(f *testing.F) {
	f.Add("users", "uesrs")
	f.Add("", "a")
	f.Add("abc", "acb")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 12 || len(b) > 12 {
			t.Skip("the definition takes too long")
		}
		want := refDistance(a, b, map[[2]int]int{})
		for limit := range 15 {
			if got := editDistance(a, b, limit); got != min(want, limit) {
				t.Errorf("%q, %q, limit %d: got %d, want %d", a, b, limit, got, min(want, limit))
			}
		}
	})
}

func refDistance(a, b string, seen map[[2]int]int) int {
	key := [2]int{len(a), len(b)}
	if d, ok := seen[key]; ok {
		return d
	}
	n, m := len(a), len(b)
	if n == 0 || m == 0 {
		return n + m
	}
	d := min(refDistance(a[:n-1], b, seen), refDistance(a, b[:m-1], seen)) + 1
	same := 1
	if a[n-1] == b[m-1] {
		same = 0
	}
	d = min(d, refDistance(a[:n-1], b[:m-1], seen)+same)
	if n > 1 && m > 1 && a[n-1] == b[m-2] && a[n-2] == b[m-1] {
		d = min(d, refDistance(a[:n-2], b[:m-2], seen)+1)
	}
	seen[key] = d
	return d
}
