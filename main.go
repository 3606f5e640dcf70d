// Command mockserver serves the endpoints that a configuration file declares.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/panjf2000/ants/v2"

	"mockserver/bench"
	"mockserver/config"
	"mockserver/config/openapi/export"
	"mockserver/config/settings"
	"mockserver/config/syntax"
	"mockserver/internal/startup"
	"mockserver/internal/wording"
	"mockserver/listener"
	"mockserver/listener/admin"
	"mockserver/listener/certs"
	"mockserver/listener/fleet"
	"mockserver/listener/health"
	"mockserver/listener/importing"
	"mockserver/listener/logging"
)

func main() {
	startup.Done()
	ants.Release() // its default pool, which nothing here uses, wakes the process three times a second
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM)
	if os.Getenv(bench.ChildVariable) != "" {
		bench.Attach(os.Stdin, signals)
	}
	os.Exit(run(os.Args[1:], os.LookupEnv, os.Environ(), signals, os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // the port is in use, or a drain was cut short
	exitUsage  = 2 // an invalid flag or configuration
)

// watchInterval is how often configuration files are polled. A change counts as complete once
// the poll after it agrees, and must be served within a second.
const watchInterval = 500 * time.Millisecond

// run runs the program. Everything that it uses from the process, except files, is an argument. It
// returns the exit code.
func run(args []string, env func(string) (string, bool), environ []string, signals <-chan os.Signal, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "bench" {
		return bench.Command(args[1:], env, signals, stdout, stderr, thisBuild().Version)
	}
	if len(args) > 0 && args[0] == "fleet" {
		return fleet.Command(args[1:], fleet.Process{Env: env, Signals: signals, Stdin: os.Stdin, Stdout: stdout, Stderr: stderr})
	}
	if len(args) > 0 && args[0] == "import" {
		return importing.Command(args[1:], stdout, stderr)
	}
	set, err := settings.Read(args, func(name string) string {
		value, _ := env(name)
		return value
	})
	log := logging.New(set.Format, stdout, stderr)
	say := speaker{json: set.Format == "json", log: log, stdout: stdout, stderr: stderr}
	switch {
	case err != nil && set.Command == "health":
		say.refuse(err)
		return exitFailed
	case err != nil:
		return say.refuse(err)
	}
	if code, done := say.withoutConfiguration(set); done {
		return code
	}
	say.strays(set.Command, environ)
	paths, err := set.Sources()
	if err != nil {
		return say.refuse(err)
	}
	p := program{log: log, settings: set, opts: admin.ServerOptions(set, env, log, thisBuild().Version)}
	if p.opts.TLS, p.adminTLS, err = admin.TLSOf(set); err != nil {
		return say.cannotStart(err)
	}
	p.imported.Log = log
	defer p.imported.Close()
	p.files = listener.NewReloader(p.loader(), paths...)
	p.files.Served = func() { go debug.FreeOSMemory() } // as in fit
	if p.admin, err = admin.OpenAs(set, p.adminOptions()); err != nil {
		return say.cannotStart(err)
	}
	defer p.admin.CloseSoon()
	code := exitOK
	if s := unless(signals, func() { code = p.begin(say) }); s != nil {
		log.Error("stopped while loading", "signal", s.String())
		return exitFailed
	}
	if p.server == nil {
		return code
	}
	p.files.Attach(p.server) // first: the admin address may reload from then on
	p.admin.Attach(p.server)
	p.announce(p.server.Spec())
	fit(log)
	return p.serve(signals)
}

// begin reads the configuration, and starts the server, or runs validate or export. It returns
// their exit code.
func (p *program) begin(say speaker) (code int) {
	spec := p.files.Load()
	switch p.settings.Command {
	case "validate":
		return say.validate(spec, p.opts)
	case "export":
		return say.export(spec, p)
	}
	server, err := listener.Start(spec, p.opts)
	if errors.Is(err, syscall.EADDRINUSE) && p.admin.Holds(p.opts.Port) { // this program's admin address uses it
		err = fmt.Errorf("%w: it is on port %d, the port of the mocks", admin.ErrAddress, p.opts.Port)
	}
	if err != nil {
		return say.cannotStart(err)
	}
	p.server = server
	return exitOK
}

// adminOptions returns the options of the admin address that are not settings.
func (p *program) adminOptions() admin.Options {
	return admin.Options{
		Logger: p.log, Loader: p.loader(), Check: p.opts, Build: thisBuild(),
		Reload: func() error { return p.files.Reload("the admin address") }, TLS: p.adminTLS,
	}
}

// loader returns the loader of the settings, which also reads the files of other tools.
func (p *program) loader() config.Loader {
	l := p.settings.Loader()
	l.Import = p.imported.Import
	return l
}

// announce logs what is served and where.
func (p *program) announce(spec *config.Spec) {
	p.log.Info("listening", "url", p.server.URL(), "address", p.server.Addr().String(), spec.Declared())
	// The lines about documents list their routes.
	declared := slices.ContainsFunc(spec.Endpoints, func(e config.Endpoint) bool { return e.Operation == nil }) || len(spec.WebSockets) > 0
	if routes, more := spec.Routes(shownRoutes); declared && len(routes) > 0 {
		p.log.Info("first routes", "routes", strings.Join(routes, ", "), "more", more)
	}
	for _, left := range spec.LeftOut() {
		p.log.Info("left out of the configuration", "what", left)
	}
	if names := spec.Catalogue(); len(names) > 0 {
		p.log.Info("webhooks that the OpenAPI documents list, which are not sent", "count", len(names), "webhooks", names)
	}
}

// fit makes the garbage collector keep to 90 % of a container's memory limit, unless
// GOMEMLIMIT is set. It returns the memory that reading the configuration took, which may be
// several times what serving it takes.
func fit(log *slog.Logger) {
	if limit, err := memlimit.Set(); err == nil && limit < math.MaxInt64 {
		log.Info("memory is limited", "soft_limit_bytes", limit)
	}
	go debug.FreeOSMemory()
}

// unless runs work. If a signal to stop arrives first, it returns early, with that signal.
func unless(signals <-chan os.Signal, work func()) os.Signal {
	done := make(chan struct{})
	go func() {
		work()
		close(done)
	}()
	for {
		select {
		case <-done:
			return nil
		case s := <-signals:
			if s != syscall.SIGHUP {
				return s
			}
		}
	}
}

// program is a running server, with everything that is needed to reload and stop it.
type program struct {
	server   *listener.Server
	admin    *admin.Admin // nil for none
	log      *slog.Logger
	settings settings.Settings
	opts     listener.Options
	adminTLS *certs.Options     // nil for clear text
	files    *listener.Reloader // of the configuration
	imported importing.Files
}

// serve reloads on changes and on SIGHUP until it receives a signal to stop, or the server fails.
// Reloading runs in its own goroutine, so that no signal waits for it.
func (p *program) serve(signals <-chan os.Signal) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go p.files.Run(ctx, watchInterval)
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGHUP {
				p.files.Ask("SIGHUP")
				go p.server.ReloadCertificates("SIGHUP")
				go p.admin.ReloadCertificates("SIGHUP")
				continue
			}
			cancel()
			return p.drain(slog.String("signal", s.String()), signals)
		case <-p.server.Done():
			p.log.Error("serving ended", "error", fmt.Sprint(p.server.Err()))
			cancel()
			p.drain(slog.String("cause", "no connection can be accepted"), signals)
			return exitFailed
		}
	}
}

