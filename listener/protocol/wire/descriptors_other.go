//go:build !unix

package wire

import "net"

// descriptors reserves nothing: on this system, descriptors are not limited.
type descriptors struct{}

func reserveDescriptors() descriptors { return descriptors{} }

func (*descriptors) took(net.Conn) {}
func (*descriptors) left() error   { return nil }
