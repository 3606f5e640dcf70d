package e2e_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"mockserver/internal/harness"
	"mockserver/internal/harness/volume"
)

func TestProgram_TheDefaultConfigurationIsFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, xdg string // XDG_CONFIG_HOME, in the home directory; unset if ""
		files     map[string]string
		want      string
	}{
		{"in XDG_CONFIG_HOME", "xdg", map[string]string{"xdg/mockserver.yml": "xdg"}, "xdg"},
		{"in XDG_CONFIG_HOME before the home directory", "xdg", map[string]string{"xdg/mockserver.yml": "xdg", ".config/mockserver.yml": "home"}, "xdg"},
		{"in the home directory", "", map[string]string{".config/mockserver.yml": "home"}, "home"},
		{"in the home directory when XDG_CONFIG_HOME has none", "xdg", map[string]string{".config/mockserver.yml": "home"}, "home"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			for name, body := range c.files {
				harness.WriteFile(t, home, name, One(body))
			}
			env := []string{"HOME=" + home}
			if c.xdg != "" {
				env = append(env, "XDG_CONFIG_HOME="+filepath.Join(home, c.xdg))
			}
			Launch(t, env).Listening().Get("/a").Want(t, 200, c.want)
		})
	}
}

func TestProgram_WithoutAConfigurationItSaysWhereItLookedAndHowToBegin(t *testing.T) {
	t.Parallel()
	home, xdg := t.TempDir(), t.TempDir()
	for _, args := range [][]string{nil, {"serve"}, {"validate"}} {
		code, stdout, stderr := Refused(t, []string{"HOME=" + home, "XDG_CONFIG_HOME=" + xdg}, args...)
		if code != 2 || stdout != "" {
			t.Errorf("%v: got exit code %d and on standard output %q, want 2 and nothing", args, code, stdout)
		}
		want := []string{filepath.Join(xdg, "mockserver.yml"), filepath.Join(home, ".config", "mockserver.yml"), "-c", "endpoint"}
		if !containsAll(stderr, want) {
			t.Errorf("%v: it prints\n%s\nwant %q in it", args, stderr, want)
		}
	}
}

func TestProgram_FlagBeatsEnvironmentBeatsDefault(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	flag, env, mocks := harness.WriteFile(t, dir, "flag.yml", One("flag")), harness.WriteFile(t, dir, "env.yml", One("env")), harness.WriteFile(t, dir, "mocks.yml", One("mocks"))
	home := t.TempDir()
	harness.WriteFile(t, home, ".config/mockserver.yml", One("default"))
	for _, c := range []struct {
		name string
		env  []string
		args []string
		want string
	}{
		{"the default", nil, nil, "default"},
		{"CONFIG", []string{"CONFIG=" + env}, nil, "env"},
		{"an empty CONFIG is none", []string{"CONFIG="}, nil, "default"},
		{"-c", []string{"CONFIG=" + env}, []string{"-c", flag}, "flag"},
		{"--config", []string{"CONFIG=" + env}, []string{"--config", flag}, "flag"},
		{"--config=", []string{"CONFIG=" + env}, []string{"--config=" + flag}, "flag"},
		{"serve -c", []string{"CONFIG=" + env}, []string{"serve", "-c", flag}, "flag"},
		{"MOCKS alone", []string{"MOCKS=" + mocks}, nil, "mocks"},
		{"-m alone", []string{"MOCKS=" + env}, []string{"-m", mocks}, "mocks"},
		{"--mocks alone", nil, []string{"--mocks", mocks}, "mocks"},
		{"MOCKS=, -c", []string{"MOCKS="}, []string{"-c", flag}, "flag"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			Launch(t, append(c.env, "HOME="+home), c.args...).Listening().Get("/a").Want(t, 200, c.want)
		})
	}
}

func TestProgram_MocksJoinTheConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := harness.WriteFile(t, dir, "mock.yml", One("first"))
	mocks := harness.WriteFile(t, dir, "more.json", `[{"endpoint": {"path": "/b", "response": {"body": "second"}}}, {"endpoint": {"path": "/a", "response": {"body": "never"}}}]`)
	p := Start(t, "-c", config, "-m", mocks)
	p.Get("/a").Want(t, 200, "first")
	p.Get("/b").Want(t, 200, "second")
}

