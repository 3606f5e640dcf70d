package traffic

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/imports/language"
)

// pattern is a path with parameters.
type pattern struct {
	text     string // "/users/:id|int", as it is written
	segments []segment
	inferred bool // one of its parameters was found by this package
}

// segment is a segment of a pattern: a literal, or a parameter.
type segment struct {
	literal string // may be empty, between two slashes
	param   bool
	name    string
	class   class
	rest    bool // it matches all that remains
}

// class describes what the values of a parameter have in common.
type class struct {
	kind string // int, uuid, date, id; "" for anything
	size int    // of an id
}

const (
	// minValues is the minimum number of different values that make a segment a parameter.
	minValues = 3
	// maxDepth is the maximum number of segments of a path that are examined.
	maxDepth = 64
)

var (
	isInt   = regexp.MustCompile(`^-?[0-9]{1,40}$`)
	isUUID  = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	isDate  = regexp.MustCompile(`^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$`)
	notName = regexp.MustCompile(`[^A-Za-z0-9_-]`)
	isID    = regexp.MustCompile(`^[0-9A-Za-z_-]{8,}$`) // v1 and v2 are no identifiers
)

// classOf returns the class of a segment; its kind is "" if the segment has no class.
func classOf(text string) class {
	switch {
	case len(text) > maxMember:
	case isInt.MatchString(text):
		return class{kind: "int"}
	case isUUID.MatchString(text):
		return class{kind: "uuid"}
	case isDate.MatchString(text):
		return class{kind: "date"}
	case isID.MatchString(text) && strings.ContainsAny(text, "0123456789"):
		return class{"id", len(text)}
	}
	return class{}
}

// String returns the name of the class in reports.
func (c class) String() string {
	if c.kind == "id" {
		return strconv.Itoa(c.size) + " characters of base64url"
	}
	return c.kind
}

// infer returns the pattern of each path of one host. The paths begin with a slash. Paths that
// differ only in their percent-encoding have one pattern.
func infer(paths []string) []pattern {
	split := make([][]string, len(paths))
	found := make([][]segment, len(paths))
	all := make([]int, len(paths))
	for i, p := range paths {
		split[i] = language.Parts(p)
		for k, s := range split[i] {
			split[i][k] = strings.ReplaceAll((&url.URL{Path: language.Decoded(s)}).EscapedPath(), "/", "%2F")
		}
		found[i] = make([]segment, 0, len(split[i]))
		all[i] = i
	}
	branch(split, found, all, 0)
	patterns := make([]pattern, len(paths))
	for i := range patterns {
		patterns[i] = named(found[i])
	}
	return patterns
}

// branch finds the segments from a depth on, for paths whose earlier segments have the same
// pattern.
func branch(split [][]string, found [][]segment, paths []int, depth int) {
	branches := map[string][]int{}
	for _, i := range paths {
		if depth < len(split[i]) {
			text := split[i][depth]
			branches[text] = append(branches[text], i)
		}
	}
	classes := map[class]int{}
	for text := range branches {
		if c := classOf(text); c.kind != "" && depth < maxDepth {
			classes[c]++
		}
	}
	merged := map[class][]int{}
	for text, members := range branches {
		if c := classOf(text); classes[c] >= minValues {
			merged[c] = append(merged[c], members...)
			continue
		}
		for _, i := range members {
			found[i] = append(found[i], segment{literal: text})
		}
		branch(split, found, members, depth+1)
	}
	for c, members := range merged {
		for _, i := range members {
			found[i] = append(found[i], segment{param: true, class: c})
		}
		branch(split, found, members, depth+1)
	}
}

// named returns a pattern with named parameters. A date is called date, and the last parameter id.
// Any other parameter is named after the literal segment before it, or called id if there is none.
func named(segments []segment) pattern {
	p := pattern{segments: segments}
	last := -1
	for i, s := range segments {
		if s.param {
			last, p.inferred = i, true
		}
	}
	taken := map[string]bool{}
	for i := range segments {
		s := &segments[i]
		if !s.param {
			continue
		}
		name := "id"
		switch {
		case s.class.kind == "date":
			name = "date"
		case i != last && i > 0 && !segments[i-1].param && segments[i-1].literal != "":
			name = language.Singular(notName.ReplaceAllString(segments[i-1].literal, "_")) + "_id"
		}
		base := name
		for n := 2; taken[name]; n++ {
			name = base + strconv.Itoa(n)
		}
		taken[name] = true
		s.name = name
	}
	var path language.Path
	for _, s := range segments {
		one := language.Segment{Text: language.Decoded(s.literal)}
		if s.param {
			one = language.Segment{Kind: language.Param, Text: s.name}
			if kind := s.class.kind; kind != "" && kind != "id" { // a type that paths support
				one.Text += "|" + kind
			}
		}
		path = append(path, one)
	}
	p.text = path.String()
	return p
}

// parsePattern parses a pattern that the user gives.
func parsePattern(text string) pattern {
	p := pattern{text: text}
	for _, s := range language.Parts(text) {
		name, kind, _ := strings.Cut(s[min(1, len(s)):], "|")
		switch {
		case strings.HasPrefix(s, ":"):
			p.segments = append(p.segments, segment{param: true, name: name, class: class{kind: kind}})
		case strings.HasPrefix(s, "*"):
			p.segments = append(p.segments, segment{param: true, name: name, rest: true})
		default:
			p.segments = append(p.segments, segment{literal: s})
		}
	}
	return p
}

// matches reports whether a path fits the pattern.
func (p *pattern) matches(path string) bool {
	segments := language.Parts(path)
	for i, s := range p.segments {
		switch {
		case s.rest:
			return true
		case i >= len(segments):
			return false
		case !s.param:
			if s.literal != segments[i] {
				return false
			}
		case segments[i] == "" || slices.Contains([]string{"int", "uuid", "date"}, s.class.kind) && classOf(segments[i]).kind != s.class.kind:
			return false
		}
	}
	return len(segments) == len(p.segments)
}

// value returns the value of the segment at an index in a path.
func (p *pattern) value(path string, index int) string {
	segments := language.Parts(path)
	switch {
	case index >= len(segments):
		return ""
	case p.segments[index].rest:
		return strings.Join(segments[index:], "/")
	}
	return segments[index]
}
