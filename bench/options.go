package bench

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mockserver/config"
	"mockserver/internal/wording"
)

// Options is what a run is told. ReadOptions makes them of the command line; the
// last group is for the program to fill in.
type Options struct {
	Help bool // print Usage, and nothing else
	List bool // list the scenarios

	Config    []string // files and directories whose endpoints are measured; none for the scenarios
	Endpoint  string   // of these, the endpoints whose "METHOD /path" holds this text
	Requests  string   // a file of requests for endpoints that need others than their declaration tells
	Scenarios []string // by name; none for those that suit what is measured
	Target    string   // "host:port" of a server that runs; "" starts one
	PID       int      // of that server; 0 is not known

	Rounds      int
	Duration    time.Duration // of one round; 0 takes what suits what is measured
	Connections int
	Rate        Rate // the zero value is as many as are answered
	Curve       bool // latency at 10 % to 120 % of capacity

	JSON, Plot string   // files to write; "" for none
	Server     []string // further flags of the server that is started

	Program string   // the executable, which is the server as well
	Version string   // of the program, for the JSON form
	Environ []string // the server's, "NAME=value"; settings of the server are left out
}

// Rate is how many requests are sent a second. One of its fields is 0, or both.
type Rate struct {
	PerSecond float64
	Share     float64 // of the capacity that is found first: 0.5 is 50 %
}

func (r Rate) given() bool { return r != Rate{} }

// flag is one flag of the command: how it is given, and what it may be.
type flag struct {
	name, short string
	value       string // what stands for the value in the usage; "" for a switch
	doc         string
	accepts     string // what is accepted, for messages
	several     bool   // it may be given more than once
	set         func(o *Options, text string) bool
}

// flags is every flag, in the order of the usage.
var flags = []flag{
	{"config", "c", "PATH", "measure each endpoint of this configuration instead of the scenarios; may be given several times", "the name of a file or a directory", true,
		func(o *Options, v string) bool { o.Config = append(o.Config, v); return v != "" }},
	{"endpoint", "", "TEXT", "with -c: only endpoints whose method and path contain this, such as \"GET /users\"", "a text", false,
		func(o *Options, v string) bool { o.Endpoint = v; return v != "" }},
	{"requests", "", "FILE", "with -c: requests, lines METHOD URL with headers and @body as for vegeta", "the name of a file", false,
		func(o *Options, v string) bool { o.Requests = v; return v != "" }},
	{"scenario", "", "NAME[,NAME]", "measure these scenarios only", "names that --list shows", true,
		func(o *Options, v string) bool {
			o.Scenarios = append(o.Scenarios, strings.Split(v, ",")...)
			return v != ""
		}},
	{"list", "", "", "list the scenarios", "true or false", false,
		func(o *Options, v string) bool { return readSwitch(&o.List, v) }},
	{"target", "", "URL", "load this running server instead of starting one", "http://HOST:PORT", false,
		func(o *Options, v string) bool { return readTarget(&o.Target, v) }},
	{"pid", "", "PID", "with --target: the process whose CPU time and memory are shown", "the id of a process", false,
		func(o *Options, v string) bool { return readInt(&o.PID, v, 1, 1<<31-1) }},
	{"rounds", "", "NUMBER", "how often baseline and candidate alternate (default 5; with -c 3; with --curve 1)", "an integer from 1 to 1000", false,
		func(o *Options, v string) bool { return readInt(&o.Rounds, v, 1, 1000) }},
	{"duration", "", "DURATION", "how long a round counts (default 400ms; with --rate and --curve 2s; with -c fitted to 1 minute)", "a duration from 10ms to 1h", false,
		func(o *Options, v string) bool { return readDuration(&o.Duration, v) }},
	{"connections", "", "NUMBER", "how many connections send requests (default 64)", "an integer from 1 to 10000", false,
		func(o *Options, v string) bool { return readInt(&o.Connections, v, 1, 10_000) }},
	{"rate", "", "RATE", "send at a constant rate: requests a second, or a share of capacity such as 80%", "a number of requests a second, or a share from 1% to 200%,", false,
		func(o *Options, v string) bool { return readRate(&o.Rate, v) }},
	{"curve", "", "", "latency at 10 % to 120 % of capacity", "true or false", false,
		func(o *Options, v string) bool { return readSwitch(&o.Curve, v) }},
	{"json", "", "FILE", "write the result as JSON", "the name of a file", false,
		func(o *Options, v string) bool { o.JSON = v; return v != "" }},
	{"plot", "", "FILE", "draw the result as SVG", "the name of a file that ends in .svg", false,
		func(o *Options, v string) bool { o.Plot = v; return strings.EqualFold(filepath.Ext(v), ".svg") }},
	{"help", "h", "", "print this text", "true or false", false,
		func(o *Options, v string) bool { return readSwitch(&o.Help, v) }},
}

