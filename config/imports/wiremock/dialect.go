package wiremock

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"mockserver/config/imports/language"
	"mockserver/config/syntax"
	"mockserver/internal/semantics"
)

// dialect translates the helpers of WireMock.
type dialect struct {
	made       *made
	parameters *syntax.Node
	root       string // the name of the request in templates
	*language.Notes
}

var errNone = language.ErrNone

// Java implements language.Dialect.
func (d *dialect) Java() bool { return true }

// Value implements language.Dialect.
func (d *dialect) Value(c *language.Call, s *language.Scope) (string, error) {
	if rest, ok := strings.CutPrefix(c.Name, d.root+"."); ok && len(c.Args) == 0 {
		return d.request(rest)
	}
	if rest, ok := strings.CutPrefix(c.Name, "parameters."); ok && len(c.Args) == 0 {
		if n := get(d.parameters, rest); n != nil && n.Kind == syntax.TextNode {
			return language.Quote(text(n)), nil
		}
		return "", errNone
	}
	if f, ok := helpers()[c.Name]; ok && (len(c.Args) > 0 || len(c.Hash) > 0 || c.Name == "now") {
		return f(d, c, s)
	}
	if item := s.Value(c); item != "" && c.Name != "@first" && c.Name != "@last" {
		return item, nil
	}
	return "", errNone
}

// Kind implements language.Dialect.
func (d *dialect) Kind(a language.Arg, _ *language.Scope) language.Kind {
	name := a.Text
	if a.Call != nil {
		name = a.Call.Name
	}
	rest, ofRequest := strings.CutPrefix(name, d.root+".")
	part, member, _ := strings.Cut(strings.TrimPrefix(rest, "requestLine."), ".")
	switch {
	case a.Literal && !a.Quoted || name == "size" || name == "math" || name == "@index" || ofRequest && part == "port":
		return language.KindNumber
	case name == "jsonPath":
		return language.KindFound
	case !a.Literal && a.Call == nil && !ofRequest && !strings.HasPrefix(name, "parameters."):
		return language.KindJSON
	case ofRequest && (maps[part] != ""):
		if at := strings.LastIndexByte(member, '.'); at > 0 && index.MatchString(member[at:]) {
			return language.KindOptional
		}
		return language.KindList
	case ofRequest && part == "method":
		return language.KindObject
	}
	return language.KindText
}

// Compare implements language.Dialect.
func (d *dialect) Compare(name string, k language.Kind, operand, operator string, with language.Arg) (condition string, ok bool, err error) {
	switch {
	case name == "contains" || name == "matches":
		condition, err = d.search(name, k, operand, with)
		return condition, true, err
	case operator == "":
		return "", false, nil
	case with.Quoted:
		return "", true, errors.New("texts are not ordered")
	case k != language.KindNumber:
		d.Note("WireMock fails for values that are not numbers")
	}
	return language.And(language.Bare(operand)+`|json matches "^[-0-9]"`, language.Bare(operand)+operator+with.Text), true, nil
}

// search returns the condition of the helpers contains and matches.
func (d *dialect) search(name string, k language.Kind, operand string, wanted language.Arg) (string, error) {
	if k == language.KindOptional {
		d.Note("the helper " + name + " fails in WireMock if the value is missing")
	}
	if name == "matches" {
		return language.Matches(operand, wanted.Text, true)
	}
	contains := language.Contains(operand, wanted.Text)
	if k == language.KindFound || k == language.KindJSON {
		if _, err := strconv.ParseFloat(wanted.Text, 64); err == nil {
			d.Note("numbers in arrays are compared as texts")
		}
		array := language.Bare(operand) + `|json matches "^\\["`
		return language.Or("not "+array+" and "+contains, array+" and "+language.Bare(operand)+"|json contains "+language.Quote(wanted.Text)), nil
	}
	return contains, nil
}

var index = regexp.MustCompile(`^(?:\.?\[?([0-9]+)\]?)$`)

