package config

import (
	"fmt"
	"strings"
	"testing"

	"mockserver/internal/address"
	"mockserver/internal/tags"
)

// toURL returns an endpoint whose webhook is sent to a URL, in double quotes.
func toURL(url string) string {
	return fmt.Sprintf("- endpoint: {path: /x, response: {}, webhook: {method: POST, url: \"%s\"}}\n", url)
}

// fromURL returns an endpoint whose external body comes from a URL, in double quotes.
func fromURL(url string) string {
	return fmt.Sprintf("- endpoint: {path: /x, response: {external-body: {provider: json, path: \"%s\"}}}\n", url)
}

// The same rules apply to the URLs of webhooks and of external bodies, except that an external body
// without http:// or https:// is a file.
func TestMistakesOfTargets(t *testing.T) {
	at := atWebhook + ".url"
	var table []mistake
	for _, c := range []struct{ url, what string }{
		{"http://a/b§ c", "a blank is not allowed in a URL; write %20"},
		{"http://a§ b/", "a blank is not allowed in a URL"},
		{"http://a/{{path-params.id}}/b§ c{{query-params.q}}", "a blank is not allowed"},
		{"{{query-params.url}}?q=a§ b", "a blank is not allowed"},
		{"{% if query-params.a %}http://a/§ b{% endif %}", "a blank is not allowed"},
		{"http://a/{% raw %}§ {% endraw %}", "a blank is not allowed"},
		{"http://a/§ü", "'ü' is not allowed in a URL; write %C3%BC"},
		{"http://b§ücher.example/", "in a host its xn-- form"},
		{"http://a/§%zz", "% is not followed by two hexadecimal digits; write %25"},
		{"http://a/?off=50§%", "% is not followed by two hexadecimal digits"},
		{"§http://a:99999/", `the port is "99999"; expected 1 to 65535`},
		{"§http://a:0", `the port is "0"`},
		{"§http://a:b/", `the port is "b"`},
		{"§http://{{host}}:99999/", `the port is "99999"`},
		{"§http://user:hunter2@a:99999/", `"http://xxxxx@a:99999/" is not a valid URL: the port`},
		{"§http://{{query-params.user}}:{{query-params.password}}@:80/", "names no host"},
		{"§http://a<b@c/", `'<' is not allowed before the @; write %3C`},
		{"§http://:80/", "names no host"},
		{"§http://?a", "names no host"},
		{"§http://a_b!c/", `'!' is not allowed in the name of a host`},
		{"§http://::1/", "an IPv6 address is written in [ ]"},
		{"§http://[::1/", "the ] of an IPv6 address is missing"},
		{"§http://[1.2.3.4]/", "is not an IPv6 address"},
		{"§http://[fe80::1%25]/", "is not an IPv6 address"},
		{"http://[fe80::1§%eth0]/", "% is not followed by two hexadecimal digits"},
		{"§http://[::1]80/", "only a port may follow"},
		{"§http://[::1]:x/", `the port is "x"`},
		{"§http://[::1%25a]b]:1/x", "only a port may follow"},
		{"§http://[::1%25a[b]:1/x", "'[' is not allowed in the zone of an IPv6 address; write %5B"},
		{"§http://[::1%25a:b]/", "':' is not allowed in the zone"},
		{"§mailto:a@b", "does not begin with http:// or https://"},
		{"§//a/b", "does not begin with http:// or https://"},
		{"§ http://a", "does not begin with http:// or https://"},
	} {
		table = append(table, mistake{c.url, toURL(c.url), one(at, c.what)})
		if strings.HasPrefix(strings.ReplaceAll(c.url, "§", ""), "http") {
			table = append(table, mistake{"external " + c.url, fromURL(c.url), one(atExternal+".path", c.what)})
		}
	}
	table = append(table, mistake{"a tab", strings.Replace(toURL(`http://a/\tb`), `"http`, `§"http`, 1), one(at, `the control character '\t' is not allowed`)})
	table = append(table, mistake{"a line break", "- endpoint:\n    path: /x\n    response: {}\n    webhook:\n      method: POST\n      url: |\n        http://a/b§\n",
		one(at, `the control character '\n' is not allowed`)})
	testMistakes(t, "f.yml", table)
}

func TestURLsThatAreAccepted(t *testing.T) {
	for _, url := range []string{
		"http://a", "https://a/", "HTTP://A:8080/b", "http://a:1", "http://a:65535?x", "http://a:/", "http://a_b.c-d.:80/",
		"http://user:pa%40ss@host/", "http://user@host", "http://[::1]", "http://[::1]:80/", "http://[fe80::1%25eth0]:80/", "http://[fe80::1%25a-b._~%5D]/",
		"http://127.0.0.1:9000/a%20b?c=%C3%BC", `http://a/b|c\"d^e`, "http://us/er@a:b",
		"{{query-params.url}}", "{{query-params.url}}:99999", "{% if query-params.a %}http://a{% else %}https://b:99{% endif %}/c",
		"http://{{host}}/", "http://{{query-params.h}}:{{query-params.p}}/", "http://a:80{{query-params.p}}/", "http://a:9{{query-params.p}}99999/",
		"http://{{query-params.u}}:{{query-params.p}}@a:80/", "http://u:p{{query-params.p}}@a/", "http://[{{query-params.ip}}]:80/",
		"http://{% if query-params.a %}a:80{% else %}b:81{% endif %}/", "http://{{#if query-params.a}}a{{else}}b{{/if}}:99999/",
		"http://a/%{{path-params.a}}", "http://a/%4{{path-params.a}}", `http://a/{{ query-params.a|default:"ü % b" }}`, "http://a/x:99999",
		"http://a{{path-params.a}}", "http://{{path-params.a}}.example.com/b",
	} {
		spec := Parse("f.yml", []byte("- endpoint: {path: '/:a', response: {}, webhook: {method: POST, url: '"+url+"'}}\n"))
		if len(spec.Problems) > 0 {
			t.Errorf("%s: %v", url, spec.Problems)
		}
		spec = Parse("f.yml", []byte("- endpoint: {path: '/:a', response: {external-body: {provider: json, path: '"+url+"'}}}\n"))
		if len(spec.Problems) > 0 {
			t.Errorf("external %s: %v", url, spec.Problems)
		}
	}
}

// FuzzTarget reads arbitrary texts as templates of URLs and as URLs: neither panics, and a text
// without placeholders is accepted as a template if and only if it is accepted as a URL.
func FuzzTarget(f *testing.F) {
	for _, seed := range []string{"http://u:p@[::1%25a]:80/b%20?c#d", "http://{{a}}:9{% if b %}@{% endif %}/%4{{c}}", "https://a:b:c", "{% raw %} {% endraw %}x", "http://[{{a}}", "http://%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		e := Endpoint{Path: "/x", Webhooks: []Webhook{{Method: "POST", URL: url}}}
		err := New(e).Validate().Err()
		if tags.Start(url) < len(url) {
			return
		}
		if what := address.URLFault([]byte(url)); (what == "") != (err == nil) {
			t.Errorf("%q: as a URL %q, as a template %v", url, what, err)
		}
	})
}
