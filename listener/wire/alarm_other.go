//go:build !linux

package wire

import "time"

// alarm ends pauses when they are due, on Linux. Elsewhere they end when the runtime notices that
// their deadline has passed, up to a millisecond later.
type alarm struct{}

func newAlarm() *alarm { return nil }

func (a *alarm) at(time.Time) {}

func (a *alarm) close() {}
