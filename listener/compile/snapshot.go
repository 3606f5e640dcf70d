package compile

import (
	"log/slog"
	"time"

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/fetcher"
	"mockserver/listener/compile/traffic"
	"mockserver/listener/compile/webhook"
	"mockserver/listener/memory/data"
	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/websocket"
	"mockserver/matcher"
	"mockserver/matcher/nearest"
	"mockserver/renderer"
	"mockserver/renderer/llm"
	"mockserver/renderer/stream"
)

// Snapshot is a compiled specification, from which requests are answered. It is immutable; a reload
// creates another one.
type Snapshot struct {
	Table     *matcher.Table
	Index     *nearest.Index // of the routes of table
	Responses []Response     // by the index that the table returns
	// preflights is like table, but without conditions that must not be evaluated for a preflight;
	// nil if no endpoint declares headers for preflights.
	Preflights *matcher.Table
	Sockets    *websocket.Table // nil for none
	// paths maps paths without parameters to the answers that are the same for every plain request,
	// or to -1; nil if there are endpoints for hosts.
	Paths map[string]int
	Spec  *config.Spec // the specification it was compiled from

	errorForms []*ErrorForm // of language models
}

// Response is one compiled endpoint. The fields that a request with a template needs come first, in
// two cache lines, because with thousands of endpoints they are not in any cache.
type Response struct {
	Template  renderer.Ready // of the body; none if it is static or source
	Operation *operation     // of an OpenAPI document; nil for none
	Rules     *traffic.Rules // limits, latency, faults and the choice of an outcome; nil for none
	Status    int
	traits
	Disturbed    bool // the rules apply to every request, not only to those that choose an answer of the operation
	TypeDeclared bool // Content-Type is declared, so the content type of a remote body is not used

	ContentType string   // the value to send; "" for none, and for a template, which is then in headers
	program     [48]byte // space for the program of template

	Name    string // "GET /users/:id", for logs and messages
	Headers []header
	Hooks   []webhook.Hook

	Counters  *record.Counters // nil when nothing is recorded
	access    *data.Access     // the rows that the endpoint names; nil for none
	Changes   *data.Changes    // the changes to make; nil for none
	Elses     []Response       // the answers to send when a change is not possible, by change
	Lets      data.Lets        // values that are made once for each request
	Resource  *data.Operation  // the operation of a resource that makes the reply; nil for none
	Declared  int              // the declared status; 0 for none
	Block     []byte           // its header block in HTTP/2, without Date; nil if it is not always the same
	Static    []byte           // the body, if it is the same for every request
	Stream    *Stream          // what is sent instead of a body, item by item; nil for none
	Cut       *item.Cut        // how often items of a stream are sent in two parts; nil for never
	Failing   *stream.Items    // the item that the fault error sends in a stream; nil for none
	Source    *fetcher.Source  // the external body
	Proxy     *proxy           // where the request is passed on to; nil for none
	Model     *llm.Model       // what answers, of a language model; nil for any other
	ErrorForm *ErrorForm       // of the server's own errors; nil for the general one
	AnyMethod bool             // it answers requests of any method
	Preflight []header         // those for preflights, of the first outcome that declares any
	Outcomes  []Response       // the outcomes that rules choose from; nil for the answer itself
}

// traits are what decides how a response can be sent.
type traits struct {
	Direct    bool // it may be sent without fasthttp, see replyDirectly
	Immediate bool // nothing in it takes long: no loop, file or webhook
	Streams   bool // it may send a stream
	Paced     bool // over HTTP/1.1, its latency may be waited for without the request
}

// Options say how specifications are compiled.
type Options struct {
	Log *slog.Logger
	// Env looks up env.NAME in templates; nil finds nothing.
	Env            func(name string) (string, bool)
	Seed           *uint64 // makes random choices repeatable; nil for none
	MaxBody        int     // maximum size of a request body, in bytes
	MaxMessage     int     // maximum size of a WebSocket message, in bytes; 0 for the default
	MaxResponse    int     // maximum size of a body, in bytes
	StateMemory    int     // maximum memory for changes to rows, in bytes
	TrustForwarded bool    // rate limits use X-Forwarded-For
	NoWebhooks     bool    // webhooks are compiled, but left out
	NoLatency      bool    // latencies are not waited for
	NoFaults       bool    // faults do not happen
	Dynamic        bool    // operations of documents generate a new body for each request
}

// Compiler compiles snapshots, and keeps the state that outlives them.
type Compiler struct {
	Options
	Loader   *fetcher.Loader
	counters *renderer.Counters

	Chance  traffic.Seed
	Carried traffic.Carried // traffic state that outlives a snapshot

	steady bool // the condition of the endpoint that is compiled has the same result each time

	sockets websocket.Compiler
	Data    *data.Sets
	models  models
	proxies
	Send func(hooks []webhook.Hook, r *matcher.Request, at time.Time) // sends the webhooks of a row that moved
}

// Count makes the endpoints and WebSockets count requests, in the order of the specification.
func (sn *Snapshot) Count(all []*record.Counters) {
	for i := range sn.Responses {
		sn.Responses[i].Counters = all[i]
	}
	sn.Sockets.Count(all[len(sn.Responses):])
}