// request returns the expression for a path after "request.".
func (d *dialect) request(path string) (string, error) {
	path = strings.TrimPrefix(path, "requestLine.")
	if path == "path" {
		return d.path()
	}
	if expression := whole[path]; expression != "" {
		return expression, nil
	}
	part, name, _ := strings.Cut(path, ".")
	if part == "path" || part == "pathSegments" {
		return d.segment(name)
	}
	root := maps[part]
	if at := strings.LastIndexByte(name, '.'); at > 0 {
		if m := index.FindStringSubmatch(name[at:]); m != nil {
			if m[1] != "0" {
				return "", errors.New("only the first value is known")
			}
			name = name[:at]
		}
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if root == "" || part == "headers" && !semantics.IsToken(name) || name == "" {
		return "", errNone
	}
	return language.Member(root, name), nil
}

// whole maps parts of a request to expressions, and maps those that have members to their operands.
var (
	whole = map[string]string{"method": "method", "url": "path-and-query", "body": "body", "bodyAsBase64": "body|base64", "clientIp": "remote-addr", "id": "uuid", "scheme": `"http"`,
		"host": "host.name", "port": "host.port", "baseUrl": "host.url"}
	maps = map[string]string{"query": "query-params", "headers": "header-params", "cookies": "cookie-params"}
)

// path returns the expression of the path, which WireMock decodes unless it comes from a template.
func (d *dialect) path() (string, error) {
	if d.made.raw {
		return "path", nil
	}
	if d.made.path.IsLiteral() {
		whole := ""
		for _, segment := range d.made.path {
			whole += "/" + segment.Text
		}
		return language.Quote(whole), nil
	}
	if d.made.encoded {
		d.Note("{{request.path}} is written as it was sent; WireMock decodes it")
	}
	return "path", nil
}

// segment returns the expression of a segment of the path, by its index or its name.
func (d *dialect) segment(name string) (string, error) {
	path := d.made.written
	if m := index.FindStringSubmatch(name); m != nil {
		at, _ := strconv.Atoi(m[1])
		switch {
		case at >= len(path) || path[at].Kind == language.Rest:
			if d.made.raw {
				d.Note("segments of the path are decoded; WireMock leaves them encoded")
			}
			return language.Member("path-segments", m[1]), nil
		case path[at].Kind == language.Literal && d.made.raw:
			return language.Quote(url.PathEscape(path[at].Text)), nil
		case path[at].Kind == language.Literal:
			return language.Quote(path[at].Text), nil
		}
		name = path[at].Text
	}
	if !path.Has(name) {
		return "", errNone
	}
	if d.made.raw && !d.made.plain[name] {
		d.Note("parameters of the path are decoded; WireMock leaves them encoded")
	}
	return language.Member("path-params", name), nil
}

// helpers returns the helpers with arguments. It is a function because they call each other.
func helpers() map[string]language.Helper {
	return map[string]language.Helper{
		"jsonPath": jsonPathValue, "randomValue": randomValue, "randomInt": randomInt, "pickRandom": pickRandom,
		"now": now, "date": now, "parseDate": first, "val": withDefault, "defaultIfEmpty": withDefault, "math": calculate,
		"upper": language.Filtered("upper"), "lower": language.Filtered("lower"), "trim": language.Filtered("trim"), "base64": language.Filtered("base64"),
		"urlEncode": urlEncode, "size": size, "toJson": language.Filtered("json"), "join": language.Join, "arrayJoin": language.Join,
	}
}

// first returns the first argument unchanged.
func first(d language.Dialect, c *language.Call, s *language.Scope) (string, error) {
	if len(c.Args) == 0 || len(c.Hash) > 0 {
		return "", errNone
	}
	return language.Operand(d, c.Args[0], s)
}

// urlEncode returns the expression of a value in the encoding of forms, whose blanks are +.
func urlEncode(d language.Dialect, c *language.Call, s *language.Scope) (string, error) {
	operand, err := first(d, c, s)
	if err == nil && c.Args[0].Literal {
		return language.Quote(strings.NewReplacer("%2A", "*", "~", "%7E").Replace(url.QueryEscape(c.Args[0].Text))), nil
	}
	d.Note("urlEncode writes a blank as %20; WireMock writes +")
	return operand + "|urlencode", err
}

func size(d language.Dialect, c *language.Call, s *language.Scope) (string, error) {
	operand, err := first(d, c, s)
	if k := d.Kind(c.Args[0], s); err == nil && (k == language.KindList || k == language.KindOptional) {
		err = errors.New("the number of values is not known")
	} else if k != language.KindText {
		d.Note("size also counts the characters of numbers and booleans")
	}
	return operand + "|length", err
}

func jsonPathValue(d language.Dialect, c *language.Call, _ *language.Scope) (string, error) {
	if len(c.Args) != 2 || c.Args[0].Text != d.(*dialect).root+".body" || !c.Args[1].Quoted {
		return "", errNone
	}
	operand, rest := language.JSONPath("json-params", c.Args[1].Text)
	if rest != "" {
		return "", fmt.Errorf("the JSON path has no equivalent from %q on", rest)
	}
	if operand == "json-params" {
		d.Note("a body that is not JSON is not written")
	}
	if otherwise, ok := c.Hash["default"]; ok {
		if !otherwise.Literal {
			return "", errNone
		}
		return language.Choice(language.Present(operand)+` or body = ""`, operand+language.NullIsEmpty, otherwise.Text)
	}
	return operand + language.NullIsEmpty, nil
}

func randomValue(d language.Dialect, c *language.Call, _ *language.Scope) (string, error) {
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
			d.Note("a random text also has digits")
		}
	default:
		return "", errNone
	}
	if c.Hash["uppercase"].Text == "true" {
		expression = strings.TrimSuffix(expression, "|lower") + "|upper"
	}
	return expression, nil
}

