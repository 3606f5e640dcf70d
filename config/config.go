// Package config reads and checks what the user wrote: the configuration language, in files or in
// Go. The settings of the process are in package settings.
//
// # The language
//
// A configuration is a list, written in YAML, JSON or EDN. Each item is a map with
// one key: endpoint, websocket, data, scenario, resource or upstream:
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
// of body, external-body names a JSON file, a URL, or a sheet of a workbook (package fetcher). A
// websocket item is a path that becomes a WebSocket connection, see WebSocket; a data item is a set
// of rows, see Data; a resource item is a REST collection over one, see Resource. The keys query, body,
// tag, summary, description and router-name of an endpoint only document it.
//
// Reading never stops at the first error: a Spec contains every problem found, each with its
// position.
package config

import (
	"log/slog"
	"time"

	"mockserver/config/openapi"
	"mockserver/config/syntax"
)

// The types of a configuration and its problems, under the names that users of this package use.
// They are documented in package syntax.
type (
	// Pos is a position in a file.
	Pos = syntax.Pos
	// Text is a text with its position.
	Text = syntax.Text
	// Problem is an error or a warning, with its position.
	Problem = syntax.Problem
	// Problems are all problems of a configuration. They are also an error: see Problems.Err.
	Problems = syntax.Problems
)

// Spec is one configuration as written: the endpoints of all its files, in order, and the problems
// found. Load reads one from files, Parse from a text, New makes one from endpoints declared in Go,
// and Join combines several. It is not modified afterwards.
type Spec struct {
	Endpoints  []Endpoint
	WebSockets []WebSocket
	Data       []Data
	Scenarios  []Scenario
	Upstreams  []Upstream
	// Problems are the errors and warnings found while reading.
	Problems syntax.Problems
	// Broken are the endpoints with an error, as far as they could be decoded. They are never
	// served, and are kept so that further errors in them can be reported.
	Broken           []Endpoint
	BrokenWebSockets []WebSocket // the same for WebSockets
	BrokenData       []Data      // the same for sets
	BrokenScenarios  []Scenario  // the same for scenarios
	BrokenUpstreams  []string    // the names of upstreams with an error

	documents  []*openapi.Document
	referenced []string // files that documents and latencies refer to

	files   []string        // those that were read or could not be, in order
	leftOut []string        // what was not read in directories
	read    map[string]bool // their absolute paths, while files are read
	given   *given          // what is processed after all files are read
}

// Declared returns how much the specification declares, as a log attribute: endpoints=12 websockets=1.
func (s *Spec) Declared() slog.Attr {
	all := []any{"endpoints", len(s.Endpoints)}
	if n := len(s.WebSockets); n > 0 {
		all = append(all, "websockets", n)
	}
	return slog.Group("", all...)
}

// Endpoint is one method and path with its answer.
type Endpoint struct {
	Pos  syntax.Pos // where the declaration begins; left zero in Go
	Key  string     // its key path in the document, "[3].endpoint"; "" for an endpoint made in Go; New clears it
	Dir  string     // the directory in which relative file names are looked up first; "" is the working directory
	Host string     // "", "api.example.com" or "*.example.com"; lower case

	Method string // upper case; "" means GET
	Path   syntax.Text
	// Template reports that Path is written as in OpenAPI, "/pets/{petId}.{format}", where ":" and
	// "*" have no meaning.
	Template bool
	If       syntax.Text // a condition; an empty text is always true

	// State says in which states of scenarios it answers, and to which it leads.
	State []InState

	Find []Find // rows that it names, in order: later ones may use earlier ones
	Do   []Do   // what it changes
	// Let are values by names, which are made once for each request. Later ones may use earlier ones.
	Let []Setting

	Response Response
	Webhooks []Webhook // sent after the answer

	// Responses are several answers instead of Response. Select says how one is chosen for each
	// request: SelectWeighted (also ""), SelectSequence, SelectSequenceHold.
	Responses []Outcome
	Select    string
	Per       syntax.Text // an operand: sequences have a turn of their own for each value; empty for one turn
	Scope     string      // of turns: one of LimitScopes, also "" for the first

	// A nil field does not apply: an endpoint has no limits unless it declares them.
	RateLimit *RateLimit
	Capacity  *Capacity
	Latency   *Latency
	Fault     *Fault

	// Operation is what an OpenAPI document declares for the endpoint; nil for a declared endpoint.
	// Response is then the default answer.
	Operation *openapi.Operation
	// Resource is the operation of a resource that the endpoint is; nil for any other. Response is then
	// what is said of its status and headers.
	Resource *Operation

	Doc Doc `key:""`
}

// EffectiveMethod returns the method of the endpoint: GET if none is declared.
func (e *Endpoint) EffectiveMethod() string {
	if e.Method == "" {
		return "GET"
	}
	return e.Method
}

// Doc documents an endpoint without changing its answer.
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
	// BodyJSON reports that Body is the JSON text of a map or list, so that its default
	// Content-Type is application/json whatever it begins with.
	BodyJSON bool
	External *ExternalBody `key:"external-body"` // used instead of Body if not nil
	Proxy    *Proxy        // passes the request on if not nil
	// Raw turns off templates in headers, body and external body (response.template: false).
	Raw bool
}

// Header is one header line of an answer. A repeated header consists of several of them.
type Header struct {
	Name  string      // as the user wrote it
	Value syntax.Text `key:""`
}

// ExternalBody is a body that is not in the configuration.
type ExternalBody struct {
	Pos      syntax.Pos
	Key      string
	Provider string      // "json" or "xlsx"
	Path     syntax.Text // a file or, for json, an http or https URL; may contain placeholders
	Sheet    syntax.Text `key:"sheet-name"` // xlsx: the name of the sheet

	Timeout      time.Duration // remote: 0 means DefaultFetchTimeout
	TTL          time.Duration // remote: how long a copy is served without asking again
	StaleIfError bool          // remote: if the server fails, the last good copy is served
	Insecure     bool          // remote: TLS certificates are not verified
	CA           syntax.Text   `key:"ca"` // remote: a file with the CAs to trust; empty for those of the system
	Cert         syntax.Text   // remote: a file with the certificate to show; empty for none
	ClientKey    syntax.Text   // remote: a file with the key of that
}

// DefaultFetchTimeout limits one fetch of a remote body.
const DefaultFetchTimeout = 10 * time.Second