// Usage is the text that mockserver bench -h prints.
func Usage() string {
	var b strings.Builder
	b.WriteString("usage: mockserver bench [FILE...] [FLAGS] [-- FLAGS OF THE SERVER]\n\n" +
		"Starts the server on this machine, checks its responses, loads it and a bare fasthttp server\n" +
		"with a fixed response in turn, and prints what a request costs.\n\nflags:\n")
	for _, f := range flags {
		name := "    --" + f.name
		if f.short != "" {
			name = "-" + f.short + ", --" + f.name
		}
		if f.value != "" {
			name += " " + f.value
		}
		fmt.Fprintf(&b, "  %-27s %s\n", name, f.doc)
	}
	b.WriteString("\nArguments after -- are passed to the server that is started: mockserver bench -c api.yml -- --access-log.\n" +
		"Variables that configure the server (CONFIG, PORT, MOCKSERVER_… and so on) are ignored. docs/bench.md explains the figures.\n" +
		"\nexample: mockserver bench api.yml --rate 80%\n")
	return b.String()
}

// ReadOptions reads the arguments behind "bench". The error names everything that
// is wrong with them, a line each. Help asked for is given whatever else is wrong.
func ReadOptions(args []string) (Options, error) {
	o := Options{}
	r := flagReader{options: &o, given: map[string]string{}}
	r.read(args)
	if o.Help {
		return o, nil
	}
	if len(r.errs) == 0 {
		r.together()
	}
	if err := errors.Join(r.errs...); err != nil {
		return o, err
	}
	o.defaults()
	return o, nil
}

// flagReader reads the command line as package config reads that of the server.
type flagReader struct {
	options *Options
	given   map[string]string // name of each flag given, and how it was spelt
	errs    []error
}

func (r *flagReader) wrong(format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf(format, args...))
}

func (r *flagReader) read(args []string) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			r.options.Server = args
			return
		case len(arg) > 1 && arg[0] == '-':
			args = r.flag(arg, args)
		default:
			r.word(arg)
		}
	}
}

// word takes a file, as --config does.
func (r *flagReader) word(word string) {
	if !config.IsPath(word) {
		r.wrong("%q: no such file or directory; a flag's value stands after its flag", word)
		return
	}
	r.given["config"] = word
	r.options.Config = append(r.options.Config, word)
}

// flag takes a flag, and its value from the arguments behind it.
func (r *flagReader) flag(arg string, behind []string) []string {
	name, value, attached := strings.Cut(arg, "=")
	f, ok := flagNamed(name)
	if !ok {
		r.wrong("%s: no such flag%s; mockserver bench -h lists them", name, flagHint(name))
		return behind
	}
	if first, again := r.given[f.name]; again && !f.several {
		r.wrong("%s: given twice, first as %s", name, first)
	}
	r.given[f.name] = name
	switch {
	case attached:
	case f.value == "":
		value = "true"
	case len(behind) == 0 || isFlag(behind[0]):
		r.wrong("%s: its value is missing; %s is accepted", name, f.accepts)
		return behind
	default:
		value, behind = behind[0], behind[1:]
	}
	if !f.set(r.options, value) {
		r.wrong("%s: %q is not accepted; %s is", name, value, f.accepts)
	}
	return behind
}

