package listener

import (
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

func TestReceived_RefusesATargetThatIsCostlyToNormalise(t *testing.T) {
	for _, c := range []struct {
		name, target string
		want         bool // refused
	}{
		{"a path of slashes", "/p" + strings.Repeat("/", 60000), true},
		{"a path of encoded slashes", "/p" + strings.Repeat("%2F", 20000), true},
		{"a path of slashes, encoded or not", "/p" + strings.Repeat("/%2f", 10000), true},
		{"a path of parent segments", "/a" + strings.Repeat("/..", 20000), true},
		{"a path of encoded parent segments", "/a" + strings.Repeat("/%2e%2E", 8000), true},
		{"a path of dot segments", "/a" + strings.Repeat("/.", 30000), true},
		{"an absolute target of slashes", "http://a/p" + strings.Repeat("/", 60000), true},
		{"a short path of slashes", "/p" + strings.Repeat("/", 4000), false},
		{"a long path of text", "/p" + strings.Repeat("x", 60000), false},
		{"a long path of segments", "/p" + strings.Repeat("/x", 30000), false},
		{"a long path of encoded text", "/p/" + strings.Repeat("%2Fx%2B.%2e", 5000), false},
		{"a long path with a few empty segments", "/p" + strings.Repeat("//x", 90) + strings.Repeat("x", 5000), false},
		{"slashes in a query", "/p?" + strings.Repeat("/", 60000), false},
	} {
		var h fasthttp.RequestHeader
		h.SetRequestURI(c.target)
		received(&h)
		var u fasthttp.URI
		err := u.Parse([]byte("a"), h.RequestURI())
		if got := err != nil; got != c.want {
			t.Errorf("%s: refused %v (%v), want %v", c.name, got, err, c.want)
		}
		if !c.want && string(h.RequestURI()) != c.target {
			t.Errorf("%s: the target was changed", c.name)
		}
	}
}
