package openapi

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/generate"
	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/validate"
	"mockserver/config/syntax"
	"mockserver/internal/wording"
)

// Options are the options for reading a document.
type Options struct {
	// Seed is the seed for generated bodies.
	Seed uint64
	// Strict turns faults that do not prevent serving into errors.
	Strict bool
	// BasePath precedes all paths, instead of the base path that the document declares: "/v2", or
	// "/" for none. If BasePath is "", the declared base path is used. BasePathFault must return ""
	// for any other value.
	BasePath string
	// AllowRemoteRefs lets documents refer to others by http and https URLs.
	AllowRemoteRefs bool
	// Checks compiles the checks of requests, for Operation.Check.
	Checks  bool
	Samples bool // makes the sample of each operation

	// Open reads a local file as a document. A problem without a line concerns the whole file. The
	// node is nil when the file cannot be used.
	Open func(name string) (*syntax.Node, syntax.Problems)
	// Parse does the same for a text, the body received from a URL.
	Parse func(name string, data []byte) (*syntax.Node, syntax.Problems)
	// Suggest returns a hint such as " (did you mean get?)" with the key that was probably meant,
	// or "". It may be nil.
	Suggest func(word string, among []string) string
}

// Read reads a document. root is the parsed file at location, an absolute path; Read changes its
// nodes. The result has operations only when no problem is an error. Without Options.Strict, faults
// that do not prevent serving are warnings.
func Read(root *syntax.Node, location string, opts Options) (doc *Document) {
	r := newDocumentReader(opts)
	if err := guarded(func() { r.read(root, location) }); err != nil {
		r.doc.Operations, r.doc.Catalogue = nil, nil
		r.wrong(root, "%s", err)
	}
	sources, removed := map[string]*source{location: {root: root}}, map[*syntax.Node][]syntax.Entry(nil)
	if r.bundle != nil {
		r.doc.Files = r.bundle.files
		sources, removed = r.bundle.sources, r.bundle.removed
	}
	r.doc.Problems = pointed(r.problems, sources, removed)
	return r.doc
}

// documentReader reads one document.
type documentReader struct {
	opts   Options
	doc    *Document
	bundle *bundle
	decoding
}

func newDocumentReader(opts Options) *documentReader {
	return &documentReader{opts: opts, doc: &Document{}, decoding: decoding{
		reports: &reports{strict: opts.Strict}, layouts: layouts{}, suggest: opts.Suggest, orders: map[*openapi3.Schema][]string{}, numbers: jsonvalue.Numbers{}, twins: map[*openapi3.Operation]*twin{},
	}}
}

func (r *documentReader) read(root *syntax.Node, location string) {
	if root = r.bundled(root, location); root == nil {
		return
	}
	kin := r.decoded(root)
	if !r.strict {
		r.usable(kin)
	}
	r.rules(kin, root)
	if r.failed() {
		return
	}
	r.compile(kin, root)
	if r.failed() {
		r.doc.Operations, r.doc.Catalogue = nil, nil
		return
	}
	if len(r.doc.Operations)+len(r.doc.Catalogue) == 0 {
		p := lacksOperations(root)
		p.Key = cmp.Or(p.Key, "#")
		r.doc.Empty = syntax.Problems{p}
	}
}

// lacksOperations returns the problem of a document without operations, at the key that is not indented as was
// probably meant.
func lacksOperations(root *syntax.Node) syntax.Problem {
	paths := root.Get("paths")
	for _, e := range root.Entries {
		if strings.HasPrefix(e.Name(), "/") {
			where := "next to paths"
			if paths == nil {
				where = "a path, but the document has no paths"
			}
			return entryProblem(&e, fmt.Sprintf("%q is %s; indent it further, so that it is inside paths", wording.Clip(e.Name()), where)).Problem
		}
	}
	items := cmp.Or(paths, &syntax.Node{}).Entries
	for _, e := range items {
		if methodsOf[e.Name()] {
			return entryProblem(&e, fmt.Sprintf("%q is a method, not a path; indent it further, so that it is inside its path", e.Name())).Problem
		}
		for _, method := range e.Value.Entries {
			if methodsOf[method.Name()] && method.Value.Kind == syntax.NullNode {
				return entryProblem(&method, fmt.Sprintf("%q is null; expected an operation, with its keys indented further than %[1]q", method.Name())).Problem
			}
		}
	}
	what := "the document has no operations; expected paths with methods, such as paths: {/users: {get: {responses: {\"200\": {description: OK}}}}}"
	explicit := paths != nil && paths.Kind == syntax.MapNode && len(items) == 0 // as OpenAPI allows
	return syntax.Problem{Pos: root.Pos(), What: what, Warning: explicit}
}

