package admin

import (
	"errors"
	"fmt"
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
	"mockserver/listener/record"
)

// exposition serves the metrics, in the formats of Prometheus and OpenMetrics.
func (a *Admin) exposition() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&collector{admin: a},
	)
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		ErrorLog:            scrapeLog{a},
		ErrorHandling:       promhttp.HTTPErrorOnError,
		MaxRequestsInFlight: scrapesAtOnce,
		EnableOpenMetrics:   true, // to who asks for it
	})
}

// scrapesAtOnce bounds the scrapes that are answered at the same time, which anybody may
// ask for: each reads all counters. Further ones are answered 503.
const scrapesAtOnce = 4

// scrapeLog logs what goes wrong with a scrape.
type scrapeLog struct{ admin *Admin }

// Println is what promhttp calls.
func (s scrapeLog) Println(v ...any) {
	s.admin.log.Error("metrics cannot be collected", "error", strings.TrimSpace(fmt.Sprintln(v...)))
}

const (
	// endpointsInMetrics is how many endpoints have series of their own: those that are
	// asked for first. All others together are one, so that the number of series is bounded.
	endpointsInMetrics = 500
	// labelLength bounds what of an endpoint's texts is in a label, in bytes.
	labelLength = 200
)

// otherEndpoints stands for those that have no series of their own.
const otherEndpoints = "(other)"

// serviceBuckets, injectedBuckets and lagBuckets are the bounds of histograms.
var (
	serviceBuckets = []time.Duration{
		10 * time.Microsecond, 25 * time.Microsecond, 50 * time.Microsecond, 100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
		time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
		100 * time.Millisecond, 250 * time.Millisecond, time.Second,
	}
	injectedBuckets = []time.Duration{
		time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
		250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute,
	}
	lagBuckets = []time.Duration{
		time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
		100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond, time.Second, 5 * time.Second, 30 * time.Second, time.Minute,
	}
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("mockserver_"+name, help, labels, nil)
}

// What is told of endpoints.
var (
	requestsTotal    = describe("requests_total", "Requests answered, by endpoint and status; 499 are those that were not answered because the client left.", "endpoint", "host", "condition", "status")
	requestBytes     = describe("request_body_bytes_total", "Bytes of request bodies.", "endpoint", "host", "condition")
	responseBytes    = describe("response_body_bytes_total", "Bytes of response bodies.", "endpoint", "host", "condition")
	faultsTotal      = describe("faults_total", "Answers that went wrong as declared, by the type of the fault; failure and timeout are those of a latency.", "endpoint", "host", "condition", "fault")
	rateLimited      = describe("rate_limited_total", "Requests answered 429 by a rate limit.", "endpoint", "host", "condition")
	capacityRefused  = describe("capacity_refused_total", "Requests answered 503 by a capacity.", "endpoint", "host", "condition")
	ownErrors        = describe("own_errors_total", "Answers of 500 and above that the server gave in place of what is declared: a body that cannot be had, an internal error.", "endpoint", "host", "condition")
	socketMessages   = describe("websocket_messages_total", "Messages of WebSocket connections.", "endpoint", "host", "condition", "direction")
	serviceSeconds   = describe("service_seconds", "Time that the server took itself, without injected latency.", "endpoint", "host", "condition")
	injectedSeconds  = describe("injected_latency_seconds", "Time that latency was declared to take, and the wait for a place of a capacity.", "endpoint", "host", "condition")
	injectionSeconds = describe("injection_error_seconds", "How much later than declared answers were ready.", "endpoint", "host", "condition")
)

