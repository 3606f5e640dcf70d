package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// inOutcomes returns an endpoint with outcomes, one per line.
func inOutcomes(lines ...string) string {
	return "- endpoint:\n    path: /x\n    responses:\n    - " + strings.Join(lines, "\n    - ") + "\n"
}

const atOutcomes = atEndpoint + ".responses"

func TestMistakesOfOutcomes(t *testing.T) {
	testMistakes(t, "f.yml", []mistake{
		{"neither response nor responses", "- endpoint:\n    §path: /x\n", one(atEndpoint, "response is missing: the answer; {} is an empty one with status 200; or responses")},
		{"both of them", "- endpoint:\n    path: /x\n    responses: §[{}]\n    response: {}\n", one(atOutcomes, "response and responses are both given; expected one of them")},
		{"responses that are misspelt", "- endpoint:\n    path: /x\n    §respones: [{}]\n", one(atEndpoint+".respones", `(did you mean "response"?)`)},
		{"a map for responses", "- endpoint:\n    path: /x\n    responses: §{status: 200}\n", one(atOutcomes, "is a map; expected a list of answers")},
		{"an empty list", "- endpoint:\n    path: /x\n    responses: §[]\n    select: sequence\n", one(atOutcomes, "is an empty list; expected at least one answer")},
		{"outcomes that are none", inOutcomes("§5", "§[]", "status: 200", "§~"), []complaint{
			{atOutcomes + "[0]", "is a number (5); expected a map"}, {atOutcomes + "[1]", "is a list"}, {atOutcomes + "[3]", "is null"}}},
		{"a misspelt key", inOutcomes("§wieght: 1", "§respons: {}"), []complaint{
			{atOutcomes + "[0].wieght", `(did you mean "weight"?); expected one of weight, … `},
			{atOutcomes + "[1].respons", "unknown key; expected one of weight, latency, fault, webhook, webhooks, … "}}},
		{"weights that are none", inOutcomes("weight: §-1", "weight: §.nan", "weight: §.inf", "weight: §heavy", "weight: §1000000001", "weight: §5%"), []complaint{
			{atOutcomes + "[0].weight", "is a number (-1); expected a number from 0 to 1000000000"}, {atOutcomes + "[1].weight", "(.nan)"}, {atOutcomes + "[2].weight", "(.inf)"},
			{atOutcomes + "[3].weight", `a text ("heavy")`}, {atOutcomes + "[4].weight", "a number (1000000001)"}, {atOutcomes + "[5].weight", `a text ("5%")`}}},
		{"weights all zero", "- endpoint:\n    path: /x\n    responses:\n    §- {weight: 0}\n    - weight: 0.0\n", one(atOutcomes, "all weights are 0; at least one must be above 0")},
		{"select without responses", withKeys("select: §weighted"), one(atEndpoint+".select", "select requires responses")},
		{"a misspelt select", inOutcomes("{}") + "    select: §sequence-hol\n", one(atEndpoint+".select", `(did you mean "sequence-hold"?); expected one of weighted, sequence, sequence-hold`)},
		{"an empty select", inOutcomes("{}") + "    select: '§'\n", one(atEndpoint+".select", "one of weighted")},
		{"what is wrong with responses, in each", inOutcomes("status: §99", "{body: x, external-body: §{provider: json, path: a.json}}",
			"external-body: §{provider: xlsx, path: a.xlsx}", "headers: {X-A: 1, §x-a: 2}", "external-body: {provider: json, path: a.json, ttl: §1s}", `headers: {X-B: §"a\n"}`, "headers: {Content-Type: §[a/b, c/d]}"), []complaint{
			{atOutcomes + "[0].status", "200 to 599"}, {atOutcomes + "[1].external-body", "body and external-body are both given"},
			{atOutcomes + "[2].external-body.sheet-name", "sheet-name is missing"}, {atOutcomes + "[3].headers.x-a", "the same header"},
			{atOutcomes + "[4].external-body.ttl", "this path is a file"}, {atOutcomes + "[5].headers.X-B", "control character"},
			{atOutcomes + "[6].headers.Content-Type", "has several values; expected one"}}},
		{"what is wrong with their webhooks", inOutcomes("webhook: §{method: GET}", "webhooks: [{method: GET, url: 'http://a'}, {method: GET, url: §ftp://b}]",
			"{webhook: {method: GET, url: 'http://a'}, webhooks: §[{method: §GTE, url: 'http://a'}]}"), []complaint{
			{atOutcomes + "[0].webhook", "url is missing"}, {atOutcomes + "[1].webhooks[1].url", "does not begin with http"},
			{atOutcomes + "[2].webhooks", "webhook and webhooks are both given"}, {atOutcomes + "[2].webhooks[0].method", `did you mean "GET"?`}}},
		{"what is wrong with their latencies", inOutcomes("latency: {min-ms: 5, max-ms: §2}", "latency: {p50: 20ms, p99: §10ms}", "latency: §{}"), []complaint{
			{atOutcomes + "[0].latency.max-ms", "is below min-ms"}, {atOutcomes + "[1].latency.p99", "p99 (10ms) is below p50 (20ms)"}, {atOutcomes + "[2].latency", "is an empty map"}}},
		{"what is wrong with their faults", inOutcomes("fault: {type: §rest}", "fault: {type: truncate, bytes-per-second: §5}", "fault: §{rate: 1}"), []complaint{
			{atOutcomes + "[0].fault.type", `(did you mean "reset"?)`}, {atOutcomes + "[1].fault.bytes-per-second", "applies only to the fault slow-body; this one is truncate"},
			{atOutcomes + "[2].fault", "type is missing"}}},
	})
}

