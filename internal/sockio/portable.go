package sockio

import (
	"errors"
	"syscall"
)

// winsock maps the Windows numbers of socket errors to the names that other systems use. No other
// system has such high error numbers.
var winsock = map[syscall.Errno]syscall.Errno{
	10024: syscall.EMFILE,       // WSAEMFILE
	10042: syscall.ENOPROTOOPT,  // WSAENOPROTOOPT
	10045: syscall.EOPNOTSUPP,   // WSAEOPNOTSUPP
	10048: syscall.EADDRINUSE,   // WSAEADDRINUSE
	10050: syscall.ENETDOWN,     // WSAENETDOWN
	10051: syscall.ENETUNREACH,  // WSAENETUNREACH
	10053: syscall.ECONNABORTED, // WSAECONNABORTED
	10054: syscall.ECONNRESET,   // WSAECONNRESET
	10055: syscall.ENOBUFS,      // WSAENOBUFS
	10060: syscall.ETIMEDOUT,    // WSAETIMEDOUT
	10064: syscall.EHOSTDOWN,    // WSAEHOSTDOWN
	10065: syscall.EHOSTUNREACH, // WSAEHOSTUNREACH
}

// Portable returns err as an error that errors.Is also matches by the name that other systems use.
func Portable(err error) error {
	errno, _ := errors.AsType[syscall.Errno](err)
	if name, ok := winsock[errno]; ok {
		return socketError{err, name}
	}
	return err
}

// socketError is a Windows error and its portable name.
type socketError struct {
	error
	name syscall.Errno
}

// Is reports whether target is the portable name.
func (e socketError) Is(target error) bool { return target == e.name }

// Unwrap returns the Windows error.
func (e socketError) Unwrap() error { return e.error }
