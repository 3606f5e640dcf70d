// Package settings reads the settings of the process: flags, environment variables and
// defaults.
package settings

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

	"mockserver/config"
	"mockserver/config/item"
	"mockserver/internal/flags"
)

// Settings are the settings of the process, from flags, otherwise environment variables, otherwise
// defaults.
type Settings struct {
	Command string // "serve", or another command that Usage lists
	HelpOf  string // for "help": the command to show help about; "" for the program

	Config   []string // the configuration: files and directories; none for the default file
	Mocks    string   // another file or directory, joined after Config
	Upstream string   // the URL of a server that gets all requests that no endpoint answers; "" for none
	Format   string   // the log format: "println" or "json"
	Export   string   // the output format of export: "yaml" or "json"

	Host string // the address to listen on, without a port
	Port int    // 0 takes a free port
	// ReusePort lets several processes of this machine listen on the port, which shares connections
	// among them.
	ReusePort bool

	UnmatchedStatus int // status for all unmatched requests; 0 for 404 and 405
	NoCORS          bool
	TrustForwarded  bool // rate limits use X-Forwarded-For as the client's address
	AccessLog       bool
	ServerTiming    bool
	MaxBody         int    // maximum size of a request body in bytes
	MaxMessage      int    // maximum size of a WebSocket message in bytes
	MaxResponse     int    // maximum size of a text made by a template, in bytes
	Validate        bool   // validate requests against the OpenAPI documents
	StrictDocuments bool   // refuse documents with faults
	AllowRemoteRefs bool   // documents may refer to others by http and https URLs
	Dynamic         bool   // operations of documents generate a new body for each request
	BasePath        string // prefix of the paths of documents, instead of their own; "" for their own
	NoHTTP2         bool   // clients that speak HTTP/2 are refused
	// MaxConnectionAge is how long a connection is used; 0 is without limit.
	MaxConnectionAge time.Duration
	Grace            time.Duration // how long stopping waits for requests, and sends webhooks

	MaxPendingWebhooks int    // maximum number of waiting webhooks
	WebhookStore       string // a directory, or a URL of NATS; "" for none
	SharedState        string // a URL of NATS; "" for none
	NoWebhooks         bool   // webhooks are not sent
	State              string // a file in which changes of rows are kept; "" for none
	StateMemory        int    // memory of all changes of rows, in bytes
	NoLatency          bool   // latencies are not waited for
	NoFaults           bool   // faults do not happen

	Seed      *uint64 // for all random choices; nil makes them random
	SentryDSN string  // where errors are reported, as given; "" for nowhere

	TLS TLS // of the port

	Admin         string // host and port of the admin address; "" for none
	AdminToken    string // the token for requests to it; "" for none
	AdminTLS      TLS    // of the admin address; only certificates and client CA
	JournalSample int    // one out of this many unremarkable requests is stored; 0 for none
	JournalSize   int    // maximum size of the stored requests in bytes
	// Verdict is the limits above which the timing is not trusted, in the form that
	// verdict.ParseThresholds accepts; "" for the defaults.
	Verdict string
	// Fleet is the replicas of the fleet, in the form that fleet.ParseMembers accepts; "" for none.
	Fleet       string
	FleetExpect int // how many replicas there should be; 0 for as many as there are
	// FleetCA is a file with the CA of the admin addresses of the other replicas; "" for the CA that
	// --admin-tls auto makes, or those of the system.
	FleetCA string

	texts    map[string]string // how each setting was given, by flag name; see Given
	defaults []string          // where the default configuration is searched for, in order
}