func TestMistakesOfFaults(t *testing.T) {
	const at = atEndpoint + ".fault"
	testMistakes(t, "f.yml", []mistake{
		{"a text", withKeys("fault: §reset"), one(at, `is a text ("reset"); expected a map with type and rate`)},
		{"nothing in it", withKeys("fault: §{}"), one(at, "type is missing: what goes wrong: one of reset, empty, malformed, truncate, slow-body")},
		{"an unknown fault", withKeys("fault: {type: §explode}"), one(at+".type", `is a text ("explode"); expected one of reset, empty, malformed, truncate, slow-body`)},
		{"a misspelt fault", withKeys("fault: {type: §slowbody}"), one(at+".type", `(did you mean "slow-body"?)`)},
		{"a misspelt key", withKeys("fault: {type: reset, §rat: 1}"), one(at+".rat", `(did you mean "rate"?); expected one of type, rate, bytes-per-second`)},
		{"rates that are none", withKeys("fault: {type: reset, rate: §1.5}"), one(at+".rate", "a number from 0 to 1")},
		{"a rate below 0", withKeys("fault: {type: reset, rate: §-0.5}"), one(at+".rate", "is a number (-0.5)")},
		{"of for another fault", withKeys("fault: {of: §connection, type: truncate}"), one(at+".of", "of applies only to the fault reset; this one is truncate")},
		{"bytes of another fault", withKeys("fault: {bytes-per-second: §1024, type: reset}"), one(at+".bytes-per-second", "applies only to the fault slow-body; this one is reset")},
		{"no bytes a second", withKeys("fault: {type: slow-body, bytes-per-second: §0}"), one(at+".bytes-per-second", "is a number (0); expected an integer from 1 to 1000000000")},
		{"a size that is none", withKeys("fault: {type: slow-body, bytes-per-second: §fast}"), one(at+".bytes-per-second", "a size such as 64KiB, or a map of percentiles such as p1 and p50")},
		{"too many bytes a second", withKeys("fault: {type: slow-body, bytes-per-second: §2GB}"), one(at+".bytes-per-second", "expected an integer from 1 to 1000000000")},
		{"a distribution of nothing", withKeys("fault: {type: slow-body, bytes-per-second: §{}}"), one(at+".bytes-per-second", "is an empty map; expected percentiles such as p1 and p50, or min and max")},
		{"speeds that fall", withKeys("fault: {type: slow-body, bytes-per-second: {p1: 64KiB, p50: §4KiB}}"), one(at+".bytes-per-second.p50", "p50 (4096) is below p1 (65536)")},
		{"a maximum below the minimum", withKeys("fault: {type: slow-body, bytes-per-second: {min: 2, max: §1}}"), one(at+".bytes-per-second.max", "max (1) is below min (2)")},
		{"a speed of 0", withKeys("fault: {type: slow-body, bytes-per-second: {p50: §0, p99: §9GB}}"), []complaint{{at + ".bytes-per-second.p50", "expected a number of bytes above 0"}, {at + ".bytes-per-second.p99", "a number of bytes above 0"}}},
		{"after without a stream", withKeys("fault: {type: reset, after: §3s}"), one(at+".after", "is for a stream; expected a response with stream or proxy")},
		{"a fault of streams without one", withKeys("fault: {type: §stall}"), one(at+".type", "is for a stream; expected a response with stream or proxy")},
		{"part of a byte", withKeys("fault: {type: slow-body, bytes-per-second: §0.5}"), one(at+".bytes-per-second", "an integer from 1")},
	})
}

