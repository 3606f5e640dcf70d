package program

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"syscall"

	"mockserver/bench"
	"mockserver/config"
	"mockserver/config/openapi/export"
	"mockserver/config/settings"
	"mockserver/config/syntax"
	"mockserver/internal/wording"
	"mockserver/listener"
	"mockserver/listener/control/admin"
	"mockserver/listener/control/fleet"
	"mockserver/listener/control/health"
	"mockserver/listener/program/importing"
	"mockserver/listener/protocol/certs"
)

// speaker prints the startup messages: as plain lines, for terminals and for editors that jump to
// file:line:column, or as JSON objects.
type speaker struct {
	json           bool
	log            *slog.Logger
	stdout, stderr io.Writer
	build          settings.Build
}

// withoutConfiguration runs the commands that need no configuration, and reports whether the
// command is one of them.
func (s speaker) withoutConfiguration(set settings.Settings) (code int, done bool) {
	switch set.Command {
	case "help":
		switch set.HelpOf {
		case "bench":
			fmt.Fprint(s.stdout, bench.Usage())
		case "run", "compare":
			fmt.Fprint(s.stdout, fleet.Usage(set.HelpOf))
		case "import":
			fmt.Fprint(s.stdout, importing.Usage())
		default:
			fmt.Fprint(s.stdout, settings.Usage(set.HelpOf))
		}
	case "version":
		fmt.Fprintln(s.stdout, s.build)
	case "health":
		return s.health(set), true
	case "schema":
		return s.schema(), true
	case "ca":
		return s.ca(set), true
	case "run", "compare", "bench", "import":
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
	routes, more := spec.Routes(shownRoutes, "")
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

// shownRoutes is the maximum number of routes listed at the start: enough to recognize the
// configuration.
const shownRoutes = 5

// strays warns about environment variables that look like settings but are not. The warnings of
// export go to standard error, since its standard output contains only the document.
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
	document, left, err := export.Spec(p.loader(), spec)
	if err != nil {
		return s.refuse(err)
	}
	if left != "" {
		fmt.Fprintln(s.stderr, "warning: left out, because OpenAPI cannot express it:", left)
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
	case errors.As(err, new(certs.FileError)):
		return s.refuse(fmt.Errorf("cannot start: %w", err))
	case errors.Is(err, admin.ErrAddress):
		hint = "; choose another with --admin"
	case errors.Is(err, syscall.EADDRINUSE):
		hint = "; choose another port with --port"
	}
	s.log.Error("cannot start", "error", err.Error()+hint)
	return exitFailed
}
