package wiremock

import (
	"strconv"

	"mockserver/config/imports/draft"
	"mockserver/config/imports/language"
	"mockserver/config/syntax"
)

var (
	get    = language.Get
	text   = language.Text
	isTrue = language.IsTrue
)

type reader struct {
	*draft.Draft
	mappings  []*mapping
	order     language.Order
	upstreams language.Upstreams
	scenarios map[string]string // their names in the configuration
	taken     map[string]bool   // their names in the configuration
	strict    map[string]bool   // paths that are also declared with a slash at their end
	templated bool              // every response is a template
}

// mapping is one stub mapping.
type mapping struct {
	*syntax.Node
	name     string
	priority int
	dirs     []string // the directories where body files may be
}

// keys are the keys of a mapping that are read, or that do not affect answers.
var keys = []string{"id", "uuid", "name", "persistent", "priority", "scenarioName", "requiredScenarioState", "newScenarioState",
	"postServeActions", "serveEventListeners", "metadata", "insertionIndex", "request", "response"}

// made is the result of importing a mapping, under construction.
type made struct {
	reader *reader
	*mapping
	language.Notes
	methods []string
	any     bool            // one endpoint for any method answers the same as one for each
	placed  []placed        // by method
	path    language.Path   // its own path
	raw     bool            // it is a template, whose parameters are not decoded
	encoded bool            // characters that are not literal may be percent-encoded
	plain   map[string]bool // parameters that are not
	needs   []string        // conditions
	written language.Path   // as placed among the others
	bodies  string          // where the files are that its requests choose
}

// placed is the path that is written for a method, and the condition for it.
type placed struct {
	path      language.Path
	condition string
}

// label returns the name of a mapping in reports.
func (m *made) label() string {
	if name := text(get(m.Node, "name")); name != "" {
		return name
	}
	method := "ANY"
	if len(m.methods) == 1 {
		method = m.methods[0]
	}
	request := get(m.Node, "request")
	for _, key := range urlKeys {
		if url := text(get(request, key)); url != "" {
			return method + " " + url
		}
	}
	return method + " " + m.path.String()
}

// integer returns a number, or otherwise if n is none.
func integer(n *syntax.Node, otherwise int) int {
	if i, err := strconv.Atoi(text(n)); err == nil {
		return i
	}
	return otherwise
}

// listed returns the items of a list, or any other value.
func listed(n *syntax.Node) []*syntax.Node {
	if n.Kind == syntax.ListNode {
		return n.Items
	}
	return []*syntax.Node{n}
}
