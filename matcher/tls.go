package matcher

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"slices"
	"strings"
)

// TLS contains the properties of a TLS connection. They do not change.
type TLS struct {
	Version []byte       // "1.2" or "1.3"
	Name    []byte       // the host that the client requested (SNI); nil if there is none
	Cipher  []byte       // as IANA names it: TLS_AES_128_GCM_SHA256
	Client  *Certificate // of the client; nil if there is none
}

// Certificate is a verified certificate of a client, as it appears in conditions and templates.
type Certificate struct {
	CommonName  []byte // of its subject
	Names       []byte // DNS names, addresses, e-mail addresses and URIs, separated by commas
	Subject     []byte // in the form of RFC 2253: CN=shop,O=Example
	Fingerprint []byte // SHA-256, in lower-case hexadecimal digits
	Serial      []byte // in upper-case hexadecimal digits
}

// TLSOf returns the properties of a connection that its requests can use.
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
