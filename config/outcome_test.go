package config

import (
	"math"
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
			{atOutcomes + "[0].wieght", `(did you mean "weight"?); expected one of weight, latency, fault, `},
			{atOutcomes + "[1].respons", "unknown key; expected one of weight"}}},
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
		{"a body behind a reset", inOutcomes("{status: 500, body: §x, fault: {type: reset}}"), one(atOutcomes+"[0].body", "is never sent: requests with the fault reset get no answer")},
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
	if f := o[3].Fault; f.BytesPerSecond != 10 || f.Rate != 0.01 || f.Key != atOutcomes+"[3].fault" {
		t.Errorf("%+v", f)
	}
	if w := o[3].Webhooks; len(w) != 1 || w[0].Method != "POST" || w[0].Key != atOutcomes+"[3].webhook" {
		t.Errorf("%+v", w)
	}
	if got := e.Answers(); len(got) != 5 || got[1].Status != 500 {
		t.Errorf("answers %+v", got)
	}
}

// withTraffic returns an endpoint made in Go with all kinds of policies.
func withTraffic() Endpoint {
	return Endpoint{
		Path: Plain("/x/:id"),
		Responses: []Outcome{
			{Weight: 2, Response: Response{Headers: Headers("X-A", "1"), Body: JSON(`{{"`), Raw: true}, Latency: &Latency{Min: time.Second}},
			{Fault: &Fault{Type: "slow-body", Rate: 0.5}, Webhooks: []Webhook{{Method: "POST", URL: Plain("http://a"), Headers: Headers("X-B", "1")}}},
			{Response: Response{External: &ExternalBody{Provider: "json", Path: Plain("a.json")}}},
		},
		Latency:   &Latency{Curve: []Percentile{{Rank: 50, Length: time.Second}}, Max: time.Minute},
		Fault:     &Fault{Type: "reset", Rated: true},
		RateLimit: &RateLimit{By: "path-params.id"},
		Capacity:  &Capacity{Concurrent: 1},
	}
}

func TestNew_CompletesTraffic(t *testing.T) {
	spec := New(withTraffic())
	if got := spec.Validate(); len(got) > 0 {
		t.Fatal(got)
	}
	e := spec.Complete().Endpoints[0]
	o := e.Responses
	if o[0].Latency.Max != time.Second || !o[0].Weighted || o[1].Weighted || !o[1].Fault.Rated || o[0].Response.Body.Value != `"{{\""` || !o[0].Response.BodyJSON {
		t.Errorf("got %+v", o)
	}
	if want := []Percentile{{Rank: 50, Length: time.Second}, {Rank: 100, Length: time.Minute}}; !reflect.DeepEqual(e.Latency.Curve, want) || e.Latency.Max != 0 {
		t.Errorf("the latency is %+v", e.Latency)
	}
	const at = atEndpoint + ".responses"
	for got, want := range map[string]string{
		o[0].Key: at + "[0]", o[0].Response.Headers[0].Value.Key: at + "[0].headers.X-A", o[0].Response.Body.Key: at + "[0].body", o[0].Latency.Key: at + "[0].latency",
		o[1].Fault.Key: at + "[1].fault", o[1].Webhooks[0].Key: at + "[1].webhooks[0]", o[1].Webhooks[0].Headers[0].Value.Key: at + "[1].webhooks[0].headers.X-B",
		o[2].Response.External.Key: at + "[2].external-body", o[2].Response.External.Path.Key: at + "[2].external-body.path",
		e.Latency.Key: atEndpoint + ".latency", e.Fault.Key: atEndpoint + ".fault", e.RateLimit.Key: atEndpoint + ".rate-limit", e.Capacity.Key: atEndpoint + ".capacity",
	} {
		if got != want {
			t.Errorf("the key is %s, want %s", got, want)
		}
	}
	if !reflect.DeepEqual(spec, New(withTraffic())) {
		t.Error("Complete changed the original")
	}
	if again := New(e).Complete().Endpoints[0]; !reflect.DeepEqual(bareEndpoints([]Endpoint{again}, true), bareEndpoints([]Endpoint{e}, true)) {
		t.Errorf("completing it again gives\n%+v\nwant\n%+v", again, e)
	}
}

