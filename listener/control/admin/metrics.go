package admin

import (
	"log/slog"
	"maps"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"mockserver/internal/histogram"
	"mockserver/internal/list"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/verdict"
	"mockserver/matcher"
)

// exposition returns the handler of the metrics, in the formats of Prometheus and OpenMetrics.
func (a *Admin) exposition() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&collector{admin: a},
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog:            slog.NewLogLogger(a.log.Handler(), slog.LevelError),
		ErrorHandling:       promhttp.HTTPErrorOnError,
		MaxRequestsInFlight: scrapesAtOnce,
		EnableOpenMetrics:   true, // if the client accepts it
	})
}

// scrapesAtOnce limits the number of concurrent scrapes, since anyone may scrape and each scrape
// reads all counters. Further scrapes are answered with 503.
const scrapesAtOnce = 4

const (
	// endpointsInMetrics is the maximum number of endpoints that have their own series: the first
	// ones to be requested. All others share series, so that the number of series is bounded.
	endpointsInMetrics = 500
	// labelLength is the length, in bytes, at which label values are truncated.
	labelLength = 200
)

// otherEndpoints is the label of the endpoints that share series.
const otherEndpoints = "(other)"

// serviceBuckets, injectedBuckets and lagBuckets are the bucket bounds of histograms.
var (
	serviceBuckets  = bounds(0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1000)
	injectedBuckets = bounds(1, 2, 5, 10, 15, 25, 50, 75, 100, 150, 250, 350, 500, 750, 1000, 1500, 2500, 5000, 10_000, 30_000, 60_000)
	lagBuckets      = bounds(1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 5000, 30_000, 60_000)
)

func bounds(ms ...float64) []time.Duration {
	return list.Map(ms, func(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) })
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("mockserver_"+name, help, labels, nil)
}

// The metrics of endpoints.
var (
	requestsTotal   = describe("requests_total", "Requests answered, by endpoint and status; 499 if the client left before the response.", "endpoint", "host", "condition", "status")
	requestBytes    = describe("request_body_bytes_total", "Bytes of request bodies.", "endpoint", "host", "condition")
	responseBytes   = describe("response_body_bytes_total", "Bytes of response bodies.", "endpoint", "host", "condition")
	faultsTotal     = describe("faults_total", "Responses with a declared fault, by type of fault; failure and timeout come from a latency.", "endpoint", "host", "condition", "fault")
	rateLimited     = describe("rate_limited_total", "Requests answered with 429 by a rate limit.", "endpoint", "host", "condition")
	capacityRefused = describe("capacity_refused_total", "Requests answered with 503 because the queue of a capacity was full.", "endpoint", "host", "condition")
	ownErrors       = describe("own_errors_total", "Answers with status 500 or above that the server gave in place of what is declared: an unavailable body, an internal error.", "endpoint", "host", "condition")
	failedTotal     = describe("failed_requests_total", "Requests that a client saw fail, each counted once, by kind: declared 4xx, declared 5xx, rejected, injected, broken by a fault, rate limit, capacity, or the server's own.", "endpoint", "host", "condition", "kind")
	socketMessages  = describe("websocket_messages_total", "Messages of WebSocket connections.", "endpoint", "host", "condition", "direction")
	serviceSeconds  = describe("service_seconds", "The server's own time, without injected latency and the wait for upstreams and bodies from URLs.", "endpoint", "host", "condition")
	upstreamSeconds = describe("upstream_seconds", "Time that requests waited for bodies from URLs and for upstreams.", "endpoint", "host", "condition")

	upstreamWaitSeconds = describe("upstream_wait_seconds", "Time that requests waited for a free connection to their upstream.", "endpoint", "host", "condition")

	injectedSeconds  = describe("injected_latency_seconds", "Declared latency, and the wait for a free place in a capacity.", "endpoint", "host", "condition")
	injectionSeconds = describe("injection_error_seconds", "How much later than declared responses were ready.", "endpoint", "host", "condition")
)

