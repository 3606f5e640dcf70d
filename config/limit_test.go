package config

import (
	"reflect"
	"testing"
	"time"

	"mockserver/config/policy"
	"mockserver/config/syntax"
)

func TestMistakesOfLimits(t *testing.T) {
	const at, atCapacity = atEndpoint + ".rate-limit", atEndpoint + ".capacity"
	limit := func(inside string) string { return withKeys("rate-limit: {" + inside + "}") }
	key := func(by string) string { return limit("key-fn: " + by) }
	testMistakes(t, "f.yml", []mistake{
		{"a number", withKeys("rate-limit: §10"), one(at, "is a number (10); expected a map with max-requests and window")},
		{"a misspelt key", limit("§max-request: 10"), one(at+".max-request", `(did you mean "max-requests"?); expected one of max-requests, window, window-ms, key-fn, algorithm`)},
		{"no requests", limit("max-requests: §0"), one(at+".max-requests", "is a number (0); expected an integer from 1 to 1000000000")},
		{"part of a request", limit("max-requests: §0.5"), one(at+".max-requests", "an integer from 1")},
		{"a window of nothing", limit("window-ms: §0"), one(at+".window-ms", "expected a number of milliseconds above 0 of at most 8760h")},
		{"windows that are none", limit("window-ms: §1m, window: §0s"), []complaint{{at + ".window-ms", `is a text ("1m"); expected a number of milliseconds`}, {at + ".window", "a duration above 0 with a unit"}}},
		{"a window without its unit", limit("window: §60"), one(at+".window", "is a number (60); expected a duration above 0 with a unit, such as 20ms or 1.5s, of at most 8760h")},
		{"a window of more than a year", limit("window: §8760h1s"), one(at+".window", "of at most 8760h")},
		{"two windows", limit("window-ms: §60000, window: 1m"), one(at+".window-ms", "window and window-ms are both given")},
		{"an unknown algorithm", limit("algorithm: §leaky-bucket"), one(at+".algorithm", "expected one of sliding-window, fixed-window, token-bucket")},
		{"a misspelt algorithm", limit("algorithm: §fixed_window"), one(at+".algorithm", `(did you mean "fixed-window"?)`)},
		{"an empty key", key("'§'"), one(at+".key-fn", `is empty; expected remote-addr, host, the name of a header`)},
		{"a key that is a list", key("§[a]"), one(at+".key-fn", "is a list; expected remote-addr, host")},
		{"a key with a blank", key("§api key"), one(at+".key-fn", `"api key" is not a header name; expected remote-addr, host`)},
		{"a parameter that the path has not", key("§path-params.user"), one(at+".key-fn", `the path has no parameter "user"; it has id`)},
		{"a parameter in another case", key("§path-params.Id"), one(at+".key-fn", `the path has no parameter "Id" (did you mean "id"?); it has id`)},
		{"a parameter of a path without any", "- endpoint: {path: '/x/a:id/*y/z?:q', response: {}, rate-limit: {key-fn: §path-params.id}}\n",
			one(at+".key-fn", `the path has no parameter "id": it declares no parameters`)},
		{"a parameter without a name", key("§query-params."), one(at+".key-fn", `"query-params." has no name after the dot`)},
		{"a header that is none", key("§header-params.a b"), one(at+".key-fn", `"a b" is not a header name`)},
		{"a misspelt source", key("§query-param.x"), one(at+".key-fn", `"query-param.x" does not identify a client (did you mean "query-params"?)`)},
		{"another source", key("§json-params.user"), one(at+".key-fn", `"json-params.user" does not identify a client; expected remote-addr, host`)},
		{"the former scope", limit("max-requests: 5, §scope: shared"), one(at+".scope", "unknown key (each replica counts by itself: divide a limit by the number of replicas, ")},
		{"the former scope of a capacity", withKeys("capacity: {concurrent: 1, §scope: replica}"), one(atCapacity+".scope", "unknown key (each replica counts by itself: ")},
		{"the former scope of turns", withKeys("§scope: replica"), one(atEndpoint+".scope", "unknown key (each replica counts by itself: ")},
		{"a capacity of nothing", withKeys("capacity: §{}"), one(atCapacity, "concurrent is missing: how many requests are served at once")},
		{"none at once", withKeys("capacity: {concurrent: §0}"), one(atCapacity+".concurrent", "is a number (0); expected an integer from 1 to 1000000")},
		{"a queue below 0", withKeys("capacity: {concurrent: 1, queue: §-1}"), one(atCapacity+".queue", "is a number (-1); expected an integer from 0 to 1000000")},
		{"a misspelt key of a capacity", withKeys("capacity: {§concurent: 1}"), one(atCapacity+".concurent", `did you mean "concurrent"?`)},
	})
}

func TestWarningsOfLimits(t *testing.T) {
	text, places := marked("f.yml", withKeys("rate-limit: {key-fn: §remote-adr}"))
	expect(t, Parse("f.yml", []byte(text)).Problems, places, one(atEndpoint+".rate-limit.key-fn", `"remote-adr" is read as the name of a header (did you mean "remote-addr"?)`))
	text, places = marked("f.yml", withKeys("rate-limit: {key-fn: §ip}"))
	expect(t, Parse("f.yml", []byte(text)).Problems, places, one(atEndpoint+".rate-limit.key-fn", `"ip" is read as the name of a header (did you mean "remote-addr"?)`))
}

func TestWhatLimitsMayBe(t *testing.T) {
	for inside, want := range map[string]policy.RateLimit{
		"":                                       {},
		"max-requests: 10, window: 1m":           {Max: 10, Window: time.Minute},
		"window-ms: 0.5":                         {Window: 500 * time.Microsecond},
		"window: 8760h, algorithm: token-bucket": {Window: 365 * 24 * time.Hour, Algorithm: "token-bucket"},
		"algorithm: fixed-window":                {Algorithm: "fixed-window"},
		"key-fn: remote-addr":                    {By: "remote-addr"},
		"key-fn: host":                           {By: "host"},
		"key-fn: api-key":                        {By: "api-key"},
		"key-fn: header-params.X.Y":              {By: "header-params.X.Y"},
		"key-fn: query-params.user.name":         {By: "query-params.user.name"},
		"key-fn: path-params.id":                 {By: "path-params.id"},
	} {
		got := only(t, "f.yml", withKeys("rate-limit: {"+inside+"}", "capacity: {concurrent: 50, queue: 200}"))
		limit := *got.RateLimit
		if limit.Key != atEndpoint+".rate-limit" || limit.Pos.Line != 4 || got.Capacity.Concurrent != 50 || got.Capacity.Queue != 200 {
			t.Errorf("%+v %+v", limit, got.Capacity)
		}
		limit.Pos, limit.Key = syntax.Pos{}, ""
		if !reflect.DeepEqual(limit, want) {
			t.Errorf("%s is %+v, want %+v", inside, limit, want)
		}
	}
}