// drain lets requests in flight finish within the grace period. A second signal stops the program
// at once.
func (p *program) drain(cause slog.Attr, signals <-chan os.Signal) int {
	p.log.Info("stopping", cause, "grace", p.settings.Grace)
	ctx, cancel := context.WithTimeout(context.Background(), p.settings.Grace)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- p.server.Shutdown(ctx) }()
	for {
		select {
		case err := <-stopped:
			if err != nil {
				p.log.Error("stopped with requests unfinished", "error", err.Error())
				return exitFailed
			}
			p.log.Info("stopped")
			return exitOK
		case s := <-signals:
			if s != syscall.SIGHUP {
				p.log.Error("stopped immediately by a second signal", "signal", s.String())
				return exitFailed
			}
		}
	}
}

// The linker sets version and commit when a release or an image is built
// (-X main.version=… -X main.commit=…).
var (
	version = ""
	commit  = ""
)

// thisBuild returns the running build.
func thisBuild() settings.Build { return settings.ThisBuild(version, commit) }

// speaker prints the startup messages: as plain lines, for terminals and for editors that jump to
// file:line:column, or as JSON objects.
type speaker struct {
	json           bool
	log            *slog.Logger
	stdout, stderr io.Writer
}

// withoutConfiguration runs the commands that need no configuration, and reports whether the
// command is one of them.
func (s speaker) withoutConfiguration(set settings.Settings) (code int, done bool) {
	switch set.Command {
	case "help":
		switch set.HelpOf {
		case "bench":
			fmt.Fprint(s.stdout, bench.Usage())
		case "fleet":
			fmt.Fprint(s.stdout, fleet.Usage())
		case "import":
			fmt.Fprint(s.stdout, settings.ImportUsage())
		default:
			fmt.Fprint(s.stdout, settings.Usage(set.HelpOf))
		}
	case "version":
		fmt.Fprintln(s.stdout, thisBuild())
	case "health":
		return s.health(set), true
	case "schema":
		return s.schema(), true
	case "ca":
		return s.ca(set), true
	case "bench", "fleet", "import":
		return s.refuse(fmt.Errorf("%s comes before its flags: mockserver %[1]s -h", set.Command)), true
	default:
		return exitOK, false
	}
	return exitOK, true
}

