package internal_test

import (
	"strings"
	"testing"

	"mockserver/internal/address"
)

// The same rules apply to rendered URLs as to declared ones, except those that can be checked only
// in a file.
func TestURLFault(t *testing.T) {
	for _, c := range []struct{ url, want string }{
		{"http://a", ""}, {"HTTPS://a:1/b c", "a blank"}, {"http://a/b#c", ""}, {"http://a:80/x:99999/@b", ""},
		{"http://user:pa%40ss@[::1]:80/", ""}, {"http://[fe80::1%25eth0]/", ""},
		{"", "neither http"}, {"http:/a", "neither http"}, {"httpx://a", "neither http"}, {"ws://a", "neither http"}, {"://a", "neither http"}, {" http://a", "neither http"},
		{"http://", "names no host"}, {"http://@/", "names no host"}, {"http://a:65536/", "the port"}, {"http://a:000000000000000000000080/", ""},
		{"http://a:-1/", "the port"}, {"http://a:184467440737095516160/", "the port"}, {"http://a%2Fb/", "is not allowed in the name"}, {"http://a/%", "% is not followed"},
		{"http://a\r\nX: y/", "control character"}, {"http://[::1", "the ]"}, {"http://[]/", "not an IPv6 address"}, {"http://[::1%25]/", "not an IPv6 address"},
		{"http://a/\xff", "is not allowed"},
	} {
		if got := address.URLFault([]byte(c.url)); got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
			t.Errorf("%q: got %q, want %q", c.url, got, c.want)
		}
	}
	if n := testing.AllocsPerRun(100, func() {
		if address.URLFault([]byte("http://user:pa%40ss@[fe80::1]:80/a/b?c")) != "" {
			t.Error("the URL is refused")
		}
	}); n > 1 { // one allocation is for the text itself
		t.Errorf("%v allocations", n)
	}
}

// The same rules apply to a rendered Host as to a declared one.
func TestHostPortFault(t *testing.T) {
	for _, c := range []struct{ host, want string }{
		{"a", ""}, {"a.b-c_d:80", ""}, {"127.0.0.1", ""}, {"[::1]:80", ""}, {"a:", ""},
		{"", "names no host"}, {":80", "names no host"}, {"a b", "' ' is not allowed"}, {"http://a", "the port"}, {"http:a", "the port"}, {"a/b", "'/' is not allowed"},
		{"a:0", "the port"}, {"ü", "is not allowed"}, {"a\x00", `'\x00' is not allowed`}, {"a:\x00", "is not allowed"}, {"[::1\x00]", "is not allowed"}, {"u@a", "'@' is not allowed"},
		{"[::1%25a]b]", "only a port"}, {"[::1%25%]", "'%' is not allowed in the zone"},
	} {
		if got := address.HostPortFault([]byte(c.host)); got != c.want && (c.want == "" || !strings.Contains(got, c.want)) {
			t.Errorf("%q: got %q, want %q", c.host, got, c.want)
		}
	}
}

func TestShown(t *testing.T) {
	for url, want := range map[string]string{
		"http://a/b@c": "http://a/b@c", "http://u:p@a/b": "http://xxxxx@a/b", "http://u:p@": "http://xxxxx@", "nothing": "nothing",
		"http://u:p@q@a?x": "http://xxxxx@a?x", "http://a/" + strings.Repeat("x", 100): "http://a/" + strings.Repeat("x", 51) + "…",
	} {
		if got := address.Shown(url); got != want {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
	}
}
