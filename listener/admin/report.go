package admin

import (
	"bufio"
	"cmp"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"mockserver/listener"
)

// Report is what happened in a run. Times are in milliseconds unless they say otherwise.
type Report struct {
	Form    int        `json:"form"` // of the report: 1. Fields may be added to it
	ID      string     `json:"id"`
	Name    string     `json:"name"`
	Running bool       `json:"running"` // it is a report of a run that has not ended
	Begin   time.Time  `json:"begin"`
	End     *time.Time `json:"end"` // nil while it runs

	Verdict       RunVerdict       `json:"verdict"`
	Program       Program          `json:"program"`
	Machine       Machine          `json:"machine"`
	Configuration Configuration    `json:"configuration"`
	Total         Sample           `json:"total"` // the whole run as one sample
	Endpoints     []EndpointReport `json:"endpoints"`
	// OtherEndpoints is how many endpoints had requests, and fewer than those listed.
	OtherEndpoints int               `json:"other_endpoints"`
	Histograms     Histograms        `json:"histograms"`
	Percentiles    Percentiles       `json:"percentiles"`
	Timeline       []Point           `json:"timeline"`
	Unmatched      []UnmatchedReport `json:"unmatched"` // the most frequent
	OtherUnmatched int               `json:"other_unmatched"`
}

// Program is which program ran.
type Program struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
}

// Machine is what it ran on.
type Machine struct {
	OS          string  `json:"os"`
	Arch        string  `json:"arch"`
	Kernel      string  `json:"kernel,omitempty"`
	CPU         string  `json:"cpu,omitempty"` // its model
	CPUs        int     `json:"cpus"`          // that the process may run on
	Procs       int     `json:"gomaxprocs"`
	CPULimit    float64 `json:"cpu_limit"`    // cores
	MemoryLimit int64   `json:"memory_limit"` // bytes, the soft limit of the runtime; 0 is none
}

// Configuration is what was served.
type Configuration struct {
	// Hash is of what is declared, wherever it stands in which files, and not of what
	// files for bodies hold. It is of the beginning of the run.
	Hash      string `json:"hash"`
	Changed   bool   `json:"changed"` // during the run
	Endpoints int    `json:"endpoints"`
}

// EndpointReport is one endpoint in a run.
type EndpointReport struct {
	ID       string         `json:"id"`
	Endpoint string         `json:"endpoint"`
	Host     string         `json:"host,omitempty"`
	If       string         `json:"if,omitempty"`
	Requests uint64         `json:"requests"`
	Rate     float64        `json:"rate"`
	Statuses map[int]uint64 `json:"statuses"`
	ErrorKinds
	Faults         map[string]uint64 `json:"faults"`
	Limited        uint64            `json:"limited"`
	Refused        uint64            `json:"refused"`
	In             uint64            `json:"bytes_in"`
	Out            uint64            `json:"bytes_out"`
	Own            Spread            `json:"own"`
	Injected       Spread            `json:"injected"`
	InjectionError Spread            `json:"injection_error"`
}

// Histograms are the distributions of a run.
type Histograms struct {
	Own            []Bucket `json:"own"`
	Injected       []Bucket `json:"injected"`
	InjectionError []Bucket `json:"injection_error"`
	WebhookLag     []Bucket `json:"webhook_lag"`
}

// UnmatchedReport is a kind of requests that no endpoint answered.
type UnmatchedReport struct {
	Method string `json:"method"`
	Host   string `json:"host"`
	Path   string `json:"path"`
	Status int    `json:"status"`
	Count  uint64 `json:"count"` // in the run; more when so many kinds came that some were forgotten meanwhile
	Reason string `json:"reason"`
}

// made is what a report needs beside its run.
type made struct {
	program Program
	spec    string
	misses  []listener.Miss
	unknown []string
}

