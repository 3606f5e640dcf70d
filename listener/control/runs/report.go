package runs

import (
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"mockserver/config/item"
	"mockserver/internal/machine"
	"mockserver/internal/statistics"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/verdict"
)

// Report describes what happened in a run. Durations are in milliseconds unless stated otherwise.
type Report struct {
	Form    int        `json:"form" doc:"format of the report: 2"`
	ID      string     `json:"id" doc:"ID of the run"`
	Name    string     `json:"name" doc:"name of the run"`
	Running bool       `json:"running" doc:"whether the run is under way"`
	Begin   time.Time  `json:"begin" doc:"when it began"`
	End     *time.Time `json:"end" doc:"when it ended; null while it runs"`
	Final   bool       `json:"final" doc:"whether the report no longer changes: the webhooks of the run have ended, or were pending for longer than settle"`

	Verdict        RunVerdict         `json:"verdict" doc:"whether its timing can be trusted"`
	Program        Program            `json:"program" doc:"program that ran"`
	Machine        Machine            `json:"machine" doc:"machine that the program ran on"`
	Configuration  Configuration      `json:"configuration" doc:"configuration that was served"`
	Total          Whole              `json:"total" doc:"the whole run as one sample"`
	Arrivals       Arrivals           `json:"arrivals" doc:"what the load generator did: how requests arrived"`
	Dependences    Dependences        `json:"dependences,omitempty" doc:"figures of the whole run that depend on each other over time, by name; their intervals allow for it"`
	Endpoints      []EndpointReport   `json:"endpoints" doc:"endpoints that had requests, the busiest first, at most 500"`
	OtherEndpoints int                `json:"other_endpoints" doc:"how many more endpoints had requests"`
	Percentiles    Percentiles        `json:"percentiles" doc:"percentile curves of the run"`
	Timeline       []Point            `json:"timeline" doc:"the run over time, at most 1200 points"`
	Unmatched      []UnmatchedReport  `json:"unmatched" doc:"requests that no endpoint answered, the most frequent first, at most 100 kinds"`
	OtherUnmatched int                `json:"other_unmatched" doc:"how many more kinds there were"`
	State          []record.SetCounts `json:"state" doc:"the sets of rows, by name"`
	Replicas       []ReplicaReport    `json:"replicas,omitempty" doc:"for a run of a fleet: what came from which replica"`
}

const (
	// endpointsReported is the maximum number of endpoints in a report: the busiest ones.
	// unmatchedReported is the maximum number of kinds of unmatched requests: the most frequent
	// ones.
	endpointsReported = 500
	unmatchedReported = 100
)

// Entry returns the entry of the run in the list of runs.
func (r *Report) Entry() RunEntry {
	return RunEntry{
		ID: r.ID, Name: r.Name, Running: r.Running, Begin: r.Begin, End: r.End, Seconds: r.Total.Seconds,
		Requests: r.Total.Requests, Rate: r.Total.Rate, Verdict: &r.Verdict,
	}
}

// setsBetween returns the figures of the sets between two readings. A set that was replaced in between
// counts from 0.
func setsBetween(before, after []record.SetCounts) []record.SetCounts {
	list := []record.SetCounts{}
	for _, s := range after {
		var was record.SetCounts
		if i := slices.IndexFunc(before, func(b record.SetCounts) bool { return b.Name == s.Name }); i >= 0 {
			was = before[i]
		}
		list = append(list, s.After(&was))
	}
	return list
}

// Program identifies the program that ran.
type Program struct {
	Version string `json:"version" doc:"version of the program"`
	Commit  string `json:"commit,omitempty" doc:"commit that the program was built from"`
	Go      string `json:"go" doc:"version of Go"`
}

// Machine describes the machine that the program ran on.
type Machine struct {
	OS          string  `json:"os" doc:"operating system"`
	Arch        string  `json:"arch" doc:"architecture"`
	Kernel      string  `json:"kernel,omitempty" doc:"version of the kernel"`
	CPU         string  `json:"cpu,omitempty" doc:"model of the CPU"`
	CPUs        int     `json:"cpus" merge:"max" doc:"CPUs that the process may run on"`
	Procs       int     `json:"gomaxprocs" doc:"how many threads run Go code at once"`
	CPULimit    float64 `json:"cpu_limit" doc:"cores that the process may use"`
	MemoryLimit int64   `json:"memory_limit" doc:"soft memory limit of the Go runtime, in bytes; 0 for none"`
}

// thisMachine describes the machine, as far as the system provides the information.
func thisMachine(cpuLimit float64) Machine {
	return Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, Kernel: machine.Kernel(), CPU: machine.CPU(), CPUs: runtime.NumCPU(), Procs: runtime.GOMAXPROCS(0),
		CPULimit: cpuLimit, MemoryLimit: softMemoryLimit(),
	}
}

