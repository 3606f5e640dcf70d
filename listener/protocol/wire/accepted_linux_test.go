package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// accept returns both ends of a connection to a listener at the given host.
func accept(t *testing.T, host string) (client *net.TCPConn, server *accepted) {
	t.Helper()
	l, err := Listen(context.Background(), "tcp", net.JoinHostPort(host, "0"), false)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() }) // closed again below
	port := l.Addr().(*net.TCPAddr).Port
	to := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}
	if host == "::1" {
		to.IP = net.IPv6loopback
	}
	client, err = net.DialTCP("tcp", nil, to)
	must(t, err)
	t.Cleanup(func() { _ = client.Close() }) // its error does not matter
	conn, err := l.Accept()
	must(t, err)
	server = conn.(*accepted)
	t.Cleanup(func() { _ = server.Close() }) // most tests have closed it
	if got, want := server.RemoteAddr().String(), client.LocalAddr().String(); got != want {
		t.Errorf("remote address %s, want %s", got, want)
	}
	if got, want := server.LocalAddr().String(), client.RemoteAddr().String(); got != want {
		t.Errorf("local address %s, want %s", got, want)
	}
	must(t, l.Close())
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener: %v, want %v", err, net.ErrClosed)
	}
	return client, server
}

// isWaiting reports whether a read has found nothing and waits, or is about to.
func (s *accepted) isWaiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file != nil && s.uses == 0
}

func TestAccepted_Addresses(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "0.0.0.0", "", "::1"} {
		accept(t, host)
	}
}

// The options of the listener are those of its connections.
func TestAccepted_InheritsOptions(t *testing.T) {
	_, server := accept(t, "127.0.0.1")
	for _, o := range []struct{ level, name, want int }{
		{unix.IPPROTO_TCP, unix.TCP_NODELAY, 1}, {unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1}, {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 15},
		{unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 15}, {unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 9},
	} {
		got, err := unix.GetsockoptInt(server.fd, o.level, o.name)
		if err != nil || got != o.want {
			t.Errorf("option %d of level %d is %d, want %d: %v", o.name, o.level, got, o.want, err)
		}
	}
}

// It reads and writes what is possible at once without a file, and waits with one.
func TestAccepted_WaitsOnlyIfNecessary(t *testing.T) {
	client, server := accept(t, "127.0.0.1")
	write := func(to io.Writer, text string) {
		t.Helper()
		_, err := io.WriteString(to, text)
		must(t, err)
	}
	read := func(from io.Reader, want string) {
		t.Helper()
		b := make([]byte, len(want))
		if _, err := io.ReadFull(from, b); err != nil || string(b) != want {
			t.Fatalf("got %q, want %q: %v", b, want, err)
		}
	}
	write(client, "first")
	for n := 0; n < 5; { // until all of it has arrived
		must(t, rawAccepted{server}.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) }))
	}
	must(t, server.SetReadDeadline(time.Now().Add(time.Minute)))
	read(server, "first")
	write(server, "response")
	read(client, "response")
	if server.file != nil {
		t.Fatal("it was registered with the poller, want that it was not")
	}
	go func() {
		for !server.isWaiting() {
		}
		_, _ = io.WriteString(client, "second") // an error shows below
	}()
	read(server, "second")
	must(t, server.SetReadDeadline(time.Unix(1, 0)))
	var timeout net.Error
	if _, err := server.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
	must(t, server.SetDeadline(time.Now().Add(time.Minute)))
	large := strings.Repeat("x", 16<<20)
	go func() { _, _ = io.WriteString(server, large) }() // an error shows below
	read(client, large)
	must(t, server.CloseWrite())
	if n, err := client.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after the end: %d, %v", n, err)
	}
	must(t, client.CloseWrite())
	if n, err := server.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after the client's end: %d, %v", n, err)
	}
}

// A deadline that was set before the first wait ends it.
func TestAccepted_EarlyDeadline(t *testing.T) {
	_, server := accept(t, "127.0.0.1")
	must(t, server.SetReadDeadline(time.Unix(1, 0)))
	if _, err := server.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want %v", err, os.ErrDeadlineExceeded)
	}
}

// Closing ends a wait, and closes the descriptor after a use that is in progress, not during it.
func TestAccepted_Close(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "0.0.0.0"} { // at the latter, the socket is asked for its address
		closeWaiting(t, host)
	}
	closeUsed(t)
}

func closeWaiting(t *testing.T, host string) {
	t.Helper()
	client, server := accept(t, host)
	read := make(chan error)
	go func() {
		_, err := server.Read(make([]byte, 1))
		read <- err
	}()
	for !server.isWaiting() {
	}
	must(t, server.Close())
	if err := <-read; !errors.Is(err, net.ErrClosed) {
		t.Errorf("a wait ended with %v, want %v", err, net.ErrClosed)
	}
	for name, f := range map[string]func() error{
		"read": func() error { _, err := server.Read(make([]byte, 1)); return err }, "write": func() error { _, err := server.Write([]byte("x")); return err },
		"close": server.Close, "deadline": func() error { return server.SetReadDeadline(time.Time{}) }, "half": server.CloseWrite,
	} {
		if err := f(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s of a closed socket: %v, want %v", name, err, net.ErrClosed)
		}
	}
	if _, err := client.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the client got %v, want the end", err)
	}
}

func closeUsed(t *testing.T) {
	t.Helper()
	client, server := accept(t, "127.0.0.1")
	must(t, rawAccepted{server}.Read(func(fd uintptr) bool {
		must(t, server.Close())
		if _, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TYPE); err != nil {
			t.Errorf("its descriptor was closed during a use: %v", err)
		}
		return true
	}))
	if _, err := unix.GetsockoptInt(server.fd, unix.SOL_SOCKET, unix.SO_TYPE); err != unix.EBADF {
		t.Errorf("its descriptor is still open after the use: %v", err)
	}
	if _, err := client.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("the client got %v, want the end", err)
	}
}

// A use that closing completes may be inside a read of the file, for whose end closing the file waits.
func TestAccepted_CloseInsideARead(t *testing.T) {
	_, server := accept(t, "127.0.0.1")
	file, _, err := server.waiting()
	must(t, err)
	must(t, rawAccepted{server}.Read(func(uintptr) bool {
		return rawAccepted{server}.Control(func(uintptr) { must(t, server.Close()) }) == nil
	}))
	for file.SetReadDeadline(time.Time{}) == nil { // until it is closed
	}
}

// A panic during a use does not keep the descriptor open.
func TestAccepted_CloseAfterAPanic(t *testing.T) {
	_, server := accept(t, "127.0.0.1")
	func() {
		defer func() { _ = recover() }() // it is the one below
		_ = rawAccepted{server}.Read(func(uintptr) bool { panic("in a use") })
	}()
	must(t, server.Close())
	if _, err := unix.GetsockoptInt(server.fd, unix.SOL_SOCKET, unix.SO_TYPE); err != unix.EBADF {
		t.Errorf("its descriptor is still open: %v", err)
	}
}

func TestAccepted_ResetsWithoutLinger(t *testing.T) {
	for _, waits := range []bool{false, true} {
		client, server := accept(t, "127.0.0.1")
		if waits {
			_, _, err := server.waiting()
			must(t, err)
		}
		must(t, server.SetLinger(0))
		must(t, server.Close())
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the client got %v, want a reset", err)
		}
		if _, err := server.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v, want %v", err, net.ErrClosed)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
