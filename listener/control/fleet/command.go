package fleet

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"mockserver/config/settings"
	"mockserver/internal/flags"
	"mockserver/internal/wording"
	"mockserver/listener/control/runs"
	"mockserver/listener/observe/arrivals"
)

// Exit codes. Otherwise run exits with the code of the command that it runs, or of the server that
// it could not start.
const (
	exitOK        = 0
	exitFailed    = 1 // no run began, a report could not be read or written, or the replicas do not agree
	exitUsage     = 2 // a bad flag
	exitUntrusted = 3 // the command succeeded, but the timing of the run cannot be trusted
	exitNoCommand = 127
)

// Process is what the commands need from their process.
type Process struct {
	Env            func(string) string
	Environ        []string
	Signals        <-chan os.Signal
	Stdin          *os.File
	Stdout, Stderr io.Writer
	// Serve starts a server with the arguments of the command serve.
	Serve func(args []string) Served
}

// Served is a server that was started for a run.
type Served struct {
	Options        // for New
	URL     string // of the mocks
	Stop    func() // nil if it did not start
	Code    int    // exit code if it did not start
}

// order is the parsed command line.
type order struct {
	help    bool
	word    string   // run or compare
	command []string // of run
	runs    []string // of compare: files, IDs and names
	serve   []string // of run: the arguments of the server that it starts
	serves  bool     // they contain a configuration

	admin  []string
	token  string
	ca     string
	expect int
	Beginning
	wait    time.Duration
	atOnce  bool   // the report does not wait for webhooks
	process string // of the schedule; "" for the default
	report  string // a directory
	out     string // a file
}

const initialAdmin = "127.0.0.1:8001"

// FleetVariables begins the names of the variables about servers that are already running, which are not
// about one that run starts.
const FleetVariables = "MOCKSERVER_FLEET"

// table lists the flags of all commands, in the order of their usages.
var table = flags.Table[order]{
	{Name: "admin", Env: "MOCKSERVER_FLEET", Value: "ADDR", Initial: initialAdmin, Several: true, Accepts: MembersForm,
		Doc: "admin addresses: of one server, which knows its fleet, or of all replicas; may be repeated",
		Set: func(o *order, v string) bool { o.admin = append(o.admin, v); return v != "" }},
	{Name: "admin-token", Env: "MOCKSERVER_ADMIN_TOKEN", Value: "TOKEN", Secret: true, Accepts: "a text",
		Doc: "the token of the admin addresses", Text: func(o *order) *string { return &o.token }},
	{Name: "ca", Env: "MOCKSERVER_FLEET_CA", Value: "FILE", Accepts: "the name of a file",
		Doc: "the admin addresses speak TLS with certificates of the CA in this file (PEM)",
		Set: func(o *order, v string) bool { o.ca = v; return v != "" }},
	{Name: "expect", Env: "MOCKSERVER_FLEET_EXPECT", Value: "NUMBER", Accepts: "an integer from 1 to 1000",
		Doc: "the expected number of replicas",
		Set: func(o *order, v string) bool { return flags.Int(&o.expect, v, 1, mostMembers) }},
	{Name: "name", Value: "NAME", Accepts: "a text of at most 100 characters",
		Doc: "the name of the run, with which its files begin",
		Set: func(o *order, v string) bool {
			o.Name = strings.TrimSpace(v)
			return o.Name != "" && runs.IsName(o.Name)
		}},
	{Name: "wait", Value: "DURATION", Initial: "10s", Accepts: "a duration, such as 2m",
		Doc: "how long to wait until the server is ready, or the replicas agree",
		Set: func(o *order, v string) bool { return flags.Duration(&o.wait, v) }},
	{Name: "force", Switch: func(o *order) *bool { return &o.Force },
		Doc: "begin on the replicas that are ready even if the replicas do not agree"},
	{Name: "reset-state", Switch: func(o *order) *bool { return &o.Reset },
		Doc: "drop the changes to all rows first"},
	{Name: "settle", Value: "DURATION", Accepts: "a duration, such as 2m",
		Doc: "how long to wait for the webhooks of the run after its end (default 30s)",
		Set: func(o *order, v string) bool {
			var d time.Duration
			fine := flags.Duration(&d, v)
			o.Settle = d.String() // replicas expect a unit
			return fine
		}},
	{Name: "no-settle", Switch: func(o *order) *bool { return &o.atOnce },
		Doc: "do not wait for webhooks; the report says how many were pending"},
	{Name: "rate", Value: "NUMBER", Accepts: "a number of requests a second, from 10 to 10000000",
		Doc: "the rate that the load generator is to keep; the report compares arrivals with it",
		Set: func(o *order, v string) bool {
			rate, err := strconv.ParseFloat(v, 64)
			o.Schedule = &arrivals.NewSchedule{Rate: rate}
			return err == nil && o.Schedule.Problem() == ""
		}},
	{Name: "process", Value: "NAME", Accepts: "constant or poisson",
		Doc: "how the load generator is to space requests: constant (the default) or poisson; needs --rate",
		Set: func(o *order, v string) bool {
			o.process = v
			return v == arrivals.Constant || v == arrivals.Poisson
		}},
	{Name: "report", Value: "DIR", Initial: ".", Accepts: "the name of a directory",
		Doc: "where reports are written as NAME-ID.json and NAME-ID.html, and where compare looks for them",
		Set: func(o *order, v string) bool { o.report = v; return v != "" }},
	{Name: "out", Short: "o", Value: "FILE", Accepts: "the name of a file", Text: func(o *order) *string { return &o.out },
		Doc: "write the comparison as a page to this file"},
	{Name: "help", Short: "h", Switch: func(o *order) *bool { return &o.help },
		Doc: "print this text"},
}

