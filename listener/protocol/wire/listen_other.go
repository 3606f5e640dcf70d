//go:build !linux

package wire

import (
	"context"
	"errors"
	"net"
)

// Listen listens at an address. Several processes cannot share a port.
func Listen(ctx context.Context, network, address string, share bool) (net.Listener, error) {
	if share {
		return nil, errors.New("several processes can share a port on Linux only")
	}
	var listening net.ListenConfig
	return listening.Listen(ctx, network, address)
}
