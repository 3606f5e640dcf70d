package mockoon

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mockserver/config/imports/language"
	"mockserver/config/syntax"
	"mockserver/internal/semantics"
)

// rules returns the condition of a response. It notes why the condition holds for fewer requests, or
// why there is none.
func (e *endpoint) rules(notes *language.Notes, n *syntax.Node, rules []*syntax.Node) string {
	var all []string
	for _, rule := range rules {
		var inner language.Notes
		condition := e.rule(&inner, rule)
		if isTrue(get(rule, "invert")) {
			if condition = language.Negation(condition); len(inner.Differ) > 0 {
				inner.Lose("the opposite of a rule that is only approximated cannot be expressed")
			}
		}
		notes.Add(inner)
		all = append(all, condition)
	}
	if operator := text(get(n, "rulesOperator")); operator == "AND" {
		return language.And(all...)
	} else if operator != "" && operator != "OR" {
		notes.Lose("the operator %q of its rules is unknown; expected AND or OR", operator)
	}
	return language.Or(all...)
}

// rule returns the condition of one rule, without its inversion.
func (e *endpoint) rule(notes *language.Notes, n *syntax.Node) string {
	operator := cmp.Or(text(get(n, "operator")), "equals")
	if text(get(n, "operator")) == "" && isTrue(get(n, "isRegex")) { // before version 1.16
		operator = "regex"
	}
	target, modifier, value := text(get(n, "target")), text(get(n, "modifier")), text(get(n, "value"))
	if target == "body" && strings.Contains(modifier, "{{") {
		notes.Lose("a rule with the modifier %s cannot be expressed", modifier)
	}
	if strings.Contains(value, "{{") && operator != "null" && operator != "empty_array" {
		notes.Lose("a rule with the value %s cannot be expressed", value)
	}
	if target == "body" && modifier != "" {
		return bodyRule(notes, modifier, operator, value)
	}
	if target == "params" && e.optional(modifier) {
		if operator == "null" {
			return language.Not(never)
		}
		return never
	}
	operand := notes.Try(e.operand(target, modifier, operator))
	if target == "templating" && (operator == "null" || operator == "equals" && value == "") {
		return operand + ` = ""`
	}
	return compare(notes, operand, operator, value)
}

// compare returns the condition of an operator for a text.
func compare(notes *language.Notes, operand, operator, value string) string {
	switch operator {
	case "equals":
		return language.Equal(operand, value)
	case "regex":
		return notes.Try(language.Matches(operand, value, false))
	case "regex_i":
		return notes.Try(language.Matches(operand, "(?i)"+value, false))
	case "null":
		return language.Or(language.Absent(operand), language.Equal(operand, ""))
	case "array_includes", "empty_array":
		if !strings.HasPrefix(operand, "query-params") { // no other text is a list
			return never
		}
	}
	notes.Lose("a rule with the operator %s cannot be expressed", operator)
	return never
}

const (
	never = "method = null"

	composite = `json-params|json matches "^[[{]"`

	// types of bodies that Mockoon parses
	jsonType   = `header-params.Content-Type matches "application/json|(?i:application/.*\\+json)"`
	parsedType = `header-params.Content-Type matches "application/json|(?i:application/.*\\+json)|application/x-www-form-urlencoded|multipart/form-data|application/xml|application/soap\\+xml|text/xml"`
)