// reportAt is the report of a run up to a reading.
func (r *run) reportAt(end *reading, m made) *Report {
	total := between(r.first, end)
	total.Stall = r.stall
	report := &Report{
		Form: 1, ID: r.id, Name: r.name, Running: true, Begin: r.begin.UTC(),
		Verdict: r.verdict(m.unknown, total.idle()), Program: m.program, Machine: thisMachine(total.CPULimit),
		Configuration: Configuration{Hash: r.spec, Changed: r.spec != m.spec, Endpoints: len(end.counts.Endpoints)},
		Total:         total, Endpoints: []EndpointReport{}, Timeline: thinned(append([]Point{}, r.points...), pointsKept),
	}
	all := busiestOf(&r.first.counts, &end.counts, 0)
	for _, c := range all[:min(len(all), endpointsReported)] {
		report.Endpoints = append(report.Endpoints, endpointReport(&c, total.Seconds))
	}
	report.OtherEndpoints = len(all) - len(report.Endpoints)
	lag := end.webhooks.Lag.Since(&r.first.webhooks.Lag)
	own, injected, late := end.service.Since(r.first.service), end.injected.Since(r.first.injected), end.late.Since(r.first.late)
	report.Histograms = Histograms{
		Own: lengthBuckets(own), Injected: lengthBuckets(injected), InjectionError: lengthBuckets(late),
		WebhookLag: bucketsOf(lag.Count, lag.Buckets(bucketEnds())),
	}
	report.Percentiles = Percentiles{
		Own: lengthPercentiles(own), Injected: lengthPercentiles(injected), InjectionError: lengthPercentiles(late),
		WebhookLag: percentilesOf(lag.Count, lag.Max, &lag),
	}
	report.Unmatched, report.OtherUnmatched = r.unmatched(m.misses)
	return report
}

func endpointReport(c *listener.Counted, seconds float64) EndpointReport {
	e := EndpointReport{
		ID: c.ID, Endpoint: c.Endpoint, Host: c.Host, If: c.If, Requests: c.Requests, Statuses: c.Statuses, Faults: c.Faults,
		ErrorKinds: errorKindsOf(c), Limited: c.Limited, Refused: c.Refused, In: c.In, Out: c.Out,
		Own: spreadOfLengths(c.Service), Injected: spreadOfLengths(c.Injected), InjectionError: spreadOfLengths(c.InjectionError),
	}
	if seconds > 0 {
		e.Rate = float64(c.Requests) / seconds
	}
	return e
}

// unmatched are the requests of the run that no endpoint answered, the most frequent first.
func (r *run) unmatched(misses []listener.Miss) (list []UnmatchedReport, others int) {
	list = []UnmatchedReport{}
	for _, m := range misses {
		before := r.misses[kindOf(m)]
		if m.Count < before {
			before = 0 // it was forgotten meanwhile
		}
		if n := m.Count - before; n > 0 {
			list = append(list, UnmatchedReport{m.Method, m.Host, m.Path, m.Status, n, m.Reason})
		}
	}
	slices.SortStableFunc(list, func(a, b UnmatchedReport) int { return cmp.Compare(b.Count, a.Count) })
	all := len(list)
	list = list[:min(all, unmatchedReported)]
	return list, all - len(list)
}

func lengthPercentiles(l listener.Lengths) []Percentile { return percentilesOf(l.Count, l.Max, l) }

func lengthBuckets(l listener.Lengths) []Bucket { return bucketsOf(l.Count, l.Buckets(bucketEnds())) }

// bucketsOf are buckets of counts that are sums of all before. The last has no end.
func bucketsOf(all uint64, sums []uint64) []Bucket {
	buckets := make([]Bucket, 0, len(sums)+1)
	var before uint64
	for i, end := range bucketEnds() {
		buckets = append(buckets, Bucket{End: inMS(end), Count: sums[i] - before})
		before = sums[i]
	}
	return append(buckets, Bucket{Count: all - before})
}

// thisMachine looks at the machine as far as the system tells.
func thisMachine(cpuLimit float64) Machine {
	m := Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Procs: runtime.GOMAXPROCS(0),
		CPULimit: cpuLimit, MemoryLimit: softMemoryLimit(),
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		lines := bufio.NewScanner(f)
		for m.CPU == "" && lines.Scan() {
			if name, value, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(name) == "model name" {
				m.CPU = strings.TrimSpace(value)
			}
		}
		_ = f.Close() // it was read
	}
	return m
}

// softMemoryLimit is that of the runtime, in bytes; 0 is none.
func softMemoryLimit() int64 {
	if limit := debug.SetMemoryLimit(-1); limit < 1<<62 {
		return limit
	}
	return 0
}
