package wiremock

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

// maxNesting limits how deeply patterns are nested.
const maxNesting = 40

// options are keys of patterns that modify another key and are read with it.
var options = []string{"caseInsensitive", "ignoreArrayOrder", "ignoreExtraElements", "expression", "truncateExpected", "truncateActual", "actualFormat"}

// condition returns the condition that the value of an operand matches a pattern.
func condition(operand string, n *syntax.Node, depth int) (string, string, error) {
	if depth > maxNesting {
		return "", "", errors.New("matchers are nested too deep")
	}
	if n.Kind != syntax.MapNode || len(n.Entries) == 0 {
		return "", "", fmt.Errorf("a matcher is %v; expected a map", n.Kind)
	}
	var all, narrower []string
	for _, e := range n.Entries {
		key := e.Key.Text.Value
		if slices.Contains(options, key) {
			continue
		}
		one, less, err := matcher(operand, key, e.Value, n, depth)
		if err != nil {
			return "", "", err
		}
		all = append(all, one)
		if less != "" {
			narrower = append(narrower, less)
		}
	}
	if len(all) > 1 {
		narrower = append(narrower, "WireMock uses only one of several matchers in a map; here all must hold")
	}
	return language.And(all...), strings.Join(narrower, "; "), nil
}

// matcher returns the condition of one matcher, whose options are in of.
func matcher(operand, key string, value, of *syntax.Node, depth int) (condition, narrower string, err error) {
	text := text(value)
	switch key {
	case "equalTo":
		if isTrue(get(of, "caseInsensitive")) {
			return language.EqualFold(operand, text), "", nil
		}
		return language.Equal(operand, text), "", nil
	case "contains":
		return language.Contains(operand, text), "", nil
	case "doesNotContain":
		return language.Not(language.Contains(operand, text)), "", nil
	case "matches", "doesNotMatch":
		condition, err = matches(operand, text)
		if key == "doesNotMatch" {
			condition = language.Not(condition)
		}
		return condition, "", err
	case "absent":
		return language.Absent(operand), "", nil
	case "anything":
		return "", "", nil
	}
	return special(operand, key, value, of, depth)
}

// matches returns the condition that an expression of Java, whose . is any character, matches the
// whole text of an operand.
func matches(operand, expression string) (string, error) {
	if err := javaOnly(expression); err != nil {
		return "", err
	}
	if strings.Contains(expression, ".") && !strings.HasPrefix(operand, "header-params") {
		expression = "(?s)" + expression
	}
	condition, err := language.Matches(operand, expression, true)
	if err == nil && operand == "body" && language.MatchesEmpty(expression) { // an empty body is no text
		condition = language.And(`body != ""`, condition)
	}
	return condition, err
}

// javaOnly returns an error for an expression with a class that RE2 would read differently: one
// that contains another class or an intersection.
func javaOnly(expression string) error {
	class := false
	for i := 0; i < len(expression); i++ {
		switch rest := expression[i:]; {
		case class && (rest[0] == '[' || strings.HasPrefix(rest, "&&") || strings.HasPrefix(rest, `\h`)):
			return fmt.Errorf("the regular expression %q cannot be expressed in RE2", expression)
		case rest[0] == '\\':
			i++
		case rest[0] == '[' && !class:
			class = true
			if strings.HasPrefix(rest, "[]") || strings.HasPrefix(rest, "[^]") {
				i += strings.IndexByte(rest, ']')
			}
		case rest[0] == ']':
			class = false
		}
	}
	return nil
}

