//go:build linux && measure

package calibration

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// server is the program, running on the CPUs that the client does not use.
type server struct {
	t     *testing.T
	cmd   *exec.Cmd
	addr  *net.TCPAddr
	admin string

	mu       sync.Mutex // guards the fields below
	verdicts []judgment
}

// judgment is a verdict with the time at which it was requested.
type judgment struct {
	at      time.Time
	trusted bool
	codes   []string
	text    []string
}

// program is the path of the program under test.
var program string

func TestMain(m *testing.M) {
	switch { // the process generates the load of a condition
	case os.Getenv("ASKING") != "":
		clients, _ := strconv.Atoi(os.Getenv("CLIENTS")) // none if it is missing
		ask(os.Getenv("ASKING"), clients, []byte(os.Getenv("QUESTION")))
		return
	case os.Getenv("SHAKING") != "":
		shake(os.Getenv("SHAKING"))
		return
	}
	dir, err := os.MkdirTemp("", "calibration-")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "mockserver")
	build := exec.Command("go", "build", "-o", program, "mockserver")
	build.Stderr = os.Stderr
	if build.Run() != nil {
		os.Exit(1)
	}
	threads, _ := os.ReadDir("/proc/self/task")
	for _, thread := range threads { // later threads inherit the setting
		id, _ := strconv.Atoi(thread.Name())
		pin(id, clientCPU())
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// cpusOfServer returns all CPUs except the client's, in the format of taskset.
func cpusOfServer() string { return fmt.Sprintf("0-%d", max(clientCPU()-1, 0)) }

// begin runs the program with a configuration, next to which there may be other files. wrap is a
// command that runs the program, such as "nice", or nil.
func begin(t *testing.T, configuration string, files map[string]string, wrap []string, log *os.File, args ...string) *server {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "mock.yml")
	all := map[string]string{"mock.yml": configuration}
	maps.Copy(all, files)
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	port, admin := freePorts(t)
	command := append([]string{"-c", cpusOfServer()}, wrap...)
	command = append(command, program, "-c", file, "--host", "127.0.0.1", "--port", fmt.Sprint(port), "--admin", fmt.Sprint("127.0.0.1:", admin))
	s := &server{t: t, cmd: exec.Command("taskset", append(command, args...)...)}
	s.addr, s.admin = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}, fmt.Sprint("http://127.0.0.1:", admin, "/__admin/")
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.end)
	for deadline := time.Now().Add(20 * time.Second); ; rest(20 * time.Millisecond) {
		resp, err := asking.Get(strings.TrimSuffix(s.admin, "__admin/") + "readyz")
		if err == nil {
			_ = resp.Body.Close()
		}
		if err == nil && resp.StatusCode == http.StatusOK {
			return s
		} else if time.Now().After(deadline) {
			t.Fatal("the server is not ready: ", err)
		}
	}
}

// freePorts returns two ports that are not in use.
func freePorts(t *testing.T) (a, b int) {
	t.Helper()
	for _, port := range []*int{&a, &b} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close() // both are closed at the end, so that the ports differ
		*port = l.Addr().(*net.TCPAddr).Port
	}
	return a, b
}

func (s *server) end() {
	_ = s.cmd.Process.Signal(syscall.SIGCONT)
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

var asking = &http.Client{Timeout: 2 * time.Second}

// beginRun begins a run.
func (s *server) beginRun() {
	resp, err := asking.Post(s.admin+"runs", "application/json", strings.NewReader(`{"name": "calibration"}`))
	if err != nil {
		s.t.Fatal(err)
	}
	_ = resp.Body.Close()
}

// stopRun ends the run, and returns how it went.
func (s *server) stopRun() (r rundown) {
	asking.CloseIdleConnections() // a POST is not repeated on another connection
	resp, err := asking.Post(s.admin+"runs/1/stop", "", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// judged requests the verdict.
func (s *server) judged() (judgment, error) {
	resp, err := asking.Get(s.admin + "verdict")
	if err != nil {
		return judgment{}, err
	}
	defer resp.Body.Close()
	var v struct {
		Trusted bool
		Reasons []struct{ Code, Text string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		return judgment{}, err
	}
	j := judgment{at: time.Now(), trusted: v.Trusted}
	for _, r := range v.Reasons {
		j.codes, j.text = append(j.codes, r.Code), append(j.text, r.Text)
	}
	return j, nil
}

// watch requests the verdict four times a second, until the channel is closed. If the server does
// not respond within two seconds, there is no verdict for that time.
func (s *server) watch(end <-chan struct{}) {
	for {
		if j, err := s.judged(); err == nil {
			s.mu.Lock()
			s.verdicts = append(s.verdicts, j)
			s.mu.Unlock()
		}
		select {
		case <-end:
			return
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// codes returns the codes of the reasons reported between two times, in order.
func (s *server) codes(from, to time.Time) string {
	var all []string
	seen := map[string]bool{}
	for _, j := range s.verdicts {
		for _, code := range j.codes {
			if !j.at.Before(from) && j.at.Before(to) && !seen[code] {
				seen[code] = true
				all = append(all, code)
			}
		}
	}
	return strings.Join(all, " ")
}

// stops stops the process for length in each interval, until the end.
func (s *server) stops(each, length time.Duration) func(end <-chan struct{}) {
	return func(end <-chan struct{}) {
		for {
			_ = s.cmd.Process.Signal(syscall.SIGSTOP)
			rest(length)
			_ = s.cmd.Process.Signal(syscall.SIGCONT)
			select {
			case <-end:
				return
			case <-time.After(each - length):
			}
		}
	}
}

// rest waits for a duration; conditions are built from such waits.
func rest(d time.Duration) { <-time.NewTimer(d).C }

// hogs runs n programs, each of which uses a CPU: for the duration while in each period, or all the
// time if period is 0.
func hogs(t *testing.T, n int, cpus string, while, period time.Duration) func(end <-chan struct{}) {
	return func(end <-chan struct{}) {
		var all []*exec.Cmd
		for range n {
			hog := exec.Command("taskset", "-c", cpus, "sh", "-c", "while :; do :; done")
			hog.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			if err := hog.Start(); err != nil {
				t.Error(err)
			}
			all = append(all, hog)
		}
		defer func() {
			for _, hog := range all {
				_ = hog.Process.Kill()
				_ = hog.Wait()
			}
		}()
		signal := func(s syscall.Signal) {
			for _, hog := range all {
				_ = hog.Process.Signal(s)
			}
		}
		for period > 0 {
			signal(syscall.SIGCONT)
			rest(while)
			signal(syscall.SIGSTOP)
			select {
			case <-end:
				return
			case <-time.After(period - while):
			}
		}
		<-end
	}
}
