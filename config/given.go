package config

import (
	"path/filepath"
	"slices"

	"mockserver/config/openapi"
	"mockserver/config/syntax"
	"mockserver/internal/files"
)

// given contains the OpenAPI documents and mocks files of one load. They are processed after all
// files are read.
type given struct {
	documents []givenDocument
	mocks     []givenMocks
	single    bool            // see Loader
	listed    map[string]bool // files that were given only by their directory
}

// withoutParts removes from the mocks the files that OpenAPI documents refer to and that were given
// only by their directory: they are parts of a document and need not be valid configurations. It
// returns the problems of all other files.
func (g *given) withoutParts(problems syntax.Problems, referenced []string) syntax.Problems {
	parts := map[string]bool{}
	for _, name := range referenced {
		if name = files.Absolute(name); g.listed[name] {
			parts[name] = true
		}
	}
	if len(parts) == 0 {
		return problems
	}
	g.mocks = slices.DeleteFunc(g.mocks, func(m givenMocks) bool { return parts[files.Absolute(m.doc.Pos().File)] })
	return slices.DeleteFunc(problems, func(p syntax.Problem) bool { return parts[files.Absolute(p.Pos.File)] })
}

// givenDocument is an OpenAPI document as it was read.
type givenDocument struct {
	root *syntax.Node
	name string
	dir  string // its directory, as an absolute path
}

// isDocument reports whether a document of a file is an OpenAPI document.
func isDocument(doc *syntax.Node) bool {
	return doc.Kind == syntax.MapNode && (doc.Get("openapi") != nil || doc.Get("swagger") != nil)
}

// lacksVersion reports whether a document of a file would be an OpenAPI document if it had a
// version.
func lacksVersion(doc *syntax.Node) bool {
	return !isDocument(doc) && doc.Get("paths").IsMap()
}

const noVersion = "the document has paths but no version of OpenAPI; expected the key openapi, with a version such as 3.0.3 or 3.1.0"

// asLists turns each single endpoint or WebSocket outside a list into a list, if the Loader accepts
// such items.
func (g *given) asLists(docs []*syntax.Node) []*syntax.Node {
	for i, doc := range docs {
		if g.single && doc.Kind == syntax.MapNode && len(doc.Entries) == 1 && (doc.Get("endpoint") != nil || doc.Get("websocket") != nil) {
			docs[i] = &syntax.Node{Kind: syntax.ListNode, Text: syntax.Text{Pos: doc.Pos()}, Items: []*syntax.Node{doc}}
		}
	}
	return docs
}

// setAside removes OpenAPI documents and mocks files from the documents of a file, to be processed
// after all files are read. It returns the rest, which should be lists.
func (g *given) setAside(docs []*syntax.Node, name, dir string) []*syntax.Node {
	return slices.DeleteFunc(docs, func(doc *syntax.Node) bool {
		switch {
		case isDocument(doc):
			g.documents = append(g.documents, givenDocument{root: doc.Document(), name: name, dir: dir})
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

// finish processes the documents that were set aside. Endpoints from OpenAPI documents come after
// those from lists. finish also adds the upstream of the loader, and checks that the names of
// upstreams are unique.
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
		doc := openapi.Read(d.root, filepath.Join(d.dir, filepath.Base(d.name)), l.options())
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
	for _, doc := range s.documents {
		if !slices.Contains(s.referenced, files.Absolute(doc.File)) {
			s.Problems = append(s.Problems, doc.Empty...)
		}
	}
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
