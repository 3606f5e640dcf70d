package listener

import (
	"log/slog"
	"time"

	"mockserver/config"
	"mockserver/fetcher"
	"mockserver/listener/memory/data"
	"mockserver/listener/memory/shared"
	"mockserver/listener/observe/record"
	"mockserver/listener/protocol/websocket"
	"mockserver/listener/serve/traffic"
	"mockserver/listener/serve/webhook"
	"mockserver/matcher"
	"mockserver/matcher/nearest"
	"mockserver/renderer"
)

// snapshot is a compiled specification, from which requests are answered. It is immutable; a reload
// creates another one.
type snapshot struct {
	table   *matcher.Table
	index   *nearest.Index // of the routes of table
	answers []answer       // by the index that the table returns
	// preflights is like table, but without conditions that must not be evaluated for a preflight;
	// nil if no endpoint declares headers for preflights.
	preflights *matcher.Table
	sockets    *websocket.Table // nil for none
	// fixed maps paths to the answers that are the same for every plain request.
	fixed map[string]*fixed
	// fixedLengths has a bit for each length of these paths, up to maxLength, which excludes most
	// other paths.
	fixedLengths uint64
	// single means that requests of a connection are read one at a time: they may wait, and earlier
	// responses must not wait with them.
	single bool
	spec   *config.Spec // the specification it was compiled from
}

// answer is one compiled endpoint. The fields that a request with a template needs come first, in
// two cache lines, because with thousands of endpoints they are not in any cache.
type answer struct {
	template     renderer.Ready // of the body; none if it is static or source
	operation    *operation     // of an OpenAPI document; nil for none
	rules        *traffic.Rules // limits, latency, faults and the choice of an outcome; nil for none
	status       int
	direct       bool // it may be sent without fasthttp, see answerDirectly
	brief        bool // nothing in it takes long: no loop, file or webhook
	waits        bool // it has numbers that replicas share, which may take a while
	disturbed    bool // the rules apply to every request, not only to those that choose an answer of the operation
	typeDeclared bool // Content-Type is declared, so the content type of a remote body is not used

	contentType string   // the value to send; "" for none, and for a template, which is then in headers
	program     [48]byte // space for the program of template

	name    string // "GET /users/:id", for logs and messages
	headers []header
	hooks   []webhook.Hook

	counters  *record.Counters // nil when nothing is recorded
	access    *data.Access     // the rows that the endpoint names; nil for none
	changes   *data.Changes    // the changes to make; nil for none
	elses     []answer         // the answers to send when a change is not possible, by change
	lets      data.Lets        // values that are made once for each request
	resource  *data.Operation  // the operation of a resource that makes the reply; nil for none
	declared  int              // the declared status; 0 for none
	block     []byte           // its header block in HTTP/2, without Date; nil if it is not always the same
	static    []byte           // the body, if it is the same for every request
	source    *fetcher.Source  // the external body
	proxy     *proxy           // where the request is passed on to; nil for none
	anyMethod bool             // it answers requests of any method
	preflight []header         // those for preflights, of the first outcome that declares any
	outcomes  []answer         // the outcomes that rules choose from; nil for the answer itself
}

// compiler compiles snapshots, and keeps the state that outlives them.
type compiler struct {
	loader   *fetcher.Loader
	counters *renderer.Counters
	env      func(string) (string, bool)
	log      *slog.Logger

	maxBody    int  // maximum size of a request body in bytes
	noWebhooks bool // webhooks are compiled, but left out
	noLatency  bool // latencies are not waited for
	noFaults   bool // faults do not happen

	dynamic bool // operations of documents generate a new body for each request

	chance  traffic.Seed
	carried traffic.Carried // traffic state that outlives a snapshot

	trustForwarded bool // see Options

	sharedState bool          // limits, numbers and sequence positions may be shared
	waits       bool          // the endpoint that is compiled has shared numbers
	steady      bool          // its condition has the same result each time
	shared      *shared.State // nil for none, and before the server starts

	sockets websocket.Compiler
	data    *data.Sets
	proxies
	send func(hooks []webhook.Hook, r *matcher.Request, at time.Time) // sends the webhooks of a row that moved
}

// count makes the endpoints and WebSockets count requests, in the order of the specification.
func (sn *snapshot) count(all []*record.Counters) {
	for i := range sn.answers {
		sn.answers[i].counters = all[i]
	}
	sn.sockets.Count(all[len(sn.answers):])
	for _, f := range sn.fixed {
		if f != nil {
			f.counters = f.answer.counters
		}
	}
}
