package postman

import (
	"strings"

	"mockserver/config/syntax"
)

// asJSON parses a text that is a JSON object or array, in which variables may stand for values. It
// returns nil for any other text.
func asJSON(s string) *syntax.Node {
	s = quoteVariables(s)
	if t := strings.TrimSpace(s); t == "" || t[0] != '{' && t[0] != '[' {
		return nil
	}
	n, err := syntax.ReadOne("body.json", []byte(s))
	if err != nil || n.Kind != syntax.MapNode && n.Kind != syntax.ListNode {
		return nil
	}
	return n
}

// quoteVariables puts quotes around the variables of a JSON text that are outside of strings.
func quoteVariables(s string) string {
	var b strings.Builder
	inside := false // a string
	for i := 0; i < len(s); i++ {
		if at := reference.FindStringIndex(s[i:]); !inside && strings.HasPrefix(s[i:], "{{") && at != nil && at[0] == 0 {
			b.WriteString(`"` + s[i:i+at[1]] + `"`)
			i += at[1] - 1
			continue
		}
		b.WriteByte(s[i])
		switch {
		case s[i] == '"':
			inside = !inside
		case s[i] == '\\' && inside && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// open reports whether a value is a text with a variable: the value of a request may be any.
func open(n *syntax.Node) bool {
	return n.Kind == syntax.TextNode && reference.MatchString(n.Text.Value)
}

// leaves returns how many values are compared with a value.
func leaves(n *syntax.Node) int {
	if open(n) {
		return 0
	}
	if len(n.Items)+len(n.Entries) == 0 {
		return 1
	}
	sum := 0
	for _, item := range n.Items {
		sum += leaves(item)
	}
	for _, e := range n.Entries {
		sum += leaves(e.Value)
	}
	return sum
}

// fits reports whether a value fulfils the condition that is made from another.
func fits(want, got *syntax.Node) bool {
	switch {
	case got == nil || want.Kind != got.Kind && !open(want):
		return false
	case open(want):
		return true
	case len(want.Entries) != len(got.Entries) || len(want.Items) != len(got.Items):
		return false
	}
	for _, e := range want.Entries {
		if !fits(e.Value, got.Get(e.Key.Text.Value)) {
			return false
		}
	}
	for i, item := range want.Items {
		if !fits(item, got.Items[i]) {
			return false
		}
	}
	return want.Kind == syntax.MapNode || want.Kind == syntax.ListNode || want.Text.Value == got.Text.Value
}
