package renderer_test

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"mockserver/config/syntax"
	"mockserver/internal/harness/volume"
	"mockserver/matcher"
	"mockserver/renderer"
)

func compiled(tb testing.TB, text string, s *renderer.Scope) *renderer.Template {
	tb.Helper()
	t, problems := renderer.Compile(syntax.Text{Value: text}, renderer.Plain, s)
	if err := problems.Err(); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return t
}

func TestRandomTexts_HaveTheirForm(t *testing.T) {
	for text, form := range map[string]string{
		"{{ulid}}": `^[0-7][0-9A-HJKMNP-TV-Z]{25}$`, "{{uuid7}}": `^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
		"{{uuid}}":            `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
		"{{random-text(14)}}": `^[0-9A-Za-z]{14}$`, "{{random-hex(1)}}": `^[0-9a-f]$`, "{{random-hex(1000)}}": `^[0-9a-f]{1000}$`,
		"{{random-text(path-params.id)}}": `^[0-9A-Za-z]{42}$`, "{{random-text(query-params.zero)}}": `^$`, "{{random-hex(path-params.name)}}": `^$`,
	} {
		template, seen := compiled(t, text, scope()), map[string]bool{}
		for range 20 {
			with(t, sample, samplePath, func(r *matcher.Request) {
				made := string(template.Append(nil, r))
				if !regexp.MustCompile(form).MatchString(made) {
					t.Errorf("%s made %q", text, made)
				}
				if seen[made] && len(made) > 1 {
					t.Errorf("%s made %q twice", text, made)
				}
				seen[made] = true
			})
		}
	}
}

// TestRandomTexts_UseAllCharacters: the probability that any of the 62 characters is missing among
// 20,000 is below 62 × (61/62)^20000, which is below 10^-139.
func TestRandomTexts_UseAllCharacters(t *testing.T) {
	template, counts := compiled(t, "{{random-text(1000)}}", scope()), map[rune]int{}
	for range 20 {
		with(t, sample, samplePath, func(r *matcher.Request) {
			for _, c := range string(template.Append(nil, r)) {
				counts[c]++
			}
		})
	}
	if len(counts) != 62 {
		t.Errorf("%d characters, want 62", len(counts))
	}
}

// TestULID_BeginsWithItsTime decodes the times in a ULID and in a UUID of version 7, which are the
// time of the request.
func TestULID_BeginsWithItsTime(t *testing.T) {
	template := compiled(t, "{{ulid}} {{uuid7}} {{now|date:\"unix-ms\"}}", scope())
	with(t, sample, samplePath, func(r *matcher.Request) {
		parts := strings.Fields(string(template.Append(nil, r)))
		var at int64
		for _, c := range parts[0][:10] {
			at = at<<5 | int64(strings.IndexRune("0123456789ABCDEFGHJKMNPQRSTVWXYZ", c))
		}
		var of7 int64
		if _, err := fmt.Sscanf(strings.ReplaceAll(parts[1], "-", "")[:12], "%x", &of7); err != nil {
			t.Fatal(err)
		}
		if want := r.Now().UnixMilli(); at != want || of7 != want || fmt.Sprint(want) != parts[2] {
			t.Errorf("times %d and %d, want %d", at, of7, want)
		}
		if age := time.Since(time.UnixMilli(at)); age < 0 || age > time.Hour {
			t.Errorf("the time is %v ago", age)
		}
	})
}

func TestRandomTexts_RepeatWithASeed(t *testing.T) {
	template := compiled(t, "{{random-text(20)}} {{random-hex(20)}} {{ulid|last}}", scope())
	made := map[uint64]string{}
	for _, number := range []uint64{1, 2, 1} {
		with(t, sample, samplePath, func(r *matcher.Request) {
			r.Random.Seed(7, number)
			text := string(template.Append(nil, r))
			if before, ok := made[number]; ok && before != text {
				t.Errorf("the same seed generated %s, then %s", before, text)
			}
			made[number] = text
		})
	}
	if made[1] == made[2] {
		t.Errorf("two requests generated the same: %s", made[1])
	}
}

