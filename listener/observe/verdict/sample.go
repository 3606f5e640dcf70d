package verdict

import (
	"reflect"
	"strings"
	"time"

	"mockserver/dispatcher"
	"mockserver/internal/histogram"
	"mockserver/internal/statistics"
	"mockserver/listener/observe/record"
	"mockserver/matcher"
)

// Every is the time between two samples.
const Every = time.Second

// Sample contains what happened during a period: a second, the window of the verdict, or a whole
// run. Durations are in milliseconds. Figures that the system does not report are nil.
//
// The tag merge says how the figures of several replicas become one: their "max", or "-" for those
// that are calculated from others. All other figures are added up.
type Sample struct {
	Time    time.Time `json:"time" merge:"max" doc:"end of the sample"`
	Seconds float64   `json:"seconds" merge:"max" doc:"length of the sample"`

	Requests    uint64    `json:"requests" doc:"requests that were answered"`
	Messages    uint64    `json:"messages" doc:"messages of WebSockets, received and sent"`
	StreamItems uint64    `json:"stream_items" doc:"items of streams that were sent"`
	Streams     uint64    `json:"streams" doc:"streams open at its end"`
	Rate        float64   `json:"rate" merge:"-" doc:"requests a second"`
	Failed      Failed    `json:"failed" doc:"requests that a client saw fail, each counted once"`
	Protocols   Protocols `json:"protocols" doc:"requests by protocol"`
	Unmatched   uint64    `json:"unmatched" doc:"requests that no endpoint answered"`
	Faults      uint64    `json:"faults" doc:"responses with a declared fault, without injected errors"`
	Limited     uint64    `json:"limited" doc:"requests answered with 429 by a rate limit"`
	Refused     uint64    `json:"refused" doc:"requests answered with 503 because the queue of a capacity was full"`
	In          uint64    `json:"bytes_in" doc:"bytes of request bodies"`
	Out         uint64    `json:"bytes_out" doc:"bytes of response bodies"`

	Arrived
	AcceptFailures uint64 `json:"accept_failures" doc:"connections that could not be accepted"`
	TLS
	Connections int   `json:"connections" doc:"connections open at its end"`
	InFlight    int64 `json:"in_flight" doc:"requests in flight at its end"`
	Webhooks
	RecordingDropped uint64 `json:"recording_dropped" doc:"exchanges with upstreams that should have been recorded and were not"`
	StateGivenUp     int64  `json:"state_given_up" doc:"changes of rows dropped for lack of room"`

	Times[Spread]
	// The fields below are set only in samples that are judged.
	timings    []timing
	times      Times[histogram.Snapshot] // what the Spreads summarize
	dependence statistics.Dependence     // of the figures of the probe
	opening    float64                   // share of requests that came over a new connection

	Load
}

// TLS contains the handshakes of the port.
type TLS struct {
	Handshakes     uint64 `json:"tls_handshakes" doc:"TLS handshakes, including failed ones"`
	FullHandshakes uint64 `json:"tls_handshakes_full" doc:"TLS handshakes that did not resume a session"`
}

// Webhooks contains what happened to webhooks.
type Webhooks struct {
	WebhooksStarted int64   `json:"webhooks_started" doc:"webhooks that requests triggered"`
	WebhooksSent    int64   `json:"webhooks_sent" doc:"webhooks that were delivered"`
	WebhooksDead    int64   `json:"webhooks_dead" doc:"webhooks that were given up"`
	WebhooksRefused int64   `json:"webhooks_refused" doc:"webhooks that were not accepted"`
	WebhooksPending int64   `json:"webhooks_pending" doc:"webhooks pending at its end"`
	WebhooksDue     int64   `json:"webhooks_due" doc:"webhooks that wait for a worker, for the first attempt or a later one"`
	WebhooksOldest  float64 `json:"webhooks_oldest" merge:"max" doc:"how long the webhook that waits longest for a worker has been due"`
}

// Arrived contains what the load generator did: how requests arrived.
type Arrived struct {
	Arrivals    uint64  `json:"arrivals" doc:"requests that arrived"`
	ArrivalRate float64 `json:"arrival_rate" merge:"-" doc:"requests that arrived a second"`
	Openers     uint64  `json:"openers" doc:"requests that were the first of their connection"`
	Overlapping uint64  `json:"overlapping" doc:"requests that arrived while a response of their connection was under way"`
	Stops       uint64  `json:"stops" doc:"how often requests stopped arriving for 40 ms or longer although 20 or more were expected, while the probe was on time"`
	LongestStop float64 `json:"longest_stop" merge:"max" doc:"longest of these stops"`
}