func randomInt(_ language.Dialect, c *language.Call, _ *language.Scope) (string, error) {
	high := c.Hash["upper"].Text
	if n, err := strconv.Atoi(high); err == nil {
		high = strconv.Itoa(n - 1) // the upper bound is not included
	}
	return language.RandomInt(c.Hash["lower"].Text, high, 0, math.MaxInt32)
}

func pickRandom(_ language.Dialect, c *language.Call, _ *language.Scope) (string, error) {
	return language.Pick(c.Args)
}

// now returns the expression of a time, the current one or a parsed one, with an offset and a
// format.
func now(d language.Dialect, c *language.Call, s *language.Scope) (string, error) {
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
func withDefault(d language.Dialect, c *language.Call, s *language.Scope) (string, error) {
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
	switch k := d.Kind(c.Args[0], s); {
	case err != nil:
		return "", err
	case (k == language.KindFound || k == language.KindText) && c.Name == "val":
		return operand, nil // it is never missing
	case k == language.KindList || c.Name == "val":
		return language.Choice(language.Present(language.Bare(operand)), operand, otherwise.Text)
	case k == language.KindFound || k == language.KindJSON:
		return language.Choice(language.JSONHolds(language.Bare(operand)), language.Bare(operand), otherwise.Text)
	}
	return language.Bare(operand) + "|default:" + language.Quote(otherwise.Text), nil
}

func calculate(d language.Dialect, c *language.Call, s *language.Scope) (string, error) {
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
	if k := d.Kind(c.Args[0], s); k == language.KindList || k == language.KindOptional {
		d.Note("math fails in WireMock if the value is missing")
	}
	right, err := language.Operand(d, c.Args[2], s)
	if !integral.MatchString(right) {
		return "", errNone
	}
	otherwise := right // what is not a number counts as 0
	switch filter {
	case "mul":
		otherwise = "0"
	case "sub":
		if otherwise, _ = strings.CutPrefix("-"+right, "--"); right == "0" {
			otherwise = "0"
		}
	}
	d.Note("results of math have as many decimals as their operands")
	return language.Bare(left) + "|" + filter + ":" + right + "|default:" + otherwise, err
}

var integral = regexp.MustCompile(`^-?[0-9]+$`)
