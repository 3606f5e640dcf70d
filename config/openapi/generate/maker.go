// Package generate makes the bodies of responses and requests, from the examples of a document or
// from its schemas.
package generate

import (
	"sync"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"mockserver/config/openapi/jsonvalue"
	"mockserver/config/openapi/text"
	"mockserver/config/openapi/validate"
)

// Maker makes the responses of a document's operations and the bodies of its callbacks. There is
// one Maker for each document, so that a schema used in many operations is processed once. The
// document must not change after New, because many goroutines make bodies from it while requests
// are answered. Responses are made by a single goroutine.
type Maker struct {
	doc    *openapi3.T
	modern bool // OpenAPI 3.1: schemas are JSON Schema 2020-12
	seed   uint64
	room   int // the number of values in a body

	// Warn receives a warning with its kind and the JSON pointer of its place in the document. For
	// a component, the pointer is "#/components/schemas/Pet", or the same after a file name.
	// Warn is called only while responses are made, not for fresh bodies.
	Warn func(kind, pointer, what string)

	// Today is the day that times in bodies are near: midnight in UTC.
	Today time.Time

	// The remaining fields may be nil.

	// Order returns the property names of a schema in the order of the document.
	Order func(*openapi3.Schema) []string
	// Names returns the names of the map at a pointer, in the order of the document. It follows
	// references on the way.
	Names func(pointer string) []string
	// Numbers are the numbers that the library does not represent exactly.
	Numbers jsonvalue.Numbers

	values map[bool]func() *validate.Values // true for requests

	merges   sync.Map // *openapi3.Schema to *merged, for schemas without choices
	mappings sync.Map // *openapi3.Discriminator to []string
	patterns sync.Map // source to a function that returns the *text.Pattern or the error
	warned   sync.Map // schemas and patterns with a warning
	bodies   map[bodyKey][]byte
	kept     int // total bytes of generated bodies, without fresh ones
}

const (
	// bodyRoom is the approximate number of values in a body when nothing requires more. An object
	// distributes the room among its properties, and leaves out optional properties when no room
	// remains. In a document with very many operations the limit is lower, so that all bodies
	// together have about documentRoom values.
	bodyRoom     = 400
	leastRoom    = 40
	documentRoom = 400_000
)

// startDay is the day on which the program started, so that a document gives the same bodies
// however often it is read.
var startDay = time.Now().UTC().Truncate(24 * time.Hour)

// New returns a maker for a document whose references are resolved.
func New(doc *openapi3.T, seed uint64, warn func(kind, pointer, what string)) *Maker {
	operations := 1
	for _, item := range doc.Paths.Map() {
		operations += len(item.Operations())
	}
	m := &Maker{
		Today: startDay, doc: doc, modern: doc.IsOpenAPI31OrLater(), seed: seed, Warn: warn, bodies: map[bodyKey][]byte{},
		values: map[bool]func() *validate.Values{},
		room:   min(bodyRoom, max(leastRoom, documentRoom/operations)),
	}
	for _, request := range []bool{false, true} {
		m.values[request] = sync.OnceValue(func() *validate.Values { return validate.NewValues(doc, m.Numbers, request) })
	}
	return m
}

// nullable reports whether a schema of OpenAPI 3.0 accepts null, whatever the schemas that it is
// composed of require: document generators write a nullable reference as nullable with allOf.
func (m *Maker) nullable(s *openapi3.Schema) bool { return s.Nullable && !m.modern }

// Warning reports a warning. It has an effect only while responses are made.
func (m *Maker) Warning(kind, pointer, what string) {
	if m.Warn != nil {
		m.Warn(kind, pointer, what)
	}
}

// mapped returns the values in the mapping of a discriminator. They are sorted only once, because
// some mappings have thousands of values.
func (m *Maker) mapped(d *openapi3.Discriminator) []string {
	kept, ok := m.mappings.Load(d)
	if !ok {
		kept, _ = m.mappings.LoadOrStore(d, jsonvalue.SortedNames(d.Mapping))
	}
	return kept.([]string)
}

func (m *Maker) pattern(source string) (*text.Pattern, error) {
	kept, ok := m.patterns.Load(source)
	if !ok {
		once := sync.OnceValues(func() (*text.Pattern, error) { return text.CompilePattern(source) })
		kept, _ = m.patterns.LoadOrStore(source, once)
	}
	return kept.(func() (*text.Pattern, error))()
}

// Kinds of warnings that can occur many times in one document.
const (
	manySent     = "examples do not match their schema, and are sent anyway"
	manyUnused   = "examples do not match their schema, and are not used"
	manyBodies   = "schemas accept no body that was generated; the nearest is served"
	manyHeaders  = "headers have a schema that accepts no value that was generated; the nearest is served"
	manyPatterns = "patterns are not supported; texts are generated without the unsupported parts"
	manyFakers   = "x-faker hints are unknown, and have no effect"
	manyExternal = "examples are in files of their own (externalValue), and are left out"
)

// bodyKey is the key of a body that was made before. A component has the same body for a media type
// wherever it is used, so that the responses of operations agree.
type bodyKey struct {
	schema *openapi3.Schema
	media  string
	way    direction
}
