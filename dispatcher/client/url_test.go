package client

import (
	"strings"
	"testing"
)

func TestCutURL(t *testing.T) {
	cases := []struct{ url, target, host, path string }{
		{"http://a", "http://a:80", "a", "/"},
		{"HTTPS://A.Example/B", "https://a.example:443", "a.example", "/B"},
		{"http://a:8080?x=1", "http://a:8080", "a:8080", "/?x=1"},
		{"http://a:/x#frag?no", "http://a:80", "a", "/x"},
		{"http://a/b%20c?d%20e", "http://a:80", "a", "/b%20c?d%20e"},
		{"http://a/../%2e/", "http://a:80", "a", "/../%2e/"},
		{"http://u:p@a/x@y", "http://a:80", "a", "/x@y"},
		{"http://u:p:q@a/", "http://a:80", "a", "/"},
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
		if got := string(l.AppendHost(nil)); got != c.host {
			t.Errorf("%s: host %s, want %s", c.url, got, c.host)
		}
		if got := string(l.appendPath(nil)); got != c.path {
			t.Errorf("%s: path %s, want %s", c.url, got, c.path)
		}
	}
	for url, want := range map[string]string{
		"": "neither http", "a.example/x": "neither http", "http:/a": "neither http", "http://?x": "names no host", "http://u@/": "names no host",
		"http://a b/": "a blank", "http://[::1/": "the ]", "http://a:65536/": "the port", "http://a/\r\nX: y": "control character",
		"http://%zz@a/": "two hexadecimal digits", "http://u@v@a/": "before the @",
	} {
		if _, err := CutURL([]byte(url)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", url, err, want)
		}
	}
}
