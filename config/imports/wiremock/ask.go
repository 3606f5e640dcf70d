package wiremock

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

// ask adds the request that a mapping describes, with its first method. It adds no request if none
// can be derived from the matchers, if the mapping passes requests on or sends a fault, or if its
// scenario may be in another state.
func (r *reader) ask(m *made, e *draft.Map) {
	response, _ := e.Get("response").(*draft.Map)
	want := language.Wanted(response)
	known := &want
	if e.Get("fault") != nil || response.Get("proxy") != nil {
		known = nil
	}
	for i, method := range m.methods {
		var ask *draft.Ask
		if i == 0 && known != nil && r.asksScenario(m.Node) {
			ask = m.example(get(m.Node, "request"))
			if ask != nil && len(ask.Body) == 0 && strings.Contains(text(get(get(m.Node, "response"), "body")), "request.body") {
				ask = nil // WireMock's helpers send their own error messages
			}
		}
		one := want
		if one.Any = want.Any || method == "HEAD"; known != nil {
			known = &one
		}
		r.asks.Add(r.Draft, method, m.path, ask, known, false)
	}
}

// asksScenario reports whether the scenario is in the state of a mapping when the mapping is
// requested: it is the first state, and no other mapping of the scenario was requested before.
func (r *reader) asksScenario(n *syntax.Node) bool {
	name := text(get(n, "scenarioName"))
	if name == "" {
		return true
	}
	if state := text(get(n, "requiredScenarioState")); state != "" && state != "Started" || r.asked[name] {
		return false
	}
	r.asked[name] = true
	return true
}

