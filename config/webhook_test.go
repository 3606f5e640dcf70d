package config

import (
	"reflect"
	"testing"
	"time"
)

const atWebhook = atEndpoint + ".webhook"

// hooked returns an endpoint whose webhook has the required keys and the given ones.
func hooked(keys string) string {
	return "- endpoint: {path: /x, response: {}, webhook: {method: POST, url: 'http://a/b', " + keys + "}}\n"
}

func TestMistakesOfWebhooks(t *testing.T) {
	table := []mistake{
		{"nothing in it", "- endpoint: {path: /x, response: {}, webhook: §{}}\n", one(atWebhook, "url is missing")},
		{"a list", "- endpoint: {path: /x, response: {}, webhook: §[]}\n", one(atWebhook, "is a list; expected a map")},
		{"webhooks that are a map", "- endpoint: {path: /x, response: {}, webhooks: §{}}\n", one(atEndpoint+".webhooks", "is a map; expected a list")},
		{"both", "- endpoint: {path: /x, response: {}, webhook: {method: POST, url: 'http://a'}, webhooks: §[]}\n", one(atEndpoint+".webhooks", "both given")},
		{"a mistake in the second of several", "- endpoint: {path: /x, response: {}, webhooks: [{method: POST, url: 'http://a'}, {method: POST, url: §ftp://a}]}\n",
			one(atEndpoint+".webhooks[1].url", "does not begin with http:// or https://")},
		{"an unknown method", "- endpoint: {path: /x, response: {}, webhook: {method: §PSOT, url: 'http://a'}}\n", one(atWebhook+".method", `did you mean "POST"?`)},
		{"an empty URL", "- endpoint: {path: /x, response: {}, webhook: {method: POST, url: '§'}}\n", one(atWebhook+".url", "is empty")},
		{"a URL without a scheme", "- endpoint: {path: /x, response: {}, webhook: {method: POST, url: §example.com/a}}\n", one(atWebhook+".url", "does not begin with http")},
		{"a URL without a host", "- endpoint: {path: /x, response: {}, webhook: {method: POST, url: '§http:///a'}}\n", one(atWebhook+".url", "names no host")},
		{"a sleep-time below 0", hooked("sleep-time: §-1"), one(atWebhook+".sleep-time", "a duration, such as 30s")},
		{"a word that on does not have", hooked("on: §sucess"), one(atWebhook+".on", `success, any, or a list of statuses`)},
		{"a status that on cannot have", hooked("on: [201, §99]"), one(atWebhook+".on[1]", "from 200 to 599")},
		{"no statuses in on", hooked("on: §[]"), one(atWebhook+".on", "a list of statuses")},
		{"a sleep-time that is none", hooked("sleep-time: §soon"), one(atWebhook+".sleep-time", "expected a duration")},
		{"an at that is none", hooked("at: §end"), one(atWebhook+".at", "expected start")},
		{"an at beside no stream", hooked("at: §start"), one(atWebhook+".at", "is for a stream; expected a response with stream")},
		{"an at beside another outcome's stream", "- endpoint: {path: /x, responses: [{stream: [{data: x}]}, {body: x, webhook: {url: 'http://a', at: §start}}]}\n",
			one(atOutcomes+"[1].webhook.at", "is for a stream; expected a response with stream")},
		{"a timeout of nothing", hooked("timeout: §0"), one(atWebhook+".timeout", "a duration above 0")},
		{"a misspelt key", hooked("§sleeptime: 1"), one(atWebhook+".sleeptime", `did you mean "sleep-time"?`)},
		{"a header with a blank", hooked("headers: {'§a b': c}"), one(atWebhook+".headers.a b", "is not a header name")},
		{"a header with a line break", hooked(`headers: {X: §"a\nb"}`), one(atWebhook+".headers.X", "control character")},
		{"no attempt", hooked("retry: {attempts: §0}"), one(atWebhook+".retry.attempts", "an integer from 1 to 100")},
		{"too many attempts", hooked("retry: {attempts: §101}"), one(atWebhook+".retry.attempts", "an integer from 1 to 100")},
		{"back-offs that fall", hooked("retry: {backoff: 2s, max-backoff: §1s}"), one(atWebhook+".retry.max-backoff", "below the backoff of 2s")},
		{"a signature without a secret", hooked("sign: §{}"), one(atWebhook+".sign", "secret is missing")},
		{"an empty secret", hooked("sign: {secret: '§'}"), one(atWebhook+".sign.secret", "is empty")},
		{"an unknown scheme", hooked("sign: {secret: a, scheme: §hmac}"), one(atWebhook+".sign.scheme", "hmac-sha256 or stripe")},
		{"a header of the signature that is none", hooked("sign: {secret: a, header: '§a b'}"), one(atWebhook+".sign.header", "the name of a header")},
		{"a header that the sender writes itself", hooked("sign: {secret: a, header: §host}"), one(atWebhook+".sign.header", "the name of a header")},
		{"a key that carries the signature", hooked("sign: {secret: a, header: §idempotency-key}"), one(atWebhook+".sign.header", "the name of a header")},
		{"a Host that is none", hooked("headers: {Host: §a b}"), one(atWebhook+".headers.Host", `"a b" is not the name of a host`)},
		{"a Host that is a URL", hooked("headers: {host: '§http://a'}"), one(atWebhook+".headers.host", "is not the name of a host")},
		{"a Host with a bad port", hooked("headers: {Host: '§a:0'}"), one(atWebhook+".headers.Host", "is not the name of a host")},
		{"two types", hooked("headers: {Content-Type: §[a/b, c/d]}"), one(atWebhook+".headers.Content-Type", "has several values; expected one")},
		{"two Hosts", hooked("headers: {Host: §[a, b]}"), one(atWebhook+".headers.Host", "has several values; expected one")},
	}
	testMistakes(t, "f.yml", table)
}

