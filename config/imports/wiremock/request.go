package wiremock

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"mockserver/config/imports/language"
	"mockserver/config/syntax"
	"mockserver/internal/semantics"
)

var urlKeys = []string{"url", "urlPath", "urlPathTemplate", "urlPattern", "urlPathPattern"}

// request reads the conditions for the requests that a mapping answers.
func (m *made) request(n *syntax.Node) {
	m.method(get(n, "method"))
	m.url(n)
	for key, value := range n.Members() {
		if value.Kind != syntax.NullNode {
			m.matcher(key, value)
		}
	}
}

func (m *made) method(n *syntax.Node) {
	var named []string
	for _, item := range append(get(n, "oneOf").List(), get(n, "noneOf").List()...) {
		named = append(named, strings.ToUpper(text(item)))
	}
	switch {
	case n == nil, n.Kind == syntax.TextNode && strings.EqualFold(n.Text.Value, "ANY"):
		m.methods = semantics.Methods
	case get(n, "noneOf") != nil:
		m.methods = slices.DeleteFunc(slices.Clone(semantics.Methods), func(method string) bool { return slices.Contains(named, method) })
	default:
		if n.Kind == syntax.TextNode {
			named = []string{strings.ToUpper(n.Text.Value)}
		}
		for _, method := range named {
			if !slices.Contains(semantics.Methods, method) {
				m.Lose("the method " + method + " is unknown")
				continue
			}
			m.methods = append(m.methods, method)
		}
	}
	if len(m.methods) == 0 {
		m.Lose("it answers no known method")
	}
}

// url reads the path. For the keys url and urlPattern, it also reads the query.
func (m *made) url(n *syntax.Node) {
	var condition, narrower string
	var err error
	switch ofURL := get(n, "urlPattern"); {
	case get(n, "url") != nil:
		path, query, found := strings.Cut(text(get(n, "url")), "?")
		if found && query == "" {
			m.Lose("the url %q matches no request: to WireMock, its query is missing", path+"?")
		}
		condition = language.Query(query)
		m.literal(path)
	case get(n, "urlPath") != nil:
		m.literal(text(get(n, "urlPath")))
	case get(n, "urlPathTemplate") != nil:
		m.template(text(get(n, "urlPathTemplate")))
	case ofURL != nil, get(n, "urlPathPattern") != nil:
		expression := text(cmp.Or(ofURL, get(n, "urlPathPattern")))
		m.encoded = language.CanMatch(expression, '%')
		if err = javaOnly(expression); err == nil && ofURL != nil {
			m.path, condition, narrower, err = language.ExpressionURL(expression)
		} else if err == nil {
			m.path, condition, err = language.ExpressionPath(expression)
		}
	default:
		m.encoded = true
		m.path = language.Path{{Kind: language.Rest, Text: "rest"}}
	}
	if err != nil {
		m.path = language.Path{{Kind: language.Rest, Text: "rest"}}
		m.Lose(err.Error())
	}
	m.need(condition)
	m.Note(narrower)
}

// literal sets a fixed path. To WireMock, /a and /a/ are different paths: a condition requires the
// slash, or excludes it if both paths are declared.
func (m *made) literal(path string) {
	m.path = language.LiteralPath(path)
	if !strings.HasPrefix(path, "/") {
		m.Lose("no request has the path %q, which does not begin with a slash", path)
	}
	if strings.ContainsAny(path, "%{|}") { // others that mean the same are other paths
		m.need(language.Equal("path", path))
	}
	if strings.ContainsFunc(path, language.PercentEncoded) || strings.Contains(path, "?") {
		m.Lose("the path %q matches no request: clients send some of its characters percent-encoded", path)
	}
	trimmed := strings.TrimSuffix(path, "/")
	switch {
	case len(path) > 1 && strings.HasSuffix(path, "/"):
		m.need("path matches " + language.Quote("/$"))
	case m.reader.strict[trimmed]:
		m.need("not path matches " + language.Quote("/$"))
	}
}

