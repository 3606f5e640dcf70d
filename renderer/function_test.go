package renderer_test

import (
	"regexp"
	"strconv"
	"sync"
	"testing"

	"mockserver/config/syntax"
	"mockserver/matcher"
	"mockserver/renderer"
)

func TestFunctions(t *testing.T) {
	for _, c := range []struct{ name, text, pattern string }{
		{"uuid is version 4, variant 1", "{{uuid}}", `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`},
		{"random is a whole number that is not negative", "{{random}}", `^\d+$`},
		{"random-int stays inside its bounds", "{{random-int(-2, 2)}}", `^-?[0-2]$`},
		{"random-int over the whole range of int64", "{{random-int(-9223372036854775808, 9223372036854775807)}}", `^-?\d+$`},
		{"random-int with bounds from the request", "{{random-int(1, query-params.page)}}", `^[1-7]$`},
		{"random-int with bounds that are none is missing", "{{random-int(1, query-params.tag)}}", `^$`},
		{"pick takes one of its values", `{{pick("a", 2, path-params.id)}}`, `^(a|2|42)$`},
		{"now is ISO 8601 with milliseconds", "{{now}}", `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`},
		{"now moved and laid out", `{{now|add:"24h"|date:"%Y"}}`, `^\d{4}$`},
		{"an invented e-mail address", `{{fake("email")}}`, `^[^@]+@[^@]+\.[a-z]+$`},
		{"names as in gofakeit, however spelt", `{{fake("first-name")}}{{fake("FirstName")}}`, `^\pL[\pL' ]+$`},
		{"a name of gofakeit with an underscore", `{{fake("email_text")}}`, `(?s).`},
		{"an invented number", `{{fake("uint8")|add:0}}`, `^\d+$`},
		{"the client's address without its port", "{{remote-addr}}", `^0\.0\.0\.0$`},
	} {
		t.Run(c.name, func(t *testing.T) {
			pattern := regexp.MustCompile(c.pattern)
			for range 50 {
				if got := render(t, c.text, renderer.Plain); !pattern.MatchString(got) {
					t.Fatalf("%s: got %q, want %s", c.text, got, c.pattern)
				}
			}
		})
	}
}

func TestFunctions_DifferFromCallToCall(t *testing.T) {
	for _, text := range []string{"{{uuid}}", "{{random}}", `{{fake("email")}}`} {
		seen := map[string]bool{}
		for range 20 {
			seen[render(t, text, renderer.Plain)] = true
		}
		if len(seen) < 15 {
			t.Errorf("%s: only %d different values in 20", text, len(seen))
		}
	}
}

func TestRandomInt_ReachesItsBounds(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		seen[render(t, "{{random-int(1, 3)}}", renderer.Plain)] = true
	}
	if len(seen) != 3 || !seen["1"] || !seen["3"] {
		t.Errorf("got %v, want 1, 2 and 3", seen)
	}
}

// now is the same instant during a whole request.
func TestNow_IsOneInstant(t *testing.T) {
	compiled, _ := renderer.Compile(syntax.Text{Value: "{{now}} {{now}}"}, renderer.Plain, scope())
	with(t, sample, samplePath, func(r *matcher.Request) {
		got := string(compiled.Append(nil, r))
		if got[:24] != got[25:] {
			t.Errorf("two instants: %s", got)
		}
	})
}

// A counter counts every call once, in whichever template and goroutine it is made.
func TestCounter(t *testing.T) {
	shared := scope()
	one, _ := renderer.Compile(syntax.Text{Value: `{{counter("orders")}}`}, renderer.Plain, shared)
	two, _ := renderer.Compile(syntax.Text{Value: `{{counter("orders")}}`}, renderer.Plain, shared)
	other, _ := renderer.Compile(syntax.Text{Value: `{{counter("users")}}`}, renderer.Plain, shared)
	const callers, calls = 8, 100
	var mu sync.Mutex
	seen := map[int]bool{}
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for i := range calls {
				compiled := one
				if i%2 == 1 {
					compiled = two
				}
				with(t, sample, samplePath, func(r *matcher.Request) {
					n, err := strconv.Atoi(string(compiled.Append(nil, r)))
					mu.Lock()
					defer mu.Unlock()
					if err != nil || seen[n] {
						t.Errorf("number %d came twice, or %v", n, err)
					}
					seen[n] = true
				})
			}
		})
	}
	wg.Wait()
	if len(seen) != callers*calls || !seen[1] || !seen[callers*calls] {
		t.Errorf("got %d numbers, want 1 to %d", len(seen), callers*calls)
	}
	with(t, sample, samplePath, func(r *matcher.Request) {
		if got := string(other.Append(nil, r)); got != "1" {
			t.Errorf("another counter has reached %s, want 1", got)
		}
	})
}
