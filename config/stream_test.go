package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mockserver/internal/files"
)

const atStream = atResponse + ".stream"

// streamed returns an endpoint with a stream of the given items, one per line, and other keys of its response.
func streamed(keys string, items ...string) string {
	return "- endpoint:\n    path: /x\n    response:\n" + keys + "      stream:\n      - " + strings.Join(items, "\n      - ") + "\n"
}

func beside(keys string) string { return "      " + keys + "\n" }

// faulty returns an endpoint with a stream of an event, and a fault with the given keys.
func faulty(keys string) string { return streamed("", "data: x") + "    fault: {" + keys + "}\n" }

const paced = "      pace: {gap: 5ms}\n"

func TestMistakesOfStreams(t *testing.T) {
	testMistakes(t, "f.yml", []mistake{
		{"no items", "- endpoint: {path: /x, response: {stream: §[]}}\n", one(atStream, "is an empty list; expected at least one item")},
		{"a map", "- endpoint: {path: /x, response: {stream: §{data: x}}}\n", one(atStream, "is a map; expected a list of items, each a map")},
		{"an item that is a text", streamed("", "§x"), one(atStream+"[0]", `is a text ("x"); expected a map`)},
		{"a misspelt key", streamed("", "{§dta: x}"), one(atStream+"[0].dta", `unknown key (did you mean "data"?); expected one of data, `)},
		{"an item without content", streamed("", "§{if: 1 = 1}"), one(atStream+"[0]", "sends nothing; expected data, line, body, base64, file, comment or items")},
		{"two contents", streamed("", "{data: x, body: §y}", "{line: §x, data: y}"), []complaint{{atStream + "[0].body", "data and body are both given"}, {atStream + "[1].line", "data and line are both given"}}},
		{"an event that is none", streamed("", "{line: x, event: §e}"), one(atStream+"[0].event", "event is a part of an event, and line is none")},
		{"events and lines", streamed("", "data: x", "line: §y"), one(atStream+"[1].line", "the stream has events and other content")},
		{"a piece and a comment", streamed("", "body: x", "comment: §y"), one(atStream+"[1].comment", "the stream has events and other content")},
		{"base64 that is none", streamed("", "base64: '§*'"), one(atStream+"[0].base64", "expected base64 text")},
		{"a retry", streamed("", "{data: x, retry: §soon}"), one(atStream+"[0].retry", `is "soon"; expected a number of milliseconds, or a duration such as 3s`)},
		{"a separator of no line", streamed("", "{data: x, separator: §rs}"), one(atStream+"[0].separator", "is for lines; expected it with line")},
		{"an unknown separator", streamed("", "{line: x, separator: §lf}"), one(atStream+"[0].separator", "expected rs")},
		{"a file that does not exist", streamed("", "file: §none.txt"), one(atStream+"[0].file", "none.txt: ")},
		{"parts of no file", streamed("", "{data: x, split: §lines}", "{data: x, as: §data}"), []complaint{{atStream + "[0].split", "is for a file; file is missing"}, {atStream + "[1].as", "is for a file"}}},
		{"an unknown split", streamed("", "{file: stream_test.go, split: §line}"), one(atStream+"[0].split", "expected lines, words, or a number of bytes")},
		{"for and times", streamed("", "{data: x, for: y in json-params, times: §2}"), one(atStream+"[0].times", "for and times are both given; expected one of them; for both, put the item into a group: items")},
		{"times", streamed("", "{data: x, times: §-1}", "{data: x, times: §1.5}", "{data: x, times: §10000001}"), []complaint{
			{atStream + "[0].times", "expected a whole number from 0 to 10000000"}, {atStream + "[1].times", "is a number (1.5)"}, {atStream + "[2].times", "is a number (10000001)"}}},
		{"forever without a pause", streamed("", "{data: x, times: §forever}"), one(atStream+"[0].times", "forever sends without a pause; expected a gap above 0 in pace, or after")},
		{"forever in a write with others", streamed(paced, "{data: x, with: previous, times: §forever}"), one(atStream+"[0].times", "forever sends without a pause")},
		{"forever with a gap of 0", streamed(beside("pace: {gap: 0}"), "{times: §forever, items: [{data: x, after: 0}]}"), one(atStream+"[0].times", "forever sends without a pause")},
		{"a group that waits", streamed("", "{items: [{data: x}], after: §1s}", "{items: [{data: x}], with: §next}"), []complaint{{atStream + "[0].after", "is for one item; expected it with an item of the group"}, {atStream + "[1].with", "is for one item"}}},
		{"an event of a group", streamed("", "{items: [{data: x}], event: §e}"), one(atStream+"[0].event", "event is a part of an event, and items is none")},
		{"mistakes in a group", streamed("", "items: [{items: [{data: x, with: §both}]}]"), one(atStream+"[0].items[0].items[0].with", "expected next or previous")},
		{"groups nested too deep", streamed("", strings.Repeat("{items: [", 8)+"{items: §[{data: x}]}"+strings.Repeat("]}", 8)), one(atStream+"[0]"+strings.Repeat(".items[0]", 8)+".items", "groups are nested more than 8 deep")},
		{"an empty group", streamed("", "items: §[]"), one(atStream+"[0].items", "is an empty list; expected at least one item")},
		{"after and with", streamed("", "{data: x, after: §1s, with: next}"), one(atStream+"[0].after", "with and after are both given")},
		{"a body", "- endpoint: {path: /x, response: {body: x, stream: §[{data: x}]}}\n", one(atStream, "body and stream are both given")},
		{"an external body", "- endpoint: {path: /x, response: {external-body: {provider: json, path: a.json}, stream: §[{data: x}]}}\n", one(atStream, "external-body and stream are both given")},
		{"a proxy", "- upstream: {name: u, url: 'http://a'}\n- endpoint: {path: /x, response: {proxy: u, stream: §[{data: x}]}}\n", one("[1].endpoint.response.stream", "proxy and stream are both given")},
		{"a status without a body", "- endpoint: {path: /x, response: {status: 204, stream: §[{data: x}]}}\n- endpoint: {path: /y, response: {status: 304, stream: §[{data: x}]}}\n", []complaint{
			{atStream, "an answer with status 204 has no body; expected another status"}, {"[1].endpoint.response.stream", "status 304"}}},
		{"an answer to a change that is not possible", "- data: {name: d}\n- endpoint: {path: /x, do: [{delete: {in: d, key: '1', else: {stream: §[{data: x}]}}}], response: {}}\n",
			one("[1].endpoint.do[0].delete.else.stream", "is not possible here; expected a body")},
		{"keys of no stream", "- endpoint: {path: /x, response: {pace: §{gap: 1s}, heartbeat: §1s, max-duration: §1s, resume: §false}}\n", []complaint{
			{atResponse + ".pace", "is for a stream; stream is missing"}, {atResponse + ".heartbeat", "is for a stream"}, {atResponse + ".max-duration", "is for a stream"}, {atResponse + ".resume", "is for a stream"}}},
		{"an empty pace", streamed(beside("pace: §{}"), "data: x"), one(atResponse+".pace", "is an empty map; expected first, gap, shared or from")},
		{"a gap without a unit", streamed(beside("pace: {gap: §5}"), "data: x"), one(atResponse+".pace.gap", "expected a duration with a unit, such as 20ms or 1.5s")},
		{"rates", streamed(beside("pace: {first: {p50: 1s, §failure-rate: 0.1}, gap: {§timeout-rate: 0.1, min: 1s}}"), "{data: x, after: {min: 1s, §failure-rate: 0.1}}"), []complaint{
			{atResponse + ".pace.first.failure-rate", "docs/stream-times.md"}, {atResponse + ".pace.gap.timeout-rate", "unknown key"}, {atStream + "[0].after.failure-rate", "unknown key"}}},
		{"percentiles that fall", streamed(beside("pace: {gap: {p50: 2s, p99: §1s}}"), "{data: x, after: {p50: 2s, p99: §1s}}"), []complaint{
			{atResponse + ".pace.gap.p99", "p99 (1s) is below p50 (2s)"}, {atStream + "[0].after.p99", "p99 (1s) is below p50 (2s)"}}},
		{"a shared rate", streamed(beside("pace: {shared: §fast}"), "data: x"), one(atResponse+".pace.shared", "expected a number of items in a time, such as 200/s or 20000/m")},
		{"a shared rate of 0", streamed(beside("pace: {shared: §0/s}"), "data: x"), one(atResponse+".pace.shared", "expected a number of items in a time")},
		{"head", streamed(beside("pace: {head: §now}"), "data: x"), one(atResponse+".pace.head", "expected at-once")},
		{"first and latency", streamed(beside("pace: {first: §1s}"), "data: x") + "    latency: {min: 1s}\n", one(atResponse+".pace.first", "first and the latency both say when the answer begins")},
		{"first and the latency of an outcome", "- endpoint:\n    path: /x\n    responses: [{stream: [{data: x}], pace: {first: §1s}, latency: {min: 1s}}]\n", one(atOutcomes+"[0].pace.first", "first and the latency both say")},
		{"from and gap", streamed(beside("pace: {from: testdata/pace.csv, unit: ms, gap: §1s}"), "data: x"), one(atResponse+".pace.gap", "from and gap are both given")},
		{"measured paces that do not exist", streamed(beside("pace: {from: §none.csv}"), "data: x"), one(atResponse+".pace.from", "there is no such file")},
		{"a file of paces that does not exist", "- endpoint: {path: /x, response: {pace: {gap: {from: §none.csv}}, stream: [{data: x}]}}\n", one(atResponse+".pace.gap.from", "there is no such file")},
		{"a heartbeat of lines", streamed(beside("heartbeat: §1s"), "line: x"), one(atResponse+".heartbeat", "no item of the stream is an event")},
		{"after of a fault", faulty("type: stall, after: §soon"), one(atEndpoint+".fault.after", "expected 12 items, 40% or a duration such as 3s")},
		{"after more than all", faulty("type: stall, after: §101%"), one(atEndpoint+".fault.after", "expected 12 items, 40% or a duration")},
		{"after of another fault", faulty("type: empty, after: §3s"), one(atEndpoint+".fault.after", "after applies only to the fault reset, malformed, truncate, stall, error; this one is empty")},
		{"an error without an item", "- endpoint: {path: /x, response: {stream: [{data: x}]}, fault: §{type: error}}\n", one(atEndpoint+".fault", "item is missing; expected the item that the fault error sends")},
		{"an item of another fault", faulty("type: stall, item: §{data: x}"), one(atEndpoint+".fault.item", "item applies only to the fault error; this one is stall")},
		{"an item of an error", faulty("type: error, item: {§times: 2, data: x}"), one(atEndpoint+".fault.item.times", "unknown key; expected one of data, event")},
		{"an item of another form", faulty("type: error, item: {line: §x}"), one(atEndpoint+".fault.item.line", "the stream has events and other content; expected only one of them")},
		{"an item without content", faulty("type: error, item: §{}"), one(atEndpoint+".fault.item", "sends nothing; expected data, line, body, base64 or comment")},
		{"a fault of streams for another answer", "- endpoint:\n    path: /x\n    responses: [{stream: [{data: x}]}, {body: x, fault: {type: §stall}}]\n    fault: {type: stall}\n", one(atOutcomes+"[1].fault.type", "is for a stream; expected a response with stream or proxy")},
		{"a cut without a rate", streamed(beside("cut: §{pause: 1s}"), "data: x"), one(atResponse+".cut", "rate is missing")},
		{"a heartbeat of 0", streamed(beside("heartbeat: §0"), "data: x"), one(atResponse+".heartbeat", "expected a duration above 0")},
	})
}

