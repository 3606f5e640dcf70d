package wiremock

import (
	"cmp"
	"encoding/base64"
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

// condition returns the condition that the value of an operand matches a pattern. It notes why the
// condition holds for fewer requests, or why there is none.
func condition(notes *language.Notes, operand string, n *syntax.Node, depth int) string {
	if depth > maxNesting {
		notes.Lose("matchers are nested too deep")
		return ""
	}
	if n.Kind != syntax.MapNode || len(n.Entries) == 0 {
		notes.Lose("a matcher is %v; expected a map", n.Kind)
	}
	var all []string
	for key, value := range n.Members() {
		if !slices.Contains(options, key) {
			all = append(all, matcher(notes, operand, key, value, n, depth))
		}
	}
	if len(all) > 1 {
		notes.Note("WireMock uses only one of several matchers in a map; here all must hold")
	}
	return language.And(all...)
}

// matcher returns the condition of one matcher, whose options are in of.
func matcher(notes *language.Notes, operand, key string, value, of *syntax.Node, depth int) string {
	text := text(value)
	switch key {
	case "equalTo":
		if isTrue(get(of, "caseInsensitive")) {
			return language.EqualFold(operand, text)
		}
		return language.Equal(operand, text)
	case "contains":
		return language.Contains(operand, text)
	case "doesNotContain":
		return language.Not(language.Contains(operand, text))
	case "matches":
		return matches(notes, operand, text)
	case "doesNotMatch":
		return language.Not(matches(notes, operand, text))
	case "absent":
		return language.Absent(operand)
	case "anything":
		return ""
	}
	return special(notes, operand, key, value, of, depth)
}

// matches returns the condition that an expression of Java, whose . is any character, matches the
// whole text of an operand.
func matches(notes *language.Notes, operand, expression string) string {
	if err := javaOnly(expression); err != nil {
		notes.Lose(err.Error())
	}
	if strings.Contains(expression, ".") && !strings.HasPrefix(operand, "header-params") {
		expression = "(?s)" + expression
	}
	condition := notes.Try(language.Matches(operand, expression, true))
	if operand == "body" && language.MatchesEmpty(expression) { // an empty body is no text
		condition = language.And(`body != ""`, condition)
	}
	return condition
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
func special(notes *language.Notes, operand, key string, value, of *syntax.Node, depth int) string {
	if operator, ok := numbers[key]; ok && value.Kind == syntax.NumberNode && value.Number != "" {
		return operand + " matches " + language.Quote(`^[+-]?[0-9]*\.?[0-9]+$`) + " and " + operand + " " + operator + " " + value.Number
	}
	switch key {
	case "equalToJson":
		return equalToJSON(notes, operand, value, of)
	case "matchesJsonPath":
		return jsonPath(notes, operand, value, depth)
	case "binaryEqualTo":
		data, err := base64.StdEncoding.DecodeString(text(value))
		if err != nil || !utf8.Valid(data) || len(data) == 0 {
			notes.Lose("binaryEqualTo with bytes that are not text cannot be expressed")
		}
		return language.Equal(operand, string(data))
	case "and", "or":
		return joined(notes, operand, key, value, depth)
	case "not":
		var inner language.Notes
		condition := conditionOf(&inner, operand, value, depth)
		if len(inner.Differ) > 0 {
			inner.Lose("the opposite of a matcher that is only approximated cannot be expressed")
		}
		notes.Add(inner)
		return language.Not(condition)
	case "includes":
		if len(value.Items) == 1 && !strings.HasPrefix(operand, "cookie-params") { // a cookie has no list of values
			return conditionOf(notes, operand, value.Items[0], depth)
		}
	}
	notes.Lose("the matcher %s cannot be expressed", key)
	return ""
}

var numbers = map[string]string{"equalToNumber": "=", "greaterThanNumber": ">", "greaterThanEqualNumber": ">=", "lessThanNumber": "<", "lessThanEqualNumber": "<="}

// conditionOf does the same as condition for a matcher inside another one, but its result is never
// empty.
func conditionOf(notes *language.Notes, operand string, n *syntax.Node, depth int) string {
	return cmp.Or(condition(notes, operand, n, depth+1), "true")
}

// joined returns the condition of the matchers "and" and "or".
func joined(notes *language.Notes, operand, key string, list *syntax.Node, depth int) string {
	if len(list.Items) == 0 {
		notes.Lose("the matcher %s has no items", key)
	}
	var all []string
	for _, item := range list.Items {
		all = append(all, conditionOf(notes, operand, item, depth))
	}
	if key == "and" {
		return language.And(all...)
	}
	return language.Or(all...)
}

// equalToJSON returns the condition for JSON that is given as a text or in place.
func equalToJSON(notes *language.Notes, operand string, value, of *syntax.Node) string {
	if operand == "body" {
		operand = "json-params"
	}
	if !strings.HasPrefix(operand, "json-params") {
		notes.Lose("equalToJson of anything but the body cannot be expressed")
	}
	if value.Kind == syntax.TextNode {
		read, err := syntax.ReadOne("equalToJson.json", []byte(value.Text.Value))
		if err != nil {
			notes.Lose("the text of equalToJson is not JSON")
			return ""
		}
		value = read
	}
	rule := language.JSONRule{AnyOrder: isTrue(get(of, "ignoreArrayOrder")), Extra: isTrue(get(of, "ignoreExtraElements"))}
	return notes.Narrow(language.EqualJSON(operand, value, rule))
}

// jsonPath returns the condition of a path alone, or of a path and a matcher for the values that it
// finds.
func jsonPath(notes *language.Notes, operand string, value *syntax.Node, depth int) string {
	if operand != "body" {
		notes.Lose("matchesJsonPath can be expressed only for the body")
	}
	if text(value) == "$" { // a body that is not JSON is a text
		return language.Or("json-params", `body != "" and not body matches "^\\s*(?:[{\\[]|null\\s*$)"`)
	}
	if value.Kind != syntax.MapNode {
		return notes.Narrow(language.JSONPathHolds("json-params", text(value)))
	}
	path := text(get(value, "expression"))
	found, rest := language.JSONPath("json-params", path)
	if rest != "" || path == "" {
		notes.Lose("the JSON path %q with a matcher cannot be expressed", path)
	}
	if get(value, "absent") != nil {
		return language.Or(language.Absent(found), found+`|json matches "^\\[\\s*\\]$"`)
	}
	inner := condition(notes, found, value, depth+1)
	if get(value, "equalToJson") != nil {
		return language.And(language.Present(found), inner)
	}
	array := found + `|json matches "^\\["`
	inner = language.And(language.Present(found), "not "+array, inner)
	if equal := get(value, "equalTo"); equal != nil && !isTrue(get(value, "caseInsensitive")) { // one of the items
		return language.Or(inner, array+" and "+found+" contains "+language.Quote(text(equal)))
	}
	notes.Note("the matchers of a JSON path do not look into arrays")
	return inner
}
