package certs

import (
	"crypto/tls"
	"net"
	"strings"
)

// index maps the names that certificates are for to the certificates: hosts in lower case,
// wildcards as "*.example.com", and IP addresses.
func index(pairs []*tls.Certificate) map[string][]*tls.Certificate {
	byName := map[string][]*tls.Certificate{}
	for _, pair := range pairs {
		names := pair.Leaf.DNSNames
		for _, ip := range pair.Leaf.IPAddresses {
			names = append(names[:len(names):len(names)], ip.String())
		}
		if len(names) == 0 {
			names = []string{pair.Leaf.Subject.CommonName}
		}
		for _, name := range names {
			name = strings.ToLower(name)
			byName[name] = append(byName[name], pair)
		}
	}
	return byName
}

// choose returns the certificate for a handshake. A client that names no host, as for a URL with an
// IP address, gets the certificate for the address that it has connected to.
func (st *state) choose(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	name := strings.ToLower(hello.ServerName)
	if name == "" {
		if tcp, ok := hello.Conn.LocalAddr().(*net.TCPAddr); ok {
			name = tcp.IP.String()
		}
	}
	if cert := fitting(st.byName[name], hello); cert != nil {
		return cert, nil
	}
	if _, domain, ok := strings.Cut(name, "."); ok {
		if cert := fitting(st.byName["*."+domain], hello); cert != nil {
			return cert, nil
		}
	}
	if st.made != nil {
		return st.made.of(name)
	}
	return st.pairs[0], nil
}

// fitting returns the first certificate whose key the client supports, or else the first
// certificate, with which the handshake fails with a reason. It returns nil if there are no
// certificates.
func fitting(certs []*tls.Certificate, hello *tls.ClientHelloInfo) *tls.Certificate {
	for _, cert := range certs {
		if len(certs) == 1 || hello.SupportsCertificate(cert) == nil {
			return cert
		}
	}
	if len(certs) == 0 {
		return nil
	}
	return certs[0]
}
