package matcher

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"slices"
	"strings"
)

// TLSOf returns what requests of a connection may ask of it.
func TLSOf(cs tls.ConnectionState) *TLS {
	t := &TLS{
		Version: []byte(strings.TrimPrefix(tls.VersionName(cs.Version), "TLS ")),
		Cipher:  []byte(tls.CipherSuiteName(cs.CipherSuite)),
	}
	if cs.ServerName != "" {
		t.Name = []byte(cs.ServerName)
	}
	if len(cs.PeerCertificates) > 0 {
		t.Client = clientOf(cs.PeerCertificates[0])
	}
	return t
}

func clientOf(cert *x509.Certificate) *Certificate {
	names := slices.Clone(cert.DNSNames)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	names = append(names, cert.EmailAddresses...)
	for _, u := range cert.URIs {
		names = append(names, u.String())
	}
	sum := sha256.Sum256(cert.Raw)
	return &Certificate{
		CommonName: []byte(cert.Subject.CommonName), Names: []byte(strings.Join(names, ",")), Subject: []byte(cert.Subject.String()),
		Fingerprint: []byte(hex.EncodeToString(sum[:])), Serial: []byte(strings.ToUpper(cert.SerialNumber.Text(16))),
	}
}
