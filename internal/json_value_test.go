package internal_test

import (
	"bytes"
	encoding "encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"mockserver/internal/json"
)

var jsonTexts = []string{
	"", " ", "{", "}", "[", "]", "[}", "{]", "[1,]", "[,1]", "[1 2]", "{,}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{"a" 1}`, `{1:1}`, `{"a":1 "b":2}`,
	"nul", "nulll", "True", "+1", "-", "01", "-01", "1.", ".1", "1e", "1e+", "1.e1", "0x1", "NaN", "1 2", "1,", "[1]]", "{}}", "/**/1", "\ufeff1",
	`"`, `"a`, `"\`, `"\"`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"\n\"", "\"\t\"", "\"\x7f\"", "'a'", "1\x00", "\x00", "\v1", "\u00a01",
	"\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "[\"\xff\"]",
	"null", "true", "false", "0", "-0", "1.5e-10", "12E+3", " \t\r\n[ ] ", "{ }", "[[],{}]", `[1 , "a" ,null]`, `""`,
	`"\"\\\/\b\f\n\r\t\u0041"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\ude00\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ud83d\ud83d\ude00"`, `"\ufffd"`, `"é😀"`, `"\\\""`,
	`{"a":1,"a":2,"b":{"a":3}}`, `{"\u0061":1}`, `{"a\"b":[1,{"c":"}]"}]}`, `{"":1}`, `{"\ud800":1,"\ufffd":2}`, `[1,[2,[3]],"]",{"x":"}"}]`,
	` { "a" : [ 1 , 2 ] , "b" : { "c" : null } } `, `123456789012345678901234567890.10`,
}

// agreeJSON compares Parse and methods of the resulting Value with encoding/json.
func agreeJSON(t *testing.T, text []byte) {
	t.Helper()
	v := json.Parse(text)
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // encoding/json does not skip it
	if !utf8.Valid(text) {
		if v.Kind != json.Missing {
			t.Errorf("%q: got kind %d for invalid UTF-8", text, v.Kind)
		}
		return
	}
	if got, want := v.Kind != json.Missing, encoding.Valid(text); got != want {
		t.Fatalf("%q: is JSON: got %t, encoding/json says %t", text, got, want)
	}
	if v.Kind == json.Missing {
		if v.Raw != nil {
			t.Errorf("%q: got the text %q of a missing value", text, v.Raw)
		}
		return
	}
	d := encoding.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var want any
	if err := d.Decode(&want); err != nil {
		t.Fatalf("%q: encoding/json: %v", text, err)
	}
	agreeValue(t, v, want)
}

func agreeValue(t *testing.T, v json.Value, want any) {
	t.Helper()
	if string(v.Raw) != strings.Trim(string(v.Raw), " \t\r\n") || !encoding.Valid(v.Raw) {
		t.Fatalf("got the text %q, not JSON without blanks", v.Raw)
	}
	text := string(v.AppendText(nil))
	switch want := want.(type) {
	case nil:
		check(t, v, json.Null, text == "null" && v.Len() == 0)
	case bool:
		check(t, v, json.Bool, text == fmt.Sprint(want) && v.Len() == 0)
	case encoding.Number:
		check(t, v, json.Number, text == want.String() && v.Len() == 0)
	case string:
		check(t, v, json.String, text == want && v.Len() == 0 && v.Equals(want) && !v.Equals(want+"x"))
	case []any:
		check(t, v, json.Array, v.Len() == len(want) && v.Index(len(want)).Kind == json.Missing && v.Index(-1).Kind == json.Missing)
		elements := v.Elements()
		for i := range want {
			e, ok := elements.Next()
			check(t, v, json.Array, ok && bytes.Equal(e.Raw, v.Index(i).Raw))
			agreeValue(t, e, want[i])
		}
		_, more := elements.Next()
		check(t, v, json.Array, !more)
	case map[string]any:
		check(t, v, json.Object, v.Len() >= len(want))
		names := map[string]bool{}
		for _, m := range v.AppendMembers(nil) {
			names[string(m.Key.AppendText(nil))] = true
		}
		check(t, v, json.Object, len(names) == len(want))
		for name := range want {
			agreeValue(t, v.Member(name), want[name])
		}
	}
}

func check(t *testing.T, v json.Value, kind json.Kind, ok bool) {
	t.Helper()
	if v.Kind != kind || !ok {
		t.Fatalf("%q: got kind %d, want %d with what encoding/json decodes; text %q, length %d",
			v.Raw, v.Kind, kind, v.AppendText(nil), v.Len())
	}
}

func TestJSONAgreesWithEncodingJSON(t *testing.T) {
	for _, text := range jsonTexts {
		agreeJSON(t, []byte(text))
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range jsonTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(agreeJSON)
}

func TestJSONOfOtherKindsHasNoParts(t *testing.T) {
	for _, text := range []string{"", "null", "1", `"abc"`, "[1]", `{"a":1}`} {
		v := json.Parse([]byte(text))
		if got := v.Member("a"); (got.Kind != json.Missing) != (v.Kind == json.Object) {
			t.Errorf("%s: got member kind %d", text, got.Kind)
		}
		if got := v.Index(0); (got.Kind != json.Missing) != (v.Kind == json.Array) {
			t.Errorf("%s: got element kind %d", text, got.Kind)
		}
		if e := v.Elements(); v.Kind != json.Array {
			if _, ok := e.Next(); ok {
				t.Errorf("%s: got an element", text)
			}
		}
		if v.Kind != json.Object && v.Member("a").Kind != json.Missing {
			t.Errorf("%s: got a member", text)
		}
	}
}

func TestJSONAfterAByteOrderMark(t *testing.T) {
	for text, want := range map[string]string{
		"\ufeff":              "", // only the mark
		"\ufeff\ufeff1":       "", // only one is skipped
		" \ufeff1":            "", // and only before everything else
		"[\ufeff1]":           "",
		"\ufeff{\"a\": [1]} ": `{"a": [1]}`,
		"\ufeff 1":            "1",
		"\"\ufeff\"":          "\"\ufeff\"",
	} {
		if got := json.Parse([]byte(text)); string(got.Raw) != want {
			t.Errorf("%q: got %q, want %q", text, got.Raw, want)
		}
	}
}

func TestDeepJSON(t *testing.T) {
	const maxNesting = 10_000
	nested := func(n int, open, end string) []byte {
		return []byte(strings.Repeat(open, n) + "1" + strings.Repeat(end, n))
	}
	for _, tt := range []struct {
		name string
		text []byte
		want json.Kind
	}{
		{"a hundred thousand deep", nested(100_000, "[", "]"), json.Missing},
		{"a hundred thousand deep and never closed", bytes.Repeat([]byte(`{"a":[`), 100_000), json.Missing},
		{"one deeper than allowed", nested(maxNesting+1, "[", "]"), json.Missing},
		{"as deep as allowed", nested(maxNesting, "[", "]"), json.Array},
		{"objects as deep as allowed", nested(maxNesting, `{"a":`, "}"), json.Object},
		{"both kinds in turn", nested(maxNesting/2, `[{"a":`, "}]"), json.Array},
		{"both kinds, one closed by the other's bracket", []byte(strings.Repeat(`[{"a":`, 100) + "1" + strings.Repeat("]}", 100)), json.Missing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := json.Parse(tt.text)
			if v.Kind != tt.want {
				t.Fatalf("got kind %d, want %d", v.Kind, tt.want)
			}
			if v.Kind == json.Array && v.Len() != 1 {
				t.Errorf("got %d elements, want 1", v.Len())
			}
		})
	}
}

func TestValue_First(t *testing.T) {
	v := json.Parse([]byte(`{"a":1,"b":{"a":2},"a":3}`))
	for name, want := range map[string]string{"a": "1", "b": `{"a":2}`, "c": ""} {
		if got := v.First(name); string(got.Raw) != want {
			t.Errorf("%s: got %s, want %s", name, got.Raw, want)
		}
	}
	if got := json.Parse([]byte(`[1]`)).First("a"); got.Kind != json.Missing {
		t.Errorf("an array has the member %s", got.Raw)
	}
}
