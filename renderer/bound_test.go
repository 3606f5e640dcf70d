package renderer_test

import (
	"strconv"
	"strings"
	"testing"

	"mockserver/config/syntax"
	"mockserver/internal/harness/volume"
	"mockserver/matcher"
	"mockserver/renderer"
)

// stopped renders a text for a request and returns the result, and the reason if the result is
// incomplete.
func stopped(t *testing.T, text string, c call, mostBytes int) (string, error) {
	t.Helper()
	compiled, problems := renderer.Compile(syntax.Text{Value: text}, renderer.Plain, scope())
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	var got string
	var err error
	with(t, c, "/x", func(r *matcher.Request) {
		r.MaxText = mostBytes
		got = string(compiled.Append([]byte("before "), r))
		err = r.Stopped
	})
	return strings.TrimPrefix(got, "before "), err
}

// A filter on a value from the request, or from an outer loop, is applied once and not in every
// iteration: otherwise each of these templates would read more than rendering is allowed to.
func TestBound_FiltersOfOuterValuesAreAppliedOnce(t *testing.T) {
	const n = 20_000
	list := strings.Repeat(`"a\tb",`, n)
	c := call{method: "POST", uri: "/x?q=" + strings.Repeat("q", 80_000), body: `{"outer":[{"l":[` + list[:len(list)-1] + `]}],"l":[` + list[:len(list)-1] + `],"sep":"-"}`}
	for _, v := range []struct{ text, turn string }{
		{`{% for x in json-params.l %}{{json-params.l|length}}{% endfor %}`, "20000"},
		{`{% for x in json-params.l %}{{json-params.l.length}}{% endfor %}`, "20000"},
		{`{% for x in json-params.l %}{{json-params.l|first|trim|upper}}{% endfor %}`, "A\tB"},
		{`{% for x in json-params.l %}{{json-params.l|last}}{% endfor %}`, "a\tb"},
		{`{% for x in json-params.l %}{{json-params.l|join:json-params.sep|length}}{% endfor %}`, "79999"},
		{`{% for x in json-params.l %}{{json-params.none|default:json-params.l|last}}{% endfor %}`, "a\tb"},
		{`{% for x in json-params.l %}{% if json-params.l|length > 5 and json-params.outer|json|length = 1 %}+{% endif %}{% endfor %}`, "+"},
		{`{% for o in json-params.outer %}{% for x in o.l %}{{o.l|length}}{{o.l|join:","|length}}{% endfor %}{% endfor %}`, "2000079999"},
		{`{% for x in json-params.l %}{{body|length}}{{body.length}}{% endfor %}`, strings.Repeat(strconv.Itoa(len(c.body)), 2)},
		{`{% for x in json-params.l %}{{query-params.q|upper|length}}{{query-string|length}}{{query-params.q.length}}{% endfor %}`, "800008000280000"},
		{`{% for x in json-params.l %}{{pick(json-params.l|length)}}{% endfor %}`, "20000"},
	} {
		if got, err := stopped(t, v.text, c, 0); err != nil || got != strings.Repeat(v.turn, n) {
			t.Errorf("%s gives %d bytes, %.40q…, %v; want %d, %.40q…", v.text, len(got), got, err, n*len(v.turn), v.turn)
		}
	}
}

// Values that change in each iteration, or on each evaluation, are not remembered.
func TestBound_WhatChangesIsNotRemembered(t *testing.T) {
	c := call{method: "POST", uri: "/x", body: `{"l":["a","b"],"m":[["c"],["d"]]}`}
	for _, v := range []struct{ text, want string }{
		{`{% for x in json-params.l %}{{json-params.none|default:x|upper}}{{json-params.l|join:x}} {% endfor %}`, "Aaab Babb "},
		{`{% for x in json-params.l %}{% for y in json-params.l %}{{json-params.l|join:x|upper}}{{json-params.l|join:loop.index}} {% endfor %}{% endfor %}`, "AABa1b AABa2b ABBa1b ABBa2b "},
		{`{% for x in json-params.m %}{% for y in x %}{{x|first|upper}}{{x|length}}{{loop.index|add:1}}{% endfor %}{% endfor %}`, "C12D12"},
		{`{% for x in json-params.l %}{{counter("remembered")|add:0}}{{json-params.none|default:counter("more")|add:1}} {% endfor %}`, "12 23 "},
	} {
		if got, err := stopped(t, v.text, c, 0); err != nil || got != v.want {
			t.Errorf("%s gives %q, %v; want %q", v.text, got, err, v.want)
		}
	}
}

