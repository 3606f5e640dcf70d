package importing

import (
	"errors"
	"path/filepath"
	"strings"

	"mockserver/config/imports/draft"
	"mockserver/internal/flags"
)

// order is the parsed command line.
type order struct {
	help  bool
	files []string

	out     string // a directory; "" for standard output
	report  string // a file; "" for none
	force   bool   // overwrite files
	strict  bool   // anything that is not exact is a failure
	check   bool   // check that the result answers like the source
	against string // the URL of the original server; "" for none
	draft.Options
}

// table contains every flag, in the order of the usage.
var table = flags.Table[order]{
	{Name: "out", Short: "o", Value: "DIR", Accepts: "the name of a directory",
		Doc: "write mocks.yml and its files here, instead of printing it", Text: func(o *order) *string { return &o.out }},
	{Name: "force", Switch: func(o *order) *bool { return &o.force },
		Doc: "overwrite files"},
	{Name: "report", Value: "FILE", Accepts: "the name of a file", Text: func(o *order) *string { return &o.report },
		Doc: "write the result of each item: a table, or JSON if the name ends with .json"},
	{Name: "strict", Switch: func(o *order) *bool { return &o.strict },
		Doc: "exit with 1 if an item is not exact"},
	{Name: "check", Switch: func(o *order) *bool { return &o.check },
		Doc: "send the requests of the source to the configuration that was made, and compare the answers"},
	{Name: "against", Value: "URL", Accepts: "an http or https URL",
		Doc: "send the requests of the source to this server as well, and compare its answers",
		Set: func(o *order, v string) bool {
			o.against = strings.TrimSuffix(v, "/")
			return strings.HasPrefix(v, "http://") || strings.HasPrefix(v, "https://")
		}},
	{Name: "path", Value: "PATTERN", Several: true, Accepts: "a path such as /users/:id",
		Doc: "recordings and HAR: paths of this form are one endpoint; may be given several times",
		Set: func(o *order, v string) bool { o.Paths = append(o.Paths, v); return strings.HasPrefix(v, "/") }},
	{Name: "latency", Value: "BYTE", Initial: "first", Accepts: "first or last",
		Doc: "recordings and HAR: a latency is the time to this byte: first or last",
		Set: func(o *order, v string) bool { o.Last = v == "last"; return v == "first" || v == "last" }},
	{Name: "subtract", Value: "DURATION", Accepts: "a duration, such as 2ms",
		Doc: "recordings and HAR: subtract this from latencies, for the network",
		Set: func(o *order, v string) bool { return flags.Duration(&o.Subtract, v) }},
	{Name: "exact", Switch: func(o *order) *bool { return &o.Exact },
		Doc: "recordings: send a stream as it was recorded, instead of with the distribution of its times"},
	{Name: "env", Value: "FILE", Accepts: "the name of a file", Text: func(o *order) *string { return &o.EnvFile },
		Doc: "Postman: an environment with values of variables"},
	{Name: "var", Value: "NAME=VALUE", Several: true, Accepts: "a name, = and a value",
		Doc: "Postman: the value of a variable; may be given several times",
		Set: func(o *order, v string) bool {
			name, value, ok := strings.Cut(v, "=")
			if o.Variables == nil {
				o.Variables = map[string]string{}
			}
			o.Variables[name] = value
			return ok && name != ""
		}},
	{Name: "global-response-templating", Switch: func(o *order) *bool { return &o.Templated },
		Doc: "WireMock: every response is a template, as with WireMock's flag of this name"},
	{Name: "help", Short: "h", Switch: func(o *order) *bool { return &o.help },
		Doc: "print this text"},
}

// orderOf reads the arguments after the word import. The error names all invalid flags, one per line;
// it does not count if help is wanted.
func orderOf(args []string) (order, error) {
	o := order{}
	r := flags.Reader[order]{Flags: table, Into: &o, Help: "mockserver import"}
	r.Word = func(word string) { o.files = append(o.files, filepath.Clean(word)) }
	r.Read(args)
	if len(o.files) == 0 {
		r.Wrong("no file is given; expected the files to import")
	}
	return o, errors.Join(r.Errs...)
}

// Usage returns the text that import -h prints.
func Usage() string {
	var b strings.Builder
	b.WriteString("usage: mockserver import FILE... [FLAGS]\n\nMake a configuration from files of other tools, and from recordings.\n\nflags:\n")
	table.Write(&b, 26)
	b.WriteString("\nexample: mockserver import session.har -o mocks && mockserver mocks/mocks.yml\n")
	return b.String()
}
