package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// unusedAddresses returns addresses of n free ports, which the system does not assign to other
// programs that request any free port. They are for programs that must know each other's addresses
// before they are started, and for requests to an address where nothing listens.
func unusedAddresses(t testing.TB, n int) []string {
	t.Helper()
	var list []string
	for len(list) < n {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 12_000+rand.IntN(18_000)))
		if err != nil {
			continue // it is taken
		}
		defer l.Close() // after all of them are taken
		list = append(list, l.Addr().String())
	}
	return list
}
