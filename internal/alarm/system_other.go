//go:build !linux

package alarm

func newSystem() system { return nil }
