package export

import (
	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/openapi"
	"mockserver/config/syntax"
)

// exporter is a document being written: the document that was read, with the endpoints of a
// specification that it does not contain. It is not safe for concurrent use.
type exporter struct {
	spec       *config.Spec
	words      *config.Words
	operations []*exported
	declared   map[string]bool // methods and path shapes of the operations that are written
	ids        map[string]bool // operationIds in use

	root  *syntax.Node
	base  string                  // the base path of the document that became root: "" or "/v1"
	paths map[string]string       // the key of each served path, by its shape
	keys  map[string]bool         // the shapes of all keys in paths
	made  map[string]*syntax.Node // path items by key, once requested
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
