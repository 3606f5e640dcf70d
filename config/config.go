// Package config reads and checks configurations, which are written in the configuration language,
// in files or in Go. The settings of the process are in package settings.
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
// websocket item is a path at which requests open WebSocket connections, see WebSocket; a data item
// is a set of rows, see Data; a resource item is a REST collection over such a set, see Resource.
// The keys query, body, tag, summary, description and router-name of an endpoint only document it.
//
// Reading never stops at the first error: a Spec contains every problem found, each with its
// position.
package config

import (
	"mockserver/config/item"
	"mockserver/config/policy"
	"mockserver/config/syntax"
)

// The positions and problems of a configuration. They are documented in package syntax.
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

// What a configuration declares. The types are documented in the packages item and policy.
type (
	// Endpoint is one method and path with its answer.
	Endpoint = item.Endpoint
	// Doc documents an endpoint without changing its answer.
	Doc = item.Doc
	// QueryParam documents one query parameter.
	QueryParam = item.QueryParam
	// Response is one answer.
	Response = item.Response
	// Header is one header line of an answer.
	Header = item.Header
	// ExternalBody is a body that is not in the configuration.
	ExternalBody = item.ExternalBody
	// Proxy passes requests on to an upstream (response.proxy).
	Proxy = item.Proxy
	// Outcome is one of several answers of an endpoint (endpoint.responses).
	Outcome = item.Outcome
	// Webhook is a request that the server sends some time after a response.
	Webhook = item.Webhook
	// Retry says how often a webhook is tried if its target cannot be reached, takes too long, or
	// answers 429 or 5xx.
	Retry = item.Retry
	// Sign says how the body of a webhook is signed.
	Sign = item.Sign
	// Latency is the time from the arrival of a request to its response.
	Latency = policy.Latency
	// Percentile is one point of a distribution.
	Percentile = policy.Percentile
	// Fault is a way in which an answer goes wrong.
	Fault = policy.Fault
	// RateLimit limits how many requests with the same key an endpoint answers in a window.
	RateLimit = policy.RateLimit
	// Capacity limits how many requests of an endpoint are served concurrently, and how many wait
	// in a queue.
	Capacity = policy.Capacity
	// WebSocket is a path at which requests open WebSocket connections, and the messages on these
	// connections.
	WebSocket = item.WebSocket
	// Exchange answers the messages that match a pattern.
	Exchange = item.Exchange
	// Send is a message that is sent unasked, once or repeatedly.
	Send = item.Send
	// Message is a message that the server sends on a WebSocket connection, or the end of the
	// connection.
	Message = item.Message
	// Close says how the server ends a WebSocket connection.
	Close = item.Close
	// Data is a set of rows that endpoints find and change.
	Data = item.Data
	// DataFile is a file of rows.
	DataFile = item.DataFile
	// DataType is the type of a column.
	DataType = item.DataType
	// DataLimit limits the changes to a set.
	DataLimit = item.DataLimit
	// Find names a row of a set, for use in the conditions, texts and webhooks of an endpoint.
	Find = item.Find
	// Where is a member and the operand that it must equal.
	Where = item.Where
	// Do is one change that an endpoint makes.
	Do = item.Do
	// Made is a value that is computed for a request.
	Made = item.Made
	// Setting is a member of a row and its value.
	Setting = item.Setting
	// Steps say how a member of the rows of a set changes over time.
	Steps = item.Steps
	// Move is a change to a row that happens some time after a member got a certain value.
	Move = item.Move
	// Choice is one of the values that a member may get.
	Choice = item.Choice
	// Scenario is a state that requests depend on and change, with its own value for each order, user
	// or the like.
	Scenario = item.Scenario
	// InState says in which states of a scenario an endpoint answers, and which state the endpoint
	// leads to.
	InState = item.InState
	// Resource is a REST collection over a set.
	Resource = item.Resource
	// Page says how lists are split into pages.
	Page = item.Page
	// Stamp names the members that hold the times when a row was created and last changed.
	Stamp = item.Stamp
	// On says how one operation of a resource answers, apart from its rows.
	On = item.On
	// Operation is one operation of a resource.
	Operation = item.Operation
	// Upstream is another server that requests can be passed on to.
	Upstream = item.Upstream
	// Record says how the requests to an upstream are recorded.
	Record = item.Record
	// Redact says which values are replaced in recordings, in addition to headers that hold secrets.
	Redact = item.Redact
)

// The values of fields. They are documented in the packages item and policy.
const (
	MethodAny          = item.MethodAny
	SelectWeighted     = item.SelectWeighted
	SelectSequence     = item.SelectSequence
	SelectSequenceHold = item.SelectSequenceHold
	AtOnce             = item.AtOnce
	TextFrame          = item.TextFrame
	BinaryFrame        = item.BinaryFrame
	OfStream           = policy.OfStream
	OfConnection       = policy.OfConnection
	NewKeyUUID         = item.NewKeyUUID
	NewKeyInt          = item.NewKeyInt
	FullRefuse         = item.FullRefuse
	FullOldest         = item.FullOldest
	ChangeKeep         = item.ChangeKeep
	ChangeReset        = item.ChangeReset
	ProxyAlways        = item.ProxyAlways
	ProxyMissing       = item.ProxyMissing
	HostOwn            = item.HostOwn
	HostPass           = item.HostPass
	RecordAll          = item.RecordAll
	RecordMissing      = item.RecordMissing
)

// The defaults of fields that are left out. They are documented in the packages item and policy.
const (
	DefaultFetchTimeout    = item.DefaultFetchTimeout
	DefaultWebhookMethod   = item.DefaultWebhookMethod
	DefaultWebhookTimeout  = item.DefaultWebhookTimeout
	DefaultDelay           = item.DefaultDelay
	DefaultAttempts        = item.DefaultAttempts
	DefaultBackoff         = item.DefaultBackoff
	DefaultMaxBackoff      = item.DefaultMaxBackoff
	DefaultSignHeader      = item.DefaultSignHeader
	DefaultKey             = item.DefaultKey
	DefaultPageSize        = item.DefaultPageSize
	MaxPageSize            = item.MaxPageSize
	DefaultUpstream        = item.DefaultUpstream
	DefaultUpstreamTimeout = item.DefaultUpstreamTimeout
	DefaultConnections     = item.DefaultConnections
	DefaultBodies          = item.DefaultBodies
	DefaultRecordLimit     = item.DefaultRecordLimit
	DefaultLatencyTimeout  = policy.DefaultLatencyTimeout
	DefaultBytesPerSecond  = policy.DefaultBytesPerSecond
	DefaultWindow          = policy.DefaultWindow
	DefaultMaxRequests     = policy.DefaultMaxRequests
)
