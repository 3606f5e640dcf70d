package fleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mockserver/internal/flags"
	"mockserver/internal/wording"
	"mockserver/listener/control/runs"
	"mockserver/listener/observe/arrivals"
)

// Exit codes. Otherwise fleet run exits with the code of the command that it runs.
const (
	exitOK        = 0
	exitFailed    = 1 // the run did not begin, its report could not be written, or the replicas do not agree
	exitUsage     = 2 // a bad flag
	exitUntrusted = 3 // the command succeeded, but the timing of the run cannot be trusted
	exitNoCommand = 127
)

// Process is what the command needs from its process.
type Process struct {
	Env            func(string) (string, bool)
	Signals        <-chan os.Signal
	Stdin          *os.File
	Stdout, Stderr io.Writer
}

// order is the parsed command line.
type order struct {
	help    bool
	word    string // run or status
	command []string

	admin  []string
	token  string
	ca     string
	expect int
	Beginning
	wait    time.Duration
	atOnce  bool   // the report does not wait for webhooks
	process string // of the schedule; "" for the default
	report  string // a directory
	hdr     bool
}

const initialAdmin = "127.0.0.1:8001"

// table lists every flag, in the order of the usage.
var table = flags.Table[order]{
	{Name: "admin", Env: "MOCKSERVER_FLEET", Value: "ADDR", Initial: initialAdmin, Several: true, Accepts: MembersForm,
		Doc: "admin addresses: one of a replica started with --fleet, which knows the others, or all of them; may be repeated",
		Set: func(o *order, v string) bool { o.admin = append(o.admin, v); return v != "" }},
	{Name: "admin-token", Env: "MOCKSERVER_ADMIN_TOKEN", Value: "TOKEN", Secret: true, Accepts: "a text",
		Doc: "the token of the admin addresses",
		Set: func(o *order, v string) bool { o.token = v; return v != "" }},
	{Name: "ca", Env: "MOCKSERVER_FLEET_CA", Value: "FILE", Accepts: "the name of a file",
		Doc: "the admin addresses speak TLS with certificates of the CA in this file (PEM)",
		Set: func(o *order, v string) bool { o.ca = v; return v != "" }},
	{Name: "expect", Env: "MOCKSERVER_FLEET_EXPECT", Value: "NUMBER", Accepts: "an integer from 1 to 1000",
		Doc: "the expected number of replicas",
		Set: func(o *order, v string) bool { return flags.Int(&o.expect, v, 1, mostMembers) }},
	{Name: "name", Value: "NAME", Accepts: "a text of at most 100 characters",
		Doc: "run: the name of the run",
		Set: func(o *order, v string) bool {
			o.Name = strings.TrimSpace(v)
			return o.Name != "" && runs.IsName(o.Name)
		}},
	{Name: "wait", Value: "DURATION", Initial: "0s", Accepts: "a duration, such as 2m",
		Doc: "run: how long to wait for the replicas to agree",
		Set: func(o *order, v string) bool { return flags.Duration(&o.wait, v) }},
	{Name: "force", Switch: func(o *order) *bool { return &o.Force },
		Doc: "run: begin on the replicas that are ready even if the replicas do not agree"},
	{Name: "reset-state", Switch: func(o *order) *bool { return &o.Reset },
		Doc: "run: drop the changes to all rows first"},
	{Name: "settle", Value: "DURATION", Accepts: "a duration, such as 2m",
		Doc: "run: how long to wait for the webhooks of the run after its end (default 30s)",
		Set: func(o *order, v string) bool {
			var d time.Duration
			fine := flags.Duration(&d, v)
			o.Settle = d.String() // replicas expect a unit
			return fine
		}},
	{Name: "no-settle", Switch: func(o *order) *bool { return &o.atOnce },
		Doc: "run: do not wait for webhooks; the report says how many were pending"},
	{Name: "rate", Value: "NUMBER", Accepts: "a number of requests a second, from 10 to 10000000",
		Doc: "run: the rate that the load generator is to keep; the report compares arrivals with it",
		Set: func(o *order, v string) bool {
			rate, err := strconv.ParseFloat(v, 64)
			o.Schedule = &arrivals.NewSchedule{Rate: rate}
			return err == nil && o.Schedule.Problem() == ""
		}},
	{Name: "process", Value: "NAME", Accepts: "constant or poisson",
		Doc: "run: how the load generator is to space requests: constant (the default) or poisson; needs --rate",
		Set: func(o *order, v string) bool {
			o.process = v
			return v == arrivals.Constant || v == arrivals.Poisson
		}},
	{Name: "report", Value: "DIR", Initial: ".", Accepts: "the name of a directory",
		Doc: "run: where report.json and report.html are written",
		Set: func(o *order, v string) bool { o.report = v; return v != "" }},
	{Name: "hdr", Switch: func(o *order) *bool { return &o.hdr },
		Doc: "run: add distributions in the form of HdrHistogram to report.json"},
	{Name: "help", Short: "h", Switch: func(o *order) *bool { return &o.help },
		Doc: "print this text"},
}