func TestProgram_HelpListsEveryFlagAndVariableWithItsDefault(t *testing.T) {
	t.Parallel()
	var first string
	for _, args := range [][]string{{"-h", "all"}, {"--help", "all"}, {"help", "all"}, {"-h", "all", "--no-such-flag"}} {
		code, stdout, stderr := Refused(t, nil, args...)
		if code != 0 || stderr != "" {
			t.Errorf("%v: got exit code %d and on standard error %q, want 0 and nothing", args, code, stderr)
		}
		if first == "" {
			first = stdout
		}
		if stdout != first {
			t.Errorf("%v prints\n%s\nwant the output of -h all\n%s", args, stdout, first)
		}
	}
	lines := strings.Split(first, "\n")
	for _, want := range [][]string{
		{"-c", "--config", "CONFIG"},
		{"-m", "--mocks", "MOCKS"},
		{"-f", "--format", "println", "json", "default println"},
		{"-p, --port", "PORT", "default 8000"},
		{"--host", "HOST", "default 0.0.0.0"},
		{"--unmatched-status", "default"},
		{"--no-cors", "default"},
		{"--trust-forwarded", "MOCKSERVER_TRUST_FORWARDED", "default false"},
		{"--access-log", "default"},
		{"--max-body", "default 16MiB"},
		{"--max-message", "MOCKSERVER_MAX_MESSAGE", "default 1MiB"},
		{"--max-response", "MOCKSERVER_MAX_RESPONSE", "default 64MiB"},
		{"--no-webhooks", "MOCKSERVER_NO_WEBHOOKS", "default false"},
		{"--no-latency", "MOCKSERVER_NO_LATENCY", "default false"},
		{"--no-faults", "MOCKSERVER_NO_FAULTS", "default false"},
		{"--validate", "MOCKSERVER_VALIDATE", "default false"},
		{"--dynamic", "MOCKSERVER_DYNAMIC", "default false"},
		{"--base-path PATH", "MOCKSERVER_BASE_PATH", "default none"},
		{"--seed", "MOCKSERVER_SEED", "default none"},
		{"bench", "mockserver bench -h"},
		{"--grace", "default 10s"},
		{"--sentry-dsn", "SENTRY_DSN", "default none"},
		{"--max-pending-webhooks", "MOCKSERVER_MAX_PENDING_WEBHOOKS", "default 1000000"},
		{"--webhook-store", "MOCKSERVER_WEBHOOK_STORE", "default none"},
		{"--state", "MOCKSERVER_STATE", "default none"},
		{"--admin ADDR", "MOCKSERVER_ADMIN,", "default none"},
		{"--admin-token", "MOCKSERVER_ADMIN_TOKEN", "default none"},
		{"--journal-sample", "MOCKSERVER_JOURNAL_SAMPLE", "default 1000"},
		{"--journal-size", "MOCKSERVER_JOURNAL_SIZE", "default 16MiB"},
		{"--verdict", "MOCKSERVER_VERDICT", "default none"},
		{"-h", "--help"},
		{"-v", "--version"},
		{"serve"}, {"validate"}, {"version"},
		{"$XDG_CONFIG_HOME/mockserver.yml"}, {"~/.config/mockserver.yml"},
	} {
		found := false
		for _, line := range lines {
			found = found || containsAll(line, want)
		}
		if !found {
			t.Errorf("no line contains %q:\n%s", want, first)
		}
	}
}

