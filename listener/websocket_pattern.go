package listener

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	regex "regexp/syntax"
	"slices"
	"strings"

	"mockserver/config/syntax"
	"mockserver/internal/tags"
	view "mockserver/matcher/json"
	"mockserver/renderer"
)

// pattern is what a message is held against: the text itself, and beside that either
// the shape of a JSON object or an expression.
type pattern struct {
	text  string
	shape *shape         // of a JSON object; nil for none
	whole *regexp.Regexp // of the whole message; nil where only the text itself has it
	any   bool           // whole has every message
}

// heard is a message while it is held against patterns. Its JSON is read once, if it is
// asked for.
type heard struct {
	text   []byte
	value  view.Value
	parsed bool
}

func (h *heard) json() view.Value {
	if !h.parsed {
		h.parsed = true
		h.value = view.Parse(h.text)
	}
	return h.value
}

// matches tells whether the pattern is one of the message.
func (p *pattern) matches(h *heard) bool {
	switch {
	case string(h.text) == p.text:
		return true
	case p.shape != nil:
		return p.shape.matches(h.json())
	}
	return p.whole != nil && (p.any || p.whole.Match(h.text))
}

// everything are the expressions that every message has.
var everything = []string{".*", ".*?", "^.*$", "^.*", ".*$", "(.*)", "(?s).*", "(?s)^.*$", `[\s\S]*`}

// compilePattern compiles the pattern of an exchange. An empty one is config's to find.
func compilePattern(text syntax.Text) (*pattern, syntax.Problems) {
	p := &pattern{text: text.Value}
	problem := func(warning bool, format string, args ...any) syntax.Problems {
		return syntax.Problems{{Pos: text.Pos, Key: text.Key, What: fmt.Sprintf(format, args...), Warning: warning}}
	}
	var warnings syntax.Problems
	if object := quoteTags(strings.TrimSpace(p.text)); strings.HasPrefix(object, "{") {
		var value map[string]any
		d := json.NewDecoder(strings.NewReader(object))
		d.UseNumber()
		if view.Parse([]byte(object)).Kind == view.Object && d.Decode(&value) == nil {
			p.shape = shapeOf(value)
			return p, nil
		}
		if strings.HasPrefix(strings.TrimSpace(object[1:]), `"`) {
			warnings = problem(true, "the pattern looks like a JSON object, but it is none, so it is taken for an RE2 expression")
		}
	}
	if _, err := regex.Parse(p.text, regex.Perl); err != nil {
		return nil, problem(false, "%s; a text as it is stands between \\Q and \\E, and a JSON object between { and }", faultOf(err))
	}
	if regexp.QuoteMeta(p.text) == p.text {
		return p, warnings
	}
	whole, err := regexp.Compile(`\A(?s:` + p.text + `)\z`)
	if err != nil {
		return nil, problem(false, "%s", faultOf(err))
	}
	p.whole, p.any = whole, slices.Contains(everything, p.text)
	return p, warnings
}

// faultOf says what is wrong with an expression.
func faultOf(err error) string {
	if fault, ok := err.(*regex.Error); ok {
		return fmt.Sprintf("the pattern is no RE2 expression: %s: %q", fault.Code, bounded(fault.Expr))
	}
	return "the pattern is no RE2 expression: " + bounded(err.Error())
}

// quoteTags makes a JSON text of one with placeholders: each stands for {{}} then, in
// quotes where it stood outside of a string.
func quoteTags(text string) string {
	if tags.Start(text) == len(text) {
		return text
	}
	var out strings.Builder
	inside := false
	for i := 0; i < len(text); {
		n := 1
		switch {
		case strings.HasPrefix(text[i:], "{{"):
			if begin, end := tags.Next(text[i:]); begin == 0 {
				out.WriteString(map[bool]string{true: "{{}}", false: `"{{}}"`}[inside])
				i += end
				continue
			}
		case inside && text[i] == '\\':
			n = min(2, len(text)-i)
		case text[i] == '"':
			inside = !inside
		}
		out.WriteString(text[i : i+n])
		i += n
	}
	return out.String()
}

// shape is what a JSON value has to be like.
type shape struct {
	any     bool // whatever it is
	kind    view.Kind
	text    string         // of a string
	raw     []byte         // of a number or a boolean, its JSON text
	like    *regexp.Regexp // of a string that has placeholders in it
	members []member       // that an object has to have, by name
	items   []shape        // those of an array
}

