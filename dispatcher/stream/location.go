package stream

import (
	"fmt"
	"time"

	"mockserver/internal/natsclient"
)

// Location specifies where a store is, and how it is used.
type Location struct {
	natsclient.Servers
	Lease    time.Duration
	Fallback bool // webhooks that cannot be stored are kept in memory
}

const (
	defaultLease = 10 * time.Second
	minLease     = 2 * time.Second
	maxLease     = 10 * time.Minute
)

// Parse parses the URL of a store; see natsclient.Parse.
func Parse(text string) (Location, error) {
	at := Location{Lease: defaultLease}
	var err error
	at.Servers, err = natsclient.Parse(text, "the webhook store", "MOCK_WEBHOOKS", "lease, fallback", at.set)
	return at, err
}

// set sets one parameter.
func (at *Location) set(name, value string) (expected string, ok bool) {
	switch name {
	case "lease":
		var err error
		at.Lease, err = time.ParseDuration(value)
		return fmt.Sprintf("a duration from %v to %v", minLease, maxLease), err == nil && at.Lease >= minLease && at.Lease <= maxLease
	case "fallback":
		at.Fallback = value == "memory"
		return "memory", at.Fallback
	}
	return "", false
}