// table contains every setting of the process, in the order of the usage.
var table = flags.Table[Settings]{
	{Name: "config", Short: "c", Env: "CONFIG", Value: "PATH", Several: true, Accepts: "the name of a file or a directory",
		Doc: "the configuration: a file, a directory of files, or DIR/... to include its subdirectories; several are joined in order",
		Set: func(s *Settings, v string) bool { s.Config = append(s.Config, v); return v != "" }},
	{Name: "mocks", Short: "m", Env: "MOCKS", Value: "PATH", Accepts: "the name of a file or a directory",
		Doc: "an OpenAPI document, a mocks file with what its operations answer, or a further configuration; a file or a directory",
		Set: func(s *Settings, v string) bool { s.Mocks = v; return v != "" }},
	{Name: "upstream", Env: "MOCKSERVER_UPSTREAM", Value: "URL", Accepts: "an http or https URL without user, query and fragment",
		Doc: "pass requests that no endpoint answers on to this server, the upstream named default",
		Set: func(s *Settings, v string) bool { s.Upstream = v; return item.UpstreamFault(v) == "" }},
	{Name: "format", Short: "f", Env: "MOCKSERVER_FORMAT", Initial: "println", Value: "FORMAT", Accepts: "println or json",
		Doc: "the form of the log: println or json",
		Set: func(s *Settings, v string) bool { s.Format = v; return v == "println" || v == "json" }},
	{Name: "port", Short: "p", Env: "PORT", Initial: "8000", Value: "PORT", Accepts: "an integer from 0 to 65535",
		Doc: "the port to listen on; 0 takes a free one",
		Set: func(s *Settings, v string) bool { return flags.Int(&s.Port, v, 0, 65535) }},
	{Name: "host", Env: "HOST", Initial: "0.0.0.0", Value: "HOST", Accepts: "an IP address or a host name, without a port",
		Doc: "the address to listen on",
		Set: func(s *Settings, v string) bool { return readHost(&s.Host, v) }},
	{Name: "reuse-port", Env: "MOCKSERVER_REUSE_PORT", Accepts: "true or false",
		Doc: "let further processes on this machine listen on the same port; the system shares connections among them",
		Set: func(s *Settings, v string) bool { return flags.Switch(&s.ReusePort, v) }},
	{Name: "unmatched-status", Env: "MOCKSERVER_UNMATCHED_STATUS", Value: "STATUS", Accepts: "an integer from 200 to 599",
		Doc: "the status for requests that no endpoint matches, instead of 404 and 405",
		Set: func(s *Settings, v string) bool { return flags.Int(&s.UnmatchedStatus, v, 200, 599) }},
	{Name: "no-cors", Env: "MOCKSERVER_NO_CORS", Accepts: "true or false",
		Doc: "add no Access-Control headers; OPTIONS is still answered with Allow",
		Set: func(s *Settings, v string) bool { return flags.Switch(&s.NoCORS, v) }},
	{Name: "trust-forwarded", Env: "MOCKSERVER_TRUST_FORWARDED", Accepts: "true or false",
		Doc: "in rate limits, take the first address of X-Forwarded-For as the client's",
		Set: func(s *Settings, v string) bool { return flags.Switch(&s.TrustForwarded, v) }},
	{Name: "access-log", Env: "MOCKSERVER_ACCESS_LOG", Accepts: "true or false",
		Doc: "log every request",
		Set: func(s *Settings, v string) bool { return flags.Switch(&s.AccessLog, v) }},
	{Name: "server-timing", Env: "MOCKSERVER_SERVER_TIMING", Accepts: "true or false",
		Doc: "say in a Server-Timing header what the time of each response was spent on",
		Set: func(s *Settings, v string) bool { return flags.Switch(&s.ServerTiming, v) }},
	{Name: "max-body", Env: "MOCKSERVER_MAX_BODY", Initial: "16MiB", Value: "SIZE", Accepts: flags.SizeForm,
		Doc: "the largest request body",
		Set: func(s *Settings, v string) bool { return flags.Size(&s.MaxBody, v) }},
	{Name: "max-message", Env: "MOCKSERVER_MAX_MESSAGE", Initial: "1MiB", Value: "SIZE", Accepts: flags.SizeForm,
		Doc: "the largest message that a WebSocket accepts, unless it declares another size",
		Set: func(s *Settings, v string) bool { return flags.Size(&s.MaxMessage, v) }},
	{Name: "max-response", Env: "MOCKSERVER_MAX_RESPONSE", Initial: "64MiB", Value: "SIZE", Accepts: flags.SizeForm,
		Doc: "the largest body, header or message that a template may make; a larger response becomes a 500",
		Set: func(s *Settings, v string) bool { return flags.Size(&s.MaxResponse, v) }},
	{Name: "validate", Env: "MOCKSERVER_VALIDATE", Accepts: "true or false",
		Doc: "check requests against the OpenAPI documents, and answer those that do not match 400, 401, 415 or 422",
		Set: func(s *Settings, v string) bool { return flags.Switch(&s.Validate, v) }},
	{Name: "strict-documents", Env: "MOCKSERVER_STRICT_DOCUMENTS", Accepts: "true or false",
		Doc: "refuse OpenAPI documents that have faults, instead of serving what can be served of them",
		Set: func(s *Settings, v string) bool { return flags.Switch(&s.StrictDocuments, v) }},
	{Name: "allow-remote-refs", Env: "MOCKSERVER_ALLOW_REMOTE_REFS", Accepts: "true or false",
		Doc: "let OpenAPI documents refer to others by http and https URLs",
		Set: func(s *Settings, v string) bool { return flags.Switch(&s.AllowRemoteRefs, v) }},
	{Name: "dynamic", Env: "MOCKSERVER_DYNAMIC", Accepts: "true or false",
		Doc: "generate the bodies of OpenAPI documents anew for each request, unless it prefers otherwise",
		Set: func(s *Settings, v string) bool { return flags.Switch(&s.Dynamic, v) }},
	{Name: "base-path", Env: "MOCKSERVER_BASE_PATH", Value: "PATH",
		Accepts: "a path that begins with a slash, such as /v2, without a query, blanks or placeholders; / is none",
		Doc:     "serve the operations of OpenAPI documents under this path, instead of that of their servers; / is none",
		Set:     func(s *Settings, v string) bool { s.BasePath = v; return config.BasePathFault(v) == "" }},
	{Name: "max-pending-webhooks", Env: "MOCKSERVER_MAX_PENDING_WEBHOOKS", Initial: "1000000", Value: "NUMBER", Accepts: "an integer from 1 to 100000000",
		Doc: "how many webhooks may wait to be sent; further ones are refused",
		Set: func(s *Settings, v string) bool { return flags.Int(&s.MaxPendingWebhooks, v, 1, 100_000_000) }},
	{Name: "webhook-store", Env: "MOCKSERVER_WEBHOOK_STORE", Value: "STORE", Accepts: "the name of a directory, or nats://HOST:PORT",
		Doc: "where accepted webhooks survive a crash: a directory, or nats://HOST:PORT, from where other replicas send them",
		Set: func(s *Settings, v string) bool { return readWebhookStore(&s.WebhookStore, v) }},
	{Name: "shared-state", Env: "MOCKSERVER_SHARED_STATE", Value: "URL", Accepts: "nats://HOST:PORT",
		Doc: "where replicas count rate limits with scope: shared together: nats://HOST:PORT",
		Set: func(s *Settings, v string) bool { s.SharedState = v; return isNATS(v) }},
	{Name: "state", Env: "MOCKSERVER_STATE", Value: "FILE", Accepts: "the name of a file",
		Doc: "read the changes of rows from this file at the start, and write them to it at the end",
		Set: func(s *Settings, v string) bool { s.State = v; return v != "" }},
	{Name: "state-memory", Env: "MOCKSERVER_STATE_MEMORY", Initial: "1GiB", Value: "SIZE", Accepts: flags.SizeForm,
		Doc: "how much memory the changes of rows may take",
		Set: func(s *Settings, v string) bool { return flags.Size(&s.StateMemory, v) }},
	{Name: "no-webhooks", Env: "MOCKSERVER_NO_WEBHOOKS", Accepts: "true or false",
		Doc: "send no webhooks; errors in them are still reported",
		Set: func(s *Settings, v string) bool { return flags.Switch(&s.NoWebhooks, v) }},
	{Name: "no-latency", Env: "MOCKSERVER_NO_LATENCY", Accepts: "true or false",
		Doc: "wait for no latency; what it declares to fail or to time out does so at once",
		Set: func(s *Settings, v string) bool { return flags.Switch(&s.NoLatency, v) }},
	{Name: "no-faults", Env: "MOCKSERVER_NO_FAULTS", Accepts: "true or false",
		Doc: "have no fault happen: every response arrives whole",
		Set: func(s *Settings, v string) bool { return flags.Switch(&s.NoFaults, v) }},
	{Name: "seed", Env: "MOCKSERVER_SEED", Value: "NUMBER", Accepts: "an integer from 0 to 18446744073709551615",
		Doc: "make every random choice repeat: the n-th request of an endpoint gets the same ones in each run",
		Set: func(s *Settings, v string) bool { return readSeed(&s.Seed, v) }},
	{Name: "no-http2", Env: "MOCKSERVER_NO_HTTP2", Accepts: "true or false",
		Doc: "speak HTTP/1.1 only",
		Set: func(s *Settings, v string) bool { return flags.Switch(&s.NoHTTP2, v) }},
	{Name: "max-connection-age", Env: "MOCKSERVER_MAX_CONNECTION_AGE", Initial: "0s", Value: "DURATION", Accepts: "a duration, such as 5m or 90s, or a number of seconds",
		Doc: "how long a connection is used, give or take a tenth, before its client is told to open another; 0 is without limit",
		Set: func(s *Settings, v string) bool { return flags.Duration(&s.MaxConnectionAge, v) }},
	{Name: "grace", Env: "MOCKSERVER_GRACE", Initial: "10s", Value: "DURATION", Accepts: "a duration, such as 10s or 500ms, or a number of seconds",
		Doc: "how long stopping waits for requests in progress, and sends webhooks that fall due",
		Set: func(s *Settings, v string) bool { return flags.Duration(&s.Grace, v) }},
	// The server warns about an invalid DSN: it does no harm.
	{Name: "sentry-dsn", Env: "SENTRY_DSN", Value: "DSN", Secret: true, Accepts: "a DSN",
		Doc: "report panics and the server's own 5xx responses to this Sentry project",
		Set: func(s *Settings, v string) bool { s.SentryDSN = v; return true }},
	{Name: "tls", Env: "MOCKSERVER_TLS", Value: "auto", Accepts: "auto; --tls-only refuses clear text",
		Doc: "speak TLS on the port, beside clear text, with certificates made by a CA of its own: mockserver ca prints it",
		Set: func(s *Settings, v string) bool { return readAuto(&s.TLS.Auto, v) }},
	{Name: "tls-dir", Env: "MOCKSERVER_TLS_DIR", Value: "DIR", Accepts: "the name of a directory",
		Doc: "keep the CA of --tls auto in this directory, for the next start and for other replicas",
		Set: func(s *Settings, v string) bool { s.TLS.Dir = v; return v != "" }},
	{Name: "tls-cert", Env: "MOCKSERVER_TLS_CERT", Value: "FILE", Several: true, Accepts: "the name of a file; several are separated by commas",
		Doc: "speak TLS on the port with this certificate (PEM); several are chosen by the host that the client names, the first one otherwise",
		Set: func(s *Settings, v string) bool { return readList(&s.TLS.Certs, v) }},
	{Name: "tls-key", Env: "MOCKSERVER_TLS_KEY", Value: "FILE", Several: true, Accepts: "the name of a file; several are separated by commas",
		Doc: "the key of the certificate in the same place",
		Set: func(s *Settings, v string) bool { return readList(&s.TLS.Keys, v) }},
	{Name: "tls-only", Env: "MOCKSERVER_TLS_ONLY", Accepts: "true or false",
		Doc: "refuse requests in clear text, with status 400",
		Set: func(s *Settings, v string) bool { return flags.Switch(&s.TLS.Only, v) }},
	{Name: "tls-min", Env: "MOCKSERVER_TLS_MIN", Initial: "1.2", Value: "VERSION", Accepts: "1.2 or 1.3",
		Doc: "the lowest version of TLS that is spoken",
		Set: func(s *Settings, v string) bool { s.TLS.Min = v; return v == "1.2" || v == "1.3" }},
	{Name: "tls-client-ca", Env: "MOCKSERVER_TLS_CLIENT_CA", Value: "FILE", Accepts: "the name of a file",
		Doc: "ask clients for a certificate of one of the CAs in this file (PEM)",
		Set: func(s *Settings, v string) bool { s.TLS.ClientCA = v; return v != "" }},
	{Name: "tls-client", Env: "MOCKSERVER_TLS_CLIENT", Value: "MODE", Accepts: "required or optional",
		Doc: "with --tls-client-ca: required, the default, refuses clients without a certificate; optional serves them",
		Set: func(s *Settings, v string) bool { s.TLS.Client = v; return v == "required" || v == "optional" }},
	{Name: "tls-ticket-keys", Env: "MOCKSERVER_TLS_TICKET_KEYS", Value: "FILE", Accepts: "the name of a file",
		Doc: "keys of session tickets, one a line, so that replicas resume each other's sessions",
		Set: func(s *Settings, v string) bool { s.TLS.TicketKeys = v; return v != "" }},
	{Name: "admin", Env: "MOCKSERVER_ADMIN", Value: "ADDR", Accepts: "an address and a port, such as 127.0.0.1:8001 or :8001",
		Doc: "serve metrics, the journal, runs and a page about them at this address, such as 127.0.0.1:8001",
		Set: func(s *Settings, v string) bool { return readAddress(&s.Admin, v) }},
	{Name: "admin-token", Env: "MOCKSERVER_ADMIN_TOKEN", Value: "TOKEN", Secret: true, Accepts: "a text of visible ASCII characters without blanks",
		Doc: "what requests to the admin address must present; if none is given and the address is not a loopback address, one is generated and logged",
		Set: func(s *Settings, v string) bool { return readToken(&s.AdminToken, v) }},
	{Name: "admin-tls", Env: "MOCKSERVER_ADMIN_TLS", Value: "auto", Accepts: "auto",
		Doc: "speak TLS at the admin address, and only that, with the CA of --tls auto",
		Set: func(s *Settings, v string) bool { return readAuto(&s.AdminTLS.Auto, v) }},
	{Name: "admin-tls-cert", Env: "MOCKSERVER_ADMIN_TLS_CERT", Value: "FILE", Accepts: "the name of a file",
		Doc: "speak TLS at the admin address, and only that, with this certificate (PEM)",
		Set: func(s *Settings, v string) bool { return readList(&s.AdminTLS.Certs, v) }},
	{Name: "admin-tls-key", Env: "MOCKSERVER_ADMIN_TLS_KEY", Value: "FILE", Accepts: "the name of a file",
		Doc: "the key of that certificate",
		Set: func(s *Settings, v string) bool { return readList(&s.AdminTLS.Keys, v) }},
	{Name: "admin-tls-client-ca", Env: "MOCKSERVER_ADMIN_TLS_CLIENT_CA", Value: "FILE", Accepts: "the name of a file",
		Doc: "serve at the admin address only clients with a certificate of one of the CAs in this file (PEM)",
		Set: func(s *Settings, v string) bool { s.AdminTLS.ClientCA = v; return v != "" }},
	{Name: "journal-sample", Env: "MOCKSERVER_JOURNAL_SAMPLE", Initial: "1000", Value: "NUMBER", Accepts: "an integer from 0 to 1000000000",
		Doc: "for the admin address, keep one of this many unremarkable requests; 1 keeps all, 0 none",
		Set: func(s *Settings, v string) bool { return flags.Int(&s.JournalSample, v, 0, 1_000_000_000) }},
	{Name: "journal-size", Env: "MOCKSERVER_JOURNAL_SIZE", Initial: "16MiB", Value: "SIZE", Accepts: flags.SizeForm,
		Doc: "how much memory the kept requests may take",
		Set: func(s *Settings, v string) bool { return flags.Size(&s.JournalSize, v) }},
	// The admin address, which parses it, knows the reasons.
	{Name: "verdict", Env: "MOCKSERVER_VERDICT", Value: "THRESHOLDS", Accepts: "a list of thresholds, such as own-p99=2ms,machine=off",
		Doc: "thresholds above which figures are a reason not to trust the timing: own-p99=2ms,machine=off",
		Set: func(s *Settings, v string) bool { s.Verdict = v; return true }},
	// The admin address parses it.
	{Name: "fleet", Env: "MOCKSERVER_FLEET", Value: "ADDRS", Accepts: "dns:NAME:PORT or a list of addresses, such as 127.0.0.1:8001-8008",
		Doc: "the admin addresses of all replicas, which act as one: dns:NAME:PORT, or a list such as 127.0.0.1:8001-8008",
		Set: func(s *Settings, v string) bool { s.Fleet = v; return v != "" }},
	{Name: "fleet-expect", Env: "MOCKSERVER_FLEET_EXPECT", Value: "NUMBER", Accepts: "an integer from 1 to 1000",
		Doc: "how many replicas the fleet has to have to agree",
		Set: func(s *Settings, v string) bool { return flags.Int(&s.FleetExpect, v, 1, 1000) }},
	{Name: "fleet-ca", Env: "MOCKSERVER_FLEET_CA", Value: "FILE", Accepts: "the name of a file",
		Doc: "with TLS at the admin address: the CA of the certificates of the replicas there, in PEM; left out: that of --admin-tls auto, or those of the system",
		Set: func(s *Settings, v string) bool { s.FleetCA = v; return v != "" }},
	{Name: "export-format", Env: "MOCKSERVER_EXPORT_FORMAT", Initial: "yaml", Value: "FORMAT", Accepts: "yaml or json",
		Doc: "the form of what export prints: yaml or json",
		Set: func(s *Settings, v string) bool { s.Export = v; return v == "yaml" || v == "json" }},
	{Name: "help", Short: "h", Accepts: "true or false",
		Doc: "print this text",
		Set: func(s *Settings, v string) bool { return readCommand(s, "help", v) }},
	{Name: "version", Short: "v", Accepts: "true or false",
		Doc: "print the version",
		Set: func(s *Settings, v string) bool { return readCommand(s, "version", v) }},
}

