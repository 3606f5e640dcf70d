package renderer_test

import (
	"runtime"
	"strings"
	"testing"

	"mockserver/config/syntax"
	"mockserver/matcher"
	"mockserver/renderer"
)

// items returns a request whose body contains n items and a text with an escape.
func items(n int, mode string) call {
	var body strings.Builder
	body.WriteString(`{"mode":"` + mode + `","items":[`)
	for i := range n {
		if i > 0 {
			body.WriteByte(',')
		}
		body.WriteString(`{"p":"a\nb","q":[1,2]}`)
	}
	body.WriteString(`],"cur":"EUR"}`)
	return call{method: "POST", uri: "/x", body: body.String()}
}

// A loop over a body of a megabyte reads the body a few times, not in every iteration: otherwise
// this test would take hours.
func TestLoop_ReadsALargeBodyOnce(t *testing.T) {
	compiled, problems := renderer.Compile(syntax.Text{
		Value: `{% for x in json-params.items %}{% for y in x.q %}{{y}}{{x.p|length}}{{json-params.cur}}{{query-params.none}}{% endfor %}{% endfor %}`,
	}, renderer.Plain, scope())
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	const n = 50_000
	with(t, items(n, "x"), "/x", func(r *matcher.Request) {
		if got, want := string(compiled.Append(nil, r)), strings.Repeat("13EUR23EUR", n); got != want {
			t.Errorf("got %d bytes, want %d", len(got), len(want))
		}
	})
}

// The memory that the iterations of a loop need is released, so that a request cannot take more
// memory than its body and its answer.
func TestLoop_DoesNotFillTheArena(t *testing.T) {
	compiled, problems := renderer.Compile(syntax.Text{
		Value: `{% for x in json-params.items %}{% if json-params.mode|upper contains "FULL" and x.p|upper = "Z" %}{{x}}{% endif %}{% if json-params.items contains x %}{% endif %}{% endfor %}done`,
	}, renderer.Plain, scope())
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	c := items(1000, `\n`+strings.Repeat("x", 10_000))
	with(t, c, "/x", func(r *matcher.Request) {
		if got := string(compiled.Append(nil, r)); got != "done" {
			t.Errorf("got %s", got)
		}
		if cap(r.Arena) > 4*len(c.body) {
			t.Errorf("the arena grew to %d bytes for a body of %d", cap(r.Arena), len(c.body))
		}
	})
}

// Values that are computed once in each iteration of a middle loop do not fill the arena either.
func TestLoop_MemosTakeNoMoreRoomThanTheirValues(t *testing.T) {
	compiled, problems := renderer.Compile(syntax.Text{
		Value: `{% for x in json-params.items %}{% for y in json-params.items %}{% for z in y.q %}{% if y.p|length = 9 %}!{% endif %}{% endfor %}{% endfor %}{% endfor %}done`,
	}, renderer.Plain, scope())
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	c := items(300, "x")
	with(t, c, "/x", func(r *matcher.Request) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if got := string(compiled.Append(nil, r)); got != "done" {
			t.Errorf("got %s", got)
		}
		runtime.ReadMemStats(&after)
		if grew := after.TotalAlloc - before.TotalAlloc; grew > uint64(10*len(c.body)) {
			t.Errorf("%d bytes were allocated for a body of %d", grew, len(c.body))
		}
	})
}

// A value that is computed once per iteration is the value of the current iteration.
func TestLoop_ValuesAreThoseOfTheirTurn(t *testing.T) {
	c := call{method: "POST", uri: "/x?q=a%2Bb", body: `{"l":[{"n":"1\n","in":["a","b\t"]},{"n":"2\n","in":[]},{"n":"3\n","in":["c"]}],"t":"x\ty"}`}
	for _, v := range []struct{ text, want string }{
		{`{% for x in json-params.l %}{% for y in x.in %}{{x.n|trim}}{{y|trim}}{{json-params.t|length}}{{query-params.q}};{% endfor %}{% endfor %}`, "1a3a+b;1b3a+b;3c3a+b;"},
		{`{% for x in json-params.l %}{% for y in json-params.l %}{% for z in y.in %}{{x.n|trim}}{{y.n|trim}}{{z|trim}} {% endfor %}{% endfor %}{% endfor %}`, "11a 11b 13c 21a 21b 23c 31a 31b 33c "},
	} {
		compiled, problems := renderer.Compile(syntax.Text{Value: v.text}, renderer.Plain, scope())
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time with a used frame
			with(t, c, "/x", func(r *matcher.Request) {
				if got := string(compiled.Append(nil, r)); got != v.want {
					t.Errorf("%s\n got %q\nwant %q", v.text, got, v.want)
				}
			})
		}
	}
}

// Many adjacent constants become one text, and compiling them does not take quadratic time:
// otherwise this test would take minutes.
func TestCompile_ManyConstants(t *testing.T) {
	compiled, problems := renderer.Compile(syntax.Text{Value: strings.Repeat(`{{ "a" }}b`, 200_000)}, renderer.Plain, scope())
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if text, ok := compiled.Static(); !ok || text != strings.Repeat("ab", 200_000) {
		t.Errorf("got %d bytes, static %v", len(text), ok)
	}
}
