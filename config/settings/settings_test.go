package settings

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"mockserver/config"
)

// write puts a file into a directory and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestDefaultsOfSettings(t *testing.T) {
	got, err := Read(nil, env())
	if err != nil {
		t.Fatal(err)
	}
	got.defaults = nil
	want := Settings{Command: "serve", Format: "println", Host: "0.0.0.0", Port: 8000, Responses: Responses{MaxBody: 16 << 20}, Grace: 10 * time.Second}
	if !equalSettings(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func equalSettings(a, b Settings) bool {
	same := slices.Equal(a.defaults, b.defaults)
	a.defaults, b.defaults = nil, nil
	return same && a.Command == b.Command && slices.Equal(a.Config, b.Config) && a.Mocks == b.Mocks && a.Format == b.Format &&
		a.Host == b.Host && a.Port == b.Port && a.UnmatchedStatus == b.UnmatchedStatus && a.NoCORS == b.NoCORS &&
		a.AccessLog == b.AccessLog && a.MaxBody == b.MaxBody && a.Grace == b.Grace &&
		a.SentryDSN == b.SentryDSN
}

func TestFlagBeatsVariableBeatsDefault(t *testing.T) {
	variables := env("CONFIG", "e.yml", "MOCKS", "em.yml", "MOCKSERVER_FORMAT", "json", "PORT", "1", "HOST", "127.0.0.1",
		"MOCKSERVER_UNMATCHED_STATUS", "599", "MOCKSERVER_NO_CORS", "1", "MOCKSERVER_ACCESS_LOG", "true",
		"MOCKSERVER_MAX_BODY", "64KiB", "MOCKSERVER_GRACE", "0", "SENTRY_DSN", "https://key@sentry.test/1")
	fromEnv := Settings{Command: "serve", Config: []string{"e.yml"}, Mocks: "em.yml", Format: "json", Host: "127.0.0.1", Port: 1,
		Responses: Responses{UnmatchedStatus: 599, NoCORS: true, AccessLog: true, MaxBody: 64 << 10}, SentryDSN: "https://key@sentry.test/1"}
	if got, err := Read(nil, variables); err != nil || !equalSettings(got, fromEnv) {
		t.Errorf("from variables: %+v, %v", got, err)
	}
	fromFlags := Settings{Command: "validate", Config: []string{"f.yml"}, Mocks: "fm.yml", Format: "println", Host: "::1", Port: 0,
		Responses: Responses{UnmatchedStatus: 404, MaxBody: 2e6}, Grace: 1500 * time.Millisecond}
	got, err := Read([]string{"-c", "f.yml", "--mocks=fm.yml", "validate", "-f=println", "--host", "[::1]", "-port", "0",
		"--unmatched-status", "404", "--no-cors=false", "--access-log=0", "--max-body", "2MB", "--grace=1.5s", "--sentry-dsn="}, variables)
	if err != nil || !equalSettings(got, fromFlags) {
		t.Errorf("from flags: %+v, %v", got, err)
	}
}

func TestEveryMistakeOfTheCommandLineIsNamed(t *testing.T) {
	_, err := Read([]string{"--prot", "80", "--port", "70000", "-f", "xml", "--port=1", "--no-cors=maybe", "serve", "more", "validate",
		"--unmatched-status=199", "--max-body=0", "--host", "a:1", "--webhook-store=nats://ann:hidden@h:1", "--shared-state", "nats://ann:hidden@h:1", "--config"},
		env("MOCKSERVER_GRACE", "soon", "PORT", "x", "MOCKSERVER_ACCESS_LOG", "yes", "MOCKS", "", "MOCKSERVER_SHARED_STATE", "nats://ann:hidden@h:1"))
	if err == nil {
		t.Fatal("no error")
	}
	want := []string{
		`--prot: no such flag (did you mean --port?)`,
		`--port: "70000" is not valid; expected an integer from 0 to 65535`,
		`-f: "xml" is not valid; expected println or json`,
		`--port: given twice, first as --port`,
		`--no-cors: "maybe" is not valid; expected true or false`,
		`"more": no such file or directory; a flag's value comes after its flag`,
		`"validate": unexpected; the command is already serve`,
		`--unmatched-status: "199" is not valid; expected an integer from 200 to 599`,
		`--max-body: "0" is not valid; expected a number of bytes above 0`,
		`--host: "a:1" is not valid; expected an IP address or a host name`,
		`--webhook-store: "nats://xxxxx@h:1" is not valid; expected the name of a directory, which may be on a persistent volume (docs/kubernetes.md); webhooks are not stored in NATS`,
		`--shared-state: no such flag (each replica counts by itself: divide a limit by the number of replicas, and begin numbers with the name of the replica; see docs/fleet.md); mockserver -h`,
		`--config: missing value; expected the name of a file or a directory`,
		`environment variable MOCKSERVER_ACCESS_LOG: "yes" is not valid`,
		`environment variable MOCKSERVER_GRACE: "soon" is not valid; expected a duration, such as 10s`,
		`environment variable MOCKSERVER_SHARED_STATE: unknown (each replica counts by itself: `,
	}
	got := strings.Split(err.Error(), "\n")
	if len(got) != len(want) {
		t.Fatalf("got\n%v\nwant\n%v", err, strings.Join(want, "\n"))
	}
	for i := range got {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}

func TestCommands(t *testing.T) {
	for _, c := range []struct{ args, command, wrong string }{
		{"", "serve", ""}, {"serve", "serve", ""}, {"validate -c a.yml", "validate", ""}, {"-c a.yml validate", "validate", ""},
		{"version", "version", ""}, {"-v", "version", ""}, {"--version", "version", ""}, {"help", "help", ""}, {"-h", "help", ""},
		{"-h --bogus", "help", ""}, {"--bogus --help", "help", ""}, {"-v -h", "help", ""}, {"-h -v", "help", ""},
		{"-- validate", "validate", ""}, {"schema", "schema", ""}, {"-c a.yml schema", "schema", ""}, {"-v --bogus", "version", "no such flag"},
		{"--bogus validate --port x", "", "--bogus: no such flag; mockserver -h lists them\n--port: \"x\""}, {"--bogus=1 x", "", "\"x\": no such command"},
		{"vaildate", "", `(did you mean "validate"?)`}, {"nowhere", "", "no such command or file; expected one of serve"},
		{"api.yml", "serve", ""}, {".", "serve", ""}, {"api.yml validate", "validate", ""}, {"export a.edn b/c", "export", ""},
		{"help validate", "help", ""}, {"validate a.yml -h", "help", ""}, {"schema a.yml", "", `"a.yml": unexpected; schema takes no files`},
		{"a.yml health", "", "health takes no files"}, {"version a.yml", "", "version takes no files"},
		{"-", "", "no such command or file"}, {"-x", "", "no such flag; "}, {"--", "serve", ""}, {"--config --port 80", "", "--config: missing value"},
	} {
		got, err := Read(strings.Fields(c.args), env("PORT", map[bool]string{true: "broken"}[c.command == "version"]))
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%q: got error %v, want %q", c.args, err, c.wrong)
			}
			continue
		}
		if err != nil || got.Command != c.command {
			t.Errorf("%q: got %q, %v, want %q", c.args, got.Command, err, c.command)
		}
	}
}

