package language

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/openapi/text"
)

// onTarget matches a condition that compares path or query with a text or an expression.
var onTarget = regexp.MustCompile(`^(path|query-string|path-params\S+) (=|matches) ("(?:[^"\\]|\\.)*")$`)

// absent matches the condition that a request lacks something.
var absent = regexp.MustCompile(`^(?:query|header|cookie|form)-params\S+ = null$`)

// Example returns a request that has a path and meets a condition of this package; nil if none can be
// derived, such as if the condition compares more than path and query.
func Example(path Path, condition string) *draft.Ask {
	values, expressions, ok := onlyTarget(condition)
	if !ok {
		return nil
	}
	target := path.example(values)
	for i, expression := range expressions {
		re, err := regexp.Compile(expression)
		switch {
		case err == nil && re.MatchString(target):
		case err == nil && re.MatchString(target+"/"):
			target += "/"
		default:
			if target, ok = matching(expression); !ok || i > 0 {
				return nil
			}
		}
	}
	if query := values["query-string"]; query != "" {
		target += "?" + query
	}
	u, err := url.ParseRequestURI(target)
	if err != nil || !strings.HasPrefix(target, "/") || u.Host != "" || strings.ContainsAny(target, "# {}|\\^`\"<>[]") {
		return nil
	}
	return &draft.Ask{Target: target}
}

// onlyTarget returns the values that a condition requires, by operand, and the expressions that the
// path must match. ok is false if it compares more than path and query.
func onlyTarget(condition string) (values map[string]string, expressions []string, ok bool) {
	values = map[string]string{}
	for _, one := range split(condition, " and ") {
		m := onTarget.FindStringSubmatch(one)
		if m == nil {
			if one == "" || strings.HasPrefix(one, "not path matches ") || absent.MatchString(one) {
				continue
			}
			return nil, nil, false
		}
		value, err := strconv.Unquote(m[3])
		ok := err == nil
		switch {
		case m[1] == "path":
			expressions = append(expressions, value)
			continue
		case m[2] == "matches":
			value, ok = matching(value)
		}
		if before, again := values[m[1]]; !ok || value == "" && m[1] != "query-string" || again && before != value {
			return nil, nil, false
		}
		values[m[1]] = value
	}
	return values, expressions, true
}

// example returns a request path with the values of parameters, by their operands.
func (p Path) example(values map[string]string) string {
	var b strings.Builder
	for _, s := range p {
		text := s.Text
		if s.Kind != Literal {
			if text = values[Member("path-params", s.Text)]; text == "" {
				text = "1"
			}
		}
		b.WriteByte('/')
		for i := range len(text) {
			if c := text[i]; PercentEncoded(rune(c)) || strings.IndexByte("%/?{}|[]", c) >= 0 {
				fmt.Fprintf(&b, "%%%02X", c)
			} else {
				b.WriteByte(c)
			}
		}
	}
	if b.Len() == 0 {
		return "/"
	}
	return b.String()
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
