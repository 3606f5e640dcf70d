package config

import "testing"

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"path", "path", 0}, {"ab", "ba", 2}} {
		if got, back := distance(c.a, c.b), distance(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%q and %q: %d and %d, want %d", c.a, c.b, got, back, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	accepted := []string{"status", "headers", "if", "external-body"}
	for word, want := range map[string]string{
		"statsu": "status", "Status": "status", "header": "headers", "external_body": "external-body",
		"x": "", "foo": "", "of": "if", "externalbdoy": "external-body", "webhook": "",
	} {
		if got := nearest(word, accepted); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func FuzzDistance(f *testing.F) {
	f.Add("kitten", "sitting")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a)*len(b) > 1<<16 {
			return
		}
		d := distance(a, b)
		if d != distance(b, a) || (d == 0) != (a == b) || d > max(len(a), len(b)) || d < max(len(a), len(b))-min(len(a), len(b)) {
			t.Errorf("%q and %q: %d", a, b, d)
		}
	})
}