// Times contains the distributions of durations in a sample, each in the form T.
type Times[T any] struct {
	Total          T `json:"total" title:"Response time" doc:"the response time"`
	Own            T `json:"own" title:"Own time" doc:"the server's own time, excluding the injected latency, any delay beyond it, and the wait for upstreams"`
	Upstream       T `json:"upstream" title:"Upstream" doc:"the wait for bodies from URLs and for upstreams, of requests that had to wait"`
	UpstreamWait   T `json:"upstream_wait" title:"Wait for an upstream" doc:"the wait for a free connection to an upstream, of requests that had to wait"`
	Injected       T `json:"injected" title:"Injected latency" doc:"the declared latency"`
	InjectionError T `json:"injection_error" title:"Injection error" doc:"how much later than the declared latency the responses were ready, as clients see it"`
	StreamFirst    T `json:"stream_first" title:"Time to the first item" doc:"the time to the first item of a stream, as delivered"`
	StreamGap      T `json:"stream_gap" title:"Gaps of streams" doc:"the time from an item of a stream to the next one, as delivered"`
	StreamGapError T `json:"stream_gap_error" title:"Lateness of items" doc:"how late items of streams were that follow the first one"`
	StreamBlocked  T `json:"stream_blocked" title:"Wait for readers" doc:"how long items waited for a client that did not read, of those that had to"`
	WebhookLag     T `json:"webhook_lag" title:"Webhook lag" doc:"how late first attempts of webhooks were"`
	Probe          T `json:"probe" title:"Probe" doc:"how late a goroutine that was due at a random time ran"`
	Echo           T `json:"echo" title:"Echo" doc:"how long the server took to connect to itself and send a byte there and back"`
	IdleTime       T `json:"idle" title:"Idle time of connections" doc:"how long connections were idle between a response and the next request"`
	ScheduleError  T `json:"schedule_error" title:"Schedule error" doc:"of a run with a schedule: how far requests arrived from when they were due or, for the process poisson, how long the requests of 10 ms took to arrive"`
	Scheduler      T `json:"scheduler" title:"Scheduler latency" doc:"how long goroutines that could run waited"`
	Pauses         T `json:"pauses" title:"Pauses of the garbage collector" doc:"pauses of the garbage collector"`
}

// All returns the distributions in the order of the fields.
func (t *Times[T]) All() [17]*T {
	return [...]*T{
		&t.Total, &t.Own, &t.Upstream, &t.UpstreamWait, &t.Injected, &t.InjectionError, &t.StreamFirst, &t.StreamGap, &t.StreamGapError, &t.StreamBlocked, &t.WebhookLag,
		&t.Probe, &t.Echo, &t.IdleTime, &t.ScheduleError, &t.Scheduler, &t.Pauses,
	}
}

// TimesAs returns distributions in another form.
func TimesAs[A, B any](t *Times[A], as func(A) B) (all Times[B]) {
	into := all.All()
	for i, one := range t.All() {
		*into[i] = as(*one)
	}
	return all
}

// TimesOf returns the distributions of the requests to an endpoint, or of all requests.
func TimesOf(c *record.EndpointCounts) Times[histogram.Snapshot] {
	return Times[histogram.Snapshot]{
		Total: c.Total, Own: c.Service, Upstream: c.Upstream, UpstreamWait: c.UpstreamWait, Injected: c.Injected, InjectionError: c.InjectionError,
		StreamFirst: c.First, StreamGap: c.Gap, StreamGapError: c.GapError, StreamBlocked: c.Blocked,
	}
}

// SumOf adds up the distributions of several samples.
func SumOf(parts []*Times[histogram.Snapshot]) (sum Times[histogram.Snapshot]) {
	for i, into := range sum.All() {
		*into = histogram.Sum(func(yield func(histogram.Snapshot) bool) {
			for _, t := range parts {
				if l := *t.All()[i]; l.Count > 0 && !yield(l) {
					return
				}
			}
		})
	}
	return sum
}

// Protocols contains the number of requests by protocol.
type Protocols struct {
	HTTP11 uint64 `json:"http/1.1" doc:"HTTP/1.1"`
	HTTP10 uint64 `json:"http/1.0" doc:"HTTP/1.0"`
	H2     uint64 `json:"h2" doc:"HTTP/2"`
}

