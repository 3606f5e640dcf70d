//go:build !linux

package pacer

func newTimer() (timer, error) { return newRuntimeTimer(), nil }
