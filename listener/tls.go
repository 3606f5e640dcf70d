package listener

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"mockserver/config/watch"
	"mockserver/listener/certs"
	"mockserver/listener/wire"
	"mockserver/matcher"
)

const (
	// certificatePoll is how often certificates are looked at: a change has to be served within a
	// second, and counts once two looks agree.
	certificatePoll = 500 * time.Millisecond
	// expiryEvery is how often the log warns of a certificate that expires.
	expiryEvery = 24 * time.Hour
	// handshakeLines is how many failed handshakes are logged a second.
	handshakeLines = 1
)

// openCertificates reads what Options.TLS names.
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
		following.Go(func() { FollowCertificates(ctx, s.certs) })
	}
	s.unfollow = func() {
		cancel()
		following.Wait()
	}
}

// CA returns the certificate of the CA that Options.TLS made, in PEM; nil if it made none.
func (s *Server) CA() []byte {
	if s.certs == nil || s.certs.Authority() == nil {
		return nil
	}
	return s.certs.Authority().PEM()
}

// Certificates returns until when the certificates of Options.TLS are valid.
func (s *Server) Certificates() []certs.Validity {
	if s.certs == nil {
		return nil
	}
	return s.certs.Validities()
}

// ReloadCertificates reads the files of Options.TLS again, as the server does by itself when they
// change. What is wrong with them is logged, and stays as it was. The cause is for the log.
func (s *Server) ReloadCertificates(cause string) {
	if s.certs != nil {
		s.certs.Reload(cause)
	}
}

// FollowCertificates reloads what has changed on disk, and warns of certificates that expire, until
// ctx ends.
func FollowCertificates(ctx context.Context, store *certs.Store) {
	days := time.NewTicker(expiryEvery)
	defer days.Stop()
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() {
		reload := func() { store.Reload("a file changed") }
		w := watch.New(store.Files)
		reload() // it may have changed after the store read it and before it was watched
		w.Run(ctx, certificatePoll, reload)
	})
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-days.C:
			store.WarnOfExpiry(now)
		}
	}
}

// secure has connections speak TLS.
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
		if suppressed, ok := s.handshakePace.Pass(time.Now()); ok {
			s.log.LogAttrs(context.Background(), slog.LevelWarn, "TLS handshake failed",
				slog.String("remote", c.RemoteAddr().String()), slog.String("error", err.Error()), slog.Int("suppressed", suppressed))
		}
		return nil, err
	}
	c.TLS = describe(conn.ConnectionState())
	return conn, nil
}

// describe returns what requests of a connection may ask of it.
func describe(cs tls.ConnectionState) *matcher.TLS {
	t := &matcher.TLS{
		Version: []byte(strings.TrimPrefix(tls.VersionName(cs.Version), "TLS ")),
		Cipher:  []byte(tls.CipherSuiteName(cs.CipherSuite)),
	}
	if cs.ServerName != "" {
		t.Name = []byte(cs.ServerName)
	}
	if len(cs.PeerCertificates) > 0 {
		t.Client = describeClient(cs.PeerCertificates[0])
	}
	return t
}

func describeClient(cert *x509.Certificate) *matcher.Certificate {
	names := append([]string(nil), cert.DNSNames...)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	names = append(names, cert.EmailAddresses...)
	for _, u := range cert.URIs {
		names = append(names, u.String())
	}
	sum := sha256.Sum256(cert.Raw)
	return &matcher.Certificate{
		CommonName: []byte(cert.Subject.CommonName), Names: []byte(strings.Join(names, ",")), Subject: []byte(cert.Subject.String()),
		Fingerprint: []byte(hex.EncodeToString(sum[:])), Serial: []byte(strings.ToUpper(cert.SerialNumber.Text(16))),
	}
}
