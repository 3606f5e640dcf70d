package syntax

import "testing"

func TestPlaces_AreThoseOfTheSameFileAndWhatTheyAreIn(t *testing.T) {
	mistake := func(file, key string) Problem {
		return Problem{Pos: Pos{File: file}, Key: key, What: "wrong"}
	}
	known := Problems{mistake("a", "[1].endpoint.response.status"), mistake("a", "")}.Places()
	for _, c := range []struct {
		file, key string
		want      bool // it is kept
	}{
		{"a", "[1].endpoint.response.status", false},
		{"a", "[1].endpoint.response", false},
		{"a", "[1]", false},
		{"a", "[1].endpoint.response.status.x", true},
		{"a", "[1].endpoint.resp", true},
		{"a", "[1].endpoint.response.body", true},
		{"a", "[11].endpoint.response", true},
		{"b", "[1].endpoint.response", true},
		{"a", "", false},
	} {
		if got := len(known.LeaveOut(Problems{mistake(c.file, c.key)})) == 1; got != c.want {
			t.Errorf("%s %q: stays %v, want %v", c.file, c.key, got, c.want)
		}
	}
}