// Arguments and --config are combined in the order given, and take precedence over the variable.
func TestFilesAreArguments(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"a.yml", "a.yml"}, {"a.yml -c b.yml c.json", "a.yml b.yml c.json"}, {"validate d/ a.yml", "d/ a.yml"}, {"-p 0 export a.edn", "a.edn"},
		{"validate ./validate", "./validate"}, {"-- a.yml", "a.yml"}, {"validate", "v.yml"},
	} {
		got, err := Read(strings.Fields(c.args), env("CONFIG", "v.yml"))
		if err != nil || strings.Join(got.Config, " ") != c.want {
			t.Errorf("%q: got %q, %v, want %q", c.args, got.Config, err, c.want)
		}
		for _, given := range got.Given() {
			if want := strings.ReplaceAll(c.want, " ", ", "); given.Flag == "--config" && given.Value != want {
				t.Errorf("%q: --config is shown as %q, want %q", c.args, given.Value, want)
			}
		}
	}
}

func TestStrayVariables(t *testing.T) {
	got := StrayVariables([]string{"PATH=/bin", "PROT=80", "MOCKSERVER_PORT=80", "MOCKSERVER_GRAEC=1s", "MOCKSERVER_GRACE=1s", "MOCKSERVER_ANYTHING=1",
		"MOCKSERVER_EMPTY=", "MOCKSERVER_CHILD=x", "MOCKSERVER_HSOT=a", "MOCKSERVER_admin=:1", "MOCKSERVER_",
		// Variables of Kubernetes services called mockserver and mockserver-admin.
		"MOCKSERVER_SERVICE_HOST=10.0.0.1", "MOCKSERVER_SERVICE_PORT=80", "MOCKSERVER_SERVICE_PORT_HTTP=80", "MOCKSERVER_PORT_80_TCP=tcp://10.0.0.1:80",
		"MOCKSERVER_PORT_80_TCP_PROTO=tcp", "MOCKSERVER_ADMIN_PORT=tcp://10.0.0.1:80", "MOCKSERVER_ADMIN_PORT_53_UDP_ADDR=10.0.0.1"}, "MOCKSERVER_CHILD")
	want := []Stray{{"MOCKSERVER_ANYTHING", ""}, {"MOCKSERVER_GRAEC", "MOCKSERVER_GRACE"}, {"MOCKSERVER_HSOT", "HOST"},
		{"MOCKSERVER_PORT", "PORT"}, {"MOCKSERVER_admin", "MOCKSERVER_ADMIN"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The usage of a command has only its own flags, and an example.
func TestUsageOfCommands(t *testing.T) {
	for _, c := range []struct{ command, has, lacks string }{
		{"serve", "[FILE...] --port --admin --config", "--export-format --version"},
		{"validate", "[FILE...] --config --mocks --allow-remote-refs", "--port --grace --admin --export-format"},
		{"export", "[FILE...] --config --export-format", "--port --grace --validate"},
		{"schema", "--help", "[FILE...] --config --port XDG_CONFIG_HOME"},
		{"health", "--host --port --format", "[FILE...] --config --admin"},
		{"version", "--help", "[FILE...] --config --port"},
	} {
		usage := Usage(c.command)
		if !strings.HasPrefix(usage, "usage: mockserver "+c.command) || !strings.Contains(usage, "\nexample: mockserver "+c.command) && c.command != "serve" {
			t.Errorf("%s: its name or an example is missing in\n%s", c.command, usage)
		}
		for _, want := range strings.Fields(c.has) {
			if !strings.Contains(usage, want) {
				t.Errorf("%s: %q is missing in\n%s", c.command, want, usage)
			}
		}
		for _, other := range strings.Fields(c.lacks) {
			if strings.Contains(usage, other) {
				t.Errorf("%s: %q must not be in\n%s", c.command, other, usage)
			}
		}
	}
	for args, want := range map[string]string{"-h": "", "help": "", "-h all": "all", "help all": "all", "validate -h": "validate", "-h export": "export", "help health": "health", "help nothing": "", "help bench": "bench"} {
		if got, err := Read(strings.Fields(args), env()); err != nil || got.Command != "help" || got.HelpOf != want {
			t.Errorf("%q: %q about %q, %v, want %q", args, got.Command, got.HelpOf, err, want)
		}
	}
}

func TestUsageListsEverySetting(t *testing.T) {
	short, usage := Usage(""), Usage("all")
	if n := len(regexp.MustCompile(`(?m)^ +(-\w, )?--`).FindAllString(short, -1)); n != 10 || !strings.Contains(short, "mockserver -h all") {
		t.Errorf("the usage lists %d flags, want 10:\n%s", n, short)
	}
	for _, group := range []string{"\nconfiguration:\n  -c, --config", "\nOpenAPI documents:\n      --validate", "\nTLS:\n      --tls auto", "\nother:\n  -h, --help"} {
		if !strings.Contains(usage, group) || strings.Contains(short, group) || strings.Contains(Usage("validate"), group) || !strings.Contains(Usage("serve"), group) {
			t.Errorf("%q is to be in the usages of all and serve only", group)
		}
	}
	for _, want := range []string{
		"-c, --config PATH", "(CONFIG)", "-m, --mocks PATH", "(MOCKS, default none)", "(MOCKSERVER_FORMAT, default println)",
		"--port PORT", "(PORT, default 8000)", "(HOST, default 0.0.0.0)", "(MOCKSERVER_UNMATCHED_STATUS, default none)",
		"(MOCKSERVER_NO_CORS, default false)", "(MOCKSERVER_ACCESS_LOG, default false)", "(MOCKSERVER_MAX_BODY, default 16MiB)",
		"(MOCKSERVER_GRACE, default 10s)", "-h, --help", "-v, --version", "validate", "~/.config/mockserver.yml",
	} {
		if !strings.Contains(usage, want) {
			t.Errorf("%q is missing in\n%s", want, usage)
		}
	}
}

func TestSources(t *testing.T) {
	xdg, home := t.TempDir(), t.TempDir()
	variables := env("XDG_CONFIG_HOME", xdg, "HOME", home)
	sources := func(args ...string) ([]string, error) {
		s, err := Read(args, variables)
		if err != nil {
			t.Fatal(err)
		}
		return s.Sources()
	}
	_, err := sources()
	if err == nil {
		t.Fatal("no error without any configuration")
	}
	for _, want := range []string{filepath.Join(xdg, "mockserver.yml"), filepath.Join(home, ".config", "mockserver.yml"), "mockserver api.yml"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
	if spec := config.Parse("api.yml", []byte(firstFile)); len(spec.Problems) > 0 || spec.Endpoints[0].Path.Value != "/hello/:name" {
		t.Errorf("the suggested first file: %+v", spec)
	}
	if err := os.Mkdir(filepath.Join(home, ".config"), 0o700); err != nil {
		t.Fatal(err)
	}
	second := write(t, filepath.Join(home, ".config"), "mockserver.yml", "[]")
	check := func(want []string, args ...string) {
		t.Helper()
		if got, err := sources(args...); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v: got %v, %v, want %v", args, got, err, want)
		}
	}
	check([]string{second})
	first := write(t, xdg, "mockserver.yml", "[]")
	check([]string{first})
	check([]string{"m.yml"}, "-m", "m.yml")
	check([]string{"c.yml", "m.yml"}, "-m", "m.yml", "-c", "c.yml")
	check([]string{"b", "a.yml", "m"}, "-m", "m", "-c", "b", "--config=a.yml")
	if s, _ := Read(nil, env()); s.defaults != nil {
		t.Errorf("without HOME: %v", s.defaults)
	} else if _, err := s.Sources(); err == nil || !strings.Contains(err.Error(), "neither XDG_CONFIG_HOME nor HOME") {
		t.Errorf("without HOME: %v", err)
	}
}

// Windows does not set HOME.
func TestDefaultFilesOfAUserProfile(t *testing.T) {
	for _, c := range []struct {
		env  func(string) string
		want []string
	}{
		{env("USERPROFILE", "p"), []string{filepath.Join("p", ".config", "mockserver.yml")}},
		{env("USERPROFILE", "p", "HOME", "h"), []string{filepath.Join("h", ".config", "mockserver.yml")}},
		{env(), nil},
	} {
		if got := defaultFiles(c.env); !slices.Equal(got, c.want) {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