func TestWarningsOfOutcomes(t *testing.T) {
	for _, c := range []mistake{
		{"weights in turn", inOutcomes("weight: §2", "weight: 3") + "    select: sequence\n", one(atOutcomes+"[0].weight", "has no effect: with select sequence the answers come in turn")},
		{"a weight of 0 in turn", inOutcomes("{}", "weight: §0") + "    select: sequence-hold\n", one(atOutcomes+"[1].weight", "has no effect: with select sequence-hold")},
		{"a body with status 204", inOutcomes("{}", "{status: 204, body: §x}"), one(atOutcomes+"[1].body", "status 204 has no body")},
		{"an external body with status 304", inOutcomes("{status: 304, external-body: §{provider: json, path: a}}"), one(atOutcomes+"[0].external-body", "status 304 has no body")},
		{"a body that is nearly JSON", inOutcomes("body: '{\"a\": §}'"), one(atOutcomes+"[0].body", "looks like JSON")},
		{"headers of the server", inOutcomes("headers: {§Date: x}"), one(atOutcomes+"[0].headers.Date", "is left out")},
		{"a body behind a reset", inOutcomes("{status: §500, body: x, fault: {type: reset}}"), one(atOutcomes+"[0].status", "is never sent: requests with the fault reset get no answer")},
		{"an answer behind the fault of its endpoint", inOutcomes("{status: §500}", "{status: 500, fault: {type: truncate}}", "{}") + "    fault: {type: empty}\n",
			one(atOutcomes+"[0].status", "is never sent: requests with the fault empty")},
		{"headers behind a reset", "- endpoint: {path: /x, response: {headers: §{X-A: 1}}, fault: {type: reset, rate: 100%}}\n", one(atResponse+".headers", "is never sent")},
		{"a reset now and then", inOutcomes("{status: 500, body: x, fault: {type: reset, rate: 0.99}}"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, places := marked("f.yml", c.text)
			spec := Parse("f.yml", []byte(text))
			expect(t, spec.Problems, places, c.want)
			if len(spec.Endpoints) != 1 || len(spec.Problems.Warnings()) != len(spec.Problems) {
				t.Fatalf("%d endpoints, %v", len(spec.Endpoints), spec.Problems)
			}
			for _, o := range spec.Endpoints[0].Responses {
				if len(o.Response.Headers) > 0 {
					t.Errorf("headers of the server are kept: %v", o.Response.Headers)
				}
			}
		})
	}
}

