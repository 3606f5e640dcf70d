package config

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"mockserver/config/openapi"
	"mockserver/config/openapi/tree"
	"mockserver/config/syntax"
	"mockserver/internal/address"
	"mockserver/internal/files"
	"mockserver/internal/wording"
)

// Loader reads configurations. Load and Parse use the zero Loader.
type Loader struct {
	// AllowRemoteRefs lets OpenAPI documents refer to others by http and https URLs, which are then
	// fetched.
	AllowRemoteRefs bool
	// BasePath replaces the path of the servers in OpenAPI documents, as the prefix of all paths:
	// "/v2", or "/" for none. "" uses the path of each document.
	BasePath string
	// Seed is the seed for bodies that are generated from schemas. The same seed gives the same
	// bodies.
	Seed uint64
	// StrictDocuments turns faults in OpenAPI documents that do not prevent serving into errors.
	StrictDocuments bool
	// Validate compiles the checks of requests, for openapi.Operation.Check.
	Validate bool
	// SampleRequests generates a request for each operation of an OpenAPI document, for
	// openapi.Operation.Sample.
	SampleRequests bool
	// Single accepts a map with the single key endpoint or websocket as a list of one item, so that
	// Parse reads a single endpoint.
	Single bool
	// Import makes a configuration of a file or directory of another tool, and returns the name of
	// that; "" for a path that is not of another tool. An error that is not Problems is worded to
	// follow the path. It may be nil.
	Import func(path string) (string, error)
	// Upstream is the URL of an upstream named default, which gets all requests that no endpoint
	// answers; "" for none.
	Upstream string
}

// given are the files of one load that are not just lists. They are processed after all files are
// read.
type given struct {
	documents []givenDocument
	mocks     []givenMocks
	single    bool            // see Loader
	listed    map[string]bool // files of which only the directory was given
}

// withoutParts removes the files that are parts of a document and are in its directory: they are
// not configurations and need not be valid ones. It returns the problems of the remaining files.
func (g *given) withoutParts(problems syntax.Problems, referenced []string) syntax.Problems {
	parts := map[string]bool{}
	for _, name := range referenced {
		if name = absolutePath(name); g.listed[name] {
			parts[name] = true
		}
	}
	if len(parts) == 0 {
		return problems
	}
	g.mocks = slices.DeleteFunc(g.mocks, func(m givenMocks) bool { return parts[absolutePath(m.doc.Pos().File)] })
	return slices.DeleteFunc(problems, func(p syntax.Problem) bool { return parts[absolutePath(p.Pos.File)] })
}

// givenDocument is an OpenAPI document as it was read.
type givenDocument struct {
	root *tree.Node
	name string
	dir  string // its directory, as an absolute path
}

// Referenced returns the files that OpenAPI documents and latencies refer to, whether they could be
// read or not: a change in them changes the spec.
func (s *Spec) Referenced() []string { return slices.Clone(s.referenced) }

// Documents returns the OpenAPI documents that were read without an error.
func (s *Spec) Documents() []*openapi.Document { return s.documents }

// Catalogue returns the names of the webhooks in OpenAPI 3.1 documents.
func (s *Spec) Catalogue() []string {
	var names []string
	for _, d := range s.documents {
		for i := range d.Catalogue {
			names = append(names, d.Catalogue[i].Name)
		}
	}
	return names
}

// isDocument reports whether a document of a file is an OpenAPI document.
func isDocument(doc *syntax.Node) bool {
	return doc.Kind == syntax.MapNode && (doc.Get("openapi") != nil || doc.Get("swagger") != nil)
}

// lacksVersion reports whether a document of a file would be an OpenAPI document if it had a
// version.
func lacksVersion(doc *syntax.Node) bool {
	paths := doc.Get("paths")
	return !isDocument(doc) && paths != nil && paths.Kind == syntax.MapNode
}

const noVersion = "the document has paths, but does not say which version of OpenAPI it is written in; expected the key openapi, 3.0.3 or 3.1.0, say"

// asLists turns items that stand alone into lists, if that is accepted.
func (g *given) asLists(docs []*syntax.Node) []*syntax.Node {
	for i, doc := range docs {
		if g.single && doc.Kind == syntax.MapNode && len(doc.Entries) == 1 && (doc.Get("endpoint") != nil || doc.Get("websocket") != nil) {
			docs[i] = &syntax.Node{Kind: syntax.ListNode, Text: syntax.Text{Pos: doc.Pos()}, Items: []*syntax.Node{doc}}
		}
	}
	return docs
}