// together checks what flags mean beside each other.
func (r *flagReader) together() {
	o := r.options
	excluded := func(a bool, nameA string, b bool, nameB string) {
		if a && b {
			r.wrong("%s and %s exclude each other", nameA, nameB)
		}
	}
	excluded(len(o.Config) > 0, "--config", o.Target != "", "--target")
	excluded(len(o.Config) > 0, "--config", len(o.Scenarios) > 0, "--scenario")
	excluded(o.Rate.given(), "--rate", o.Curve, "--curve")
	excluded(len(o.Server) > 0, "flags of the server", o.Target != "", "--target")
	needs := func(a bool, nameA string, b bool, nameB string) {
		if a && !b {
			r.wrong("%s is of use with %s only", nameA, nameB)
		}
	}
	needs(o.Endpoint != "", "--endpoint", len(o.Config) > 0, "--config")
	needs(o.Requests != "", "--requests", len(o.Config) > 0, "--config")
	needs(o.PID != 0, "--pid", o.Target != "", "--target")
	names := scenarioNames()
	for _, name := range o.Scenarios {
		if !slices.Contains(names, name) {
			r.wrong("--scenario: no scenario is called %q%s; there are %s", name, wording.DidYouMean(name, names), strings.Join(names, ", "))
		}
	}
	for _, file := range []string{o.JSON, o.Plot} {
		if err := writable(file); err != nil {
			r.wrong("%v", err)
		}
	}
}

// defaults sets what was not given, but for the duration, which the endpoints of a
// configuration share.
func (o *Options) defaults() {
	switch {
	case o.Rounds != 0:
	case o.Curve:
		o.Rounds = 1
	case len(o.Config) > 0:
		o.Rounds = 3
	default:
		o.Rounds = 5
	}
	if o.Connections == 0 {
		o.Connections = 64
	}
	switch {
	case o.Duration != 0:
	case o.Curve || o.Rate.given():
		o.Duration = 2 * time.Second
	case len(o.Config) == 0:
		o.Duration = 400 * time.Millisecond
	}
}

func flagNamed(arg string) (flag, bool) {
	name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
	for _, f := range flags {
		if name == f.name || arg == "-"+f.short && f.short != "" {
			return f, true
		}
	}
	return flag{}, false
}

func isFlag(arg string) bool {
	name, _, _ := strings.Cut(arg, "=")
	_, ok := flagNamed(name)
	return ok && strings.HasPrefix(arg, "-") || arg == "--"
}

func flagHint(name string) string {
	var names []string
	for _, f := range flags {
		names = append(names, "--"+f.name)
	}
	word := strings.TrimLeft(name, "-")
	if len(word) < 2 {
		return ""
	}
	return strings.ReplaceAll(wording.DidYouMean("--"+word, names), `"`, "")
}

func readInt(into *int, text string, least, most int) bool {
	n, err := strconv.Atoi(text)
	*into = n
	return err == nil && n >= least && n <= most
}

func readSwitch(into *bool, text string) bool {
	*into = text == "true" || text == "1"
	return *into || text == "false" || text == "0"
}

func readDuration(into *time.Duration, text string) bool {
	d, err := time.ParseDuration(text)
	if err != nil {
		var seconds float64
		seconds, err = strconv.ParseFloat(text, 64)
		d = time.Duration(min(seconds, 1e6) * float64(time.Second))
	}
	*into = d
	return err == nil && d >= 10*time.Millisecond && d <= time.Hour
}

// readRate takes "5000" and "80%".
func readRate(into *Rate, text string) bool {
	number, share := strings.CutSuffix(text, "%")
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if share {
		*into = Rate{Share: n / 100}
		return err == nil && n >= 1 && n <= 200
	}
	*into = Rate{PerSecond: n}
	return err == nil && n >= 1 && n <= 1e7
}

// readTarget takes http://host:port, with nothing behind it, and gives host:port.
func readTarget(into *string, text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return false
	}
	*into = u.Host
	if u.Port() == "" {
		*into += ":80"
	}
	return true
}