// What is told of the server.
var (
	unmatchedTotal  = describe("unmatched_requests_total", "Requests that no endpoint answered.", "status")
	unmatchedKinds  = describe("unmatched_distinct", "Different requests that no endpoint answered, since the journal was reset.")
	optionsTotal    = describe("options_requests_total", "OPTIONS requests that the server answered itself.", "status")
	malformedTotal  = describe("malformed_requests_total", "What never became a request, and was answered.", "status")
	connectionsOpen = describe("connections", "Connections that are open.")
	socketsOpen     = describe("websocket_connections", "WebSocket connections that are open.")
	inFlight        = describe("requests_in_flight", "Requests that are being served, those that wait for their latency among them.")
	startedSeconds  = describe("start_time_seconds", "When the server was started, in Unix time.")
	readyGauge      = describe("ready", "1 when requests are taken, 0 while the server stops.")
	buildInfo       = describe("build_info", "1, with the build that runs.", "version", "commit", "goversion")

	endpointsServed = describe("endpoints", "Endpoints that are served.")
	socketsServed   = describe("websockets", "WebSockets that are served.")
	appliedTotal    = describe("configurations_total", "Configurations that were to be served, by what became of them: served or refused.", "result")
	appliedFine     = describe("configuration_last_successful", "1 when the last configuration was served, 0 when it was refused and the one before goes on.")
	appliedSeconds  = describe("configuration_last_success_timestamp_seconds", "When a configuration was served last, in Unix time.")

	webhooksTotal    = describe("webhooks_total", "Webhooks, by what became of them.", "outcome")
	webhookRetries   = describe("webhook_retries_total", "Attempts to send a webhook after which another was to follow.")
	webhooksLost     = describe("webhook_store_lost_records_total", "Records of the webhook store, at least, that could not be read at the start.")
	webhooksPending  = describe("webhooks_pending", "Webhooks that are accepted and not finished.")
	webhooksDue      = describe("webhooks_due", "Webhooks that are due and wait for a worker.")
	webhooksInFlight = describe("webhooks_in_flight", "Webhooks that are being sent.")
	webhookLag       = describe("webhook_lag_seconds", "How much later than due first attempts began.")

	journalSeen    = describe("journal_requests_total", "Requests that the journal was given, by why they are kept.", "kept")
	journalDropped = describe("journal_dropped_total", "Requests that made room for others in the journal, by why they were kept.", "kept")
	journalBytes   = describe("journal_bytes", "Bytes that the requests of the journal take.")

	trustedGauge  = describe("timing_trusted", "1 when the timing can be trusted, 0 when it cannot: see timing_reason.")
	reasonGauge   = describe("timing_reason", "The figure of each reason why the timing cannot be trusted.", "code", "unit")
	reasonLimited = describe("timing_reason_threshold", "What the figure of the reason is above.", "code", "unit")
)

// collector reads what the server has counted, once for each scrape.
type collector struct {
	admin *Admin

	mu      sync.Mutex // guards what follows
	named   map[string]bool
	written map[[3]string]*rising
}

// Describe tells nothing: which series there are depends on what is served.
func (*collector) Describe(chan<- *prometheus.Desc) {}

// Collect reads everything.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	a := c.admin
	out := output{to: to}
	out.gauge(buildInfo, 1, a.opts.Build.Version, a.opts.Build.Commit, runtime.Version())
	ready := 0.0
	if a.unready() == "" {
		ready = 1
	}
	out.gauge(readyGauge, ready)
	counts, lines := c.read()
	for _, l := range lines {
		l.write(&out)
	}
	out.statuses(unmatchedTotal, counts.Unmatched)
	out.statuses(optionsTotal, counts.Options)
	out.statuses(malformedTotal, counts.Malformed)
	out.gauge(unmatchedKinds, float64(counts.Distinct))
	out.gauge(connectionsOpen, float64(counts.Connections))
	out.gauge(socketsOpen, float64(counts.WebSockets))
	out.gauge(inFlight, float64(counts.InFlight))
	out.gauge(startedSeconds, unixSeconds(counts.Started))
	a.writeConfiguration(&out)
	a.writeWebhooks(&out)
	a.writeJournal(&out)
	a.writeVerdict(&out)
}