// setAside removes OpenAPI documents and mocks files from the documents of a file, to be processed
// after all files are read. It returns the rest, which are lists.
func (g *given) setAside(docs []*syntax.Node, name, dir string) []*syntax.Node {
	return slices.DeleteFunc(docs, func(doc *syntax.Node) bool {
		switch {
		case isDocument(doc):
			g.documents = append(g.documents, givenDocument{root: tree.Of(doc), name: name, dir: dir})
		case mayBeMocks(doc):
			g.mocks = append(g.mocks, givenMocks{doc: doc, whole: doc, dir: dir})
		case mayBeBareMocks(doc):
			g.mocks = append(g.mocks, givenMocks{doc: doc.Items[0], whole: doc, dir: dir})
		default:
			return false
		}
		return true
	})
}

// finish processes what was set aside. Endpoints from documents come after those from lists.
func (s *Spec) finish(l Loader) {
	g := s.given
	s.read, s.given = nil, nil
	read := s.Problems
	s.Problems = nil
	if what := l.fault(); what != "" {
		s.Problems = append(s.Problems, syntax.Problem{What: what})
		l.BasePath = ""
	}
	var operations []operation
	for _, d := range g.documents {
		doc := openapi.Read(d.root, filepath.Join(d.dir, filepath.Base(d.name)), l.options(s, d.dir))
		doc.File = d.name
		s.referenced = append(s.referenced, doc.Files...)
		s.Problems = append(s.Problems, doc.Problems...)
		if doc.Problems.Err() == nil {
			s.documents = append(s.documents, doc)
		}
		for _, o := range doc.Operations {
			operations = append(operations, operation{Operation: o, dir: d.dir})
		}
	}
	slices.Sort(s.referenced)
	s.referenced = slices.Compact(s.referenced)
	s.Problems = slices.Concat(g.withoutParts(read, s.referenced), s.Problems)
	mocks := s.mocks(g, operations)
	for _, o := range operations {
		e := o.endpoint(&s.Problems)
		for _, m := range mocks[o.Operation] {
			if m.If.Value == "" {
				e = m.over(e)
				continue
			}
			s.Endpoints = append(s.Endpoints, m.over(e))
		}
		s.Endpoints = append(s.Endpoints, e)
	}
	s.addUpstream(l.Upstream)
	s.checkUpstreams()
	s.inRank()
}

// BasePathFault returns why a text cannot be Loader.BasePath; "" if it can.
func BasePathFault(text string) string { return openapi.BasePathFault(text) }

// fault returns what is wrong with a field of the loader; "" for nothing.
func (l Loader) fault() string {
	if l.BasePath == "" {
		return ""
	}
	if fault := BasePathFault(l.BasePath); fault != "" {
		return fmt.Sprintf("Loader.BasePath is %q: %s; expected a path such as /v2, or / for none", wording.Clip(l.BasePath), fault)
	}
	return ""
}

// options returns the options for reading documents.
func (l Loader) options(s *Spec, dir string) openapi.Options {
	return openapi.Options{
		Seed: l.Seed, AllowRemoteRefs: l.AllowRemoteRefs, Checks: l.Validate, Samples: l.SampleRequests,
		Strict: l.StrictDocuments, BasePath: l.BasePath,
		Open: func(name string) (*tree.Node, syntax.Problems) {
			data, err := files.Read(name)
			if err != nil {
				return nil, syntax.Problems{fileProblem(name, err.Error())}
			}
			return readDocument(name, data)
		},
		Parse: readDocument,
		Content: func(name string) ([]byte, error) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(dir, name)
			}
			s.referenced = append(s.referenced, name)
			return files.Read(name)
		},
		Suggest: wording.DidYouMean,
	}
}

// readDocument parses a document, or a part of one: YAML (which includes JSON), or EDN if the name
// has that extension.
func readDocument(name string, data []byte) (*tree.Node, syntax.Problems) {
	docs, problems := syntax.Read(name, data)
	docs = slices.DeleteFunc(docs, func(doc *syntax.Node) bool { return doc.Kind == syntax.NullNode })
	if len(docs) == 0 {
		if len(problems) == 0 {
			problems = syntax.Problems{fileProblem(name, "the file is empty")}
		}
		return nil, problems
	}
	return tree.Of(docs[0]), problems
}

