package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"mockserver/internal/wording"
	"mockserver/listener/control/runs"
)

// printf prints a line about a run.
func (p *Process) printf(format string, args ...any) {
	fmt.Fprintf(p.Stderr, "run: "+format+"\n", args...)
}

// runCommand runs a command during a run of the server that it starts for it, or of all replicas.
func runCommand(o order, p Process) int {
	if _, err := exec.LookPath(o.command[0]); err != nil {
		p.printf("%v", err)
		return exitNoCommand
	}
	if o.atOnce {
		o.Settle = "0s"
	}
	served := Served{Stop: func() {}}
	asking := o.members()
	var env []string
	if o.serves {
		if served = p.Serve(o.server()); served.Stop == nil {
			return served.Code
		}
		asking, env = served.Options, []string{"MOCK_URL=" + served.URL}
		asking.CA = o.ca
	}
	f, err := New(asking)
	if err != nil {
		p.printf("%v", err)
		served.Stop()
		return exitUsage
	}
	code, report := around(f, o, p, env)
	f.Close()
	served.Stop() // the result is printed after the last line of its log
	if report == nil {
		return code
	}
	return p.conclude(report, o, code)
}

// server returns the arguments of the server that run starts.
func (o *order) server() []string {
	args := append(slices.Clone(o.serve), "--admin="+cmp.Or(strings.Join(o.admin, ","), "127.0.0.1:0"))
	if o.token != "" {
		args = append(args, "--admin-token="+o.token)
	}
	return args
}

// around runs a command during a run of all replicas. It returns the exit code of the command and
// the report, or nil if no run began.
func around(f *Fleet, o order, p Process, env []string) (code int, report *runs.Report) {
	err := os.MkdirAll(o.report, 0o755)
	var run *Run
	if err == nil {
		run, err = beginAgreed(f, o, p)
	}
	if err != nil {
		p.printf("%v", err)
		return exitFailed, nil
	}
	p.printf("%s started on %s", run.Name, strings.Join(run.member.Replicas, ", "))
	code = p.execute(o.command, env)
	report = run.End(context.Background())
	if !report.Final && o.Settle != "0s" {
		p.printf("waiting for %s", wording.Count(int(report.Total.WebhooksPending), "webhook"))
	}
	for !report.Final {
		select {
		case <-time.After(readEvery / 4):
		case <-p.Signals:
			o.Settle = "0s"
		}
		if report = run.Report(context.Background()); o.Settle == "0s" {
			break
		}
	}
	return code, report
}

// conclude writes and prints the result of a run, and returns the exit code. code is that of the
// command.
func (p *Process) conclude(report *runs.Report, o order, code int) int {
	fmt.Fprint(p.Stderr, "run: ")
	path, err := write(report, o)
	err = errors.Join(report.Write(p.Stderr), err)
	if err != nil {
		p.printf("%v", err)
		return exitFailed
	}
	p.printf("report: %s.html and .json", path)
	p.printf("ID: %s", report.ID)
	switch {
	case code != exitOK:
		p.printf("exit code %d, that of the command", code)
	case !report.Verdict.Trusted:
		p.printf("exit code %d: the timing cannot be trusted", exitUntrusted)
		return exitUntrusted
	}
	return code
}

// beginAgreed begins the run once the replicas agree. It waits for at most o.wait, or until a
// signal arrives.
func beginAgreed(f *Fleet, o order, p Process) (*Run, error) {
	deadline := time.Now().Add(o.wait)
	for waiting := false; ; waiting = true {
		run, err := f.Begin(context.Background(), o.Beginning)
		if err == nil && len(p.Signals) > 0 { // the command, which has not started, would not receive it
			run.leave()
			f.undo(run)
			return nil, fmt.Errorf("stopped by %s before the command started", <-p.Signals)
		}
		var split *NotAgreed
		if !errors.As(err, &split) || !time.Now().Before(deadline) {
			return run, err
		}
		if !waiting {
			p.printf("waiting for up to %s: %v", o.wait, err)
		}
		select {
		case <-time.After(readEvery / 4):
			f.forget()
		case s := <-p.Signals:
			return nil, fmt.Errorf("stopped by %s while %w", s, err)
		}
	}
}

// execute runs a command with the standard files of this process and further environment variables,
// and returns its exit code. Signals are passed on, except interrupts from a terminal, which the
// command receives from the terminal itself.
func (p *Process) execute(words, env []string) int {
	command := exec.Command(words[0], words[1:]...)
	command.Stdin, command.Stdout, command.Stderr = p.Stdin, p.Stdout, p.Stderr
	command.Env = append(slices.Clone(p.Environ), env...)
	if err := command.Start(); err != nil {
		p.printf("%v", err)
		return exitNoCommand
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for {
		select {
		case err := <-ended:
			failed, exited := errors.AsType[*exec.ExitError](err)
			switch {
			case err == nil:
				return exitOK
			case !exited:
				p.printf("%v", err)
				return exitFailed
			}
			if status, ok := failed.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				p.printf("the command was killed: %v", err)
				return 128 + int(status.Signal())
			}
			return failed.ExitCode()
		case s := <-p.Signals:
			if s != os.Interrupt || !isTerminal(p.Stdin) {
				_ = command.Process.Signal(s) // it fails only if the command has exited
			}
		}
	}
}

// isTerminal reports whether a file is a character device other than the null device.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	null, _ := os.Stat(os.DevNull)
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && !os.SameFile(info, null)
}

// fileName returns a name in the form in which it begins the names of files.
func fileName(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("._-", r)
	})
	short := []rune(strings.Trim(strings.Join(words, "-"), ".-"))
	return string(short[:min(len(short), 60)])
}

// write writes the report as JSON and as a page, over no other file, and returns the path of both
// without their extensions.
func write(r *runs.Report, o order) (path string, err error) {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", err
	}
	page, err := r.Page()
	if err != nil {
		return "", err
	}
	path = filepath.Join(o.report, strings.TrimPrefix(fileName(o.Name)+"-"+r.ID, "-"))
	for extension, content := range map[string][]byte{".json": append(text, '\n'), ".html": page} {
		file, err := os.OpenFile(path+extension, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return "", err
		}
		_, err = file.Write(content)
		if err = errors.Join(err, file.Close()); err != nil {
			return "", err
		}
	}
	return path, nil
}
