package language

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// arrayItems is the maximum number of items of an array to which a filter is applied.
const arrayItems = 10

// JSONPath returns the operand of a JSON path without filters and wildcards: $.a['b'][0] is
// json-params.a.b[0]. rest begins with the first part that cannot be expressed as an operand.
func JSONPath(root, path string) (operand, rest string) {
	operand = root
	rest = strings.TrimPrefix(strings.TrimSpace(path), "$")
	for rest != "" {
		name, n := step(rest)
		if n == 0 {
			return operand, rest
		}
		if index, err := strconv.Atoi(name); err == nil && rest[0] == '[' && rest[1] != '\'' && rest[1] != '"' {
			operand += fmt.Sprintf("[%d]", index)
		} else {
			operand = Member(operand, name)
		}
		rest = rest[n:]
	}
	return operand, ""
}

var (
	dotted    = regexp.MustCompile(`^\.([A-Za-z_][A-Za-z0-9_$-]*)`)
	bracketed = regexp.MustCompile(`^\.?\[(?:'([^'\\]*)'|"([^"\\]*)"|([0-9]{1,6}))\]`)
)

// step returns the member or index at the beginning of a path and its length; 0 for neither.
func step(path string) (name string, n int) {
	if m := bracketed.FindStringSubmatch(path); m != nil {
		return m[1] + m[2] + m[3], len(m[0])
	}
	if m := dotted.FindStringSubmatch(path); m != nil && !strings.HasPrefix(path[len(m[0]):], "(") {
		return m[1], len(m[0])
	}
	return "", 0
}

var (
	filter = regexp.MustCompile(`^\.?\[\?\((.*)\)\]$`)
	term   = regexp.MustCompile(`^\s*@((?:\.[A-Za-z_][A-Za-z0-9_-]*|\['[^'\\]*'\]|\[\d+\])*)\s*(?:(==|!=|<=|>=|<|>|=~)\s*(.+?))?\s*$`)
)

// JSONPathHolds returns the condition that a JSON path finds something. narrower says why it holds
// for fewer requests; "" if it does not.
func JSONPathHolds(root, path string) (condition, narrower string, err error) {
	operand, rest := JSONPath(root, path)
	if rest == "" {
		return And(Present(operand), Or(operand, operand+" = 0", operand+" = false", operand+` = ""`)), "", nil
	}
	m := filter.FindStringSubmatch(rest)
	if m == nil {
		return "", "", fmt.Errorf("the JSON path %q cannot be expressed from %q on", path, rest)
	}
	if t := term.FindStringSubmatch(m[1]); t != nil && t[1] == "" && t[2] == "==" { // @ == 'text'
		if text, quoted := unquote(t[3]); quoted && !risky(text) {
			return operand + `|json matches ` + Quote(`^\[`) + " and " + operand + " contains " + Quote(text), "", nil
		}
	}
	var each []string
	for i := -1; i < arrayItems; i++ {
		at := operand
		if i >= 0 {
			at = fmt.Sprintf("%s[%d]", operand, i)
		}
		one, err := predicate(at, m[1])
		if err != nil {
			return "", "", err
		}
		each = append(each, one)
	}
	return Or(each...), fmt.Sprintf("only the first %d items of an array are compared", arrayItems), nil
}

// predicate returns the condition of a filter for the value at an operand.
func predicate(operand, expression string) (string, error) {
	var or []string
	for alternative := range strings.SplitSeq(expression, "||") {
		var and []string
		for one := range strings.SplitSeq(alternative, "&&") {
			m := term.FindStringSubmatch(one)
			if m == nil {
				return "", fmt.Errorf("the filter %q cannot be expressed", expression)
			}
			at, rest := JSONPath(operand, m[1])
			condition, err := compare(at, m[2], strings.TrimSpace(m[3]))
			if err != nil || rest != "" {
				return "", fmt.Errorf("the filter %q cannot be expressed", expression)
			}
			and = append(and, condition)
		}
		or = append(or, And(and...))
	}
	return Or(or...), nil
}

var number = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// compare returns the condition of one comparison of a filter.
func compare(operand, operator, value string) (string, error) {
	text, quoted := unquote(value)
	switch {
	case operator == "":
		return Present(operand), nil
	case operator == "=~":
		expression, flags, ok := strings.Cut(strings.TrimPrefix(value, "/"), "/")
		if !ok || strings.Contains(expression, `\`) && strings.HasSuffix(expression, `\`) {
			return "", fmt.Errorf("the expression %s cannot be expressed", value)
		}
		if flags == "i" {
			expression = "(?i)" + expression
		} else if flags != "" {
			return "", fmt.Errorf("the flags of %s cannot be expressed", value)
		}
		return Matches(operand, expression, true)
	case operator == "==" && quoted:
		return EqualString(operand, text), nil
	case operator == "!=" && quoted:
		return And(Present(operand), Not(EqualString(operand, text))), nil
	case quoted:
		return "", fmt.Errorf("texts cannot be ordered")
	case number.MatchString(value):
		operator = strings.Replace(operator, "==", "=", 1)
		return And(operand+"|json matches "+Quote("^[-0-9]"), operand+" "+operator+" "+value), nil
	case (value == "true" || value == "false") && operator == "==":
		return operand + "|json = " + value, nil
	}
	return "", fmt.Errorf("the value %s cannot be expressed", value)
}

// unquote returns a text without the quotes around it, and whether there were any.
func unquote(s string) (string, bool) {
	if len(s) >= 2 && (s[0] == '\'' || s[0] == '"') && s[len(s)-1] == s[0] && !strings.ContainsAny(s[1:len(s)-1], `\`+s[:1]) {
		return s[1 : len(s)-1], true
	}
	return s, false
}
