package runs

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"mockserver/internal/list"
	"mockserver/internal/wording"
	"mockserver/listener/observe/verdict"
)

// Part is what one replica contributes to the run of a fleet.
type Part struct {
	Address string
	Totals  *Totals // nil if they were never read
	// Skew is how far the replica's clock is ahead of the coordinator's, with an error of at most
	// SkewError.
	Skew, SkewError time.Duration
	// Lost says why Totals end before the end of the run; "" if they do not.
	Lost string
	// Changed reports whether the replica's configuration changed during the run.
	Changed bool
}

// Fleet is the run of a fleet.
type Fleet struct {
	ID, Name string
	Begin    time.Time
	End      *time.Time // nil while it runs
	Final    bool       // whether the totals no longer change
	Now      time.Time  // the time up to which the totals reach; *End if End is not nil
	Parts    []Part
	Joined   []string // addresses that were added during the run
}

// The codes of the reasons that only a fleet has.
const (
	replicaLost          = "replica-lost"
	replicaJoined        = "replica-joined"
	configurationDiffers = "configuration-differs"
	uneven               = "uneven"
)

// unevenAbove is the limit for the requests of the busiest replica, as a multiple of the mean of
// all replicas.
const unevenAbove = 1.5

// Report returns the report of the run. It is empty if the totals of no replica were read.
func (f *Fleet) Report() *Report {
	var known []*Totals
	for i := range f.Parts {
		if t := f.Parts[i].Totals; t != nil {
			known = append(known, t)
		}
	}
	if len(known) == 0 {
		known = []*Totals{{Sample: verdict.Sample{Time: f.Now}}}
	}
	r := reportOf(known)
	r.ID, r.Name, r.Running, r.Begin, r.End, r.Final = f.ID, f.Name, f.End == nil, f.Begin.UTC(), f.End, f.Final
	r.Replicas = []ReplicaReport{}
	for i := range f.Parts {
		r.Replicas = append(r.Replicas, f.Parts[i].report(r.Total.Requests))
	}
	r.Verdict = f.verdict(r)
	if len(f.Parts) == 1 && len(known) == 1 && len(f.reasons(r)) == 0 && f.Parts[0].Totals != nil { // it is not a fleet
		r.Verdict, r.Replicas = f.Parts[0].Totals.Verdict, nil
	}
	r.Configuration.Changed = r.Configuration.Changed || slices.Contains(r.Verdict.Decisive, configurationDiffers)
	return r
}

func (p *Part) report(all uint64) ReplicaReport {
	one := ReplicaReport{Address: p.Address, Lost: p.Lost, Decisive: []string{}, SkewMS: verdict.Milliseconds(p.Skew), SkewErrorMS: verdict.Milliseconds(p.SkewError)}
	t := p.Totals
	if t == nil {
		return one
	}
	s := &t.Sample
	one.Begin, one.Seconds, one.Trusted, one.Decisive = t.Begin, s.Seconds, t.Verdict.Trusted, t.Verdict.Decisive
	one.Requests, one.Rate = s.Requests, s.Rate
	total, own := quantilesOf(t.Total, "total", t.Dependences), quantilesOf(t.Own, "own", t.Dependences)
	one.TotalP50, one.TotalP99, one.OwnP99 = total.P50, total.P99, own.P99
	one.CPU, one.CPULimit, one.Version, one.Hash = s.CPU, s.CPULimit, t.Program.Version, t.Configuration.Hash
	if all > 0 {
		one.Share = float64(s.Requests) / float64(all)
	}
	return one
}

