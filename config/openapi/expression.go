package openapi

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/syntax"
	"mockserver/internal/address"
	"mockserver/internal/wording"
)

// CallbackURL returns the URL of a callback as a template. Runtime expressions become placeholders;
// those that refer to the response are replaced with their values, which are known. If the URL
// cannot be converted, what is the reason; otherwise it is "".
func CallbackURL(written string, response *Response) (template, what string) {
	if strings.HasPrefix(written, "$") { // a single expression without braces
		return expression(written, response)
	}
	var b strings.Builder
	for rest := written; ; {
		literal, after, found := strings.Cut(rest, "{")
		b.WriteString(literal)
		if !found {
			return b.String(), ""
		}
		inside, after, closed := strings.Cut(after, "}")
		if !closed {
			return "", fmt.Sprintf("a { has no matching } in %q", wording.Clip(written))
		}
		made, what := expression(inside, response)
		if what != "" {
			return "", what
		}
		b.WriteString(made)
		rest = after
	}
}

// requestURL is the URL of a request, as far as the server knows it.
const requestURL = "http://{{host}}{{path}}{% if query-string %}?{{query-string}}{% endif %}"

// expression converts a runtime expression of OpenAPI to a template.
func expression(text string, response *Response) (template, what string) {
	source, rest, _ := strings.Cut(text, ".")
	switch {
	case text == "$url":
		return requestURL, ""
	case text == "$method":
		return "{{method}}", ""
	case text == "$statusCode":
		if response == nil {
			return "", "$statusCode is the status of the answer, and there is no answer"
		}
		return strconv.Itoa(response.Status), ""
	case source == "$request":
		return requestExpression(text, rest)
	case source == "$response":
		return responseExpression(text, rest, response)
	}
	return "", fmt.Sprintf("%q is not a runtime expression; expected $url, $method, $statusCode, or $request. or $response. "+
		"followed by header.NAME, query.NAME, path.NAME or body#/POINTER", wording.Clip(text))
}

func requestExpression(text, rest string) (template, what string) {
	kind, name, _ := strings.Cut(rest, ".")
	root := map[string]string{"header": "header-params", "query": "query-params", "path": "path-params"}[kind]
	switch {
	case root != "" && isPlainName(name):
		return "{{" + root + "." + name + "}}", ""
	case root != "":
		return "", fmt.Sprintf("%q: expected a name of letters, digits, - and _", wording.Clip(text))
	case rest == "body":
		return "{{json-params}}", ""
	}
	pointer, ok := strings.CutPrefix(rest, "body#")
	if !ok || pointer != "" && pointer[0] != '/' {
		return "", fmt.Sprintf("%q: expected after $request.: header.NAME, query.NAME, path.NAME, body or body#/POINTER", wording.Clip(text))
	}
	steps := jsonvalue.TokensOf(pointer)
	for i, token := range steps {
		if isPlainName(token) {
			steps[i] = "." + token
			continue
		}
		steps[i] = `["` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(token) + `"]`
	}
	return "{{json-params" + strings.Join(steps, "") + "}}", ""
}

// isPlainName reports whether a name can be used in a placeholder without quotes.
func isPlainName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// responseExpression evaluates an expression against the default response.
func responseExpression(text, rest string, response *Response) (template, what string) {
	if response == nil {
		return "", fmt.Sprintf("%q: there is no answer", wording.Clip(text))
	}
	if name, ok := strings.CutPrefix(rest, "header."); ok {
		for _, h := range response.Headers {
			if strings.EqualFold(h.Name, name) {
				return literal(h.Value), ""
			}
		}
		return "", fmt.Sprintf("%q: the answer has no header of that name with an example", wording.Clip(text))
	}
	pointer, ok := strings.CutPrefix(rest, "body#")
	if !ok && rest != "body" {
		return "", fmt.Sprintf("%q: expected after $response.: header.NAME or body#/POINTER", wording.Clip(text))
	}
	body, err := syntax.ParseJSON(response.Body)
	if err != nil {
		return "", fmt.Sprintf("%q: the body of the answer is not JSON", wording.Clip(text))
	}
	if n := jsonvalue.At(body, pointer); n != nil {
		switch n.Kind {
		case syntax.TextNode:
			return literal(n.Text.Value), ""
		case syntax.NumberNode, syntax.BoolNode:
			return n.Scalar(), ""
		}
	}
	return "", fmt.Sprintf("%q: there is no text or number of that name in the answer", wording.Clip(text))
}

// literal returns a value from a response in the form used in a URL: a URL is unchanged, anything
// else is percent-encoded so that it stays within its part.
func literal(value string) string {
	if address.Scheme(value) == "" {
		return strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
	}
	return value
}