// A text may be as large as the limit but no larger, wherever its characters come from. The size of
// what is rendered before rendering stops is proportional to the limit.
func TestBound_TextsAreNoLargerThanTheyMayBe(t *testing.T) {
	const most = 1000
	c := call{method: "POST", uri: "/x", body: `{"l":[` + strings.Repeat("1,", 499) + `1],"t":"` + strings.Repeat("x", 100) + `"}`}
	for _, v := range []struct {
		text string
		size int // 0 if rendering is stopped
	}{
		{strings.Repeat("x", 990) + "{{json-params.t|length}}1234567", 1000},
		{strings.Repeat("x", 990) + "{{json-params.t|length}}12345678", 0},
		{strings.Repeat("{{json-params.t}}", 10), 1000},
		{strings.Repeat("{{json-params.t}}", 11), 0},
		{"{% for x in json-params.l %}{{x}}{{x}}{% endfor %}", 1000},
		{"{% for x in json-params.l %}{{x}}{{x}}{% endfor %}.", 0},
		{"{% for x in json-params.l %}{% for y in json-params.l %}{% if y %}.{% endif %}{% endfor %}{% endfor %}", 0},
		{`{{json-params.l|join:","}}`, 999},
		{`{{json-params.l|join:json-params.t|length}}`, 0},
		{`{% if path %}{{body|base64}}{% endif %}`, 0},
	} {
		got, err := stopped(t, v.text, c, most)
		if v.size > 0 && (err != nil || len(got) != v.size) {
			t.Errorf("%.80s gives %d bytes, %v; want %d", v.text, len(got), err, v.size)
		}
		if v.size == 0 && (err != renderer.ErrTooLarge || len(got) > 4*most) {
			t.Errorf("%.80s gives %d bytes, %v; want an error that it is too large", v.text, len(got), err)
		}
	}
}

// Loops that write nothing are also stopped, because of the number of their iterations or of the
// bytes that they read.
func TestBound_LoopsThatWriteNothing(t *testing.T) {
	volume.Only(t)
	c := call{method: "POST", uri: "/x", body: `{"l":[` + strings.Repeat("1,", 5000) + `1],"t":"` + strings.Repeat("x", 1<<20) + `","n":"` + strings.Repeat("9", 1<<20) + `",
		"few":[` + strings.Repeat("1,", 205) + `1]}`}
	for _, text := range []string{
		`{% for x in json-params.l %}{% if json-params.t contains "y" %}.{% endif %}{% endfor %}`,
		`{% for x in json-params.l %}{% for y in json-params.l %}{% endfor %}{% endfor %}`,
		// This template exceeds the limit only if each of its operations counts the bytes of n that
		// it reads.
		`{% for x in json-params.few %}{% if x = json-params.n %}.{% endif %}{{random-int(x, json-params.n)}}{{x|add:json-params.n}}{% endfor %}`,
	} {
		if got, err := stopped(t, text, c, 0); err != renderer.ErrTooLong || got != "" {
			t.Errorf("%s gives %d bytes, %v; want an error that it takes too long", text, len(got), err)
		}
	}
}

// Invented data costs more than an iteration: what the first loop leaves of the limit is enough for
// the iterations, but not for the data.
func TestBound_InventedDataCountsMoreThanATurn(t *testing.T) {
	c := call{method: "POST", uri: "/x", body: `{"l":[` + strings.Repeat("1,", 1209) + `1],"m":[` + strings.Repeat("1,", 20_000) + `1],"t":"` + strings.Repeat("x", 1<<20) + `"}`}
	const most = `{% for x in json-params.l %}{% if json-params.t contains "y" %}.{% endif %}{% endfor %}`
	for turn, want := range map[string]error{
		`{% if path contains "y" %}.{% endif %}`:          nil,
		`{% if fake("name") contains "42" %}.{% endif %}`: renderer.ErrTooLong,
	} {
		if got, err := stopped(t, most+"{% for x in json-params.m %}"+turn+"{% endfor %}", c, 0); err != want || got != "" {
			t.Errorf("%s gives %d bytes, %v; want %v", turn, len(got), err, want)
		}
	}
}

// A long number is not read again for each element of a list: otherwise the test would not finish.
func TestBound_AListThatContainsALongNumber(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds of CPU time")
	}
	list := `{"l":[` + strings.Repeat("1,", 1<<20) + `1],"n":"1.` + strings.Repeat("0", 1<<22)
	condition, problems := renderer.CompileCondition(syntax.Text{Value: "json-params.l contains json-params.n"}, scope())
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	for last, want := range map[string]bool{"0": true, "1": false} {
		with(t, call{method: "POST", uri: "/x", body: list + last + `"}`}, "/x", func(r *matcher.Request) {
			if got := condition.Holds(r); got != want {
				t.Errorf("one that ends in %s: %v, want %v", last, got, want)
			}
		})
	}
}

// A condition that needs a text larger than the limit does not hold, and does not stop rendering.
func TestBound_Conditions(t *testing.T) {
	c := call{method: "POST", uri: "/x", body: `{"l":[1,2,3],"t":"` + strings.Repeat("x", 100) + `"}`}
	for text, want := range map[string]bool{
		`json-params.l|join:json-params.t != "a"`: false, `not json-params.l|join:json-params.t`: false,
		`json-params.l|join:"," = "1,2,3"`: true,
	} {
		compiled, problems := renderer.CompileCondition(syntax.Text{Value: text}, scope())
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		with(t, c, "/x", func(r *matcher.Request) {
			r.MaxText = 150
			if got := compiled.Holds(r); got != want || r.Stopped != nil {
				t.Errorf("%s: %v, %v; want %v", text, got, r.Stopped, want)
			}
		})
	}
}
