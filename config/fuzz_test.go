package config

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// inside tells whether a place is one of the file, or just behind a line of it. What
// is no JSON is tried as YAML, and has its lines.
func inside(pos Pos, text string) bool {
	src, err := newSource(pos.File, []byte(text))
	if err != nil || pos.Line == 0 {
		return pos == Pos{File: pos.File}
	}
	return src.holds(pos) || !strings.HasSuffix(pos.File, ".edn") && src.asYAML().holds(pos)
}

func (s *source) holds(pos Pos) bool {
	return pos.Line <= len(s.starts) && pos.Column >= 1 && s.starts[pos.Line-1]+pos.Column-1 <= len(s.text)
}

// FuzzParse reads anything: no panic, each problem has a place inside the file,
// each text too, and an endpoint is there only when it is sound.
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
			for _, at := range []Pos{e.Pos, e.Path.At(len(e.Path.Value)), e.Response.Body.At(len(e.Response.Body.Value) / 2)} {
				if at.Line > 0 && !inside(at, text) {
					t.Errorf("%q: a text at %v", text, at)
				}
			}
			if what := methodFault(e.Method) + hostFault("a"+e.Host); !strings.HasPrefix(e.Path.Value, "/") || e.Host == "" && what != "" {
				t.Errorf("%q: kept %+v", text, e)
			}
		}
		for i := range spec.Endpoints {
			e := &spec.Endpoints[i]
			if errs := check(e, e.Key, nil, nil).Errors(); len(errs) > 0 {
				t.Errorf("%q: kept, though %v", text, errs)
			}
		}
	})
}

// FuzzPlacesInAMadeBody looks up each byte of a body that is made of texts in the
// file: where it has a place of its own, that byte stands there.
func FuzzPlacesInAMadeBody(f *testing.F) {
	f.Add("- a {{x}} \"b\n- {'{{k}}': \"{% raw %}\\\"{% endraw %}{{y}}\"}")
	f.Add("{a: \"{%raw%}{%}\"}")
	f.Add("- |\n  a \"b\"\n  {{ c\n   d }}\n- &x 'it''s {{x}}'\n- *x")
	f.Add("[\"{{ a \\u00e9\", \"{{ b }}\\\\\", '{{ é \\ }}']")
	f.Fuzz(func(t *testing.T, body string) {
		src, err := newSource("f.yml", []byte(body))
		if err != nil {
			return
		}
		src = src.asYAML()
		docs, problems := readYAML(src)
		if len(problems) > 0 || len(docs) != 1 || docs[0].kind != listNode && docs[0].kind != mapNode {
			return
		}
		text := (&decoder{}).json(value{node: docs[0]}, false)
		for i, m := range text.marks {
			end := len(text.Value)
			if i+1 < len(text.marks) {
				end = text.marks[i+1].at
			}
			for offset := m.at; offset < end; offset++ {
				at := text.At(offset)
				if !inside(at, body) {
					t.Fatalf("%q: offset %d of %s is at %v", body, offset, text.Value, at)
				}
				if m.text == nil || m.text.folded || m.from+offset-m.at >= len(m.text.Value) {
					continue
				}
				want, got := m.text.Value[m.from+offset-m.at], src.text[src.starts[at.Line-1]+at.Column-1]
				made := text.Value[offset]
				if made == '\\' {
					break // an escape stands to the end of the mark, or the tag goes on
				}
				if got != made && got != '\r' || want != made {
					t.Fatalf("%q: %q of %s is at %v, where %q stands", body, made, text.Value, at, got)
				}
			}
		}
	})
}

// FuzzJSONBody compares a body without tags with what encoding/json makes of it.
func FuzzJSONBody(f *testing.F) {
	f.Add(`{"a": [1.50, "x\u2028\ud83d\ude00<", null, true, {"": -0e1}]}`)
	f.Add(`["{{ x }}", "\\"]`)
	f.Fuzz(func(t *testing.T, body string) {
		src, err := newSource("f.json", []byte(body))
		if err != nil {
			return
		}
		docs, problems := readJSON(src)
		if len(problems) > 0 || len(docs) != 1 || docs[0].kind != listNode && docs[0].kind != mapNode {
			return
		}
		d := decoder{}
		got := d.json(value{node: docs[0]}, true).Value
		if len(d.problems) > 0 {
			return
		}
		if !json.Valid([]byte(got)) {
			t.Fatalf("%q becomes %q, which is no JSON", body, got)
		}
		if tagged := d.json(value{node: docs[0]}, false).Value; !hasTags(body) && !hasTags(got) && tagged != got {
			t.Errorf("%q: without tags %q, raw %q", body, tagged, got)
		}
		if !json.Valid([]byte(src.text)) {
			return // read as YAML
		}
		var want, have bytes.Buffer
		if json.Compact(&want, []byte(src.text)) == nil && json.Compact(&have, []byte(got)) == nil && !sameJSON(want.Bytes(), have.Bytes()) {
			t.Errorf("%s becomes %s", body, got)
		}
	})
}

// sameJSON compares two JSON texts by value, their numbers digit for digit.
func sameJSON(a, b []byte) bool {
	plain := func(text []byte) string {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		var v any
		if d.Decode(&v) != nil {
			return ""
		}
		out, _ := json.Marshal(v)
		return string(out)
	}
	return plain(a) == plain(b)
}

// FuzzJSONNumber compares the grammar of numbers with that of encoding/json.
func FuzzJSONNumber(f *testing.F) {
	for _, s := range []string{"1", "-0.5e+3", "01", ".5", "1.", "0x1F", "1_000", "+", "-", "e1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		oracle := s != "" && (s[0] == '-' || '0' <= s[0] && s[0] <= '9') && strings.TrimSpace(s) == s && json.Valid([]byte(s))
		if IsJSONNumber(s) != oracle {
			t.Errorf("%q is a number: %v, want %v", s, !oracle, oracle)
		}
		if IsJSONNumber([]byte(s)) != oracle {
			t.Errorf("%q is a number as bytes: %v, want %v", s, !oracle, oracle)
		}
		if n := jsonNumber(s); n != "" && !json.Valid([]byte(n)) {
			t.Errorf("%q becomes %q", s, n)
		}
	})
}
