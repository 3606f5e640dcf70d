package certs

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
)

// The results of handshakes.
const (
	ResultOK          = "ok"
	resultTimeout     = "timeout"
	resultClosed      = "closed"
	resultNotTLS      = "not-tls"
	resultUntrusted   = "untrusted"
	resultVersion     = "version"
	resultCipher      = "cipher"
	resultProtocol    = "protocol"
	resultCertificate = "client-certificate"
	resultOther       = "other"
)

// results lists all results, in the order in which they are counted.
var results = [...]string{
	ResultOK, resultTimeout, resultClosed, resultNotTLS, resultUntrusted, resultVersion, resultCipher, resultProtocol, resultCertificate, resultOther,
}

// Failure is the error of a handshake.
type Failure struct {
	Result string // the result under which the handshake is counted
	What   string // the cause in plain words
	err    error
}

// Error returns What.
func (f *Failure) Error() string { return f.What }

// Unwrap returns the error of crypto/tls.
func (f *Failure) Unwrap() error { return f.err }

// Handshake performs the server side of a TLS handshake on a connection. The caller sets deadlines.
// The error is a *Failure; in that case the caller must close the connection.
func (s *Store) Handshake(inner net.Conn) (*tls.Conn, error) {
	conn := tls.Server(inner, s.base.Load())
	if err := conn.Handshake(); err != nil {
		f := explain(err)
		s.counts.add(f.Result, tls.ConnectionState{})
		return nil, f
	}
	s.counts.add(ResultOK, conn.ConnectionState())
	return conn, nil
}

// causes maps parts of messages of crypto/tls to their meanings: most of its errors have no type.
var causes = []struct{ text, result, what string }{
	{"offered only unsupported versions", resultVersion, "client and server share no version of TLS"},
	{"protocol version not supported", resultVersion, "client and server share no version of TLS"},
	{"no cipher suite supported by both", resultCipher, "client and server share no cipher suite"},
	{"no mutually supported", resultCipher, "client and server share no cipher suite"},
	{"none of the client's signature algorithms", resultCipher, "the client does not support the type of key in the server's certificate"},
	{"peer doesn't support any of the certificate's signature algorithms", resultCipher, "the client does not support the type of key in the server's certificate"},
	{"requested unsupported application protocols", resultProtocol, "the client speaks none of the server's protocols (ALPN)"},
	{"didn't provide a certificate", resultCertificate, "the client sent no certificate, but one is required"},
	{"bad record MAC", resultUntrusted, "the data from the client cannot be decrypted; the alert with which OpenSSL refuses the server's certificate looks the same"},
	{"unsupported SSLv2 handshake", resultVersion, "client and server share no version of TLS"},
}

// refusals are the alerts by which clients refuse the certificate of the server.
var refusals = map[string]string{
	"tls: unknown certificate authority": "the client does not trust the CA of the server's certificate",
	"tls: bad certificate":               "the client refuses the server's certificate",
	"tls: unknown certificate":           "the client refuses the server's certificate",
	"tls: unsupported certificate":       "the client does not support the server's certificate",
	"tls: revoked certificate":           "the client considers the server's certificate revoked",
	"tls: expired certificate":           "the client considers the server's certificate expired",
	"tls: access denied":                 "the client refuses the server's certificate",
}

// explain returns the reason why a handshake has failed.
func explain(err error) *Failure {
	var record tls.RecordHeaderError
	var client *tls.CertificateVerificationError
	var op *net.OpError
	text := err.Error()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Failure{resultTimeout, "the handshake took too long", err}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return &Failure{resultClosed, "the client closed the connection during the handshake, as some clients do if they do not trust the server's certificate", err}
	case errors.As(err, &record) && looksLikeHTTP(record.RecordHeader[:]):
		return &Failure{resultNotTLS, "the client sent plain HTTP to a TLS port", err}
	case errors.As(err, &record):
		return &Failure{resultNotTLS, "the data from the client is not TLS", err}
	case errors.As(err, &client):
		return &Failure{resultCertificate, "the client's certificate is refused: " + client.Err.Error(), err}
	}
	if errors.As(err, &op) && op.Op == "remote error" {
		if what, ok := refusals[op.Err.Error()]; ok {
			return &Failure{resultUntrusted, what, err}
		}
	}
	for _, c := range causes {
		if strings.Contains(text, c.text) {
			return &Failure{c.result, c.what, err}
		}
	}
	return &Failure{resultOther, strings.TrimPrefix(text, "tls: "), err}
}

// looksLikeHTTP reports whether bytes begin like a request.
func looksLikeHTTP(b []byte) bool {
	return slices.Contains([]string{"GET /", "POST ", "PUT /", "HEAD ", "DELET", "PATCH", "OPTIO", "CONNE", "PRI *"}, string(b))
}

// counts are the numbers of handshakes by result, by whether a session was resumed, and by version.
type counts [len(results)][2][2]atomic.Uint64

func (c *counts) add(result string, cs tls.ConnectionState) {
	resumed, late := 0, 0
	if cs.DidResume {
		resumed = 1
	}
	if cs.Version == tls.VersionTLS13 {
		late = 1
	}
	c[slices.Index(results[:], result)][resumed][late].Add(1)
}

// Count is the number of handshakes with a result.
type Count struct {
	Result  string
	Resumed bool   // with the ticket of an earlier session, without certificates
	Version string // "1.2" or "1.3"; "" for failed handshakes
	Count   uint64
}

// Counts returns how many handshakes there were since the start. A failure is listed only if it has
// occurred.
func (s *Store) Counts() []Count {
	var all []Count
	for i, result := range results {
		for resumed := range 2 {
			for late, version := range []string{"1.2", "1.3"} {
				n := s.counts[i][resumed][late].Load()
				if i > 0 {
					version = ""
				}
				if n > 0 || i == 0 {
					all = append(all, Count{result, resumed == 1, version, n})
				}
			}
		}
	}
	return all
}

// Listener accepts TLS connections on a listener. A handshake is performed when a connection is
// first read, and is not counted.
func (s *Store) Listener(inner net.Listener) net.Listener {
	return tls.NewListener(inner, &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.current.Load().config, nil }})
}
