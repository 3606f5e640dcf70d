package mockoon

import (
	"errors"
	"fmt"
	"strings"

	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

// rules returns the condition of a response.
func (e *endpoint) rules(n *syntax.Node, rules []*syntax.Node) (string, error) {
	var all []string
	for _, rule := range rules {
		condition, err := e.rule(rule)
		if err != nil {
			return "", err
		}
		if isTrue(get(rule, "invert")) {
			condition = language.Not(condition)
		}
		all = append(all, condition)
	}
	if text(get(n, "rulesOperator")) == "AND" {
		return language.And(all...), nil
	}
	return language.Or(all...), nil
}

// rule returns the condition of one rule, without its inversion.
func (e *endpoint) rule(n *syntax.Node) (string, error) {
	operator := text(get(n, "operator"))
	if operator == "" {
		operator = "equals"
		if isTrue(get(n, "isRegex")) { // before version 1.16
			operator = "regex"
		}
	}
	operands, err := e.operands(text(get(n, "target")), text(get(n, "modifier")), operator)
	if err != nil {
		return "", err
	}
	value := text(get(n, "value"))
	if strings.Contains(value, "{{") && operator != "null" && operator != "empty_array" {
		return "", fmt.Errorf("a rule with the value %s cannot be expressed", value)
	}
	if text(get(n, "target")) == "method" {
		value = strings.ToUpper(value)
	}
	var ways []string
	for _, operand := range operands {
		condition, err := compare(operand, operator, value)
		if err != nil {
			return "", err
		}
		ways = append(ways, condition)
	}
	if operator == "null" { // all places where the value may be are empty
		return language.And(ways...), nil
	}
	return language.Or(ways...), nil
}

// compare returns the condition of an operator.
func compare(operand, operator, value string) (string, error) {
	switch operator {
	case "equals":
		return language.Equal(operand, value), nil
	case "regex":
		return language.Matches(operand, value, false)
	case "regex_i":
		return language.Matches(operand, "(?i)"+value, false)
	case "null":
		return language.Or(language.Absent(operand), language.Equal(operand, "")), nil
	case "empty_array":
		return operand + "|json matches " + language.Quote(`^\[\s*\]$`), nil
	case "array_includes":
		return operand + "|json matches " + language.Quote(`^\[`) + " and " + operand + " contains " + language.Quote(value), nil
	}
	return "", fmt.Errorf("a rule with the operator %s cannot be expressed", operator)
}

// operands returns the operands that a rule checks: for a body, the JSON value and the form field.
func (e *endpoint) operands(target, modifier, operator string) ([]string, error) {
	if strings.Contains(modifier, "{{") && target != "templating" {
		return nil, fmt.Errorf("a rule with the modifier %s cannot be expressed", modifier)
	}
	switch {
	case target == "body":
		return bodyOperands(modifier, operator)
	case target == "templating":
		return e.templated(modifier)
	case target == "method":
		return []string{"method"}, nil
	}
	known := modifier != ""
	switch target {
	case "header":
		known = language.HeaderName(modifier)
	case "query":
		known = plain(modifier)
	case "params":
		known = e.own.Has(modifier) && e.path.Has(modifier)
	}
	if root, ok := targets[target]; ok && known {
		return []string{language.Member(root, modifier)}, nil
	}
	return nil, fmt.Errorf("a rule on %s %s cannot be expressed", target, modifier)
}

var targets = map[string]string{"header": "header-params", "cookie": "cookie-params", "query": "query-params", "params": "path-params"}

// plain reports whether a modifier is a single name.
func plain(modifier string) bool { return modifier != "" && !strings.ContainsAny(modifier, ".[]$") }

// bodyOperands returns the operands that a rule on the body checks.
func bodyOperands(modifier, operator string) ([]string, error) {
	list := operator == "array_includes" || operator == "empty_array"
	if modifier == "" {
		if list || operator == "null" {
			return nil, fmt.Errorf("a rule on the whole body with the operator %s cannot be expressed", operator)
		}
		return []string{"body"}, nil
	}
	operand, err := bodyPath(modifier)
	if err != nil {
		return nil, err
	}
	if plain(modifier) && !list {
		return []string{operand, language.Member("form-params", modifier)}, nil
	}
	return []string{operand}, nil
}

// templated returns the operand of a rule on a template that consists of one value.
func (e *endpoint) templated(modifier string) ([]string, error) {
	expression, err := language.SingleValue(modifier, &dialect{endpoint: e})
	if err != nil {
		return nil, fmt.Errorf("a rule on the template %s cannot be expressed", modifier)
	}
	return []string{expression}, nil
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
		case strings.Trim(part, "0123456789") == "" && len(part) < 7:
			operand += "[" + part + "]"
		default:
			operand = language.Member(operand, part)
		}
	}
	return operand, nil
}
