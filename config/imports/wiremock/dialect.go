package wiremock

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

// dialect translates the helpers of WireMock.
type dialect struct {
	made       *made
	parameters *syntax.Node
	root       string   // the name of the request in templates
	notes      []string // what differs
}

func (d *dialect) note(what string) {
	if !slices.Contains(d.notes, what) {
		d.notes = append(d.notes, what)
	}
}

var errNone = errors.New("it has no equivalent")

// Value implements language.Dialect.
func (d *dialect) Value(c *language.Call, s *language.Scope) (string, error) {
	if rest, ok := strings.CutPrefix(c.Name, d.root+"."); ok && len(c.Args) == 0 {
		return d.request(rest)
	}
	if rest, ok := strings.CutPrefix(c.Name, "parameters."); ok && len(c.Args) == 0 {
		if n := get(d.parameters, rest); n != nil && n.Kind != syntax.MapNode && n.Kind != syntax.ListNode {
			return language.Quote(text(n)), nil
		}
		return "", errNone
	}
	if f, ok := helpers()[c.Name]; ok && (len(c.Args) > 0 || len(c.Hash) > 0 || c.Name == "now") {
		return f(d, c, s)
	}
	if len(c.Args) == 0 && len(c.Hash) == 0 {
		if item := s.Item(c.Name); item != "" {
			return item, nil
		}
	}
	return "", errNone
}

// Condition implements language.Dialect.
func (d *dialect) Condition(c *language.Call, s *language.Scope) (string, bool, error) {
	if (c.Name == "contains" || c.Name == "matches") && len(c.Args) == 2 {
		left, err := language.Operand(d, c.Args[0], s)
		if err != nil || !c.Args[1].Literal {
			return "", true, errNone
		}
		if c.Name == "contains" {
			return language.Contains(left, c.Args[1].Text), true, nil
		}
		condition, err := language.Matches(left, c.Args[1].Text, true)
		return condition, true, err
	}
	return language.Comparison(d, c, s)
}

var index = regexp.MustCompile(`^(?:\.?\[?([0-9]+)\]?)$`)