// Read reads the settings from the arguments after the program's name and from the environment. The
// error names all invalid flags and variables, one per line. A request for help is granted whatever
// else is wrong.
func Read(args []string, getenv func(string) string) (Settings, error) {
	var s Settings
	for _, f := range table {
		if f.Initial != "" {
			f.Set(&s, f.Initial)
		}
	}
	r := argReader{flags: flags.Reader[Settings]{Flags: table, Into: &s, Help: "mockserver", Words: commandNames(), Note: s.note}}
	r.flags.Word = r.word
	r.flags.Read(args)
	if s.Command == "" {
		s.Command = "serve"
	}
	if s.Command == "help" {
		s.HelpOf = r.about
		return s, nil
	}
	if c := commandNamed(s.Command); len(r.files) > 0 && c != nil && !c.files {
		r.flags.Wrong("%q: unexpected, %s takes no files", r.files[0], s.Command)
	}
	if s.Command != "version" && s.Command != "schema" {
		r.flags.Environment(getenv)
	}
	r.checkTLS()
	s.defaults = defaultFiles(getenv)
	return s, errors.Join(r.flags.Errs...)
}

// defaultFiles returns where the default configuration is searched for.
func defaultFiles(getenv func(string) string) []string {
	const name = "mockserver.yml"
	var files []string
	if dir := getenv("XDG_CONFIG_HOME"); dir != "" {
		files = append(files, filepath.Join(dir, name))
	}
	if home := cmp.Or(getenv("HOME"), getenv("USERPROFILE")); home != "" { // Windows uses the latter
		files = append(files, filepath.Join(home, ".config", name))
	}
	return files
}

// Loader returns a loader of configurations with these settings.
func (s Settings) Loader() config.Loader {
	l := config.Loader{Validate: s.Validate, AllowRemoteRefs: s.AllowRemoteRefs, StrictDocuments: s.StrictDocuments, BasePath: s.BasePath, Upstream: s.Upstream}
	if s.Seed != nil {
		l.Seed = *s.Seed
	}
	return l
}

// Sources returns the files and directories to load, in order: those given, or the default
// configuration; none are needed with an upstream. The error says where that was searched for, and
// how to begin.
func (s Settings) Sources() ([]string, error) {
	paths := slices.Clone(s.Config)
	if s.Mocks != "" {
		paths = append(paths, s.Mocks)
	}
	if len(paths) > 0 || s.Upstream != "" {
		return paths, nil
	}
	for _, path := range s.defaults {
		// If a file exists but cannot be accessed, Load reports it.
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
