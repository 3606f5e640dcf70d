package client

import "testing"

func TestCutURL(t *testing.T) {
	cases := []struct{ url, target, host, path string }{
		{"http://a", "http://a:80", "a", "/"},
		{"HTTPS://A.Example/B", "https://a.example:443", "a.example", "/B"},
		{"http://a:8080?x=1", "http://a:8080", "a:8080", "/?x=1"},
		{"http://a:/x#frag?no", "http://a:80", "a", "/x"},
		{"http://a/b c?d e", "http://a:80", "a", "/b%20c?d%20e"},
		{"http://a/../%2e/ä", "http://a:80", "a", "/../%2e/ä"},
		{"http://u:p@a/x@y", "http://a:80", "a", "/x@y"},
		{"http://u@v@a/", "http://a:80", "a", "/"},
		{"http://[::1]", "http://[::1]:80", "[::1]", "/"},
		{"https://[::1]/x", "https://[::1]:443", "[::1]", "/x"},
		{"http://[2001:DB8::1]:81/x", "http://[2001:db8::1]:81", "[2001:db8::1]:81", "/x"},
		{"http://[fe80::1%25Eth0]:81", "http://[fe80::1%Eth0]:81", "[fe80::1]:81", "/"},
	}
	for _, c := range cases {
		l, err := CutURL([]byte(c.url))
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		if got := string(l.AppendTarget(nil)); got != c.target {
			t.Errorf("%s: target %s, want %s", c.url, got, c.target)
		}
		if got := string(l.appendHost(nil)); got != c.host {
			t.Errorf("%s: host %s, want %s", c.url, got, c.host)
		}
		if got := string(l.appendPath(nil)); got != c.path {
			t.Errorf("%s: path %s, want %s", c.url, got, c.path)
		}
	}
	for url, want := range map[string]error{
		"": errScheme, "a.example/x": errScheme, "ftp://a": errScheme, "http:/a": errScheme, "://a": errScheme,
		"http://": errHost, "http:///x": errHost, "http://?x": errHost, "http://:80/": errHost, "http://u@/": errHost, "http://#a": errHost,
		"http://a b/": errBadHost, "http://[::1/": errBadHost, "http://[]/": errBadHost, "http://[::1]x/": errBadHost, "http://a]/": errBadHost, "http://%61/": errBadHost, `http://a\b/`: errBadHost,
		"http://a:b/": errPort, "http://a:1:2/": errPort, "http://::1/": errHost, "http://a:65536/": errPort, "http://a:-1/": errPort, "http://[::1]:x": errPort,
		"http://a/\r\nX: y": errControl, "http://a/\x00": errControl, "http://a\x7f/": errControl, "http://a/#\n": errControl,
		"http://%zz@a/": errUser,
	} {
		if _, err := CutURL([]byte(url)); err != want {
			t.Errorf("%q: %v, want %v", url, err, want)
		}
	}
}
