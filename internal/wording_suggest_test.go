package internal_test

import (
	"strings"
	"testing"

	"mockserver/internal/wording"
)

func TestDistance(t *testing.T) {
	long := strings.Repeat("x", 64)
	for _, c := range []struct {
		a, b        string
		limit, want int
	}{
		{"", "", 9, 0}, {"", "abc", 9, 3}, {"kitten", "sitting", 9, 3}, {"flaw", "lawn", 9, 2}, {"path", "path", 9, 0},
		{"ab", "ba", 9, 1}, {"kitten", "sitting", 3, 3}, {"kitten", "sitting", 2, 2}, {"a", "b", 0, 0}, {"a", "b", -1, 0},
		{long, strings.Repeat("y", 64), 1000, 64}, {long + "1", long + "2", 9, 0},
	} {
		if got, back := wording.Distance(c.a, c.b, c.limit), wording.Distance(c.b, c.a, c.limit); got != c.want || back != c.want {
			t.Errorf("%q and %q, limit %d: %d and %d, want %d", c.a, c.b, c.limit, got, back, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	accepted := []string{"status", "headers", "if", "external-body"}
	for word, want := range map[string]string{
		"statsu": "status", "Status": "status", "header": "headers", "external_body": "external-body",
		"x": "", "foo": "", "of": "if", "externalbdoy": "external-body", "sttu": "", "GEI": "", "f": "", "webhook": "", "fi": "if",
	} {
		if got := wording.Nearest(word, accepted); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

// FuzzDistance compares Distance with its recursive definition.
func FuzzDistance(f *testing.F) {
	f.Add("users", "uesrs")
	f.Add("", "a")
	f.Add("abc", "acb")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 12 || len(b) > 12 {
			return // the definition takes too long
		}
		want := refDistance(a, b, map[[2]int]int{})
		for limit := -1; limit < 15; limit++ {
			if got := wording.Distance(a, b, limit); got != min(want, max(limit, 0)) {
				t.Errorf("%q, %q, limit %d: got %d, want %d", a, b, limit, got, min(want, max(limit, 0)))
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
