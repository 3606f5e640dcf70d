package listener

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"time"

	"mockserver/listener/protocol/certs"
	"mockserver/listener/protocol/wire"
	"mockserver/matcher"
)

// handshakeLines is the maximum number of log lines about failed handshakes per second.
const handshakeLines = 1

// openCertificates reads the files that Options.TLS names.
func (s *Server) openCertificates() (err error) {
	if s.opts.TLS == nil {
		return nil
	}
	o := *s.opts.TLS
	if len(o.Protocols) == 0 && !s.opts.NoHTTP2 {
		o.Protocols = []string{"h2", "http/1.1"}
	}
	s.certs, err = certs.Open(o, s.log)
	return err
}

// followCertificates keeps the certificates up to date until s.unfollow is called.
func (s *Server) followCertificates() {
	ctx, cancel := context.WithCancel(context.Background())
	var following sync.WaitGroup
	if s.certs != nil {
		following.Go(func() { s.certs.Follow(ctx) })
	}
	s.unfollow = func() {
		cancel()
		following.Wait()
	}
}

// CA returns the certificate of the CA that makes certificates on demand, in PEM; nil for none.
func (s *Server) CA() []byte {
	if s.certs == nil || s.certs.Authority() == nil {
		return nil
	}
	return s.certs.Authority().PEM()
}

// Certificates returns how long the certificates of Options.TLS are valid.
func (s *Server) Certificates() []certs.Validity {
	if s.certs == nil {
		return nil
	}
	return s.certs.Validities()
}

// ReloadCertificates reads the files of Options.TLS again, as the server does by itself when they
// change. An invalid file is logged, and has no effect. The cause is for the log.
func (s *Server) ReloadCertificates(cause string) {
	if s.certs != nil {
		s.certs.Reload(cause)
	}
}

// secure makes connections speak TLS.
func (s *Server) secure(l *wire.Connections) {
	if s.certs == nil {
		return
	}
	l.Handshake, l.OnlyTLS = s.handshake, s.certs.Only()
	if a := s.certs.Authority(); a != nil {
		s.log.Info("certificates are made by this CA, which clients have to trust", "sha256", a.Fingerprint())
	}
}

// handshake begins TLS on a connection.
func (s *Server) handshake(c *wire.Connection, socket net.Conn) (*tls.Conn, error) {
	conn, err := s.certs.Handshake(socket)
	if err != nil {
		if suppressed, ok := s.handshakeLimiter.Pass(time.Now()); ok {
			s.log.LogAttrs(context.Background(), slog.LevelWarn, "TLS handshake failed",
				slog.String("remote", c.RemoteAddr().String()), slog.String("error", err.Error()), slog.Int("suppressed", suppressed))
		}
		return nil, err
	}
	c.TLS = matcher.TLSOf(conn.ConnectionState())
	return conn, nil
}
