package mockoon

import (
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

type reader struct {
	*draft.Draft
	root      *syntax.Node
	dir       string
	order     language.Order
	upstreams language.Upstreams
	asks      language.Asks
	sets      map[string]string   // names of sets by the identifiers of data buckets and their keys
	names     map[string]bool     // of sets
	members   map[string][]string // by set, the members by which lists are filtered
}

// prefixed returns the path of a route with the prefix of the environment.
func (r *reader) prefixed(route *syntax.Node) string {
	return "/" + strings.Trim(text(get(r.root, "endpointPrefix")), "/") + "/" + strings.TrimPrefix(text(get(route, "endpoint")), "/")
}
