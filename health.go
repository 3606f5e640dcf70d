package main

import (
	"fmt"

	"mockserver/config/settings"
	"mockserver/listener"
)

// health reports whether the server with the same settings answers. It returns 0 or 1:
// container engines reserve the rest.
func (s speaker) health(set settings.Settings) int {
	address, err := listener.Ping(set.Host, set.Port, set.TLS.Only)
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
