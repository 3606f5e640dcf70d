package openapi_test

import (
	"strings"
	"testing"

	"mockserver/config/openapi/text"
)

// TestFormats follows RFC 3339, 3986, 5321 and 6570.
func TestFormats(t *testing.T) {
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
		"email": {
			[]string{"joe.bloggs@example.com", "te~st@example.com", "~test@example.com", `"joe bloggs"@example.com`, `"joe..bloggs"@example.com`, `"joe@bloggs"@example.com`,
				`"a\"b"@example.com`, "te.s.t@example.com", "joe.bloggs@[127.0.0.1]", "joe.bloggs@[IPv6:::1]", "a@b", "a@xn--bcher-kva.example"},
			[]string{"@b.example", "2962", "", "@", "a@", ".test@example.com", "test.@example.com", "te..st@example.com", "joe.bloggs@invalid=domain.com", "joe.bloggs@[127.0.0.300]",
				"a b@c.example", "Joe <joe@example.com>", "a@b@c.example", `"a"b"@example.com`, `"@example.com`, "a@b.example.", "a@[::1]", "ü@example.com", long + "@example.com",
				"a@" + strings.Repeat(long[:60]+".", 4) + "example.com"},
		},
		"date":      {[]string{"2024-02-29", "0001-01-01"}, []string{"2023-02-29", "+024-01-01", "-024-01-01", "2024-1-01", "2024-01-00", "2024-01-01 ", "٢024-01-01", ""}},
		"time":      {[]string{"01:02:03Z", "01:02:03.5z", "23:59:60Z", "01:29:60+01:30", "15:59:60.1-08:00"}, []string{"01:02:03", "1:02:03Z", "01:02:03,5Z", "01:02:03.Z", "24:00:00Z", "01:02:60Z", "23:59:60+01:00", "01:02:03+24:00", "01:02:03++1:00", "+1:02:03Z", "01:02:03+1:00"}},
		"date-time": {[]string{"2024-02-29T01:02:03Z", "2024-02-29t01:02:03.123456789012z", "2016-12-31T15:59:60-08:00"}, []string{"2024-02-29 01:02:03Z", "2024-02-29T1:02:03Z", "2024-02-29T01:02:03,5Z", "2024-02-30T01:02:03Z", "2024-02-29T01:02:03", "2024-02-29T01:02:03+99:00", "2024-02-29T+1:02:03Z", "2024-02-29", ""}},
		"duration":  {[]string{"P1Y2M3D", "P4DT12H30M5S", "P1YT1H", "PT1M2S", "P5W", "P0D", "PT36H", "P1M2D"}, []string{"P1Y2D", "PT1H2S", "P1Y2DT1H2M3S", "P", "PT", "P1YT", "P1W2D", "P-1D", "P+1D", "-P1D", "PT1.5S", "P1", "1D", "P2D1Y", "P٢Y"}},
		"uuid":      {[]string{"2EB8AA08-aa98-11ea-b4aa-73b441d16380", "00000000-0000-0000-0000-000000000000"}, []string{"2eb8aa08-aa98-11ea-b4aa73b441d16380", "2eb8-aa08-aa98-11ea-b4aa73b44-1d16380", "+eb8aa08-aa98-11ea-b4aa-73b441d16380", "{2eb8aa08-aa98-11ea-b4aa-73b441d16380}"}},
		"ipv4":      {[]string{"1.2.3.4", "0.0.0.0", "255.255.255.255"}, []string{"+1.2.3.4", "1.2.3.+4", "1.2.3.-4", "01.2.3.4", "1.2.3", "256.1.1.1", "1.2.3.4/24", "0x1.2.3.4", "1٢.0.0.0", "1.2.3. 4"}},
		"ipv6":      {[]string{"::1", "::", "2001:db8::abcd", "::ffff:1.2.3.4"}, []string{"1.2.3.4", "::1%eth0", "+::1", "1:2:3:4:5:6:7", "12345::", "[::1]", "::ffff:+1.2.3.4"}},
		"hostname": {[]string{"a", "www.example.com", "xn--bcher-kva.example", "1.2", long[:63] + ".a"},
			[]string{"", "a.", ".a", "a..b", "-a", "a-", "a_b", "+a", long[:64], "bücher.example", strings.Repeat("a.", 127) + "a", "a b"}},
		"json-pointer":          {[]string{"", "/", "/a/0/b~0~1", "/ ", "/é"}, []string{"a", "/~", "/~2", "#/a", "/a~"}},
		"relative-json-pointer": {[]string{"0", "1/a", "12#"}, []string{"/a", "-1/a", "+1/a", "01/a", "0##", "", "1a"}},
		"uri-template":          {[]string{"/a/{b}", "{+a}", "{#a,b}", "{/a*}", "{?a:3,b}", "a'b", "%41", ""}, []string{"{", "}", "{}", "{a,}", "{a..b}", "{a:0}", "{a:12345}", "a b", "%4", "{a=b}", "{a b}"}},
		"regex": {
			[]string{"", `^a{2}\d+?$`, `[]`, `[^]`, `\cA`, `(?<n>a)\k<n>`, `(a)\1`, `(?<=a+)b`, `(?<!a)b`, `a(?=b)`, `a(?!b)`, `\p{L}`, `\u{1F600}`, `a{2000}`, `\/`, `[\-]`, `[\x00-\x1F]`, `\u00000`},
			[]string{`(`, `)`, `[`, `a{2,1}`, `[z-a]`, `a**`, `\`},
		},
	} {
		valid := text.Format(name)
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
