package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mockserver/config/settings"
	"mockserver/internal/flags"
	"mockserver/internal/list"
	"mockserver/internal/wording"
)

// Options are the options of a run. ReadOptions reads them from the command line; the program
// sets the last group.
type Options struct {
	Help bool // print Usage, and nothing else
	List bool // list the scenarios

	Config    []string // files and directories whose endpoints are measured; none for the scenarios
	Endpoint  string   // measures only endpoints whose "METHOD /path" contains this text
	Scenarios []string // by name; if empty, the scenarios that suit the measurement

	Rounds      int
	Duration    time.Duration // of one round; 0 selects a duration that suits the measurement
	Connections int
	Rate        Rate // the zero value sends the next request when the last was answered
	Rivals      []Rival

	JSON   string   // a file to write; "" for none
	Server []string // further flags of the server that is started

	Program string   // the executable, which is the server as well
	Version string   // of the program, for the JSON form
	Environ []string // environment of the server, "NAME=value"; settings of the server are removed
}

// Rate is how many requests are sent a second. At most one of its fields is not 0.
type Rate struct {
	PerSecond float64
	Share     float64 // of the capacity that is found first: 0.5 is 50 %
}

func (r Rate) given() bool { return r != Rate{} }

// Rival is a different server, which is loaded at the same time with the same requests.
type Rival struct {
	Name    string
	Command string // for sh; {port} is the port of 127.0.0.1 that it must listen on
}

// portOf is the placeholder for the port in the command of a rival.
const portOf = "{port}"

// table contains all flags, in the order of the usage.
var table = flags.Table[Options]{
	{Name: "config", Short: "c", Value: "PATH", Several: true, Accepts: "the name of a file or a directory",
		Doc: "measure each endpoint of this configuration instead of the scenarios; may be given several times",
		Set: func(o *Options, v string) bool { o.Config = append(o.Config, v); return v != "" }},
	{Name: "endpoint", Value: "TEXT", Accepts: "a text", Text: func(o *Options) *string { return &o.Endpoint },
		Doc: "with -c: only endpoints whose method and path contain this, such as \"GET /users\""},
	{Name: "scenario", Value: "NAME[,NAME]", Several: true, Accepts: "names that --list shows",
		Doc: "measure these scenarios only",
		Set: func(o *Options, v string) bool {
			o.Scenarios = append(o.Scenarios, strings.Split(v, ",")...)
			return v != ""
		}},
	{Name: "list", Switch: func(o *Options) *bool { return &o.List },
		Doc: "list the scenarios"},
	{Name: "rounds", Value: "NUMBER", Accepts: "an integer from 1 to 1000",
		Doc: "how often each thing is measured (default 5; with --rival 8, with -c 3)",
		Set: func(o *Options, v string) bool { return flags.Int(&o.Rounds, v, 1, 1000) }},
	{Name: "duration", Value: "DURATION", Accepts: "a duration from 10ms to 1h",
		Doc: "how long a round counts (default 400ms; with --rival and --rate 2s; with -c fitted to 1 minute)",
		Set: func(o *Options, v string) bool {
			return flags.Duration(&o.Duration, v) && o.Duration >= 10*time.Millisecond && o.Duration <= time.Hour
		}},
	{Name: "connections", Value: "NUMBER", Accepts: "an integer from 1 to 10000",
		Doc: "how many connections send requests (default 64)",
		Set: func(o *Options, v string) bool { return flags.Int(&o.Connections, v, 1, 10_000) }},
	{Name: "rate", Value: "RATE", Accepts: "a number of requests a second, or a share from 1% to 200%",
		Doc: "send at a constant rate: requests a second, or a share of capacity such as 80%",
		Set: func(o *Options, v string) bool { return readRate(&o.Rate, v) }},
	{Name: "rival", Value: "NAME=COMMAND", Several: true, Accepts: "NAME=COMMAND with " + portOf + " in the command",
		Doc: "compare with another server, started with this command for sh: it listens on 127.0.0.1:" + portOf + " and answers the same requests",
		Set: func(o *Options, v string) bool {
			name, command, _ := strings.Cut(v, "=")
			o.Rivals = append(o.Rivals, Rival{strings.TrimSpace(name), command})
			return strings.TrimSpace(name) != "" && strings.Contains(command, portOf)
		}},
	{Name: "json", Value: "FILE", Accepts: "the name of a file", Text: func(o *Options) *string { return &o.JSON },
		Doc: "write the result as JSON"},
	{Name: "help", Short: "h", Switch: func(o *Options) *bool { return &o.Help },
		Doc: "print this text"},
}

