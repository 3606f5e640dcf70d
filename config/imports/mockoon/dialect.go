package mockoon

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"mockserver/config/imports/language"
	"mockserver/internal/semantics"
)

// dialect translates the helpers of Mockoon.
type dialect struct {
	*endpoint
	*language.Notes
}

var errNone = language.ErrNone

// Java implements language.Dialect.
func (d *dialect) Java() bool { return false }

// kinds are the kinds of values of helpers.
var kinds = map[string]language.Kind{
	"body": language.KindSafe, "queryParam": language.KindSafe, "base64": language.KindSafe, "bodyRaw": language.KindJSON,
	"len": language.KindNumber, "add": language.KindNumber, "subtract": language.KindNumber, "multiply": language.KindNumber, "int": language.KindNumber, "@index": language.KindNumber, "@total": language.KindNumber,
	"method": language.KindText, "ip": language.KindText, "hostname": language.KindText, "header": language.KindText, "cookie": language.KindText, "urlParam": language.KindText, "queryParamRaw": language.KindText,
	"uppercase": language.KindText, "lowercase": language.KindText, "uuid": language.KindText, "guid": language.KindText, "objectId": language.KindText, "getEnvVar": language.KindText,
}

// Kind implements language.Dialect.
func (d *dialect) Kind(a language.Arg, s *language.Scope) language.Kind {
	name := a.Text
	if a.Call != nil {
		name = a.Call.Name
	}
	switch {
	case a.Quoted:
		return language.KindText
	case a.Literal:
		return language.KindNumber
	case a.Call == nil && s.Item(name) == "":
		return language.KindUnknown // without parentheses it is not the helper of this name
	case a.Call == nil && !strings.HasPrefix(name, "@"):
		return language.KindJSON
	}
	return kinds[name]
}

// Compare implements language.Dialect.
func (d *dialect) Compare(name string, k language.Kind, operand, operator string, with language.Arg) (condition string, ok bool, err error) {
	operand = language.Bare(operand)
	switch {
	case name == "includes" && with.Text != "" && k == language.KindJSON:
		return language.And("not "+operand+`|json matches "^[[{]"`, language.Contains(operand, with.Text)), true, nil
	case name == "includes" && with.Text != "":
		return language.Contains(operand, with.Text), true, nil
	case operator == "":
		return "", false, nil
	}
	condition, err = d.ordered(k, operand, operator, with.Text)
	return condition, true, err
}

var numeric = regexp.MustCompile(`^-?[0-9]+(?:\.[0-9]+)?$`)

// ordered returns the condition that a value is a number in an order to another. A missing value is
// 0; so is null, unless it is written as a text.
func (d *dialect) ordered(k language.Kind, operand, operator, than string) (string, error) {
	n, err := strconv.ParseFloat(than, 64)
	if err != nil || !numeric.MatchString(than) {
		return "", errNone
	}
	if k == language.KindNumber {
		return operand + operator + than, nil
	}
	if k == language.KindJSON {
		d.Note("booleans and arrays are not compared as numbers")
	}
	condition := operand + ` matches "^[+-]?[0-9]+(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$" and ` + operand + operator + than
	zero := map[string]bool{" > ": 0 > n, " >= ": 0 >= n, " < ": 0 < n, " <= ": 0 <= n}[operator]
	if !zero {
		return condition, nil
	}
	if k == language.KindJSON {
		operand += language.NullIsEmpty
	}
	return language.Or(operand+` = ""`, condition), nil
}

// Repeat implements language.Repeater.
func (d *dialect) Repeat(c *language.Call) (times int, commas, ok bool) {
	if c.Name != "repeat" || len(c.Args) == 0 || len(c.Args) > 2 {
		return 0, false, false
	}
	n, err := strconv.Atoi(c.Args[len(c.Args)-1].Text)
	if err != nil || n < 0 || n > 100 {
		return 0, false, false
	}
	if len(c.Args) == 2 && c.Args[0].Text != c.Args[1].Text {
		d.Note(fmt.Sprintf("a block is always repeated %d times", n))
	}
	comma := c.Hash["comma"]
	return n, comma.Text != "false" || comma.Quoted, true
}

