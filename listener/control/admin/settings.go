package admin

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"mockserver/config/settings"
	"mockserver/listener"
	"mockserver/listener/control/fleet"
	"mockserver/listener/observe/record"
	"mockserver/listener/observe/verdict"
)

// ErrThreshold is the error for invalid thresholds.
var ErrThreshold = verdict.ErrThreshold

// OpenAs opens the admin address of the settings; opts provides everything else. It returns nil for
// commands other than serve. If the settings contain no admin address, it returns nil as well, and
// logs a warning about settings that need an admin address. Thresholds and the fleet are always
// checked; the error wraps ErrThreshold or ErrFleet, or comes from Open.
func OpenAs(settings settings.Settings, opts Options) (*Admin, error) {
	thresholds, err := verdict.ParseThresholds(settings.Verdict)
	if err == nil && settings.Fleet != "" {
		if _, err = fleet.ParseMembers(settings.Fleet); err != nil {
			err = fmt.Errorf("%w: %w", ErrFleet, err)
		}
	}
	if err != nil || settings.Command != "serve" {
		return nil, err
	}
	if settings.Admin == "" {
		warnOfIdle(settings, opts.Logger)
		return nil, nil
	}
	opts.Address, opts.Token = settings.Admin, settings.AdminToken
	opts.Settings, opts.Thresholds = settings.Given(), thresholds
	opts.Fleet = fleet.Options{Members: settings.Fleet, Expect: settings.FleetExpect, CA: settings.FleetCA}
	a, err := Open(opts)
	if err != nil {
		return nil, err
	}
	a.log.Info("admin address", "url", a.URL())
	return a, nil
}

// warnOfIdle logs a warning about settings that have no effect without the admin address. They are
// not errors, since they may come from a shared environment.
func warnOfIdle(settings settings.Settings, log *slog.Logger) {
	var idle []string
	for _, given := range settings.Given() {
		if !given.Default && slices.Contains([]string{"--admin-token", "--journal-sample", "--journal-size", "--verdict", "--fleet", "--fleet-expect", "--fleet-ca"}, given.Flag) {
			idle = append(idle, given.Flag)
		}
	}
	if len(idle) > 0 && log != nil {
		log.Warn("settings of the admin address have no effect without --admin", "settings", strings.Join(idle, ","))
	}
}

// Holds reports whether the admin address uses the given port, on any host. A nil Admin uses none.
func (a *Admin) Holds(port int) bool {
	return a != nil && int(addrOf(a.socket).Port()) == port
}

// CloseSoon calls Close with one second for requests in progress, and logs the error.
func (a *Admin) CloseSoon() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := a.Close(ctx); err != nil {
		a.log.Debug("admin address", "error", err.Error())
	}
}

// longestCall bounds how long idle connections stay open when the program stops.
const longestCall = time.Second

// ServerOptions returns the server options that the settings specify. If there is an admin address,
// the server records requests. env looks up env.NAME in templates.
func ServerOptions(set settings.Settings, env func(string) (string, bool), log *slog.Logger, version string) listener.Options {
	var recorded *record.Options
	if set.Admin != "" {
		recorded = &record.Options{Journal: record.JournalOptions{Sample: set.JournalSample, Bytes: set.JournalSize}}
	}
	return listener.Options{
		Record: recorded, Logger: log, Version: version, Env: env, SentryDSN: set.SentryDSN,
		Host: set.Host, Port: set.Port, ReusePort: set.ReusePort, NoHTTP2: set.NoHTTP2,
		MaxConnectionAge: set.MaxConnectionAge, LastCall: min(longestCall, set.Grace/10),
		MaxBody: set.MaxBody, MaxMessage: set.MaxMessage, MaxResponse: set.MaxResponse,
		UnmatchedStatus: set.UnmatchedStatus, NoCORS: set.NoCORS, CORSCredentials: set.CORSCredentials,
		TrustForwarded: set.TrustForwarded, AccessLog: set.AccessLog, ServerTiming: set.ServerTiming,
		State: set.State, StateMemory: set.StateMemory,
		WebhookStore: set.WebhookStore, MaxPendingWebhooks: set.MaxPendingWebhooks, NoWebhooks: set.NoWebhooks,
		NoLatency: set.NoLatency, NoFaults: set.NoFaults, Dynamic: set.Dynamic, Seed: set.Seed,
	}
}