// bundled returns the document as OpenAPI 3 with all references pointing into its own components,
// or nil when its version is not supported or it cannot be converted.
func (r *documentReader) bundled(root *syntax.Node, location string) *syntax.Node {
	if root = r.versioned(root, location); root == nil {
		return nil
	}
	if r.bundle == nil { // otherwise it was converted
		r.bundle = newBundle(root, location, r.layouts, r.opts, r.reports)
		r.bundle.run(r.layouts.of(reflect.TypeFor[openapi3.T]()))
	}
	if r.opts.BasePath != "" {
		rebase(root, r.opts.BasePath)
	}
	return root
}

// versioned returns the document as OpenAPI 3, or nil when its version is not supported or it
// cannot be converted.
func (r *documentReader) versioned(root *syntax.Node, location string) *syntax.Node {
	const accepted = "; expected OpenAPI 3.0, 3.1 or 3.2, or Swagger 2.0"
	if old := root.Get("swagger"); old != nil {
		if old.Scalar() != "2.0" && old.Scalar() != "2" {
			r.wrong(old, "the version is %q%s", wording.Clip(old.Scalar()), accepted)
			return nil
		}
		return r.converted(root, location)
	}
	version := root.Get("openapi")
	number := version.Scalar()
	minor := strings.Join(append(strings.Split(number, "."), "", "")[:2], ".")
	switch {
	case version.Kind != syntax.TextNode && version.Kind != syntax.NumberNode:
		r.wrong(version, "is %s; expected the version of OpenAPI, such as \"3.1.0\"", version.Kind)
		return nil
	case minor == "3.0":
	case minor == "3.1", minor == "3.2": // what is new in 3.2 and not read is reported where it stands
		r.modern = true
	default:
		r.wrong(version, "the version is %q%s", wording.Clip(number), accepted)
		return nil
	}
	if strings.Count(number, ".") == 1 { // written as a number
		version.Kind, version.Text.Value = syntax.TextNode, number+".0"
	}
	return root
}

// compiler turns a document that the library has read into operations.
type compiler struct {
	*reports
	doc     *openapi3.T
	make    *generate.Maker // makes responses; one for the whole document
	checker *validate.Compiler
	root    *syntax.Node
	samples bool // see Options
	twins   map[*openapi3.Operation]*twin
	out     *Document
}

// compile creates the operations of the document.
func (r *documentReader) compile(kin *openapi3.T, root *syntax.Node) {
	warn := func(kind, pointer, what string) {
		p := problem{Problem: syntax.Problem{Key: pointer, What: what, Warning: true, Kind: kind}}
		if n := r.bundle.at(pointer); n != nil {
			p.Pos = n.Pos()
		}
		r.problems = append(r.problems, p)
	}
	c := &compiler{
		doc: kin, make: generate.New(kin, r.opts.Seed, warn), root: root, out: r.doc, samples: r.opts.Samples,
		reports: r.reports, twins: r.twins,
	}
	orders := r.orders // all that fresh bodies keep of r
	c.make.Order = func(s *openapi3.Schema) []string { return orders[s] }
	c.make.Names = func(pointer string) []string {
		if n := r.bundle.at(pointer); n != nil {
			return n.Keys()
		}
		return nil
	}
	c.make.Numbers = r.numbers
	if r.opts.Checks {
		c.checker = validate.New(kin, r.numbers, warn)
	}
	c.operations()
	if kin.Info != nil {
		r.doc.Title, r.doc.Version = kin.Info.Title, kin.Info.Version
	}
	r.doc.Catalogue = c.catalogue(root)
	if c.checker != nil {
		c.checker.Finish()
	}
	c.make.Names, c.make.Warn = nil, nil // fresh bodies need no nodes, which are released
}