// Value implements language.Dialect.
func (d *dialect) Value(c *language.Call, s *language.Scope) (string, error) {
	if len(c.Args) == 0 && len(c.Hash) == 0 {
		if expression := language.ExpressionFor("mockoon", c.Name); expression != "" {
			return expression, nil
		}
		if item := s.Value(c); item != "" {
			return item, nil
		}
	}
	name, otherwise := "", ""
	if len(c.Args) > 0 && c.Args[0].Literal {
		name = c.Args[0].Text
	}
	if len(c.Args) > 1 {
		if otherwise = c.Args[1].Text; !c.Args[1].Literal {
			otherwise = "?"
		}
	}
	if root, ok := roots[c.Name]; ok {
		if name == "" || otherwise == "?" || c.Name != "body" && c.Name != "bodyRaw" && strings.ContainsAny(name, "[]") {
			return "", errNone
		}
		return d.member(root, c.Name, name, otherwise)
	}
	if f, ok := helpers()[c.Name]; ok {
		return f(d, c, s)
	}
	return "", errNone
}

// member returns the expression of a value of the request, with a default unless otherwise is "".
func (d *dialect) member(root, helper, name, otherwise string) (string, error) {
	operand := language.Member(root, name)
	present := operand + ` != ""` // an empty header or cookie counts as missing
	switch {
	case helper == "header" && !semantics.IsToken(name):
		return "", errNone
	case helper == "urlParam" && d.optional(name):
		return language.Quote(otherwise), nil
	case helper == "urlParam":
		if !d.own.Has(name) || !d.path.Has(name) {
			return "", errors.New("the path has no such parameter")
		}
		return operand, nil
	case root == "json-params":
		var err error
		if operand, err = bodyPath(name); err != nil {
			return "", err
		}
		present = language.Or(operand+` != ""`, operand+" != null") // null is not missing
		if field := fieldName(name); field != "" {
			field = language.Member("form-params", field)
			present = language.Or(present[1:len(present)-1], field+" != null")
			operand = field + "|default:" + operand
		}
		if helper == "bodyRaw" {
			operand += language.NullIsEmpty
		}
	case strings.Contains(name, "."):
		return "", errNone
	case root == "query-params":
		present = language.Present(operand)
	}
	if otherwise == "" {
		return operand, nil
	}
	return language.Choice(strings.TrimSuffix(strings.TrimPrefix(present, "("), ")"), operand, otherwise)
}

var roots = map[string]string{"body": "json-params", "bodyRaw": "json-params", "queryParam": "query-params", "queryParamRaw": "query-params",
	"urlParam": "path-params", "header": "header-params", "cookie": "cookie-params"}

// helpers returns the helpers with arguments. It is a function because they call each other.
func helpers() map[string]language.Helper {
	return map[string]language.Helper{
		"int": integer, "oneOf": oneOf, "faker": faker, "now": now, "getEnvVar": environment,
		"uppercase": language.Filtered("upper"), "lowercase": language.Filtered("lower"), "base64": language.Filtered("base64"), "len": size, "stringify": stringify,
		"add": calculated("add"), "subtract": calculated("sub"), "multiply": calculated("mul"), "join": language.Join, "concat": concat,
	}
}

// size returns the expression of a length, which is 0 for a SafeString.
func size(d language.Dialect, c *language.Call, s *language.Scope) (string, error) {
	operand, err := language.Filtered("length")(d, c, s)
	if err == nil && d.Kind(c.Args[0], s) == language.KindSafe {
		return "0", nil
	}
	d.Note("len counts the characters of a number, and the members of an object")
	return operand, err
}

// stringify returns the expression of a value: objects and arrays are written as JSON anyway.
func stringify(d language.Dialect, c *language.Call, s *language.Scope) (string, error) {
	d.Note("stringify writes JSON without white space")
	if len(c.Args) != 1 || d.Kind(c.Args[0], s) != language.KindJSON {
		return "", errNone
	}
	return language.Operand(d, c.Args[0], s)
}

