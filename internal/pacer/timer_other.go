//go:build !linux

package pacer

func newTimer() timer { return newRuntimeTimer() }