// A value that is already reported as invalid is not reported again by rules across keys.
func TestOneMistakeOfTrafficIsSaidOnce(t *testing.T) {
	testMistakes(t, "f.yml", []mistake{
		{"weights", inOutcomes("weight: §-1", "weight: 0"), one(atOutcomes+"[0].weight", "a number from 0")},
		{"percentiles", withKeys("latency: {p50: §soon, median: 1s}"), one(atLatency+".p50", "a duration")},
		{"a median", withKeys("latency: {median: §0s, sigma: 1}"), one(atLatency+".median", "a duration above 0")},
		{"a fault", withKeys("fault: {type: §x, bytes-per-second: 5}"), one(atEndpoint+".fault.type", "one of reset")},
		{"a capacity", withKeys("capacity: {concurrent: §0}"), one(atEndpoint+".capacity.concurrent", "an integer from 1")},
	})
}

func TestWhatOutcomesMayHold(t *testing.T) {
	e := only(t, "f.yml", `- endpoint:
    path: /x
    responses:
      - {weight: 95, status: 200, headers: {X-A: [1, 2]}, body: "ok {{path}}"}
      - {weight: 2.5, status: 500, webhooks: []}
      - {status: 201, body: {a: '{{x}}"'}, template: false, latency: {min-ms: 2000}}
      - {weight: 0, fault: {type: slow-body, rate: 1%, bytes-per-second: 10}, webhook: {method: post, url: "http://a"}}
      - {}
    select: weighted
    latency: {p50: 20ms}
    fault: {type: truncate, rate: 0}
`)
	if e.Select != SelectWeighted || len(e.Responses) != 5 || e.Response.Pos.Line != 0 || e.Latency.Curve[0].Length != 20*time.Millisecond {
		t.Fatalf("got %+v", e)
	}
	if f := e.Fault; f.Type != "truncate" || !f.Rated || f.EffectiveRate() != 0 {
		t.Errorf("the fault is %+v", f)
	}
	var weights []float64
	for i, o := range e.Responses {
		weights = append(weights, o.EffectiveWeight())
		if want := atOutcomes + "[" + string(rune('0'+i)) + "]"; o.Key != want || o.Response.Pos.Line != 4+i {
			t.Errorf("%s at %v, want %s", o.Key, o.Response.Pos, want)
		}
	}
	if !reflect.DeepEqual(weights, []float64{95, 2.5, 1, 0, 1}) {
		t.Errorf("weights %v", weights)
	}
	o := e.Responses
	if r := o[0].Response; r.Status != 200 || r.Body.Value != "ok {{path}}" || r.Body.Key != atOutcomes+"[0].body" || len(r.Headers) != 2 ||
		r.Headers[1].Value.Key != atOutcomes+"[0].headers.X-A[1]" || r.Body.At(3).Column != 69 {
		t.Errorf("%+v, %v", r, r.Body.At(3))
	}
	if o[0].Webhooks != nil || o[1].Webhooks == nil || len(o[1].Webhooks) > 0 || o[0].Latency != nil || o[0].Fault != nil {
		t.Error("want the keys of the endpoint where they are left out, and none for []")
	}
	if r := o[2].Response; r.Body.Value != `{"a":"{{x}}\""}` || !r.BodyJSON || !r.Raw || o[2].Latency.Max != 2*time.Second {
		t.Errorf("%+v %+v", r, o[2].Latency)
	}
	if f := o[3].Fault; f.BytesPerSecond != 10 || f.Rate != 0.01 {
		t.Errorf("%+v", f)
	}
	if w := o[3].Webhooks; len(w) != 1 || w[0].Method != "POST" || w[0].Key != atOutcomes+"[3].webhook" {
		t.Errorf("%+v", w)
	}
	if got := e.AllResponses(); len(got) != 5 || got[1].Status != 500 {
		t.Errorf("answers %+v", got)
	}
}
