package language

import (
	"cmp"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/openapi/text"
	"mockserver/internal/semantics"
)

// Example returns a request that an endpoint with a path and a condition of this package answers; nil
// if none can be derived. Of alternatives it meets the first.
func Example(path Path, condition string) *draft.Ask {
	e := example{values: map[string]url.Values{}}
	if !e.meet(condition) {
		return nil
	}
	target, ok := e.target(path)
	if !ok {
		return nil
	}
	a := &draft.Ask{Target: target, Body: []byte(e.values["body"].Get(""))}
	for _, name := range slices.Sorted(maps.Keys(e.values["header-params"])) {
		a.Header = append(a.Header, draft.Field{Name: name, Value: e.values["header-params"].Get(name)})
	}
	for _, name := range slices.Sorted(maps.Keys(e.values["cookie-params"])) {
		a.Header = append(a.Header, draft.Field{Name: "Cookie", Value: name + "=" + e.values["cookie-params"].Get(name)})
	}
	kind := ""
	if form := e.values["form-params"]; form != nil {
		a.Body, kind = []byte(form.Encode()), "application/x-www-form-urlencoded"
	} else if e.body != nil {
		a.Body, _ = json.Marshal(e.body) // JSON values
		kind = "application/json"
	}
	if kind != "" && !e.values["header-params"].Has("Content-Type") {
		a.Header = append(a.Header, draft.Field{Name: "Content-Type", Value: kind})
	}
	for _, f := range a.Header {
		if unsendable(f) {
			return nil
		}
	}
	return a
}

// unsendable reports whether a header cannot be sent unchanged.
func unsendable(f draft.Field) bool {
	return OwnHeader(f.Name) || folds([]string{"Host", "Accept-Encoding", "Expect"}, f.Name) || !semantics.IsToken(f.Name) ||
		strings.ContainsFunc(f.Value, func(r rune) bool { return r < ' ' || r >= 0x7F }) || strings.TrimSpace(f.Value) != f.Value
}

// example is a request that is being derived.
type example struct {
	values map[string]url.Values // by the root of the operand and the name; "" for a whole part
	body   any                   // in JSON
	paths  []string              // expressions that the path matches
}

var (
	rootPattern = regexp.MustCompile(`^[a-z]+(?:-[a-z]+)*`)
	stepPattern = regexp.MustCompile(`^(?:\.([A-Za-z0-9_-]+)|\[("(?:[^"\\]|\\.)*")\]|\[([0-9]{1,3})\])`)
	comparePart = regexp.MustCompile(`^(\|json|) (=|matches) (".*"|[^" ]+)$`)
)

// meet makes the request meet a condition, and reports whether it can.
func (e *example) meet(condition string) bool {
	for _, one := range split(condition, " and ") {
		if inner := Outermost(one); inner != one {
			if !e.meet(split(inner, " or ")[0]) {
				return false
			}
			continue
		}
		inner, negated := strings.CutPrefix(one, "not ")
		if negated && (inner[0] == '(' || !strings.Contains(inner, "|json matches ") && !strings.HasPrefix(inner, "path matches ")) ||
			!negated && one != "" && !e.compare(one) {
			return false
		}
	}
	return true
}

// compare makes one comparison hold.
func (e *example) compare(comparison string) bool {
	root := rootPattern.FindString(comparison)
	rest := comparison[len(root):]
	var steps []string
	for m := stepPattern.FindStringSubmatch(rest); m != nil; m = stepPattern.FindStringSubmatch(rest) {
		name, _ := strconv.Unquote(m[2])
		if m[3] != "" {
			name = "[" + m[3] // an index
		}
		steps, rest = append(steps, m[1]+name), rest[len(m[0]):]
	}
	m := comparePart.FindStringSubmatch(rest)
	switch {
	case root == "method":
		return false
	case rest == "" || rest == " != null" || rest == ` != ""`:
		return e.set(root, steps, nil)
	case rest == " = null":
		return !e.values[root].Has(strings.Join(steps, ""))
	case strings.HasPrefix(rest, "|length = "):
		return true
	case m == nil:
		return false
	}
	literal, err := strconv.Unquote(m[3])
	switch {
	case m[2] == "matches" && m[1] == "" && err == nil:
		if root == "path" {
			e.paths = append(e.paths, literal)
			return true
		}
		value, ok := matching(literal)
		return ok && e.set(root, steps, value)
	case m[2] == "matches":
		value := map[string]any{`^\[`: []any{}, `^\[\s*\]$`: []any{}, `^\{`: map[string]any{}, `^\{\s*\}$`: map[string]any{}}[literal]
		return value != nil && e.set(root, steps, value)
	case m[1] == "|json" && err == nil:
		return e.set(root, steps, json.RawMessage(literal))
	case err == nil:
		return e.set(root, steps, literal)
	}
	return e.set(root, steps, json.RawMessage(m[3]))
}