// softMemoryLimit returns the soft memory limit of the runtime, in bytes, or 0 if there is none.
func softMemoryLimit() int64 {
	if limit := debug.SetMemoryLimit(-1); limit < 1<<62 {
		return limit
	}
	return 0
}

// Configuration identifies the configuration that was served.
type Configuration struct {
	Hash      string `json:"hash" merge:"-" doc:"hash of the declarations, whichever files they are in, at the beginning of the run"`
	Changed   bool   `json:"changed" doc:"whether it changed during the run"`
	Endpoints int    `json:"endpoints" merge:"max" doc:"how many endpoints were served at the end"`
}

// EndpointReport contains the figures of one endpoint in a run.
type EndpointReport struct {
	ID             string            `json:"id" doc:"ID of the endpoint"`
	Endpoint       string            `json:"endpoint" doc:"method and path"`
	Host           string            `json:"host,omitempty" doc:"host that the endpoint is limited to"`
	If             string            `json:"if,omitempty" doc:"condition of the endpoint"`
	Requests       uint64            `json:"requests" doc:"requests that it answered"`
	Rate           float64           `json:"rate" doc:"requests a second"`
	Statuses       map[int]uint64    `json:"statuses" doc:"responses by status"`
	Failed         verdict.Failed    `json:"failed" doc:"requests that a client saw fail, each counted once"`
	Faults         map[string]uint64 `json:"faults" doc:"responses with a declared fault, by fault, without injected errors"`
	Limited        uint64            `json:"limited" doc:"requests answered with 429 by a rate limit"`
	Refused        uint64            `json:"refused" doc:"requests answered with 503 because the queue of a capacity was full"`
	In             uint64            `json:"bytes_in" doc:"bytes of request bodies"`
	Out            uint64            `json:"bytes_out" doc:"bytes of response bodies"`
	Total          Quantiles         `json:"total" doc:"the response time"`
	Own            Quantiles         `json:"own" doc:"the server's own time, excluding the injected latency, any delay beyond it, and the wait for upstreams"`
	Upstream       Quantiles         `json:"upstream" doc:"the wait for bodies from URLs, of requests that had to wait"`
	UpstreamWait   Quantiles         `json:"upstream_wait" doc:"the wait for a free connection to an upstream, of requests that had to wait"`
	Declared       *Declared         `json:"declared" doc:"percentiles of the latencies declared at the end, of the requests that have one; null if there is none, and for sequence-hold"`
	Injected       Quantiles         `json:"injected" doc:"the declared latency"`
	InjectionError Quantiles         `json:"injection_error" doc:"how much later than the declared latency the responses were ready, as clients see it"`
	StreamReport
	Declaration string      `json:"declaration,omitempty" doc:"hash of the declaration at the end of the run"`
	Dependences Dependences `json:"dependences,omitempty" doc:"figures that depend on each other over time, by name; their intervals allow for it"`
}

// StreamReport contains the figures of the streams of an endpoint in a run, also of those that were open at its begin or
// end.
type StreamReport struct {
	StreamItems    uint64            `json:"stream_items,omitempty" doc:"items of streams that were sent"`
	StreamEnds     map[string]uint64 `json:"stream_ends,omitempty" doc:"streams that ended, by how they ended"`
	Stretch        float64           `json:"stretch,omitempty" doc:"by which factor a shared rate made streams slower, on average"`
	DeclaredFirst  *Declared         `json:"declared_first,omitempty" doc:"percentiles of the declared time to the first item"`
	DeclaredGap    *Declared         `json:"declared_gap,omitempty" doc:"percentiles of the declared gap; missing if items have times of their own"`
	StreamFirst    Quantiles         `json:"stream_first,omitzero" doc:"the time to the first item, as delivered"`
	StreamGap      Quantiles         `json:"stream_gap,omitzero" doc:"the time from an item to the next one, as delivered"`
	StreamGapError Quantiles         `json:"stream_gap_error,omitzero" doc:"how late items were that follow the first one"`
	StreamBlocked  Quantiles         `json:"stream_blocked,omitzero" doc:"how long items waited for a client that did not read, of those that had to"`
}

// Streams returns the endpoints that had streams.
func (r *Report) Streams() []EndpointReport {
	return slices.DeleteFunc(slices.Clone(r.Endpoints), func(e EndpointReport) bool { return e.StreamItems == 0 && len(e.StreamEnds) == 0 })
}

// UnmatchedReport describes the requests with one method, host and path that matched no endpoint.
type UnmatchedReport struct {
	Method  string `json:"method" doc:"method of the requests"`
	Host    string `json:"host" doc:"host of the requests"`
	Path    string `json:"path" doc:"path of the requests"`
	Status  int    `json:"status" doc:"status of the last response"`
	Count   uint64 `json:"count" doc:"number of requests in the run"`
	Reason  string `json:"reason" doc:"why no endpoint matched the last one"`
	Nearest string `json:"nearest" doc:"the endpoint that is most similar to the last one; empty if none is similar"`
}

