// Package openapi reads OpenAPI documents: what their operations answer, what
// requests they accept, and what they call. A document whose faults can be served
// around is served: they become warnings that say what was done. It is the only package
// that knows an OpenAPI library.
package openapi

import (
	"time"

	"mockserver/config/openapi/generate"
	"mockserver/config/openapi/validate"
	"mockserver/config/syntax"
)

// Document is one OpenAPI document, read and compiled.
type Document struct {
	Operations []*Operation // in the order of the document
	Catalogue  []Callback   // the webhooks of OpenAPI 3.1: listed, never sent by themselves
	Problems   syntax.Problems
	Files      []string // local files that were read by reference, or could not be
}

// Operation is one method and path.
type Operation struct {
	ID           string // operationId; "" for none
	Method       string // upper case
	Path         string // with the base path in front: "/v1/pets/{petId}"
	File         string
	Line, Column int
	Pointer      string // "#/paths/~1pets~1{petId}/get"
	// When is the condition that tells the operation from another one of the same method
	// and shape of path; "" for none.
	When string

	Tags                 []string
	Summary, Description string

	// Answers are all that can be chosen; Default is the index of the one that a
	// request gets that asks for none.
	Answers   []Answer
	Default   int
	Callbacks []Callback
	Sample    *Sample // nil unless Options ask for samples

	checks *validate.Checks // what --validate holds requests against
}

// Answer is one status, media type and example of an operation.
type Answer struct {
	Status    int
	Declared  string // as the document has it: "200", "2XX" or "default"
	MediaType string // "" for no body
	Example   string // the name of the example; "" when it has none
	Headers   []Header
	Body      []byte
	// Fresh makes another body, and the same one for the same seed; nil when there is
	// no schema to make it from.
	Fresh func(seed uint64) []byte
	// Tell makes a body that says what is wrong with a request, where the answer is an
	// error that has room for it; nil otherwise, and unless Options ask for checks.
	Tell func(generate.Told) []byte
}

// Header is one header of an answer.
type Header struct{ Name, Value string }

// Callback is a request that an operation announces.
type Callback struct {
	Name      string // of the callback, or of the entry of webhooks
	URL       string // the key, with its runtime expressions: "{$request.body#/callbackUrl}/paid"
	Method    string // upper case
	MediaType string // of Body; "" for none
	Body      []byte
	Headers   []Header
	Delay     time.Duration // x-sleep-time; 0 when it has none
	Delayed   bool          // Delay was declared

	File         string
	Line, Column int
	Pointer      string
}
