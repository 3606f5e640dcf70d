package wire

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mockserver/internal/pollset"
	"mockserver/internal/sockio"
)

// accepted is an accepted connection. As long as it need not wait, its descriptor is used directly: a
// client that sends its request at once, and for which the connection closes after the response, is
// never registered with the runtime's poller. From the first wait on, the descriptor belongs to file.
type accepted struct {
	fd     int
	remote net.TCPAddr
	ip     [net.IPv6len]byte // of remote
	local  net.Addr          // nil if the socket has to be asked

	mu              sync.Mutex // guards the fields below
	uses            int        // direct uses of fd that are in progress
	closed          bool
	readBy, writeBy time.Time // the deadlines, until there is a file
	file            *os.File  // nil before the first wait
	raw             syscall.RawConn
}

// number returns the descriptor of a socket that has just been accepted.
func (s *accepted) number() int { return s.fd }

// begin begins a direct use of the descriptor, which does not wait, unless the socket is closed. To
// read is only tried first on a socket that has not waited yet. On any other, it is cheaper to wait
// without trying: the client sends nothing before it has the response.
func (s *accepted) begin(toRead bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || toRead && s.file != nil {
		return false
	}
	s.uses++
	return true
}

// end ends a direct use. If the socket was closed in the meantime, that is completed.
func (s *accepted) end() {
	s.mu.Lock()
	s.uses--
	last, waits := s.closed && s.uses == 0, s.file != nil
	s.mu.Unlock()
	switch {
	case last && waits: // closing a file waits for its reads, and the use may be inside of one
		go s.destroy()
	case last:
		_ = s.destroy() // Close has returned
	}
}

// Close closes the socket. While its descriptor is used directly, both directions are shut down, and
// the end of the use closes it: the number of a descriptor in use must not be given to another one.
func (s *accepted) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return net.ErrClosed
	}
	s.closed = true
	used := s.uses > 0
	if used {
		_ = unix.Shutdown(s.fd, unix.SHUT_RDWR) // fails if the client has left
	}
	s.mu.Unlock()
	if used {
		return nil
	}
	return s.destroy()
}

func (s *accepted) destroy() error {
	if s.file != nil {
		return netError(s.file.Close())
	}
	return sockio.Close(s.fd)
}

// waiting returns the file, which it creates if necessary.
func (s *accepted) waiting() (*os.File, syscall.RawConn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.file != nil:
		return s.file, s.raw, nil
	case s.closed:
		return nil, nil, net.ErrClosed
	}
	s.file = os.NewFile(uintptr(s.fd), "socket")
	var err error
	s.raw, err = s.file.SyscallConn()
	if err == nil && !s.readBy.IsZero() {
		err = s.file.SetReadDeadline(s.readBy)
	}
	if err == nil && !s.writeBy.IsZero() {
		err = s.file.SetWriteDeadline(s.writeBy)
	}
	return s.file, s.raw, err
}

// park makes the socket, which nothing uses, wait in the lot. If it has a file, that is given up: it
// takes more memory than all the rest. But a connection must not get a reserved descriptor by this.
func (s *accepted) park(from *Connections, e *pollset.Entry, timeout time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.uses > 0 {
		return false
	}
	if s.file != nil {
		fd, err := unix.FcntlInt(uintptr(s.fd), unix.F_DUPFD_CLOEXEC, 0)
		if border := from.descriptors.border; err != nil || border > 0 && fd >= border {
			_ = sockio.Close(fd) // the original stays open
			return false
		}
		from.lot.Drop(e, true)
		_ = s.file.Close() // the duplicate stays open
		s.fd, s.file, s.raw = fd, nil, nil
	}
	s.readBy, s.writeBy = time.Time{}, time.Time{}
	return from.lot.Add(e, s.fd, timeout)
}

