// Package openapi reads OpenAPI documents: the responses of their operations, the requests they
// accept, and the callbacks they make. Faults that do not prevent a document from being served
// become warnings that say how they were handled. Apart from its subpackages, it is the only
// package that reads documents with an OpenAPI library.
package openapi

import (
	"net/url"
	"time"

	"mockserver/config/openapi/generate"
	"mockserver/config/openapi/validate"
	"mockserver/config/syntax"
)

// Document is an OpenAPI document, read and compiled.
type Document struct {
	Title, Version string   // from the info object; "" for none
	File           string   // as the user named it; "" if the document was not read from a file
	BasePaths      []string // of the operations in order, without duplicates: "/v1", and "/" for none

	Operations []*Operation // in the order of the document, after those with a condition (When)
	Catalogue  []Callback   // the webhooks of OpenAPI 3.1: listed, never sent automatically
	Problems   syntax.Problems
	Files      []string // local files that references point to, including those that could not be read
	// Empty is why the document has neither operations nor webhooks: an error, or for paths: {} a warning,
	// unless other documents refer to it. It is nil for any other document.
	Empty syntax.Problems
}

// Operation is one method of one path.
type Operation struct {
	ID      string // operationId, or ""
	Method  string // upper case
	Path    string // includes the base path: "/v1/pets/{petId}"
	Pos     syntax.Pos
	Pointer string // "#/paths/~1pets~1{petId}/get"
	// When is the condition that distinguishes the operation from another one with the same method
	// and the same shape of path, or "".
	When string

	Tags                 []string
	Summary, Description string

	// Responses are all responses that can be selected. Default is the index of the response to a
	// request that does not ask for a particular one.
	Responses []Response
	Default   int
	// Bound are the members of the default answer's generated body that have the values of path
	// parameters, and Template is that body with placeholders for them. They are nil and "" for a
	// body from an example, and when no member has such a value.
	Bound     *generate.BoundMembers
	Template  string
	List      *List // the list in the default answer that requests may limit; nil for none
	Callbacks []Callback
	Sample    *Sample // nil unless Options.Samples is set

	rank   int              // how narrow When is; 0 for none
	checks *validate.Checks // the checks for --validate
}

// Response is one response of an operation: a status, a media type and an example.
type Response struct {
	Status    int
	Declared  string // as written in the document: "200", "2XX" or "default"
	MediaType string // "" for no body
	Example   string // the name of the example, or ""
	Headers   []Header
	Body      []byte
	// Fresh generates another body; the same seed gives the same body. It is nil when there is no
	// schema.
	Fresh func(seed uint64) []byte
	// ErrorBody makes a body that says what is wrong with a request. It is nil unless Options.Checks is
	// set and the response is an error with a place for the message.
	ErrorBody func(generate.Refusal) []byte

	generated *generate.Content // what Body was generated from; nil for an example
}

// Header is one header of a response.
type Header struct{ Name, Value string }

// Callback is a request that an operation declares it will send, or a webhook of the document.
type Callback struct {
	Name      string // the name of the callback or of the webhooks entry
	URL       string // the key, with its runtime expressions: "{$request.body#/callbackUrl}/paid"
	Method    string // upper case
	MediaType string // media type of Body, or ""
	Body      []byte
	Headers   []Header
	Delay     time.Duration // x-sleep-time, or 0
	Delayed   bool          // Delay was declared

	Pos     syntax.Pos
	Pointer string
}

// Sample is a request to an operation, built from the examples in the document or else from its
// schemas. Parameters without a known value are left out.
type Sample struct {
	Path      map[string]string // by parameter name
	Query     url.Values
	Headers   []Header
	MediaType string // media type of Body, or ""
	Body      []byte
}

// Checked reports whether the operation was loaded with checks for requests.
func (o *Operation) Checked() bool { return o.checks != nil }

// Check validates a request. It returns nil when the document allows the request, or when the
// operation has no checks; see Checked. It is safe for concurrent use.
func (o *Operation) Check(r *validate.Request) *validate.Verdict {
	if o.checks == nil {
		return nil
	}
	return o.checks.Check(r)
}
