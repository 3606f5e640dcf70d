package fetcher

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// A cause contains no text from outside: "secret" stands for text from a request, a remote server
// or the environment.
func TestCauseHoldsNothingFromOutside(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{statusError(503), "it answered with status 503"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("secret", syscall.ECONNREFUSED)}, "connection refused"},
		{&net.OpError{Op: "dial", Err: &net.DNSError{Err: "secret", Name: "secret", IsNotFound: true}}, "the name of its host cannot be resolved"},
		{&net.DNSError{Err: "secret", Name: "secret", IsTimeout: true}, "no complete answer in time"},
		{fmt.Errorf("secret: %w", context.DeadlineExceeded), "no complete answer in time"},
		{fmt.Errorf("secret: %w", context.Canceled), "the server is stopping"},
		{errQueued, "still queued"},
		{&tls.CertificateVerificationError{Err: x509.HostnameError{Host: "secret", Certificate: &x509.Certificate{}}}, "its certificate is not trusted"},
		{fmt.Errorf("secret: %w", tooLarge(1<<20)), "too large"},
		{fmt.Errorf("%w: secret", errNoSheet), "no such sheet"},
		{&fs.PathError{Op: "open", Path: "secret", Err: syscall.ENOENT}, "it does not exist"},
		{&fs.PathError{Op: "open", Path: "secret", Err: syscall.EACCES}, "permission denied"},
		{fmt.Errorf("secret: %w", io.ErrUnexpectedEOF), "it ended early"},
		{&Panic{Value: "secret"}, "its decoder panicked"},
		{errors.New("secret"), ""},
		{nil, ""},
	} {
		if got := (&Error{Kind: Upstream, Message: "secret", Err: c.err}).Cause(); got != c.want {
			t.Errorf("%v: got %q, want %q", c.err, got, c.want)
		}
	}
}

// The cause of a fetch that is canceled because the loader is closed says that the server is
// stopping.
func TestCauseOfAFetch(t *testing.T) {
	l := NewLoader(0)
	defer l.Close(context.Background())
	l.cancel() // as if the server were stopping
	k := l.fetch(verified(t, l), "http://127.0.0.1:1/secret", time.Second)
	if k.err == nil || k.err.Cause() != "the server is stopping" {
		t.Errorf("got %v", k.err)
	}
}
