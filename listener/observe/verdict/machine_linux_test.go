package verdict

import (
	"io/fs"
	"math"
	"slices"
	"testing"
	"testing/fstest"
	"time"
)

func system(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

func TestMeter_ReadsQuotasAndThrottlingOfBothVersionsOfControlGroups(t *testing.T) {
	for name, c := range map[string]struct {
		self      string
		files     map[string]string
		quota     float64
		throttled total
	}{
		"version 2, a quota around the group too": {
			self: "0::/pod/app\n",
			files: map[string]string{
				"sys/fs/cgroup/cgroup.procs": "", "sys/fs/cgroup/cpu.stat": "usage_usec 9\n",
				"sys/fs/cgroup/pod/cgroup.procs": "", "sys/fs/cgroup/pod/cpu.max": "50000 100000\n", "sys/fs/cgroup/pod/cpu.stat": "nr_throttled 1\nthrottled_usec 30\n",
				"sys/fs/cgroup/pod/app/cgroup.procs": "", "sys/fs/cgroup/pod/app/cpu.max": "150000 100000\n",
				"sys/fs/cgroup/pod/app/cpu.stat": "usage_usec 1\nnr_periods 5\nnr_throttled 2\nthrottled_usec 12\n",
			},
			quota: 0.5, throttled: total{42_000, true},
		},
		"version 2 in a container, with the path of the host": {
			self: "0::/system.slice/docker-1.scope\n",
			files: map[string]string{
				"sys/fs/cgroup/cgroup.procs": "", "sys/fs/cgroup/cpu.max": "max 100000\n", "sys/fs/cgroup/cpu.stat": "throttled_usec 0\n",
			},
			throttled: total{0, true},
		},
		"version 1": {
			self: "4:memory:/x\n3:cpu,cpuacct:/app\n",
			files: map[string]string{
				"sys/fs/cgroup/cpu,cpuacct/cgroup.procs": "", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
				"sys/fs/cgroup/cpu,cpuacct/app/cgroup.procs": "", "sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_quota_us": "25000\n", "sys/fs/cgroup/cpu,cpuacct/app/cpu.cfs_period_us": "100000\n",
				"sys/fs/cgroup/cpu,cpuacct/app/cpu.stat": "nr_periods 1\nnr_throttled 1\nthrottled_time 5000\n",
			},
			quota: 0.25, throttled: total{5000, true},
		},
		"versions 1 and 2, as with systemd": {
			self: "1:cpu:/\n0::/\n",
			files: map[string]string{
				"sys/fs/cgroup/cpu/cgroup.procs": "", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n", "sys/fs/cgroup/cpu/cpu.stat": "throttled_time 0\n",
				"sys/fs/cgroup/unified/cgroup.procs": "",
			},
			throttled: total{0, true},
		},
		"none": {self: "", files: map[string]string{}},
		"text that is not from the kernel": {
			self:  "0::/\nnonsense\n::\n",
			files: map[string]string{"sys/fs/cgroup/cgroup.procs": "", "sys/fs/cgroup/cpu.max": "x\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := system(c.files)
			m := &meter{root: root, groups: groupsOf(root, c.self)}
			quota, throttled := m.group()
			if quota != c.quota || throttled != c.throttled {
				t.Errorf("quota %v, throttled %v; want %v, %v", quota, throttled, c.quota, c.throttled)
			}
		})
	}
}

func TestMeter_ReadsWhatTheMachineAndTheThreadsDid(t *testing.T) {
	at := func(stat string, tasks map[string]string) usage {
		files := map[string]string{"proc/stat": stat}
		for id, text := range tasks {
			files["proc/self/task/"+id+"/schedstat"] = text
		}
		m := &meter{root: system(files)}
		return usage{machine: m.machine(), waits: m.waits()}
	}
	before := at("cpu  100 0 100 700 100 0 0 0 50 0\ncpu0 1 2 3\n", map[string]string{"1": "5 1000 10", "2": "5 9000 10"})
	// 200 ticks: 100 idle or waiting for a disk, 20 stolen. Thread 2 has ended, and thread 3 is
	// new.
	after := at("cpu  150 0 130 780 120 0 0 20 70 0\ncpu0 1 2 3\n", map[string]string{"1": "9 7001000 14", "3": "1 8000000000 1"})
	l := loadBetween(&before, &after, time.Second)
	if l.MachineCPU == nil || math.Abs(*l.MachineCPU-0.5) > 1e-9 || l.Steal == nil || math.Abs(*l.Steal-0.1) > 1e-9 {
		t.Errorf("machine %v, steal %v; want 0.5 and 0.1", l.MachineCPU, l.Steal)
	}
	if l.CPUWait == nil || math.Abs(*l.CPUWait-1.75) > 1e-9 {
		t.Errorf("wait %v, want 7 ms in 4 waits: 1.75", l.CPUWait)
	}
	if l.CPU != nil || l.Throttled != nil {
		t.Errorf("load %+v, want the values that were not read to be unknown", l)
	}
	for _, stat := range []string{"", "cpu  1 2 3\n", "intr 5\n"} {
		if m := at(stat, nil); m.machine.known || m.waits != nil {
			t.Errorf("%q: %+v, want it unknown", stat, m)
		}
	}
}

func TestMeter_FollowsTheProcessToAnotherGroup(t *testing.T) {
	root := system(map[string]string{
		"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cgroup.procs": "",
		"sys/fs/cgroup/a/cgroup.procs": "", "sys/fs/cgroup/a/cpu.max": "50000 100000\n",
	})
	m := &meter{root: root}
	if u := m.read(); u.quota != 0 {
		t.Errorf("quota %v, want none", u.quota)
	}
	root["proc/self/cgroup"].Data = []byte("0::/a\n")
	if u := m.read(); u.quota != 0.5 {
		t.Errorf("quota %v after the move, want 0.5", u.quota)
	}
}

func TestMeter_ReadsThisSystem(t *testing.T) {
	m := newMeter()
	u := m.read()
	if !u.cpu.known || u.cpu.n == 0 || u.memory == 0 || u.descriptors == 0 || !u.machine.known || len(u.waits) == 0 {
		t.Errorf("usage %+v", u)
	}
	if _, err := fs.Stat(m.root, "sys/fs/cgroup"); err == nil && len(m.groups) == 0 {
		t.Error("no control group was found")
	}
	if later := m.read(); later.cpu.n < u.cpu.n || later.machine.all < u.machine.all {
		t.Errorf("%+v came after %+v", later, u)
	}
}

func TestGroupsOf_TheInnermostFirst(t *testing.T) {
	root := system(map[string]string{"sys/fs/cgroup/cgroup.procs": "", "sys/fs/cgroup/a/cgroup.procs": "", "sys/fs/cgroup/a/b/cgroup.procs": ""})
	got := groupsOf(root, "0::/a/b\n")
	if want := []string{"sys/fs/cgroup/a/b", "sys/fs/cgroup/a", "sys/fs/cgroup"}; !slices.Equal(got, want) {
		t.Errorf("groups %v, want %v", got, want)
	}
	if got := groupsOf(root, "0::/../../a\n"); !slices.Equal(got, []string{"sys/fs/cgroup/a", "sys/fs/cgroup"}) {
		t.Errorf("groups %v for a path that leaves the root", got)
	}
}