// operation is an operation of a document, with the directory for relative file names.
type operation struct {
	*openapi.Operation
	dir string
}

// pos returns where the operation is declared.
func (o operation) pos() syntax.Pos { return syntax.Pos{File: o.File, Line: o.Line, Column: o.Column} }

// endpoint returns the endpoint of an operation that has no mock.
func (o operation) endpoint(problems *syntax.Problems) Endpoint {
	e := Endpoint{
		Pos: o.pos(), Key: o.Pointer, Dir: o.dir, Method: o.Method, Template: true, Operation: o.Operation,
		Path: syntax.Text{Value: o.Path, Pos: o.pos(), Key: o.Pointer, Folded: true},
		Doc:  Doc{Tags: o.Tags, Summary: o.Summary, Description: o.Description, RouterName: o.ID},
	}
	if o.When != "" {
		e.If = syntax.Text{Value: o.When, Pos: o.pos(), Key: o.Pointer, Folded: true}
	}
	e.Response = Response{Pos: e.Pos, Raw: true}
	if o.Default < len(o.Answers) {
		e.Response = o.response(&o.Answers[o.Default])
		if o.Template != "" {
			e.Response.Raw, e.Response.Body.Value = false, o.Template
		}
	}
	for i := range o.Callbacks {
		w, wrong := o.webhook(&o.Callbacks[i])
		if wrong != nil {
			*problems = append(*problems, *wrong)
			continue
		}
		e.Webhooks = append(e.Webhooks, w)
	}
	return e
}

// response returns the response for an answer of a document. Its texts are not templates.
func (o operation) response(a *openapi.Answer) Response {
	r := Response{Pos: o.pos(), Raw: true, Status: a.Status}
	if a.MediaType != "" {
		r.Headers = append(r.Headers, o.header("Content-Type", a.MediaType))
	}
	for _, h := range a.Headers {
		r.Headers = append(r.Headers, o.header(h.Name, h.Value))
	}
	r.Body = syntax.Text{Value: string(a.Body), Pos: o.pos(), Key: o.Pointer, Folded: true}
	return r
}

func (o operation) header(name, value string) Header {
	return Header{Name: name, Value: syntax.Text{Value: value, Pos: o.pos(), Key: o.Pointer, Folded: true}}
}

// webhook returns a callback of an operation as a webhook, or why it cannot be sent.
func (o operation) webhook(cb *openapi.Callback) (Webhook, *syntax.Problem) {
	pos := syntax.Pos{File: cb.File, Line: cb.Line, Column: cb.Column}
	var answer *openapi.Answer
	if o.Default < len(o.Answers) {
		answer = &o.Answers[o.Default]
	}
	target, what := openapi.CallbackURL(cb.URL, answer)
	if what == "" && !strings.Contains(target, "{{") {
		if fault := address.URLFault([]byte(target)); fault != "" {
			what = fmt.Sprintf("%q is not a valid URL: %s", address.Shown(target), fault)
		}
	}
	if what == "" && !slices.Contains(Methods, cb.Method) {
		what = "requests with the method " + wording.Label(cb.Method) + " are not sent"
	}
	if what != "" {
		return Webhook{}, &syntax.Problem{Pos: pos, Key: openapi.PointerLabel(cb.Pointer), What: "the callback is not sent: " + what, Warning: true, Kind: "callbacks are not sent"}
	}
	w := Webhook{
		Pos: pos, Key: cb.Pointer, Method: cb.Method, Raw: true, Delay: cb.Delay,
		URL:  syntax.Text{Value: target, Pos: pos, Key: cb.Pointer, Folded: true},
		Body: syntax.Text{Value: string(cb.Body), Pos: pos, Key: cb.Pointer, Folded: true},
	}
	if cb.Delayed && cb.Delay == 0 {
		w.Delay = AtOnce
	}
	if cb.MediaType != "" {
		w.Headers = append(w.Headers, o.header("Content-Type", cb.MediaType))
	}
	for _, h := range cb.Headers {
		if isToken(h.Name) && !strings.ContainsFunc(h.Value, inHeaderForbidden) && http.CanonicalHeaderKey(h.Name) != "Content-Type" {
			w.Headers = append(w.Headers, o.header(h.Name, h.Value))
		}
	}
	return w, nil
}
