package load

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPinnedChild is not a test but the process that TestStartOn starts.
func TestPinnedChild(t *testing.T) {
	if os.Getenv("BENCH_CHILD") != "pinned" {
		t.Skip("only as a child")
	}
	os.Stdout.WriteString("processors " + strconv.Itoa(runtime.GOMAXPROCS(0)) + " cpus " + numbers(allowedCPUs()) + "\n")
}

// allowed returns the CPUs that tests may use.
func allowed(t *testing.T) []int {
	t.Helper()
	cpus := allowedCPUs()
	if len(cpus) == 0 {
		t.Fatal("the system does not report its CPUs")
	}
	return cpus
}

// A child runs on the CPUs that it was started on, and its runtime counts only those. The CPUs of
// this process do not change.
func TestStartOn(t *testing.T) {
	before := allowed(t)
	for _, cpu := range before {
		child := exec.Command(os.Args[0], "-test.run=^TestPinnedChild$", "-test.v")
		child.Env = append(os.Environ(), "BENCH_CHILD=pinned")
		var out strings.Builder
		child.Stdout = &out
		if err := StartOn(child, []int{cpu}); err != nil {
			t.Fatal(err)
		}
		if err := child.Wait(); err != nil {
			t.Fatal(err)
		}
		if want := "processors 1 cpus " + strconv.Itoa(cpu) + "\n"; !strings.Contains(out.String(), want) {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
	child := exec.Command(os.Args[0])
	if err := StartOn(child, []int{1023}); err == nil || !strings.Contains(err.Error(), "pin to CPU 1023: invalid argument") {
		t.Errorf("started on a CPU that does not exist: %v", err)
	}
	if after := allowed(t); !slices.Equal(after, before) {
		t.Errorf("CPUs %v afterwards, %v before", after, before)
	}
}

// Threads of the generator are pinned to their CPUs, and an invalid CPU is reported.
func TestLoadPinned(t *testing.T) {
	s := serveScript(t, replying(map[string]string{"/": okResponse}))
	l := simple(s.address)
	l.CPUs = []int{1023}
	o, err := l.Run(context.Background())
	if err != nil || o.Errors["pin to CPU 1023: invalid argument"] != 1 {
		t.Errorf("%v, errors %v", err, o.Errors)
	}
}
