package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Settings are the settings of the process: flags, else environment variables,
// else defaults.
type Settings struct {
	Command string // what to do: "serve", or another of the commands that Usage lists
	HelpOf  string // of "help", the command that is asked about; "" for the program

	Config []string // the configuration, files and directories; none for the default file
	Mocks  string   // a further file or directory, joined after Config
	Format string   // of the log: "println" or "json"
	Export string   // the form of what export prints: "yaml" or "json"

	Host string // the address to listen on, without a port
	Port int    // 0 takes a free one

	UnmatchedStatus int // answers every request that nothing matches; 0 for 404 and 405
	NoCORS          bool
	TrustForwarded  bool // X-Forwarded-For names the client, for rate limits
	AccessLog       bool
	MaxBody         int           // bytes of a request body
	MaxMessage      int           // bytes of a WebSocket message
	MaxResponse     int           // bytes of a text that a template makes
	Validate        bool          // hold requests against the OpenAPI documents
	AllowRemoteRefs bool          // those may refer to others by http and https URLs
	Grace           time.Duration // how long stopping waits for requests, and sends webhooks

	MaxPendingWebhooks int    // that may wait
	WebhookStore       string // a directory; "" for none
	NoWebhooks         bool   // none is sent

	Seed      *uint64 // of every random choice; nil has none repeat
	SentryDSN string  // where errors are reported to, as given; "" for nowhere

	Admin         string // host and port of the admin address; "" for none
	AdminToken    string // that requests to it have to bring; "" for none
	JournalSample int    // one in so many unremarkable requests is kept; 0 for none
	JournalSize   int    // bytes that kept requests may take
	// Verdict is which figures are accepted before the timing is not trusted, as
	// verdict.ParseThresholds reads it; "" is the defaults.
	Verdict string

	texts    map[string]string // how each setting was given, by its flag; see Given
	defaults []string          // where the default configuration is looked for, in order
}

// setting is one setting: how it is given, and what it may be.
type setting struct {
	flag    string // long name, without dashes
	short   string // one letter; "" for none
	env     string // "" for none
	initial string // the default as it would be written; "" for none
	value   string // what stands for the value in the usage; "" for a switch
	doc     string
	accepts string // what is accepted, for messages
	set     func(s *Settings, text string) bool
}