// example returns a request that all matchers of a mapping accept; nil if none can be derived.
func (m *made) example(n *syntax.Node) *draft.Ask {
	a := &draft.Ask{Pos: m.Node.Pos(), Name: m.name}
	target, ok := exampleTarget(n)
	if !ok {
		return nil
	}
	query, cookies := url.Values{}, []string{}
	if n != nil {
		for _, e := range n.Entries {
			switch key := e.Key.Text.Value; key {
			case "method", "url", "urlPath", "urlPathTemplate", "urlPattern", "urlPathPattern", "pathParameters":
			case "queryParameters":
				ok = ok && examples(e.Value, func(name, value string) { query.Set(name, value) })
			case "headers":
				ok = ok && examples(e.Value, func(name, value string) { a.Header = append(a.Header, draft.Field{Name: name, Value: value}) })
			case "cookies":
				ok = ok && examples(e.Value, func(name, value string) { cookies = append(cookies, name+"="+value) })
			case "basicAuth", "basicAuthCredentials":
				credentials := text(get(e.Value, "username")) + ":" + text(get(e.Value, "password"))
				a.Header = append(a.Header, draft.Field{Name: "Authorization", Value: "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))})
			case "bodyPatterns":
				ok = ok && exampleBody(a, e.Value.Items)
			default:
				ok = ok && e.Value.Kind == syntax.NullNode
			}
		}
	}
	if len(cookies) > 0 {
		a.Header = append(a.Header, draft.Field{Name: "Cookie", Value: strings.Join(cookies, "; ")})
	}
	if len(query) > 0 {
		target += map[bool]string{true: "&", false: "?"}[strings.Contains(target, "?")] + query.Encode()
	}
	if a.Target = target; !ok || slices.ContainsFunc(a.Header, unsendable) {
		return nil
	}
	return a
}

// unsendable reports whether a header cannot be sent unchanged.
func unsendable(f draft.Field) bool {
	return language.OwnHeader(f.Name) || strings.EqualFold(f.Name, "Host") || strings.EqualFold(f.Name, "Accept-Encoding") || strings.EqualFold(f.Name, "Expect") ||
		!language.HeaderName(f.Name) || strings.ContainsFunc(f.Value, func(r rune) bool { return r < ' ' || r >= 0x7F }) || strings.TrimSpace(f.Value) != f.Value
}

// exampleTarget returns a path, with a query if the mapping declares it together with the path.
func exampleTarget(n *syntax.Node) (target string, ok bool) {
	target, ok = "/", true
	if literal := text(get(n, "url")) + text(get(n, "urlPath")); literal != "" {
		target = literal
	} else if template := text(get(n, "urlPathTemplate")); template != "" {
		values := map[string]string{}
		if all := get(n, "pathParameters"); all != nil {
			ok = examples(all, func(name, value string) { values[name] = value })
		}
		target = templateVariable.ReplaceAllStringFunc(template, func(v string) string {
			if value := values[strings.Trim(v, "{}")]; value != "" {
				return url.PathEscape(value)
			}
			return "1"
		})
	} else if expression := text(get(n, "urlPattern")) + text(get(n, "urlPathPattern")); expression != "" {
		target, ok = language.Example(expression)
	}
	u, err := url.ParseRequestURI(target)
	return target, ok && err == nil && strings.HasPrefix(target, "/") && u.Host == "" && !strings.ContainsAny(target, "# {}|\\^`\"<>[]")
}

var templateVariable = regexp.MustCompile(`\{[^{}]+\}`)

// examples calls put with a value for each matcher of a map, and reports whether all have one.
func examples(n *syntax.Node, put func(name, value string)) bool {
	for _, e := range n.Entries {
		value, present, ok := exampleValue(e.Value)
		if !ok {
			return false
		}
		if present {
			put(e.Key.Text.Value, value)
		}
	}
	return true
}

// exampleValue returns a value that a matcher accepts; ok is false if none is known. present is
// false if the matcher accepts only a missing value.
func exampleValue(n *syntax.Node) (value string, present, ok bool) {
	if n == nil || n.Kind != syntax.MapNode {
		return "", false, false
	}
	for _, e := range n.Entries {
		key := e.Key.Text.Value
		switch {
		case slices.Contains(options, key):
			continue
		case ok: // a second matcher
			return "", false, false
		}
		present = true
		switch key {
		case "equalTo", "contains", "equalToNumber":
			value, ok = text(e.Value), text(e.Value) != ""
		case "matches":
			value, ok = language.Example(text(e.Value))
		case "anything":
			value, ok = "x", true
		case "absent":
			present, ok = false, true
		case "or":
			if len(e.Value.Items) > 0 {
				value, present, ok = exampleValue(e.Value.Items[0])
			}
		}
		if !ok {
			return "", false, false
		}
	}
	return value, present, ok
}

// exampleBody sets a body that the patterns accept, and reports whether it can: for a single
// pattern for a text or for JSON, or for any number of plain paths.
func exampleBody(a *draft.Ask, patterns []*syntax.Node) bool {
	root := map[string]any{}
	for _, p := range patterns {
		at, equal := get(p, "matchesJsonPath"), get(p, "equalToJson")
		switch {
		case at != nil && len(p.Entries) == 1:
			if !exampleMember(root, at) {
				return false
			}
			continue
		case len(patterns) > 1:
			return false
		case equal != nil && equal.Kind == syntax.TextNode:
			a.Body = []byte(equal.Text.Value)
		case equal != nil:
			a.Body = []byte(language.JSON(equal))
		default:
			value, present, ok := exampleValue(p)
			a.Body = []byte(value)
			return ok && present
		}
		if strings.Contains(string(a.Body), "${json-unit") {
			return false
		}
	}
	if len(root) > 0 {
		a.Body, _ = json.Marshal(root) // texts in maps
	}
	if !slices.ContainsFunc(a.Header, func(f draft.Field) bool { return strings.EqualFold(f.Name, "Content-Type") }) {
		a.Header = append(a.Header, draft.Field{Name: "Content-Type", Value: "application/json"})
	}
	return len(a.Body) > 0
}

var plainPath = regexp.MustCompile(`^\$(\.[A-Za-z_][A-Za-z0-9_]*)+$`)

// exampleMember sets the member that a plain JSON path finds, and reports whether it can.
func exampleMember(root map[string]any, n *syntax.Node) bool {
	path, value := text(n), "x"
	if n.Kind == syntax.MapNode {
		inner := *n
		inner.Entries = slices.DeleteFunc(slices.Clone(n.Entries), func(e syntax.Entry) bool { return e.Key.Text.Value == "expression" })
		found, present, ok := exampleValue(&inner)
		if !ok || !present {
			return false
		}
		path, value = text(get(n, "expression")), found
	}
	if !plainPath.MatchString(path) {
		return false
	}
	names := strings.Split(path, ".")[1:]
	for _, name := range names[:len(names)-1] {
		next, ok := root[name].(map[string]any)
		if !ok {
			if root[name] != nil {
				return false
			}
			next = map[string]any{}
			root[name] = next
		}
		root = next
	}
	last := names[len(names)-1]
	if root[last] != nil {
		return false
	}
	root[last] = value
	return true
}