// Usage returns the text that mockserver fleet -h prints.
func Usage() string {
	var b strings.Builder
	b.WriteString("usage: mockserver fleet run [FLAGS] -- COMMAND [ARGUMENT...]\n" +
		"       mockserver fleet status [FLAGS]\n\n" +
		"run begins a run on all replicas, runs the command, ends the run, and writes the merged report. It survives the loss\n" +
		"of any replica. Its exit code is that of the command; if that is 0 and the timing cannot be trusted, it is 3.\n" +
		"status shows the replicas; its exit code is 0 if they agree, otherwise 1.\n\nflags:\n")
	table.Write(&b, 27, func(f flags.Flag[order]) string {
		var more []string
		if f.Env != "" {
			more = append(more, f.Env)
		}
		if f.Initial != "" {
			more = append(more, "default "+f.Initial)
		}
		if len(more) == 0 {
			return ""
		}
		return " (" + strings.Join(more, ", ") + ")"
	})
	b.WriteString("\nexample: mockserver fleet run --name baseline -- k6 run test.js\n")
	return b.String()
}

// orderOf reads the arguments after "fleet", and the environment.
func orderOf(args []string, env func(string) (string, bool)) (order, error) {
	o := order{report: "."}
	r := &flags.Reader[order]{Flags: table, Into: &o, Help: "mockserver fleet", Words: []string{"run", "status"}}
	r.Rest = func(args []string) { o.command = args }
	r.Word = func(word string) {
		switch {
		case o.word == "" && (word == "run" || word == "status"):
			o.word = word
		case o.word == "run":
			r.Wrong("%q: unexpected; put the command after --: mockserver fleet run -- %s", word, word)
		default:
			r.Wrong("%q: unexpected%s; expected run or status", word, wording.DidYouMean(word, r.Words))
		}
	}
	r.Read(args)
	if o.help {
		return o, nil
	}
	r.Environment(func(name string) string {
		value, _ := env(name)
		return value
	})
	if len(o.admin) == 0 {
		o.admin = []string{initialAdmin}
	}
	switch {
	case o.word == "":
		r.Wrong("missing run or status; mockserver fleet -h explains them")
	case o.word == "run" && len(o.command) == 0:
		r.Wrong("missing command; put it after --: mockserver fleet run -- k6 run test.js")
	case o.process != "" && o.Schedule == nil:
		r.Wrong("--process: missing --rate; expected both, or only --rate")
	case o.word == "status" && len(o.command) > 0:
		r.Wrong("status does not take a command")
	}
	if o.Schedule != nil {
		o.Schedule.Process = cmp.Or(o.process, o.Schedule.Process)
	}
	return o, errors.Join(r.Errs...)
}

// Command runs mockserver fleet. args are the arguments after "fleet". It returns the exit code.
func Command(args []string, p Process) int {
	o, err := orderOf(args, p.Env)
	if err == nil && o.help {
		fmt.Fprint(p.Stdout, Usage())
		return exitOK
	}
	var f *Fleet
	if err == nil {
		members := strings.Join(o.admin, ",")
		f, err = New(Options{Members: members, Expect: o.expect, Token: o.token, TLS: o.ca != "", CA: o.ca, Found: len(o.admin) == 1 && !strings.HasPrefix(members, "dns:")})
	}
	if err != nil {
		fmt.Fprintln(p.Stderr, err)
		return exitUsage
	}
	defer f.Close()
	if o.word == "status" {
		return status(f, p.Stdout)
	}
	return around(f, o, p)
}