// settings is every setting of the process, in the order of the usage.
var settings = []setting{
	{"config", "c", "CONFIG", "", "PATH", "the configuration: a file, a directory of files, or DIR/... to include its subdirectories; several are joined in order", "the name of a file or a directory",
		func(s *Settings, v string) bool { s.Config = append(s.Config, v); return v != "" }},
	{"mocks", "m", "MOCKS", "", "PATH", "an OpenAPI document, a mocks file with what its operations answer, or a further configuration; a file or a directory", "the name of a file or a directory",
		func(s *Settings, v string) bool { s.Mocks = v; return v != "" }},
	{"format", "f", "MOCKSERVER_FORMAT", "println", "FORMAT", "the form of the log: println or json", "println or json",
		func(s *Settings, v string) bool { s.Format = v; return v == "println" || v == "json" }},
	{"port", "p", "PORT", "8000", "PORT", "the port to listen on; 0 takes a free one", "an integer from 0 to 65535",
		func(s *Settings, v string) bool { return readInt(&s.Port, v, 0, 65535) }},
	{"host", "", "HOST", "0.0.0.0", "HOST", "the address to listen on", "an IP address or a host name, without a port",
		func(s *Settings, v string) bool { return readHost(&s.Host, v) }},
	{"unmatched-status", "", "MOCKSERVER_UNMATCHED_STATUS", "", "STATUS", "the status for requests that no endpoint matches, instead of 404 and 405", "an integer from 200 to 599",
		func(s *Settings, v string) bool { return readInt(&s.UnmatchedStatus, v, minStatus, maxStatus) }},
	{"no-cors", "", "MOCKSERVER_NO_CORS", "", "", "add no Access-Control headers; OPTIONS is still answered with Allow", "true or false",
		func(s *Settings, v string) bool { return readSwitch(&s.NoCORS, v) }},
	{"trust-forwarded", "", "MOCKSERVER_TRUST_FORWARDED", "", "", "in rate limits, take the first address of X-Forwarded-For as the client's", "true or false",
		func(s *Settings, v string) bool { return readSwitch(&s.TrustForwarded, v) }},
	{"access-log", "", "MOCKSERVER_ACCESS_LOG", "", "", "log every request", "true or false",
		func(s *Settings, v string) bool { return readSwitch(&s.AccessLog, v) }},
	{"max-body", "", "MOCKSERVER_MAX_BODY", "16MiB", "SIZE", "the largest request body", "a number of bytes above 0, such as 1048576, 64KiB or 16MB,",
		func(s *Settings, v string) bool { return readSize(&s.MaxBody, v) }},
	{"max-message", "", "MOCKSERVER_MAX_MESSAGE", "1MiB", "SIZE", "the largest message that a WebSocket accepts, unless it declares another size", "a number of bytes above 0, such as 1048576, 64KiB or 16MB,",
		func(s *Settings, v string) bool { return readSize(&s.MaxMessage, v) }},
	{"max-response", "", "MOCKSERVER_MAX_RESPONSE", "64MiB", "SIZE", "the largest body, header or message that a template may make; a larger response becomes a 500", "a number of bytes above 0, such as 1048576, 64KiB or 16MB,",
		func(s *Settings, v string) bool { return readSize(&s.MaxResponse, v) }},
	{"validate", "", "MOCKSERVER_VALIDATE", "", "", "check requests against the OpenAPI documents, and answer those that do not match 400, 401, 415 or 422", "true or false",
		func(s *Settings, v string) bool { return readSwitch(&s.Validate, v) }},
	{"allow-remote-refs", "", "MOCKSERVER_ALLOW_REMOTE_REFS", "", "", "let OpenAPI documents refer to others by http and https URLs", "true or false",
		func(s *Settings, v string) bool { return readSwitch(&s.AllowRemoteRefs, v) }},
	{"max-pending-webhooks", "", "MOCKSERVER_MAX_PENDING_WEBHOOKS", "1000000", "NUMBER", "how many webhooks may wait to be sent; further ones are refused", "an integer from 1 to 100000000",
		func(s *Settings, v string) bool { return readInt(&s.MaxPendingWebhooks, v, 1, 100_000_000) }},
	{"webhook-store", "", "MOCKSERVER_WEBHOOK_STORE", "", "DIR", "a directory in which accepted webhooks survive a crash", "the name of a directory",
		func(s *Settings, v string) bool { s.WebhookStore = v; return v != "" }},
	{"no-webhooks", "", "MOCKSERVER_NO_WEBHOOKS", "", "", "send no webhooks; errors in them are still reported", "true or false",
		func(s *Settings, v string) bool { return readSwitch(&s.NoWebhooks, v) }},
	{"seed", "", "MOCKSERVER_SEED", "", "NUMBER", "make every random choice repeat: the n-th request of an endpoint gets the same ones in each run", "an integer from 0 to 18446744073709551615",
		func(s *Settings, v string) bool { return readSeed(&s.Seed, v) }},
	{"grace", "", "MOCKSERVER_GRACE", "10s", "DURATION", "how long stopping waits for requests in progress, and sends webhooks that fall due", "a duration, such as 10s or 500ms, or a number of seconds,",
		func(s *Settings, v string) bool { return readDuration(&s.Grace, v) }},
	// What is no DSN is for the server to warn of: it harms nothing.
	{"sentry-dsn", "", "SENTRY_DSN", "", "DSN", "report panics and the server's own 5xx responses to this Sentry project", "a DSN",
		func(s *Settings, v string) bool { s.SentryDSN = v; return true }},
	{"admin", "", "MOCKSERVER_ADMIN", "", "ADDR", "serve metrics, the journal, runs and a page about them at this address, such as 127.0.0.1:8001", "an address and a port, such as 127.0.0.1:8001 or :8001,",
		func(s *Settings, v string) bool { return readAddress(&s.Admin, v) }},
	{"admin-token", "", "MOCKSERVER_ADMIN_TOKEN", "", "TOKEN", "what requests to the admin address must present; if none is given and the address is not a loopback address, one is generated and logged", "a text of visible ASCII characters without blanks",
		func(s *Settings, v string) bool { return readToken(&s.AdminToken, v) }},
	{"journal-sample", "", "MOCKSERVER_JOURNAL_SAMPLE", "1000", "NUMBER", "for the admin address, keep one of this many unremarkable requests; 1 keeps all, 0 none", "an integer from 0 to 1000000000",
		func(s *Settings, v string) bool { return readInt(&s.JournalSample, v, 0, 1_000_000_000) }},
	{"journal-size", "", "MOCKSERVER_JOURNAL_SIZE", "16MiB", "SIZE", "how much memory the kept requests may take", "a number of bytes above 0, such as 1048576, 64KiB or 16MB,",
		func(s *Settings, v string) bool { return readSize(&s.JournalSize, v) }},
	// Which reasons there are is known to the admin address, which reads it.
	{"verdict", "", "MOCKSERVER_VERDICT", "", "THRESHOLDS", "thresholds above which figures are a reason not to trust the timing: own-p99=2ms,machine=off", "a list of thresholds, such as own-p99=2ms,machine=off",
		func(s *Settings, v string) bool { s.Verdict = v; return true }},
	{"export-format", "", "MOCKSERVER_EXPORT_FORMAT", "yaml", "FORMAT", "the form of what export prints: yaml or json", "yaml or json",
		func(s *Settings, v string) bool { s.Export = v; return v == "yaml" || v == "json" }},
	{"help", "h", "", "", "", "print this text", "true or false",
		func(s *Settings, v string) bool { return readCommand(s, "help", v) }},
	{"version", "v", "", "", "", "print the version", "true or false",
		func(s *Settings, v string) bool { return readCommand(s, "version", v) }},
}

