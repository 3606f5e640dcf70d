package export

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/openapi"
	"mockserver/config/syntax"
	"mockserver/internal/semantics"
)

// exporter is a document being written: the document that was read, with the endpoints of a
// specification that it does not contain. It is not safe for concurrent use.
type exporter struct {
	spec       *config.Spec
	operations []*exported
	declared   map[string]bool // methods and path shapes of the operations that are written
	ids        map[string]bool // operationIds in use
	left       map[string]bool // what the document lacks

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

// Spec returns, as an OpenAPI document, what a specification serves, as far as OpenAPI has it; left names
// what it has not, "" for nothing. The OpenAPI document of the specification is written as it was read,
// except for parts that were replaced by declarations; declared endpoints are added. Secrets are masked.
// loader must be the one that loaded the specification, because the files are read again. The error is a
// read error, lists the problems of the specification, or says that it has several documents.
func Spec(loader config.Loader, s *config.Spec) (document *syntax.Node, left string, err error) {
	if err := s.Problems.Err(); err != nil {
		return nil, "", err
	}
	documents, title, err := loader.Documents(s)
	if err != nil {
		return nil, "", err
	}
	if n := len(documents); n > 1 {
		return nil, "", fmt.Errorf("there are %d OpenAPI documents; expected at most one: export the others by themselves", n)
	}
	info := syntax.NewMap().SetText("title", title).SetText("version", "1.0.0")
	x := &exporter{
		spec: s, declared: map[string]bool{}, ids: map[string]bool{}, left: map[string]bool{},
		root:  syntax.NewMap().SetText("openapi", "3.0.3").Set("info", info).Set("paths", syntax.NewMap()),
		paths: map[string]string{}, keys: map[string]bool{}, made: map[string]*syntax.Node{},
	}
	x.group()
	for _, doc := range documents {
		x.add(doc)
	}
	for _, item := range x.root.Get("paths").Members() {
		for _, op := range item.Members() {
			if id := op.Get("operationId").AsText(); id != "" {
				x.ids[id] = true
			}
		}
	}
	for _, o := range x.operations {
		x.operation(o)
	}
	if len(s.WebSockets) > 0 {
		x.left["WebSockets"] = true
	}
	return x.root, strings.Join(slices.Sorted(maps.Keys(x.left)), ", "), nil
}

// group groups endpoints by method and path. Endpoints after one that answers all requests are
// unreachable and left out.
func (x *exporter) group() {
	byShape := map[string]*exported{}
	for i := range x.spec.Endpoints {
		e := &x.spec.Endpoints[i]
		switch {
		case e.Resource != nil:
			x.left["resources"] = true
			continue
		case e.LLM != nil:
			x.left["language models"] = true
			continue
		case e.Method == item.MethodAny:
			x.left["endpoints for any method"] = true
			continue
		case slices.ContainsFunc(e.Webhooks, func(w item.Webhook) bool { return !w.Raw }): // others are those of a document
			x.left["webhooks"] = true
		}
		path := formOf(e)
		id := e.EffectiveMethod() + " " + shapeOf(path.template)
		o := byShape[id]
		if o == nil {
			o = &exported{method: strings.ToLower(e.EffectiveMethod()), path: path}
			byShape[id] = o
			x.operations = append(x.operations, o)
		}
		switch {
		case o.replaced:
		case e.Operation == nil || e.Key != e.Operation.Pointer: // a mocks file has its own keys
			o.endpoints = append(o.endpoints, e)
			o.replaced = always(e)
			if o.operation == nil {
				o.operation = e.Operation
			}
		default:
			o.operation, o.generated = e.Operation, e
		}
		if o.operation != nil {
			x.declared[o.operation.Method+" "+shapeOf(o.operation.Path)] = true
		}
	}
}

// served reports whether an operation of a document is written: it answers requests itself, or a
// mocks file answers them for it.
func (x *exporter) served(method, path string) bool {
	return x.declared[method+" "+shapeOf(path)]
}

// always reports whether an endpoint answers every request for its path.
func always(e *item.Endpoint) bool {
	return e.Host == "" && e.If.Value == "" && !strings.Contains(e.Path.Value, "|")
}

// operation writes the operation of one method and path.
func (x *exporter) operation(o *exported) {
	if len(o.endpoints) == 0 && (o.generated == nil || len(o.generated.Group.Replies()) == 0) {
		return // the document describes it
	}
	key, item := x.pathItem(o.path.template)
	if item == nil { // the document serves other paths under the same keys
		x.left[o.path.template] = true
		return
	}
	op := item.Get(o.method)
	if op == nil {
		op = syntax.NewMap()
		item.Set(o.method, op)
		if x.root.Get("security") != nil {
			op.Set("security", syntax.NewList()) // declared endpoints need no credentials
		}
	}
	x.document(op, o)
	x.parameters(op, item, key, o)
	x.requestBody(op, o)
	responses := op.Make("responses")
	x.ownResponses(responses, o)
	for _, e := range o.endpoints {
		x.writeResponses(responses, e)
	}
	if o.generated != nil {
		ownResponses(responses, o.generated)
	}
	slices.SortStableFunc(responses.Entries, func(a, b syntax.Entry) int { return strings.Compare(a.Name(), b.Name()) })
}

// ownResponses prepares the responses of a document for changes. If the operation is replaced, it
// removes the responses that requests without a preference would get.
func (x *exporter) ownResponses(responses *syntax.Node, o *exported) {
	for code, t := range responses.Members() {
		if t.Get("$ref") != nil {
			responses.Set(code, x.resolve(t).Clone())
		}
	}
	if !o.replaced {
		return
	}
	last := o.endpoints[len(o.endpoints)-1]
	kept := map[string]bool{}
	for _, r := range last.AllResponses() {
		status := strconv.Itoa(cmp.Or(r.Status, http.StatusOK))
		kept[status] = true
		if t := responses.Get(status); t != nil {
			t.Delete("headers")
		}
		for media, t := range responses.Get(status, "content").Members() {
			t.Delete("example")
			t.Delete("examples")
			if typ, _ := mediaType(r); semantics.MediaType(typ) != semantics.MediaType(media) || r.Body.Value == "" && r.External == nil {
				responses.Get(status, "content").Delete(media)
			}
		}
	}
	succeeds := false
	for status := range kept {
		succeeds = succeeds || status[0] == '2'
	}
	for code := range responses.Members() {
		if !kept[code] && (!succeeds || code == "default" || code[0] == '2') && !strings.HasPrefix(code, "x-") {
			responses.Delete(code)
		}
	}
}

// listIn returns the list under a key, which it adds if there is none.
func listIn(t *syntax.Node, key string) *syntax.Node {
	if t.Get(key) == nil {
		t.Set(key, syntax.NewList())
	}
	return t.Get(key)
}

// usualFirst returns the endpoints in another order: those without a condition first, and among
// these the successful ones first.
func usualFirst(endpoints []*item.Endpoint) []*item.Endpoint {
	rank := func(e *item.Endpoint) int {
		switch {
		case e.If.Value != "" || e.Host != "":
			return 2
		case e.Response.Status >= 300:
			return 1
		}
		return 0
	}
	sorted := slices.Clone(endpoints)
	slices.SortStableFunc(sorted, func(a, b *item.Endpoint) int { return rank(a) - rank(b) })
	return sorted
}

// document writes the documentation of the endpoints. If several endpoints have a text, it uses the
// first.
func (x *exporter) document(op *syntax.Node, o *exported) {
	set := func(key, text string) {
		if op.Get(key) == nil {
			op.SetText(key, text)
		}
	}
	for _, e := range usualFirst(o.endpoints) {
		for _, tag := range e.Doc.Tags {
			if tags := listIn(op, "tags"); !slices.ContainsFunc(tags.List(), func(t *syntax.Node) bool { return t.AsText() == tag }) {
				tags.Append(syntax.NewText(tag))
			}
		}
		set("summary", e.Doc.Summary)
		set("description", e.Doc.Description)
		if id := e.Doc.RouterName; id != "" && !x.ids[id] && op.Get("operationId") == nil {
			x.ids[id] = true
			op.SetText("operationId", id)
		}
	}
}