// operations compiles all operations, in the order of the document, except that those with the
// narrowest condition come first: others of the same shape would answer in their place.
func (c *compiler) operations() {
	for path, at := range c.root.Get("paths").Members() {
		if strings.HasPrefix(path, "x-") {
			continue
		}
		item, pointer := c.doc.Paths.Value(path), "#/paths/"+jsonvalue.EscapePointer(path)
		for method, n := range at.Members() {
			if op := operationOf(item, method); op != nil {
				c.operation(strings.ToUpper(method), path, item, op, pointer+"/"+method, at, n)
			}
			if method != "additionalOperations" { // OpenAPI 3.2
				continue
			}
			for other, inner := range n.Members() {
				if op := item.AdditionalOperations[other]; op != nil {
					c.operation(other, path, item, op, pointer+"/additionalOperations/"+jsonvalue.EscapePointer(other), at, inner)
				}
			}
		}
	}
	slices.SortStableFunc(c.out.Operations, func(a, b *Operation) int { return b.rank - a.rank })
}

// operation compiles the responses, the request checks and the callbacks of one operation.
func (c *compiler) operation(method, path string, item *openapi3.PathItem, op *openapi3.Operation, pointer string, at, n *syntax.Node) {
	servers := c.root.Get("servers")
	for _, closer := range []*syntax.Node{at.Get("servers"), n.Get("servers")} {
		if len(closer.List()) > 0 {
			servers = closer
		}
	}
	base, wrong := ServerPath(servers)
	if wrong != "" {
		c.fault(servers.List()[0], badServer, "%s", wrong)
	}
	if shown := cmp.Or(base, "/"); !slices.Contains(c.out.BasePaths, shown) {
		c.out.BasePaths = append(c.out.BasePaths, shown)
	}
	form := readPath(path)
	plain := form.plain
	if base != "" && plain == "/" {
		plain = ""
	}
	o := &Operation{
		ID: op.OperationID, Method: method, Path: base + plain,
		Pos: n.Pos(), Pointer: pointer,
		Tags: op.Tags, Summary: op.Summary, Description: op.Description,
	}
	o.Responses, o.Default = c.responses(op, pointer)
	o.List = c.list(item, op, o)
	o.Callbacks = c.callbacks(op, pointer)
	o.ask(&form, validate.ParametersOf(item, op))
	if c.samples {
		o.Sample = c.sample(item, op, pointer)
	}
	if c.checker != nil {
		o.checks = c.checker.Add(o.Path, pointer, item, op)
	}
	if t := c.twins[op]; t != nil {
		o.When, o.rank = t.when, t.rank
	}
	c.out.Operations = append(c.out.Operations, o)
}

// at returns the node at a pointer of the document and follows references on the way. It returns
// nil when there is no such node.
func (b *bundle) at(pointer string) *syntax.Node {
	n := b.root.root
	for _, token := range jsonvalue.TokensOf(strings.TrimPrefix(pointer, "#")) {
		n = b.target(b.root.step(b.target(n), token))
	}
	return n
}

// target follows the references from a node to the end and returns the last node. It returns the
// node itself when it is not a reference.
func (b *bundle) target(n *syntax.Node) *syntax.Node {
	for range maxInlined {
		ref := b.root.step(n, "$ref")
		if ref == nil || ref.Kind != syntax.TextNode || !strings.HasPrefix(ref.Text.Value, "#/") {
			return n
		}
		n = b.root.root
		for _, token := range jsonvalue.TokensOf(ref.Text.Value[1:]) {
			n = b.root.step(n, token)
		}
	}
	return n
}

// Bundled returns a document in the form that package export expects: everything that it references
// in other files is among its components, and Swagger 2.0 is converted to OpenAPI 3.0. Bundled
// changes root. The result is nil when the version of the document is not supported or the document
// cannot be converted; the problems contain the reason. Only Read finds all problems of a document.
func Bundled(root *syntax.Node, location string, opts Options) (*syntax.Node, syntax.Problems) {
	r := newDocumentReader(opts)
	bundled := r.bundled(root, location)
	return bundled, pointed(r.problems, nil, nil)
}
