package runs

import (
	"time"

	"mockserver/internal/histogram"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/verdict"
)

// Totals contains the counts of a run so far, in a form in which the totals of several replicas
// can be added up exactly. Distributions are in the raw form of package histogram, encoded in
// Base64 in JSON.
type Totals struct {
	ID      string      `json:"id" doc:"ID of the run"`
	Name    string      `json:"name" doc:"name of the run"`
	Running bool        `json:"running" doc:"whether the run is under way"`
	Begin   time.Time   `json:"begin" doc:"when it began, by the clock of this replica"`
	End     *time.Time  `json:"end" doc:"when it ended; null while it runs"`
	Fleet   *Membership `json:"fleet,omitempty" doc:"the run of the fleet that it is part of; missing for others"`

	Verdict       RunVerdict       `json:"verdict" doc:"whether the timing of this replica can be trusted"`
	Program       Program          `json:"program" doc:"program that runs"`
	Machine       Machine          `json:"machine" doc:"machine that the program runs on"`
	Configuration Configuration    `json:"configuration" doc:"configuration that is served"`
	Sample        verdict.Sample   `json:"sample" doc:"the run as one sample"`
	All           EndpointTotals   `json:"all" doc:"all requests, including those that no endpoint answered"`
	Endpoints     []EndpointTotals `json:"endpoints" doc:"endpoints that had requests, the busiest first"`

	WebhookLag histogram.Snapshot `json:"webhook_lag" doc:"how late first attempts of webhooks were"`
	Probe      histogram.Snapshot `json:"probe" doc:"how late the probe was"`
	Echo       histogram.Snapshot `json:"echo" doc:"how long connections from the server to itself took"`

	Timeline       []Point           `json:"timeline" doc:"the run over time, after the second given in the query"`
	Unmatched      []UnmatchedReport `json:"unmatched" doc:"requests that no endpoint answered, the most frequent first, at most 100 kinds"`
	OtherUnmatched int               `json:"other_unmatched" doc:"how many more kinds there were"`
	State          []SetReport       `json:"state" doc:"the sets of rows, by name"`
}

// EndpointTotals contains the counts of one endpoint in a run.
type EndpointTotals struct {
	ID       string            `json:"id,omitempty" doc:"ID of the endpoint"`
	Endpoint string            `json:"endpoint,omitempty" doc:"method and path"`
	Host     string            `json:"host,omitempty" doc:"host that the endpoint is limited to"`
	If       string            `json:"if,omitempty" doc:"condition of the endpoint"`
	Requests uint64            `json:"requests" doc:"requests that were answered"`
	Statuses map[int]uint64    `json:"statuses" doc:"responses by status"`
	Faults   map[string]uint64 `json:"faults" doc:"responses with a declared fault, by fault"`
	Limited  uint64            `json:"limited" doc:"requests answered with 429 by a rate limit"`
	Refused  uint64            `json:"refused" doc:"requests answered with 503 because the queue of a capacity was full"`
	Broken   uint64            `json:"broken" doc:"answers with status 500 or above in place of what is declared"`
	In       uint64            `json:"bytes_in" doc:"bytes of request bodies"`
	Out      uint64            `json:"bytes_out" doc:"bytes of response bodies"`
	Declared *Declared         `json:"declared,omitempty" doc:"percentiles of the declared latencies; missing if there are none"`

	Total          histogram.Snapshot `json:"total" doc:"the response time"`
	Own            histogram.Snapshot `json:"own" doc:"the server's own time"`
	Upstream       histogram.Snapshot `json:"upstream" doc:"the wait for bodies from URLs"`
	UpstreamWait   histogram.Snapshot `json:"upstream_wait,omitzero" doc:"the wait for a free connection to an upstream, of requests that had to wait"`
	Injected       histogram.Snapshot `json:"injected" doc:"the declared latency"`
	InjectionError histogram.Snapshot `json:"injection_error" doc:"how much later than the declared latency the responses were ready"`
}

func endpointTotals(c *record.EndpointCounts) EndpointTotals {
	return EndpointTotals{
		ID: c.ID, Endpoint: c.Endpoint, Host: c.Host, If: c.If, Requests: c.Requests, Statuses: c.Statuses, Faults: c.Faults,
		Limited: c.Limited, Refused: c.Refused, Broken: c.Broken, In: c.In, Out: c.Out, Declared: declaredBy(c.Declared),
		Total: c.Total, Own: c.Service, Upstream: c.Upstream, UpstreamWait: c.UpstreamWait, Injected: c.Injected, InjectionError: c.InjectionError,
	}
}

// counts returns the totals as counts of an endpoint, which package record adds up.
func (t *EndpointTotals) counts() *record.EndpointCounts {
	return &record.EndpointCounts{
		Requests: t.Requests, Statuses: t.Statuses, Faults: t.Faults, Limited: t.Limited, Refused: t.Refused, Broken: t.Broken, In: t.In, Out: t.Out,
		Total: t.Total, Service: t.Own, Upstream: t.Upstream, UpstreamWait: t.UpstreamWait, Injected: t.Injected, InjectionError: t.InjectionError,
	}
}
