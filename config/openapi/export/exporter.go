package export

import (
	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/openapi"
	"mockserver/config/syntax"
)

// exporter writes the endpoints of a specification into a document.
type exporter struct {
	*Export
	spec       *config.Spec
	operations []*exported
	declared   map[string]bool // methods and path shapes of the operations that are written
	ids        map[string]bool // operationIds in use
	words      *config.Words
}

// exported contains the endpoints with the same method and path, in the order of declaration.
type exported struct {
	method    string
	path      pathForm // the form of the first endpoint's path
	endpoints []*item.Endpoint
	operation *openapi.Operation // declared by a document; nil for none
	generated *item.Endpoint     // of the document, as served; nil for none
	replaced  bool               // an endpoint or a mocks file answers all its requests
}

// source returns the declaration at a key of a file, without secrets; nil when it was declared in
// Go.
func (x *exporter) source(pos config.Pos, key string) *syntax.Node {
	return x.words.At(pos.File, key)
}