// ReplicaReport describes one replica's part in a fleet's run.
type ReplicaReport struct {
	Address     string    `json:"address" doc:"address of its admin API"`
	Begin       time.Time `json:"begin" doc:"when the run began there, by its own clock"`
	SkewMS      float64   `json:"skew_ms" doc:"how far its clock was ahead of the coordinator's"`
	SkewErrorMS float64   `json:"skew_error_ms" doc:"how far off that may be: half of the round trip"`
	Seconds     float64   `json:"seconds" doc:"seconds of the run that its numbers cover"`
	Lost        string    `json:"lost,omitempty" doc:"why its numbers end before the run; missing if they do not"`

	Trusted  bool              `json:"trusted" doc:"whether its timing can be trusted"`
	Decisive []string          `json:"decisive" doc:"codes of the reasons for which its timing cannot be trusted"`
	Requests uint64            `json:"requests" doc:"requests that it answered"`
	Rate     float64           `json:"rate" doc:"requests a second"`
	Share    float64           `json:"share" doc:"its share of all requests, 0 to 1"`
	TotalP50 statistics.Figure `json:"total_p50" doc:"median of the response time"`
	TotalP99 statistics.Figure `json:"total_p99" doc:"99th percentile of the response time"`
	OwnP99   statistics.Figure `json:"own_p99" doc:"99th percentile of its own time"`
	CPU      *float64          `json:"cpu" doc:"cores that it kept busy; null if the system does not report it"`
	CPULimit float64           `json:"cpu_limit" doc:"cores that it may use"`
	Version  string            `json:"version" doc:"version of the program"`
	Hash     string            `json:"hash" doc:"hash of its configuration, at the beginning of the run"`
}

// Declared contains percentiles of a declared latency, in milliseconds.
type Declared struct {
	P50  float64 `json:"p50" doc:"median"`
	P90  float64 `json:"p90" doc:"90th percentile"`
	P95  float64 `json:"p95" doc:"95th percentile"`
	P99  float64 `json:"p99" doc:"99th percentile"`
	P999 float64 `json:"p99_9" doc:"99.9th percentile"`
	// Outside is set in reports.
	Outside []string `json:"outside,omitempty" doc:"the percentiles that lie outside the interval of those that were delivered, which injected has"`
}

// declaredBy returns the percentiles of a distribution that an endpoint declares, or nil if it has none.
func declaredBy(e *item.Endpoint, lengths func(*item.Endpoint) func(part float64) time.Duration) *Declared {
	if e == nil {
		return nil
	}
	length := lengths(e)
	if length == nil {
		return nil
	}
	at := func(part float64) float64 { return verdict.Milliseconds(length(part)) }
	return &Declared{P50: at(0.5), P90: at(0.9), P95: at(0.95), P99: at(0.99), P999: at(0.999)}
}

// compareDeclared names the declared percentiles that lie outside the interval of those delivered. The
// injected latency is recorded with an error of at most 0.4 %.
func (e *EndpointReport) compareDeclared() {
	if e.Declared == nil {
		return
	}
	d := *e.Declared
	for i, declared := range [...]float64{d.P50, d.P90, d.P95, d.P99, d.P999} {
		if f := e.Injected.figures()[i]; f.Value != nil && (declared < *f.Low*0.996 || declared > *f.High*1.004) {
			d.Outside = append(d.Outside, percentiles[i].name)
		}
	}
	e.Declared = &d
}

func endpointReport(c *record.EndpointCounts, seconds float64, d Dependences) EndpointReport {
	return EndpointReport{
		ID: c.ID, Endpoint: c.Endpoint, Host: c.Host, If: c.If, Requests: c.Requests, Rate: verdict.PerSecond(c.Requests, seconds), Statuses: c.Statuses, Faults: c.DeclaredFaults(),
		Failed: verdict.FailedOf(c), Limited: c.Limited, Refused: c.Refused, In: c.In, Out: c.Out,
		Total: quantilesOf(c.Total, "total", d), Own: quantilesOf(c.Service, "own", d), Upstream: quantilesOf(c.Upstream, "upstream", d), UpstreamWait: quantilesOf(c.UpstreamWait, "upstream_wait", d),
		Injected: quantilesOf(c.Injected, "injected", d), InjectionError: quantilesOf(c.InjectionError, "injection_error", d), Dependences: d,
		StreamReport: StreamReport{
			StreamItems: c.Items, StreamEnds: c.Ends, Stretch: c.Stretch(),
			StreamFirst: quantilesOf(c.First, "stream_first", d), StreamGap: quantilesOf(c.Gap, "stream_gap", d),
			StreamGapError: quantilesOf(c.GapError, "stream_gap_error", d), StreamBlocked: quantilesOf(c.Blocked, "stream_blocked", d),
		},
	}
}