func (a *Admin) writeConfiguration(out *output) {
	spec, applied := a.server.Spec(), a.server.Applied()
	out.gauge(endpointsServed, float64(len(spec.Endpoints)))
	out.gauge(socketsServed, float64(len(spec.WebSockets)))
	out.counter(appliedTotal, applied.Served, "served")
	out.counter(appliedTotal, applied.Refused, "refused")
	fine := 0.0
	if applied.Fine {
		fine = 1
	}
	out.gauge(appliedFine, fine)
	out.gauge(appliedSeconds, unixSeconds(applied.Last))
}

func (a *Admin) writeWebhooks(out *output) {
	stats := a.server.Webhooks()
	for _, o := range []struct {
		outcome string
		n       int64
	}{
		{"delivered", stats.Delivered}, {"dead", stats.Dead}, {"cancelled", stats.Cancelled},
		{"refused", stats.Refused}, {"abandoned", stats.Abandoned}, {"kept", stats.Kept},
	} {
		out.counter(webhooksTotal, uint64(o.n), o.outcome)
	}
	out.counter(webhookRetries, uint64(stats.Retried))
	out.counter(webhooksLost, uint64(stats.Lost))
	out.gauge(webhooksPending, float64(stats.Pending))
	out.gauge(webhooksDue, float64(stats.Due))
	out.gauge(webhooksInFlight, float64(stats.InFlight))
	lag := lengths{count: stats.Lag.Count, sum: uint64(stats.Lag.Sum), buckets: stats.Lag.Buckets(lagBuckets)}
	out.histogram(webhookLag, &lag, lagBuckets)
}

func (a *Admin) writeJournal(out *output) {
	tally := a.server.JournalStats()
	for _, kept := range []record.Kept{record.Sampled, record.Failed, record.Unmatched, record.Slow} {
		out.counter(journalSeen, tally.Seen[kept], string(kept))
		out.counter(journalDropped, tally.Dropped[kept], string(kept))
	}
	out.gauge(journalBytes, float64(tally.Bytes))
}

