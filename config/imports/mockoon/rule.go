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
	var any []string
	for _, operand := range operands {
		condition, err := compare(operand, operator, value)
		if err != nil {
			return "", err
		}
		any = append(any, condition)
	}
	if operator == "null" { // of the places where a value may be, all are empty
		return language.And(any...), nil
	}
	return language.Or(any...), nil
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

// operands returns what a rule looks at: of a body, the JSON value and the field of a form.
func (e *endpoint) operands(target, modifier, operator string) ([]string, error) {
	if strings.Contains(modifier, "{{") && target != "templating" {
		return nil, fmt.Errorf("a rule with the modifier %s cannot be expressed", modifier)
	}
	plain := modifier != "" && !strings.ContainsAny(modifier, ".[]$")
	switch {
	case target == "header" && language.HeaderName(modifier):
		return []string{language.Member("header-params", modifier)}, nil
	case target == "cookie" && modifier != "":
		return []string{language.Member("cookie-params", modifier)}, nil
	case target == "query" && plain:
		return []string{language.Member("query-params", modifier)}, nil
	case target == "params" && e.own.Has(modifier) && e.path.Has(modifier):
		return []string{language.Member("path-params", modifier)}, nil
	case target == "method":
		return []string{"method"}, nil
	case target == "body" && modifier == "" && operator != "array_includes" && operator != "null" && operator != "empty_array":
		return []string{"body"}, nil
	case target == "body" && modifier != "":
		operand, err := bodyPath(modifier)
		if err != nil {
			return nil, err
		}
		if plain && operator != "empty_array" && operator != "array_includes" {
			return []string{operand, language.Member("form-params", modifier)}, nil
		}
		return []string{operand}, nil
	case target == "templating":
		return e.templated(modifier)
	}
	return nil, fmt.Errorf("a rule on %s %s cannot be expressed", target, modifier)
}

// templated returns the operand of a rule on a template that is one value.
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
