package settings

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"mockserver/internal/flags"
)

// Import contains the arguments of the command import.
type Import struct {
	Help  bool
	Files []string

	Out     string // a directory; "" for standard output
	Report  string // a file; "" for none
	Force   bool   // overwrite files
	Strict  bool   // anything that is not exact is a failure
	Check   bool   // check that the result answers like the source
	Against string // the URL of the original server; "" for none

	Paths     []string      // patterns of paths
	Last      bool          // latencies to the last byte
	Subtract  time.Duration // subtracted from latencies
	EnvFile   string
	Variables map[string]string
}

// importTable contains every flag of import, in the order of its usage.
var importTable = flags.Table[Import]{
	{Name: "out", Short: "o", Value: "DIR", Accepts: "the name of a directory",
		Doc: "write mocks.yml and its files here, instead of printing it",
		Set: func(i *Import, v string) bool { i.Out = v; return v != "" }},
	{Name: "force", Switch: func(i *Import) *bool { return &i.Force },
		Doc: "overwrite files"},
	{Name: "report", Value: "FILE", Accepts: "the name of a file", Text: func(i *Import) *string { return &i.Report },
		Doc: "write the result of each item: a table, or JSON if the name ends with .json"},
	{Name: "strict", Switch: func(i *Import) *bool { return &i.Strict },
		Doc: "exit with 1 if an item is not exact"},
	{Name: "check", Switch: func(i *Import) *bool { return &i.Check },
		Doc: "send the requests of the source to the configuration that was made, and compare the answers"},
	{Name: "against", Value: "URL", Accepts: "an http or https URL",
		Doc: "send the requests of the source to this server as well, and compare its answers",
		Set: func(i *Import, v string) bool {
			i.Against = strings.TrimSuffix(v, "/")
			return strings.HasPrefix(v, "http://") || strings.HasPrefix(v, "https://")
		}},
	{Name: "path", Value: "PATTERN", Several: true, Accepts: "a path such as /users/:id",
		Doc: "recordings and HAR: paths of this form are one endpoint; may be given several times",
		Set: func(i *Import, v string) bool { i.Paths = append(i.Paths, v); return strings.HasPrefix(v, "/") }},
	{Name: "latency", Value: "BYTE", Initial: "first", Accepts: "first or last",
		Doc: "recordings and HAR: a latency is the time to this byte: first or last",
		Set: func(i *Import, v string) bool { i.Last = v == "last"; return v == "first" || v == "last" }},
	{Name: "subtract", Value: "DURATION", Accepts: "a duration, such as 2ms",
		Doc: "recordings and HAR: subtract this from latencies, for the network",
		Set: func(i *Import, v string) bool { return flags.Duration(&i.Subtract, v) }},
	{Name: "env", Value: "FILE", Accepts: "the name of a file", Text: func(i *Import) *string { return &i.EnvFile },
		Doc: "Postman: an environment with values of variables"},
	{Name: "var", Value: "NAME=VALUE", Several: true, Accepts: "a name, = and a value",
		Doc: "Postman: the value of a variable; may be given several times",
		Set: func(i *Import, v string) bool {
			name, value, ok := strings.Cut(v, "=")
			if i.Variables == nil {
				i.Variables = map[string]string{}
			}
			i.Variables[name] = value
			return ok && name != ""
		}},
	{Name: "help", Short: "h", Switch: func(i *Import) *bool { return &i.Help },
		Doc: "print this text"},
}

// ReadImport reads the arguments after the word import. The error names all invalid flags, one per
// line.
func ReadImport(args []string) (Import, error) {
	i := Import{}
	r := flags.Reader[Import]{Flags: importTable, Into: &i, Help: "mockserver import"}
	r.Word = func(word string) { i.Files = append(i.Files, filepath.Clean(word)) }
	r.Read(args)
	if i.Help {
		return i, nil
	}
	if len(i.Files) == 0 {
		r.Wrong("no file is given; expected the files to import")
	}
	return i, errors.Join(r.Errs...)
}

// ImportUsage returns the text that import -h prints.
func ImportUsage() string {
	var b strings.Builder
	b.WriteString("usage: mockserver import FILE... [FLAGS]\n\nMake a configuration from files of other tools, and from recordings.\n\nflags:\n")
	importTable.Write(&b, 26)
	b.WriteString("\nexample: mockserver import session.har -o mocks && mockserver mocks/mocks.yml\n")
	return b.String()
}
