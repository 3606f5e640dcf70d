package listener_test

import (
	"fmt"
	"strings"
	"testing"

	"mockserver/config"
	"mockserver/listener"
)

func TestCheck_OfABrokenEndpointSaysWhatIsNotKnown(t *testing.T) {
	for _, c := range []struct {
		name, endpoint string
		want           []string // the keys of all problems, including warnings
	}{
		{"an error elsewhere", `{path: /a, response: {status: 1, body: "{{nope}}"}}`,
			[]string{"[0].endpoint.response.status", "[0].endpoint.response.body"}},
		{"the parameters of a path that could not be read", `{path: [1], response: {body: "{{path-params.id}}"}}`,
			[]string{"[0].endpoint.path"}},
		{"no warning next to an error", `{path: /a, response: {status: 1, body: "{{path-params.id}}"}}`,
			[]string{"[0].endpoint.response.status"}},
		{"an error inside", `{path: /a, response: {external-body: {provider: jsn, path: a.json}}}`,
			[]string{"[0].endpoint.response.external-body.provider"}},
	} {
		problems := listener.Check(config.Parse("m.yml", []byte("- endpoint: "+c.endpoint)), listener.Options{})
		var got []string
		for _, p := range problems {
			got = append(got, p.Key)
		}
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: got %v\nwant %v", c.name, got, c.want)
		}
	}
}

