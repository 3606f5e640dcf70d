package load

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestUsedChild is not a test but the process that TestUsageOf starts: it uses some processor time,
// and holds memory until its input ends.
func TestUsedChild(t *testing.T) {
	if os.Getenv("BENCH_CHILD") != "used" {
		t.Skip("only as a child")
	}
	held := make([]byte, 64<<20)
	for i := range held {
		held[i] = byte(i)
	}
	for used, err := CPUOf(os.Getpid()); used < 200*time.Millisecond; used, err = CPUOf(os.Getpid()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(held)
}

func TestUsageOf(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run=^TestUsedChild$", "-test.v")
	child.Env = append(os.Environ(), "BENCH_CHILD=used")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	waitLine(t, out, "ready")
	u, err := UsageOf(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if u.CPU < 200*time.Millisecond || u.CPU > time.Hour {
		t.Errorf("processor time %s, want 200 ms or a little more", u.CPU)
	}
	if u.Resident < 64<<20 || u.Resident > 1<<30 {
		t.Errorf("resident %d, want 64 MiB or a little more", u.Resident)
	}
	_ = in.Close()
	_, _ = io.Copy(io.Discard, out)
	want := fmt.Sprintf("process %d: gone", child.Process.Pid)
	// A process that has exited counts as gone, both before and after it is waited for.
	for deadline := time.Now().Add(30 * time.Second); err == nil; _, err = UsageOf(child.Process.Pid) {
		if time.Now().After(deadline) {
			t.Fatal("the process still exists")
		}
	}
	if err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := UsageOf(child.Process.Pid); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := CPUOf(child.Process.Pid); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// waitLine reads until a line that ends in text.
func waitLine(t *testing.T, from io.Reader, text string) {
	t.Helper()
	var read strings.Builder
	one := make([]byte, 1)
	for !strings.HasSuffix(read.String(), text+"\n") {
		if _, err := from.Read(one); err != nil {
			t.Fatalf("%v after %q", err, read.String())
		}
		read.Write(one)
	}
}