func TestProgram_EachSettingHasBothAFlagAndAVariable(t *testing.T) {
	t.Parallel()
	_, usage, _ := Refused(t, nil, "-h", "all")
	rows := regexp.MustCompile(`(?m)^ *(?:-\w, )?(--[a-z-]+)( [A-Z]+)? .*$`).FindAllStringSubmatch(usage, -1)
	if len(rows) < 12 {
		t.Fatalf("found only %d flags in\n%s", len(rows), usage)
	}
	home := t.TempDir()
	harness.WriteFile(t, home, ".config/mockserver.yml", One("fine"))
	for _, row := range rows {
		line, flag := row[0], row[1]
		if flag == "--help" || flag == "--version" || flag == "--webhook-store" || flag == "--state" || flag == "--sentry-dsn" || flag == "--admin-token" { // none of these can have this text as a wrong value: TestReports_WrongDSN, TestAdmin_ABadTokenIsRefusedAndNotShown
			continue
		}
		variables := regexp.MustCompile(`\(([A-Z_]+)[,)]`).FindAllStringSubmatch(line, -1)
		if variables == nil {
			t.Errorf("no variable for %s: %s", flag, line)
			continue
		}
		variable := variables[len(variables)-1]
		if strings.Contains(flag, "tls-") || flag == "--fleet-ca" { // files and directories that need each other: TestTLS_FlagsThatCannotBe
			continue
		}
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			for source, says := range map[string]string{flag: flag + "=??", variable[1]: variable[1] + "=??"} {
				if source == flag && !volume.Full() {
					continue
				}
				args, env := []string{}, []string{"HOME=" + home}
				if source == flag {
					args = append(args, says)
				} else {
					env = append(env, says)
				}
				code, stdout, stderr := Refused(t, env, args...)
				if code != 2 || stdout != "" || !strings.Contains(stderr, "??") {
					t.Errorf("%s: got exit code %d, %q and %q, want 2, nothing and an error about ??", says, code, stdout, stderr)
				}
			}
		})
	}
}

func TestProgram_EachCommandHasItsOwnHelp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		says []string
		not  string
	}{
		{[]string{"validate", "-h"}, []string{"usage: mockserver validate [FILE...]", "--config", "example: mockserver validate"}, "--port"},
		{[]string{"help", "health"}, []string{"usage: mockserver health", "--port", "example: mockserver health"}, "--config"},
		{[]string{"serve", "--help"}, []string{"usage: mockserver serve [FILE...]", "-p, --port", "example: mockserver api.yml"}, "--export-format"},
		{[]string{"bench", "-h"}, []string{"usage: mockserver bench [FILE...]", "--scenario", "example: mockserver bench"}, "--admin"},
		{[]string{"import", "-h"}, []string{"usage: mockserver import FILE...", "--strict", "example: mockserver import"}, "--admin"},
		{[]string{"help", "import"}, []string{"usage: mockserver import FILE...", "--check"}, "--admin"},
		{[]string{"help", "bench"}, []string{"usage: mockserver bench [FILE...]", "--scenario"}, "--admin"},
	} {
		code, stdout, stderr := Refused(t, nil, c.args...)
		if code != 0 || stderr != "" || !containsAll(stdout, c.says) || strings.Contains(stdout, c.not) {
			t.Errorf("%v: got exit code %d, on standard error %q and\n%s\nwant 0, nothing, and %q without %q", c.args, code, stderr, stdout, c.says, c.not)
		}
	}
}

// What an import does not do exactly is logged when it is served, once.
func TestProgram_ServedImportsAreLogged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := harness.WriteFile(t, dir, "db.json", `{"tags": ["a"]}`)
	p := Launch(t, nil, "-p", "0", path).Listening()
	p.WaitLine(0, "WARN", "imported differently", "db.json:1:3", "item=/tags", "kind=approximate", "reason=")
	p.Get("/tags").Want(t, 200, `["a"]`)
	harness.WriteFile(t, dir, "db.json", `{"x": [1], "tags": ["a", "b"]}`)
	p.WaitLine(0, "imported differently", "item=/x")
	p.WaitLine(0, "configuration reloaded")
	if all := strings.Join(p.Output(), "\n"); strings.Count(all, "item=/tags") != 1 {
		t.Errorf("an item is logged twice:\n%s", all)
	}
}

// WireMock's flag of this name has its meaning for mappings that are served, and for those that are written.
func TestProgram_GlobalResponseTemplating(t *testing.T) {
	t.Parallel()
	path := harness.WriteFile(t, t.TempDir(), "m.json", `{"request": {"urlPath": "/t"}, "response": {"body": "{{request.method}}"}}`)
	Launch(t, nil, "-p", "0", "-m", path).Listening().Get("/t").Want(t, 200, "{{request.method}}")
	Launch(t, nil, "-p", "0", "-m", path, "--global-response-templating").Listening().Get("/t").Want(t, 200, "GET")
	if code, stdout, _ := Refused(t, nil, "import", path, "--global-response-templating"); code != 0 || !strings.Contains(stdout, "body: '{{method}}'") {
		t.Errorf("exit code %d:\n%s", code, stdout)
	}
}