// Errors are found when the configuration is loaded, wherever a value is used.
func TestLet_Mistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{path: /a, let: {a: "{{b}}", b: x}, response: {}}`, `f.yml:1:36: [0].endpoint.let.a: "b" is a name of this endpoint that is not available here`},
		{`{path: /a, let: {a: x}, if: method = a, response: {}}`, `f.yml:1:50: [0].endpoint.if: "a" is a name of this endpoint that is not available here`},
		{`{path: /a, let: {aa: x}, response: {body: "{{ab}}"}}`, `[0].endpoint.response.body: unknown variable "ab" (did you mean "aa"?)`},
		{`{path: /a, response: {body: "{{aa}}"}}`, `[0].endpoint.response.body: unknown variable "aa"`},
		{`{path: /a, let: {aa: x}, response: {}, webhook: {url: "http://a/{{ab}}"}}`, `[0].endpoint.webhook.url: unknown variable "ab" (did you mean "aa"?)`},
		{`{path: /a, let: {now: x}, response: {}}`, `f.yml:1:35: [0].endpoint.let.now: "now" is a word of the template language`},
	} {
		problems := listener.Check(config.Parse("f.yml", []byte("- endpoint: "+c.text)), listener.Options{})
		if len(problems) != 1 || !strings.Contains(problems[0].String(), c.want) {
			t.Errorf("%s: got %v, want %s", c.text, problems, c.want)
		}
	}
}

func TestSequences_PerIsRefusedElsewhere(t *testing.T) {
	for text, want := range map[string]string{
		"per: path-params.id\n    response: {}":                                          "m.yml:4:10: [0].endpoint.per: per needs select: sequence or sequence-hold",
		"per: path-params.id\n    select: weighted\n    responses: [{}]":                 "per needs select: sequence or sequence-hold",
		"if: shared-counter(\"a\") = 1\n    response: {}":                                `unknown function "shared-counter" (each replica counts by itself: `,
		"per: path-params.id x\n    select: sequence\n    responses: [{}]":               `m.yml:4:25: [0].endpoint.per: unexpected "x"; expected one operand`,
		"per: \"\"\n    select: sequence\n    responses: [{}]":                           "[0].endpoint.per: is empty",
		"per: total\n    let: {total: 1}\n    select: sequence\n    responses: [{}, {}]": "",
	} {
		spec := config.Parse("m.yml", []byte("- endpoint:\n    path: /:id\n    method: GET\n    "+text+"\n"))
		if got := listener.Check(spec, listener.Options{}).Error(); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s\n\tsays %s\n\twant %s", text, got, want)
		}
	}
}

func TestLet_IsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"let: {now: 1}":                          `[0].endpoint.let.now: "now" is a word of the template language; expected another name`,
		"let: {response: 1}":                     `"response" is a word of the template language; expected another name`,
		"let: {1a: 1}":                           "[0].endpoint.let.1a: is not a name: a letter, followed by",
		"let: {a: \"{{b}}\", b: 1}":              `m.yml:3:17: [0].endpoint.let.a: "b" is a name of this endpoint that is not available here`,
		"let: {a: \"{{a}}\"}":                    `"a" is a name of this endpoint that is not available here`,
		"let: {a: [1, \"{{nope}}\"]}":            `unknown variable "nope"`,
		"if: b = 1\n    let: {a: 1}":             "",
		"let: {a: \"{{response.status}}\"}":      "response is available only in webhooks, which are sent after it",
		"webhook: {url: \"{{response.state}}\"}": `"response.state" is not a part of the response; expected response.status, response.headers.NAME`,
	} {
		spec := config.Parse("m.yml", []byte("- endpoint:\n    path: /\n    "+text+"\n    response: {}\n"))
		problems := listener.Check(spec, listener.Options{})
		if got := problems.Error(); want != "" && !strings.Contains(got, want) || len(problems) > 1 {
			t.Errorf("%s\n\tsays %s\n\twant %s", text, got, want)
		}
	}
}

func TestStream_FaultsAreChecked(t *testing.T) {
	const fixed, loop = "response: {stream: [{data: a}]}", "response: {stream: [{data: a, for: x in json-params}]}"
	for text, want := range map[string]string{
		fixed + ", fault: {type: stall, after: 40%}":                                                 "",
		loop + ", fault: {type: stall, after: 40%}":                                                  "m.yml:2:107: [1].endpoint.fault.after: is a part of the items, whose number differs between requests; expected a number of items or a time",
		"responses: [{stream: [{data: a, times: 3}]}], fault: {type: stall, after: 40%}":             "",
		"responses: [{stream: [{data: a, times: json-params.n}]}], fault: {type: stall, after: 40%}": "[1].endpoint.fault.after: is a part of the items",
		"response: {proxy: real}, fault: {type: stall, after: 40%}":                                  "m.yml:2:76: [1].endpoint.fault.after: is a part of the items, whose number differs between requests",
		"response: {proxy: real, cut: {rate: 5%}}, fault: {type: reset, after: 3s}":                  "",
		"response: {proxy: real}, fault: {type: error, item: {line: '{{x}}'}}":                       `[1].endpoint.fault.item.line: unknown variable "x"`,
		"response: {proxy: real}, fault: {type: error, item: {data: a, body: b}}":                    "data and body are both given",
		"response: {proxy: real, pace: {gap: 1s}}":                                                   "proxy and pace are both given",
		fixed + ", fault: {type: error, item: {data: '{{stream.index}}'}}":                           "",
		loop + ", fault: {type: error, item: {event: e, data: '{{x}}'}}":                             `[1].endpoint.fault.item.data: unknown variable "x"`,
	} {
		problems := listener.Check(config.Parse("m.yml", []byte("- upstream: {name: real, url: 'http://127.0.0.1:1'}\n- endpoint: {path: /, "+text+"}")), listener.Options{})
		if got := problems.Error(); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s\n\tsays %s\n\twant %s", text, got, want)
		}
	}
}

// Webhooks cannot refer to the body of a stream, unless another response has one.
func TestCheck_StreamsHaveNoBody(t *testing.T) {
	const stream, hooks = "stream: [{data: a}]", ", webhooks: [{url: 'http://a/', body: '{{response.body}}'}]"
	for text, refused := range map[string]bool{
		"response: {" + stream + "}" + hooks:                      true,
		"response: {body: a}" + hooks:                             false,
		"responses: [{" + stream + "}, {" + stream + "}]" + hooks: true,
		"responses: [{" + stream + "}, {body: a}]" + hooks:        false,
		"responses: [{" + stream + hooks + "}, {body: a}]":        true,
		"responses: [{" + stream + "}, {body: a" + hooks + "}]":   false,
	} {
		problems := listener.Check(config.Parse("m.yml", []byte("- endpoint: {path: /, "+text+"}")), listener.Options{})
		if got := problems.Error(); strings.Contains(got, `"response.body": a stream has no body`) != refused || !refused && got != "" {
			t.Errorf("%s says %s", text, got)
		}
	}
}

func BenchmarkCheck_BrokenEndpoints(b *testing.B) {
	var text strings.Builder
	for i := range 8000 {
		fmt.Fprintf(&text, "- endpoint: {path: /p%d, response: {status: 1, body: '{{nope}}'}}\n", i)
	}
	spec := config.Parse("m.yml", []byte(text.String()))
	for b.Loop() {
		if n := len(listener.Check(spec, listener.Options{}).Errors()); n != 16000 {
			b.Fatalf("got %d errors, want 16000", n)
		}
	}
}

func TestWebSocket_WhatIsWrongIsFoundAtLoad(t *testing.T) {
	for _, c := range []struct {
		name, text string
		warning    bool
		want       string // "line:column: key: part of the error message"
	}{
		{"a bad expression", "- websocket:\n    path: /a\n    on-message:\n      - {pattern: 'say (', response: a}\n", false,
			"4:20: [0].websocket.on-message[0].pattern: the pattern is not a valid RE2 expression: missing closing )"},
		{"a bad template", "- websocket:\n    path: /a\n    on-connect: {response: 'a {{nothing}}'}\n", false, "3:33: [0].websocket.on-connect.response: unknown variable"},
		{"a bad template of a reason", "- websocket:\n    path: /a\n    close: {reason: '{{'}\n", false, "3:22: [0].websocket.close.reason:"},
		{"a bad condition", "- websocket:\n    path: /a\n    if: query-params.a =\n", false, "[0].websocket.if:"},
		{"message outside a WebSocket", "- endpoint: {path: /a, response: {body: '{{message}}'}}\n", false, "[0].endpoint.response.body: unknown variable \"message\""},
		{"one bad exchange among broken keys", "- websocket:\n    path: /a\n    pth: b\n    on-message:\n      - {pattern: '[', response: a}\n", false, "5:20: [0].websocket.on-message[0].pattern:"},
		{"a bad path", "- websocket: {path: '/:a/:a'}\n", false, "[0].websocket.path"},
		{"a pattern twice", "- websocket:\n    path: /a\n    on-message:\n      - {pattern: a, response: a}\n      - {pattern: a, response: b}\n", true,
			"5:19: [0].websocket.on-message[1].pattern: no message reaches this pattern"},
		{"a text after an expression that matches it", "- websocket:\n    path: /a\n    on-message: [{pattern: 'a+', response: a}, {pattern: aaa, response: b}]\n", true, "on-message[1].pattern: no message reaches"},
		{"anything after everything", "- websocket:\n    path: /a\n    on-message: [{pattern: '.*', response: a}, {pattern: {a: 1}, response: b}]\n", true, "on-message[1].pattern: no message reaches"},
		{"an object after a part of it", "- websocket:\n    path: /a\n    on-message: [{pattern: {a: '{{x}}'}, response: a}, {pattern: {b: 1, a: {c: 2}}, response: b}]\n", true, "on-message[1].pattern: no message reaches"},
		{"an invalid object", "- websocket:\n    path: /a\n    on-message: [{pattern: '{\"a\": 1,}', response: a}]\n", true, "looks like a JSON object"},
		{"the path of another", "- websocket:\n    path: /a/:b\n- websocket:\n    path: /a/:c\n", true, "4:5: [1].websocket: WebSocket /a/:c is never reached: shadowed by WebSocket /a/:b at mock.yml:2:5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			problems := listener.Check(config.Parse("mock.yml", []byte(c.text)), listener.Options{})
			found := problems.Errors()
			if c.warning {
				found = problems.Warnings()
				if err := problems.Err(); err != nil {
					t.Error(err)
				}
			}
			for _, p := range found {
				if strings.Contains(p.String(), c.want) {
					return
				}
			}
			t.Errorf("got %v\nwant %s", problems, c.want)
		})
	}
}

func TestWebSocket_PatternsThatAreReached(t *testing.T) {
	problems := listener.Check(config.Parse("mock.yml", []byte(`
- websocket:
    path: /a
    on-message:
      - {pattern: {a: 1, b: 2}, response: a}
      - {pattern: {a: 1}, response: a}
      - {pattern: {a: 2}, response: a}
      - {pattern: {a: "x{{y}}"}, response: a}
      - {pattern: {a: [1]}, response: a}
      - {pattern: {a: [1, 2]}, response: a}
      - {pattern: a, response: a}
      - {pattern: a+, response: a}
      - {pattern: aa|b, response: a}
      - {pattern: '.*', response: a}
- endpoint: {path: /a, response: {}}
- websocket: {path: /b, if: query-params.a = 1}
- websocket: {path: /b}
`)), listener.Options{})
	if len(problems) > 0 {
		t.Error(problems)
	}
}