func (a *Admin) writeVerdict(out *output) {
	v, _ := a.sampler.Current()
	trusted := 0.0
	if v.Trusted {
		trusted = 1
	}
	out.gauge(trustedGauge, trusted)
	for _, r := range v.Reasons {
		out.gauge(reasonGauge, r.Number, r.Code, r.Unit)
		out.gauge(reasonLimited, r.Threshold, r.Code, r.Unit)
	}
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// line is what was counted of one endpoint, or of several.
type line struct {
	labels   [3]string // endpoint, host, condition
	statuses map[int]uint64
	faults   map[string]uint64
	counted  record.EndpointCounts // its plain numbers

	service, injected, late lengths
}

// lengths is a histogram of Prometheus.
type lengths struct {
	count   uint64
	sum     uint64   // nanoseconds
	buckets []uint64 // how many are no longer than each bound
}

func (l *lengths) add(m histogram.Snapshot, bounds []time.Duration) {
	if m.Count == 0 {
		return
	}
	if l.buckets == nil {
		l.buckets = make([]uint64, len(bounds))
	}
	l.count += m.Count
	l.sum += uint64(m.Sum)
	for i, n := range m.Buckets(bounds) {
		l.buckets[i] += n
	}
}

// read reads what was counted. One scrape does at a time: what one has read and another
// has overtaken would be taken for counters that fell.
func (c *collector) read() (record.Counts, map[[3]string]*line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.admin.server.Counts()
	return counts, c.lines(counts)
}

// lines, for who holds c.mu, are what was counted by endpoint. Endpoints that are alike are one. What was
// counted of an endpoint that a reload has removed is in none: had it moved into another
// series, that would have risen by requests of long ago.
func (c *collector) lines(counts record.Counts) map[[3]string]*line {
	lines := map[[3]string]*line{}
	add := func(labels [3]string, counted *record.EndpointCounts) {
		l := lines[labels]
		if l == nil {
			l = newLine(labels)
			lines[labels] = l
		}
		l.add(counted)
	}
	c.name(counts.Endpoints)
	for i := range counts.Endpoints {
		e := &counts.Endpoints[i]
		switch own, known := c.named[e.ID]; {
		case own:
			add([3]string{labelOf(e.Endpoint), labelOf(e.Host), labelOf(e.If)}, e)
		case known:
			add([3]string{otherEndpoints, "", ""}, e)
		}
	}
	c.rise(lines)
	return lines
}

// name decides which endpoints have series of their own. Once decided it stays so: what
// counted among the others and then by itself would be counted twice.
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

// labelOf is a text that may be in a label.
func labelOf(text string) string {
	if len(text) > labelLength {
		text = text[:labelLength] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

func (l *line) add(c *record.EndpointCounts) {
	for status, n := range c.Statuses {
		l.statuses[status] += n
	}
	for fault, n := range c.Faults {
		l.faults[fault] += n
	}
	l.counted.In += c.In
	l.counted.Out += c.Out
	l.counted.Limited += c.Limited
	l.counted.Refused += c.Refused
	l.counted.Broken += c.Broken
	l.counted.Received += c.Received
	l.counted.Sent += c.Sent
	l.service.add(c.Service, serviceBuckets)
	l.injected.add(c.Injected, injectedBuckets)
	l.late.add(c.InjectionError, serviceBuckets)
}

func newLine(labels [3]string) *line {
	return &line{labels: labels, statuses: map[int]uint64{}, faults: map[string]uint64{}}
}

// plain are the plain numbers that are written of a line.
func (l *line) plain() []*uint64 {
	c := &l.counted
	return []*uint64{&c.In, &c.Out, &c.Limited, &c.Refused, &c.Broken, &c.Received, &c.Sent}
}

func (l *line) write(out *output) {
	all := l.labels[:]
	with := func(more string) []string { return append(all[:len(all):len(all)], more) }
	for status, n := range l.statuses {
		out.counter(requestsTotal, n, with(strconv.Itoa(status))...)
	}
	for fault, n := range l.faults {
		out.counter(faultsTotal, n, with(fault)...)
	}
	out.counter(requestBytes, l.counted.In, all...)
	out.counter(responseBytes, l.counted.Out, all...)
	out.some(rateLimited, l.counted.Limited, all...)
	out.some(capacityRefused, l.counted.Refused, all...)
	out.some(ownErrors, l.counted.Broken, all...)
	out.some(socketMessages, l.counted.Received, with("received")...)
	out.some(socketMessages, l.counted.Sent, with("sent")...)
	out.histogram(serviceSeconds, &l.service, serviceBuckets, all...)
	out.histogram(injectedSeconds, &l.injected, injectedBuckets, all...)
	out.histogram(injectionSeconds, &l.late, serviceBuckets, all...)
}

// output is where metrics go to.
type output struct{ to chan<- prometheus.Metric }

func (o *output) put(m prometheus.Metric, err error) {
	if err != nil { // a defect: all texts are valid, and labels as many as are described
		m = prometheus.NewInvalidMetric(requestsTotal, errors.Join(err))
	}
	o.to <- m
}

func (o *output) counter(d *prometheus.Desc, n uint64, labels ...string) {
	o.put(prometheus.NewConstMetric(d, prometheus.CounterValue, float64(n), labels...))
}

// some is counter, but for what most endpoints have none of.
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

// histogram writes one that has something in it.
func (o *output) histogram(d *prometheus.Desc, l *lengths, bounds []time.Duration, labels ...string) {
	if l.count == 0 {
		return
	}
	buckets := make(map[float64]uint64, len(bounds))
	for i, bound := range bounds {
		buckets[bound.Seconds()] = l.buckets[i]
	}
	o.put(prometheus.NewConstHistogram(d, l.count, float64(l.sum)/1e9, buckets, labels...))
}