func TestProgram_FilesAreArguments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	harness.WriteFile(t, dir, "a.yml", At("/a", "a")+At("/b", "b")+At("/c", "c")+At("/d", "d"))
	harness.WriteFile(t, dir, "b.yml", At("/e", "e")+At("/f", "f")+At("/g", "g"))
	harness.WriteFile(t, dir, "pets.yml", "openapi: 3.0.0\ninfo: {title: Pets, version: '1'}\npaths:\n  /pets:\n    get: {operationId: listPets, responses: {'200': {description: ok}}}\n")
	p := LaunchIn(t, dir, []string{"CONFIG=none.yml", "MOCKSERVER_PORT=9", "MOCKSERVER_SEDE=1"}, "a.yml", "-p", "0", "pets.yml").Listening()
	p.WaitLine(0, "WARN", "MOCKSERVER_PORT: unknown (did you mean PORT?)")
	p.WaitLine(0, "WARN", "MOCKSERVER_SEDE: unknown (did you mean MOCKSERVER_SEED?)")
	p.WaitLine(0, "first routes", fmt.Sprintf(`routes="GET %[1]s/a, GET %[1]s/b, GET %[1]s/c, GET %[1]s/d, GET %[1]s/pets"`, p.URL), "more=0")
	p.WaitLine(0, "requests are not validated", "flag=--validate")
	p.Get("/d").Want(t, 200, "d")
	if a := p.Get("/pets"); a.Status != 200 {
		t.Errorf("the document answers %d, want 200", a.Status)
	}
	for _, c := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"validate", "a.yml", "b.yml"}, 0, []string{"valid: 7 endpoints\n  GET /a\n  GET /b\n  GET /c\n  GET /d\n  GET /e\n  and 2 more\n"}},
		{[]string{"export", "pets.yml"}, 0, []string{"listPets"}},
		{[]string{"validate", "c.yml"}, 2, []string{"c.yml: there is no such file"}},
		{[]string{"validate", "serve", "a.yml"}, 2, []string{`"serve": unexpected; the command is already validate`}},
		{[]string{"vaildate", "a.yml"}, 2, []string{`"vaildate": no such command or file (did you mean "validate"?)`}},
		{[]string{"schema", "a.yml"}, 2, []string{"schema takes no files"}},
	} {
		p := LaunchIn(t, dir, nil, c.args...)
		if code := p.Exit(); code != c.code || !containsAll(strings.Join(p.Output(), "\n")+"\n", c.says) {
			t.Errorf("%v: got exit code %d and %q, want %d and %q", c.args, code, p.Output(), c.code, c.says)
		}
	}
}

func TestProgram_TheVersionIsPrinted(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-v"}, {"--version"}, {"version"}} {
		code, stdout, stderr := Refused(t, []string{"PORT=??"}, args...)
		if code != 0 || stderr != "" || !regexp.MustCompile(`^mockserver \S.*\n$`).MatchString(stdout) {
			t.Errorf("%v: got exit code %d, %q and %q, want 0, a line and nothing", args, code, stdout, stderr)
		}
	}
}

