package admin

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"mockserver/config/settings"
	"mockserver/listener/verdict"
)

// ErrThreshold is in the errors of thresholds that cannot be read.
var ErrThreshold = verdict.ErrThreshold

// OpenAs opens the admin address that the settings of the program ask for, with what else
// opts say; nil when they ask for none, with a warning of those that need it. The error is in the verdict's thresholds, which
// are read anyway, and has ErrThreshold in it then, or is that of Open.
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
	a, err := Open(opts)
	if err != nil {
		return nil, err
	}
	a.log.Info("admin address", "url", a.URL())
	return a, nil
}

// warnOfIdle says which settings were given that mean nothing without the admin address.
// They may stand in an environment that is shared, so they are no mistakes.
func warnOfIdle(settings settings.Settings, log *slog.Logger) {
	var idle []string
	for _, given := range settings.Given() {
		if !given.Default && slices.Contains([]string{"--admin-token", "--journal-sample", "--journal-size", "--verdict"}, given.Flag) {
			idle = append(idle, given.Flag)
		}
	}
	if len(idle) > 0 && log != nil {
		log.Warn("settings of the admin address have no effect without --admin", "settings", strings.Join(idle, ","))
	}
}

// Holds tells whether the address is on a port, whatever its host. It may be asked of
// none, nil.
func (a *Admin) Holds(port int) bool {
	if a == nil {
		return false
	}
	at, err := netip.ParseAddrPort(a.socket.Addr().String())
	return err == nil && int(at.Port()) == port
}

// CloseSoon is Close with a second for what is asked meanwhile. What went wrong is
// logged: nothing depends on it any more.
func (a *Admin) CloseSoon() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := a.Close(ctx); err != nil {
		a.log.Debug("admin address", "error", err.Error())
	}
}