// protocolsBetween returns the number of requests between two readings, by protocol.
func protocolsBetween(a, b *record.Counts) Protocols {
	rose := func(p matcher.Protocol) uint64 { return b.Protocols[p] - min(a.Protocols[p], b.Protocols[p]) }
	return Protocols{HTTP11: rose(matcher.HTTP11), HTTP10: rose(matcher.HTTP10), H2: rose(matcher.HTTP2)}
}

// Load is the load of the process and its machine during a period.
type Load struct {
	CPU         *float64 `json:"cpu" doc:"cores that the process kept busy; null if the system does not report it, as for the fields that follow"`
	CPULimit    float64  `json:"cpu_limit" doc:"cores that the process may use, by its quota and GOMAXPROCS"`
	CPUWait     *float64 `json:"cpu_wait" merge:"max" doc:"mean wait of its threads for a core"`
	Throttled   *float64 `json:"throttled" doc:"time that a quota kept threads from running, summed over the CPUs"`
	MachineCPU  *float64 `json:"machine_cpu" merge:"max" doc:"share of the machine that was busy, 0 to 1"`
	Steal       *float64 `json:"steal" merge:"max" doc:"share of the machine that the hypervisor gave to others"`
	ListenDrops *float64 `json:"listen_drops" merge:"max" doc:"connections that the system dropped in its network namespace because too many waited to be accepted"`

	Memory          uint64 `json:"memory" doc:"resident memory in bytes; if unknown, what the Go runtime has taken from the system"`
	Descriptors     int    `json:"descriptors" doc:"open file descriptors; 0 if unknown"`
	DescriptorLimit uint64 `json:"descriptor_limit" doc:"limit of open file descriptors; 0 if there is none or it is unknown"`
}

// Merge adds the figures of another replica, according to their tags. Of texts it lists those that differ.
func Merge[T any](into, from *T) { merge(reflect.ValueOf(into).Elem(), reflect.ValueOf(from).Elem()) }

func merge(into, from reflect.Value) {
	for i := range into.NumField() {
		f, how := into.Type().Field(i), into.Type().Field(i).Tag.Get("merge")
		if !f.IsExported() || how == "-" {
			continue
		}
		a, b := into.Field(i), from.Field(i)
		switch x := a.Addr().Interface().(type) {
		case *time.Time:
			if t, _ := b.Interface().(time.Time); t.After(*x) {
				*x = t
			}
		case *uint64:
			*x += b.Uint()
		case *int64:
			*x += b.Int()
		case *int:
			*x = int(combine(float64(*x), float64(b.Int()), how))
		case *bool:
			*x = *x || b.Bool()
		case *string:
			if !strings.Contains(", "+*x+", ", ", "+b.String()+", ") {
				*x += ", " + b.String()
			}
		case *float64:
			*x = combine(*x, b.Float(), how)
		case **float64:
			y, _ := b.Interface().(*float64)
			*x = Combine(*x, y, how)
		case *Times[Spread]: // they are calculated from distributions that are added up exactly
		default: // figures in a struct of their own
			merge(a, b)
		}
	}
}

func combine(a, b float64, how string) float64 {
	if how == "max" {
		return max(a, b)
	}
	return a + b
}

// Combine returns the sum of two figures that may be unknown or, if how is "max", the larger one. A sum
// is then unknown as well; the maximum is that of the others.
func Combine(a, b *float64, how string) *float64 {
	switch {
	case a != nil && b != nil:
		return new(combine(*a, *b, how))
	case how == "max" && a == nil:
		return b
	case how == "max":
		return a
	}
	return nil
}

// Of replaces the figures of webhooks by those of a tally: of the webhooks that the requests of the
// sample triggered, whenever they ended.
func (s *Sample) Of(t dispatcher.Counts) {
	s.WebhooksStarted, s.WebhooksSent, s.WebhooksDead, s.WebhooksPending = t.Accepted, t.Delivered, t.Dead, t.Pending
	s.WebhooksRefused = t.Refused
	s.times.WebhookLag = t.Lag
	s.WebhookLag = SpreadOf(t.Lag)
}

// Alone returns the sample without the data that its verdict was based on, which takes memory for
// each endpoint.
func (s Sample) Alone() Sample {
	s.timings, s.times = nil, Times[histogram.Snapshot]{}
	return s
}

// Depends says how much what the probe measured depends on itself over time.
func (s *Sample) Depends(d statistics.Dependence) { s.dependence = d }

// Idle reports whether nothing was timed: no request, no message and no webhook.
func (s *Sample) Idle() bool {
	return s.Requests == 0 && s.Messages == 0 && s.InFlight == 0 && s.WebhookLag.Count == 0 && s.WebhooksRefused == 0
}
