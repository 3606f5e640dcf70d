package verdict

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// meter reads the resource usage of the process and the machine.
type meter struct {
	root   fs.FS    // root of the file system
	self   string   // content of /proc/self/cgroup
	groups []string // directories of the control groups in self, v1 or v2
	times  int      // number of readings
	open   int      // number of descriptors at the last count
	// files contains the files that are read each time. They are kept open, since opening a file
	// takes longer than reading it.
	files  map[string]fs.File
	buffer [16 << 10]byte // content of the file read last; large enough for the needed part of each file
}

// countEvery is the number of readings between two counts of the descriptors. Kernels before 6.2 do
// not report their number, so they are counted one by one: counting 100,000 of them takes 50 ms.
const countEvery = 10

func newMeter() *meter {
	m := &meter{root: os.DirFS("/")}
	m.regroup()
	return m
}

// regroup finds the control groups of the process, which may have been moved.
func (m *meter) regroup() {
	text, _ := m.text("proc/self/cgroup") // without the file there are no groups
	if self := string(text); self != m.self {
		m.self, m.groups = self, groupsOf(m.root, self)
		m.close()
	}
}

// close closes the files. The next reading opens them again.
func (m *meter) close() {
	for name := range m.files {
		m.forget(name)
	}
}

// text returns the beginning of a file. The result is valid until the next call.
func (m *meter) text(name string) ([]byte, error) {
	f := m.files[name]
	if f == nil {
		var err error
		if f, err = m.root.Open(name); err != nil {
			return nil, err
		}
		if m.files == nil {
			m.files = map[string]fs.File{}
		}
		m.files[name] = f
	} else if again, ok := f.(io.Seeker); ok {
		_, _ = again.Seek(0, io.SeekStart) // if it fails, so does Read
	}
	n, err := f.Read(m.buffer[:])
	if err != nil && err != io.EOF {
		m.forget(name)
		return nil, err
	}
	return m.buffer[:n], nil
}

// forget closes a file.
func (m *meter) forget(name string) {
	_ = m.files[name].Close() // the file was only read
	delete(m.files, name)
}

// read reads all figures. A figure that cannot be read is unknown.
func (m *meter) read() usage {
	m.regroup()
	u := usage{machine: m.machine(), waits: m.waits(), descriptors: m.descriptors()}
	var at unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &at) == nil {
		u.cpu = total{uint64(at.Nano()), true}
	}
	u.quota, u.throttled = m.group()
	if text, err := m.text("proc/self/statm"); err == nil {
		if fields := bytes.Fields(text); len(fields) > 1 {
			u.memory = number64(fields[1]) * uint64(os.Getpagesize())
		}
	}
	u.dropped = m.dropped()
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil && limit.Cur < 1<<62 {
		u.limit = limit.Cur
	}
	m.times++
	return u
}

// machine reads the first line of /proc/stat: "cpu user nice system idle iowait irq softirq steal
// …", in ticks. The value of user includes guest time.
func (m *meter) machine() ticks {
	text, err := m.text("proc/stat")
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	fields := bytes.Fields(line)
	if err != nil || len(fields) < 9 || string(fields[0]) != "cpu" {
		return ticks{}
	}
	t := ticks{known: true, idle: number64(fields[4]) + number64(fields[5]), stolen: number64(fields[8])}
	for _, field := range fields[1:9] {
		t.all += number64(field)
	}
	return t
}

// dropped reads ListenDrops, which includes ListenOverflows, from /proc/self/net/netstat: a line of
// names that begins with TcpExt, followed by a line of their values.
func (m *meter) dropped() total {
	text, _ := m.text("proc/self/net/netstat") // without the file the number is unknown
	var names [][]byte
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) == 0 || string(fields[0]) != "TcpExt:" {
			continue
		}
		i := slices.IndexFunc(names, func(name []byte) bool { return string(name) == "ListenDrops" })
		if i >= 0 && i < len(fields) {
			return total{number64(fields[i]), true}
		}
		names = fields
	}
	return total{}
}

