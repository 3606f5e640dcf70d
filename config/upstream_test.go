package config

import (
	"mockserver/config/item"
	"strings"
	"testing"
	"time"
)

func TestUpstream(t *testing.T) {
	spec := Parse("f.yml", []byte(`
- upstream:
    name: real
    url: https://api.example.com/v2
    timeout: 5s
    connections: 7
    headers: {Authorization: "Bearer {{env.TOKEN}}", X-Many: [a, b], Cookie: null}
    host: pass
    insecure: true
    record: {to: here, mode: missing, if: method = GET, sample: 3, bodies: 1KiB, limit: 2048, redact: {headers: [X-A], json: [a.b], query: [k]}}
- endpoint: {method: ANY, path: "/*rest", response: {proxy: {to: real, path: "/x/{{path}}", when: always, forwarded: true}, headers: {A: b}}}
- endpoint: {method: any, path: "/one", responses: [{proxy: real}]}
- endpoint: {method: any, path: "/two/*", response: {}}
- endpoint: {path: "/three", response: {proxy: {to: real, when: missing}, external-body: {provider: json, path: "a/{{query-params.f}}"}}}
`))
	if err := spec.Problems.Err(); err != nil || len(spec.Problems) > 0 || len(spec.Upstreams) != 1 || len(spec.Endpoints) != 4 {
		t.Fatalf("%v, %d upstreams", spec.Problems, len(spec.Upstreams))
	}
	u := spec.Upstreams[0]
	if u.Name != "real" || u.URL.Value != "https://api.example.com/v2" || u.Timeout != 5*time.Second || u.Connections != 7 || u.Host != item.HostPass || !u.Insecure ||
		len(u.Headers) != 3 || u.Headers[2].Value.Value != "b" || len(u.Without) != 1 || u.Without[0] != "Cookie" {
		t.Errorf("%+v", u)
	}
	r := u.Record
	if r.To != "here" || r.Mode != item.RecordMissing || r.If.Value != "method = GET" || r.Sample != 3 || r.Bodies != 1024 || r.Limit != 2048 ||
		r.Redact.Headers[0] != "X-A" || r.Redact.JSON[0] != "a.b" || r.Redact.Query[0] != "k" {
		t.Errorf("%+v", r)
	}
	p := spec.Endpoints[0].Response.Proxy
	if spec.Endpoints[0].Method != MethodAny || p.To.Value != "real" || p.Path.Value != "/x/{{path}}" || !p.Forwarded || spec.Endpoints[1].Responses[0].Response.Proxy.To.Value != "real" {
		t.Errorf("%+v", p)
	}
	if d := (&item.Upstream{}).Effective(); d.Timeout != item.DefaultUpstreamTimeout || d.Connections != item.DefaultConnections || d.Host != item.HostOwn {
		t.Errorf("%+v", d)
	}
	if other := Parse("g.yml", []byte("- upstream: {name: real, url: http://b}")); Join(spec, other).Fingerprint() == spec.Fingerprint() {
		t.Error("upstreams are not in the fingerprint")
	}
}

// Every error in upstreams and proxies is found at load, on its line.
func TestUpstreamErrors(t *testing.T) {
	const proxied = "- upstream: {name: real, url: http://a}\n- endpoint: {path: /x, response: {proxy: "
	for _, c := range []struct{ in, want string }{
		{"- upstream: {§name: a b, url: http://a}", "is a text"},
		{"- upstream: §{url: http://a}", "name is missing"},
		{"- upstream: §{name: a}", "url is missing"},
		{"- upstream: {name: a, url: §ftp://a}", "neither http:// nor https://"},
		{"- upstream: {name: a, url: §a.example}", "neither http:// nor https://"},
		{"- upstream: {name: a, url: §http://}", "names no host"},
		{"- upstream: {name: a, url: §http://u:p@a}", "has a user"},
		{"- upstream: {name: a, url: §'http://a/b?c'}", "has a query"},
		{"- upstream: {name: a, url: §'http://a/b#c'}", "has a fragment"},
		{"- upstream: {name: a, url: §'http://a/b c'}", "a blank"},
		{"- upstream: {name: a, url: http://a, timeout: §0}", "a duration above 0"},
		{"- upstream: {name: a, url: http://a, connections: §0}", "an integer from 1 to 65535"},
		{"- upstream: {name: a, url: http://a, host: §theirs}", "expected own or pass"},
		{"- upstream: {name: a, url: http://a, headers: {§Host: b}}", "host: own or host: pass"},
		{"- upstream: {name: a, url: http://a, headers: {§content-length: 1}}", "the server writes this header itself"},
		{"- upstream: {name: a, url: http://a, headers: {§Via: null}}", "the server writes this header itself"},
		{"- upstream: {name: a, url: http://a, headers: {§'A B': c}}", "is not a header name"},
		{"- upstream: {name: a, url: http://a, headers: {A: b, §a: c}}", "the same header"},
		{"- upstream: {name: a, url: http://a, headers: {A: §\"b\\nc\"}}", "control character"},
		{"- upstream: {name: a, url: http://a, record: §{}}", "to is missing"},
		{"- upstream: {name: a, url: http://a, record: {to: §''}}", "is empty"},
		{"- upstream: {name: a, url: http://a, record: {to: x, mode: §some}}", "expected all or missing"},
		{"- upstream: {name: a, url: http://a, record: {to: x, bodies: §1GiB}}", "at most 64MiB"},
		{"- upstream: {name: a, url: http://a, record: {to: x, limit: §0}}", "above 0"},
		{"- upstream: {name: a, url: http://a, record: {to: x, redact: {headers: [§'a b']}}}", "the name of a header"},
		{"- upstream: {name: a, url: http://a, §ur: x}", "did you mean"},
		{"- upstream: {name: a, url: http://a}\n- upstream: §{name: a, url: http://b}", "there is another upstream"},
		{proxied + "§''}}", "is empty"},
		{proxied + "§{path: /x}}}", "to is missing"},
		{proxied + "{to: real, path: §x}}}", "does not begin with /"},
		{proxied + "{to: real, path: §'/x y'}}}", "is not allowed in the path of a request"},
		{proxied + "{to: real, when: §never}}}", "expected always or missing"},
		{proxied + "{to: real, when: §missing}}}", "missing requires external-body, or find"},
		{proxied + "real, body: §x}}", "proxy and body are both given"},
		{proxied + "real, external-body: §{provider: json, path: http://a}}}", "proxy and external-body are both given"},
		{proxied + "real, status: §201}}", "proxy and status are both given"},
	} {
		text, places := marked("f.yml", c.in)
		errs := Parse("f.yml", []byte(text)).Problems.Errors()
		found := len(errs) > 0 && strings.Contains(errs[0].What, c.want) && (errs[0].Pos.Line == places[0].Line)
		if len(errs) != 1 || !found {
			t.Errorf("%s: got %v, want %q at %v", text, errs, c.want, places[0])
		}
	}
	for url, want := range map[string]string{"http://a/v2": "", "x": "not a valid URL", "http://a?b": "has a query"} {
		spec := Loader{Upstream: url}.Load()
		err := spec.Problems.Err()
		if want == "" && (err != nil || len(spec.Upstreams) != 1 || len(spec.Endpoints) != 1) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
