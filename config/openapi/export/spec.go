package export

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/openapi"
	"mockserver/config/syntax"
	"mockserver/config/table"
	"mockserver/internal/semantics"
	"mockserver/internal/tags"
)

// Spec returns, as an OpenAPI document, everything that a specification serves. Declarations that
// OpenAPI cannot express are kept in extensions (x-mockserver-…). The OpenAPI document of the
// specification is written as it was read, except for parts that were replaced by declarations;
// declared endpoints are added. loader must be the one that loaded the specification, because the
// files are read again. Secrets are masked; hidden names them. The error is a read error, lists the problems of
// the specification, or says that it has several documents.
func Spec(loader config.Loader, s *config.Spec) (document *syntax.Node, hidden config.Problems, err error) {
	if err := s.Problems.Err(); err != nil {
		return nil, nil, err
	}
	words, err := loader.Words(s)
	if err != nil {
		return nil, nil, err
	}
	info := syntax.NewMap().SetText("title", words.Title).SetText("version", "1.0.0")
	x := &exporter{
		spec: s, words: words, declared: map[string]bool{}, ids: map[string]bool{},
		root:  syntax.NewMap().SetText("openapi", "3.0.3").Set("info", info).Set("paths", syntax.NewMap()),
		paths: map[string]string{}, keys: map[string]bool{}, made: map[string]*syntax.Node{},
	}
	x.group()
	if n := len(words.Documents); n > 1 {
		return nil, nil, fmt.Errorf("there are %d OpenAPI documents; expected at most one: export the others by themselves", n)
	}
	for _, doc := range words.Documents {
		embed(doc.Root, doc.Root, openapi.KindOf[openapi3.T](), doc.Content)
		x.add(doc.Root)
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
	x.items()
	return x.root, words.Hidden, nil
}

// group groups endpoints by method and path. Endpoints after one that answers all requests are
// unreachable and left out.
func (x *exporter) group() {
	byShape := map[string]*exported{}
	for i := range x.spec.Endpoints {
		e := &x.spec.Endpoints[i]
		if e.Resource != nil || e.Method == item.MethodAny {
			continue // it is written as a whole
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
	if len(o.endpoints) == 0 && (o.generated == nil || sayable(o.generated)) {
		return // the document describes it
	}
	key, item := x.pathItem(o.path.template)
	if item == nil { // conflicts with a document that serves other paths under the same key
		x.unsaid(x.root, o)
		return
	}
	op := item.Get(o.method)
	fresh := op == nil
	if fresh {
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
	x.callbacks(op, o)
	if len(o.endpoints) != 1 || !fresh || !sayable(o.endpoints[0]) {
		x.unsaid(op, o)
	}
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

// unsaid records declarations in their original form.
func (x *exporter) unsaid(at *syntax.Node, o *exported) {
	const key = "x-mockserver-endpoints"
	for _, e := range o.endpoints {
		if t := x.source(e.Pos, e.Key); t != nil {
			listIn(at, key).Append(t)
		}
	}
	for _, e := range x.words.Mocks {
		if op := o.operation; op != nil && (e.Name() == op.ID && op.ID != "" || e.Name() == op.Method+" "+op.Path) {
			listIn(at, key).Append(e.Value)
		}
	}
}

// sayable reports whether OpenAPI can express everything that an endpoint does.
func sayable(e *item.Endpoint) bool {
	if e.Operation == nil {
		return !e.Unsaid() && !formOf(e).rest && fixed(&e.Response)
	}
	ours := *e // the document describes the other parts, unless a mocks file declares other callbacks
	ours.If, ours.Webhooks = syntax.Text{}, nil
	return !ours.Unsaid() && !slices.ContainsFunc(e.Webhooks, func(w item.Webhook) bool { return !w.Raw })
}

// fixed reports whether a response is always the same and its header names are unique.
func fixed(r *item.Response) bool {
	names := map[string]bool{}
	for _, h := range r.Headers {
		name := strings.ToLower(h.Name)
		if names[name] || !r.Raw && tags.In(h.Value.Value) {
			return false
		}
		names[name] = true
	}
	return !table.Unsaid(item.ResponseFields, r) && (r.Raw || !tags.In(r.Body.Value))
}

// items writes the items that OpenAPI cannot express at all: the paths of WebSocket connections,
// sets of rows, resources, scenarios, upstreams, and endpoints for any method.
func (x *exporter) items() {
	for i := range x.spec.WebSockets {
		x.item("x-mockserver-websockets", x.spec.WebSockets[i].Pos, x.spec.WebSockets[i].Key)
	}
	for i := range x.spec.Data {
		if d := &x.spec.Data[i]; strings.HasSuffix(d.Key, ".data") && !strings.HasSuffix(d.Key, ".resource.data") {
			x.item("x-mockserver-data", d.Pos, d.Key)
		}
	}
	written := map[string]bool{} // a resource has several endpoints
	for i := range x.spec.Endpoints {
		if e := &x.spec.Endpoints[i]; e.Resource != nil && !written[e.Pos.File+e.Key] {
			written[e.Pos.File+e.Key] = true
			x.item("x-mockserver-resources", e.Pos, e.Key)
		}
	}
	for i := range x.spec.Scenarios {
		x.item("x-mockserver-scenarios", x.spec.Scenarios[i].Pos, x.spec.Scenarios[i].Key)
	}
	for i := range x.spec.Upstreams {
		x.item("x-mockserver-upstreams", x.spec.Upstreams[i].Pos, x.spec.Upstreams[i].Key)
	}
	for i := range x.spec.Endpoints {
		if e := &x.spec.Endpoints[i]; e.Method == item.MethodAny {
			x.item("x-mockserver-proxies", e.Pos, e.Key)
		}
	}
}

// item adds an item as it was declared to a list of the document.
func (x *exporter) item(list string, pos config.Pos, key string) {
	if t := x.source(pos, key); t != nil {
		listIn(x.root, list).Append(t)
	}
}