// template sets a path with variables, such as /users/{id}.
func (m *made) template(template string) {
	m.raw, m.plain = true, map[string]bool{}
	names := map[string]bool{}
	for _, part := range language.Parts(template) {
		switch name, ok := strings.CutPrefix(part, "{"); {
		case ok && strings.HasSuffix(name, "}") && language.Name(strings.TrimSuffix(name, "}")) == strings.TrimSuffix(name, "}") && !names[name]:
			names[name] = true
			m.path = append(m.path, language.Segment{Kind: language.Param, Text: strings.TrimSuffix(name, "}")})
		case strings.ContainsAny(part, "{}"):
			m.Lose("the segment %q of a path template cannot be expressed", part)
			m.path = append(m.path, language.Segment{Text: part})
		default:
			m.path = append(m.path, language.Segment{Text: language.Decoded(part)})
		}
	}
}

func (m *made) need(condition string) {
	if condition != "" && !slices.Contains(m.needs, condition) {
		m.needs = append(m.needs, condition)
	}
}

// roots are the operands of the members of a request that are maps of patterns.
var roots = map[string]string{"headers": "header-params", "queryParameters": "query-params", "cookies": "cookie-params",
	"formParameters": "form-params", "pathParameters": "path-params"}

// matcher adds the condition of one member of a request.
func (m *made) matcher(key string, n *syntax.Node) {
	switch key {
	case "method", "url", "urlPath", "urlPathTemplate", "urlPattern", "urlPathPattern":
	case "headers", "queryParameters", "cookies", "formParameters", "pathParameters":
		m.patterns(roots[key], n)
	case "bodyPatterns":
		for _, item := range n.Items {
			m.pattern("body", item)
		}
	case "clientIp":
		m.pattern("remote-addr", n)
	case "host":
		m.host(n)
	case "scheme":
		if !strings.EqualFold(text(n), "http") {
			m.Lose("the scheme " + text(n) + " is not served")
		}
	case "basicAuth", "basicAuthCredentials":
		credentials := text(get(n, "username")) + ":" + text(get(n, "password"))
		m.need(language.Equal("header-params.Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(credentials))))
	default:
		m.Lose("the matcher " + key + " cannot be expressed")
	}
}

// host adds the condition of a host. The port does not matter.
func (m *made) host(n *syntax.Node) {
	expression := ""
	switch {
	case get(n, "equalTo") != nil && len(n.Entries) == 1:
		expression = regexp.QuoteMeta(text(get(n, "equalTo")))
	case get(n, "matches") != nil && len(n.Entries) == 1:
		expression = text(get(n, "matches"))
	default:
		m.Lose("this matcher of the host cannot be expressed")
		return
	}
	m.need(m.Try(language.Matches("host", "(?:"+expression+")(?::[0-9]+)?", true)))
}

// patterns adds the conditions in a map of names and patterns.
func (m *made) patterns(root string, n *syntax.Node) {
	for _, e := range n.Entries {
		name := e.Key.Text.Value
		if root == "header-params" && !semantics.IsToken(name) || name == "" {
			m.Lose("the name %q cannot be expressed", name)
			continue
		}
		if root == "path-params" && !m.path.Has(name) {
			m.Lose("the path has no parameter %q", name)
			continue
		}
		if root == "path-params" {
			m.undecoded(name, e.Value)
		}
		m.pattern(language.Member(root, name), e.Value)
	}
}

// undecoded adds the condition that a parameter of a template, which WireMock does not decode, has
// no percent-encoded characters.
func (m *made) undecoded(name string, n *syntax.Node) {
	at := slices.Index(m.path, language.Segment{Kind: language.Param, Text: name})
	m.need("path matches " + language.Quote(fmt.Sprintf("^(?:/[^/]*){%d}/[^/%%]*(?:/|$)", at)))
	m.plain[name] = true
	expression, equal := get(n, "matches"), get(n, "equalTo")
	if (expression == nil || language.CanMatch(text(expression), '%')) && (equal == nil || strings.Contains(text(equal), "%")) {
		m.Note("the path parameter " + name + " is compared only if it has no percent-encoded characters")
	}
}

func (m *made) pattern(operand string, n *syntax.Node) {
	var notes language.Notes
	condition := condition(&notes, operand, n, 0)
	if notes.Gone != "" {
		m.Lose(notes.Gone)
		return
	}
	if strings.HasPrefix(operand, "cookie-params") && get(n, "absent") == nil { // no other matcher accepts a missing cookie
		condition = language.And(language.Present(operand), condition)
	}
	m.need(condition)
	m.Note(strings.Join(notes.Differ, "; "))
}
