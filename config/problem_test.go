package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"mockserver/config/syntax"
)

func TestProblemNamesWhatIsKnown(t *testing.T) {
	for want, p := range map[string]syntax.Problem{
		"f.yml:3:5: [0].endpoint: bad": {Pos: syntax.Pos{File: "f.yml", Line: 3, Column: 5}, Key: "[0].endpoint", What: "bad"},
		"f.yml:3: bad":                 {Pos: syntax.Pos{File: "f.yml", Line: 3, Column: 0}, What: "bad"},
		"f.yml: bad":                   {Pos: syntax.Pos{File: "f.yml"}, What: "bad"},
		"[0].endpoint: bad":            {Key: "[0].endpoint", What: "bad"},
	} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTwentyProblemsAreShownAndTheRestCounted(t *testing.T) {
	for n, last := range map[int]string{
		20: "f.yml:20:3: [19]: is a number (1); expected a map with one key, endpoint, websocket, data, scenario, resource, llm or upstream",
		21: "and 1 more",
		50: "and 30 more",
	} {
		err := Parse("f.yml", []byte(strings.Repeat("- 1\n", n))).Problems.Err()
		lines := strings.Split(err.Error(), "\n")
		if got := lines[len(lines)-1]; got != last || len(lines) != min(n, 21) {
			t.Errorf("%d errors: %d lines, the last %q, want %q", n, len(lines), got, last)
		}
	}
}

// A file may contain millions of errors: only a limited number are kept, and the output says so.
func TestMistakesOfOneFileAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds of CPU time")
	}
	const many = 5000
	times := func(text string) string { return strings.Repeat(text, many) }
	numbered := func(format string) string {
		var b strings.Builder
		for i := range many {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	long := strings.Repeat("k", 200_000)
	deep := strings.Repeat(`{"abcdefghijklmnopqrstuvwxyz": `, 900)
	for _, c := range []struct{ name, file, text string }{
		{"words", "f.edn", "[" + times("xy ") + "]"},
		{"symbols", "f.edn", "[" + times("x ") + "]"},
		{"keys given twice", "f.edn", "[{" + times(":a 1 ") + "}]"},
		{"mistakes below a long key", "f.edn", `[{:` + long + ` [` + times("xy ") + `]}]`},
		{"mistakes below many keys", "f.edn", "[" + strings.ReplaceAll(deep, ":", "") + "[" + times("x ") + "]" + strings.Repeat("}", 900) + "]"},
		{"unknown keys in EDN", "f.edn", "[{:endpoint {" + numbered(":k%d 1 ") + "}}]"},
		{"unknown tags", "f.yml", times("- !a 1\n")},
		{"unknown tags below a long key", "f.yml", "- ? " + long + "\n  : [" + times("!a 1, ") + "1]\n"},
		{"unknown tags in many documents", "f.yml", times("--- !a 1\n")},
		{"items that are none", "f.yml", times("- 1\n")},
		{"documents that are none", "f.yml", times("--- 1\n")},
		{"unknown keys", "f.yml", "- endpoint: {" + numbered("k%d: 1, ") + "path: /x, response: {}}\n"},
		{"names of headers", "f.yml", "- endpoint: {path: /x, response: {headers: {" + numbered("k %d: 1, ") + "k: 1}}}\n"},
		{"values of one header", "f.yml", "- endpoint: {path: /x, response: {headers: {? " + long + "\n : [" + times("{}, ") + "1]}}}\n"},
		{"values of a query", "f.yml", "- endpoint: {path: /x, response: {}, query: {" + numbered("k%d: ~, ") + "k: a}}\n"},
		{"numbers that JSON has not", "f.yml", "- endpoint: {path: /x, response: {body: [" + times(".inf, ") + "1]}}\n"},
		{"endpoints", "f.yml", numbered("- endpoint: {path: x%d, response: {}}\n")},
		{"keys given twice in JSON", "f.json", "[{" + strings.TrimSuffix(times(`"a": 1,`), ",") + "}]"},
		{"keys given twice below many", "f.json", "[" + deep + "{" + strings.TrimSuffix(times(`"a": 1,`), ",") + strings.Repeat("}", 901) + "]"},
		{"unknown keys in JSON", "f.json", `[{"endpoint": {` + strings.TrimSuffix(numbered(`"k%d": 1,`), ",") + "}}]"},
		{"found by the reader and by the decoder", "f.yml", strings.Repeat("- !a {}\n", 600) + times("- 1\n")},
		{"warnings", "f.yml", numbered("- endpoint: {path: /%d, response: {status: 204, body: x}}\n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := Parse(c.file, []byte(c.text))
			got := spec.Problems
			if n := len(spec.Broken.Endpoints) + len(spec.Endpoints); !got[0].Warning && n > syntax.MaxErrors+1 {
				t.Errorf("%d endpoints were read", n)
			}
			size := 0
			for _, p := range got {
				size += len(p.Key) + len(p.What)
			}
			if len(got) != syntax.MaxErrors+1 || size > 4<<20 {
				t.Fatalf("%d problems of %d bytes, the first %.200s", len(got), size, got[0])
			}
			for i, p := range got {
				if p.Rest != (i == syntax.MaxErrors) {
					t.Errorf("problem %d represents the rest: %v", i, p.Rest)
				}
			}
			if last := got[syntax.MaxErrors]; !strings.Contains(last.What, "there are more than 1000") || last.Pos.Line == 0 {
				t.Errorf("the last is %v", last)
			}
			if lines := got.Lines(); lines[len(lines)-1] != "and at least 981 more" {
				t.Errorf("it ends with %s", lines[len(lines)-1])
			}
		})
	}
}

// Whatever a file contains, each problem is reported on one line.
func TestAMistakeIsOneLine(t *testing.T) {
	for file, texts := range map[string][]string{
		"f.yml": {`- "a\nb": 1`, "- {endpoint: ~, \"a\\nb\": 1}", `- !<a%0Ab> x`, `- endpoint: {path: "a\nb", host: "a\nb", method: "a\nb", response: {headers: {"a\nb": {}}, body: {"a\nb": !b x}}, query: {"a\n": 1}}`,
			`- endpoint: {path: /x, response: {external-body: {provider: "a\nb", path: "http://a\nb", timeout: "\n"}}}`, "- {\"a\\nb\": 1, \"a\\nb\": 1}"},
		"f.edn":  {`[{"a\nb" 1 :a @b}]`, "[{\"a\nb\" {@x 1} \"a\nb\"}]", "[#a\u0001b 1 \\a\u0001 a\u0001 :a\u0001@]"},
		"f.json": {`[{"a\nb": 1, "a\nb": {"\r": 1}}]`},
	} {
		for _, text := range texts {
			got := Parse(file, []byte(text)).Problems
			if len(got) == 0 || strings.ContainsAny(got.Error(), "\r\x01\u2028") || strings.Count(got.Error(), "\n") != len(got)-1 {
				t.Errorf("%s: %q", text, got.Error())
			}
		}
	}
}

// Warnings do not count as errors: a configuration with many of them is served.
func TestManyWarningsAreNoMistake(t *testing.T) {
	spec := Parse("f.yml", []byte(strings.Repeat("- endpoint: {path: /x, response: {status: 204, body: x}}\n", 5000)+"- endpoint: {path: y, response: {}}\n"))
	if errs := spec.Problems.Errors(); len(spec.Endpoints) != 5000 || len(errs) != 1 || errs[0].Rest {
		t.Errorf("%d endpoints, %v", len(spec.Endpoints), errs)
	}
}

func TestAThousandMistakesAreAllKept(t *testing.T) {
	got := Parse("f.yml", []byte(strings.Repeat("- 1\n", syntax.MaxErrors))).Problems
	if lines := got.Lines(); len(got) != syntax.MaxErrors || got[syntax.MaxErrors-1].Rest || lines[len(lines)-1] != "and 980 more" {
		t.Errorf("%d problems, %s", len(got), lines[len(lines)-1])
	}
}

func TestProblemsAreSortedByLineWithinTheirFile(t *testing.T) {
	ps := syntax.Problems{
		{Pos: syntax.Pos{File: "b", Line: 9, Column: 1}, What: "1"}, {Pos: syntax.Pos{File: "b", Line: 2, Column: 7}, What: "2"}, {Pos: syntax.Pos{File: "b", Line: 2, Column: 3}, What: "3"},
		{Pos: syntax.Pos{File: "b", Line: 1, Column: 1}, What: "warning", Warning: true}, {Pos: syntax.Pos{File: "a", Line: 1, Column: 1}, What: "4"},
	}
	var order []string
	for _, p := range ps.Errors() {
		order = append(order, p.What)
	}
	if want := []string{"3", "2", "1", "4"}; !slices.Equal(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
	if w := ps.Warnings(); len(w) != 1 || w.Err() != nil {
		t.Errorf("warnings %v, as an error %v", w, w.Err())
	}
}

// Compiling finds its problems after all files were read, so the problems of two
// files alternate.
func TestProblemsOfTwoFilesThatAlternateAreGroupedByFile(t *testing.T) {
	ps := syntax.Problems{
		{Pos: syntax.Pos{File: "b", Line: 6, Column: 1}}, {Pos: syntax.Pos{File: "a", Line: 6, Column: 1}}, {Pos: syntax.Pos{File: "b", Line: 3, Column: 1}}, {Pos: syntax.Pos{File: "a", Line: 3, Column: 1}},
		{Pos: syntax.Pos{File: "b", Line: 7, Column: 1}}, {Pos: syntax.Pos{File: "a"}}, {Key: "[0].endpoint"}, {Pos: syntax.Pos{File: "b", Line: 3, Column: 0}},
	}
	var order []string
	for _, p := range ps.Errors() {
		order = append(order, p.Pos.String())
	}
	if want := []string{"b:3", "b:3:1", "b:6:1", "b:7:1", "a", "a:3:1", "a:6:1", ""}; !slices.Equal(order, want) {
		t.Errorf("got %q, want %q", order, want)
	}
	ps = syntax.Problems{{Pos: syntax.Pos{File: "b", Line: 9, Column: 1}, Warning: true}, {Pos: syntax.Pos{File: "a", Line: 1, Column: 1}}, {Pos: syntax.Pos{File: "b", Line: 2, Column: 1}}}
	if got := ps.Errors(); got[0].Pos.File != "b" {
		t.Errorf("a file that came first, with a warning, is not first: %v", got)
	}
}