func TestNeg(t *testing.T) {
	for text, want := range map[string]string{
		`{{1.50|neg}}`: "-1.50", `{{-7|neg}}`: "7", `{{0|neg}}`: "0", `{{"-0.0"|neg}}`: "0.0", `{{"+12"|neg}}`: "-12", `{{"007"|neg}}`: "-7",
		`{{12345678901234567890|neg}}`: "-12345678901234567890", `{{1e3|neg}}`: "-1e3", `{{"x"|neg|default:"none"}}`: "none",
		`{{json-params.n|neg|neg}}`: "1.50", `{{json-params.nope|neg|default:"none"}}`: "none",
	} {
		if got := render(t, text, renderer.Plain); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}

func TestCounter_OfAValueIsItsOwn(t *testing.T) {
	shared := scope()
	of := func(text string) string {
		made := ""
		with(t, sample, samplePath, func(r *matcher.Request) { made = string(compiled(t, text, shared).Append(nil, r)) })
		return made
	}
	for i, c := range [][2]string{
		{`{{counter("n", path-params.id)}}`, "1"}, {`{{counter("n", 42)}}`, "2"}, {`{{counter("n", path-params.name)}}`, "1"},
		{`{{counter("n", query-params.nope)}}`, "1"}, {`{{counter("n")}}`, "1"}, {`{{counter("m", 42)}}`, "1"}, {`{{sequence("n")}}`, "1"},
		{`{{counter("n", path-params.id)}}`, "3"}, {`{{sequence("n")}}`, "2"},
	} {
		if got := of(c[0]); got != c[1] {
			t.Errorf("%d. %s is %s, want %s", i, c[0], got, c[1])
		}
	}
}

// TestCounter_RemembersManyValues: memory is bounded, and values that keep being counted are not
// forgotten.
func TestCounter_RemembersManyValues(t *testing.T) {
	shared := scope()
	template := compiled(t, `{{counter("n", query-params.q)}}`, shared)
	count := func(value string) string {
		r := matcher.Acquire(matcher.Input{Method: []byte("GET"), Target: []byte("/?q=" + value)})
		defer matcher.Release(r)
		return string(template.Append(nil, r))
	}
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	const values = 1_500_000
	volume.Only(t)
	before, often := heap(), 0
	for i := range values {
		count(fmt.Sprintf("value-%08d", i))
		if i%10_000 == 0 {
			often++
			if got := count("often"); got != fmt.Sprint(often) {
				t.Fatalf("the value that is counted often has %s, want %d", got, often)
			}
		}
	}
	if taken := heap() - before; taken > 160<<20 {
		t.Errorf("%d MB for a million and a half values", taken>>20)
	}
	if got := count("value-00000000"); got != "1" {
		t.Errorf("a value that was forgotten has %s", got)
	}
	runtime.KeepAlive(shared)
}

func TestFunctions_Mistakes(t *testing.T) {
	for text, want := range map[string]string{
		"{{random-text()}}": "from 1 to 1024", "{{random-text(0)}}": "from 1 to 1024", "{{random-hex(1025)}}": "from 1 to 1024", `{{random-text("x")}}`: "from 1 to 1024",
		`{{counter("a", 1, 2)}}`: "a name in quotes", `{{sequence("a", 1)}}`: "a name in quotes", "{{sequence()}}": "a name in quotes", `{{fake("email", 1)}}`: "the name of a kind",
		"{{ulid()}}": "it is a variable", "{{randomString(10)}}": "random-text(10)",
	} {
		_, problems := renderer.Compile(syntax.Text{Value: text}, renderer.Plain, scope())
		if err := problems.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestMade_TextsWithinJSONKeepTheirKind: a string in a JSON text that consists of one placeholder
// becomes the value of the placeholder; as the name of a member, or next to other text, it remains
// a text.
func TestMade_TextsWithinJSONKeepTheirKind(t *testing.T) {
	const body = `{"n": 1.50, "b": true, "s": "7", "o": {"x": [1]}, "q": "a\"b"}`
	for text, want := range map[string]string{
		`{"n":"{{json-params.n}}","b":"{{json-params.b}}"}`:                          `{"n":1.50,"b":true}`,
		`{"s":"{{json-params.s}}","q":"{{json-params.q}}"}`:                          `{"s":"7","q":"a\"b"}`,
		`["{{json-params.o}}","{{json-params.none}}", "{{json-params.n|add:1}}"]`:    `[{"x": [1]},null, 2.50]`,
		`{"{{json-params.s}}" : "{{json-params.n}}!","a":"\"{{json-params.n}}\""}`:   `{"7" : "1.50!","a":"\"1.50\""}`,
		`{"a":"{% if json-params.b %}{{json-params.n}}{% endif %}"}`:                 `{"a":"1.50"}`,
		`[{% for x in json-params.o.x %}"{{x}}"{% endfor %}, "{{ json-params.n }}"]`: `[1, 1.50]`,
	} {
		made, problems := renderer.CompileMade(syntax.Text{Value: text}, true, scope())
		if err := problems.Err(); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		r := matcher.Acquire(matcher.Input{Body: []byte(body)})
		if got := string(made.AppendJSON(nil, r)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
		matcher.Release(r)
	}
}