// verdict judges the run. The run is trusted if every replica is trusted for the whole run, if the
// replicas and their common configuration stayed the same, and if no replica had many more requests
// than the others.
func (f *Fleet) verdict(r *Report) RunVerdict {
	v := RunVerdict{Idle: r.Total.Idle(), Decisive: []string{}, Reasons: f.reasons(r), Explanations: []RunCause{}, Changes: []Change{}, Unknown: []string{}}
	for _, c := range v.Reasons {
		v.Decisive = append(v.Decisive, c.Code)
	}
	widest := -1.0
	for i := range f.Parts {
		p := &f.Parts[i]
		if p.Totals == nil {
			continue
		}
		own := &p.Totals.Verdict
		v.Untrusted, v.Judged = max(v.Untrusted, own.Untrusted), max(v.Judged, own.Judged)
		v.Decisive = append(v.Decisive, own.Decisive...)
		v.Unknown = append(v.Unknown, own.Unknown...)
		v.Reasons, v.Explanations = append(v.Reasons, ofReplica(own.Reasons, p.Address)...), append(v.Explanations, ofReplica(own.Explanations, p.Address)...)
		for _, c := range own.Changes {
			c.Replica = p.Address
			v.Changes = append(v.Changes, c)
		}
		if own.Late != nil && (v.Late == nil || own.Late.Share > v.Late.Share) {
			v.Late = new(*own.Late)
			v.Late.Replica = p.Address
		}
		if added := own.Added; added != nil && (v.Added == nil || added.High != nil && *added.High > widest) {
			if v.Size, v.Added = p.Address+": "+own.Size, added; added.High != nil {
				widest = *added.High
			}
		}
	}
	v.Decisive, v.Unknown = once(v.Decisive), once(v.Unknown)
	slices.SortStableFunc(v.Changes, func(a, b Change) int { return cmp.Compare(a.At, b.At) })
	v.Changes = v.Changes[:min(len(v.Changes), changesKept)]
	switch v.Trusted = len(v.Decisive) == 0; {
	case !v.Trusted:
		v.Text = fmt.Sprintf("The timing of this run cannot be trusted: see %s.", strings.Join(v.Decisive, ", "))
	case v.Idle:
		v.Text = nothingTimed
	case v.Untrusted > 0:
		v.Text = fmt.Sprintf("The timing of this run can be trusted as a whole on all of %s, but not in each second.", wording.Count(len(f.Parts), "replica"))
	default:
		v.Text = fmt.Sprintf("The timing of this run can be trusted, on all of %s.", wording.Count(len(f.Parts), "replica"))
	}
	return v
}

// ofReplica returns causes with the address of the replica to which they apply.
func ofReplica(all []RunCause, address string) []RunCause {
	return list.Map(all, func(c RunCause) RunCause {
		c.Replica = address
		return c
	})
}

// once returns the texts without repetitions, in their order.
func once(texts []string) []string {
	list := []string{}
	for _, text := range texts {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// reasons returns the reasons that only a fleet has.
func (f *Fleet) reasons(r *Report) []RunCause {
	list := []RunCause{}
	add := func(code, replica string, seconds float64, format string, args ...any) {
		list = append(list, RunCause{Code: code, Replica: replica, Text: fmt.Sprintf(format, args...), Number: 1, Unit: verdict.Count, Seconds: max(seconds, 0)})
	}
	length := f.Now.Sub(f.Begin).Seconds()
	hash := ""
	for i := range f.Parts {
		p := &f.Parts[i]
		seconds := 0.0
		if p.Totals != nil {
			seconds = p.Totals.Sample.Seconds
			hash = cmp.Or(hash, p.Totals.Configuration.Hash)
		}
		switch {
		case p.Lost != "" && p.Totals == nil:
			add(replicaLost, p.Address, length, "the replica was lost, and nothing is known about it: %s", p.Lost)
		case p.Lost != "":
			add(replicaLost, p.Address, length-seconds, "the replica was lost, its numbers are of the first %s seconds: %s", verdict.Short(seconds), p.Lost)
		}
	}
	for _, address := range f.Joined {
		add(replicaJoined, address, 0, "the replica was added during the run: its requests are not in the report")
	}
	for i := range f.Parts {
		switch p := &f.Parts[i]; {
		case p.Totals != nil && p.Totals.Configuration.Hash != hash:
			add(configurationDiffers, p.Address, length, "the replica served a different configuration from %s", f.Parts[0].Address)
		case p.Changed || p.Totals != nil && p.Totals.Configuration.Changed:
			add(configurationDiffers, p.Address, 0, "the configuration of the replica changed during the run")
		}
	}
	if c := f.uneven(r); c != nil {
		list = append(list, *c)
	}
	return list
}

// uneven returns a reason if one replica certainly had many more requests than the mean. Among few
// requests, a difference may be chance.
func (f *Fleet) uneven(r *Report) *RunCause {
	mean := float64(r.Total.Requests) / float64(max(len(f.Parts), 1))
	busiest := slices.MaxFunc(append([]ReplicaReport{{}}, r.Replicas...), func(a, b ReplicaReport) int { return cmp.Compare(a.Requests, b.Requests) })
	if most := unevenAbove * mean; float64(busiest.Requests) <= most+3*math.Sqrt(most)+1 {
		return nil
	}
	ratio := float64(busiest.Requests) / mean
	return &RunCause{
		Code: uneven, Replica: busiest.Address, Number: ratio, Threshold: unevenAbove, Unit: "ratio", Seconds: r.Total.Seconds,
		Text: fmt.Sprintf("the replica had %s times as many requests as the mean; expected at most %s", verdict.Short(ratio), verdict.Short(unevenAbove)),
	}
}