// anyValue is sent where a value is required and its text does not matter.
const anyValue = "x"

// set sets a value of the request; nil for any value, unless it has one.
func (e *example) set(root string, steps []string, value any) bool {
	if root == "json-params" {
		e.body = put(e.body, steps, value)
		return json.Valid(encoded(e.body))
	}
	name := strings.Join(steps, "")
	whole := root == "body" || root == "query-string"
	if !strings.HasSuffix(root, "-params") && !whole || (name == "") != whole || len(steps) > 1 {
		return false
	}
	if e.values[root] == nil {
		e.values[root] = url.Values{}
	}
	before := e.values[root].Get(name)
	word, isText := value.(string)
	if value == nil {
		word, isText = cmp.Or(before, anyValue), true
	}
	e.values[root].Set(name, word)
	return isText && (word != "" || whole) && (before == "" || before == anyValue || before == word)
}

func encoded(value any) []byte {
	text, _ := json.Marshal(value) // "" for JSON that is not valid
	return text
}

// put returns a JSON value in which the value at a path is set.
func put(at any, steps []string, value any) any {
	switch {
	case len(steps) == 0 && value == nil && at != nil:
		return at
	case len(steps) == 0 && value == nil:
		return anyValue
	case len(steps) == 0:
		return value
	}
	if index, ok := strings.CutPrefix(steps[0], "["); ok {
		list, _ := at.([]any)
		i, _ := strconv.Atoi(index) // digits
		for len(list) <= i {
			list = append(list, nil)
		}
		list[i] = put(list[i], steps[1:], value)
		return list
	}
	m, _ := at.(map[string]any)
	if m == nil {
		m = map[string]any{}
	}
	m[steps[0]] = put(m[steps[0]], steps[1:], value)
	return m
}

// target returns the path and the query, percent-encoded.
func (e *example) target(path Path) (string, bool) {
	var b strings.Builder
	for _, s := range path {
		b.WriteByte('/')
		switch value := e.values["path-params"].Get(s.Text); {
		case s.Kind == Literal:
			b.WriteString(url.PathEscape(s.Text))
		case value != "":
			b.WriteString(url.PathEscape(value))
		default:
			b.WriteByte('1')
		}
	}
	if b.Len() == 0 {
		b.WriteByte('/')
	}
	target := b.String()
	for i, expression := range e.paths {
		re, err := regexp.Compile(expression)
		switch {
		case err == nil && re.MatchString(target):
		case err == nil && re.MatchString(target+"/"):
			target += "/"
		default:
			invented, ok := matching(expression)
			if target = invented; !ok || i > 0 {
				return "", false
			}
		}
	}
	if query := e.values["query-string"].Get(""); query != "" {
		target += "?" + query
	} else if query := e.values["query-params"]; query != nil {
		target += "?" + query.Encode()
	}
	u, err := url.ParseRequestURI(target)
	return target, err == nil && strings.HasPrefix(target, "/") && u.Host == "" && !strings.ContainsAny(target, "# {}|\\^`\"<>[]")
}

// matching returns a text that a regular expression matches, the same each time.
func matching(expression string) (string, bool) {
	p, err := text.CompilePattern(flags.ReplaceAllString(expression, ""))
	if err != nil {
		return "", false
	}
	return p.Text(rand.New(rand.NewPCG(1, 1)), 1, 100)
}

var flags = regexp.MustCompile(`^\(\?[is]+\)`)
