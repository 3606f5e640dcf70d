package wire

import "testing"

func TestTarget_AHostIsANameAndAPort(t *testing.T) {
	for value, want := range map[string]bool{
		"a": true, "a:80": true, "a:": true, "a.b-c_d~": true, "127.0.0.1:65536": true, "a%20b": false, "a,b": true,
		"[::1]": true, "[::1]:8000": true, "[fe80::1%25en0]": true, "A": true,
		"": false, ":": false, ":80": false, "a:b": false, "a:1:2": false, "a:-1": false, "a:+1": false, "a: 1": false,
		"::1": false, "[::1": false, "::1]": false, "[]": false, "[]:80": false, "[::1]x": false, "[::1]:x": false, "[[::1]]": false, "[a/b]": false,
		"a%": false, "a%2": false, "a%zz": false, "a%41": false, "%25": true, "a%c3%bc": true,
		"[fe80::1%25]": false, "[fe80::1%25%2f]": false, "[fe80::1%en0]": false, "[1.2.3.4]": false, "[v1.x]": false, "[::ffff:1.2.3.4]": true, "[:]": false, "[1::2::3]": false,
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
