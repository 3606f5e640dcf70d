package verdict

import (
	"runtime"
	"time"
)

// usage contains what the process, its control group and the machine have used since they started.
// The difference between two usages is what was used in between.
type usage struct {
	cpu       total         // CPU time of the process, in nanoseconds
	waits     map[int]waits // waits of the process's threads, by thread ID; nil if unknown
	throttled total         // nanoseconds for which the quota prevented it from running
	dropped   total         // connections dropped because the backlog was full
	machine   ticks

	quota       float64 // cores; 0 if there is none
	memory      uint64  // resident bytes; 0 if unknown
	descriptors int     // open file descriptors; 0 if unknown
	limit       uint64  // limit on descriptors; 0 if there is none or it is unknown
}

// total is a number that only increases. Its value may be unknown.
type total struct {
	n     uint64
	known bool
}

// since returns the increase since an earlier reading in a unit, or nil if it is unknown. A number that
// decreased was reset, so its increase is unknown.
func (t total) since(before total, unit time.Duration) *float64 {
	if !t.known || !before.known || t.n < before.n {
		return nil
	}
	return new(float64(t.n-before.n) / float64(unit))
}

// waits contains how often a thread got a CPU, and how long it waited for one in total.
type waits struct {
	waited time.Duration
	times  uint64
}

// ticks contains how the CPUs of the machine spent their time, in clock ticks.
type ticks struct {
	all, idle, stolen uint64
	known             bool
}

// loadBetween returns the load between two readings. If they are less than a tick apart, the load
// of the machine is unknown.
func loadBetween(before, after *usage, apart time.Duration) Load {
	l := Load{
		CPULimit: cpuLimit(after.quota), Memory: after.memory,
		Descriptors: after.descriptors, DescriptorLimit: after.limit,
	}
	if apart <= 0 {
		return l
	}
	l.CPU, l.Throttled = after.cpu.since(before.cpu, apart), after.throttled.since(before.throttled, time.Millisecond)
	l.ListenDrops = after.dropped.since(before.dropped, 1)
	l.CPUWait = meanWait(before.waits, after.waits)
	if a, b := before.machine, after.machine; a.known && b.known && b.all > a.all {
		all := float64(b.all - a.all)
		// The idle time reported by the kernel may decrease slightly.
		idle := float64(max(b.idle, a.idle) - a.idle)
		l.MachineCPU = new(max(1-idle/all, 0))
		l.Steal = new(float64(max(b.stolen, a.stolen)-a.stolen) / all)
	}
	return l
}

// meanWait returns how long the threads that are in both readings waited for a CPU on average, in
// milliseconds, or nil if it is unknown.
func meanWait(before, after map[int]waits) *float64 {
	if before == nil || after == nil {
		return nil
	}
	var waited time.Duration
	var times uint64
	for id, b := range after {
		if a, ok := before[id]; ok && b.times > a.times && b.waited >= a.waited {
			waited += b.waited - a.waited
			times += b.times - a.times
		}
	}
	return new(Milliseconds(waited / time.Duration(max(times, 1))))
}

// cpuLimit returns how many cores the process may use.
func cpuLimit(quota float64) float64 {
	most := float64(runtime.GOMAXPROCS(0))
	if quota > 0 {
		return min(most, quota)
	}
	return most
}
