// Package config is what the user wrote: the configuration language, read from
// files and checked, and the settings of the process.
//
// # The language
//
// A configuration is a list, written in YAML, JSON or EDN. Each item is a map with
// one key, endpoint or websocket:
//
//	# yaml
//	- endpoint:
//	    method: GET                  # GET by default, any case
//	    path: /users/:id|int         # parameters, see package matcher
//	    host: "*.example.com"        # optional
//	    if: query-params.page = 2    # optional condition, see package renderer
//	    response:
//	      status: 200                # 200..599
//	      headers:
//	        Content-Type: application/json
//	        Set-Cookie: [a=1, b=2]   # a list repeats the header
//	      body: '{"id": {{path-params.id}}}'
//
// A body is a text, or a map or list that is served as its JSON text. Instead
// of body, external-body names a JSON file, a URL, or a sheet of a workbook
// (package fetcher). An item websocket is a path that becomes a WebSocket connection,
// see WebSocket. The keys query, body, tag, summary, description and
// router-name of an endpoint only document it.
//
// Reading never stops at the first error: a Spec carries every problem found,
// each with its position. Of the module this package imports
// its own packages syntax, table and openapi, and those of internal.
package config

import (
	"time"

	"mockserver/config/openapi"
	"mockserver/config/syntax"
)

// What a configuration is made of, and what may be wrong with it, as users of this package
// name it. Package syntax has their documentation.
type (
	// Pos is a place in a file.
	Pos = syntax.Pos
	// Text is a text with its place.
	Text = syntax.Text
	// Problem is an error or a warning, with its place.
	Problem = syntax.Problem
	// Problems are all of a configuration. They are an error, too: see Problems.Err.
	Problems = syntax.Problems
)

// Spec is one configuration as written: the endpoints of all its files, in
// order, and what was wrong with them. Load reads one from files, Parse from a
// text, New makes one of endpoints declared in Go, and Join makes one of several.
// None of the module changes it afterwards.
type Spec struct {
	Endpoints  []Endpoint
	WebSockets []WebSocket
	// Problems are the errors and warnings found while reading.
	Problems syntax.Problems
	// Broken are the endpoints with an error, as far as they could be decoded: they
	// are never served, and kept so that what else is wrong with them can be said.
	Broken           []Endpoint
	BrokenWebSockets []WebSocket // the same of WebSockets

	documents  []*openapi.Document
	referenced []string // files that documents refer to, sorted

	files   []string        // that were read or could not be, in order
	leftOut []string        // of directories, what was not read
	read    map[string]bool // their absolute paths, as long as files are read
	given   *given          // what is looked at when all are read
}

// Endpoint is one method and path, and what it answers.
type Endpoint struct {
	Pos  syntax.Pos // where the declaration begins; left zero in Go
	Key  string     // where it stands in its document, "[3].endpoint"; left "" in Go, which is how such an endpoint is known; New clears it
	Dir  string     // the directory relative file names are first looked up in; "" is the working directory
	Host string     // "", "api.example.com" or "*.example.com"; lower case

	Method string // upper case; "" means GET
	Path   syntax.Text
	// Template reports that Path is written as OpenAPI writes it, "/pets/{petId}.{format}",
	// in which ":" and "*" mean nothing.
	Template bool
	If       syntax.Text // a condition; an empty text always holds

	Response Response
	Webhooks []Webhook // sent after the answer

	// Responses are several answers instead of Response, of which Select chooses one
	// for each request: SelectWeighted (also ""), SelectSequence, SelectSequenceHold.
	Responses []Outcome
	Select    string

	// What is nil does not hold: an endpoint has no limits unless it declares them.
	RateLimit *RateLimit
	Capacity  *Capacity
	Latency   *Latency
	Fault     *Fault

	// Operation is what an OpenAPI document says of the endpoint it was made of; nil
	// for one that is declared. Response is then the answer that it gives by default.
	Operation *openapi.Operation

	Doc Doc `key:""`
}

// EffectiveMethod is the method the endpoint answers: GET when none is declared.
func (e *Endpoint) EffectiveMethod() string {
	if e.Method == "" {
		return "GET"
	}
	return e.Method
}

// Doc is what documents an endpoint without changing what it answers.
type Doc struct {
	Query       []QueryParam
	Body        string // an example of the request body, as JSON text; "" for none
	Tags        []string
	Summary     string
	Description string
	RouterName  string
}

// QueryParam documents one query parameter.
type QueryParam struct {
	Name, Type string
}

// Response is one answer.
type Response struct {
	Pos     syntax.Pos
	Status  int // 200..599; 0 means 200
	Headers []Header
	Body    syntax.Text
	// BodyJSON reports that Body is the JSON text of a map or list, so its default
	// Content-Type is application/json whatever it begins with.
	BodyJSON bool
	External *ExternalBody `key:"external-body"` // used instead of Body when not nil
	// Raw switches the template language off in headers, body and external body
	// (response.template: false).
	Raw bool
}

// Header is one header line of an answer. A repeated header is several of them.
type Header struct {
	Name  string      // as the user spelt it
	Value syntax.Text `key:""`
}

// ExternalBody is a body that lives elsewhere.
type ExternalBody struct {
	Pos      syntax.Pos
	Key      string
	Provider string      // "json" or "xlsx"
	Path     syntax.Text // a file, or for json an http or https URL; may hold placeholders
	Sheet    syntax.Text `key:"sheet-name"` // xlsx: the name of the sheet

	Timeout      time.Duration // remote: 0 means DefaultFetchTimeout
	TTL          time.Duration // remote: how long a copy is served without asking again
	StaleIfError bool          // remote: the last good copy answers when the remote fails
	Insecure     bool          // remote: TLS certificates are not verified
}

// DefaultFetchTimeout bounds one fetch of a remote body.
const DefaultFetchTimeout = 10 * time.Second