func TestWarningsOfWebhooks(t *testing.T) {
	for _, c := range []mistake{
		{"headers of the sender", hooked("headers: {§content-length: 5, X-A: b, §Connection: close, §Transfer-Encoding: chunked, §x-mockserver-webhook-depth: 3}"), []complaint{
			{atWebhook + ".headers.content-length", "is left out: the server writes this header itself"}, {atWebhook + ".headers.Connection", "is left out"},
			{atWebhook + ".headers.Transfer-Encoding", "is left out"}, {atWebhook + ".headers.x-mockserver-webhook-depth", "is left out"}}},
		{"headers of the user's own", hooked("headers: {Host: a, Date: now, Idempotency-Key: 7, Authorization: x, User-Agent: y, Trailer: z}"), nil},
		{"another charset", hooked("headers: {Content-Type: §text/plain;charset=latin1}, body: é"), one(atWebhook+".headers.Content-Type", "the charset is \"latin1\"")},
		{"a templated Host", hooked(`headers: {Host: "{{query-params.a}} b"}`), nil},
		{"the header of the signature", hooked("headers: {§x-signature: a}, sign: {secret: a}"), one(atWebhook+".headers.x-signature", "is left out: the signature is written into this header")},
		{"a header that is not of the signature", hooked("headers: {X-Signature: a}, sign: {secret: a, header: X-Sum}"), nil},
		{"a body that is no JSON", hooked("body: §hello"), one(atWebhook+".body", "the body is sent as application/json, but it is not JSON: invalid character 'h'")},
		{"a body that is nearly JSON", hooked(`body: '{"a": §}'`), one(atWebhook+".body", "declare its Content-Type under headers")},
		{"a body that is declared as JSON", hooked("body: '[1,§]', headers: {content-type: application/problem+json}"), one(atWebhook+".body", "the body is sent as application/problem+json, but")},
		{"lines of JSON", hooked("body: \"1 2\", headers: {Content-Type: application/x-ndjson}"), nil},
		{"a body declared as something else", hooked("body: hello, headers: {Content-Type: text/plain}"), nil},
		{"a body of a type that is not known", hooked(`body: hello, headers: {Content-Type: "{{query-params.t}}"}`), nil},
		{"a template", hooked(`body: "{{query-params.t}}"`), nil},
		{"no body", hooked("body: ''"), nil},
		{"scalars", hooked("body: 5"), nil},
		{"a map", hooked("body: {a: 1}"), nil},
		{"a fragment", toURL("http://a/{{path}}?b§#c{{path}}#d"), one(atWebhook+".url", "the part after # is not sent")},
		{"in the second of several", "- endpoint: {path: /x, response: {}, webhooks: [{method: POST, url: 'http://a'}, {method: POST, url: 'http://a', body: §x}]}\n",
			one(atEndpoint+".webhooks[1].body", "not JSON")},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, places := marked("f.yml", c.text)
			spec := Parse("f.yml", []byte(text))
			expect(t, spec.Problems.Warnings(), places, c.want)
			if err := spec.Problems.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Webhooks in EDN have the same errors as in YAML.
func TestWebhooksInBothSyntaxes(t *testing.T) {
	at := func(name, yaml, edn string, wrong ...complaint) twin {
		return twin{name, "- endpoint: {path: /x, response: {}, webhook: {method: POST, " + yaml + "}}",
			`[{:endpoint {:path "/x" :response {} :webhook {:method :post ` + edn + `}}}]`, nil, wrong}
	}
	testTwins(t, []twin{
		at("a blank", "url: 'http://a/b c'", `:url "http://a/b c"`, complaint{atWebhook + ".url", "a blank"}),
		at("a port", "url: 'http://a:99999'", `:url "http://a:99999"`, complaint{atWebhook + ".url", "the port"}),
		at("a fragment", "url: 'http://a#b'", `:url "http://a#b"`, complaint{atWebhook + ".url", "the part after #"}),
		at("a Host", "url: 'http://a', headers: {Host: a b}", `:url "http://a" :headers {:host "a b"}`, complaint{atWebhook + ".headers.Host", "not the name of a host"}),
		at("a header of the sender", "url: 'http://a', headers: {Content-Length: 5}", `:url "http://a" :headers {:content-length 5}`, complaint{atWebhook + ".headers.Content-Length", "is left out"}),
		at("a body that is no JSON", "url: 'http://a', body: x", `:url "http://a" :body :x`, complaint{atWebhook + ".body", "it is not JSON"}),
		at("a sleep-time", "url: 'http://a', sleep-time: soon", `:url "http://a" :sleep-time :soon`, complaint{atWebhook + ".sleep-time", "a duration"}),
		at("retries", "url: 'http://a', retry: {attempts: 0, backoff: 2s, max-backoff: 1s}", `:url "http://a" :retry {:attempts 0 :backoff "2s" :max-backoff "1s"}`,
			complaint{atWebhook + ".retry.attempts", "1 to 100"}, complaint{atWebhook + ".retry.max-backoff", "below the backoff"}),
		at("a signature", "url: 'http://a', sign: {header: host, scheme: md5}", `:url "http://a" :sign {:header :host :scheme :md5}`,
			complaint{atWebhook + ".sign", "secret is missing"}, complaint{atWebhook + ".sign.header", "the name of a header"}, complaint{atWebhook + ".sign.scheme", "hmac-sha256 or stripe"}),
	})
}

func TestWebhooksOfAFile(t *testing.T) {
	spec := Parse("f.yml", []byte(`- endpoint:
    path: /x
    response: {}
    webhooks:
      - {method: put, url: "http://a/{{path-params.id}}", sleep-time: 0}
      - method: POST
        url: https://b
        sleep-time: 0.25
        timeout: 3s
        if: json-params.a = 1
        headers: {X-A: [1, 2]}
        body: {a: 1}
        retry: {attempts: 3, backoff: 10ms}
        sign: {secret: s, header: Stripe-Signature, scheme: stripe}
      - {method: POST, url: "{{query-params.callback}}"}
`))
	if err := spec.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	hooks := spec.Endpoints[0].Webhooks
	if len(hooks) != 3 {
		t.Fatalf("%d webhooks, want 3", len(hooks))
	}
	if w := hooks[0]; w.Method != "PUT" || w.EffectiveDelay() != 0 || w.Retry.Effective().Attempts != 1 || w.Key != atEndpoint+".webhooks[0]" {
		t.Errorf("the first is %+v", w)
	}
	w := hooks[1]
	if w.EffectiveDelay() != 250*time.Millisecond || w.Timeout != 3*time.Second || w.If.Value != "json-params.a = 1" || !w.BodyJSON || w.Body.Value != `{"a":1}` || len(w.Headers) != 2 {
		t.Errorf("the second is %+v", w)
	}
	if got, want := w.Retry.Effective(), (Retry{Attempts: 3, Backoff: 10 * time.Millisecond, MaxBackoff: time.Minute}); got != want {
		t.Errorf("retry %+v, want %+v", got, want)
	}
	if want := (Sign{Secret: "s", Header: "Stripe-Signature", Scheme: "stripe"}); !reflect.DeepEqual(*w.Sign, want) {
		t.Errorf("sign %+v, want %+v", *w.Sign, want)
	}
	if got := hooks[2].EffectiveDelay(); got != time.Minute {
		t.Errorf("delay %v, want a minute", got)
	}
}

func TestEffectiveRetry(t *testing.T) {
	for _, c := range []struct {
		declared *Retry
		want     Retry
	}{
		{nil, Retry{Attempts: 1}},
		{&Retry{}, Retry{Attempts: 5, Backoff: time.Second, MaxBackoff: time.Minute}},
		{&Retry{Backoff: 2 * time.Minute}, Retry{Attempts: 5, Backoff: 2 * time.Minute, MaxBackoff: 2 * time.Minute}},
		{&Retry{Attempts: 2, MaxBackoff: time.Millisecond}, Retry{Attempts: 2, Backoff: time.Millisecond, MaxBackoff: time.Millisecond}},
	} {
		if got := c.declared.Effective(); got != c.want {
			t.Errorf("%+v: got %+v, want %+v", c.declared, got, c.want)
		}
	}
}