func TestProgram_ABadFlagIsRefused(t *testing.T) {
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", One("fine"))
	for _, c := range []struct {
		name string
		env  []string
		args []string
		says []string
	}{
		{"unknown", nil, []string{"--no-such-flag"}, []string{"--no-such-flag"}},
		{"misspelt", nil, []string{"--acces-log"}, []string{"--acces-log", "did you mean --access-log"}},
		{"unknown and short", nil, []string{"-x"}, []string{"-x"}},
		{"without its value", nil, []string{"--port"}, []string{"--port", "missing"}},
		{"a format that is none", nil, []string{"-f", "xml"}, []string{"xml", "println", "json"}},
		{"a port that is no number", nil, []string{"--port", "http"}, []string{"--port", "http", "65535"}},
		{"a port out of range", nil, []string{"--port=65536"}, []string{"--port", "65536", "65535"}},
		{"a grace period that is no duration", nil, []string{"--grace", "soon"}, []string{"--grace", "soon"}},
		{"a status that is none", nil, []string{"--unmatched-status", "99"}, []string{"--unmatched-status", "99", "200", "599"}},
		{"a command that is none", nil, []string{"srve"}, []string{"srve", "serve"}},
		{"a port of the environment", []string{"PORT=http"}, nil, []string{"PORT", "http", "65535"}},
		{"two at once", []string{"PORT=http"}, []string{"--grace", "soon"}, []string{"PORT", "--grace"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := Refused(t, c.env, append(c.args, "-c", file)...)
			if code != 2 || stdout != "" || !containsAll(stderr, c.says) {
				t.Errorf("got exit code %d, on standard output %q and on standard error\n%s\nwant 2, nothing, and %q", code, stdout, stderr, c.says)
			}
		})
	}
}

func TestProgram_APortInUseIsNamed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", One("fine"))
	for _, args := range [][]string{{"--port", port}, {"--port", port, "-f", "json"}} {
		code, stdout, stderr := Refused(t, nil, append(args, "-c", file)...)
		if code != 1 || strings.Contains(stdout, "listening") || !containsAll(stderr, []string{port, "in use"}) {
			t.Errorf("%v: got exit code %d, %q and %q, want 1 and that port %s is in use", args, code, stdout, stderr, port)
		}
	}
}

func TestProgram_TheDefaultPortIs8000(t *testing.T) {
	t.Parallel()
	// The port is in use, whether by this test or by another program.
	if l, err := net.Listen("tcp", "127.0.0.1:8000"); err == nil {
		defer l.Close()
	}
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", One("fine"))
	code, _, stderr := Refused(t, []string{"PORT="}, "-c", file)
	if code != 1 || !strings.Contains(stderr, "8000") {
		t.Errorf("got exit code %d and %q, want 1 and that port 8000 is in use", code, stderr)
	}
}

func TestProgram_PortAndHostAreFlagsAndVariables(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", One("fine"))
	for _, c := range []struct {
		name    string
		env     []string
		args    []string
		address string // a regular expression
	}{
		{"PORT, and HOST", []string{"PORT=" + port, "HOST=127.0.0.2"}, nil, `127\.0\.0\.2:` + port},
		{"--port beats PORT", []string{"PORT=" + port}, []string{"--port", "0"}, `127\.0\.0\.1:[1-9][0-9]*`},
		{"--host beats HOST", []string{"HOST=127.0.0.3"}, []string{"--host", "127.0.0.2"}, `127\.0\.0\.2:[1-9][0-9]*`},
		{"all addresses are the default", []string{"HOST="}, nil, `(0\.0\.0\.0|\[::\]):[1-9][0-9]*`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Launch(t, c.env, append(c.args, "-c", file)...).Listening()
			p.Get("/a").Want(t, 200, "fine")
			if line := p.WaitLine(0, "listening"); !regexp.MustCompile(`[ =/"]` + c.address + `\b`).MatchString(line) {
				t.Errorf("the address in use is not logged: %q, want %s", line, c.address)
			}
		})
	}
}

func TestProgram_PortZeroTakesAFreeOne(t *testing.T) {
	t.Parallel()
	a, b := Serving(t, One("a")), Serving(t, One("b"))
	if a.URL == b.URL {
		t.Errorf("both listen on %s", a.URL)
	}
	a.Get("/a").Want(t, 200, "a")
	b.Get("/a").Want(t, 200, "b")
}