// The metrics of endpoints with streams.
var (
	streamItems    = describe("stream_items_total", "Items of streams that were sent.", "endpoint", "host", "condition")
	streamBytes    = describe("stream_bytes_total", "Bytes of these items.", "endpoint", "host", "condition")
	streamOpen     = describe("stream_open", "Streams that are open, from their request on.", "endpoint", "host", "condition")
	streamEnds     = describe("stream_ends_total", "Streams that ended, by how they ended.", "endpoint", "host", "condition", "end")
	streamFirst    = describe("stream_first_seconds", "Time to the first item of a stream.", "endpoint", "host", "condition")
	streamGap      = describe("stream_gap_seconds", "Time from an item of a stream to the next one.", "endpoint", "host", "condition")
	streamGapError = describe("stream_gap_error_seconds", "How late items of a stream were that follow the first one.", "endpoint", "host", "condition")
	streamBlocked  = describe("stream_blocked_seconds", "Time that items of a stream waited for a client that did not read.", "endpoint", "host", "condition")
	streamStretch  = describe("stream_stretch", "By which factor a shared rate makes the open streams slower.", "endpoint", "host", "condition")
)

// The metrics of the server that may be absent.
var (
	unmatchedTotal = describe("unmatched_requests_total", "Requests that no endpoint answered.", "status")
	optionsTotal   = describe("options_requests_total", "OPTIONS requests that the server answered itself.", "status")
	malformedTotal = describe("malformed_requests_total", "Input that never became a request, and was answered.", "status")
	webhookLag     = describe("webhook_lag_seconds", "How late first attempts began.")
)

// collector reads the counters of the server for each scrape.
type collector struct {
	admin *Admin

	mu        sync.Mutex                // guards the fields below
	protocols [matcher.Protocols]uint64 // as last written; a later reading may be slightly lower
	named     map[string]bool
	last      map[string]written                  // keyed by ID
	removed   map[labels][]*record.EndpointCounts // counts of removed endpoints
	failed    map[[4]string]uint64                // failed requests as last written, by labels and kind
}

// Describe describes nothing: the series depend on what is served.
func (*collector) Describe(chan<- *prometheus.Desc) {}

// rising returns n, or what was last written if that is more: a reading may have the cause of a failure
// without its status, and a counter must not fall. A series that was dropped begins anew.
func (c *collector) rising(key [4]string, n uint64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = map[[4]string]uint64{}
	}
	if n > c.failed[key] {
		c.failed[key] = n
	}
	return c.failed[key]
}

// Collect reads all counters.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	a, out := c.admin, output{to: to, rising: c.rising}
	out.gauge(describe("build_info", "1, labelled with the build that runs.", "version", "commit", "goversion"), 1, a.opts.Build.Version, a.opts.Build.Commit, runtime.Version())
	out.gauge(describe("ready", "1 if requests are accepted, 0 while the server stops."), flag(a.unready() == ""))
	counts, series := c.read()
	for in, counted := range series {
		out.series(in, counted)
	}
	for p, n := range counts.Protocols {
		out.counter(describe("protocol_requests_total", "Requests answered, by protocol.", "protocol"), n, matcher.Protocol(p).String())
	}
	out.statuses(unmatchedTotal, counts.Unmatched)
	out.statuses(optionsTotal, counts.Options)
	out.statuses(malformedTotal, counts.Malformed)
	out.gauge(describe("unmatched_distinct", "Different requests that no endpoint answered, since the journal was reset."), float64(counts.Distinct))
	out.gauge(describe("connections", "Open connections."), float64(counts.Connections))
	out.counter(describe("arrivals_total", "Requests that arrived."), counts.Arrivals.Requests)
	out.counter(describe("connection_first_requests_total", "Requests that were the first of their connection."), counts.Arrivals.First)
	out.counter(describe("overlapping_requests_total", "Requests that arrived while a response of their connection was under way."), counts.Arrivals.Overlapping)
	out.histogram(describe("connection_idle_seconds", "How long connections were idle between a response and the next request."), counts.Arrivals.Idle, injectedBuckets)
	out.gauge(describe("websocket_connections", "Open WebSocket connections."), float64(counts.WebSockets))
	out.gauge(describe("requests_in_flight", "Requests in flight, including those that wait for their latency."), float64(counts.InFlight))
	out.gauge(describe("start_time_seconds", "When the server was started, in Unix time."), unixSeconds(counts.Started))
	if a.opts.LogDropped != nil {
		out.counter(describe("log_dropped_lines_total", "Log lines dropped because the log was not read fast enough."), a.opts.LogDropped())
	}
	a.writeTLS(&out, &counts)
	a.writeConfiguration(&out)
	a.writeWebhooks(&out)
	a.writeJournal(&out)
	a.writeState(&out)
	a.writeVerdict(&out)
	if id, name := a.runs.Active(); id != "" {
		out.gauge(describe("run_active", "1, labelled with the run that is under way; missing if there is none.", "run", "name"), 1, id, name)
	}
}