// ReadSettings reads the settings from the arguments behind the program's name
// and from the environment. The error names every flag and variable that is
// wrong, a line each. Help asked for is given whatever else is wrong.
func ReadSettings(args []string, getenv func(string) string) (Settings, error) {
	var s Settings
	for _, row := range settings {
		if row.initial != "" {
			row.set(&s, row.initial)
		}
	}
	r := argReader{settings: &s, given: map[string]string{}}
	r.read(args)
	if s.Command == "" {
		s.Command = "serve"
	}
	if s.Command == "help" {
		s.HelpOf = r.about
		return s, nil
	}
	r.unread(s.Command)
	if s.Command != "version" && s.Command != "schema" {
		r.environment(getenv)
	}
	s.defaults = defaultFiles(getenv)
	return s, errors.Join(r.errs...)
}

// defaultFiles is where the default configuration is looked for.
func defaultFiles(getenv func(string) string) []string {
	const name = "mockserver.yml"
	var files []string
	if dir := getenv("XDG_CONFIG_HOME"); dir != "" {
		files = append(files, filepath.Join(dir, name))
	}
	if home := cmp.Or(getenv("HOME"), getenv("USERPROFILE")); home != "" { // Windows has the latter
		files = append(files, filepath.Join(home, ".config", name))
	}
	return files
}

// Loader reads configurations as the settings say.
func (s Settings) Loader() Loader {
	l := Loader{Validate: s.Validate, AllowRemoteRefs: s.AllowRemoteRefs}
	if s.Seed != nil {
		l.Seed = *s.Seed
	}
	return l
}

// Sources returns the files and directories to load, in order: those given, or else
// the default configuration. The error says where that was looked for, and how to begin.
func (s Settings) Sources() ([]string, error) {
	paths := slices.Clone(s.Config)
	if s.Mocks != "" {
		paths = append(paths, s.Mocks)
	}
	if len(paths) > 0 {
		return paths, nil
	}
	for _, path := range s.defaults {
		// A file that is there and cannot be looked at is for Load to complain of.
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return []string{path}, nil
		}
	}
	looked := "neither XDG_CONFIG_HOME nor HOME says where to look for one"
	if len(s.defaults) > 0 {
		looked = "there is no " + strings.Join(s.defaults, " and no ")
	}
	return nil, fmt.Errorf("no configuration: no file is given, nor --config or --mocks, and %s\n"+
		"to begin, write a file api.yml:\n\n%s\nand run: mockserver api.yml", looked, firstFile)
}

// firstFile is the smallest useful configuration.
const firstFile = `- endpoint:
    path: /hello/:name
    response: {body: '{"hello": "{{path-params.name}}"}'}
`
