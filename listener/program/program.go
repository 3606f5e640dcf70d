// Package program is the command line program, except for what belongs to its process: it reads the
// settings, loads the configuration, serves it and stops, or runs one of the other commands.
package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"mockserver/bench"
	"mockserver/config"
	"mockserver/config/item"
	"mockserver/config/settings"
	"mockserver/listener"
	"mockserver/listener/control/admin"
	"mockserver/listener/control/fleet"
	"mockserver/listener/observe/logging"
	"mockserver/listener/program/importing"
	"mockserver/listener/protocol/certs"
)

// Process is what the program uses from its process, except files, the working directory and the
// proxy variables of net/http. bench also starts the executable of the process, and passes the
// environment on to it.
type Process struct {
	Args    []string // without the name of the program
	Env     func(name string) (value string, found bool)
	Environ []string         // "NAME=value"
	Signals <-chan os.Signal // SIGHUP reloads; any other stops the program
	Stdin   *os.File
	Stdout  io.Writer
	Stderr  io.Writer
	Build   settings.Build
	// Prepare prepares the process for a server before it starts; nil for nothing.
	Prepare func(*slog.Logger)
	// FreeMemory gives back to the system the memory that reading a configuration took; nil to keep
	// it.
	FreeMemory func()

	served func(*program) // called once the server of the command run serves
}

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // for example, the port is in use, or a drain was cut short
	exitUsage  = 2 // an invalid flag or configuration
)

// watchInterval is how often configuration files are polled. A change counts as complete once the
// next poll finds the same files, and must be served within a second.
const watchInterval = 500 * time.Millisecond

// lastWords is how long the end of a server waits for the readers of its log.
const lastWords = time.Second

// Run runs the program until its command ends, and returns the exit code. After a second signal to
// stop, parts of the server may still be ending.
func Run(of Process) int {
	if command := commandOf(of); command != nil {
		return command(of.Args[1:])
	}
	set, err := settings.Read(of.Args, of.variable)
	out := logging.NewOutput(set.Format, of.Stdout, of.Stderr)
	if err == nil && set.Command == "serve" { // other commands wait for the readers of their output
		of.Stdout, of.Stderr = out.Stdout(), out.Stderr()
		defer out.Flush(lastWords)
	}
	log := logging.New(set.Format, of.Stdout, of.Stderr)
	printer := speaker{json: set.Format == "json", log: log, stdout: of.Stdout, stderr: of.Stderr, build: of.Build}
	if err != nil {
		if code := printer.refuse(err); set.Command != "health" {
			return code
		}
		return exitFailed
	}
	if code, done := printer.withoutConfiguration(set); done {
		return code
	}
	printer.strays(set.Command, of.Environ)
	paths, err := set.Sources()
	if err != nil {
		return printer.refuse(err)
	}
	p := program{log: log, out: out, build: of.Build, settings: set, opts: admin.ServerOptions(set, of.Env, log, of.Build.Version)}
	if p.opts.TLS, p.adminTLS, err = admin.TLSOf(set); err != nil {
		return printer.cannotStart(err)
	}
	p.imported.Log, p.imported.Templated = log, set.GlobalTemplates
	defer p.imported.Close()
	p.files = listener.NewReloader(p.loader(), paths...)
	p.files.Served = of.FreeMemory
	if p.admin, err = admin.OpenAs(set, p.adminOptions()); err != nil {
		return printer.cannotStart(err)
	}
	defer p.admin.CloseSoon()
	if of.Prepare != nil && set.Command == "serve" {
		of.Prepare(log)
	}
	code := exitOK
	if s := untilSignal(of.Signals, func() { code = p.begin(printer) }, p.discard); s != nil {
		log.Error("stopped while loading", "signal", s.String())
		return exitFailed
	}
	if p.server == nil {
		return code
	}
	p.files.Attach(p.server) // first: the admin address may reload from then on
	p.admin.Attach(p.server)
	p.announce(p.server.Spec())
	if of.served != nil {
		of.served(&p)
	}
	if of.FreeMemory != nil {
		of.FreeMemory()
	}
	return p.serve(of.Signals)
}

// variable returns the value of an environment variable; "" if it is not set.
func (p Process) variable(name string) string {
	value, _ := p.Env(name)
	return value
}

// commandOf returns the command that the arguments begin with, if it reads its arguments by itself.
func commandOf(of Process) func(args []string) int {
	if len(of.Args) == 0 {
		return nil
	}
	switch of.Args[0] {
	case "bench":
		return func(args []string) int {
			return bench.Command(args, of.Env, of.Signals, of.Stdout, of.Stderr, of.Build.Version)
		}
	case "run", "compare":
		return func(args []string) int {
			return fleet.Command(of.Args[0], args, fleet.Process{Env: of.variable, Environ: of.Environ, Signals: of.Signals, Stdin: of.Stdin, Stdout: of.Stdout, Stderr: of.Stderr, Serve: of.serveForRun})
		}
	case "import":
		return func(args []string) int { return importing.Command(args, of.Stdout, of.Stderr) }
	default:
		return nil
	}
}

