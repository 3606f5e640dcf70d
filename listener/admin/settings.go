package admin

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"mockserver/config/settings"
	"mockserver/listener/fleet"
	"mockserver/listener/verdict"
)

// ErrThreshold is the error of invalid thresholds.
var ErrThreshold = verdict.ErrThreshold

// OpenAs opens the admin address of the settings; opts provides everything else. If the settings
// contain no admin address, it returns nil, and logs a warning about settings that need one.
// Thresholds are always checked; the error wraps ErrThreshold, or is that of Open.
func OpenAs(settings settings.Settings, opts Options) (*Admin, error) {
	thresholds, err := verdict.ParseThresholds(settings.Verdict)
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

// Holds reports whether the admin address uses a port, on any host. A nil Admin uses none.
func (a *Admin) Holds(port int) bool {
	if a == nil {
		return false
	}
	at, err := netip.ParseAddrPort(a.socket.Addr().String())
	return err == nil && int(at.Port()) == port
}

// CloseSoon calls Close with one second for requests in progress, and logs the error.
func (a *Admin) CloseSoon() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := a.Close(ctx); err != nil {
		a.log.Debug("admin address", "error", err.Error())
	}
}
