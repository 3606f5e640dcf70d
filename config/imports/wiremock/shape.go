package wiremock

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"mockserver/config/syntax"
)

// shapes are the kinds of the members of a mapping, its request and its response, by the first
// letters of their names: boolean, list, map, number, text.
var shapes = map[string]map[string]string{
	"": {"request": "m", "response": "m", "priority": "n", "scenarioName": "t", "requiredScenarioState": "t", "newScenarioState": "t",
		"metadata": "m", "postServeActions": "ml", "serveEventListeners": "ml", "persistent": "b"},
	"request": {"method": "tm", "url": "t", "urlPath": "t", "urlPattern": "t", "urlPathPattern": "t", "urlPathTemplate": "t", "scheme": "t", "port": "n",
		"headers": "m", "queryParameters": "m", "cookies": "m", "formParameters": "m", "pathParameters": "m", "bodyPatterns": "l", "multipartPatterns": "l",
		"basicAuth": "m", "basicAuthCredentials": "m", "host": "m", "clientIp": "m", "customMatcher": "m"},
	"response": {"status": "n", "statusMessage": "t", "headers": "m", "body": "bnt", "base64Body": "t", "bodyFileName": "t", "transformers": "l", "transformerParameters": "m",
		"fixedDelayMilliseconds": "n", "delayDistribution": "m", "chunkedDribbleDelay": "m", "fault": "t", "proxyBaseUrl": "t",
		"additionalProxyRequestHeaders": "m", "removeProxyRequestHeaders": "l"},
	"matcher": {"equalTo": "t", "contains": "t", "doesNotContain": "t", "matches": "t", "doesNotMatch": "t", "binaryEqualTo": "t", "matchesJsonPath": "tm", "and": "l", "or": "l", "not": "m"},
}

var words = map[rune]string{'b': "true or false", 'l': "a list", 'm': "a map", 'n': "a whole number", 't': "a text"}

// checker collects the members of a wrong type. WireMock refuses mappings that have one.
type checker struct{ problems syntax.Problems }

func (c *checker) expect(name string, n *syntax.Node, kinds string) {
	var expected []string
	for _, k := range kinds {
		if fits(n, k) {
			return
		}
		expected = append(expected, words[k])
	}
	what := n.Kind.String()
	if n.Kind == syntax.NumberNode || n.Kind == syntax.TextNode && strings.Contains(kinds, "n") {
		what = strconv.Quote(n.Text.Value)
		if n.Kind == syntax.NumberNode {
			what = n.Text.Value
		}
	}
	c.problems = append(c.problems, syntax.Problem{Pos: n.Pos(), What: fmt.Sprintf("%s is %s; expected %s", name, what, strings.Join(expected, " or "))})
}

// fits reports whether a node is of a kind. A number may be in quotes.
func fits(n *syntax.Node, kind rune) bool {
	switch kind {
	case 'b':
		return n.Kind == syntax.BoolNode
	case 'l':
		return n.Kind == syntax.ListNode
	case 'm':
		return n.Kind == syntax.MapNode
	case 't':
		return n.Kind == syntax.TextNode
	}
	v, err := strconv.ParseFloat(n.Text.Value, 64)
	return (n.Kind == syntax.NumberNode || n.Kind == syntax.TextNode) && err == nil && v == math.Trunc(v)
}

// members checks the members of a map against a table of shapes.
func (c *checker) members(n *syntax.Node, table string) {
	if n == nil {
		return
	}
	for _, e := range n.Entries {
		if kinds := shapes[table][e.Key.Text.Value]; kinds != "" && (e.Value.Kind != syntax.NullNode || table == "matcher") {
			c.expect(e.Key.Text.Value, e.Value, kinds)
		}
	}
}

// mapping checks a mapping.
func (c *checker) mapping(n *syntax.Node) {
	request, response := get(n, "request"), get(n, "response")
	c.members(n, "")
	c.members(request, "request")
	c.members(response, "response")
	for _, key := range []string{"headers", "queryParameters", "cookies", "formParameters", "pathParameters"} {
		if patterns := get(request, key); patterns != nil {
			for _, e := range patterns.Entries {
				c.matcher(e.Key.Text.Value, e.Value, 0)
			}
		}
	}
	if patterns := get(request, "bodyPatterns"); patterns != nil {
		for _, item := range patterns.Items {
			c.matcher("the body pattern", item, 0)
		}
	}
	if headers := get(response, "headers"); headers != nil {
		for _, e := range headers.Entries {
			c.expect(e.Key.Text.Value, e.Value, "tl")
			for _, item := range e.Value.Items {
				c.expect(e.Key.Text.Value, item, "t")
			}
		}
	}
}

// matcher checks a matcher, and those inside it.
func (c *checker) matcher(name string, n *syntax.Node, depth int) {
	c.expect(name, n, "m")
	if n.Kind != syntax.MapNode || depth > maxNesting {
		return
	}
	c.members(n, "matcher")
	for _, key := range []string{"and", "or"} {
		if inner := get(n, key); inner != nil {
			for _, item := range inner.Items {
				c.matcher(key, item, depth+1)
			}
		}
	}
	if inner := get(n, "not"); inner != nil {
		c.matcher("not", inner, depth+1)
	}
}
