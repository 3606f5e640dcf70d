package config

import (
	"regexp"
	"strings"
	"testing"

	"mockserver/config/syntax"
	"mockserver/internal/address"
)

// FuzzParse parses arbitrary texts and checks that parsing does not panic, that each problem and
// each text has a position inside the file, and that an endpoint is returned only if it is valid.
func FuzzParse(f *testing.F) {
	f.Add(false, largeConfig(1))
	f.Add(false, inResponse("body: |2-\n    x\n\n   y\nheaders: {a: &a 'b', <<: [{c: *a}]}"))
	f.Add(false, "\xFF\xFE[\x00]\x00")
	f.Add(false, "- endpoint: {path: !!str é, host: \"a\\\n b\", ? [x] : 1}\n--- &x [*x]\n...\n%TAG ! !\n")
	f.Add(true, `[{"endpoint": {"path": "\ud83d\ude00", "response": {"status": 1e2}}}]`)
	f.Add(true, "[{a: 'b'}, # c\n]")
	f.Add(false, inOutcomes("{weight: 2, fault: {type: reset, rate: 1%}, webhooks: []}", "latency: {p50: 20ms, p99.9: 1s, max: 2s, min-ms: 1}")+"    select: sequence\n    capacity: {concurrent: 1}\n")
	f.Add(false, withKeys("latency: {min: 1s, failure-rate: 0.5}", "rate-limit: {key-fn: path-params.id, window-ms: 5}"))
	f.Fuzz(func(t *testing.T, asJSON bool, text string) {
		name := map[bool]string{false: "a.yml", true: "a.json"}[asJSON]
		spec := Parse(name, []byte(text))
		for _, p := range spec.Problems {
			if p.What == "" || p.Pos.File != name || !inside(p.Pos, text) {
				t.Errorf("%q: %+v", text, p)
			}
		}
		for _, e := range spec.Endpoints {
			for _, at := range []syntax.Pos{e.Pos, e.Path.At(len(e.Path.Value)), e.Response.Body.At(len(e.Response.Body.Value) / 2)} {
				if at.Line > 0 && !inside(at, text) {
					t.Errorf("%q: a text at %v", text, at)
				}
			}
			if what := address.NameFault("a" + e.Host); !strings.HasPrefix(e.Path.Value, "/") || e.Host == "" && what != "" {
				t.Errorf("%q: kept %+v", text, e)
			}
		}
	})
}

// inside reports whether a position is in the file, or just after one of its lines: by the lines
// that editors show, or by those of YAML, where more characters end a line.
func inside(pos syntax.Pos, text string) bool {
	if pos.Line == 0 {
		return pos == syntax.Pos{File: pos.File}
	}
	text = strings.TrimPrefix(text, "\uFEFF")
	for _, breaks := range []string{"\r\n|\n|\r", "\r\n|\n|\r|\u0085|\u2028|\u2029"} {
		lines := regexp.MustCompile(breaks).Split(text, -1)
		if pos.Line <= len(lines) && 1 <= pos.Column && pos.Column <= len(lines[pos.Line-1])+2 {
			return true
		}
	}
	return false
}
