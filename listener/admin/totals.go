package admin

import (
	"net/http"
	"time"

	"mockserver/config/settings"
	"mockserver/internal/histogram"
	"mockserver/listener/record"
	"mockserver/listener/verdict"
)

// shownCounts contains the counters of one endpoint. Durations are in milliseconds.
type shownCounts struct {
	ID       string         `json:"id,omitempty" doc:"of the endpoint"`
	Endpoint string         `json:"endpoint,omitempty" doc:"method and path"`
	Host     string         `json:"host,omitempty" doc:"that it is limited to"`
	If       string         `json:"if,omitempty" doc:"its condition"`
	Requests uint64         `json:"requests" doc:"that were answered"`
	Statuses map[int]uint64 `json:"statuses" doc:"how many answers had each status; 499 are those whose client left before"`
	verdict.ErrorKinds
	In       uint64            `json:"bytes_in" doc:"of request bodies"`
	Out      uint64            `json:"bytes_out" doc:"of answers' bodies"`
	Faults   map[string]uint64 `json:"faults,omitempty" doc:"answers that went wrong as declared, by fault"`
	Limited  uint64            `json:"limited,omitempty" doc:"answered 429 by a rate limit"`
	Refused  uint64            `json:"refused,omitempty" doc:"answered 503 by a capacity"`
	Received uint64            `json:"messages_received,omitempty" doc:"of WebSockets"`
	Sent     uint64            `json:"messages_sent,omitempty" doc:"of WebSockets"`

	Total          verdict.Spread  `json:"total" doc:"the response time"`
	Service        verdict.Spread  `json:"service" doc:"the server's own time: without injected latency, its error, and upstream"`
	Upstream       *verdict.Spread `json:"upstream,omitempty" doc:"the wait for bodies from URLs and for upstreams, of requests that had to"`
	UpstreamWait   *verdict.Spread `json:"upstream_wait,omitempty" doc:"the wait for a free connection to an upstream, of requests that had to"`
	Injected       *verdict.Spread `json:"injected,omitempty" doc:"latency as declared"`
	InjectionError *verdict.Spread `json:"injection_error,omitempty" doc:"how much later than declared answers were"`
}

func shownCountsOf(c *record.EndpointCounts) shownCounts {
	s := shownCounts{
		ID: c.ID, Endpoint: c.Endpoint, Host: c.Host, If: c.If, Requests: c.Requests, Statuses: c.Statuses, In: c.In, Out: c.Out,
		Faults: c.Faults, Limited: c.Limited, Refused: c.Refused, Received: c.Received, Sent: c.Sent,
		Total: verdict.SpreadOf(c.Total), Service: verdict.SpreadOf(c.Service),
	}
	if c.Endpoint != "" { // other statuses are not declared
		s.ErrorKinds = verdict.ErrorKindsOf(c)
	}
	some := func(of histogram.Snapshot) *verdict.Spread {
		if of.Count == 0 {
			return nil
		}
		return new(verdict.SpreadOf(of))
	}
	s.UpstreamWait = some(c.UpstreamWait)
	s.Upstream, s.Injected, s.InjectionError = some(c.Upstream), some(c.Injected), some(c.InjectionError)
	return s
}

// allCounts contains all counters of the server.
type allCounts struct {
	Time        time.Time       `json:"time" doc:"of these figures"`
	Started     time.Time       `json:"started" doc:"when counting began"`
	Endpoints   []shownCounts   `json:"endpoints" doc:"those that are served"`
	Unmatched   shownCounts     `json:"unmatched" doc:"requests that no endpoint answered"`
	Options     shownCounts     `json:"options" doc:"OPTIONS requests that the server answered by itself"`
	Malformed   shownCounts     `json:"malformed" doc:"what was not a request"`
	Removed     shownCounts     `json:"removed" doc:"endpoints that are no longer served, together"`
	Distinct    uint64          `json:"unmatched_distinct" doc:"different unmatched requests since the journal was last reset"`
	Connections int             `json:"connections" doc:"that are open, WebSockets among them"`
	WebSockets  int             `json:"websockets" doc:"that are open"`
	InFlight    int64           `json:"in_flight" doc:"requests under way, those that wait for their latency among them"`
	Webhooks    shownDeliveries `json:"webhooks" doc:"their outcomes"`
}

// showCounts returns all counters since the start. The difference between two responses is what
// happened in between.
func (a *Admin) showCounts(w http.ResponseWriter, _ *http.Request) {
	c := a.server.Counts()
	endpoints := make([]shownCounts, len(c.Endpoints))
	for i := range endpoints {
		endpoints[i] = shownCountsOf(&c.Endpoints[i])
	}
	answer(w, http.StatusOK, allCounts{
		Time: c.Time.UTC(), Started: c.Started.UTC(), Endpoints: endpoints,
		Unmatched: shownCountsOf(&c.Unmatched), Options: shownCountsOf(&c.Options),
		Malformed: shownCountsOf(&c.Malformed), Removed: shownCountsOf(&c.Gone),
		Distinct: c.Distinct, Connections: c.Connections, WebSockets: c.WebSockets, InFlight: c.InFlight,
		Webhooks: a.deliveries(0),
	})
}

// shownMisses contains the requests that no endpoint answered.
type shownMisses struct {
	Unmatched []record.Miss `json:"unmatched" doc:"those that came last first"`
	Distinct  uint64        `json:"distinct" doc:"how many different ones there were"`
}

// showUnmatched returns the distinct requests that no endpoint answered, the latest first.
func (a *Admin) showUnmatched(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, shownMisses{a.server.Unmatched(), a.server.Counts().Distinct})
}

// shownConfig describes how the program was started and what it serves.
type shownConfig struct {
	Version   string           `json:"version" doc:"of the program"`
	Commit    string           `json:"commit" doc:"that the program was built of; empty if not known"`
	URL       string           `json:"url" doc:"of the mocks"`
	Settings  []settings.Given `json:"settings" doc:"each of the program, without secrets"`
	Endpoints []shownEndpoint  `json:"endpoints" doc:"in the order in which they are declared, then the WebSockets"`
}

// showConfig returns how the program was started and what it serves.
func (a *Admin) showConfig(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, shownConfig{
		a.opts.Build.Version, a.opts.Build.Commit, a.server.URL(), append([]settings.Given{}, a.opts.Settings...), a.withRequests(a.shownEndpoints()),
	})
}
