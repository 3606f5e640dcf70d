package admin

import (
	"net/http"
	"time"

	"mockserver/listener"
)

// shownCounts is what the server has counted since it was started, or of one endpoint.
// Lengths of time are in milliseconds.
type shownCounts struct {
	ID       string         `json:"id,omitempty"`
	Endpoint string         `json:"endpoint,omitempty"`
	Host     string         `json:"host,omitempty"`
	If       string         `json:"if,omitempty"`
	Requests uint64         `json:"requests"`
	Statuses map[int]uint64 `json:"statuses"`
	ErrorKinds
	In       uint64            `json:"bytes_in"`
	Out      uint64            `json:"bytes_out"`
	Faults   map[string]uint64 `json:"faults,omitempty"`
	Limited  uint64            `json:"limited,omitempty"`
	Refused  uint64            `json:"refused,omitempty"`
	Received uint64            `json:"messages_received,omitempty"`
	Sent     uint64            `json:"messages_sent,omitempty"`

	Service        Spread  `json:"service"`
	Injected       *Spread `json:"injected,omitempty"`
	InjectionError *Spread `json:"injection_error,omitempty"`
}

func shownCountsOf(c *listener.Counted) shownCounts {
	s := shownCounts{
		ID: c.ID, Endpoint: c.Endpoint, Host: c.Host, If: c.If, Requests: c.Requests, Statuses: c.Statuses, In: c.In, Out: c.Out,
		Faults: c.Faults, Limited: c.Limited, Refused: c.Refused, Received: c.Received, Sent: c.Sent,
		Service: spreadOfLengths(c.Service),
	}
	if c.Endpoint != "" { // statuses of others are declared by nobody
		s.ErrorKinds = errorKindsOf(c)
	}
	if c.Injected.Count > 0 {
		injected := spreadOfLengths(c.Injected)
		s.Injected = &injected
	}
	if c.InjectionError.Count > 0 {
		late := spreadOfLengths(c.InjectionError)
		s.InjectionError = &late
	}
	return s
}

// showCounts answers with what was counted since the server was started: the difference
// of two such answers is what happened between them.
func (a *Admin) showCounts(w http.ResponseWriter, _ *http.Request) {
	c := a.server.Counts()
	endpoints := make([]shownCounts, len(c.Endpoints))
	for i := range endpoints {
		endpoints[i] = shownCountsOf(&c.Endpoints[i])
	}
	answer(w, http.StatusOK, map[string]any{
		"time": c.Time.UTC(), "started": c.Started.UTC(), "endpoints": endpoints,
		"unmatched": shownCountsOf(&c.Unmatched), "options": shownCountsOf(&c.Options),
		"malformed": shownCountsOf(&c.Malformed), "removed": shownCountsOf(&c.Gone),
		"unmatched_distinct": c.Distinct, "connections": c.Connections, "websockets": c.WebSockets, "in_flight": c.InFlight,
		"webhooks": a.deliveries(0),
	})
}

// shownMiss is one kind of requests that no endpoint answered.
type shownMiss struct {
	Method string    `json:"method"`
	Host   string    `json:"host"`
	Path   string    `json:"path"`
	Status int       `json:"status"`
	Code   string    `json:"code"`
	Reason string    `json:"reason"` // of the last
	Count  uint64    `json:"count"`
	First  time.Time `json:"first"`
	Last   time.Time `json:"last"`
}

// showUnmatched answers with the different requests that no endpoint answered, those
// that came last first.
func (a *Admin) showUnmatched(w http.ResponseWriter, _ *http.Request) {
	misses := a.server.Unmatched()
	list := make([]shownMiss, len(misses))
	for i, m := range misses {
		list[i] = shownMiss{m.Method, m.Host, m.Path, m.Status, m.Code, m.Reason, m.Count, m.First.UTC(), m.Last.UTC()}
	}
	answer(w, http.StatusOK, map[string]any{"unmatched": list, "distinct": a.server.Counts().Distinct})
}

// showConfig answers with how the program was started, and what it serves.
func (a *Admin) showConfig(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"version": a.opts.Build.Version, "commit": a.opts.Build.Commit, "url": a.server.URL(),
		"settings": a.opts.Settings, "endpoints": a.withRequests(a.shownEndpoints()),
	})
}