func TestNew_SharesNoTrafficWithWhatItIsGiven(t *testing.T) {
	given := withTraffic()
	spec := New(given)
	o := given.Responses
	o[0].Response.Headers[0].Name, o[0].Latency.Min, o[1].Fault.Rate, o[1].Webhooks[0].Headers[0].Name = "X-C", 5, 0, "X-C"
	o[2].Response.External.Path, o[2].Weight = Plain("b"), 9
	given.Latency.Curve[0].Rank, given.Fault.Type, given.RateLimit.Max, given.Capacity.Queue = 1, "empty", 5, 5
	if !reflect.DeepEqual(spec, New(withTraffic())) {
		t.Errorf("got %+v", spec.Endpoints[0])
	}
}

func TestNew_FindsMistakesOfTraffic(t *testing.T) {
	for name, c := range map[string]struct {
		change func(e *Endpoint)
		want   string
	}{
		"response and responses":   {func(e *Endpoint) { e.Response.Status = 200 }, "responses: GET /x/:id: response and responses are both given"},
		"select without responses": {func(e *Endpoint) { e.Responses, e.Select = nil, SelectSequence }, "select: GET /x/:id: select requires responses"},
		"an unknown select":        {func(e *Endpoint) { e.Select = "sequense" }, `select: GET /x/:id: is "sequense" (did you mean "sequence"?)`},
		"a weight below 0":         {func(e *Endpoint) { e.Responses[1].Weight = -1 }, "responses[1].weight: GET /x/:id: is -1; expected a number from 0"},
		"a weight that is none":    {func(e *Endpoint) { e.Responses[1].Weight = math.NaN() }, "responses[1].weight: GET /x/:id: is NaN"},
		"an endless weight":        {func(e *Endpoint) { e.Responses[1].Weight = math.Inf(1) }, "responses[1].weight: GET /x/:id: is +Inf"},
		"weights all zero":         {func(e *Endpoint) { e.Responses = []Outcome{{Weighted: true}} }, "responses: GET /x/:id: all weights are 0"},
		"a status":                 {func(e *Endpoint) { e.Responses[1].Response.Status = 99 }, "responses[1].status: GET /x/:id: is 99"},
		"a body JSON cannot say":   {func(e *Endpoint) { e.Responses[1].Response.Body = JSON(math.NaN()) }, "responses[1].body: GET /x/:id: the value cannot be written as JSON"},
		"a webhook":                {func(e *Endpoint) { e.Responses[1].Webhooks[0].Method = "post" }, `responses[1].webhooks[0].method: GET /x/:id: is "post" (did you mean "POST"?)`},
		"an unknown fault":         {func(e *Endpoint) { e.Fault.Type = "rest" }, `fault.type: GET /x/:id: is "rest" (did you mean "reset"?)`},
		"a rate above 1":           {func(e *Endpoint) { e.Fault.Rate = 1.5 }, "fault.rate: GET /x/:id: is 1.5; expected a number from 0 to 1"},
		"bytes of another fault":   {func(e *Endpoint) { e.Fault.BytesPerSecond = 5 }, "fault.bytes-per-second: GET /x/:id: bytes-per-second applies only to the fault slow-body; this one is reset"},
		"bytes below 0":            {func(e *Endpoint) { e.Responses[1].Fault.BytesPerSecond = -5 }, "responses[1].fault.bytes-per-second: GET /x/:id: is -5"},
		"of for another fault":     {func(e *Endpoint) { e.Fault = &Fault{Type: "truncate", Of: OfStream} }, "fault.of: GET /x/:id: of applies only to the fault reset; this one is truncate"},
		"of what is not known":     {func(e *Endpoint) { e.Fault.Of = "streams" }, `fault.of: GET /x/:id: is "streams" (did you mean "stream"?)`},
		"two forms":                {func(e *Endpoint) { e.Latency.Median = 5 }, "latency.median: GET /x/:id: p50 and median belong to different forms"},
		"two other forms":          {func(e *Endpoint) { e.Latency = &Latency{Min: 1, Sigma: 1} }, "latency.median: GET /x/:id: min and median belong to different forms"},
		"max below min":            {func(e *Endpoint) { e.Latency = &Latency{Min: 2, Max: 1} }, "latency.max: GET /x/:id: max (1ns) is below min (2ns)"},
		"min below 0":              {func(e *Endpoint) { e.Latency = &Latency{Min: -2} }, "latency.min: GET /x/:id: is -2ns; expected a duration of at most 24h"},
		"a max too long":           {func(e *Endpoint) { e.Latency = &Latency{Max: 25 * time.Hour} }, "latency.max: GET /x/:id: is 25h0m0s"},
		"max below the curve":      {func(e *Endpoint) { e.Latency.Max = 1 }, "latency.p100: GET /x/:id: p100 (1ns) is below p50 (1s)"},
		"min above the curve":      {func(e *Endpoint) { e.Latency.Min = 2 * time.Second }, "latency.p50: GET /x/:id: p50 (1s) is below min (2s)"},
		"max and p100":             {func(e *Endpoint) { e.Latency.Curve[0].Rank = 100 }, "latency.max: GET /x/:id: p100 and max are both given"},
		"a rank of 0":              {func(e *Endpoint) { e.Latency.Curve[0].Rank = 0 }, "latency.p0: GET /x/:id: the percentile is 0; expected more than 0 and at most 100"},
		"a rank that is none":      {func(e *Endpoint) { e.Latency.Curve[0].Rank = math.NaN() }, "latency.pNaN: GET /x/:id: the percentile is NaN"},
		"ranks that fall":          {func(e *Endpoint) { e.Latency.Curve = []Percentile{{Rank: 90, Length: 1}, {Rank: 50, Length: 1}} }, "latency.p50: GET /x/:id: the percentile is 50; expected more than 90"},
		"a length below 0":         {func(e *Endpoint) { e.Latency.Curve[0].Length = -1 }, "latency.p50: GET /x/:id: is -1ns"},
		"a sigma alone":            {func(e *Endpoint) { e.Latency = &Latency{Sigma: 1} }, "latency.median: GET /x/:id: median is missing"},
		"a sigma below 0":          {func(e *Endpoint) { e.Latency = &Latency{Median: 1, Sigma: -1} }, "latency.sigma: GET /x/:id: is -1; expected a number from 0 to 10"},
		"a sigma that is none":     {func(e *Endpoint) { e.Latency = &Latency{Median: 1, Sigma: math.NaN()} }, "latency.sigma: GET /x/:id: is NaN"},
		"rates above 1 together":   {func(e *Endpoint) { e.Latency = &Latency{FailureRate: 0.5, TimeoutRate: 0.75} }, "latency.timeout-rate: GET /x/:id: failure-rate and timeout-rate add up to 1.25"},
		"a failure rate below 0":   {func(e *Endpoint) { e.Latency = &Latency{FailureRate: -0.5} }, "latency.failure-rate: GET /x/:id: is -0.5"},
		"a timeout below 0":        {func(e *Endpoint) { e.Latency = &Latency{Timeout: -1} }, "latency.timeout: GET /x/:id: is -1ns"},
		"a window below 0":         {func(e *Endpoint) { e.RateLimit.Window = -1 }, "rate-limit.window: GET /x/:id: is -1ns"},
		"requests below 0":         {func(e *Endpoint) { e.RateLimit.Max = -1 }, "rate-limit.max-requests: GET /x/:id: is -1"},
		"an unknown algorithm":     {func(e *Endpoint) { e.RateLimit.Algorithm = "bucket" }, `rate-limit.algorithm: GET /x/:id: is "bucket"; expected one of sliding-window`},
		"a key of no parameter":    {func(e *Endpoint) { e.RateLimit.By = "path-params.ID" }, `rate-limit.key-fn: GET /x/:id: the path has no parameter "ID" (did you mean "id"?); it has id`},
		"none at once":             {func(e *Endpoint) { e.Capacity.Concurrent = 0 }, "capacity.concurrent: GET /x/:id: is 0; expected an integer from 1 to 1000000"},
		"a queue below 0":          {func(e *Endpoint) { e.Capacity.Queue = -1 }, "capacity.queue: GET /x/:id: is -1; expected an integer from 0 to 1000000"},
	} {
		e := withTraffic()
		c.change(&e)
		if got := New(e).Validate(); len(got) != 1 || got[0].Warning || !strings.HasPrefix(got[0].String(), "[0].endpoint."+c.want) {
			t.Errorf("%s: got %v, want %s", name, got, c.want)
		}
	}
}