// Usage returns the text that mockserver bench -h prints.
func Usage() string {
	var b strings.Builder
	b.WriteString("usage: mockserver bench [FILE...] [FLAGS] [-- FLAGS OF THE SERVER]\n\n" +
		"Starts the server on this machine, checks its responses, loads it and a bare fasthttp server\n" +
		"with a fixed response, and prints what a request costs.\n\nflags:\n")
	table.Write(&b, 27)
	b.WriteString("\nArguments after -- are passed to the server that is started: mockserver bench -c api.yml -- --access-log.\n" +
		"Variables that configure the server (CONFIG, PORT, MOCKSERVER_… and so on) are ignored. docs/bench.md explains the figures.\n" +
		"\nexample: mockserver bench api.yml --rate 80%\n")
	return b.String()
}

// ReadOptions reads the arguments after "bench". The error lists every fault in them, one per line;
// with --help there is no error.
func ReadOptions(args []string) (Options, error) {
	o := Options{}
	r := &flags.Reader[Options]{Flags: table, Into: &o, Help: "mockserver bench"}
	r.Rest = func(args []string) { o.Server = args }
	r.Word = func(word string) {
		if settings.IsPath(word) {
			r.Give("config", word)
		} else {
			r.Wrong("%q: no such file or directory; the value of a flag follows the flag", word)
		}
	}
	r.Read(args)
	if o.Help {
		return o, nil
	}
	if len(r.Errs) == 0 {
		o.checkCombinations(r.Wrong)
	}
	if err := errors.Join(r.Errs...); err != nil {
		return o, err
	}
	o.defaults()
	return o, nil
}

// checkCombinations checks the flags against each other.
func (o *Options) checkCombinations(wrong func(format string, args ...any)) {
	excluded := func(a bool, nameA string, b bool, nameB string) {
		if a && b {
			wrong("%s and %s exclude each other", nameA, nameB)
		}
	}
	excluded(len(o.Config) > 0, "--config", len(o.Scenarios) > 0, "--scenario")
	excluded(len(o.Rivals) > 0, "--rival", o.Rate.given(), "--rate")
	streams := slices.Contains(o.Scenarios, nameOfStream)
	excluded(streams, "--scenario stream", o.Rate.given(), "--rate")
	excluded(streams, "--scenario stream", len(o.Rivals) > 0, "--rival")
	if o.Endpoint != "" && len(o.Config) == 0 {
		wrong("--endpoint can only be used with --config")
	}
	names := []string{nameOfBaseline, nameOfCandidate, nameOfAlone}
	for _, rival := range o.Rivals {
		if slices.Contains(names, rival.Name) {
			wrong("--rival: two servers are named %q", rival.Name)
		}
		names = append(names, rival.Name)
	}
	o.checkScenarios(wrong)
	if err := writable(o.JSON); err != nil {
		wrong("%v", err)
	}
}

func (o *Options) checkScenarios(wrong func(format string, args ...any)) {
	names := list.Map(scenarios(), func(s scenario) string { return s.Name })
	for _, name := range o.Scenarios {
		if !slices.Contains(names, name) {
			wrong("--scenario: no scenario is named %q%s; there are %s", name, wording.DidYouMean(name, names), strings.Join(names, ", "))
		}
	}
}

// defaults sets the options that were not given. For a closed loop over the endpoints of a
// configuration, fit sets the duration.
func (o *Options) defaults() {
	switch {
	case o.Rounds != 0:
	case len(o.Config) > 0:
		o.Rounds = 3
	case len(o.Rivals) > 0:
		o.Rounds = 8
	default:
		o.Rounds = 5
	}
	if o.Connections == 0 {
		o.Connections = 64
	}
	switch {
	case o.Duration != 0:
	case o.Rate.given() || len(o.Rivals) > 0 && len(o.Config) == 0:
		o.Duration = 2 * time.Second
	case len(o.Config) == 0:
		o.Duration = 400 * time.Millisecond
	}
}

// readRate reads a rate such as "5000" or "80%".
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

// writable returns an error, before anything is measured, if a result could not be written to path;
// "" means no file.
func writable(path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file, so no result can be written to it", path)
	}
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("%s: directory %s does not exist", path, dir)
	}
	return nil
}