// status prints the replicas.
func status(f *Fleet, out io.Writer) int {
	s := f.Look(context.Background())
	for _, m := range s.Replicas {
		if m.Silent != "" {
			fmt.Fprintf(out, "%s  does not answer: %s\n", m.Address, m.Silent)
			continue
		}
		ready, trusted := "ready", "trusted"
		if !m.Ready {
			ready = "not ready: " + m.Why
		}
		if !m.Trusted {
			trusted = "not trusted: " + strings.Join(m.Reasons, ", ")
		}
		fmt.Fprintf(out, "%s  %s  configuration %.12s  %s  %s  since %s\n", m.Address, m.Version, m.Fingerprint, ready, trusted, m.Since.UTC().Format(time.DateTime))
	}
	if s.Agreed {
		fmt.Fprintf(out, "%s, agreed\n", wording.Count(len(s.Replicas), "replica"))
		return exitOK
	}
	for _, why := range s.Why {
		fmt.Fprintln(out, "not agreed:", why)
	}
	return exitFailed
}

// around runs a command during a run of all replicas.
func around(f *Fleet, o order, p Process) int {
	if o.atOnce {
		o.Settle = "0s"
	}
	printf := func(format string, args ...any) { fmt.Fprintf(p.Stderr, "fleet: "+format+"\n", args...) }
	if err := os.MkdirAll(o.report, 0o755); err != nil {
		printf("%v", err)
		return exitFailed
	}
	run, err := beginAgreed(f, o, p)
	if err != nil {
		printf("%v", err)
		return exitFailed
	}
	printf("run %s (%q) started on %s", run.ID, run.Name, strings.Join(run.member.Replicas, ", "))
	code := p.execute(o.command, printf)
	report := run.End(context.Background())
	if !report.Final {
		printf("waiting for %s", wording.Count(int(report.Total.WebhooksPending), "webhook"))
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
	report = report.WithHDR(o.hdr)
	printVerdict(report, printf)
	if err := write(report, o.report); err != nil {
		printf("%v", err)
		return exitFailed
	}
	printf("report: %s", filepath.Join(o.report, "report.html"))
	if code == exitOK && !report.Verdict.Trusted {
		return exitUntrusted
	}
	return code
}

// beginAgreed begins the run once the replicas agree. It waits for at most o.wait, or until a
// signal arrives.
func beginAgreed(f *Fleet, o order, p Process) (*Run, error) {
	deadline := time.Now().Add(o.wait)
	for {
		run, err := f.Begin(context.Background(), o.Beginning)
		var split *NotAgreed
		if !errors.As(err, &split) || !time.Now().Before(deadline) {
			return run, err
		}
		select {
		case <-time.After(readEvery):
			f.forget()
		case s := <-p.Signals:
			return nil, fmt.Errorf("stopped by %s while %w", s, err)
		}
	}
}

// execute runs a command with the standard files of this process, and returns its exit code.
// Signals are passed on, except interrupts from a terminal, which the command receives from the
// terminal itself.
func (p *Process) execute(words []string, printf func(string, ...any)) int {
	command := exec.Command(words[0], words[1:]...)
	command.Stdin, command.Stdout, command.Stderr = p.Stdin, p.Stdout, p.Stderr
	if err := command.Start(); err != nil {
		printf("%v", err)
		return exitNoCommand
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for {
		select {
		case err := <-ended:
			var failed *exec.ExitError
			switch {
			case err == nil:
				return exitOK
			case !errors.As(err, &failed):
				printf("%v", err)
				return exitFailed
			case failed.ExitCode() >= 0:
				return failed.ExitCode()
			}
			printf("the command was killed: %v", err)
			return 128 + signalOf(failed)
		case s := <-p.Signals:
			if s != os.Interrupt || !isTerminal(p.Stdin) {
				_ = command.Process.Signal(s) // it fails only if the command has exited
			}
		}
	}
}

// signalOf returns the number of the signal that terminated a command.
func signalOf(failed *exec.ExitError) int {
	if status, ok := failed.Sys().(syscall.WaitStatus); ok {
		return int(status.Signal())
	}
	return 0
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// printVerdict prints the verdict, its reasons, and what explains them or is about the load generator.
func printVerdict(r *runs.Report, printf func(string, ...any)) {
	printf("%d requests. %s", r.Total.Requests, r.Verdict.Text)
	for _, c := range slices.Concat(r.Verdict.Reasons, r.Verdict.Explanations) {
		printf("%s: %s: %s", c.Replica, c.Code, c.Text)
	}
}

// write writes the report as JSON and as a page.
func write(r *runs.Report, dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	page, err := r.Page()
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "report.json"), append(text, '\n'), 0o644),
		os.WriteFile(filepath.Join(dir, "report.html"), page, 0o644),
	)
}
