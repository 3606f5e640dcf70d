//go:build !linux

package wire

import "time"

// alarm does nothing: only on Linux can it end pauses exactly when they are due. Elsewhere they end
// when the runtime notices that their deadline has passed, up to a millisecond later.
type alarm struct{}

func newAlarm() *alarm { return nil }

func (a *alarm) at(time.Time) {}

func (a *alarm) close() {}
