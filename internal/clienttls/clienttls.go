// Package clienttls implements the TLS settings of requests that the program sends: which CA to
// trust, and which certificate to present.
package clienttls

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"

	"mockserver/internal/files"
)

// Files says how to connect to a server over TLS. The zero value trusts the CAs of the system and
// presents no certificate.
type Files struct {
	CA        string // a file with the CAs to trust; "" selects those of the system
	Cert, Key string // files of the client's certificate; "" for none
	Insecure  bool   // the server's certificate is not verified
}

// Error is an error in one of the files.
type Error struct {
	Key string // the key that names the file: ca, cert or key
	Err error
}

// Error returns the text of Err.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Find returns the path of a declared file: next to the configuration, which is in dir, or else in
// the working directory. It is absolute if possible.
func Find(dir, name string) string {
	if name == "" {
		return ""
	}
	path := filepath.FromSlash(name)
	if local := filepath.Join(dir, path); !filepath.IsAbs(path) {
		if _, err := os.Stat(local); err == nil {
			path = local
		}
	}
	return files.Absolute(path)
}

// Config reads the files. The error is an *Error.
func (f Files) Config() (*tls.Config, error) {
	c := &tls.Config{InsecureSkipVerify: f.Insecure} // only if the declaration says so
	if f.CA != "" {
		text, err := files.Read(f.CA)
		if err != nil {
			return nil, &Error{"ca", fmt.Errorf("%s: %w", f.CA, err)}
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, &Error{"ca", fmt.Errorf("%s: it contains no certificate; expected PEM", f.CA)}
		}
	}
	if f.Cert == "" {
		return c, nil
	}
	pair, err := f.Certificate(nil)
	if err != nil {
		return nil, err
	}
	c.Certificates = []tls.Certificate{*pair}
	return c, nil
}

// Certificate reads the certificate to present to a server, whatever the server asks for. The error
// is an *Error.
func (f Files) Certificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	cert, err := files.Read(f.Cert)
	if err != nil {
		return nil, &Error{"cert", fmt.Errorf("%s: %w", f.Cert, err)}
	}
	key, err := files.Read(f.Key)
	if err != nil {
		return nil, &Error{"key", fmt.Errorf("%s: %w", f.Key, err)}
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, &Error{"cert", fmt.Errorf("%s with the key %s: %w", f.Cert, f.Key, err)}
	}
	return &pair, nil
}
