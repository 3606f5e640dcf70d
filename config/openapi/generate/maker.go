// Package generate makes the bodies of answers and requests: of the examples of a document,
// or of its schemas.
package generate

import (
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/text"
	"mockserver/config/openapi/validate"
	"mockserver/internal/wording"
)

// Maker makes the answers of a document's operations and the bodies of its callbacks.
// One is made for a document, so that a schema met in many operations is worked out once.
// The document is not changed after that: bodies are made from it while requests are
// answered, by many at a time. Answers are made by one goroutine.
type Maker struct {
	doc    *openapi3.T
	modern bool // OpenAPI 3.1: schemas are JSON Schema 2020-12
	seed   uint64
	room   int // of a body

	// Warn takes what is wrong, with its kind and the JSON pointer of the place in the document: of a
	// component, "#/components/schemas/Pet", or with the file in front as it is referred to.
	// It is called only while answers are made, not by fresh bodies.
	Warn func(kind, pointer, what string)

	// The rest may be nil.

	// Order gives the names of a schema's properties in the order of the document.
	Order func(*openapi3.Schema) []string
	// Names gives the names of the map at a pointer, in the order of the document.
	// References on the way are followed.
	Names func(pointer string) []string
	// Numbers are those that the library does not keep exactly.
	Numbers jsonvalue.Numbers
	// Read gives the content of a local file named in the document (externalValue).
	Read func(name string) ([]byte, error)

	ways [2]struct { // of bodies: to clients, to servers
		once   sync.Once
		values *validate.Values
	}

	merges   sync.Map // mergeKey to *merged
	mappings sync.Map // *openapi3.Discriminator to []string
	patterns sync.Map // source to *pattern or error
	breaks   sync.Map // brokenPart to *openapi3.SchemaRef
	warned   sync.Map // schemas and patterns that were warned of
	bodies   map[bodyKey][]byte
	kept     int // bytes of bodies that were made; not changed by fresh ones
}

// New returns a maker for a document whose references are resolved.
func New(doc *openapi3.T, seed uint64, warn func(kind, pointer, what string)) *Maker {
	operations := 1
	for _, item := range doc.Paths.Map() {
		operations += len(item.Operations())
	}
	return &Maker{
		doc: doc, modern: doc.IsOpenAPI31OrLater(), seed: seed, Warn: warn, bodies: map[bodyKey][]byte{},
		room: min(bodyRoom, max(leastRoom, documentRoom/operations)),
	}
}

// nullable reports whether a schema is one of OpenAPI 3.0 that takes null, whatever the
// schemas that it is composed of say: generators of documents write a reference that may
// be null as nullable with allOf.
func (m *Maker) nullable(s *openapi3.Schema) bool { return s.Nullable && !m.modern }

// Warning warns, while answers are made.
func (m *Maker) Warning(kind, pointer, what string) {
	if m.Warn != nil {
		m.Warn(kind, pointer, what)
	}
}

// mapped are the values that a discriminator names schemas for, sorted once: some have
// thousands.
func (m *Maker) mapped(d *openapi3.Discriminator) []string {
	kept, ok := m.mappings.Load(d)
	if !ok {
		kept, _ = m.mappings.LoadOrStore(d, jsonvalue.SortedNames(d.Mapping))
	}
	return kept.([]string)
}

// pattern compiles a pattern, once.
func (m *Maker) pattern(source string) (*text.Pattern, error) {
	kept, ok := m.patterns.Load(source)
	if !ok {
		p, err := text.CompilePattern(source)
		kept = any(p)
		if err != nil {
			kept = err
		}
		kept, _ = m.patterns.LoadOrStore(source, kept)
	}
	if err, failed := kept.(error); failed {
		return nil, err
	}
	return kept.(*text.Pattern), nil
}

// warnPattern says once that a pattern is not understood.
func (m *Maker) warnPattern(pointer, source string, err error) {
	if _, known := m.warned.LoadOrStore(source, true); !known {
		m.Warning(manyPatterns, pointer, "the pattern "+wording.Clip(source)+" is not understood ("+wording.Clip(err.Error())+"); texts are made without what is not")
	}
}
