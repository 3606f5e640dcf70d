package openapi

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

// BasePathFault returns the reason why a text cannot be Options.BasePath; "" if it can.
func BasePathFault(text string) string {
	switch {
	case !strings.HasPrefix(text, "/"):
		return "it does not begin with a slash"
	case strings.ContainsAny(text, "?#"):
		return "it has a query or a fragment"
	case strings.ContainsAny(text, "{}*"):
		return "it has a placeholder"
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }):
		return "it has a blank or a control character"
	case strings.Contains(text, `\`):
		return "it has a backslash"
	case text == "/":
		return ""
	}
	for _, segment := range strings.Split(strings.TrimSuffix(text[1:], "/"), "/") {
		decoded, err := url.PathUnescape(segment)
		switch {
		case err != nil:
			return "it has an invalid escape"
		case decoded == "" || decoded == "." || decoded == "..":
			return `it has a segment that is empty, "." or ".."`
		case strings.HasPrefix(segment, ":"):
			return "it has a placeholder"
		}
	}
	return ""
}

// rebase replaces the servers of an OpenAPI 3 document, its paths and its operations with one
// server that has a base path.
func rebase(root *syntax.Node, base string) {
	root.Set("servers", syntax.NewList(syntax.NewMap().SetText("url", base)))
	paths := root.Get("paths")
	for _, item := range paths.Members() {
		withoutServers(item)
		for method, op := range item.Members() {
			switch {
			case method == "additionalOperations":
				for _, other := range op.Members() {
					withoutServers(other)
				}
			case !strings.HasPrefix(method, "x-"):
				withoutServers(op)
			}
		}
	}
}

// withoutServers removes the servers from a path item or an operation. Its entries are
// copied, because an alias in the file may share them.
func withoutServers(n *syntax.Node) {
	if n.IsMap() && n.Get("servers") != nil {
		n.Entries = slices.DeleteFunc(slices.Clone(n.Entries), func(e syntax.Entry) bool { return e.Name() == "servers" })
	}
}

// ServerPath returns the path of the first of the servers, without a trailing slash: "" or "/v1".
// Variables have their defaults, or else the first values of their enums. A relative URL is
// relative to the root. wrong says what is wrong with the URL; "" if nothing is.
func ServerPath(servers *syntax.Node) (base, wrong string) {
	if len(servers.List()) == 0 {
		return "", ""
	}
	server := servers.List()[0]
	text := server.Get("url").AsText()
	for name, variable := range server.Get("variables").Members() {
		value := ""
		if given := variable.Get("default"); given != nil {
			value = given.Scalar()
		}
		if enum := variable.Get("enum").List(); value == "" && len(enum) > 0 {
			value = enum[0].Scalar()
		}
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	if strings.ContainsAny(text, "{}") {
		return "", "" // an undeclared variable, which was reported
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		return "", fmt.Sprintf("the server's URL %q is not a URL", wording.Clip(text))
	}
	escaped := u.EscapedPath()
	if u.RawPath != "" { // a path that needs further escapes keeps its own: %2F must not become a slash
		escaped = special.ReplaceAllStringFunc(u.RawPath, url.PathEscape)
	}
	if base := path.Join("/", escaped); base != "/" {
		return base, ""
	}
	return "", ""
}

// special matches the characters that need an escape in a path (RFC 3986, section 3.3), except
// brackets, which clients send unescaped.
var special = regexp.MustCompile(`[^%A-Za-z0-9._~!$&'()*+,;=:@/\[\]-]`)