// special returns the condition of a matcher that does more than compare texts.
func special(operand, key string, value, of *syntax.Node, depth int) (condition, narrower string, err error) {
	if operator, ok := numbers[key]; ok && value.Kind == syntax.NumberNode && value.Number != "" {
		return operand + " matches " + language.Quote(`^[+-]?[0-9]*\.?[0-9]+$`) + " and " + operand + " " + operator + " " + value.Number, "", nil
	}
	switch key {
	case "equalToJson":
		return equalToJSON(operand, value, of)
	case "matchesJsonPath":
		return jsonPath(operand, value, depth)
	case "binaryEqualTo":
		data, err := base64.StdEncoding.DecodeString(text(value))
		if err != nil || !utf8.Valid(data) || len(data) == 0 {
			return "", "", errors.New("binaryEqualTo with bytes that are not text cannot be expressed")
		}
		return language.Equal(operand, string(data)), "", nil
	case "and", "or":
		return joined(operand, key, value, depth)
	case "not":
		inner, less, err := conditionOf(operand, value, depth)
		if err == nil && less != "" {
			err = errors.New("the opposite of a matcher that is only approximated cannot be expressed")
		}
		return language.Not(inner), "", err
	case "includes":
		if len(value.Items) == 1 && !strings.HasPrefix(operand, "cookie-params") { // a cookie has no list of values
			return conditionOf(operand, value.Items[0], depth)
		}
	}
	return "", "", fmt.Errorf("the matcher %s cannot be expressed", key)
}

var numbers = map[string]string{"equalToNumber": "=", "greaterThanNumber": ">", "greaterThanEqualNumber": ">=", "lessThanNumber": "<", "lessThanEqualNumber": "<="}

// conditionOf does the same as condition for a matcher inside another one, but its result is never
// empty.
func conditionOf(operand string, n *syntax.Node, depth int) (inner, narrower string, err error) {
	inner, narrower, err = condition(operand, n, depth+1)
	if err == nil && inner == "" {
		inner = "true"
	}
	return inner, narrower, err
}

// joined returns the condition of the matchers "and" and "or".
func joined(operand, key string, list *syntax.Node, depth int) (condition, narrower string, err error) {
	if len(list.Items) == 0 {
		return "", "", fmt.Errorf("the matcher %s has no items", key)
	}
	var all []string
	for _, item := range list.Items {
		one, less, err := conditionOf(operand, item, depth)
		if err != nil {
			return "", "", err
		}
		if less != "" {
			narrower = less
		}
		all = append(all, one)
	}
	if key == "and" {
		return language.And(all...), narrower, nil
	}
	return language.Or(all...), narrower, nil
}

// equalToJSON returns the condition for JSON that is given as a text or in place.
func equalToJSON(operand string, value, of *syntax.Node) (condition, narrower string, err error) {
	if operand != "body" && !strings.HasPrefix(operand, "json-params") {
		return "", "", errors.New("equalToJson of anything but the body cannot be expressed")
	}
	if operand == "body" {
		operand = "json-params"
	}
	if value.Kind == syntax.TextNode {
		docs, problems := syntax.Read("equalToJson.json", []byte(value.Text.Value))
		if problems.Err() != nil || len(docs) != 1 {
			return "", "", errors.New("the text of equalToJson is not JSON")
		}
		value = docs[0]
	}
	return language.EqualJSON(operand, value, language.JSONRule{AnyOrder: isTrue(get(of, "ignoreArrayOrder")), Extra: isTrue(get(of, "ignoreExtraElements"))})
}

// jsonPath returns the condition of a path alone, or of a path and a matcher for the values that it
// finds.
func jsonPath(operand string, value *syntax.Node, depth int) (string, string, error) {
	if operand != "body" {
		return "", "", errors.New("matchesJsonPath can be expressed only for the body")
	}
	if value.Kind != syntax.MapNode {
		return language.JSONPathHolds("json-params", text(value))
	}
	path := text(get(value, "expression"))
	found, rest := language.JSONPath("json-params", path)
	if rest != "" || path == "" {
		return "", "", fmt.Errorf("the JSON path %q with a matcher cannot be expressed", path)
	}
	if get(value, "absent") != nil {
		return language.Or(language.Absent(found), found+`|json matches "^\\[\\s*\\]$"`), "", nil
	}
	inner, narrower, err := condition(found, value, depth+1)
	if err != nil || get(value, "equalToJson") != nil {
		return language.And(language.Present(found), inner), narrower, err
	}
	array := found + `|json matches "^\\["`
	inner = language.And(language.Present(found), "not "+array, inner)
	if equal := get(value, "equalTo"); equal != nil && !isTrue(get(value, "caseInsensitive")) { // one of the items
		return language.Or(inner, array+" and "+found+" contains "+language.Quote(text(equal))), narrower, nil
	}
	return inner, "the matchers of a JSON path do not look into arrays", nil
}