// bodyRule returns the condition of a rule on a member of the body: of JSON or of a form, or on the
// whole body if it has another type or is not JSON.
func bodyRule(notes *language.Notes, modifier, operator, value string) string {
	member := notes.Try(bodyPath(modifier))
	var ofJSON string
	array := member + `|json matches "^\\["`
	switch operator {
	case "equals":
		ofJSON = language.EqualText(member, value)
		if value == "" {
			ofJSON = language.Or(ofJSON, language.And(member+" = null", member+` != ""`)) // null
		}
		ofJSON = language.Or(ofJSON, language.And(array, member+" contains "+language.Quote(value)))
	case "null":
		ofJSON = language.And(composite, language.Or(language.Absent(member), language.Equal(member, "")))
	case "empty_array":
		ofJSON = member + "|json matches " + language.Quote(`^\[\s*\]$`)
	case "array_includes":
		if ofJSON = language.And(array, member+" contains "+language.Quote(value)); value == "null" || strings.Trim(value, "+-.0123456789eE") == "" {
			notes.Note("numbers in arrays are compared as numbers, and null is no text")
		}
	default:
		ofJSON = language.And("not "+array, compare(notes, member, operator, value))
		notes.Note("a regular expression is not compared with the items of an array")
	}
	ofText := compare(notes, "body", operator, value)
	ofScalar := compare(notes, "json-params|default:body", operator, value) // or of what is not JSON
	ways := []string{language.And(jsonType, ofJSON), language.And("not "+parsedType, ofText), language.And(jsonType, "not "+composite, ofScalar)}
	if ofForm := compare(notes, language.Member("form-params", fieldName(modifier)), operator, value); fieldName(modifier) != "" && ofForm != never {
		if operator == "null" {
			ofForm = language.And(parsedType, "not "+jsonType, ofForm)
		}
		ways = append(ways, ofForm)
	} else if operator == "null" {
		ways = append(ways, language.And(parsedType, "not "+jsonType))
	}
	ways = slices.DeleteFunc(ways, func(way string) bool { return strings.HasSuffix(way, never) })
	return language.Or(ways...)
}

// operand returns the operand that a rule checks, unless that is a member of the body.
func (e *endpoint) operand(target, modifier, operator string) (string, error) {
	known := modifier != "" && (target == "templating" || !strings.Contains(modifier, "{{"))
	switch target {
	case "body":
		if operator != "equals" && !strings.HasPrefix(operator, "regex") {
			return "", fmt.Errorf("a rule on the whole body with the operator %s cannot be expressed", operator)
		}
		return "body", nil
	case "templating":
		expression, err := language.SingleValue(modifier, &dialect{e, &language.Notes{}})
		if err != nil {
			err = fmt.Errorf("a rule on the template %s cannot be expressed", modifier)
		}
		return expression, err
	case "method":
		return "method|lower", nil
	case "header":
		known = semantics.IsToken(modifier)
	case "query":
		known = plain(modifier)
	case "params":
		known = e.own.Has(modifier) && e.path.Has(modifier)
	}
	if root, ok := targets[target]; ok && known {
		return language.Member(root, modifier), nil
	}
	return "", fmt.Errorf("a rule on %s %s cannot be expressed", target, modifier)
}

var targets = map[string]string{"header": "header-params", "cookie": "cookie-params", "query": "query-params", "params": "path-params"}

// plain reports whether a modifier is a single name.
func plain(modifier string) bool { return modifier != "" && !strings.ContainsAny(modifier, ".[]$") }

// fieldName returns the name of the field of a form that a path such as a or $.a refers to; "" for other
// paths.
func fieldName(path string) string {
	if path = strings.TrimPrefix(path, "$."); plain(path) {
		return path
	}
	return ""
}

// bodyPath returns the operand of a path such as a.b.0 or $.a[0].
func bodyPath(path string) (string, error) {
	if strings.HasPrefix(path, "$") {
		operand, rest := language.JSONPath("json-params", path)
		if rest != "" {
			return "", fmt.Errorf("the JSON path %s cannot be expressed", path)
		}
		return operand, nil
	}
	operand := "json-params"
	for part := range strings.SplitSeq(strings.ReplaceAll(path, `\.`, "\x00"), ".") {
		switch part = strings.ReplaceAll(part, "\x00", "."); {
		case part == "":
			return "", errors.New("a path with an empty part cannot be expressed")
		case part == "length":
			return "", errors.New("the length of a value has no equivalent")
		case strings.Trim(part, "0123456789") == "" && len(part) < 7:
			operand += "[" + part + "]"
		default:
			operand = language.Member(operand, part)
		}
	}
	return operand, nil
}
