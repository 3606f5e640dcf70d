package serve

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"mockserver/config"
)

// random declares an endpoint for each kind of random choice.
const random = `
- endpoint: {path: /random, response: {body: "{{random}}"}}
- endpoint: {path: /uuid, response: {body: "{{uuid}} {{uuid}}"}}
- endpoint: {path: /int, response: {body: "{{random-int(1, 1000000)}} {{random-int(-9223372036854775808, 9223372036854775807)}}"}}
- endpoint: {path: /pick, response: {body: '{{pick("a", "b", "c", "d", "e", "f")}}{{pick("a", "b", "c", "d", "e", "f")}}{{pick("a", "b", "c", "d", "e", "f")}}'}}
- endpoint: {path: /fake, response: {body: '{{fake("email")}} {{fake("uuid")}} {{fake("sentence")}}'}}
- endpoint: {path: /header, response: {headers: {X: "{{random}}"}, body: "{{random}}"}}
- endpoint: {path: /if, if: "random-int(1, 1000) > 500", response: {body: "above {{random}}"}}
- endpoint: {path: /if, response: {body: "below {{random}}"}}
- endpoint: {path: /weighted, responses: [{body: x}, {body: y}, {body: "{{random}}"}]}
- endpoint: {path: /failing, latency: {failure-rate: 0.5}, response: {body: "{{random}}"}}
- endpoint: {path: /raw, response: {body: "{{random}}", template: true}}
`

var randomPaths = strings.Fields("/random /uuid /int /pick /fake /header /if /weighted /failing /raw")

func TestSeed_RepeatsEverything(t *testing.T) {
	one, other := uint64(1), uint64(2)
	for _, path := range randomPaths {
		first := responsesOf(t, seeded(t, &one, random), 50, path)
		again := responsesOf(t, seeded(t, &one, random), 50, path)
		if !slices.Equal(first, again) {
			t.Errorf("%s: got %q, and then %q", path, first[:3], again[:3])
		}
		if unlike := responsesOf(t, seeded(t, &other, random), 50, path); slices.Equal(first, unlike) {
			t.Errorf("%s: two seeds gave the same: %q", path, unlike[:3])
		}
		without := responsesOf(t, seeded(t, nil, random), 50, path)
		if slices.Equal(without, responsesOf(t, seeded(t, nil, random), 50, path)) {
			t.Errorf("%s: repeats without a seed: %q", path, without[:3])
		}
		if n := len(tallied(first)); n < 3 && path != "/failing" {
			t.Errorf("%s: requests have %d different answers of 50", path, n)
		}
	}
}

// The random choices for a request do not depend on requests to other endpoints, on other
// declarations, or on how clients overlap.
func TestSeed_WhateverElseIsServed(t *testing.T) {
	seed := uint64(9)
	alone := map[string][]string{}
	for _, path := range randomPaths {
		alone[path] = responsesOf(t, seeded(t, &seed, random), 200, path)
		slices.Sort(alone[path])
	}
	s := seeded(t, &seed, "- endpoint: {path: /more, response: {body: '{{random}}'}}\n"+random)
	var mu sync.Mutex // guards together
	together := map[string][]string{}
	var clients sync.WaitGroup
	for _, path := range append(randomPaths, "/more") {
		for range 4 {
			clients.Go(func() {
				some := responsesOf(t, s, 50, path)
				mu.Lock()
				defer mu.Unlock()
				together[path] = append(together[path], some...)
			})
		}
	}
	clients.Wait()
	for _, path := range randomPaths {
		slices.Sort(together[path])
		if !slices.Equal(alone[path], together[path]) {
			t.Errorf("%s: got %q…, alone it had %q…", path, together[path][:3], alone[path][:3])
		}
	}
}

// Endpoints with the same declaration draw different numbers.
func TestSeed_EndpointsDiffer(t *testing.T) {
	seed := uint64(1)
	s := seeded(t, &seed, "- endpoint: {path: /a, response: {body: '{{random}}'}}\n- endpoint: {path: /b, response: {body: '{{random}}'}}\n")
	if a, b := responsesOf(t, s, 10, "/a"), responsesOf(t, s, 10, "/b"); slices.Equal(a, b) {
		t.Errorf("both have %q", a)
	}
}

// An endpoint that a reload does not change continues with its next number.
func TestSeed_GoesOnOverAReload(t *testing.T) {
	seed := uint64(1)
	all := responsesOf(t, seeded(t, &seed, random), 10, "/random")
	s := seeded(t, &seed, random)
	got := responsesOf(t, s, 4, "/random")
	if err := s.Apply(config.Parse("mock.yml", []byte("- endpoint: {path: /new, response: {}}\n"+random))); err != nil {
		t.Fatal(err)
	}
	if got = append(got, responsesOf(t, s, 6, "/random")...); !slices.Equal(got, all) {
		t.Errorf("got %q, want %q", got, all)
	}
}

// An answer that is the same for every request is sent as prepared bytes, with or without a seed.
func TestSeed_FixedRepliesStayFixed(t *testing.T) {
	seed := uint64(1)
	s := seeded(t, &seed, "- endpoint: {path: /a, response: {body: ok}}\n- endpoint: {path: /b, response: {body: '{{random}}'}}\n- endpoint: {path: /c, latency: {min-ms: 1}, response: {body: ok}}\n")
	for path, want := range map[string]bool{"/a": true, "/b": false, "/c": false} {
		if got := s.fixedAt([]byte(path)) != nil; got != want {
			t.Errorf("%s: fixed is %t, want %t", path, got, want)
		}
	}
}
