package config

import (
	"fmt"
	"slices"
	"strings"

	"mockserver/internal/wording"
)

// foreign is a group of names that other tools use for a key of the configuration, or of keys that
// people write in the wrong place.
type foreign struct {
	words string   // in lower case, without - and _
	ours  []string // the keys that are meant, as key or parent.key; the first possible one counts
	value string   // what to suggest as the value; "" if that is obvious
}

// foreigns are words of WireMock, MockServer, Mockoon, mountebank, json-server, Smocker and HTTP
// libraries, and keys of the configuration that are often placed one map too high.
var foreigns = []foreign{
	{words: "delay delayms delaymilliseconds delaydistribution fixeddelay fixeddelaymilliseconds responsedelay responsetime sleep sleepms wait latency",
		ours: []string{"endpoint.latency", "sleep-time", "after", "min"}},
	{words: "statuscode httpstatus httpstatuscode responsecode responsestatus code status", ours: []string{"response.status", "close.code"}},
	{words: "jsonbody bodyjson bodyasjson json content data payload text output responsebody base64body", ours: []string{"response.body"}},
	{words: "header headers httpheaders responseheaders", ours: []string{"response.headers"}},
	{words: "contenttype mimetype mediatype", ours: []string{"response.headers"}, value: "{Content-Type: …}"},
	{words: "bodyfilename bodyfile file filename filepath sendfile externalbody", ours: []string{"response.external-body", "path", "from.path"}},
	{words: "proxy proxyurl proxyto proxybaseurl proxyhost forward forwardto httpforward upstream", ours: []string{"response.proxy"}, value: "the name of an upstream"},
	{words: "template templating transformers disabletemplating", ours: []string{"response.template"}},
	{words: "response httpresponse reply res", ours: []string{"endpoint.response", "on-connect.response"}},
	{words: "url urlpath urlpattern urlpathpattern urlpathtemplate uri route pathname", ours: []string{"endpoint.path", "url"}},
	{words: "verb httpmethod requestmethod", ours: []string{"endpoint.method"}},
	{words: "request httprequest req", ours: []string{"endpoint.path"}, value: "with method, host and if next to it"},
	{words: "queryparameters queryparams params bodypatterns matcher matchers match condition conditions when rules predicates filter", ours: []string{"endpoint.if"}},
	{words: "callback callbacks hook hooks posthook postserveactions serveeventlisteners webhook webhooks", ours: []string{"endpoint.webhook"}},
	{words: "scenario scenarioname responsemode sequence", ours: []string{"endpoint.select"}, value: "sequence, with responses"},
	{words: "chance probability percentage", ours: []string{"weight", "rate"}},
	{words: "retries maxretries", ours: []string{"retry.attempts"}},
	{words: "throttle throttling ratelimit", ours: []string{"endpoint.rate-limit"}},
	{words: "requests maxrequest max count", ours: []string{"max-requests", "concurrent"}},
	{words: "persecond requestspersecond rps qps rate", ours: []string{"max-requests"}, value: "with window: 1s"},
	{words: "perminute requestsperminute rpm", ours: []string{"max-requests"}, value: "with window: 1m"},
	{words: "per period interval duration windowseconds", ours: []string{"window"}, value: "such as 1s"},
	{words: "by keyby client clientid", ours: []string{"key-fn"}},
	{words: "concurrency maxconcurrency maxconcurrent connections maxconnections parallel workers", ours: []string{"capacity.concurrent"}},
	{words: "maxqueue queuesize queued waiting backlog", ours: []string{"capacity.queue"}},
	{words: "sheet worksheet", ours: []string{"external-body.sheet-name"}},
	{words: "name title label", ours: []string{"endpoint.summary", "name"}},
	{words: "from into set table collection", ours: []string{"in"}},
	{words: "id key idfield primarykey", ours: []string{"key", "data.key", "key-fn"}},
	{words: "rows items records", ours: []string{"row", "data.rows"}},
	{words: "methods operations", ours: []string{"allow"}},
	{words: "sorting orderby", ours: []string{"sort"}},
	{words: "limit pagesize perpage", ours: []string{"size", "page.size", "max-requests", "concurrent"}},
	{words: "get show", ours: []string{"read"}},
	{words: "post insert", ours: []string{"create"}},
	{words: "put upsert", ours: []string{"replace"}},
	{words: "patch update", ours: []string{"change", "merge"}},
	{words: "delete destroy", ours: []string{"remove"}},
	{words: "documentation comment comments", ours: []string{"endpoint.description"}},
}

// squeezed removes the separators between words.
var squeezed = strings.NewReplacer("-", "", "_", "", ".", "", " ", "")

// foreignHint returns the part of a message that suggests the key for a word of another tool, whose
// key path is at. It
// also returns that key if the map that contains the word may have it. Each result is "" if there
// is none.
func foreignHint(at, name string, keys []string) (hint, key string) {
	const longest = 64
	if len(name) > longest {
		return "", ""
	}
	if name == "scope" && slices.ContainsFunc(keys, func(key string) bool { return key == "key-fn" || key == "queue" || key == "select" }) {
		return wording.ByReplica, ""
	}
	word := squeezed.Replace(strings.ToLower(name))
	i := slices.IndexFunc(foreigns, func(f foreign) bool { return slices.Contains(strings.Fields(f.words), word) })
	if i < 0 {
		return "", ""
	}
	f := foreigns[i]
	value := f.value
	if value != "" {
		value = ", " + value
	}
	for _, path := range f.ours {
		parent, leaf, nested := strings.Cut(path, ".")
		switch {
		case slices.Contains(keys, parent) && nested:
			return fmt.Sprintf(" (did you mean %q inside %s%s?)", leaf, parent, value), ""
		case slices.Contains(keys, leaf):
			return fmt.Sprintf(" (did you mean %q%s?)", leaf, value), leaf
		case !nested && slices.Contains(keys, parent):
			return fmt.Sprintf(" (did you mean %q%s?)", parent, value), parent
		}
	}
	parent, leaf, nested := strings.Cut(f.ours[0], ".")
	if of, _, _ := strings.Cut(at[strings.IndexByte(at, '.')+1:], "."); !nested || of != "endpoint" && at[0] == '[' {
		return "", "" // other items have neither an endpoint nor its response
	}
	return fmt.Sprintf(" (did you mean %q in the %s%s?)", leaf, parent, value), ""
}
