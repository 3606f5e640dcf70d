//go:build linux

package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
)

// shownVerdict is the verdict on the timing as returned by the admin address.
type shownVerdict struct {
	Trusted, Idle         bool
	Seconds               float64
	Reasons, Explanations []reason
}

type reason struct {
	Code, Text        string
	Number, Threshold float64
}

func verdictOf(t *testing.T, admin *Process) (v shownVerdict) {
	t.Helper()
	admin.Get("/__admin/verdict").Into(t, 200, &v)
	return v
}

func (v shownVerdict) has(codes ...string) bool { return names(v.Reasons, codes) }

func (v shownVerdict) explained(codes ...string) bool { return names(v.Explanations, codes) }

// names reports whether the first reason with one of the codes has a figure above its threshold.
func names(reasons []reason, codes []string) bool {
	for _, r := range reasons {
		if slices.Contains(codes, r.Code) {
			return r.Number > r.Threshold && r.Text != ""
		}
	}
	return false
}

const timed = `
- endpoint: {method: get, path: /timed, latency: {min-ms: 2, max-ms: 5}, response: {status: 200, body: ok}}
`

// busyLoop keeps a CPU busy until the test ends, or stop is called.
func busyLoop(t *testing.T) (cmd *exec.Cmd, stop func()) {
	t.Helper()
	cmd = exec.Command("sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // the process was killed
		}
	}
	t.Cleanup(stop)
	return cmd, stop
}

// If every CPU is busy with other processes, the timing is not trusted, since the server's own
// bytes come back late, and the verdict names the possible cause. If the test itself runs under a
// quota, or on only some of the CPUs, the verdict names that as the cause.
func TestVerdict_AStarvedProcessIsNotTrusted(t *testing.T) {
	NeedsProcess(t) // it gets no CPU
	p, admin := Administered(t, timed)
	p.Get("/") // before the first request nothing is logged
	for range 4 * runtime.NumCPU() {
		busyLoop(t)
	}
	harness.Until(t, "a starved program is not trusted", func() bool {
		v := verdictOf(t, admin)
		return !v.Trusted && v.has("probe-p99") && v.explained("machine", "cpu-wait", "cpu-quota", "scheduler-p99")
	})
	line := p.WaitLine(0, "WARN", "the timing cannot be trusted")
	if !strings.Contains(line, "expected at most") {
		t.Errorf("the log does not give the reason: %s", line)
	}
	if gauge := Value(t, Scrape(t, admin), "mockserver_timing_trusted"); gauge != 0 {
		t.Errorf("mockserver_timing_trusted is %v, want 0", gauge)
	}
}

// A process that is stopped for a moment notices the interruption, although none of its requests
// was slow, and is trusted again afterwards.
func TestVerdict_AStoppedProcessIsNotTrusted(t *testing.T) {
	if !volume.Full() {
		t.Parallel() // with other tests beside it, it may not be trusted again
	}
	NeedsProcess(t) // it is suspended
	p, admin := Administered(t, timed, "--verdict", "probe-p99=1s")
	p.Get("/") // before the first request nothing is logged
	harness.Until(t, "it measures", func() bool { return verdictOf(t, admin).Seconds > 0 })
	p.Signal(syscall.SIGSTOP)
	<-time.NewTimer(3 * time.Second).C // the process is stopped for this long
	p.Signal(syscall.SIGCONT)
	harness.Until(t, "it is not trusted", func() bool { v := verdictOf(t, admin); return !v.Trusted && v.has("probe-p99") })
	if !volume.Full() {
		return // it takes ten seconds until it is trusted again
	}
	harness.Until(t, "it is trusted again", func() bool { return verdictOf(t, admin).Trusted })
	p.WaitLine(0, "INFO", "the timing can be trusted")
}

// A busy loop that shares the CPU quota of the process uses it up, which explains why requests are late.
func TestVerdict_AQuotaThatIsUsedUpIsNamed(t *testing.T) {
	group := quotaOf(t, 20_000) // a fifth of a CPU
	loop, _ := busyLoop(t)
	join(t, group, loop.Process.Pid)
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", timed)
	script := fmt.Sprintf(`echo $$ > %s/cgroup.procs && exec %s -c %s --admin 127.0.0.1:0`, group, Program(t), file)
	within := LaunchCommand(t, exec.Command("sh", "-c", script), t.TempDir(), nil).Listening()
	admin := AdminOf(within)
	harness.Until(t, "the quota is named", func() bool {
		within.Get("/timed").Want(t, 200, "ok")
		v := verdictOf(t, admin)
		return !v.Trusted && v.explained("throttled")
	})
}

// quotaOf creates a control group that may use the given number of microseconds of CPU time in each
// 100 ms.
func quotaOf(t *testing.T, microseconds int) string {
	t.Helper()
	name := "mockserver-test-" + strconv.Itoa(os.Getpid())
	for _, kind := range []struct{ root, file, value string }{
		{"/sys/fs/cgroup", "cpu.max", fmt.Sprintf("%d 100000", microseconds)},
		{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", strconv.Itoa(microseconds)},
	} {
		dir := filepath.Join(kind.root, name)
		if _, err := os.Stat(kind.root + "/cgroup.procs"); err != nil || os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() {
			harness.Until(t, "the control group can be removed", func() bool { return os.Remove(dir) == nil })
		})
		if os.WriteFile(filepath.Join(dir, kind.file), []byte(kind.value), 0o644) == nil {
			return dir
		}
	}
	t.Skip("this test is not allowed to create control groups with a quota here")
	return ""
}

func join(t *testing.T, group string, pid int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644); err != nil {
		t.Skip("processes cannot be put into control groups here:", err)
	}
}

// Settings of the admin address have no effect without the address; a warning names them.
func TestVerdict_SettingsWithoutAnAdminAddressAreWarnedOf(t *testing.T) {
	t.Parallel()
	p := Serving(t, timed, "--verdict", "own-p99=2ms", "--journal-sample=1", "--admin-token", "not-to-be-logged")
	if line := p.WaitLine(0, "WARN", "no effect without --admin"); !strings.Contains(line, "--admin-token,--journal-sample,--verdict") || strings.Contains(line, "not-to-be") {
		t.Errorf("got %s", line)
	}
}

func TestVerdict_ThresholdsAreSettableAndMistakesExit2(t *testing.T) {
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", timed)
	for _, given := range [][]string{{"--verdict", "own=1ms"}, {"--verdict", "own-p99=1"}, {"--verdict=machine=2"}} {
		if code, _, stderr := Refused(t, nil, append([]string{"-c", file}, given...)...); code != 2 || !strings.Contains(stderr, "--verdict") || !strings.Contains(stderr, "expected") {
			t.Errorf("%v: exit %d, %s", given, code, stderr)
		}
	}
	// So do the items of a stream, which are not its requests.
	p, admin := Administered(t, "- endpoint: {path: /words, response: {stream: [{times: 20, data: a}], pace: {gap: 1ms}}}\n", "--verdict", "stream-p99=0s")
	harness.Until(t, "the threshold of items counts", func() bool {
		p.Get("/words").Want(t, 200, strings.Repeat("data: a\n\n", 20))
		return verdictOf(t, admin).has("stream-p99")
	})
	// Every request exceeds a threshold of 0, unless its work is part of its latency.
	p, admin = Administered(t, "- endpoint: {path: /fixed, response: {body: ok}}\n", "--verdict", "own-p99=0s")
	harness.Until(t, "the threshold counts", func() bool {
		p.Get("/fixed").Want(t, 200, "ok")
		return verdictOf(t, admin).has("own-p99")
	})
}