// calculated returns a helper that an arithmetic filter of the language implements.
func calculated(name string) language.Helper {
	return func(d language.Dialect, c *language.Call, s *language.Scope) (string, error) {
		if len(c.Args) < 2 {
			return "", errNone
		}
		expression, err := language.Operand(d, c.Args[0], s)
		for _, a := range c.Args[1:] {
			if err != nil {
				break
			}
			var operand string
			if operand, err = language.Operand(d, a, s); strings.Contains(operand, "|") {
				return "", errNone
			}
			if !whole.MatchString(strings.Trim(operand, `"`)) {
				d.Note("only calculations with whole numbers give the same result")
			}
			expression += "|" + name + ":" + operand
		}
		if start, _, _ := strings.Cut(expression, "|"); !whole.MatchString(strings.Trim(start, `"`)) {
			d.Note("only calculations with whole numbers give the same result")
		}
		return expression, err
	}
}

var whole = regexp.MustCompile(`^-?[0-9]+$`)

func integer(_ language.Dialect, c *language.Call, _ *language.Scope) (string, error) {
	if len(c.Args) != 2 {
		return "", errNone
	}
	return language.RandomInt(c.Args[0].Text, c.Args[1].Text, 0, 0)
}

// oneOf returns the expression that picks one of its arguments, or an item of (array 'a' 'b').
func oneOf(_ language.Dialect, c *language.Call, _ *language.Scope) (string, error) {
	args := c.Args
	if len(args) == 1 && args[0].Call != nil && args[0].Call.Name == "array" {
		args = args[0].Call.Args
	}
	return language.Pick(args)
}

func now(_ language.Dialect, c *language.Call, _ *language.Scope) (string, error) {
	if len(c.Args) != 1 || !c.Args[0].Literal {
		return "", errNone
	}
	layout, known := language.JavaDate(c.Args[0].Text)
	if !known {
		return "", errNone
	}
	return "now|date:" + language.Quote(layout), nil
}

// environment returns the expression of an environment variable. Mockoon provides only variables
// with the prefix MOCKOON_.
func environment(_ language.Dialect, c *language.Call, _ *language.Scope) (string, error) {
	if len(c.Args) == 0 || !c.Args[0].Literal || len(c.Args) > 1 && !c.Args[1].Literal || language.Name(c.Args[0].Text) != c.Args[0].Text || strings.Contains(c.Args[0].Text, "-") {
		return "", errNone
	}
	otherwise := ""
	if len(c.Args) > 1 {
		otherwise = c.Args[1].Text
	}
	name := c.Args[0].Text
	if !strings.HasPrefix(name, "MOCKOON_") {
		name = "MOCKOON_" + name
	}
	return "env." + name + "|default:" + language.Quote(otherwise), nil
}

// concat returns the expression of joined literals; values of requests have no equivalent.
func concat(_ language.Dialect, c *language.Call, _ *language.Scope) (string, error) {
	all := ""
	for _, a := range c.Args {
		if !a.Literal {
			return "", errNone
		}
		all += a.Text
	}
	return language.Quote(all), nil
}

// faker returns the expression for invented data of the kind nearest to the kind of faker.js.
func faker(_ language.Dialect, c *language.Call, _ *language.Scope) (string, error) {
	if len(c.Args) == 0 || !c.Args[0].Quoted {
		return "", errNone
	}
	name := c.Args[0].Text
	switch name {
	case "number.int", "datatype.number", "random.number":
		return language.RandomInt(c.Hash["min"].Text, c.Hash["max"].Text, 0, 99999)
	}
	if days, ok := dates[name]; ok {
		return date(c, days)
	}
	if expression := language.ExpressionFor("faker", name); expression != "" {
		return expression, nil
	}
	return "", errNone
}

// date returns the expression of a time up to so many days ahead, as a Date of JavaScript is written.
func date(c *language.Call, days int) (string, error) {
	if len(c.Args) == 2 {
		n, err := strconv.Atoi(c.Args[1].Text)
		if err != nil || n < 1 || n > 1000 {
			return "", errNone
		}
		days *= n
	}
	if len(c.Args) > 2 || len(c.Hash) > 0 {
		return "", errNone
	}
	filter := "add"
	if days < 0 {
		filter, days = "sub", -days
	}
	return fmt.Sprintf(`now|%s:random-int(1, %d)|date:"%%a %%b %%d %%Y %%H:%%M:%%S GMT+0000 (Coordinated Universal Time)"`, filter, days*24*60*60), nil
}

// dates maps the kinds of dates to how many days they are ahead at most, for each unit of their
// argument.
var dates = map[string]int{"date.past": -365, "date.recent": -1, "date.soon": 1, "date.future": 365}
