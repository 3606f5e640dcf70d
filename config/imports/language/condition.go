// Package language makes texts of the configuration language for the importers: conditions,
// operands, paths, and templates.
//
// An imported condition never holds where the condition of the source does not. Where something
// cannot be expressed exactly, the functions of this package return a narrower condition and say
// so, or they fail.
package language

import (
	"fmt"
	"regexp"
	"strings"
)

// Quote returns a text in quotes, as a literal of conditions and templates.
func Quote(text string) string { return `"` + quoted.Replace(text) + `"` }

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`)

// word matches a name that needs no brackets.
var word = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// Member returns the operand of a member of root: header-params.X-A, json-params["a b"].
func Member(root, name string) string {
	if word.MatchString(name) && name != "length" {
		return root + "." + name
	}
	return root + "[" + Quote(name) + "]"
}

// numberLike matches every text that the language might compare as a number, and some others.
var numberLike = regexp.MustCompile(`^[+-]?[0-9.]`)

// Equal returns the condition that an operand is exactly the given text. Numbers are compared as
// texts, which "=" does not do, and a missing value does not equal an empty text.
func Equal(operand, text string) string {
	if text == "" || numberLike.MatchString(text) {
		return operand + " matches " + Quote("^"+regexp.QuoteMeta(text)+"$")
	}
	return operand + " = " + Quote(text)
}

// EqualFold is like Equal, but ignores case.
func EqualFold(operand, text string) string {
	return operand + " matches " + Quote("(?i)^"+regexp.QuoteMeta(text)+"$")
}

// Contains returns the condition that an operand, as text, contains a text.
func Contains(operand, text string) string {
	return operand + " matches " + Quote(regexp.QuoteMeta(text))
}

// Matches returns the condition that an operand matches a regular expression: as a whole if whole
// is set, for sources that compare whole texts. It fails if RE2 does not support the expression.
func Matches(operand, expression string, whole bool) (string, error) {
	expression = Expression(expression)
	if _, err := regexp.Compile(expression); err != nil {
		return "", fmt.Errorf("the regular expression %q cannot be expressed in RE2", expression)
	}
	if whole {
		expression = "^(?:" + expression + ")$"
	}
	return operand + " matches " + Quote(expression), nil
}

// Expression returns a regular expression of Java or JavaScript in the spelling of RE2.
func Expression(expression string) string {
	return strings.NewReplacer(`\\`, `\\`, `\/`, `/`, `(?<`, `(?P<`, `(?<=`, `(?<=`, `(?<!`, `(?<!`, `\Z`, `\z`, `\h`, `[ \t]`).Replace(expression)
}

// Present returns the condition that an operand has a value other than null.
func Present(operand string) string { return operand + " != null" }

// Absent returns the condition that an operand is missing or null.
func Absent(operand string) string { return operand + " = null" }

// And returns the condition that all of several hold. An empty condition always holds, so it is
// left out.
func And(conditions ...string) string {
	var parts []string
	for _, c := range conditions {
		if c != "" {
			parts = append(parts, c)
		}
	}
	return strings.Join(parts, " and ")
}

// Or returns the condition that at least one of several holds. If one of them is empty, and so
// always holds, the result is also empty.
func Or(conditions ...string) string {
	for _, c := range conditions {
		if c == "" {
			return ""
		}
	}
	if len(conditions) == 1 {
		return conditions[0]
	}
	return "(" + strings.Join(conditions, " or ") + ")"
}

// Not returns the negation of a condition, which must not be empty.
func Not(condition string) string { return "not (" + condition + ")" }

// Outermost returns a condition without the parentheses that enclose all of it.
func Outermost(condition string) string {
	closed := -1
	scan(condition, func(i, depth int) {
		if depth == 0 && closed < 0 {
			closed = i
		}
	})
	if strings.HasPrefix(condition, "(") && closed == len(condition)-1 {
		return condition[1:closed]
	}
	return condition
}

// scan calls visit for each byte of a condition outside quotes, with the number of parentheses that
// are open after it.
func scan(condition string, visit func(i, depth int)) {
	depth, quoted := 0, false
	for i := 0; i < len(condition); i++ {
		switch c := condition[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted:
			switch c {
			case '(':
				depth++
			case ')':
				depth--
			}
			visit(i, depth)
		}
	}
}

// Query returns the condition that the query is exactly the given text; "" means a request without
// a query.
func Query(query string) string {
	if query == "" {
		return `query-string = ""`
	}
	return Equal("query-string", query)
}