func TestWarningsOfStreams(t *testing.T) {
	for _, c := range []mistake{
		{"no mistake", streamed(paced, "{event: e, data: x, id: 1}", "{comment: c}", "retry: 3s", "{data: x, after: {p50: 1s, p99: 2s}}", "{times: forever, items: [{data: x}, {data: y, with: previous}]}"), nil},
		{"latency of rates only", streamed(beside("pace: {first: 1s}"), "data: x") + "    latency: {failure-rate: 0.1}\n", nil},
		{"first and latency, with the head at once", streamed(beside("pace: {first: 1s, head: at-once}"), "data: x") + "    latency: {min: 1s}\n", nil},
		{"forever with a shared rate", streamed(beside("pace: {shared: 20/m}"), "{data: x, times: forever}"), nil},
		{"faults", faulty("type: error, after: 1.5%, item: {data: {a: 1}, event: '{{path}}'}") + faulty("type: slow-body, bytes-per-second: {p1: 4KiB, p50: 64 KB}"), nil},
		{"a webhook of a stream without an end", streamed(paced, "{items: [{data: x}], times: forever}") + "    webhooks: [{url: 'http://a', at: start}, §{url: 'http://a'}]\n",
			one(atEndpoint+".webhooks[1]", "is sent when the stream has ended, and it has no end of its own; expected at: start")},
		{"webhooks of other streams", "- endpoint:\n    path: /x\n    webhook: {url: 'http://a'}\n    responses:\n    - {stream: [{data: x}], pace: {gap: 1s}}\n" +
			"    - {stream: [{data: x, times: forever}], pace: {gap: 1s}, webhooks: []}\n    - {body: x}\n", nil},
		{"lines and pieces", streamed("", "line: x", "body: y"), nil},
		{"an event without data", streamed("", "event: §e"), one(atStream+"[0].event", "clients do not see an event without data; expected data")},
		{"something after what may be left out", streamed(paced, "{if: method = POST, items: [{data: x, times: forever}]}", "{for: y in json-params, items: [{data: x, times: forever}]}", "data: y"), nil},
		{"something after forever", streamed(paced, "{items: [{data: x, times: forever}, §{data: y}]}", "§{data: y}"), []complaint{
			{atStream + "[0].items[1]", "is never sent: the item before it has no end"}, {atStream + "[1]", "is never sent"}}},
	} {
		text, places := marked("f.yml", c.text)
		spec := Parse("f.yml", []byte(text))
		if err := spec.Problems.Err(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		expect(t, spec.Problems.Warnings(), places, c.want)
	}
}

// The files of a stream are watched, as they are read when the configuration is.
func TestStreams_FilesAreWatched(t *testing.T) {
	spec := Parse("f.yml", []byte(streamed(beside("pace: {from: testdata/pace.csv, unit: ms}"), "file: stream_test.go")))
	if err := spec.Problems.Err(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"stream_test.go", filepath.Join("testdata", "pace.csv")} {
		if got := spec.Referenced(); !slices.Contains(got, files.Absolute(name)) {
			t.Errorf("%s is not in %q", name, got)
		}
	}
}
