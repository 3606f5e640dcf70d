package probe

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"syscall"
	"time"
)

const (
	// patience limits how long the probe waits for a connection and for the byte on it.
	patience = 5 * time.Second
	// mostDue limits the number of echoes that the probe waits for. Further echoes are lost.
	mostDue = 100
)

// ask performs an echo each time one is due. Echoes that became due while another echo was in
// progress count as back when that echo is: they had the same cause of delay.
func (p *Probe) ask(ctx context.Context) {
	for {
		select {
		case <-p.asking:
		case <-ctx.Done():
			return
		}
		err := p.exchange(ctx)
		if ctx.Err() != nil {
			return
		}
		p.mu.Lock()
		p.back(err, time.Now())
		p.mu.Unlock()
	}
}

// back records how late the echoes that were due came back, after an exchange that returned err. If
// the server is to blame for err, the echoes stay due, unless there are mostDue of them. If the
// probe never connected, or err is ours, the echoes are dropped. The caller must hold the lock.
func (p *Probe) back(err error, now time.Time) {
	p.connected = p.connected || err == nil
	if err != nil {
		p.failed++
		p.problem = err
		if p.connected && !isOurs(err) && len(p.due) < mostDue {
			return // they are still late
		}
	}
	for _, due := range p.due {
		if p.connected && !isOurs(err) {
			p.current().echoes.Add(now.Sub(due))
		}
	}
	p.due = p.due[:0]
}

// isOurs reports whether a connection failed for lack of a resource that the server does not need
// to accept the connection, so that the failure says nothing about the server.
func isOurs(err error) bool {
	return slices.ContainsFunc([]syscall.Errno{
		syscall.EADDRINUSE, syscall.EADDRNOTAVAIL, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
		syscall.EPERM, syscall.EACCES, syscall.ENETUNREACH, syscall.EHOSTUNREACH, syscall.EINVAL,
	}, func(e syscall.Errno) bool { return errors.Is(err, e) })
}

// exchange connects, sends a byte, and returns when the byte is back.
func (p *Probe) exchange(ctx context.Context) error {
	port := 0
	dialer := net.Dialer{Timeout: patience, KeepAlive: -1, Control: p.control(&port)}
	conn, err := dialer.DialContext(ctx, "tcp", p.to.String())
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.ports, port)
	}()
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetLinger(0) // leaves no port in TIME_WAIT
	_ = conn.SetDeadline(time.Now().Add(patience))
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	var one [1]byte
	if _, err = conn.Write(one[:]); err == nil {
		_, err = io.ReadFull(conn, one[:])
	}
	return err
}

// Owns reports whether an accepted connection belongs to the probe. If so, the probe serves and
// closes it.
func (p *Probe) Owns(conn net.Conn) bool {
	if !p.started.Load() || p.to == nil {
		return false
	}
	from, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok || !from.IP.Equal(p.to.IP) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.ports[from.Port]; !ok || p.stopped {
		return false
	}
	p.accepted[conn] = struct{}{}
	p.ended.Go(func() { p.echo(conn) })
	return true
}

// echo sends the byte back, and waits until the connection is closed.
func (p *Probe) echo(conn net.Conn) {
	var one [1]byte
	if _, err := io.ReadFull(conn, one[:]); err == nil {
		_, _ = conn.Write(one[:])
		_, _ = conn.Read(one[:]) // returns when the other end or Stop closes the connection
	}
	_ = conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.accepted, conn)
}
