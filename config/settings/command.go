package settings

import (
	"fmt"
	"slices"
	"strings"

	"mockserver/internal/flags"
	"mockserver/internal/list"
)

// command is a command of the program.
type command struct {
	name, doc string
	files     bool     // it accepts files as arguments
	flags     []string // listed in its usage, in addition to --help
	example   string   // "" for none
}

// configFlags are the flags that determine which configuration is read.
var configFlags = []string{"config", "mocks", "format", "validate", "strict-documents", "allow-remote-refs", "base-path"}

var serveFlags = list.Map(ServeFlags(), func(f flags.Flag[Settings]) string { return f.Name })

// commonFlags are the flags that the usage of the program lists.
var commonFlags = []string{"config", "mocks", "port", "format", "access-log", "validate", "seed", "admin", "help", "version"}

// commands are all commands, in the order of the usage. The commands run, compare, bench and
// import have their own usages.
var commands = []command{
	{"serve", "answer requests (the default)", true, serveFlags, "mockserver api.yml --port 8080"},
	{"validate", "check the configuration and report its errors", true, configFlags, "mockserver validate api.yml more/"},
	{"export", "print what the configuration serves as an OpenAPI document", true, []string{"config", "mocks", "format", "strict-documents", "allow-remote-refs", "base-path", "export-format"}, "mockserver export api.yml > openapi.yml"},
	{"schema", "print the JSON Schema of the configuration, for editors", false, nil, "mockserver schema > mockserver.schema.json"},
	{"ca", "print the certificate of the CA of --tls auto, and make the CA if there is none yet", false, []string{"tls-dir", "format"}, "mockserver ca --tls-dir tls > ca.pem"},
	{"import", "make a configuration from files of other tools and from recordings: mockserver import -h", true, nil, ""},
	{"run", "begin a run, run a load test, and write the report of the run: mockserver run -h", true, nil, ""},
	{"compare", "compare the reports of two runs: mockserver compare -h", false, nil, ""},
	{"bench", "measure what the server can do on this machine: mockserver bench -h", true, nil, ""},
	{"health", "ask the server that runs with these settings whether it answers: exit code 0 if so, otherwise 1", false, []string{"host", "port", "tls-only", "format"}, "mockserver health --port 8080"},
	{"version", "print the version", false, nil, "mockserver version"},
	{"help", "print this text, all flags, or the help of one command: mockserver help all", false, nil, "mockserver help validate"},
}

// ServeFlags returns the flags of serve: all except those of other commands.
func ServeFlags() flags.Table[Settings] {
	return slices.DeleteFunc(slices.Clone(table), func(f flags.Flag[Settings]) bool {
		return f.Env == "" || f.Name == "export-format"
	})
}

// commandNamed returns a command by name; nil if there is none.
func commandNamed(name string) *command {
	if i := slices.IndexFunc(commands, func(c command) bool { return c.name == name }); i >= 0 {
		return &commands[i]
	}
	return nil
}

func commandNames() []string {
	return list.Map(commands, func(c command) string { return c.name })
}

// Usage returns the text that -h prints after a command: its flags and an example. For "" it
// is the usage of the whole program, with the most common flags, for "all" with all of them in groups.
func Usage(name string) string {
	var b strings.Builder
	c := commandNamed(name)
	if c == nil {
		b.WriteString("usage: mockserver [COMMAND] [FILE...] [FLAGS]\n\ncommands:\n")
		for _, c := range commands {
			fmt.Fprintf(&b, "  %-10s %s\n", c.name, c.doc)
		}
		b.WriteString("\nA FILE is the same as --config FILE. mockserver -h all lists all flags, mockserver COMMAND -h those of a command.\n")
		writeFlags(&b, name == "all", func(f flags.Flag[Settings]) bool { return name == "all" || slices.Contains(commonFlags, f.Name) })
	} else {
		b.WriteString("usage: mockserver " + c.name)
		if c.files {
			b.WriteString(" [FILE...]")
		}
		b.WriteString(" [FLAGS]\n\n" + strings.ToUpper(c.doc[:1]) + c.doc[1:] + ".\n")
		writeFlags(&b, name == "serve", func(f flags.Flag[Settings]) bool { return f.Name == "help" || slices.Contains(c.flags, f.Name) })
	}
	if c == nil || c.files {
		b.WriteString("\nWithout FILE, --config and --mocks the configuration is $XDG_CONFIG_HOME/mockserver.yml,\n" +
			"otherwise ~/.config/mockserver.yml.\n")
	}
	if c != nil {
		b.WriteString("\nexample: " + c.example + "\n")
	}
	return b.String()
}

// writeFlags writes a list of flags, which may have headings.
func writeFlags(b *strings.Builder, grouped bool, listed func(f flags.Flag[Settings]) bool) {
	b.WriteString("\nflags (a flag takes precedence over its variable, a variable over the default):\n")
	list := slices.DeleteFunc(slices.Clone(table), func(f flags.Flag[Settings]) bool { return !listed(f) })
	for i := range list {
		if !grouped {
			list[i].Group = ""
		}
	}
	list.Write(b, 33)
}
