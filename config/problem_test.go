package config

import (
	"slices"
	"strings"
	"testing"
)

func TestProblemNamesWhatIsKnown(t *testing.T) {
	for want, p := range map[string]Problem{
		"f.yml:3:5: [0].endpoint: bad": {Pos: Pos{"f.yml", 3, 5}, Key: "[0].endpoint", What: "bad"},
		"f.yml:3: bad":                 {Pos: Pos{"f.yml", 3, 0}, What: "bad"},
		"f.yml: bad":                   {Pos: Pos{File: "f.yml"}, What: "bad"},
		"[0].endpoint: bad":            {Key: "[0].endpoint", What: "bad"},
	} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTwentyProblemsAreShownAndTheRestCounted(t *testing.T) {
	for n, last := range map[int]string{
		20: "f.yml:20:3: [19]: is a number (1); a map with one key, endpoint, is accepted",
		21: "and 1 more",
		50: "and 30 more",
	} {
		err := Parse("f.yml", []byte(strings.Repeat("- 1\n", n))).Problems.Err()
		lines := strings.Split(err.Error(), "\n")
		if got := lines[len(lines)-1]; got != last || len(lines) != min(n, 21) {
			t.Errorf("%d mistakes: %d lines, the last %q, want %q", n, len(lines), got, last)
		}
	}
}

func TestProblemsAreSortedByLineWithinTheirFile(t *testing.T) {
	ps := Problems{
		{Pos: Pos{"b", 9, 1}, What: "1"}, {Pos: Pos{"b", 2, 7}, What: "2"}, {Pos: Pos{"b", 2, 3}, What: "3"},
		{Pos: Pos{"b", 1, 1}, What: "warning", Warning: true}, {Pos: Pos{"a", 1, 1}, What: "4"},
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
	ps := Problems{
		{Pos: Pos{"b", 6, 1}}, {Pos: Pos{"a", 6, 1}}, {Pos: Pos{"b", 3, 1}}, {Pos: Pos{"a", 3, 1}},
		{Pos: Pos{"b", 7, 1}}, {Pos: Pos{File: "a"}}, {Key: "[0].endpoint"}, {Pos: Pos{"b", 3, 0}},
	}
	var order []string
	for _, p := range ps.Errors() {
		order = append(order, p.Pos.String())
	}
	if want := []string{"b:3", "b:3:1", "b:6:1", "b:7:1", "a", "a:3:1", "a:6:1", ""}; !slices.Equal(order, want) {
		t.Errorf("got %q, want %q", order, want)
	}
	ps = Problems{{Pos: Pos{"b", 9, 1}, Warning: true}, {Pos: Pos{"a", 1, 1}}, {Pos: Pos{"b", 2, 1}}}
	if got := ps.Errors(); got[0].Pos.File != "b" {
		t.Errorf("a file that came first with a warning stands behind: %v", got)
	}
}