// member is one of an object.
type member struct {
	name  string
	shape shape
}

// shapeOf is the shape of an object that encoding/json has read.
func shapeOf(object map[string]any) *shape {
	s := shapeOfValue(object)
	return &s
}

func shapeOfValue(value any) shape {
	switch v := value.(type) {
	case map[string]any:
		s := shape{kind: view.Object}
		for name, inner := range v {
			s.members = append(s.members, member{name, shapeOfValue(inner)})
		}
		slices.SortFunc(s.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
		return s
	case []any:
		s := shape{kind: view.Array}
		for _, inner := range v {
			s.items = append(s.items, shapeOfValue(inner))
		}
		return s
	case string:
		return shapeOfText(v)
	case json.Number:
		return shape{kind: view.Number, raw: []byte(v)}
	case bool:
		return shape{kind: view.Bool, raw: fmt.Append(nil, v)}
	}
	return shape{kind: view.Null}
}

// shapeOfText is the shape of a string: a placeholder alone stands for any value, and one
// among letters for any letters.
func shapeOfText(text string) shape {
	s := shape{kind: view.String, text: text}
	switch begin, end := tags.Next(text); {
	case begin == end:
		return s
	case begin == 0 && end == len(text) && text[1] == '{':
		return shape{any: true}
	}
	var like strings.Builder
	for rest := text; ; {
		begin, end := tags.Next(rest)
		like.WriteString(regexp.QuoteMeta(rest[:begin]))
		if begin == end {
			break
		}
		like.WriteString(".*")
		rest = rest[end:]
	}
	s.like = regexp.MustCompile(`\A(?s:` + like.String() + `)\z`) // of quoted letters and .*
	return s
}

// matches tells whether a value has the shape.
func (s *shape) matches(v view.Value) bool {
	if s.any || v.Kind != s.kind {
		return s.any && v.Kind != view.Missing
	}
	switch v.Kind {
	case view.Object:
		for i := range s.members {
			if m := &s.members[i]; !m.shape.matches(v.Member(m.name)) {
				return false
			}
		}
	case view.Array:
		elements := v.Elements()
		for i := range s.items {
			if element, ok := elements.Next(); !ok || !s.items[i].matches(element) {
				return false
			}
		}
		_, more := elements.Next()
		return !more
	case view.String:
		return s.isLike(v)
	case view.Number:
		return bytes.Equal(v.Raw, s.raw) || renderer.EqualNumbers(v.Raw, s.raw)
	case view.Bool:
		return bytes.Equal(v.Raw, s.raw)
	}
	return true
}

// isLike tells whether a string is the text.
func (s *shape) isLike(v view.Value) bool {
	text := v.Raw[1 : len(v.Raw)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		text = v.AppendText(nil)
	}
	if s.like != nil {
		return s.like.Match(text)
	}
	return string(text) == s.text
}

// covers tells whether every value of another shape has this one.
func (s *shape) covers(other *shape) bool {
	switch {
	case s.any:
		return true
	case other.any || s.kind != other.kind:
		return false
	}
	switch s.kind {
	case view.Object:
		for i := range s.members {
			j := slices.IndexFunc(other.members, func(m member) bool { return m.name == s.members[i].name })
			if j < 0 || !s.members[i].shape.covers(&other.members[j].shape) {
				return false
			}
		}
		return true
	case view.Array:
		if len(s.items) != len(other.items) {
			return false
		}
		for i := range s.items {
			if !s.items[i].covers(&other.items[i]) {
				return false
			}
		}
		return true
	case view.Number:
		return renderer.EqualNumbers(s.raw, other.raw)
	case view.Bool:
		return bytes.Equal(s.raw, other.raw)
	}
	if s.like != nil && other.like == nil {
		return s.like.MatchString(other.text)
	}
	return s.text == other.text && (s.like == nil) == (other.like == nil)
}

// covers tells whether no message reaches another pattern that comes later.
func (p *pattern) covers(later *pattern) bool {
	switch {
	case p.any, p.text == later.text:
		return true
	case later.shape == nil && later.whole == nil:
		return p.matches(&heard{text: []byte(later.text)})
	}
	return p.shape != nil && later.shape != nil && p.shape.covers(later.shape) && p.matches(&heard{text: []byte(later.text)})
}
