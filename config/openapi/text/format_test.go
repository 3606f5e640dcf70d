package text

import (
	"strings"
	"testing"
)

// TestAddresses follows RFC 3986, 3987, 5321 and 6531.
func TestAddresses(t *testing.T) {
	long := strings.Repeat("a", 65)
	for name, texts := range map[string]struct{ valid, wrong []string }{
		"uri": {
			[]string{"http://a/b", "http://foo.bar/?baz=qux#quux", "http://-.~_!$&'()*+,;=:%40:80%2f::::::@example.com", "ldap://[2001:db8::7]/c=GB?objectClass?one",
				"mailto:John.Doe@example.com", "news:comp.infosystems.www.servers.unix", "tel:+1-816-555-1212", "urn:oasis:names:specification:docbook:dtd:xml:4.1.2", "x:", "http://a:b@[::1]:80/"},
			[]string{"http://a/b c", "//foo.bar/?baz=qux#quux", "/abc", `\\WINDOWS\fileshare`, "abc", "http:// shouldfail.com", ":// should fail", "bar,baz:foo",
				"https://[@example.org/test.txt", "https://example.org/foobar.txt[]", "https://example.org/foobar\\.txt", "https://example.org/foobar<>.txt", "https://example.org/foobar{}.txt",
				"https://example.org/foobar^.txt", "https://example.org/foobar`.txt", "https://example.org/foobar|.txt", "https://example.org/foobar\".txt",
				"http://a/%", "http://a/?%zz", "http://a/#b#c", "http://a/ü", "http://a:b/", "http://a]b/", "http://]/", "http://[::1]]/", "http://a@b@c/", "http://[a]@b/", ""},
		},
		"uri-reference": {
			[]string{"http://a/b", "//foo.bar/?baz=qux#quux", "/abc", "abc", "#fragment", "?a=b", "", "./a:b", "a//b"},
			[]string{"a b", `\\WINDOWS\fileshare`, `#frag\ment`, "a:b c", "1:b", "/abc[1]", "a?//[x]", "/é", "%"},
		},
		"iri":           {[]string{"http://ƒøø.ßår/?∂éœ=πîx#πîüx", "http://a/b"}, []string{"http://a/b c", "/abc", "http://a/\xff", "âππ"}},
		"iri-reference": {[]string{"/âππ", "âππ", "#ƒrägmênt"}, []string{`\\WINDOWS\filëßåré`, "é é"}},
		"email": {
			[]string{"joe.bloggs@example.com", "te~st@example.com", "~test@example.com", `"joe bloggs"@example.com`, `"joe..bloggs"@example.com`, `"joe@bloggs"@example.com`,
				`"a\"b"@example.com`, "te.s.t@example.com", "joe.bloggs@[127.0.0.1]", "joe.bloggs@[IPv6:::1]", "a@b", "a@xn--bcher-kva.example"},
			[]string{"@b.example", "2962", "", "@", "a@", ".test@example.com", "test.@example.com", "te..st@example.com", "joe.bloggs@invalid=domain.com", "joe.bloggs@[127.0.0.300]",
				"a b@c.example", "Joe <joe@example.com>", "a@b@c.example", `"a"b"@example.com`, `"@example.com`, "a@b.example.", "a@[::1]", "ü@example.com", long + "@example.com",
				"a@" + strings.Repeat(long[:60]+".", 4) + "example.com"},
		},
		"idn-email": {[]string{"실례@실례.테스트", "joe@example.com"}, []string{"2962", "@실례.테스트", "실례@", "실 례@실례.테스트", "a@\xff"}},
	} {
		valid := Format(name)
		for _, text := range texts.valid {
			if !valid(text) {
				t.Errorf("%s: %q is refused", name, text)
			}
		}
		for _, text := range texts.wrong {
			if valid(text) {
				t.Errorf("%s: %q is accepted", name, text)
			}
		}
	}
}