// only returns the flags with the given names.
func only(names ...string) flags.Table[order] {
	return slices.DeleteFunc(slices.Clone(table), func(f flags.Flag[order]) bool { return !slices.Contains(names, f.Name) })
}

// tableOf returns the flags of a command. Those of run include the flags of serve, for the server
// that it starts.
func tableOf(word string) flags.Table[order] {
	if word == "compare" {
		return only("admin", "admin-token", "ca", "report", "out", "help")
	}
	own := slices.DeleteFunc(slices.Clone(table), func(f flags.Flag[order]) bool { return f.Name == "out" })
	for _, f := range settings.ServeFlags() {
		if _, taken := own.Named("--" + f.Name); taken {
			continue
		}
		own = append(own, flags.Flag[order]{
			Name: f.Name, Short: f.Short, Value: f.Value, Accepts: f.Accepts, Several: f.Several, Secret: f.Secret,
			Set: func(o *order, v string) bool {
				o.serve = append(o.serve, "--"+f.Name+"="+v)
				o.serves = o.serves || f.Name == "config" || f.Name == "mocks" || f.Name == "upstream"
				return f.Apply(new(settings.Settings), v)
			},
		})
	}
	return own
}

// usages contains the usages of the commands, without the lists of their flags.
//
//go:embed usage
var usages embed.FS

// Usage returns the text that -h prints after a command: run or compare.
func Usage(command string) string {
	text, _ := usages.ReadFile("usage/" + command + ".txt") // it is embedded
	var list strings.Builder
	slices.DeleteFunc(tableOf(command), func(f flags.Flag[order]) bool { return f.Doc == "" }).Write(&list, 27)
	return strings.Replace(string(text), "flags:\n", "flags:\n"+list.String(), 1)
}

// orderOf reads the arguments after a command, and the environment.
func orderOf(command string, args []string, env func(string) string) (order, error) {
	o := order{report: ".", wait: 10 * time.Second, word: command}
	r := &flags.Reader[order]{Flags: tableOf(command), Into: &o, Help: "mockserver " + command}
	r.Rest = func(args []string) { o.command = args }
	r.Word = func(word string) {
		switch {
		case o.word == "compare":
			o.runs = append(o.runs, word)
		case settings.IsPath(word):
			o.serve, o.serves = append(o.serve, word), true
		case len(r.Errs) > 0: // the words after it are its arguments
		default:
			r.Wrong("%q: no such file; put a command after --: mockserver run -- %s", word, word)
		}
	}
	r.Read(args)
	if o.help {
		return o, nil
	}
	r.Environment(func(name string) string {
		if o.serves && strings.HasPrefix(name, FleetVariables) {
			return ""
		}
		return env(name)
	})
	if wrong := o.fault(); wrong != "" && len(r.Errs) == 0 {
		r.Wrong("%s", wrong)
	}
	if o.Schedule != nil {
		o.Schedule.Process = cmp.Or(o.process, o.Schedule.Process)
	}
	return o, errors.Join(r.Errs...)
}

// fault says what is missing in an order, or has no effect; "" if nothing is.
func (o *order) fault() string {
	switch {
	case o.word == "compare" && len(o.runs) != 2:
		return fmt.Sprintf("got %s; expected two: mockserver compare baseline tuned", wording.Count(len(o.runs), "run"))
	case o.word == "run" && len(o.command) == 0:
		return "missing command; put it after --: mockserver run -- k6 run test.js"
	case o.serves && o.expect > 0:
		return "--expect: has no effect if run starts the server, which is one; expected --admin with the replicas instead"
	case o.process != "" && o.Schedule == nil:
		return "--process: missing --rate; expected both, or only --rate"
	case o.word == "compare" && len(o.command) > 0:
		return "compare does not take a command"
	case len(o.serve) > 0 && !o.serves:
		name, _, _ := strings.Cut(o.serve[0], "=")
		return name + ": has no effect without a FILE, --config, --mocks or --upstream, with which run starts the server"
	}
	return ""
}

// Command runs mockserver run or compare. args are the arguments after that word. It returns
// the exit code.
func Command(command string, args []string, p Process) int {
	o, err := orderOf(command, args, p.Env)
	switch {
	case err != nil:
		fmt.Fprintln(p.Stderr, err)
		return exitUsage
	case o.help:
		fmt.Fprint(p.Stdout, Usage(command))
		return exitOK
	case o.word == "run":
		return runCommand(o, p)
	}
	f, err := New(o.members())
	if err != nil {
		fmt.Fprintln(p.Stderr, err)
		return exitUsage
	}
	defer f.Close()
	return compare(f, o, p)
}

// members returns the options of the fleet, or of the one server, at the admin addresses.
func (o *order) members() Options {
	members := cmp.Or(strings.Join(o.admin, ","), initialAdmin)
	return Options{Members: members, Expect: o.expect, Token: o.token, TLS: o.ca != "", CA: o.ca, Found: len(o.admin) <= 1 && !strings.HasPrefix(members, "dns:")}
}
