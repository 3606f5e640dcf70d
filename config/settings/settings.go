// Package settings reads the settings of the process: flags, environment variables and
// defaults.
package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"mockserver/config"
)

// Settings are the settings of the process, from flags, otherwise environment variables, otherwise
// defaults.
type Settings struct {
	Command string // "serve", or another command that Usage lists
	HelpOf  string // for "help": the command to show help about; "" for the program

	Config []string      // the configuration: files and directories; none for the default file
	Mocks  string        // another file or directory, joined after Config
	Loader config.Loader // of the configuration
	Format string        // the log format: "println" or "json"
	Export string        // the output format of export: "yaml" or "json"

	Host string // the address to listen on, without a port
	Port int    // 0 takes a free port
	// ReusePort lets several processes of this machine listen on the port, among which the system
	// distributes connections.
	ReusePort bool

	Responses
	Dynamic bool // operations in documents generate a new body for each request

	MaxPendingWebhooks int    // maximum number of waiting webhooks
	WebhookStore       string // a directory; "" for none
	State              string // a file in which changes to rows are kept; "" for none
	StateMemory        int    // memory for all changes to rows, in bytes

	NoWebhooks bool    // webhooks are not sent
	NoLatency  bool    // no latency is injected
	NoFaults   bool    // no fault is injected
	Seed       *uint64 // the seed of all random choices; nil lets them differ in each run

	NoHTTP2 bool // clients that speak HTTP/2 are refused
	// MaxConnectionAge is how long a connection is used; 0 means no limit.
	MaxConnectionAge time.Duration
	Grace            time.Duration // how long a stopping server waits for requests and sends webhooks
	SentryDSN        string        // where errors are reported, as given; "" for nowhere
	TLS              TLS           // of the port

	AdminAddress

	texts    map[string]string // the values that were given, by flag name; see Given
	defaults []string          // where the default configuration is searched for, in order
}

// Responses are the settings of all responses, and of what is accepted of requests.
type Responses struct {
	UnmatchedStatus int // the status for all unmatched requests; 0 for 404 or 405
	NoCORS          bool
	CORSCredentials bool // pages of any origin may send credentials
	TrustForwarded  bool // rate limits use X-Forwarded-For as the client's address
	AccessLog       bool
	ServerTiming    bool
	MaxBody         int  // maximum size of a request body in bytes
	MaxMessage      int  // maximum size of a WebSocket message in bytes
	MaxResponse     int  // maximum size of a text made by a template, in bytes
	GlobalTemplates bool // every response of a mapping of WireMock is a template
}

// AdminAddress are the settings of the admin address, the verdict and the fleet.
type AdminAddress struct {
	Admin         string // host and port of the admin address; "" for none
	AdminToken    string // the token for requests to it; "" for none
	AdminTLS      TLS    // of the admin address; only certificates and client CA
	JournalSample int    // one out of this many unremarkable requests is stored; 0 for none
	JournalSize   int    // maximum size of the stored requests in bytes
	// Verdict lists the limits above which the timing is not trusted, in the form that
	// verdict.ParseThresholds accepts; "" for the defaults.
	Verdict string
	// Fleet lists the replicas of the fleet, in the form that fleet.ParseMembers accepts; "" for none.
	Fleet       string
	FleetExpect int // the expected number of replicas; 0 for any number
	// FleetCA is a file with the CA of the admin addresses of the other replicas; "" for the CA
	// that --admin-tls auto makes, or the CAs of the system.
	FleetCA string
}

// Sources returns the files and directories to load, in order: those given, or the default
// configuration; none are needed with an upstream. The error says where the default configuration
// was searched for, and how to begin.
func (s Settings) Sources() ([]string, error) {
	paths := slices.Clone(s.Config)
	if s.Mocks != "" {
		paths = append(paths, s.Mocks)
	}
	if len(paths) > 0 || s.Loader.Upstream != "" {
		return paths, nil
	}
	for _, path := range s.defaults {
		// If a file exists but cannot be accessed, Load reports it.
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return []string{path}, nil
		}
	}
	looked := "neither XDG_CONFIG_HOME nor HOME is set"
	if len(s.defaults) > 0 {
		looked = "there is no " + strings.Join(s.defaults, " and no ")
	}
	return nil, fmt.Errorf("no configuration: no file, --config or --mocks is given, and %s\n"+
		"to begin, write a file api.yml:\n\n%s\nand run: mockserver api.yml", looked, firstFile)
}

// firstFile is the smallest useful configuration.
const firstFile = `- endpoint:
    path: /hello/:name
    response: {body: '{"hello": "{{path-params.name}}"}'}
`