// health reports whether the server with the same settings answers. It returns 0 or 1:
// container engines reserve the rest.
func (s speaker) health(set settings.Settings) int {
	address, err := health.Ping(set.Host, set.Port, set.TLS.Only)
	switch {
	case err == nil && s.json:
		s.log.Info("healthy", "address", address)
		return exitOK
	case err == nil:
		fmt.Fprintf(s.stdout, "healthy: %s answers\n", address)
		return exitOK
	case s.json:
		s.log.Error("not healthy", "error", err.Error())
	default:
		fmt.Fprintln(s.stderr, "not healthy:", err)
	}
	return exitFailed
}

// ca prints the certificate of the CA with which the server signs its certificates.
func (s speaker) ca(set settings.Settings) int {
	authority, err := certs.OpenAuthority(set.TLS.Dir)
	if err == nil {
		_, err = s.stdout.Write(authority.PEM())
	}
	if err != nil {
		return s.cannotStart(err)
	}
	return exitOK
}

// schema prints the JSON Schema of the configuration.
func (s speaker) schema() int {
	if _, err := s.stdout.Write(config.Schema()); err != nil {
		s.log.Error("cannot print the schema", "error", err.Error())
		return exitFailed
	}
	return exitOK
}

// refuse reports why the program does not start.
func (s speaker) refuse(err error) int {
	var problems syntax.Problems
	switch {
	case !s.json:
		fmt.Fprintln(s.stderr, err)
	case errors.As(err, &problems):
		for _, line := range problems.Lines() {
			s.log.Error("configuration error", "error", line)
		}
	default:
		s.log.Error("cannot start", "error", err.Error())
	}
	return exitUsage
}

// validate prints the errors and warnings of the configuration.
func (s speaker) validate(spec *config.Spec, opts listener.Options) int {
	problems := listener.Check(spec, opts)
	for _, warning := range problems.Warnings() {
		if s.json {
			s.log.Warn("configuration warning", "warning", warning.String())
		} else {
			fmt.Fprintln(s.stdout, "warning:", warning)
		}
	}
	if err := problems.Err(); err != nil {
		return s.refuse(err)
	}
	for _, left := range spec.LeftOut() {
		if s.json {
			s.log.Info("left out of the configuration", "what", left)
		} else {
			fmt.Fprintln(s.stdout, "left out:", left)
		}
	}
	routes, more := spec.Routes(shownRoutes)
	if s.json {
		s.log.Info("the configuration is valid", spec.Declared(), "routes", strings.Join(routes, ", "), "more", more)
		return exitOK
	}
	served := wording.Count(len(spec.Endpoints), "endpoint")
	if n := len(spec.WebSockets); n > 0 {
		served += ", " + wording.Count(n, "WebSocket")
	}
	fmt.Fprintln(s.stdout, "the configuration is valid:", served)
	for _, route := range routes {
		fmt.Fprintln(s.stdout, " ", route)
	}
	if more > 0 {
		fmt.Fprintf(s.stdout, "  and %d more\n", more)
	}
	return exitOK
}

// shownRoutes is how many routes are listed at the start: enough to recognize the configuration.
const shownRoutes = 5

// strays warns about environment variables that look like settings but are not. For export and
// schema, standard output contains only the document.
func (s speaker) strays(command string, environ []string) {
	for _, stray := range settings.StrayVariables(environ, bench.ChildVariable) {
		hint := ""
		if stray.Near != "" {
			hint = fmt.Sprintf(" (did you mean %s?)", stray.Near)
		}
		what := "environment variable " + stray.Name + ": unknown" + hint
		if command == "serve" || command == "validate" && s.json {
			s.log.Warn(what)
		} else {
			fmt.Fprintln(s.stderr, "warning:", what)
		}
	}
}

// export prints what the configuration serves as an OpenAPI document, and warnings on
// standard error.
func (s speaker) export(spec *config.Spec, p *program) int {
	problems := listener.Check(spec, p.opts)
	if err := problems.Err(); err != nil {
		return s.refuse(err)
	}
	for _, warning := range problems.Warnings() {
		fmt.Fprintln(s.stderr, "warning:", warning)
	}
	document, err := export.Spec(p.loader(), spec)
	if err != nil {
		return s.refuse(err)
	}
	text, err := export.Write(document, p.settings.Export)
	if err == nil {
		_, err = s.stdout.Write(text)
	}
	if err != nil {
		s.log.Error("cannot print the document", "error", err.Error())
		return exitFailed
	}
	return exitOK
}

// cannotStart reports why the server does not start.
func (s speaker) cannotStart(err error) int {
	var problems syntax.Problems
	hint := ""
	switch {
	case errors.As(err, &problems):
		return s.refuse(problems)
	case errors.Is(err, admin.ErrThreshold):
		return s.refuse(fmt.Errorf("--verdict or MOCKSERVER_VERDICT: %w", err))
	case errors.Is(err, admin.ErrFleet):
		return s.refuse(fmt.Errorf("--fleet or MOCKSERVER_FLEET: %w", err))
	case errors.Is(err, admin.ErrAddress):
		hint = "; choose another with --admin"
	case errors.Is(err, syscall.EADDRINUSE):
		hint = "; choose another port with --port"
	}
	s.log.Error("cannot start", "error", err.Error()+hint)
	return exitFailed
}
