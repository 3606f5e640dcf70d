package main

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
	"mockserver/listener/admin"
)

// speaker says what concerns the start: as it is, for a terminal and for editors
// that jump to file:line:column, or as JSON objects.
type speaker struct {
	json           bool
	log            *slog.Logger
	stdout, stderr io.Writer
}

// withoutConfiguration does what needs no configuration, and tells whether it was that.
func (s speaker) withoutConfiguration(set settings.Settings) (code int, done bool) {
	switch set.Command {
	case "help":
		if set.HelpOf == "bench" {
			fmt.Fprint(s.stdout, bench.Usage())
			break
		}
		fmt.Fprint(s.stdout, settings.Usage(set.HelpOf))
	case "version":
		fmt.Fprintln(s.stdout, thisBuild())
	case "health":
		return s.health(set), true
	case "schema":
		return s.schema(), true
	case "bench":
		return s.refuse(errors.New("bench: it stands in front of its flags: mockserver bench -h")), true
	default:
		return exitOK, false
	}
	return exitOK, true
}

// schema prints the JSON Schema of the configuration, which is to be kept in a file.
func (s speaker) schema() int {
	if _, err := s.stdout.Write(config.Schema()); err != nil {
		s.log.Error("cannot print the schema", "error", err.Error())
		return exitFailed
	}
	return exitOK
}

// refuse says what keeps the program from starting.
func (s speaker) refuse(err error) int {
	var problems syntax.Problems
	switch {
	case !s.json:
		fmt.Fprintln(s.stderr, err)
	case errors.As(err, &problems):
		logProblems(s.log, "configuration error", problems)
	default:
		s.log.Error("cannot start", "error", err.Error())
	}
	return exitUsage
}

// validate says what is wrong with the configuration, warnings too.
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
		s.log.Info("the configuration is valid", listener.Declared(spec), "routes", strings.Join(routes, ", "), "more", more)
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

// shownRoutes is how many routes are listed at the start, so that one sees that they are
// those that were meant.
const shownRoutes = 5

// strays warns of variables of the environment that are meant for settings and are none.
// Standard output is the document of export.
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

// export prints what the configuration serves as an OpenAPI document. Warnings stand
// beside it, on standard error.
func (s speaker) export(spec *config.Spec, p *program) int {
	problems := listener.Check(spec, p.opts)
	if err := problems.Err(); err != nil {
		return s.refuse(err)
	}
	for _, warning := range problems.Warnings() {
		fmt.Fprintln(s.stderr, "warning:", warning)
	}
	document, err := export.Spec(p.settings.Loader(), spec)
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

// health asks the server that runs with the same settings whether it answers, and
// says so. It returns 0 or 1 and nothing else: container engines reserve the rest.
func (s speaker) health(set settings.Settings) int {
	address, err := listener.Ping(set.Host, set.Port)
	switch {
	case err != nil && s.json:
		s.log.Error("not healthy", "error", err.Error())
	case err != nil:
		fmt.Fprintln(s.stderr, "not healthy:", err)
	case s.json:
		s.log.Info("healthy", "address", address)
	default:
		fmt.Fprintf(s.stdout, "healthy: %s answers\n", address)
	}
	if err != nil {
		return exitFailed
	}
	return exitOK
}

// logProblems logs each problem as an event of its own, as many as one message
// shows.
func logProblems(log *slog.Logger, message string, problems syntax.Problems) {
	for _, line := range problems.Lines() {
		log.Error(message, "error", line)
	}
}

// cannotStart says why the server does not start.
func (s speaker) cannotStart(err error) int {
	var problems syntax.Problems
	switch {
	case errors.As(err, &problems):
		return s.refuse(problems)
	case errors.Is(err, admin.ErrThreshold):
		return s.refuse(fmt.Errorf("--verdict or MOCKSERVER_VERDICT: %w", err))
	case errors.Is(err, admin.ErrAddress):
		s.log.Error("cannot start", "error", err.Error()+"; choose another with --admin")
	case errors.Is(err, syscall.EADDRINUSE):
		s.log.Error("cannot start", "error", err.Error()+"; choose another port with --port")
	default:
		s.log.Error("cannot start", "error", err.Error())
	}
	return exitFailed
}
