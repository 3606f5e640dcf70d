package listener

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"

	"mockserver/listener/probe"
	"mockserver/listener/wire"
)

// listen opens the socket, and what reads from its connections.
func (s *Server) listen() error {
	address := net.JoinHostPort(s.opts.Host, strconv.Itoa(s.opts.Port))
	network := "tcp"
	if ip, err := netip.ParseAddr(s.opts.Host); err == nil && ip.Is4() {
		network = "tcp4" // otherwise 0.0.0.0 would include all IPv6 addresses
	}
	var listening net.ListenConfig
	if s.opts.ReusePort {
		listening.Control = reusePort
	}
	l, err := listening.Listen(context.Background(), network, address)
	switch err = wire.Portable(err); {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("port %d of %s is in use by another program: %w", s.opts.Port, s.opts.Host, err)
	case err != nil:
		return fmt.Errorf("listen on %s: %w", address, err)
	}
	s.listener = wire.New(l, s.log)
	if s.probe = probe.New(l.Addr()); s.opts.ReusePort {
		s.probe = probe.New(nil)
	}
	s.listener.Owned = s.probe.Owns
	s.secure(s.listener)
	s.listener.StartAlarm()
	s.listener.MaxAge = s.opts.MaxConnectionAge
	s.startHTTP2()
	s.listener.Single = func() bool { return s.snapshot.Load().single }
	if !s.opts.AccessLog && !s.opts.ServerTiming {
		s.listener.Plain = s.answerPlain(s.fixed)
	}
	return nil
}