// eventful starts a server, triggers every event that is logged, stops the server and returns what
// it wrote.
func eventful(t *testing.T, format string) (stdout, stderr string) {
	t.Helper()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	config := One("fine") + "- endpoint: {path: /remote, response: {external-body: {provider: json, path: '" + gone.URL + "/x'}}}\n"
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", config)
	p := Launch(t, nil, "-c", file, "-f", format, "--access-log").Listening()
	p.Get("/a").Want(t, 200, "fine")
	p.Do("POST", "/a", "")
	p.Get("/nowhere")
	if a := p.Get("/remote"); a.Status != 502 {
		t.Errorf("got %d for a remote that has stopped, want 502", a.Status)
	}
	n := len(p.Output())
	p.Signal(syscall.SIGHUP)
	p.WaitLine(n, "configuration reloaded")
	harness.WriteFile(t, filepath.Dir(file), "mock.yml", config+"- endpoint: {path: b, response: {status: 1}}\n")
	p.WaitLine(n, "last good configuration")
	return p.Stopped()
}

func TestProgram_PrintlnIsOneReadableLineAnEvent(t *testing.T) {
	t.Parallel()
	stdout, stderr := eventful(t, "println")
	for _, line := range strings.Split(strings.TrimSuffix(stdout+stderr, "\n"), "\n") {
		if !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S* (INFO|WARN|ERROR) \w`).MatchString(line) {
			t.Errorf("%q is not one event", line)
		}
	}
	logged(t, stdout, stderr)
}

// logged checks which events were written to which stream.
func logged(t *testing.T, stdout, stderr string) {
	t.Helper()
	for _, want := range [][]string{
		{"listening", "http://127.0.0.1:"}, {"/nowhere", "endpoint_not_found"}, {"POST", "/a", "method_not_allowed"}, {"configuration reloaded"}, {"last good configuration"},
	} {
		if !HasLine(stdout, want) || HasLine(stderr, want) {
			t.Errorf("a line that contains %q must be on standard output, and only there:\n%s", want, stdout)
		}
	}
	for _, want := range [][]string{{"GET /remote", "upstream_failed"}, {"mock.yml:3:", "[2].endpoint.path"}, {"mock.yml:3:", "[2].endpoint.response.status"}} {
		if !HasLine(stderr, want) || HasLine(stdout, want) {
			t.Errorf("a line that contains %q must be on standard error, and only there:\n%s", want, stderr)
		}
	}
}

// jsonEvents checks that each line is one JSON object with a time, a level and a message, and
// returns the number of lines.
func jsonEvents(t *testing.T, text string) int {
	t.Helper()
	n := 0
	for line := range strings.Lines(text) {
		n++
		var event struct{ Time, Level, Msg string }
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Errorf("%q is not a JSON object: %v", line, err)
			continue
		}
		if _, err := time.Parse(time.RFC3339, event.Time); err != nil || event.Level == "" || event.Msg == "" {
			t.Errorf("%q lacks a time, a level or a message", line)
		}
	}
	return n
}

func TestProgram_JSONIsOneObjectAnEvent(t *testing.T) {
	t.Parallel()
	stdout, stderr := eventful(t, "json")
	jsonEvents(t, stdout)
	jsonEvents(t, stderr)
	logged(t, stdout, stderr)
}

func TestProgram_StartUpErrorsAreJSONToo(t *testing.T) {
	t.Parallel()
	file := harness.WriteFile(t, t.TempDir(), "mock.yml", "- endpoint: {path: /a, response: {status: 1, staus: 2}}\n")
	for _, c := range []struct {
		name string
		env  []string
		args []string
		says []string
		many int
	}{
		{"a wrong configuration", nil, []string{"-f", "json", "-c", file}, []string{file + ":1:", "[0].endpoint.response.staus", "[0].endpoint.response.status"}, 2},
		{"a wrong configuration to validate", nil, []string{"validate", "-f", "json", "-c", file}, []string{file + ":1:", "[0].endpoint.response.staus"}, 2},
		{"no configuration", nil, []string{"-f", "json"}, []string{"mockserver.yml"}, 1},
		{"a bad flag before the format", nil, []string{"--no-such-flag", "--format=json"}, []string{"--no-such-flag"}, 1},
		{"a bad variable", []string{"PORT=http"}, []string{"-f", "json", "-c", file}, []string{"PORT"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := Refused(t, c.env, c.args...)
			if code != 2 || stdout != "" || !containsAll(stderr, c.says) {
				t.Errorf("got exit code %d, %q and\n%s\nwant 2, nothing and %q", code, stdout, stderr, c.says)
			}
			if got := jsonEvents(t, stderr); got != c.many {
				t.Errorf("got %d events, want %d:\n%s", got, c.many, stderr)
			}
		})
	}
}

// Numbers are numbers in the JSON log. So are durations, whose keys name the unit; the plain-text
// log writes durations as text. docs/log.md names each key.
func TestProgram_DurationsInTheJSONLogAreNumbers(t *testing.T) {
	t.Parallel()
	reference, err := os.ReadFile(File("docs", "log.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(reference), "# Log and error reports\n")
	section, _, _ = strings.Cut(section, "\n## Error reports\n")
	stdout, stderr := eventful(t, "json")
	timed := map[string]bool{}
	for line := range strings.Lines(stdout + stderr) {
		var event map[string]any
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		for key, value := range event {
			if text, ok := value.(string); ok {
				if _, err := time.ParseDuration(text); err == nil {
					t.Errorf("%s is the text %q, want a number: %s", key, text, line)
				}
			}
			name, isTime := strings.CutSuffix(key, "_ms")
			if isTime {
				ms, ok := value.(float64)
				if !ok || ms <= 0 || ms > float64(harness.Patience.Milliseconds()) || key == "grace_ms" && ms != 10_000 {
					t.Errorf("%s is %v: %s", key, value, line)
				}
				timed[fmt.Sprint(event["msg"], " ", key)] = true
			}
			if !strings.Contains(section, "`"+name+"`") {
				t.Errorf("the reference does not name the key %s: %s", name, line)
			}
		}
	}
	for _, want := range []string{"request took_ms", "configuration reloaded took_ms", "stopping grace_ms"} {
		if !timed[want] {
			t.Errorf("no %s in %v", want, timed)
		}
	}
	words, _ := eventful(t, "println")
	for _, want := range []string{` took=[0-9.]+(µs|ms|s)\n`, ` grace=10s\n`} {
		if !regexp.MustCompile(want).MatchString(words) {
			t.Errorf("nothing like %s in\n%s", want, words)
		}
	}
}

// readableLine matches a line of the println format whose values are unambiguous: quoted, or
// without blanks and quotes.
var readableLine = regexp.MustCompile(`^\S+ (INFO|WARN|ERROR) [a-z ]+?( \w+=("([^"\\]|\\.)*"|[^\s"\\]*))*$`)

func TestProgram_WhatComesFromARequestIsEscapedInTheLog(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"println", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			p := Serving(t, "- endpoint: {path: '/n/:id|int', response: {body: fine}}\n", "-f", format, "--access-log")
			for _, target := range []string{
				"/n/x%0AFORGED%0d%0AFORGED%1b[31m%22%00", // decoded in the reason
				"/n/7?%0AFORGED%1b[31m",
				`/x"FORGED="1`, `/x\FORGED\"`, "/x'FORGED", "/x=FORGED",
				"/x%c2%9bFORGED", "/x%e2%80%a8FORGED", "/x%ffFORGED", // also decoded in the reason
			} {
				wire(p, "GET "+target+" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
			}
			for _, refused := range []string{
				"GET /x\x1b[31mFORGED HTTP/1.1\r\nHost: a\r\n\r\n", "GET /x\xc2\x9bFORGED HTTP/1.1\r\nHost: a\r\n\r\n",
				"GET /FORGED HTTP/1.1\r\nHost: a\x1b[31m\"} FORGED\r\n\r\n",
				"\x1b[31mFORGED / HTTP/1.1\r\nHost: a\r\n\r\n",
			} {
				wire(p, refused)
			}
			stdout, stderr := p.Stopped()
			if got := strings.Count(stdout, "FORGED"); got < 9 {
				t.Fatalf("the requests are not logged:\n%s", stdout)
			}
			if strings.ContainsAny(stdout+stderr, "\x00\x1b\r\u2028") {
				t.Errorf("control characters of a request are in the log:\n%q", stdout+stderr)
			}
			if format == "json" {
				jsonEvents(t, stdout+stderr)
				return
			}
			for line := range strings.Lines(stdout + stderr) {
				if line = strings.TrimSuffix(line, "\n"); !readableLine.MatchString(line) || strings.Contains(line, "\u009b") || !utf8.ValidString(line) {
					t.Errorf("a request can write its own lines to the log: %q", line)
				}
			}
		})
	}
}

