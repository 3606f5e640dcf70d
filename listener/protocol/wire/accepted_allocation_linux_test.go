//go:build !race

package wire

import (
	"testing"
	"time"
)

// A wait that its deadline ends, as every latency does, costs no more than with a connection of package
// net: above all, the socket is not asked for its address.
func TestAccepted_WhatADeadlineCosts(t *testing.T) {
	_, server := accept(t, "0.0.0.0")
	must(t, server.SetReadDeadline(time.Unix(1, 0)))
	var b [1]byte
	if got := testing.AllocsPerRun(100, func() { _, _ = server.Read(b[:]) }); got > 1 {
		t.Errorf("got %v allocations, want at most 1", got)
	}
}
