package language

import (
	"errors"
	"fmt"
	"strings"

	"mockserver/config/syntax"
)

// JSONRule says how JSON values are compared.
type JSONRule struct {
	AnyOrder bool // the order of arrays does not matter
	Extra    bool // additional members and items do not matter

	Open func(*syntax.Node) bool // what may be any value; nil for nothing
}

// maxLeaves limits the comparisons of one condition.
const maxLeaves = 500

// EqualJSON returns the condition that an operand, json-params or a value inside it, equals a
// value. narrower says why the condition holds for fewer requests than the rule allows; "" if it
// does not.
func EqualJSON(operand string, n *syntax.Node, rule JSONRule) (condition, narrower string, err error) {
	if n.Kind == syntax.NullNode {
		return "", "", errors.New("a body that is null cannot be distinguished from one that is not JSON")
	}
	j := &jsonCondition{rule: rule}
	j.value(operand, n)
	if len(j.parts) > maxLeaves {
		return "", "", fmt.Errorf("the value has more than %d parts to compare", maxLeaves)
	}
	return And(j.parts...), j.narrower, j.err
}

type jsonCondition struct {
	rule     JSONRule
	parts    []string
	narrower string
	err      error
}

func (j *jsonCondition) add(condition string) {
	if len(j.parts) <= maxLeaves {
		j.parts = append(j.parts, condition)
	}
}

func (j *jsonCondition) value(operand string, n *syntax.Node) {
	if j.rule.Open != nil && j.rule.Open(n) {
		return
	}
	switch n.Kind {
	case syntax.MapNode:
		j.object(operand, n)
	case syntax.ListNode:
		j.array(operand, n)
	case syntax.TextNode:
		if strings.Contains(n.Text.Value, "${json-unit.") {
			j.err = errors.New("placeholders of JsonUnit cannot be expressed")
		}
		j.add(EqualString(operand, n.Text.Value))
	case syntax.NullNode:
		j.add(operand + " = null")
	default:
		if n.Scalar() == "" {
			j.err = fmt.Errorf("the number %q is not JSON", n.Text.Value)
		}
		j.add(operand + "|json = " + n.Scalar())
	}
}

func (j *jsonCondition) object(operand string, n *syntax.Node) {
	if len(n.Entries) == 0 && !j.rule.Extra {
		j.add(operand + `|json matches ` + Quote(`^\{\s*\}$`))
		return
	}
	if !j.rule.Extra {
		j.add(fmt.Sprintf("%s|length = %d", operand, len(n.Entries)))
	} else if len(n.Entries) == 0 {
		j.add(operand + `|json matches ` + Quote(`^\{`))
	}
	for _, e := range n.Entries {
		name := e.Key.Text.Value
		if e.Value.Kind == syntax.NullNode || j.rule.Open != nil && j.rule.Open(e.Value) { // either may be missing
			j.add(operand + " contains " + Quote(name))
		}
		j.value(Member(operand, name), e.Value)
	}
}

func (j *jsonCondition) array(operand string, n *syntax.Node) {
	if len(n.Items) == 0 && !j.rule.Extra {
		j.add(operand + `|json matches ` + Quote(`^\[\s*\]$`))
		return
	}
	j.add(operand + `|json matches ` + Quote(`^\[`))
	if !j.rule.Extra {
		j.add(fmt.Sprintf("%s|length = %d", operand, len(n.Items)))
	}
	if words := distinctWords(n.Items); len(words) > 0 && j.rule.AnyOrder {
		for _, word := range words {
			j.add(operand + " contains " + Quote(word))
		}
		return
	}
	if len(n.Items) > 1 && j.rule.AnyOrder || j.rule.Extra && len(n.Items) > 0 {
		j.narrower = "the items of an array are compared in their order, from the first"
	}
	for i, item := range n.Items {
		if item.Kind == syntax.NullNode && j.rule.Extra {
			j.err = errors.New("null in an array cannot be distinguished from a missing item")
		}
		j.value(fmt.Sprintf("%s[%d]", operand, i), item)
	}
}

// distinctWords returns the items of a list if they are different texts, each of which equals only
// the same text; otherwise nil.
func distinctWords(items []*syntax.Node) []string {
	var words []string
	seen := map[string]bool{}
	for _, item := range items {
		text := item.Text.Value
		if item.Kind != syntax.TextNode || seen[text] || risky(text) {
			return nil
		}
		seen[text] = true
		words = append(words, text)
	}
	return words
}

// risky reports whether a text might equal a JSON value other than this text.
func risky(text string) bool {
	if text == "" || text == "true" || text == "false" || text == "null" {
		return true
	}
	return numberLike.MatchString(text) || text[0] == '{' || text[0] == '['
}

// EqualString returns the condition that a JSON value is the given string.
func EqualString(operand, text string) string {
	switch {
	case !risky(text):
		return operand + " = " + Quote(text)
	case !strings.ContainsAny(text, "\"\\<>&\x7f") && strings.IndexFunc(text, func(r rune) bool { return r < 0x20 || r > 0x7E }) < 0:
		return operand + "|json = " + Quote(`"`+text+`"`)
	}
	return operand + "|json matches " + Quote(`^"`) + " and " + Equal(operand, text)
}