// writeState writes the counters of the declared sets of rows.
func (a *Admin) writeState(out *output) {
	for _, set := range a.server.Control().Data().Figures() {
		out.gauge(describe("state_rows", "Rows of a set, as requests without an isolating value see it.", "set"), float64(set.Rows), set.Name)
		out.gauge(describe("state_bytes", "Memory that the changes of a set take.", "set"), float64(set.Bytes), set.Name)
		out.gauge(describe("state_parts", "Isolated parts of a set with changes.", "set"), float64(set.Parts), set.Name)
		out.counter(describe("state_conflicts_total", "Requests answered again because rows they had read had changed.", "set"), uint64(set.Conflicts), set.Name)
		out.counter(describe("state_given_up_total", "Changes dropped for lack of room.", "set"), uint64(set.GivenUp), set.Name)
		out.counter(describe("state_moves_total", "Changes that rows have made on their own.", "set"), uint64(set.Moves), set.Name)
		for operation, results := range set.Operations {
			for result, n := range results {
				out.counter(describe("state_operations_total", "Operations of requests on a set, by result: ok, missing, or the code of an error.", "set", "operation", "result"), n, set.Name, operation, result)
			}
		}
	}
}

func (a *Admin) writeConfiguration(out *output) {
	spec, applied := a.server.Spec(), a.server.Control().Applied()
	out.gauge(describe("config_fingerprint", "1, labelled with the fingerprint of the configuration that is served.", "fingerprint"), 1, a.runs.Fingerprint())
	out.gauge(describe("endpoints", "Endpoints that are served."), float64(len(spec.Endpoints)))
	out.gauge(describe("websockets", "WebSockets that are served."), float64(len(spec.WebSockets)))
	for result, n := range map[string]uint64{"served": applied.Served, "refused": applied.Refused} {
		out.counter(describe("configurations_total", "Configurations, by result: served or refused.", "result"), n, result)
	}
	out.gauge(describe("configuration_last_successful", "1 if the last configuration was served, 0 if it was refused and the previous one stays in service."), flag(applied.Fine))
	out.gauge(describe("configuration_last_success_timestamp_seconds", "When a configuration was last served, in Unix time."), unixSeconds(applied.Last))
}

func (a *Admin) writeWebhooks(out *output) {
	stats := a.server.Webhooks()
	for outcome, n := range map[string]int64{
		"delivered": stats.Delivered, "dead": stats.Dead, "cancelled": stats.Cancelled,
		"refused": stats.Refused, "abandoned": stats.Abandoned, "kept": stats.Kept,
	} {
		out.counter(describe("webhooks_total", "Webhooks, by outcome.", "outcome"), uint64(n), outcome)
	}
	out.counter(describe("webhook_retries_total", "Failed attempts to send a webhook that another attempt was to follow."), uint64(stats.Retried))
	out.counter(describe("webhook_store_lost_records_total", "Minimum number of records of the webhook store that could not be read."), uint64(stats.Lost))
	out.counter(describe("webhooks_restored_total", "Webhooks read from the store, left there by an earlier process."), uint64(stats.Restored))
	out.gauge(describe("webhooks_pending", "Webhooks that are accepted and not finished."), float64(stats.Pending))
	out.gauge(describe("webhooks_due", "Webhooks that are due and wait for a worker."), float64(stats.Due))
	out.gauge(describe("webhooks_in_flight", "Webhooks that are being sent."), float64(stats.InFlight))
	out.histogram(webhookLag, stats.Lag, lagBuckets)
}

func (a *Admin) writeJournal(out *output) {
	stats := a.server.JournalStats()
	for _, kept := range []record.Kept{record.Sampled, record.Failed, record.Unmatched, record.Slow} {
		out.counter(describe("journal_requests_total", "Requests given to the journal, by reason for keeping.", "kept"), stats.Seen[kept], string(kept))
		out.counter(describe("journal_dropped_total", "Requests dropped from the journal to make room for others, by reason for keeping.", "kept"), stats.Dropped[kept], string(kept))
	}
	out.gauge(describe("journal_bytes", "Memory that the requests in the journal take."), float64(stats.Bytes))
}