// serveForRun starts a server for the command run. It logs to standard error, since standard output
// is that of the load test.
func (p Process) serveForRun(args []string) fleet.Served {
	signals, began, ended := make(chan os.Signal, 8), make(chan fleet.Served, 1), make(chan int, 1)
	inner := p
	inner.Args, inner.Signals, inner.Stdout = append([]string{"serve"}, args...), signals, p.Stderr
	inner.Env = func(name string) (string, bool) {
		if strings.HasPrefix(name, fleet.FleetVariables) {
			return "", false
		}
		return p.Env(name)
	}
	inner.served = func(s *program) { began <- fleet.Served{Options: s.admin.AsFleet(), URL: s.server.URL()} }
	go func() { ended <- Run(inner) }()
	next := func() fleet.Served {
		for stopping := false; ; {
			select {
			case s := <-began:
				if !stopping {
					return s
				}
			case code := <-ended:
				return fleet.Served{Code: cmp.Or(code, exitFailed)} // it did not serve, even if it stopped in order
			case signal := <-p.Signals:
				signals <- signal
				stopping = stopping || signal != syscall.SIGHUP
			}
		}
	}
	s := next()
	if s.URL != "" {
		s.Stop = func() {
			signals <- syscall.SIGTERM
			next()
		}
	}
	return s
}

// begin reads the configuration, and starts the server, or runs validate or export. The exit code
// counts only if no server was started.
func (p *program) begin(printer speaker) (code int) {
	spec := p.files.Load()
	switch p.settings.Command {
	case "validate":
		return printer.validate(spec, p.opts)
	case "export":
		return printer.export(spec, p)
	}
	server, err := listener.Start(spec, p.opts)
	if errors.Is(err, syscall.EADDRINUSE) && p.admin.Holds(p.opts.Port) { // this program's admin address uses it
		err = fmt.Errorf("%w: it is on port %d, the port of the mocks", admin.ErrAddress, p.opts.Port)
	}
	if err != nil {
		return printer.cannotStart(err)
	}
	p.server = server
	return exitOK
}

// discard closes a server that started too late, where the process does not end with the program.
func (p *program) discard() {
	if p.server != nil {
		_ = p.server.Close() // nothing has been served
	}
}

// adminOptions returns the options of the admin address that are not settings.
func (p *program) adminOptions() admin.Options {
	return admin.Options{
		Logger: p.log, LogDropped: p.out.Dropped, Loader: p.loader(), Check: p.opts, Build: p.build,
		Reload: func() error { return p.files.Reload("the admin address") }, TLS: p.adminTLS,
	}
}

// loader returns the loader of the settings, which also reads the files of other tools.
func (p *program) loader() config.Loader {
	l := p.settings.Loader
	l.Import = p.imported.Import
	return l
}

// announce logs what is served and where.
func (p *program) announce(spec *config.Spec) {
	p.log.Info("listening", "url", p.server.URL(), "address", p.server.Addr().String(), spec.Declared())
	// The lines about documents list their routes.
	declared := slices.ContainsFunc(spec.Endpoints, func(e item.Endpoint) bool { return e.Operation == nil }) || len(spec.WebSockets) > 0
	if routes, more := spec.Routes(shownRoutes, p.server.URL()); declared && len(routes) > 0 {
		p.log.Info("first routes", "routes", strings.Join(routes, ", "), "more", more)
	}
	if len(spec.Documents()) > 0 && !p.settings.Loader.Validate {
		p.log.Info("requests are not validated", "flag", "--validate")
	}
	for _, left := range spec.LeftOut() {
		p.log.Info("left out of the configuration", "what", left)
	}
	if names := spec.Catalogue(); len(names) > 0 {
		p.log.Info("webhooks that the OpenAPI documents list, which are not sent", "count", len(names), "webhooks", names)
	}
}

// untilSignal runs work. If a signal to stop arrives first, it returns early, with that signal, and late
// runs once work has ended.
func untilSignal(signals <-chan os.Signal, work, late func()) os.Signal {
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
				go func() {
					<-done
					late()
				}()
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
	out      *logging.Output
	build    settings.Build
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
			switch {
			case err == nil:
				p.log.Info("stopped")
				return exitOK
			case ctx.Err() != nil && errors.Is(err, ctx.Err()):
				p.log.Error("stopped with requests unfinished", "error", err.Error())
			default:
				p.log.Error("stopped, but not everything was closed or written", "error", err.Error())
			}
			return exitFailed
		case s := <-signals:
			if s != syscall.SIGHUP {
				p.log.Error("stopped immediately by a second signal", "signal", s.String())
				return exitFailed
			}
		}
	}
}
