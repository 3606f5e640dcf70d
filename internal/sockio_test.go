package internal_test

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"mockserver/internal/sockio"
)

// The numbers are those of Winsock: learn.microsoft.com, "Windows Sockets Error
// Codes".
func TestErrorsOfWindowsAreKnown(t *testing.T) {
	of := func(call string, number syscall.Errno) error {
		return &net.OpError{Op: call, Net: "tcp", Err: os.NewSyscallError(call, number)}
	}
	for _, c := range []struct {
		err  error
		want error
	}{
		{of("bind", 10048), syscall.EADDRINUSE},
		{of("wsarecv", 10054), syscall.ECONNRESET},
		{of("accept", 10024), syscall.EMFILE},
		{of("accept", 10055), syscall.ENOBUFS},
		{of("accept", 10053), syscall.ECONNABORTED},
		{of("accept", 10042), syscall.ENOPROTOOPT},
		{of("accept", 10045), syscall.EOPNOTSUPP},
		{of("accept", 10050), syscall.ENETDOWN},
		{of("accept", 10051), syscall.ENETUNREACH},
		{of("accept", 10060), syscall.ETIMEDOUT},
		{of("accept", 10064), syscall.EHOSTDOWN},
		{of("accept", 10065), syscall.EHOSTUNREACH},
		{of("bind", syscall.EADDRINUSE), syscall.EADDRINUSE},
	} {
		got := sockio.Portable(c.err)
		if !errors.Is(got, c.want) || !errors.Is(got, c.err) || got.Error() != c.err.Error() {
			t.Errorf("%v: got %v, want the same and %v", c.err, got, c.want)
		}
	}
	for _, err := range []error{nil, io.EOF, of("bind", 10049), of("bind", syscall.EACCES)} {
		if got := sockio.Portable(err); got != err {
			t.Errorf("%v: got %v", err, got)
		}
	}
	if err := sockio.Portable(of("bind", 10048)); errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v is treated as a reset", err)
	}
}
