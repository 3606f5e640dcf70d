package config

import (
	"slices"
	"strings"
	"testing"

	"mockserver/config/item"
	"mockserver/config/syntax"
)

// marker marks the position in a test's configuration where a problem is expected; it is removed
// before the configuration is read.
const marker = "§"

// marked removes the markers from a text and returns their positions.
func marked(file, text string) (string, []syntax.Pos) {
	var places []syntax.Pos
	var clean strings.Builder
	for {
		before, after, found := strings.Cut(text, marker)
		clean.WriteString(before)
		if !found {
			return clean.String(), places
		}
		sofar := clean.String()
		places = append(places, syntax.Pos{
			File:   file,
			Line:   1 + strings.Count(sofar, "\n"),
			Column: len(sofar) - strings.LastIndexByte(sofar, '\n'),
		})
		text = after
	}
}

// complaint is a problem as a table expects it.
type complaint struct {
	key  string
	what string // a part of the message
}

// expect compares problems with the marked positions and the complaints, in order.
func expect(t *testing.T, got syntax.Problems, places []syntax.Pos, want []complaint) {
	t.Helper()
	if len(got) != len(want) || len(places) != len(want) {
		t.Fatalf("%d problems, %d marked, %d expected:\n%v", len(got), len(places), len(want), got)
	}
	for i, p := range got {
		if p.Pos != places[i] {
			t.Errorf("problem %d is at %v, want %v: %v", i, p.Pos, places[i], p)
		}
		if p.Key != want[i].key {
			t.Errorf("problem %d has key %q, want %q", i, p.Key, want[i].key)
		}
		if want[i].what == "" || !strings.Contains(p.What, want[i].what) {
			t.Errorf("problem %d is %q, want %q in it", i, p.What, want[i].what)
		}
	}
}

// mistake is one row of a table of errors.
type mistake struct {
	name string
	text string
	want []complaint
}

func testMistakes(t *testing.T, file string, table []mistake) {
	t.Helper()
	for _, c := range table {
		t.Run(c.name, func(t *testing.T) {
			text, places := marked(file, c.text)
			spec := Parse(file, []byte(text))
			expect(t, spec.Problems.Errors(), places, c.want)
			if w := spec.Problems.Warnings(); len(w) > 0 {
				t.Errorf("unexpected warnings: %v", w)
			}
		})
	}
}

// one returns a list of a single complaint.
func one(key, what string) []complaint { return []complaint{{key, what}} }

// only parses a configuration that must have one endpoint and no problem.
func only(t *testing.T, file, text string) item.Endpoint {
	t.Helper()
	spec := Parse(file, []byte(text))
	if len(spec.Problems) > 0 || len(spec.Endpoints) != 1 {
		t.Fatalf("%d endpoints, problems: %v", len(spec.Endpoints), spec.Problems)
	}
	return spec.Endpoints[0]
}

func TestMarkedComputesPlacesFromOne(t *testing.T) {
	text, places := marked("f", "§a\n  é§b")
	want := []syntax.Pos{{File: "f", Line: 1, Column: 1}, {File: "f", Line: 2, Column: 5}}
	if text != "a\n  éb" || !slices.Equal(places, want) {
		t.Errorf("got %q %v, want %v", text, places, want)
	}
}