// request returns the expression for a path after "request.".
func (d *dialect) request(path string) (string, error) {
	path = strings.TrimPrefix(path, "requestLine.")
	switch path {
	case "path":
		return "path", nil
	case "method":
		return "method", nil
	case "body":
		return "body", nil
	case "bodyAsBase64":
		return "body|base64", nil
	case "clientIp":
		return "remote-addr", nil
	case "id":
		return "uuid", nil
	case "scheme":
		return `"http"`, nil
	}
	part, name, ok := strings.Cut(path, ".")
	if !ok {
		return "", errNone
	}
	if part == "path" || part == "pathSegments" {
		return d.segment(name)
	}
	root, known := map[string]string{"query": "query-params", "headers": "header-params", "cookies": "cookie-params"}[part]
	if !known {
		return "", errNone
	}
	if at := strings.LastIndexByte(name, '.'); at > 0 {
		if m := index.FindStringSubmatch(name[at:]); m != nil {
			if m[1] != "0" {
				return "", errors.New("only the first value is known")
			}
			name = name[:at]
		}
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if part == "headers" && !language.HeaderName(name) || name == "" {
		return "", errNone
	}
	return language.Member(root, name), nil
}

// segment returns the expression of a segment of the path, by its index or its name.
func (d *dialect) segment(name string) (string, error) {
	path := d.made.written
	if m := index.FindStringSubmatch(name); m != nil {
		at, _ := strconv.Atoi(m[1])
		switch {
		case at >= len(path) || path[at].Kind == language.Rest:
			return "", errors.New("the path does not describe this segment")
		case path[at].Kind == language.Literal:
			return language.Quote(path[at].Text), nil
		}
		return language.Member("path-params", path[at].Text), nil
	}
	if path.Has(name) {
		return language.Member("path-params", name), nil
	}
	return "", errNone
}

type helper func(d *dialect, c *language.Call, s *language.Scope) (string, error)

// helpers returns the helpers with arguments. It is a function because they call each other.
func helpers() map[string]helper {
	return map[string]helper{
		"jsonPath": jsonPathValue, "randomValue": randomValue, "randomInt": randomInt, "pickRandom": pickRandom,
		"now": now, "date": now, "parseDate": first, "val": withDefault, "defaultIfEmpty": withDefault, "systemValue": systemValue, "math": calculate,
		"upper": filtered("upper"), "lower": filtered("lower"), "trim": filtered("trim"), "base64": filtered("base64"),
		"urlEncode": filtered("urlencode"), "size": filtered("length"), "toJson": filtered("json"), "join": join, "arrayJoin": join,
	}
}

// first returns the first argument unchanged.
func first(d *dialect, c *language.Call, s *language.Scope) (string, error) {
	if len(c.Args) == 0 || len(c.Hash) > 0 {
		return "", errNone
	}
	return language.Operand(d, c.Args[0], s)
}

// filtered returns a helper that a filter of the language implements.
func filtered(name string) helper {
	return func(d *dialect, c *language.Call, s *language.Scope) (string, error) {
		operand, err := first(d, c, s)
		return operand + "|" + name, err
	}
}

func jsonPathValue(d *dialect, c *language.Call, _ *language.Scope) (string, error) {
	if len(c.Args) != 2 || c.Args[0].Text != d.root+".body" || !c.Args[1].Quoted {
		return "", errNone
	}
	operand, rest := language.JSONPath("json-params", c.Args[1].Text)
	if rest != "" {
		return "", fmt.Errorf("the JSON path has no equivalent from %q on", rest)
	}
	if otherwise, ok := c.Hash["default"]; ok {
		if !otherwise.Literal {
			return "", errNone
		}
		operand += "|default:" + language.Quote(otherwise.Text)
	}
	return operand, nil
}

func randomValue(d *dialect, c *language.Call, _ *language.Scope) (string, error) {
	length, err := strconv.Atoi(c.Hash["length"].Text)
	expression := ""
	switch kind := c.Hash["type"].Text; {
	case kind == "UUID":
		return "uuid", nil
	case err != nil || length < 1 || length > 1024:
		return "", errNone
	case kind == "NUMERIC" && length <= 9:
		expression = fmt.Sprintf("random-int(%d, %d)", int(math.Pow10(length-1)), int(math.Pow10(length))-1)
	case kind == "HEXADECIMAL":
		expression = fmt.Sprintf("random-hex(%d)", length)
	case kind == "ALPHANUMERIC" || kind == "ALPHABETIC" || kind == "":
		expression = fmt.Sprintf("random-text(%d)|lower", length)
		if kind == "ALPHABETIC" {
			d.note("a random text also has digits")
		}
	default:
		return "", errNone
	}
	if c.Hash["uppercase"].Text == "true" {
		expression = strings.TrimSuffix(expression, "|lower") + "|upper"
	}
	return expression, nil
}

func randomInt(_ *dialect, c *language.Call, _ *language.Scope) (string, error) {
	low, high := 0, math.MaxInt32
	for key, into := range map[string]*int{"lower": &low, "upper": &high} {
		if a, ok := c.Hash[key]; ok {
			n, err := strconv.Atoi(a.Text)
			if err != nil {
				return "", errNone
			}
			*into = n
		}
	}
	if _, ok := c.Hash["upper"]; ok {
		high-- // the upper bound is not included
	}
	if low > high {
		return "", errNone
	}
	return fmt.Sprintf("random-int(%d, %d)", low, high), nil
}

func pickRandom(_ *dialect, c *language.Call, _ *language.Scope) (string, error) {
	var all []string
	for _, a := range c.Args {
		if !a.Literal {
			return "", errNone
		}
		all = append(all, language.Quote(a.Text))
	}
	return "pick(" + strings.Join(all, ", ") + ")", nil
}

// now returns the expression of a time, the current one or a parsed one, with an offset and a
// format.
func now(d *dialect, c *language.Call, s *language.Scope) (string, error) {
	expression := "now"
	if len(c.Args) > 0 {
		var err error
		if expression, err = language.Operand(d, c.Args[0], s); err != nil {
			return "", err
		}
	}
	if move, ok := c.Hash["offset"]; ok {
		var ok bool
		if expression, ok = language.Moved(expression, move.Text); !ok {
			return "", errNone
		}
	}
	layout := "rfc3339"
	if format, ok := c.Hash["format"]; ok {
		var known bool
		if layout, known = language.JavaDate(format.Text); !known {
			return "", errNone
		}
	}
	expression += "|date:" + language.Quote(layout)
	if zone, ok := c.Hash["timezone"]; ok {
		if !strings.Contains(zone.Text, "/") {
			return "", errNone
		}
		expression += ":" + language.Quote(zone.Text)
	}
	return expression, nil
}

// withDefault returns the expression of a value with a default.
func withDefault(d *dialect, c *language.Call, s *language.Scope) (string, error) {
	otherwise, ok := c.Hash["or"]
	if !ok {
		otherwise, ok = c.Hash["default"]
	}
	if !ok && len(c.Args) == 2 {
		otherwise, ok = c.Args[1], true
	}
	if !ok || len(c.Args) == 0 || !otherwise.Literal {
		return "", errNone
	}
	operand, err := language.Operand(d, c.Args[0], s)
	return operand + "|default:" + language.Quote(otherwise.Text), err
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func systemValue(_ *dialect, c *language.Call, _ *language.Scope) (string, error) {
	if kind := c.Hash["type"].Text; kind != "" && kind != "ENVIRONMENT" || !variable.MatchString(c.Hash["key"].Text) {
		return "", errNone
	}
	return "env." + c.Hash["key"].Text + `|default:""`, nil
}

func calculate(d *dialect, c *language.Call, s *language.Scope) (string, error) {
	if len(c.Args) != 3 {
		return "", errNone
	}
	filter, known := map[string]string{"+": "add", "-": "sub", "*": "mul"}[c.Args[1].Text]
	if !known {
		return "", errNone
	}
	left, err := language.Operand(d, c.Args[0], s)
	if err != nil {
		return "", err
	}
	right, err := language.Operand(d, c.Args[2], s)
	if strings.Contains(right, "|") {
		return "", errNone
	}
	return left + "|" + filter + ":" + right, err
}

func join(d *dialect, c *language.Call, s *language.Scope) (string, error) {
	if len(c.Args) != 2 || len(c.Hash) > 0 {
		return "", errNone
	}
	list, separator := c.Args[0], c.Args[1]
	if list.Literal {
		list, separator = separator, list
	}
	operand, err := language.Operand(d, list, s)
	return operand + "|join:" + language.Quote(separator.Text), err
}
