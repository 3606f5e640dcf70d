package syntax

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	view "mockserver/internal/json"
	"mockserver/internal/tags"
)

func (s *source) holds(pos Pos) bool {
	return pos.Line <= len(s.starts) && pos.Column >= 1 && s.starts[pos.Line-1]+pos.Column-1 <= len(s.text)
}

// FuzzPlacesInAMadeBody looks up each byte of a body that is made from texts in the file: if the
// byte has a position of its own, it must be there.
func FuzzPlacesInAMadeBody(f *testing.F) {
	f.Add("- a {{x}} \"b\n- {'{{k}}': \"{% raw %}\\\"{% endraw %}{{y}}\"}")
	f.Add("{a: \"{%raw%}{%}\"}")
	f.Add("- |\n  a \"b\"\n  {{ c\n   d }}\n- &x 'it''s {{x}}'\n- *x")
	f.Add("[\"{{ a \\u00e9\", \"{{ b }}\\\\\", '{{ é \\ }}']")
	f.Fuzz(func(t *testing.T, body string) {
		src := newSource("f.yml", []byte(body))
		src = src.asYAML()
		docs, problems := readYAML(src)
		if len(problems) > 0 || len(docs) != 1 || docs[0].Kind != ListNode && docs[0].Kind != MapNode {
			return
		}
		text := docs[0].JSON(false, func(*Node, string) {})
		for i, m := range text.origins().marks {
			end := len(text.Value)
			if i+1 < len(text.origins().marks) {
				end = text.origins().marks[i+1].at
			}
			for offset := m.at; offset < end; offset++ {
				at := text.At(offset)
				if !src.holds(at) {
					t.Fatalf("%q: offset %d of %s is at %v", body, offset, text.Value, at)
				}
				if m.text == nil || m.text.Folded || m.from+offset-m.at >= len(m.text.Value) {
					continue
				}
				want, got := m.text.Value[m.from+offset-m.at], src.text[src.starts[at.Line-1]+at.Column-1]
				made := text.Value[offset]
				if made == '\\' {
					break // an escape extends to the end of the mark, or the tag continues
				}
				if got != made && got != '\r' || want != made {
					t.Fatalf("%q: %q of %s is at %v, where %q is", body, made, text.Value, at, got)
				}
			}
		}
	})
}

// FuzzJSONBody compares a body without tags with the result of encoding/json.
func FuzzJSONBody(f *testing.F) {
	f.Add(`{"a": [1.50, "x\u2028\ud83d\ude00<", null, true, {"": -0e1}]}`)
	f.Add(`["{{ x }}", "\\"]`)
	f.Fuzz(func(t *testing.T, body string) {
		src := newSource("f.json", []byte(body))
		docs, problems := readJSON(src)
		if len(problems) > 0 || len(docs) != 1 || docs[0].Kind != ListNode && docs[0].Kind != MapNode {
			return
		}
		unsaid := false
		got := docs[0].JSON(true, func(*Node, string) { unsaid = true }).Value
		if unsaid {
			return
		}
		if !json.Valid([]byte(got)) {
			t.Fatalf("%q becomes %q, which is not JSON", body, got)
		}
		if tagged := docs[0].JSON(false, func(*Node, string) {}).Value; !tags.In(body) && !tags.In(got) && tagged != got {
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
		if view.IsNumber(s) != oracle {
			t.Errorf("%q is a number: %v, want %v", s, !oracle, oracle)
		}
		if view.IsNumber([]byte(s)) != oracle {
			t.Errorf("%q is a number as bytes: %v, want %v", s, !oracle, oracle)
		}
		if n := jsonNumber(s); n != "" && !json.Valid([]byte(n)) {
			t.Errorf("%q becomes %q", s, n)
		}
	})
}
