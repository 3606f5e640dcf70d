//go:build !linux

package wire

import (
	"context"
	"errors"
	"net"
	"time"
)

// What only Linux can do.

// stay is not possible.
type stay struct{}

func (*stay) open(*Connection) {}

func (c *Connection) read(b []byte, _ bool) (int, error) { return c.Stream().Read(b) }
func (c *Connection) write(b []byte) (int, error)        { return c.Conn.Write(b) }

// WriteNow writes nothing.
func (c *Connection) WriteNow([]byte) int { return 0 }

func (c *Connection) asksInside() (left, inside bool) { return false, false }

// lot is where connections are parked: nowhere.
type lot struct{}

func (lot) Close()                           {}
func (lot) End()                             {}
func (lot) Expire()                          {}
func (lot) forget(*Connection)               {}
func (lot) leave(*Connection, bool)          {}
func (lot) hurry(*Connection, time.Duration) {}

type place struct{ late bool }

func (*place) open(net.Conn) {}

func (c *Connections) logDrops() {}
func (c *Connections) openLot()  {}

// Park does nothing: the connection needs a goroutine.
func (c *Connection) Park() bool { return false }

// ParkTalk does nothing either.
func (c *Connection) ParkTalk(func(), time.Duration) bool { return false }

// Drain returns at once.
func (c *Connections) Drain() {}

func (c *Connection) parksAgain() bool { return false }
func (c *Connection) prompt()          { c.Wake() }

// threadTime returns 0: the CPU time of the current thread is not known.
func threadTime() time.Duration { return 0 }

// Listen listens at an address. Several processes cannot share a port.
func Listen(ctx context.Context, network, address string, share bool) (net.Listener, error) {
	if share {
		return nil, errors.New("several processes can share a port on Linux only")
	}
	var listening net.ListenConfig
	return listening.Listen(ctx, network, address)
}