func TestProgram_UnmatchedRequestsAreLoggedWithTheirReason(t *testing.T) {
	t.Parallel()
	p := Serving(t, "- endpoint: {path: /a, if: query-params.page = 2, response: {body: fine}}\n")
	p.Get("/a")
	p.WaitLine(0, "GET", "/a", "condition", "query-params.page = 2")
	p.Do("POST", "/a", "")
	p.WaitLine(0, "POST /a", "GET, not POST")
}

func TestProgram_TenUnmatchedRequestsASecondAreLogged(t *testing.T) {
	t.Parallel()
	p := Serving(t, One("fine"))
	const sent = 400
	begun := time.Now()
	for range sent {
		p.Get("/nowhere")
	}
	seconds := int(time.Since(begun)/time.Second) + 2 // the first and the last second are incomplete
	stdout, _ := p.Stopped()
	got := strings.Count(stdout, "/nowhere (") + strings.Count(stdout, "uri=/nowhere")
	if got == 0 || got > 10*seconds {
		t.Errorf("%d of %d unmatched requests are logged in %d seconds, want at most 10 a second", got, sent, seconds)
	}
}

// Omitted lines are counted: a line within a second of the last one gives their number, even if no
// further request is sent, and so does a line at the end.
func TestProgram_LinesThatAreLeftOutAreCounted(t *testing.T) {
	t.Parallel()
	p := Serving(t, One("fine"))
	suppressed := regexp.MustCompile(` suppressed=(\d+)`)
	counts := func() (lines, left int) {
		for _, line := range p.Output() {
			if strings.Contains(line, " unmatched request ") {
				lines++
			}
			if m := suppressed.FindStringSubmatch(line); m != nil {
				n, err := strconv.Atoi(m[1])
				if err != nil {
					t.Fatal(err)
				}
				left += n
			}
		}
		return lines, left
	}
	const requests = 300
	wire(p, strings.Repeat("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n", requests-1)+"GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	for {
		n := len(p.Output())
		lines, left := counts()
		if lines+left == requests && left > 0 {
			break
		}
		p.WaitLine(n) // any
	}
	wire(p, strings.Repeat("GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n", requests-1)+"GET /nowhere HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	p.Stopped()
	if lines, left := counts(); lines+left != 2*requests {
		t.Errorf("at the end %d lines and %d left out, want %d together", lines, left, 2*requests)
	}
}

func TestProgram_AllRequestsAreLoggedOnlyWithAccessLog(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		env  []string
		args []string
		want bool
	}{
		{"not by default", nil, nil, false},
		{"by the flag", nil, []string{"--access-log"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := Serving(t, One("fine"), c.args...)
			p.Get("/a?n=1").Want(t, 200, "fine")
			p.Do("POST", "/a", "")
			stdout, _ := p.Stopped()
			for _, want := range [][]string{{"GET", "/a?n=1", "200"}, {"POST", "/a", "405", "took"}} {
				if got := HasLine(stdout, want); got != c.want {
					t.Errorf("logged %q: %v, want %v:\n%s", want, got, c.want, stdout)
				}
			}
		})
	}
}

// A connection that never sent a request does not appear in the access log.
func TestProgram_ASilentConnectionIsNoRequest(t *testing.T) {
	t.Parallel()
	p := Serving(t, One("fine"), "--access-log")
	for range 2 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.(*net.TCPConn).SetLinger(0); err != nil { // closing it resets it
			t.Fatal(err)
		}
		if len(p.Output()) == 1 {
			_ = conn.Close() // the first one now; the second is still silent at the end
		}
		p.Get("/a")
	}
	p.Signal(syscall.SIGTERM)
	p.Exit()
	requests := 0
	for _, line := range p.Output() {
		if strings.Contains(line, " request ") {
			requests++
		}
	}
	if requests != 2 {
		t.Errorf("got %d requests in the log, want 2:\n%s", requests, strings.Join(p.Output(), "\n"))
	}
}
