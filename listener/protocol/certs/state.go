package certs

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
)

// state is the content of the files, compiled. It is immutable.
type state struct {
	pairs  []*tls.Certificate // in the order of Options.Pairs
	byName map[string][]*tls.Certificate
	made   *leaves // nil without Auto
	config *tls.Config

	clients *x509.CertPool // nil without ClientCA
	digest  [sha256.Size]byte
	keys    [][keySize]byte // from the file of ticket keys; nil without one
}

// verify checks the client of a resumed session in the same way as the full handshake: the CAs may
// have changed since (CVE-2025-68121).
func (st *state) verify(cs tls.ConnectionState) error {
	if !cs.DidResume || len(cs.PeerCertificates) == 0 {
		return nil
	}
	among := x509.NewCertPool()
	for _, c := range cs.PeerCertificates[1:] {
		among.AddCert(c)
	}
	_, err := cs.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: st.clients, Intermediates: among, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil {
		return &tls.CertificateVerificationError{UnverifiedCertificates: cs.PeerCertificates, Err: err}
	}
	return nil
}
