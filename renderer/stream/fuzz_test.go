package stream_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"mockserver/config/item"
	"mockserver/config/syntax"
	"mockserver/matcher"
	"mockserver/renderer"
	"mockserver/renderer/stream"
)

// No value in any place ends an event, adds one, or breaks its JSON, and the value is in the event as a client gets it.
func FuzzFraming(f *testing.F) {
	for _, seed := range []string{"", "a", "a\nb", "\r\n\r\n", "data: x\n\nevent: y\n", "\x00", "\uFEFF", "\xff\xfe", `"}\`, "\u2028\u0085", ": c", "{\"a\":\n1}"} {
		f.Add(seed)
	}
	const items = "- {event: 'e{{body}}', id: 'i{{body}}', retry: '{{body}}', comment: '{{body}}', data: '{{body}}'}\n" +
		"- {data: {a: '{{body}}', b: 'x{{body}}y'}}\n- data: '{\"a\": {{body}}, \"b\": \"{{body}}\"}'\n- {data: end}"
	framed := compile(f, items)
	inLines := compile(f, "- line: {a: '{{body}}'}\n- line: 'x {{body}}'\n- {line: ['{{body}}'], separator: rs}")
	f.Fuzz(func(t *testing.T, value string) {
		out := strings.Join(send(t, framed, value, manyItems), "")
		if !isUTF8(out) {
			t.Fatalf("%q is not UTF-8", out)
		}
		got, _, _ := events(out)
		if len(got) != 4 || got[3].Data != "end" {
			t.Fatalf("%d events in %q: %q", len(got), out, got)
		}
		var want strings.Builder
		for i := 0; i < len(value); {
			c, size := utf8.DecodeRuneInString(value[i:])
			want.WriteRune(c)
			i += size
		}
		named := strings.NewReplacer("\r", "", "\n", "", "\x00", "").Replace(want.String())
		data := strings.ReplaceAll(strings.ReplaceAll(want.String(), "\r\n", "\n"), "\r", "\n")
		if got[0] != (event{"e" + named, data, "i" + named}) {
			t.Errorf("got %q, want e%q, %q", got[0], named, data)
		}
		for _, e := range got[1:3] {
			var parsed struct{ A, B any }
			if err := json.Unmarshal([]byte(e.Data), &parsed); err != nil {
				t.Errorf("%q: %v", e.Data, err)
			} else if b, _ := parsed.B.(string); !strings.Contains(b, want.String()) {
				t.Errorf("%q, want %q in it", b, want.String())
			}
		}
		for _, line := range send(t, inLines, value, manyItems) {
			if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") || strings.Contains(line, "\r") {
				t.Errorf("%q is not a line", line)
			}
		}
	})
}

// Items are expanded within their limits, whatever their loops and conditions are.
func FuzzExpansion(f *testing.F) {
	for _, seed := range [][4]string{
		{"x in json-params", "", "x > 1", `[1,2,[3]]`}, {"", "json-params", "", "3"}, {"x in json-params.a|words", "", "loop.last", `{"a":"b c"}`},
		{"x in x", "-1", "not", "{"}, {"w in body|split:\"\"", "", "stream.index > 3", "abc"}, {"w in body|chunks:2|last", "9999999999", "", "\xff"},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	text := func(value string) syntax.Text { return syntax.Text{Value: value} }
	f.Fuzz(func(t *testing.T, over, times, condition, body string) {
		data := func() *item.Piece { return &item.Piece{Text: text("{{body}}{{loop.index}}")} }
		inner := item.StreamItem{Data: data(), Times: text(times), If: text(condition)}
		declared := []item.StreamItem{{For: text(over), Times: text(times), Items: []item.StreamItem{inner, {Data: data(), For: text(over), If: text(condition)}}}}
		items, problems := stream.Compile(declared, false, renderer.Inferred, &renderer.Scope{})
		if problems.Err() != nil {
			return
		}
		r := matcher.Acquire(matcher.Input{Method: []byte("POST"), Target: []byte("/"), Body: []byte(body)})
		defer matcher.Release(r)
		r.MaxText = 1 << 20
		var c stream.Cursor
		items.Begin(&c)
		mark, n := len(r.Arena), 0
		for ; n < 1000; n++ {
			if _, ok := c.Next(r); !ok {
				break
			}
			if out := c.Append(nil, r); r.Stopped == nil && !utf8.Valid(out) {
				t.Fatalf("%q is not UTF-8", out)
			}
		}
		if items.Count >= 0 && r.Stopped == nil && n != min(items.Count, 1000) {
			t.Errorf("%d items, want %d", n, items.Count)
		}
		if n < 1000 && r.Stopped == nil && len(r.Arena) != mark {
			t.Errorf("%d bytes of the arena are left", len(r.Arena)-mark)
		}
	})
}
