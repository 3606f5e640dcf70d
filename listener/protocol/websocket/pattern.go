package websocket

import (
	"bytes"
	"fmt"
	"regexp"
	regex "regexp/syntax"
	"slices"
	"strings"

	"mockserver/config/syntax"
	view "mockserver/internal/json"
	"mockserver/internal/list"
	"mockserver/internal/tags"
	"mockserver/internal/wording"
	"mockserver/renderer/scalar"
)

// pattern is what messages are compared with: a text, the shape of a JSON object, or a regular
// expression.
type pattern struct {
	text  string
	shape *shape         // the shape of a JSON object; nil if none
	whole *regexp.Regexp // matches the whole message; nil if only the text matches
	any   bool           // whole matches every message
}

// heard is a message that is compared with patterns. Its JSON is parsed at most once.
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

// matches reports whether a message matches the pattern.
func (p *pattern) matches(h *heard) bool {
	switch {
	case string(h.text) == p.text:
		return true
	case p.shape != nil:
		return p.shape.matches(h.json())
	}
	return p.whole != nil && (p.any || p.whole.Match(h.text))
}

// everything lists expressions that match every message.
var everything = []string{".*", ".*?", "^.*$", "^.*", ".*$", "(.*)", "(?s).*", "(?s)^.*$", `[\s\S]*`}

// compilePattern compiles the pattern of an exchange. Package config refuses an empty pattern.
func compilePattern(text syntax.Text) (*pattern, syntax.Problems) {
	p := &pattern{text: text.Value}
	problem := func(warning bool, format string, args ...any) syntax.Problems {
		return syntax.Problems{{Pos: text.Pos, Key: text.Key, What: fmt.Sprintf(format, args...), Warning: warning}}
	}
	var warnings syntax.Problems
	if object := quoteTags(strings.TrimSpace(p.text)); strings.HasPrefix(object, "{") {
		if value := view.Parse([]byte(object)); value.Kind == view.Object {
			s := shapeOf(value)
			p.shape = &s
			return p, nil
		}
		if strings.HasPrefix(strings.TrimSpace(object[1:]), `"`) {
			warnings = problem(true, "the pattern looks like a JSON object but is not valid JSON; it is used as an RE2 expression")
		}
	}
	if _, err := regex.Parse(p.text, regex.Perl); err != nil {
		return nil, problem(false, "%s; write literal text between \\Q and \\E, and a JSON object between { and }", describe(err))
	}
	if regexp.QuoteMeta(p.text) == p.text {
		return p, warnings
	}
	whole, err := regexp.Compile(`\A(?s:` + p.text + `)\z`)
	if err != nil {
		return nil, problem(false, "%s", describe(err))
	}
	p.whole, p.any = whole, slices.Contains(everything, p.text)
	return p, warnings
}

// describe returns, as a text, what is wrong with an expression.
func describe(err error) string {
	if fault, ok := err.(*regex.Error); ok {
		return fmt.Sprintf("the pattern is not a valid RE2 expression: %s: %q", fault.Code, wording.Clip(fault.Expr))
	}
	return "the pattern is not a valid RE2 expression: " + wording.Clip(err.Error())
}

const placeholder = "{{}}"

// quoteTags replaces the placeholders of a JSON text with {{}}, and adds quotes to those outside
// strings.
func quoteTags(text string) string {
	var out strings.Builder
	for inside := false; ; {
		begin, end := tags.Next(text)
		out.WriteString(text[:begin])
		if begin == end {
			return out.String()
		}
		for i := 0; i < begin; i++ {
			switch {
			case text[i] == '"':
				inside = !inside
			case inside && text[i] == '\\':
				i++
			}
		}
		if inside {
			out.WriteString(placeholder)
		} else {
			out.WriteString(`"` + placeholder + `"`)
		}
		text = text[end:]
	}
}

// shape is what a pattern requires of a JSON value.
type shape struct {
	any     bool // any value matches
	kind    view.Kind
	text    string         // for a string
	raw     []byte         // for a number or a boolean, its JSON text
	like    *regexp.Regexp // for a string that contains placeholders
	members []member       // the required members of an object
	items   []shape        // for an array
}

// member is a member of an object.
type member struct {
	name  string
	shape shape
}

// shapeOf returns the shape of a JSON value. A placeholder alone matches any value, and one inside
// text matches any text. Of several members with the same name, the last one counts.
func shapeOf(v view.Value) shape {
	s := shape{kind: v.Kind, raw: v.Raw}
	switch v.Kind {
	case view.Object:
		_, members := view.ParseObject(v.Raw, make([]view.Member, 0, v.Len()))
		for i, m := range members {
			name := string(m.Key.AppendText(nil))
			if !slices.ContainsFunc(members[i+1:], func(later view.Member) bool { return later.Key.Equals(name) }) {
				s.members = append(s.members, member{name, shapeOf(m.Value)})
			}
		}
	case view.Array:
		elements := v.Elements()
		for element, ok := elements.Next(); ok; element, ok = elements.Next() {
			s.items = append(s.items, shapeOf(element))
		}
	case view.String:
		s.text = string(v.AppendText(nil))
		s.any = s.text == placeholder
		if parts := strings.Split(s.text, placeholder); len(parts) > 1 {
			s.like = regexp.MustCompile(`\A(?s:` + strings.Join(list.Map(parts, regexp.QuoteMeta), ".*") + `)\z`) // always compiles
		}
	}
	return s
}

// matches reports whether a value has the shape.
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
		if s.like == nil {
			return v.Equals(s.text)
		}
		text := v.Raw[1 : len(v.Raw)-1]
		if bytes.IndexByte(text, '\\') >= 0 {
			text = v.AppendText(nil)
		}
		return s.like.Match(text)
	case view.Number:
		return bytes.Equal(v.Raw, s.raw) || scalar.Compare(v.Raw, s.raw) == 0
	case view.Bool:
		return bytes.Equal(v.Raw, s.raw)
	}
	return true
}

// covers reports whether the pattern certainly leaves no message for a later pattern. A later
// regular expression counts as covered only by a pattern with the same text, or by one that matches
// every message. To find out about other patterns, the text of a later JSON object is treated as a
// message: a placeholder in it is a string that only a placeholder matches.
func (p *pattern) covers(later *pattern) bool {
	if p.any || p.text == later.text {
		return true
	}
	return later.whole == nil && (later.shape == nil || p.shape != nil) && p.matches(&heard{text: []byte(later.text)})
}
