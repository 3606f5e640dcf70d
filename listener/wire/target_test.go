package wire

import (
	"strings"
	"testing"
)

func TestTarget_OneThatIsCostlyToNormaliseIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, target string
		want         bool // the target is refused
	}{
		{"a path of slashes", "/p" + strings.Repeat("/", 60000), true},
		{"a path of encoded slashes", "/p" + strings.Repeat("%2F", 20000), true},
		{"a path of slashes, encoded or not", "/p" + strings.Repeat("/%2f", 10000), true},
		{"a path of parent segments", "/a" + strings.Repeat("/..", 20000), true},
		{"a path of encoded parent segments", "/a" + strings.Repeat("/%2e%2E", 8000), true},
		{"a path of dot segments", "/a" + strings.Repeat("/.", 30000), true},
		{"an absolute target of slashes", "http://a/p" + strings.Repeat("/", 60000), true},
		{"100 empty segments", "/p" + strings.Repeat("//x", 100) + strings.Repeat("x", 5000), false},
		{"101 empty segments", "/p" + strings.Repeat("//x", 101) + strings.Repeat("x", 5000), true},
		{"100 dot segments", "/p" + strings.Repeat("/./../x", 50) + strings.Repeat("x", 5000), false},
		{"101 dot segments", "/p" + strings.Repeat("/./../x", 50) + "/%2E/" + strings.Repeat("x", 5000), true},
		{"names that begin with dots", "/p" + strings.Repeat("/.x/..x/.../%2ex", 2000), false},
		{"a path of 4 KiB", "/p/" + strings.Repeat("./", 2046) + "x", false},
		{"a path of 4 KiB and a byte", "/p/" + strings.Repeat("./", 2047), true},
		{"a path of 4 KiB of a URL, and its query", "http://a/p/" + strings.Repeat("./", 2046) + "x?" + strings.Repeat("/./", 3000), false},
		{"a path of 4 KiB and a byte of a URL", "http://a/p/" + strings.Repeat("./", 2047), true},
		{"a URL without a path", "http://a?" + strings.Repeat("/./", 3000), false},
		{"a short path of slashes", "/p" + strings.Repeat("/", 4000), false},
		{"a long path of text", "/p" + strings.Repeat("x", 60000), false},
		{"a long path of segments", "/p" + strings.Repeat("/x", 30000), false},
		{"a long path of encoded text", "/p/" + strings.Repeat("%2Fx%2B.%2e", 5000), false},
		{"a long path with a few empty segments", "/p" + strings.Repeat("//x", 90) + strings.Repeat("x", 5000), false},
		{"slashes in a query", "/p?" + strings.Repeat("/", 60000), false},
	} {
		if got := checkTarget([]byte("GET"), []byte(c.target)); (got == costlyTarget) != c.want || !c.want && got != nil {
			t.Errorf("%s: got %v, want it refused: %v", c.name, got, c.want)
		}
	}
}

func TestTarget_AHostIsANameAndAPort(t *testing.T) {
	for value, want := range map[string]bool{
		"a": true, "a:80": true, "a:": true, "a.b-c_d~": true, "127.0.0.1:65536": true, "a%20b": true, "a,b": true,
		"[::1]": true, "[::1]:8000": true, "[fe80::1%25en0]": true, "A": true,
		"": false, ":": false, ":80": false, "a:b": false, "a:1:2": false, "a:-1": false, "a:+1": false, "a: 1": false,
		"::1": false, "[::1": false, "::1]": false, "[]": false, "[]:80": false, "[::1]x": false, "[::1]:x": false, "[[::1]]": false, "[a/b]": false,
		"a b": false, "a/b": false, "a@b": false, "a?b": false, "a#b": false, "<a>": false, "a\x00": false, "a\x7f": false, "\xc3\xa9": false, `a\b`: false, `"a"`: false,
	} {
		if got := checkHost([]byte(value), false) == nil; got != want {
			t.Errorf("%q: accepted %v, want %v", value, got, want)
		}
	}
	if err := checkHost(nil, true); err != nil {
		t.Errorf("an empty Host of HTTP/1.0: got %v", err)
	}
}
