package admin

import (
	"net/http"
	"time"

	"mockserver/config/settings"
	"mockserver/internal/histogram"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/verdict"
)

// shownCounts contains the counters of one endpoint. Durations are in milliseconds.
type shownCounts struct {
	ID       string            `json:"id,omitempty" doc:"ID of the endpoint"`
	Endpoint string            `json:"endpoint,omitempty" doc:"method and path"`
	Host     string            `json:"host,omitempty" doc:"host that the endpoint is limited to"`
	If       string            `json:"if,omitempty" doc:"condition of the endpoint"`
	Requests uint64            `json:"requests" doc:"requests that were answered"`
	Statuses map[int]uint64    `json:"statuses" doc:"responses by status; 499 if the client left before the response"`
	Failed   verdict.Failed    `json:"failed" doc:"requests that a client saw fail, each counted once"`
	In       uint64            `json:"bytes_in" doc:"bytes of request bodies"`
	Out      uint64            `json:"bytes_out" doc:"bytes of response bodies"`
	Faults   map[string]uint64 `json:"faults,omitempty" doc:"responses with a declared fault, by fault"`
	Limited  uint64            `json:"limited,omitempty" doc:"requests answered with 429 by a rate limit"`
	Refused  uint64            `json:"refused,omitempty" doc:"requests answered with 503 because the queue of a capacity was full"`
	Received uint64            `json:"messages_received,omitempty" doc:"WebSocket messages received"`
	Sent     uint64            `json:"messages_sent,omitempty" doc:"WebSocket messages sent"`

	Total          verdict.Spread  `json:"total" doc:"the response time"`
	Service        verdict.Spread  `json:"service" doc:"the server's own time, excluding the injected latency, any delay beyond it, and the wait for upstreams"`
	Upstream       *verdict.Spread `json:"upstream,omitempty" doc:"the wait for bodies from URLs and for upstreams, of requests that had to wait"`
	UpstreamWait   *verdict.Spread `json:"upstream_wait,omitempty" doc:"the wait for a free connection to an upstream, of requests that had to wait"`
	Injected       *verdict.Spread `json:"injected,omitempty" doc:"the declared latency"`
	InjectionError *verdict.Spread `json:"injection_error,omitempty" doc:"how much later than the declared latency the responses were ready"`
	Streams        *shownStreams   `json:"streams,omitempty" doc:"what was sent in streams"`
}

// shownStreams contains the counters of the streams of an endpoint.
type shownStreams struct {
	Open     uint64            `json:"open" doc:"streams that are open, from their request on"`
	Items    uint64            `json:"items" doc:"items that were sent"`
	Bytes    uint64            `json:"bytes" doc:"bytes of these items"`
	Ends     map[string]uint64 `json:"ends" doc:"streams that ended, by how they ended"`
	Stretch  float64           `json:"stretch,omitempty" doc:"by which factor a shared rate made streams slower, on average"`
	First    *verdict.Spread   `json:"first,omitempty" doc:"the time to the first item"`
	Gap      *verdict.Spread   `json:"gap,omitempty" doc:"the time from an item to the next one"`
	GapError *verdict.Spread   `json:"gap_error,omitempty" doc:"how late items were that follow the first one"`
	Blocked  *verdict.Spread   `json:"blocked,omitempty" doc:"how long items waited for a client that did not read, of those that had to"`
}

func shownCountsOf(c *record.EndpointCounts) shownCounts {
	s := shownCounts{
		ID: c.ID, Endpoint: c.Endpoint, Host: c.Host, If: c.If, Requests: c.Requests, Statuses: c.Statuses, In: c.In, Out: c.Out,
		Faults: c.Faults, Limited: c.Limited, Refused: c.Refused, Received: c.Received, Sent: c.Sent,
		Total: verdict.SpreadOf(c.Total), Service: verdict.SpreadOf(c.Service),
	}
	if c.Endpoint != "" { // other statuses are not declared
		s.Failed = verdict.FailedOf(c)
	}
	some := func(of histogram.Snapshot) *verdict.Spread {
		if of.Count == 0 {
			return nil
		}
		return new(verdict.SpreadOf(of))
	}
	s.UpstreamWait = some(c.UpstreamWait)
	s.Upstream, s.Injected, s.InjectionError = some(c.Upstream), some(c.Injected), some(c.InjectionError)
	if c.Opened > 0 {
		s.Streams = &shownStreams{
			Open: c.Open(), Items: c.Items, Bytes: c.Bytes, Ends: c.Ends, Stretch: c.Stretch(),
			First: some(c.First), Gap: some(c.Gap), GapError: some(c.GapError), Blocked: some(c.Blocked),
		}
	}
	return s
}

// allCounts contains all counters of the server.
type allCounts struct {
	Time        time.Time       `json:"time" doc:"time of these figures"`
	Started     time.Time       `json:"started" doc:"when counting began"`
	Endpoints   []shownCounts   `json:"endpoints" doc:"the endpoints that are served"`
	Unmatched   shownCounts     `json:"unmatched" doc:"requests that no endpoint answered"`
	Options     shownCounts     `json:"options" doc:"OPTIONS requests that the server answered itself"`
	Malformed   shownCounts     `json:"malformed" doc:"input that never became a request, and was answered"`
	Removed     shownCounts     `json:"removed" doc:"totals of the endpoints that are no longer served"`
	Distinct    uint64          `json:"unmatched_distinct" doc:"different unmatched requests since the journal was last reset"`
	Connections int             `json:"connections" doc:"open connections, including WebSockets"`
	WebSockets  int             `json:"websockets" doc:"open WebSockets"`
	InFlight    int64           `json:"in_flight" doc:"requests in flight, including those that wait for their latency"`
	Webhooks    shownDeliveries `json:"webhooks" doc:"webhooks, by outcome"`
}

// showCounts returns all counters since the start. The difference between two responses shows what
// happened in between.
func (a *Admin) showCounts(w http.ResponseWriter, _ *http.Request) {
	c := a.server.Counts()
	endpoints := make([]shownCounts, len(c.Endpoints))
	for i := range endpoints {
		endpoints[i] = shownCountsOf(&c.Endpoints[i])
	}
	respond(w, http.StatusOK, allCounts{
		Time: c.Time.UTC(), Started: c.Started.UTC(), Endpoints: endpoints,
		Unmatched: shownCountsOf(&c.Unmatched), Options: shownCountsOf(&c.Options),
		Malformed: shownCountsOf(&c.Malformed), Removed: shownCountsOf(&c.Gone),
		Distinct: c.Distinct, Connections: c.Connections, WebSockets: c.WebSockets, InFlight: c.InFlight,
		Webhooks: a.deliveries(0),
	})
}

// shownMisses contains the requests that no endpoint answered.
type shownMisses struct {
	Unmatched []record.Miss `json:"unmatched" doc:"unmatched requests, the latest first"`
	Distinct  uint64        `json:"distinct" doc:"number of different unmatched requests"`
}

// shownConfig describes how the program was started and what it serves.
type shownConfig struct {
	Version   string           `json:"version" doc:"version of the program"`
	Commit    string           `json:"commit" doc:"commit that the program was built from; empty if unknown"`
	URL       string           `json:"url" doc:"URL of the mocks"`
	Settings  []settings.Given `json:"settings" doc:"settings of the program, without secrets"`
	Endpoints []shownEndpoint  `json:"endpoints" doc:"the endpoints in the order of declaration, then the WebSockets"`
}
