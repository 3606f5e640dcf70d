package wiremock

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"mockserver/config/syntax"
	"mockserver/internal/list"
)

// shapes are the kinds of the members of a mapping, by the first letters of their names: boolean,
// list, map, number, text. After > follows the table of the members of a map, after * the kinds of
// the items of a list or the values of a map.
var shapes = map[string]map[string]string{
	"mapping": {"request": "m>request", "response": "m>response", "priority": "n", "scenarioName": "t", "requiredScenarioState": "t",
		"newScenarioState": "t", "metadata": "m", "postServeActions": "ml", "serveEventListeners": "ml", "persistent": "b"},
	"request": {"method": "tm", "url": "t", "urlPath": "t", "urlPattern": "t", "urlPathPattern": "t", "urlPathTemplate": "t", "scheme": "t",
		"port": "n", "headers": "m*m>matcher", "queryParameters": "m*m>matcher", "cookies": "m*m>matcher", "formParameters": "m*m>matcher",
		"pathParameters": "m*m>matcher", "bodyPatterns": "l*m>matcher", "multipartPatterns": "l", "basicAuth": "m", "basicAuthCredentials": "m",
		"host": "m>matcher", "clientIp": "m>matcher", "customMatcher": "m"},
	"response": {"status": "n", "statusMessage": "t", "headers": "m*tl*t", "body": "bnt", "base64Body": "t", "bodyFileName": "t",
		"transformers": "l", "transformerParameters": "m", "fixedDelayMilliseconds": "n", "delayDistribution": "m", "chunkedDribbleDelay": "m",
		"fault": "t", "proxyBaseUrl": "t", "additionalProxyRequestHeaders": "m", "removeProxyRequestHeaders": "l"},
	"matcher": {"equalTo": "t", "contains": "t", "doesNotContain": "t", "matches": "t", "doesNotMatch": "t", "binaryEqualTo": "t",
		"matchesJsonPath": "tm", "and": "l*m>matcher", "or": "l*m>matcher", "not": "m>matcher"},
}

var words = map[rune]string{'b': "true or false", 'l': "a list", 'm': "a map", 'n': "a whole number", 't': "a text"}

// checker collects the members of a wrong type. WireMock refuses mappings that have one.
type checker struct{ problems syntax.Problems }

// check checks a value and what is inside it against a shape.
func (c *checker) check(name string, n *syntax.Node, shape string) {
	shape, inner, _ := strings.Cut(shape, "*")
	kinds, table, _ := strings.Cut(shape, ">")
	if !strings.ContainsFunc(kinds, func(kind rune) bool { return fits(n, kind) }) {
		c.wrong(name, n, kinds)
	}
	for _, item := range n.Items {
		if inner != "" {
			c.check("an item of "+name, item, inner)
		}
	}
	for _, e := range n.Entries {
		key := e.Key.Text.Value
		if inner != "" {
			c.check(key, e.Value, inner)
		} else if shape := shapes[table][key]; shape != "" && (e.Value.Kind != syntax.NullNode || table == "matcher") {
			c.check(key, e.Value, shape)
		}
	}
}

func (c *checker) wrong(name string, n *syntax.Node, kinds string) {
	expected := list.Map([]rune(kinds), func(kind rune) string { return words[kind] })
	what := n.Kind.String()
	switch {
	case n.Kind == syntax.NumberNode:
		what = n.Text.Value
	case n.Kind == syntax.TextNode && strings.Contains(kinds, "n"):
		what = strconv.Quote(n.Text.Value)
	}
	c.problems = append(c.problems, syntax.Problem{Pos: n.Pos(), What: fmt.Sprintf("%s is %s; expected %s", name, what, strings.Join(expected, " or "))})
}

// fits reports whether a node is of a kind. A number may be in quotes.
func fits(n *syntax.Node, kind rune) bool {
	if kind == 'n' {
		v, err := strconv.ParseFloat(n.Text.Value, 64)
		return (n.Kind == syntax.NumberNode || n.Kind == syntax.TextNode) && err == nil && v == math.Trunc(v)
	}
	return n.Kind == map[rune]syntax.Kind{'b': syntax.BoolNode, 'l': syntax.ListNode, 'm': syntax.MapNode, 't': syntax.TextNode}[kind]
}