func (a *Admin) writeVerdict(out *output) {
	v := a.sampler.Current()
	out.gauge(describe("timing_trusted", "1 when the timing can be trusted, 0 when it cannot: see timing_reason."), flag(v.Trusted))
	for _, r := range v.Reasons {
		out.gauge(describe("timing_reason", "The figure of each reason why the timing cannot be trusted.", "code", "unit"), r.Number, r.Code, r.Unit)
		out.gauge(describe("timing_reason_threshold", "The threshold that the figure of the reason exceeds.", "code", "unit"), r.Threshold, r.Code, r.Unit)
	}
}

// flag returns 1 for true, 0 for false.
func flag(so bool) float64 {
	if so {
		return 1
	}
	return 0
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// labels contains the endpoint, host and condition of a series.
type labels [3]string

// others contains the labels of the endpoints that share series.
var others = labels{otherEndpoints, "", ""}

// read reads the counters, for one scrape at a time. Otherwise an older reading could follow a
// newer one, and counters would decrease.
func (c *collector) read() (record.Counts, map[labels]*record.EndpointCounts) {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.admin.server.Counts()
	for p, n := range counts.Protocols {
		c.protocols[p] = max(c.protocols[p], n)
	}
	counts.Protocols = c.protocols
	return counts, c.series(counts)
}

// written is an endpoint as reported in the last scrape.
type written struct {
	in     labels
	counts *record.EndpointCounts
}

// series returns the counts by series. The caller holds c.mu. Endpoints with the same labels share
// a series. When a reload removes an endpoint, its counts stay in its series if other endpoints
// share the series. Otherwise the series would decrease; Prometheus would interpret that as a
// restart, and count the remaining requests again.
func (c *collector) series(counts record.Counts) map[labels]*record.EndpointCounts {
	c.name(counts.Endpoints)
	last, parts := make(map[string]written, len(c.named)), map[labels][]*record.EndpointCounts{}
	for i := range counts.Endpoints {
		e := &counts.Endpoints[i]
		own, known := c.named[e.ID]
		if !known {
			continue
		}
		in := others
		if own {
			in = labels{labelOf(e.Endpoint), labelOf(e.Host), labelOf(e.If)}
		}
		last[e.ID] = written{in, e}
		parts[in] = append(parts[in], e)
	}
	for id, was := range c.last {
		if now, ok := last[id]; !ok || !now.counts.Since.Equal(was.counts.Since) {
			c.removed[was.in] = append(c.removed[was.in], was.counts)
		}
	}
	c.last = last
	series := c.total(parts)
	maps.DeleteFunc(c.failed, func(of [4]string, _ uint64) bool { return series[labels(of[:3])] == nil })
	return series
}

// total adds up the counts of each series. A series without endpoints is dropped, except the shared
// one, so that memory is bounded like the number of series.
func (c *collector) total(parts map[labels][]*record.EndpointCounts) map[labels]*record.EndpointCounts {
	removed := map[labels][]*record.EndpointCounts{}
	for in, gone := range c.removed {
		if in == others || parts[in] != nil {
			before := record.Total(gone)
			removed[in] = []*record.EndpointCounts{&before}
			parts[in] = append(parts[in], &before)
		}
	}
	c.removed = removed
	series := make(map[labels]*record.EndpointCounts, len(parts))
	for in, all := range parts {
		series[in] = all[0]
		if len(all) > 1 {
			series[in] = new(record.Total(all))
		}
	}
	return series
}

// name decides which endpoints have their own series. The decision is final: an endpoint that moved
// from the shared series to its own would be counted twice.
func (c *collector) name(endpoints []record.EndpointCounts) {
	named, room := make(map[string]bool, len(c.named)), endpointsInMetrics
	for i := range endpoints {
		if own, known := c.named[endpoints[i].ID]; known {
			named[endpoints[i].ID] = own
			if own {
				room--
			}
		}
	}
	few := len(endpoints) <= endpointsInMetrics
	for i := range endpoints {
		e := &endpoints[i]
		if _, known := named[e.ID]; known || e.Requests == 0 && !few {
			continue
		}
		named[e.ID] = room > 0
		room--
	}
	c.named = named
}

// labelOf converts a text to a valid label value, truncated after labelLength bytes.
func labelOf(text string) string {
	if len(text) > labelLength {
		text = text[:labelLength] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// series writes the metrics of one series.
func (o *output) series(in labels, c *record.EndpointCounts) {
	all := in[:]
	with := func(more string) []string { return append(all[:len(all):len(all)], more) }
	for status, n := range c.Statuses {
		o.counter(requestsTotal, n, with(strconv.Itoa(status))...)
	}
	for fault, n := range c.Faults {
		o.counter(faultsTotal, n, with(fault)...)
	}
	o.counter(requestBytes, c.In, all...)
	o.counter(responseBytes, c.Out, all...)
	o.some(rateLimited, c.Limited, all...)
	o.some(capacityRefused, c.Refused, all...)
	o.some(ownErrors, c.Broken, all...)
	failed := verdict.FailedOf(c)
	for kind, n := range failed.Kinds() {
		if o.rising != nil {
			n = o.rising([4]string(with(kind)), n)
		}
		o.some(failedTotal, n, with(kind)...)
	}
	o.some(socketMessages, c.Received, with("received")...)
	o.some(socketMessages, c.Sent, with("sent")...)
	o.histogram(serviceSeconds, c.Service, serviceBuckets, all...)
	o.histogram(upstreamSeconds, c.Upstream, injectedBuckets, all...)
	o.histogram(upstreamWaitSeconds, c.UpstreamWait, injectedBuckets, all...)
	o.histogram(injectedSeconds, c.Injected, injectedBuckets, all...)
	o.histogram(injectionSeconds, c.InjectionError, serviceBuckets, all...)
	if c.Opened > 0 {
		o.streams(&c.StreamCounts, all)
	}
}

// streams writes the metrics of the streams of a series.
func (o *output) streams(c *record.StreamCounts, all []string) {
	o.counter(streamItems, c.Items, all...)
	o.counter(streamBytes, c.Bytes, all...)
	o.gauge(streamOpen, float64(c.Open()), all...)
	for end, n := range c.Ends {
		o.counter(streamEnds, n, append(all[:len(all):len(all)], end)...)
	}
	o.histogram(streamFirst, c.First, injectedBuckets, all...)
	o.histogram(streamGap, c.Gap, injectedBuckets, all...)
	o.histogram(streamGapError, c.GapError, serviceBuckets, all...)
	o.histogram(streamBlocked, c.Blocked, injectedBuckets, all...)
	if c.Factor > 0 {
		o.gauge(streamStretch, c.Factor, all...)
	}
}

// output is the destination of metrics.
type output struct {
	to     chan<- prometheus.Metric
	rising func(key [4]string, n uint64) uint64
}

func (o *output) put(m prometheus.Metric, err error) {
	if err != nil { // a bug: labels are valid, and as many as described
		m = prometheus.NewInvalidMetric(requestsTotal, err)
	}
	o.to <- m
}

func (o *output) counter(d *prometheus.Desc, n uint64, labels ...string) {
	o.sum(d, float64(n), labels...)
}

// sum is like counter, for a sum such as a number of seconds.
func (o *output) sum(d *prometheus.Desc, x float64, labels ...string) {
	o.put(prometheus.NewConstMetric(d, prometheus.CounterValue, x, labels...))
}

// some is like counter, but omits 0. It is for values that most endpoints do not have.
func (o *output) some(d *prometheus.Desc, n uint64, labels ...string) {
	if n > 0 {
		o.counter(d, n, labels...)
	}
}

func (o *output) gauge(d *prometheus.Desc, n float64, labels ...string) {
	o.put(prometheus.NewConstMetric(d, prometheus.GaugeValue, n, labels...))
}

func (o *output) statuses(d *prometheus.Desc, c record.EndpointCounts) {
	for status, n := range c.Statuses {
		o.counter(d, n, strconv.Itoa(status))
	}
}

// histogram writes a histogram unless it is empty.
func (o *output) histogram(d *prometheus.Desc, l histogram.Snapshot, bounds []time.Duration, labels ...string) {
	if l.Count == 0 {
		return
	}
	buckets := make(map[float64]uint64, len(bounds))
	for i, n := range l.Buckets(bounds) {
		buckets[bounds[i].Seconds()] = n
	}
	o.put(prometheus.NewConstHistogram(d, l.Count, l.Sum.Seconds(), buckets, labels...))
}