// waits reads /proc/self/task/ID/schedstat: the time a thread spent on a CPU, the time it waited
// for one, and how often it got one. It returns nil if the kernel does not count these.
func (m *meter) waits() map[int]waits {
	tasks, err := fs.ReadDir(m.root, "proc/self/task")
	if err != nil {
		return nil
	}
	all := make(map[int]waits, len(tasks))
	for _, task := range tasks {
		text, err := fs.ReadFile(m.root, "proc/self/task/"+task.Name()+"/schedstat")
		fields := bytes.Fields(text)
		id, notNumber := strconv.Atoi(task.Name())
		if err != nil || len(fields) < 3 || notNumber != nil {
			continue // the thread has ended
		}
		all[id] = waits{time.Duration(number64(fields[1])), number64(fields[2])}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// descriptors returns the number of open descriptors. Since Linux 6.2 it is the size of the
// directory.
func (m *meter) descriptors() int {
	if info, err := fs.Stat(m.root, "proc/self/fd"); err == nil && info.Size() > 0 {
		return int(info.Size())
	}
	if m.times%countEvery == 0 {
		m.open = 0
		if all, err := fs.ReadDir(m.root, "proc/self/fd"); err == nil {
			m.open = len(all)
		}
	}
	return m.open
}

// group reads the control groups. It returns the smallest quota, in cores, and how long the groups
// prevented tasks from running.
func (m *meter) group() (quota float64, throttled total) {
	for _, dir := range m.groups {
		if q := m.quota(dir); q > 0 && (quota == 0 || q < quota) {
			quota = q
		}
		if text, err := m.text(dir + "/cpu.stat"); err == nil {
			throttled.known = true
			throttled.n += entry(text, "throttled_usec")*1000 + entry(text, "throttled_time")
		}
	}
	return quota, throttled
}

// quota reads the quota from cpu.max, "50000 100000" or "max 100000", in v2, or from the two
// corresponding files in v1.
func (m *meter) quota(dir string) float64 {
	text, err := m.text(dir + "/cpu.max")
	if err != nil {
		text, _ = m.text(dir + "/cpu.cfs_quota_us") // a missing file means no quota
		quota := string(text)
		text, _ = m.text(dir + "/cpu.cfs_period_us")
		text = append([]byte(quota+" "), text...)
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0
	}
	allowed, err := strconv.ParseFloat(string(fields[0]), 64) // "max" is not a number, and -1 means no quota
	period := float64(number64(fields[1]))
	if err != nil || allowed <= 0 || period == 0 {
		return 0
	}
	return allowed / period
}

// entry returns the value of a name in lines of "name value", or 0 if the name is missing.
func entry(text []byte, name string) uint64 {
	for line := range bytes.Lines(text) {
		if fields := bytes.Fields(line); len(fields) == 2 && string(fields[0]) == name {
			return number64(fields[1])
		}
	}
	return 0
}

// number64 parses a number. It returns 0 for anything else.
func number64(text []byte) uint64 {
	n, _ := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64)
	return n
}

// groupsOf returns the directories of the CPU control groups listed in a /proc/PID/cgroup, from the
// innermost to the outermost; each may have a quota. In a container the paths may be paths of the
// host; the process is then in the root group.
func groupsOf(root fs.FS, self string) []string {
	var dirs []string
	for line := range strings.Lines(self) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		var mounts []string
		switch controllers := "," + parts[1] + ","; {
		case parts[1] == "":
			mounts = []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}
		case strings.Contains(controllers, ",cpu,"):
			mounts = []string{"sys/fs/cgroup/" + parts[1], "sys/fs/cgroup/cpu"}
		}
		for _, mount := range mounts {
			if _, err := fs.Stat(root, mount+"/cgroup.procs"); err == nil {
				dirs = append(dirs, upwards(root, mount, parts[2])...)
				break
			}
		}
	}
	return dirs
}

// upwards returns the existing directories from a group up to the mount point.
func upwards(root fs.FS, mount, group string) []string {
	var dirs []string
	for at := path.Clean("/" + group); ; at = path.Dir(at) {
		dir := strings.TrimSuffix(mount+at, "/")
		if _, err := fs.Stat(root, dir+"/cgroup.procs"); err == nil {
			dirs = append(dirs, dir)
		}
		if at == "/" {
			return dirs
		}
	}
}