// Read reads what has arrived; if that is nothing, it waits until the deadline.
func (s *accepted) Read(b []byte) (int, error) {
	if s.begin(true) {
		n, errno := sockio.Recv(s.fd, b, 0)
		s.end()
		switch {
		case errno == unix.EAGAIN || errno == unix.EINTR:
		case errno != 0:
			return 0, s.failure("read", os.NewSyscallError("read", errno))
		case n == 0 && len(b) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
	file, _, err := s.waiting()
	if err != nil {
		return 0, s.failure("read", err)
	}
	n, err := file.Read(b)
	return n, s.failure("read", err)
}

// Write writes all of b. If the client does not take it, it waits until the deadline.
func (s *accepted) Write(b []byte) (int, error) {
	done := 0
	if len(b) <= sentAtOnce && s.begin(false) {
		n, errno := sockio.Send(s.fd, b)
		s.end()
		if errno == 0 {
			done = n
		}
		if done == len(b) {
			return done, nil
		}
	}
	file, _, err := s.waiting()
	if err != nil {
		return done, s.failure("write", err)
	}
	n, err := file.Write(b[done:])
	return done + n, s.failure("write", err)
}

// failure returns an error as package net would, but without details for a deadline: each wait of a
// request ends with one, and for its address the system would have to be asked.
func (s *accepted) failure(op string, err error) error {
	switch {
	case err == nil || err == io.EOF:
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return os.ErrDeadlineExceeded
	}
	return &net.OpError{Op: op, Net: "tcp", Source: s.LocalAddr(), Addr: &s.remote, Err: netError(err)}
}

// netError returns the cause of an error of package os; one of a closed file is net.ErrClosed.
func netError(err error) error {
	if of, ok := errors.AsType[*os.PathError](err); ok {
		err = of.Err
	}
	if errors.Is(err, os.ErrClosed) {
		return net.ErrClosed
	}
	return err
}

// waitError returns the error of waiting for a file, as package net would.
func waitError(err error) error {
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return net.ErrClosed // the only other cause; package os has no name for it
}

// LocalAddr returns the address that the client has connected to.
func (s *accepted) LocalAddr() net.Addr {
	if s.local != nil {
		return s.local
	}
	var at netip.AddrPort
	_ = rawAccepted{s}.Control(func(fd uintptr) { at, _ = sockio.Local(int(fd)) }) // fails once it is closed
	return net.TCPAddrFromAddrPort(at)
}

// RemoteAddr returns the address of the client.
func (s *accepted) RemoteAddr() net.Addr { return &s.remote }

// SetDeadline sets both deadlines.
func (s *accepted) SetDeadline(t time.Time) error {
	return errors.Join(s.SetReadDeadline(t), s.SetWriteDeadline(t))
}

// SetReadDeadline sets until when Read waits; the zero time is forever.
func (s *accepted) SetReadDeadline(t time.Time) error {
	return s.setDeadline(&s.readBy, t, (*os.File).SetReadDeadline)
}

// SetWriteDeadline sets until when Write waits; the zero time is forever.
func (s *accepted) SetWriteDeadline(t time.Time) error {
	return s.setDeadline(&s.writeBy, t, (*os.File).SetWriteDeadline)
}

func (s *accepted) setDeadline(by *time.Time, t time.Time, set func(*os.File, time.Time) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return net.ErrClosed // failure may ask for the address, for which mu is locked
	case s.file == nil:
		*by = t
		return nil
	}
	return netError(set(s.file, t))
}

// CloseWrite ends what is sent to the client.
func (s *accepted) CloseWrite() error {
	return s.control("shutdown", func(fd int) error { return unix.Shutdown(fd, unix.SHUT_WR) })
}

// SetLinger sets what closing does with data that was not sent: with 0, it is dropped, and the client
// gets a reset.
func (s *accepted) SetLinger(seconds int) error {
	return s.control("setsockopt", func(fd int) error {
		return unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: int32(seconds)})
	})
}

func (s *accepted) control(call string, f func(fd int) error) error {
	var failed error
	err := rawAccepted{s}.Control(func(fd uintptr) { failed = os.NewSyscallError(call, f(int(fd))) })
	return errors.Join(err, failed)
}

// SyscallConn returns a view of the socket for system calls.
func (s *accepted) SyscallConn() (syscall.RawConn, error) { return rawAccepted{s}, nil }

// rawAccepted is its syscall.RawConn.
type rawAccepted struct{ s *accepted }

// Control calls f with the descriptor.
func (r rawAccepted) Control(f func(fd uintptr)) error {
	s := r.s
	if !s.begin(false) {
		return net.ErrClosed
	}
	defer s.end()
	f(uintptr(s.fd))
	return nil
}

// use calls f with the descriptor, and ends the use, which has begun, even if f panics.
func (s *accepted) use(f func(fd uintptr) bool) bool {
	defer s.end()
	return f(uintptr(s.fd))
}

// Read calls f until it returns true, and waits for the socket to be readable in between.
func (r rawAccepted) Read(f func(fd uintptr) (done bool)) error {
	s := r.s
	if s.begin(true) && s.use(f) {
		return nil
	}
	_, raw, err := s.waiting()
	if err == nil {
		err = waitError(raw.Read(f))
	}
	return s.failure("raw-read", err)
}

// Write is Read for writing.
func (r rawAccepted) Write(f func(fd uintptr) (done bool)) error {
	s := r.s
	_, raw, err := s.waiting()
	if err == nil {
		err = waitError(raw.Write(f))
	}
	return s.failure("raw-write", err)
}
