package config

import (
	"time"

	"mockserver/config/item"
	"mockserver/config/policy"
)

// Endpoint is one method and path with its response, for New. As in a file, all texts of a response
// and of webhooks may contain placeholders. The zero value of a field means the same as a missing
// key. Endpoints with streams, and those that use rows or scenarios, are declared as a text: see Parse.
type Endpoint struct {
	Method string // "" means GET
	Path   string // such as "/users/:id|int"
	Host   string // "api.example.com" or "*.example.com"; "" means any
	If     string // a condition; "" is always true

	Response Response
	// Responses are several responses instead of Response. Select says how one is chosen for each
	// request: SelectWeighted (also ""), SelectSequence, SelectSequenceHold.
	Responses []Outcome
	Select    string
	Per       string // an operand: each of its values has its own turn in a sequence

	// A nil field does not apply: an endpoint has no limits unless it declares them.
	Latency   *Latency
	Fault     *Fault
	RateLimit *RateLimit
	Capacity  *Capacity
	Webhooks  []Webhook // sent after the response

	Doc Doc    `key:""`
	Dir string `key:"-"` // where relative file names are looked up first; "" is the working directory
}

// Doc documents an endpoint without changing its responses.
type Doc struct {
	Query       []QueryParam
	Body        any      // an example of the request body
	Tags        []string `key:"tag"`
	Summary     string
	Description string
	RouterName  string
}

// Response is one response.
type Response struct {
	Status  int // 200..599; 0 means 200
	Headers []Header
	// Body is a string, or any other value that encoding/json can write, which is sent as JSON.
	// Strings inside such a value may contain placeholders too.
	Body     any
	External *ExternalBody `key:"external-body"` // used instead of Body if not nil
	Proxy    *Proxy        // passes the request on if not nil
	Raw      bool          `key:"template,false"` // turns off placeholders
}

// Header is one header line. A header that is repeated consists of several Headers.
type Header struct {
	Name, Value string

	unpaired bool // Headers got no value
}

// Headers returns headers from alternating names and values, in order: Headers("Location", "/a",
// "Set-Cookie", "b=1", "Set-Cookie", "c=2"). A name without a value is an error of the endpoint.
func Headers(namesAndValues ...string) []Header {
	var headers []Header
	for i := 0; i+1 < len(namesAndValues); i += 2 {
		headers = append(headers, Header{Name: namesAndValues[i], Value: namesAndValues[i+1]})
	}
	if n := len(namesAndValues); n%2 == 1 {
		headers = append(headers, Header{Name: namesAndValues[n-1], unpaired: true})
	}
	return headers
}

// ExternalBody is a body that is not in the configuration.
type ExternalBody struct {
	Provider string // "json" or "xlsx"
	Path     string // a file or, for json, an http or https URL; may contain placeholders
	Sheet    string `key:"sheet-name"` // of xlsx

	// For URLs only:
	Timeout      time.Duration // of one fetch; 0 means 10s
	TTL          time.Duration // how long a copy is served without asking again
	StaleIfError bool          // if the server fails, the last good copy is served
	Insecure     bool          // TLS certificates are not verified
	CA           string        // a file with the CAs to trust; "" for those of the system
	Cert         string        // a file with the client certificate
	ClientKey    string        `key:"key"` // a file with the key of Cert
}

// Proxy passes requests on to an upstream, which a file declares.
type Proxy struct {
	To        string // the name of the upstream
	Path      string // the path and query to request; "" for those of the client
	When      string // ProxyAlways (also "") or ProxyMissing
	Forwarded bool   // X-Forwarded-For, -Host and -Proto are sent
}

// Outcome is one of several responses of an endpoint.
type Outcome struct {
	// Weight is the share in the sum of all weights. 0 counts as 1 unless Weighted is set.
	Weight   float64 `given:"Weighted"`
	Weighted bool
	Response Response  `key:""`
	Latency  *Latency  // nil means the latency of the endpoint, the zero Latency means none
	Fault    *Fault    // nil means the fault of the endpoint
	Webhooks []Webhook // nil means those of the endpoint, an empty slice means none
}

// RateLimit limits how many requests with the same key an endpoint answers in a window.
type RateLimit struct {
	Max       int           `key:"max-requests"` // 0 means 100
	Window    time.Duration // 0 means 15 minutes
	By        string        `key:"key-fn"` // "remote-addr" (also ""), "host", "header-params.x", "query-params.x" or "path-params.x"
	Algorithm string        // "sliding-window" (also ""), "fixed-window" or "token-bucket"
}

// Webhook is a request that the server sends some time after a response.
type Webhook struct {
	Method  string // "" means POST
	URL     string // http or https
	Headers []Header
	Body    any    // like Body of a Response
	If      string // a condition on the request; "" is always true
	// On says with which statuses of the response it is sent: "success" for those below 400, "any", or
	// a list, []any{201, 500}. nil means "success" for an endpoint, and "any" for an outcome.
	On any

	Delay   time.Duration `key:"sleep-time"` // from the response; 0 means a minute, AtOnce means none
	Timeout time.Duration // of one attempt; 0 means 10s
	Retry   *Retry        // nil means one attempt
	Sign    *Sign         // nil means no signature

	CA        string // a file with the CAs to trust; "" for those of the system
	Cert      string // a file with the client certificate
	ClientKey string `key:"key"` // a file with the key of Cert
	Insecure  bool   // TLS certificates are not verified
}

// What declarations consist of that have no texts with placeholders. The types are documented in
// the packages item and policy.
type (
	// QueryParam documents one query parameter.
	QueryParam = item.QueryParam
	// Retry says how often a webhook is tried if its target cannot be reached, takes too long, or
	// answers 429 or 5xx.
	Retry = item.Retry
	// Sign says how the body of a webhook is signed.
	Sign = item.Sign
	// Latency is the time from the arrival of a request to its response.
	Latency = policy.Latency
	// Percentile is one point of a distribution.
	Percentile = policy.Percentile
	// Fault is a way in which a response goes wrong.
	Fault = policy.Fault
	// Capacity limits how many requests of an endpoint are served concurrently, and how many wait
	// in a queue.
	Capacity = policy.Capacity
)

// The values of fields. They are documented in the packages item and policy.
const (
	MethodAny          = item.MethodAny
	SelectWeighted     = item.SelectWeighted
	SelectSequence     = item.SelectSequence
	SelectSequenceHold = item.SelectSequenceHold
	AtOnce             = item.AtOnce
	OfStream           = policy.OfStream
	OfConnection       = policy.OfConnection
	ProxyAlways        = item.ProxyAlways
	ProxyMissing       = item.ProxyMissing
)
