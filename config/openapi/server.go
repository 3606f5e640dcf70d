package openapi

import (
	"fmt"
	"mockserver/internal/wording"
	"net/url"
	"path"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// basePath returns the path of the first server without a trailing slash: "" or "/v1". Variables
// take their defaults, and a relative URL is resolved against the root. The problem is nil when
// there is none.
func basePath(servers openapi3.Servers) (string, *problem) {
	if len(servers) == 0 || servers[0] == nil {
		return "", nil
	}
	s := servers[0]
	text := s.URL
	for name, v := range s.Variables {
		value := ""
		if v != nil {
			if value = v.Default; value == "" && len(v.Enum) > 0 {
				value = v.Enum[0]
			}
		}
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	if strings.ContainsAny(text, "{}") {
		return "", nil // an undeclared variable, which validate reports
	}
	u, err := url.Parse(strings.TrimSpace(text))
	if err != nil {
		p := originProblem(s.Origin, fmt.Sprintf("the server's URL %q is not a URL", wording.Clip(text)))
		return "", &p
	}
	if base := path.Join("/", u.EscapedPath()); base != "/" {
		return base, nil
	}
	return "", nil
}

// serversOf returns the servers of an operation: its own, else those of its path, else those of the
// document.
func serversOf(doc *openapi3.T, item *openapi3.PathItem, op *openapi3.Operation) openapi3.Servers {
	switch {
	case op.Servers != nil && len(*op.Servers) > 0:
		return *op.Servers
	case len(item.Servers) > 0:
		return item.Servers
	}
	return doc.Servers
}
